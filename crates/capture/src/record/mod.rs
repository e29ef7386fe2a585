//! The live part: hold the program, attach, drain the ring into the spool until the program ends,
//! and close the books. What the spool becomes afterwards is `convert`'s business.

#[allow(unsafe_code)]
mod calibrate;
mod carriers;
mod everybody;
mod goroutines;
mod interpreters;
mod java;
mod known_places;
mod loaded;
mod memory;
mod names;
mod newcomers;
mod node;
mod perf_maps;
mod programs;
mod python;
mod recognised;
mod remembered;
mod ring;
mod scripts;
mod sink;
mod stacks;
mod tagged;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use timesink_recording::files::{self, Folder};
use timesink_recording::words::Moment;

use crate::address_space::Watch;
use crate::budget::{self, Budget, BudgetStep};
use crate::clock::{day_clock_ahead_ns, now_ns, CpuClock};
use crate::environment;
use crate::error::Error;
use crate::floors;
use crate::host::HostFacts;
use crate::kernel::{Granted, Kernel, ProbeSettings};
use crate::launch::{self, parent_of, Attached, Ending, Identity, Running, Signals, Status};
use crate::patience::Patience;
use crate::privileges;
use crate::probes::{events, opens};
use crate::reader::{ProcessFolder, Reader};
use crate::redact;
use crate::spool::{self, BeginNote, EndNote, EventCosts, Note};

use calibrate::Calibrator;
use carriers::Carriers;
use interpreters::Interpreters;
use java::Javas;
use newcomers::Newcomers;
use node::Nodes;
use perf_maps::PerfMaps;
use python::Pythons;
use recognised::Sides;
use ring::Ring;
use scripts::Scripts;
use sink::Sink;
use stacks::{LiveStacks, Runtimes};
use tagged::TaggedProcesses;

/// How often the ring is drained. 16 MiB hold several times what can come in that time.
const DRAIN_EVERY: Duration = Duration::from_millis(20);
/// At first more often: a program that turns out to be Python can only be looked into from then on.
const DRAIN_AT_START: Duration = Duration::from_millis(2);
const STARTING: Duration = Duration::from_millis(50);
/// How often a frame is written, at least.
const FLUSH_EVERY: Duration = Duration::from_millis(250);
/// What interpreters tell beside stacks that have not come: no more is kept.
const MOST_SIDES: usize = 1 << 12;
/// How long the end of the last thread is awaited after the program's end was told.
const LAST_SWITCH: Duration = Duration::from_millis(200);
/// How long threads that are no longer in the list of all tasks may take to end, when all is over.
const DYING: Duration = Duration::from_millis(100);

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder to make; it must not be there yet.
    pub folder: PathBuf,
    pub threshold_ns: u64,
    pub rate_hz: u64,
    /// What timing calls may cost, in percent of a thread's time; `None` for no limit.
    pub budget_pct: Option<f64>,
    /// Whether Java is asked, through the environment, to let its stacks be followed.
    pub runtime_flags: bool,
    /// Processes that run already and are recorded beside the program, by number or name.
    pub with: Vec<String>,
    /// Let processes come in that exchange something with those that are recorded.
    pub follow: bool,
    /// Keep the arguments of programs without what looks like a secret.
    pub redact: bool,
    /// Keep what stands in small text files that were used.
    pub keep_files: bool,
    /// With whose rights the recording is written.
    pub identity: Option<Identity>,
    /// When timesink itself was started.
    pub started: Instant,
}

/// Where a recording stands, for those who watch.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub elapsed: Duration,
    pub events: u64,
    pub bytes: u64,
}

/// How a recording ended.
#[derive(Debug)]
pub struct Outcome {
    /// Where it was recorded. Its path may mean another folder by now.
    pub folder: Folder,
    /// As long as it lives, nobody else takes the recording for one that was left.
    pub lock: Option<File>,
    /// How the program ended; `None` after an attach.
    pub status: Option<Status>,
    /// Why the recording is not whole, if it is not.
    pub failure: Option<String>,
    /// Why the floors that are kept are not in the recording, if there are any and they are not.
    pub without_floors: Option<String>,
    /// Takes the signals while the recording is made.
    pub ending: Ending,
}

/// Record a program from its first moment to its last.
pub fn run(
    argv: Vec<OsString>,
    options: &Options,
    signals: Signals,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    let facts = HostFacts::gather();
    facts.check()?;
    let with = launch::named(&options.with)?;
    let reader = reader(options)?;
    let mut command: Vec<String> = argv
        .iter()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    if options.redact {
        command = redact::arguments(&command);
    }
    let held = launch::Command::new(argv)
        .identity(options.identity.clone())
        .runtime_flags(options.runtime_flags)
        .hold(signals)?;
    let maps = PerfMaps::new(
        options.identity.clone(),
        Some(SystemTime::now()),
        reader.clone(),
    );
    let (mut session, calibrator) = Session::open(&facts, options, maps, reader)?;
    session.group = Some(environment::Groups::of(held.pid()));
    session.sink.borrow_mut().await_end_of(held.pid());
    let cost = session.calibrate(calibrator)?;
    privileges::for_recording(options.identity.as_ref())?;
    let mut begin = session.begin("run", command, &facts, options, cost);
    let without_floors = add_floors(&mut begin, &facts, options);
    held.settle();
    session.seed(&[held.pid()])?;
    session.seed_others(&with)?;
    session.tell_environment(Some(held.pid()));
    // What lies between this and the release is the program's time in the books, though it waits for us.
    begin.zero = now_ns();
    session.started(begin, options);
    let mut running = match held.release() {
        Ok(running) => running,
        Err(error) => {
            session.discard(options);
            return Err(error.into());
        }
    };
    session.flush();
    let status = session.follow(&mut running, watch)?;
    let ending = Ending::begin(running.into_signals(), &options.folder);
    session.await_last_switch();
    let lock = session.lock.take();
    let (folder, failure) = session.close(Some(status), ending.patience())?;
    privileges::for_converting()?;
    Ok(Outcome {
        folder,
        lock,
        status: Some(status),
        failure,
        without_floors,
        ending,
    })
}

/// Whose processes are recorded.
#[derive(Clone, Copy, Debug)]
pub enum Whom<'a> {
    Processes(&'a [u32]),
    /// Those of the whole machine, the kernel's threads too, but timesink's own.
    Everybody,
}

/// Record processes that run already, until they end, the time is up, or the user stops it.
pub fn attach(
    whom: Whom<'_>,
    limit: Option<Duration>,
    options: &Options,
    mut signals: Signals,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    let facts = HostFacts::gather();
    facts.check()?;
    // Of the whole machine nobody is kept hold of: it has no end.
    let (named, mode) = match whom {
        Whom::Processes(pids) => (pids, "attach"),
        Whom::Everybody => (&[][..], "machine"),
    };
    let mut attached = Attached::open(named)?;
    let reader = reader(options)?;
    let maps = PerfMaps::new(options.identity.clone(), None, reader.clone());
    let (mut session, calibrator) = Session::open(&facts, options, maps, reader)?;
    let cost = session.calibrate(calibrator)?;
    privileges::for_recording(options.identity.as_ref())?;
    session.group = named.first().copied().map(environment::Groups::of);
    session.tell_environment(named.first().copied());
    let mut begin = session.begin(mode, Vec::new(), &facts, options, cost);
    let without_floors = add_floors(&mut begin, &facts, options);
    session.started(begin, options);
    session.flush();
    match whom {
        Whom::Processes(pids) => session.seed_others(pids)?,
        Whom::Everybody => session.seed_everybody()?,
    }
    let has_end = !named.is_empty();
    let end = limit.map(|l| Instant::now() + l);
    loop {
        session.turn(watch);
        let newcomers = session.newcomers.as_ref().map(Newcomers::fd);
        let fds: Vec<i32> = newcomers.into_iter().chain([raw(signals.fd())]).collect();
        wait_for(&fds, DRAIN_EVERY);
        let asked = signals.read()?.iter().any(|s| {
            matches!(
                s.signal,
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT
            )
        });
        attached.ended()?;
        let ended = has_end && attached.alive().next().is_none();
        if asked || ended || end.is_some_and(|e| Instant::now() >= e) {
            break;
        }
    }
    let ending = Ending::begin(signals, &options.folder);
    let lock = session.lock.take();
    let (folder, failure) = session.close(None, ending.patience())?;
    privileges::for_converting()?;
    Ok(Outcome {
        folder,
        lock,
        status: None,
        failure,
        without_floors,
        ending,
    })
}

/// Who reads what belongs to recorded programs. To be started before there is anything that must end with us.
fn reader(options: &Options) -> Result<Arc<Reader>, Error> {
    Reader::start(options.identity.as_ref()).map_err(|source| Error::System {
        doing: "starting a process that reads files of programs",
        source,
    })
}

/// What this machine does at best goes with the recording, if that was measured; else why it does not.
fn add_floors(begin: &mut BeginNote, facts: &HostFacts, options: &Options) -> Option<String> {
    let kept = floors::kept(&facts.machine(), options.identity.as_ref());
    kept.map(|kept| begin.floors = kept).err()
}

fn raw(fd: std::os::fd::BorrowedFd) -> i32 {
    use std::os::fd::AsRawFd;
    fd.as_raw_fd()
}

/// Sleep until one of the descriptors has something to say, or the time is up.
#[allow(unsafe_code)]
fn wait_for(fds: &[i32], time: Duration) {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: an array of that length. An error is as good as the time being up.
    unsafe {
        libc::poll(
            polled.as_mut_ptr(),
            polled.len() as u64,
            time.as_millis() as i32,
        )
    };
}

/// Make the recording's folder and the spool in it, with the user's rights.
fn create(options: &Options) -> Result<(Folder, Option<File>, spool::Writer), Error> {
    let make = || {
        let folder = Folder::make(&options.folder)?;
        // Where there are no locks, it goes without.
        let lock = folder.lock().ok();
        let spool = spool::Writer::create(&folder)?;
        Ok((folder, lock, spool))
    };
    Identity::acting(options.identity.as_ref(), make)?
}

struct Session {
    // The ring borrows nothing, but must go before the kernel's object.
    ring: Ring,
    newcomers: Option<Newcomers>,
    kernel: Kernel,
    sink: RefCell<Sink>,
    folder: Folder,
    lock: Option<File>,
    budget: Budget,
    reader: Arc<Reader>,
    keep_files: bool,
    bpf_programs: usize,
    /// The program's control groups.
    group: Option<environment::Groups>,
    zero: u64,
    /// Our own processor time then.
    cpu_at_zero: u64,
    begun: Instant,
    flushed: Instant,
    watched: Instant,
}

impl Session {
    /// Load and attach, with nothing tracked yet.
    fn open(
        facts: &HostFacts,
        options: &Options,
        maps: PerfMaps,
        reader: Arc<Reader>,
    ) -> Result<(Session, Calibrator), Error> {
        let system = |doing| move |source| Error::System { doing, source };
        let mut calibrator =
            Calibrator::start().map_err(system("starting a child that measures"))?;
        let settings = ProbeSettings {
            follow: options.follow.then(newcomers::our_outputs),
            ..facts.settings(options.threshold_ns, options.rate_hz)
        };
        let mut kernel = Kernel::load(&settings)?;
        calibrator.bare_done();
        kernel.attach()?;
        let bpf_programs = environment::count_bpf_programs();
        let newcomers = match kernel.has("follow") {
            true => Some(Newcomers::await_them(&mut kernel)?),
            false => None,
        };
        let (folder, lock, spool) = create(options)?;
        let watch = Watch::open(&facts.processors).ok();
        let pythons = Pythons::new(kernel.pythons());
        let scripts = Scripts::new(kernel.bashes());
        let own_reader = reader.clone();
        let javas = Javas::new(kernel.javas(), reader.clone());
        let nodes = Nodes::new(kernel.javas(), reader.clone());
        let runtimes = Runtimes {
            pythons,
            interpreters: Interpreters::new(kernel.interpreters()),
            sides: Sides::new(MOST_SIDES),
            javas,
            v8s: nodes,
            scripts,
            carriers: Carriers::new(kernel.gos()),
            tagged: TaggedProcesses::new(kernel.tagged()),
        };
        let stacks = LiveStacks::new(watch, maps, runtimes, reader);
        let sink = RefCell::new(Sink::new(spool, stacks, options.redact));
        let ring = Ring::new(&kernel)?;
        let start = Instant::now();
        let session = Session {
            ring,
            newcomers,
            kernel,
            sink,
            folder,
            lock,
            budget: Budget::new(None, EventCosts::default(), 0, 0, Vec::new()),
            reader: own_reader,
            keep_files: options.keep_files,
            bpf_programs,
            group: None,
            zero: 0,
            cpu_at_zero: 0,
            begun: start,
            flushed: start,
            watched: start,
        };
        Ok((session, calibrator))
    }

    /// What timing one call and noting one switch cost. Nobody else is followed yet.
    fn calibrate(&mut self, calibrator: Calibrator) -> Result<EventCosts, Error> {
        let pids = calibrator.pids();
        self.sink.borrow_mut().leave_out(&pids);
        self.kernel.seed(&pids)?;
        let mut costs = calibrator.costs();
        costs.return_ns = budget::mean_return_ns(&self.kernel.counted()).min(costs.call_ns);
        self.drain();
        Ok(costs)
    }

    /// Where the program is about to run. To be told before the recording's time begins: it takes some milliseconds.
    fn tell_environment(&self, pid: Option<u32>) {
        let group = self.group.as_ref();
        let facts = environment::at_begin(pid, group, self.bpf_programs, &self.reader);
        let mut sink = self.sink.borrow_mut();
        let notes = facts.notes(Moment::Begin);
        notes.for_each(|note| sink.spool.note(&note));
    }

    /// What these servers were told to read.
    fn note_command_lines(&self, pids: &[u32]) {
        const MOST: u64 = 64 << 10;
        let mut sink = self.sink.borrow_mut();
        // Whoever was told may be the one that a worker was started by, of which many have a command line of their own.
        let name = |pid: u32| std::fs::read(format!("/proc/{pid}/comm")).ok();
        let master = |pid: &u32| parent_of(*pid).filter(|parent| name(*parent) == name(*pid));
        let all: BTreeSet<u32> = pids
            .iter()
            .filter_map(master)
            .chain(pids.iter().copied())
            .collect();
        for pid in all {
            let line = self.reader.text(pid, "cmdline", MOST);
            let folder = self.reader.folder(pid, ProcessFolder::Own).ok();
            let named = |(folder, _): &(OwnedFd, _)| {
                std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
            };
            let folder = folder.as_ref().and_then(named);
            sink.files
                .note_command_line(&line.unwrap_or_default(), folder.as_deref());
        }
    }

    /// Follow these processes from now on.
    fn seed(&mut self, pids: &[u32]) -> Result<(), Error> {
        let mut sink = self.sink.borrow_mut();
        pids.iter().for_each(|&pid| sink.stacks.seed(pid));
        drop(sink);
        self.kernel.seed(pids)
    }

    /// Follow these as well, which ran before; and from now on whoever exchanges something with any of them.
    fn seed_others(&mut self, pids: &[u32]) -> Result<(), Error> {
        if !pids.is_empty() {
            self.note_command_lines(pids);
            self.sink.borrow_mut().stacks.ran_before(pids);
            self.seed(pids)?;
            self.kernel.know_watched(pids)?;
        }
        self.kernel.control().follow();
        Ok(())
    }

    /// Follow all processes of the machine but timesink's own. Whoever is started by one of them is recorded with it, so it is looked
    /// again for those that were started before their parents were recorded.
    fn seed_everybody(&mut self) -> Result<(), Error> {
        /// The probes are told of so many at once.
        const AT_ONCE: usize = 512;
        /// Whoever starts processes faster than this is missed in part.
        const TIMES: usize = 4;
        self.sink.borrow_mut().keeps_groups = true;
        let mut known = BTreeSet::new();
        for _ in 0..TIMES {
            let mut new = everybody::listed();
            new.retain(|pid| known.insert(*pid));
            if new.is_empty() {
                break;
            }
            for pids in new.chunks(AT_ONCE) {
                programs::note(pids, &self.reader, &self.sink);
                // The files that the command lines of all of a machine name would be more than anybody has used.
                self.sink.borrow_mut().stacks.ran_before(pids);
                self.seed(pids)?;
                self.kernel.know_watched(pids)?;
                self.drain();
            }
        }
        self.kernel.control().follow();
        Ok(())
    }

    /// What is to be known of those who have come in: what they have mapped, and their other threads. That they cannot
    /// be looked at does not end the recording.
    fn welcome(&mut self) {
        let pids = self.newcomers.as_ref().map(Newcomers::take);
        let Some(pids) = pids.filter(|pids| !pids.is_empty()) else {
            return;
        };
        self.note_command_lines(&pids);
        let mut sink = self.sink.borrow_mut();
        sink.stacks.ran_before(&pids);
        pids.iter().for_each(|&pid| sink.stacks.seed(pid));
        drop(sink);
        let _ = self.kernel.seed_rest(&pids);
        let _ = self.kernel.know_watched(&pids);
    }

    fn begin(
        &self,
        mode: &str,
        command: Vec<String>,
        facts: &HostFacts,
        options: &Options,
        costs: EventCosts,
    ) -> BeginNote {
        let unix = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        BeginNote {
            tool_version: env!("CARGO_PKG_VERSION").into(),
            mode: mode.into(),
            command,
            directory: std::env::current_dir()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            started_unix_ns: unix.as_nanos() as u64,
            zero: now_ns(),
            threshold_ns: options.threshold_ns,
            budget_pct: options.budget_pct,
            exact: options.budget_pct.is_none(),
            kernel: facts.release.clone(),
            architecture: facts.architecture.clone(),
            processors: facts.processors.len() as u32,
            hostname: facts.hostname.clone(),
            facts: facts.to_map(),
            floors: None,
            cost: EventCosts {
                start_ns: options.started.elapsed().as_nanos() as u64,
                ..costs
            },
        }
    }

    /// The recording's time starts to run.
    fn started(&mut self, begin: BeginNote, options: &Options) {
        self.zero = begin.zero;
        self.cpu_at_zero = self.cpu_ns();
        self.begun = Instant::now();
        let share = options.budget_pct.map(|p| p / 100.0);
        let share = if self.kernel.has("calls") {
            share
        } else {
            None
        };
        self.budget = Budget::new(
            share,
            begin.cost,
            begin.zero,
            self.cpu_at_zero,
            self.kernel.counted(),
        );
        let mut sink = self.sink.borrow_mut();
        sink.spool.note(&Note::Begin(Box::new(begin)));
        // Where opens are not seen, a recording lacks nothing while calls are timed: who compares files says the rest.
        let is_told = |one: &&Granted| one.attached || one.probe != opens::INFO.name;
        let told = self.kernel.granted.iter().filter(is_told);
        told.for_each(|granted| sink.spool.note(&granted.note()));
    }

    fn flush(&self) {
        self.sink.borrow_mut().spool.flush();
    }

    fn drain(&mut self) {
        let mut sink = self.sink.borrow_mut();
        self.ring.drain(|bytes| sink.take(bytes));
    }

    /// One round: drain, keep to the budget, write, tell.
    fn turn(&mut self, watch: &mut dyn FnMut(&Progress)) {
        let from = now_ns();
        self.welcome();
        self.drain();
        self.keep_to_budget();
        self.kernel.control().tell_day_clock(day_clock_ahead_ns());
        self.ring.leave();
        // At once: a thread that ran for a moment is gone the next.
        let mut sink = self.sink.borrow_mut();
        let sink = &mut *sink;
        sink.stacks.settle(from, &mut sink.spool);
        sink.stacks.look_at_goroutines(&mut sink.spool);
        if sink.stacks.have_tasks() {
            self.kernel.control().tell_tasks();
        }
        if sink.stacks.have_tags() {
            self.kernel.control().tell_tags();
        }
        sink.names.resolve_threads(&mut sink.spool);
        if self.flushed.elapsed() >= FLUSH_EVERY {
            sink.stacks.look_again();
            sink.names
                .resolve_functions(&mut self.kernel, &mut sink.spool);
            sink.spool.flush();
            self.flushed = Instant::now();
        }
        self.ring.come_back();
        if self.watched.elapsed() >= FLUSH_EVERY {
            watch(&Progress {
                elapsed: self.begun.elapsed(),
                events: sink.spool.events,
                bytes: sink.spool.bytes,
            });
            self.watched = Instant::now();
        }
    }

    /// The CPU time that timesink has taken, with those who read for it.
    fn cpu_ns(&self) -> u64 {
        CpuClock::OWN.now_ns() + self.reader.cpu_ns()
    }

    fn keep_to_budget(&mut self) {
        let counted = self.kernel.counted();
        match self.budget.step(now_ns(), self.cpu_ns(), counted) {
            BudgetStep::Nothing => {}
            BudgetStep::Pause => {
                // Detaching takes a while, during which calls are no longer timed.
                let (t0, t1) = self.budget.paused(now_ns());
                self.kernel.detach_calls();
                self.sink.borrow_mut().spool.note(&Note::Window { t0, t1 });
            }
            BudgetStep::Resume => {
                if self.kernel.attach_calls().is_ok() {
                    self.budget.resumed(now_ns());
                }
            }
        }
    }

    /// Until the program ends.
    fn follow(
        &mut self,
        running: &mut Running,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Status, Error> {
        let newcomers = self.newcomers.as_ref().map(Newcomers::fd);
        let fds = [raw(running.signal_fd()), raw(running.child_fd())];
        let fds: Vec<i32> = fds.into_iter().chain(newcomers).collect();
        loop {
            self.turn(watch);
            if let Some(status) = running.try_wait()? {
                return Ok(status);
            }
            let starting = self.begun.elapsed() < STARTING;
            wait_for(
                &fds,
                if starting {
                    DRAIN_AT_START
                } else {
                    DRAIN_EVERY
                },
            );
            running.on_signal()?;
        }
    }

    /// The end of a process is told before its last thread has left the processor.
    fn await_last_switch(&mut self) {
        let start = Instant::now();
        loop {
            self.drain();
            if self.sink.borrow().root_ended || start.elapsed() > LAST_SWITCH {
                return;
            }
            wait_for(&[], Duration::from_millis(1));
        }
    }

    /// A thread whose number nobody knows any more, because its process was reaped, is not among all tasks; but it may have a way
    /// to go yet to its last switch, with which its sums come.
    fn await_the_dying(&mut self) {
        let start = Instant::now();
        while self.kernel.control().alive() > 0 && start.elapsed() < DYING {
            self.drain();
            wait_for(&[], Duration::from_millis(1));
        }
    }

    /// Detach in reverse, close what is still alive, write the rest.
    fn close(
        mut self,
        status: Option<Status>,
        patience: &Patience,
    ) -> Result<(Folder, Option<String>), Error> {
        self.welcome();
        self.kernel.detach("sampler");
        self.kernel.detach("calls");
        let end = now_ns();
        let recorder_cpu_ns = self.cpu_ns().saturating_sub(self.cpu_at_zero);
        let finished = self.kernel.finish();
        self.await_the_dying();
        self.kernel.control().stop();
        self.drain();
        let mut lost = self.kernel.lost();
        let Session {
            budget,
            sink,
            folder,
            kernel,
            ring,
            newcomers,
            reader,
            keep_files,
            group,
            ..
        } = self;
        drop((ring, newcomers));
        let mut kernel = kernel;
        kernel.detach_all();
        let mut sink = sink.borrow_mut();
        let sink = &mut *sink;
        kernel.gathered(|turn| sink.take(turn));
        sink.stacks.settle(u64::MAX, &mut sink.spool);
        sink.stacks.name_made_code(patience, &mut sink.spool);
        sink.names.resolve_threads(&mut sink.spool);
        sink.names.resolve_functions(&mut kernel, &mut sink.spool);
        let facts = environment::at_end(group.as_ref(), &sink.files.devices);
        let of_files = sink.files.facts(&reader, keep_files);
        for note in [facts, of_files]
            .into_iter()
            .flat_map(|facts| facts.notes(Moment::End))
        {
            sink.spool.note(&note);
        }
        if let Some((t0, t1)) = budget.open_window(end) {
            sink.spool.note(&Note::Window { t0, t1 });
        }
        if let Some(stacks) = lost.get_mut(events::TS_STACK as usize) {
            *stacks += sink.stacks.lost();
        }
        let (code, signal) = match status {
            Some(Status::Exited(code)) => (Some(code), None),
            Some(Status::Killed(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        let failure = |spool: &spool::Writer| spool.failure().map(|e| e.to_string());
        sink.spool.note(&Note::End(Box::new(EndNote {
            at: end,
            exit_code: code,
            exit_signal: signal,
            lost: lost
                .into_iter()
                .take(events::TS_COUNTERS as usize)
                .collect(),
            writing_failed: failure(&sink.spool),
            recorder_cpu_ns: Some(recorder_cpu_ns),
        })));
        sink.spool.flush();
        finished?;
        Ok((folder, failure(&sink.spool)))
    }

    /// The program never ran: leave nothing behind.
    fn discard(self, options: &Options) {
        let remove = || {
            let Ok((parent, name)) = files::place(&options.folder) else {
                return;
            };
            let own = self.folder.about().ok().map(|about| about.which);
            let there = parent.about_within(&name).ok().map(|about| about.which);
            if self.folder.remove(spool::NAME).is_ok() && own == there {
                let _ = parent.remove_folder(&name);
            }
        };
        // What cannot be removed is an unfinished recording of nothing.
        let _ = Identity::acting(options.identity.as_ref(), remove);
    }
}
