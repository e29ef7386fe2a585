//! Threads, processes and images from their starts, execs, exits and ends.

use std::collections::HashMap;

use timesink_recording::processors;
use timesink_recording::tables::images::Image;
use timesink_recording::tables::processes::Process;
use timesink_recording::tables::threads::Thread;
use timesink_recording::words::{ImageEvent, SchedulingPolicy};
use timesink_recording::{Nanos, ProcessId, ThreadId};

use crate::calls::Transfers;
use crate::probes::{self, events as e, text};
use crate::spool::EventCosts;

/// The probes number threads from 1; the recording's tables number them densely from 0, in the
/// order of their starts.
#[derive(Default)]
pub struct Lives {
    zero: u64,
    costs: EventCosts,
    by_number: HashMap<u32, ThreadId>,
    by_tid: HashMap<u32, Vec<ThreadId>>,
    by_pid: HashMap<u32, ProcessId>,
    /// Executable and arguments of those that were there before.
    programs: HashMap<u32, (String, String)>,
    /// The control groups of those, and of who has executed a program since.
    pub groups: HashMap<u32, String>,
    pub threads: Vec<Thread>,
    pub processes: Vec<Process>,
    pub images: Vec<Image>,
    /// Seeded before the recording's time began: what they waited until then is not of it.
    before_zero: HashMap<ThreadId, u64>,
    /// From the birth as the kernel noted it to the moment at which it was seen: a child waits to be finished.
    unseen_ns: HashMap<ThreadId, u64>,
    resident_at_exit: HashMap<ThreadId, u64>,
    ended: Vec<bool>,
    /// How many threads of each process are alive.
    alive: HashMap<ProcessId, u32>,
    pub switches: u64,
    pub wakes: u64,
    /// What the kernel counted of each thread that has ended.
    pub transfers: HashMap<ThreadId, Transfers>,
}

impl Lives {
    pub fn new(zero: u64, costs: EventCosts) -> Lives {
        Lives {
            zero,
            costs,
            ..Lives::default()
        }
    }

    /// What processes run that were there before they were recorded, by their numbers.
    pub fn ran_before(&mut self, programs: HashMap<u32, (String, String)>) {
        self.programs = programs;
    }

    /// A moment of the probes' clock in the recording's time.
    pub fn at(&self, t: u64) -> Nanos {
        Nanos(t.saturating_sub(self.zero).min(i64::MAX as u64) as i64)
    }

    pub fn thread(&self, number: u32) -> Option<ThreadId> {
        self.by_number.get(&number).copied()
    }

    pub fn process_of(&self, thread: ThreadId) -> Option<ProcessId> {
        self.threads.get(thread.index()).map(|t| t.process)
    }

    /// The recorded thread that had this kernel id at this time.
    pub fn by_tid(&self, tid: u32, at: Nanos) -> Option<ThreadId> {
        let had = self.by_tid.get(&tid)?;
        let lived = |id: &&ThreadId| {
            let t = &self.threads[id.index()];
            t.start <= at && (at <= t.end || t.end == Nanos(0))
        };
        had.iter().rev().find(lived).or(had.last()).copied()
    }

    /// A thread starts once: a spool that says otherwise would make a row for each time, and a few bytes can say it a
    /// million times.
    pub fn start(&mut self, s: &e::ts_start) {
        if self.by_number.contains_key(&s.head.thread) {
            return;
        }
        let seeded = s.how == e::TS_START_SEED;
        let born = self.born(s);
        let at = self.at(born);
        let parent = self.thread(s.parent);
        let thread = ThreadId(self.threads.len() as u32);
        let process = self.process_for(s, parent, at);
        self.by_number.insert(s.head.thread, thread);
        self.by_tid.entry(s.tid).or_default().push(thread);
        if seeded && s.head.t < self.zero {
            self.before_zero.insert(thread, self.zero - s.head.t);
        }
        if born < s.head.t {
            self.unseen_ns.insert(thread, s.head.t - born);
        }
        self.ended.push(false);
        *self.alive.entry(process).or_default() += 1;
        self.threads.push(Thread {
            thread,
            process,
            tid: s.tid,
            name: text(&s.name),
            start: at,
            end: Nanos(0),
            exit: None,
            born_before: seeded,
            alive_at_end: false,
            end_lost: true,
            parent,
            cpu_ns: 0,
            ready_ns: 0,
            wait_ns: 0,
            tracer_ns: 0,
            tracer_estimated_ns: 0,
            kernel_cpu_ns: 0,
            kernel_ready_ns: 0,
            // Until the end is known: the kernel's start.
            kernel_life_ns: if seeded { 0 } else { s.start_time },
            kernel_user_ns: 0,
            kernel_system_ns: 0,
            samples_user: 0,
            samples_kernel: 0,
            switches_voluntary: 0,
            switches_involuntary: 0,
            migrations: 0,
            faults_minor: 0,
            faults_major: 0,
            calls_seen: 0,
            exit_status: None,
            nice: None,
            taken_ns: None,
            policy: None,
            realtime_priority: None,
            allowed_processors: None,
        });
        self.note_image(s, process, parent, at);
    }

    /// A process that was forked is an image of its own.
    fn note_image(
        &mut self,
        s: &e::ts_start,
        process: ProcessId,
        parent: Option<ThreadId>,
        at: Nanos,
    ) {
        let event = match s.how {
            e::TS_START_FORK => ImageEvent::Fork,
            e::TS_START_VFORK => ImageEvent::Vfork,
            _ => return,
        };
        self.images.push(Image {
            process,
            thread: parent,
            event,
            t: at,
            cost_ns: cost(s.call_since, s.head.t),
            resident_bytes: s.resident,
            executable: String::new(),
            arguments: String::new(),
        });
    }

    /// When a thread's recorded life began. The kernel notes the birth of a child before it makes the rest of it, and may be
    /// interrupted in between.
    fn born(&self, s: &e::ts_start) -> u64 {
        match s.how {
            e::TS_START_SEED => s.head.t,
            _ => s.start_time.clamp(self.zero.min(s.head.t), s.head.t),
        }
    }

    fn process_for(&mut self, s: &e::ts_start, parent: Option<ThreadId>, at: Nanos) -> ProcessId {
        let of_parent = parent.and_then(|p| self.process_of(p));
        if let (e::TS_START_THREAD, Some(process)) = (s.how, of_parent) {
            return process;
        }
        if s.how == e::TS_START_SEED || s.how == e::TS_START_THREAD {
            // The number of a process that has ended may be another's now.
            let known = self.by_pid.get(&s.pid);
            let alive = |process: &&ProcessId| self.alive.get(process).is_some_and(|n| *n > 0);
            if let Some(process) = known.filter(alive) {
                return *process;
            }
        }
        let process = ProcessId(self.processes.len() as u32);
        self.by_pid.insert(s.pid, process);
        let own = (s.how == e::TS_START_SEED)
            .then(|| self.programs.remove(&s.pid))
            .flatten();
        // A child is the program it was copied from until it executes another.
        let of_parent_row = of_parent.and_then(|p| self.processes.get(p.index()));
        let (executable, arguments) = own
            .or_else(|| of_parent_row.map(|p| (p.executable.clone(), p.arguments.clone())))
            .unwrap_or_default();
        self.processes.push(Process {
            process,
            pid: s.pid,
            parent: of_parent,
            parent_pid: s.parent_pid,
            name: text(&s.name),
            executable,
            arguments,
            start: at,
            end: Nanos(0),
            uid: s.uid,
            group: match s.how {
                e::TS_START_SEED => self.groups.get(&s.pid).cloned(),
                _ => of_parent_row.and_then(|row| row.group.clone()),
            },
        });
        process
    }

    pub fn exec(&mut self, x: &e::ts_exec) {
        let Some(thread) = self.thread(x.head.thread) else {
            return;
        };
        let at = self.at(x.head.t);
        // Another thread than the first may execute; it takes over the first one's id.
        let row = &mut self.threads[thread.index()];
        if row.tid != x.tid {
            row.tid = x.tid;
            self.by_tid.entry(x.tid).or_default().push(thread);
        }
        row.name = text(&x.name);
        let arguments = String::from_utf8_lossy(&probes::arguments(x))
            .trim_end_matches('\0')
            .to_string();
        let executable = text(&x.executable);
        let process = row.process;
        if let Some(p) = self.processes.get_mut(process.index()) {
            p.name = text(&x.name);
            p.executable = executable.clone();
            p.arguments = arguments.clone();
            p.uid = x.uid;
            if let Some(group) = self.groups.get(&p.pid) {
                p.group = Some(group.clone());
            }
        }
        self.images.push(Image {
            process,
            thread: Some(thread),
            event: ImageEvent::Exec,
            t: at,
            cost_ns: cost(x.call_since, x.head.t),
            resident_bytes: x.resident,
            executable,
            arguments,
        });
    }

    pub fn exit(&mut self, x: &e::ts_exit) {
        let Some(thread) = self.thread(x.head.thread) else {
            return;
        };
        self.threads[thread.index()].exit = Some(self.at(x.head.t));
        self.resident_at_exit.insert(thread, x.resident);
    }

    pub fn end(&mut self, x: &e::ts_end) {
        let Some(thread) = self.thread(x.head.thread) else {
            return;
        };
        let at = self.at(x.head.t);
        let zero = self.zero;
        let hidden = self.before_zero.get(&thread).copied().unwrap_or(0);
        let unseen = self.unseen_ns.get(&thread).copied().unwrap_or(0);
        let row = &mut self.threads[thread.index()];
        row.end = at;
        row.end_lost = false;
        row.alive_at_end = x.alive != 0;
        row.tid = x.tid;
        row.name = text(&x.name);
        row.cpu_ns = x.cpu_ns;
        row.ready_ns = x.ready_ns;
        row.wait_ns = x.wait_ns.saturating_sub(hidden).saturating_add(unseen);
        row.tracer_ns = x.tracer_ns;
        let estimated = estimated_ns(&self.costs, x);
        row.tracer_estimated_ns = (estimated as u64).min(row.cpu_ns);
        row.kernel_cpu_ns = x.kernel_cpu_ns;
        row.taken_ns = Some(x.taken_ns);
        row.kernel_ready_ns = x.kernel_ready_ns;
        row.kernel_life_ns = x.head.t.saturating_sub(row.kernel_life_ns.max(zero));
        if row.born_before {
            row.kernel_life_ns = at.since(row.start);
        }
        count(row, x);
        self.switches += x.voluntary + x.involuntary;
        self.wakes += x.wakes;
        let transfers = Transfers {
            reads: x.reads,
            writes: x.writes,
        };
        self.transfers.insert(thread, transfers);
        let process = row.process;
        let (exit, leader) = (row.exit, x.tid == x.pid);
        if leader {
            row.exit_status = (x.alive == 0).then_some(x.exit_code);
        }
        let name = row.name.clone();
        self.ended(thread, process);
        if let Some(p) = self.processes.get_mut(process.index()) {
            p.end = p.end.max(at);
            if leader {
                p.name = name;
                p.uid = x.uid;
            }
        }
        if let (true, Some(exit), 0) = (leader, exit, x.alive) {
            let resident_bytes = self.resident_at_exit.remove(&thread).unwrap_or(0);
            self.images.push(Image {
                process,
                thread: Some(thread),
                event: ImageEvent::Exit,
                t: exit,
                cost_ns: Some(at.since(exit)),
                resident_bytes,
                executable: String::new(),
                arguments: String::new(),
            });
        }
    }

    fn ended(&mut self, thread: ThreadId, process: ProcessId) {
        if !std::mem::replace(&mut self.ended[thread.index()], true) {
            let alive = self.alive.entry(process).or_default();
            *alive = alive.saturating_sub(1);
        }
    }

    /// Threads whose end was never told end with the recording.
    pub fn close(&mut self, wall: Nanos) {
        for (row, ended) in self.threads.iter_mut().zip(&self.ended) {
            if !ended {
                row.end = wall.max(row.start);
                row.kernel_life_ns = row.end.since(row.start);
            }
        }
        for row in &mut self.processes {
            if row.end == Nanos(0) {
                row.end = wall.max(row.start);
            }
        }
        let threads = &self.threads;
        for row in threads.iter().filter(|t| t.end_lost) {
            if let Some(p) = self.processes.get_mut(row.process.index()) {
                p.end = p.end.max(row.end);
            }
        }
    }
}

/// The time from the entry of a call, if that was seen.
fn cost(since: u64, t: u64) -> Option<u64> {
    (since != 0 && since <= t).then(|| t - since)
}

/// What recording cost a thread beside what was measured. What the switch program measured of itself is in `tracer_ns`, with
/// stacks; the rest of what a switch costs, getting into the program and out, is known from the start only. So it is of calls, of
/// which some have their return measured.
fn estimated_ns(costs: &EventCosts, x: &e::ts_end) -> f64 {
    let switches = (x.voluntary + x.involuntary) as f64;
    let switching = x.tracer_ns.saturating_sub(x.stacks_ns) as f64;
    let call_ns = costs.call_with_returns(x.returns_ns, x.returns);
    x.calls as f64 * call_ns + (switches * costs.switch_ns - switching).max(0.0)
}

/// What the kernel counts of a thread, and we beside it.
fn count(row: &mut Thread, x: &e::ts_end) {
    row.kernel_user_ns = x.user_ns;
    row.kernel_system_ns = x.system_ns;
    row.samples_user = x.samples_user;
    row.samples_kernel = x.samples_kernel;
    row.switches_voluntary = x.voluntary;
    row.switches_involuntary = x.involuntary;
    row.migrations = x.migrations;
    row.faults_minor = x.faults_minor;
    row.faults_major = x.faults_major;
    row.calls_seen = x.calls;
    row.nice = Some(x.nice.into());
    row.policy = policy(x.policy);
    row.realtime_priority = Some(x.realtime_priority);
    row.allowed_processors = allowed(x);
}

/// The numbers of sched(7).
fn policy(number: u32) -> Option<SchedulingPolicy> {
    Some(match number {
        0 => SchedulingPolicy::Other,
        1 => SchedulingPolicy::Fifo,
        2 => SchedulingPolicy::RoundRobin,
        3 => SchedulingPolicy::Batch,
        5 => SchedulingPolicy::Idle,
        6 => SchedulingPolicy::Deadline,
        7 => SchedulingPolicy::Extensible,
        _ => return None,
    })
}

/// The processors that it may use; `None` where not all of them were told.
fn allowed(x: &e::ts_end) -> Option<String> {
    let told: u32 = x.allowed.iter().map(|word| word.count_ones()).sum();
    let bits = 0..x.allowed.len() as u32 * u64::BITS;
    let is_set = |bit: &u32| x.allowed[(bit / u64::BITS) as usize] >> (bit % u64::BITS) & 1 != 0;
    (told == x.allowed_count).then(|| processors::list(bits.filter(is_set)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(number: u32, tid: u32, pid: u32) -> e::ts_start {
        let mut start = e::ts_start {
            tid,
            pid,
            how: e::TS_START_SEED,
            ..Default::default()
        };
        start.head.thread = number;
        start
    }

    /// Threads of a process that ran before are one process; one that comes in with the number of a process that has
    /// ended is another.
    #[test]
    fn a_number_that_is_given_anew() {
        let mut lives = Lives::new(0, EventCosts::default());
        lives.start(&start(1, 10, 10));
        lives.start(&start(2, 11, 10));
        let end = |number| {
            let mut end = e::ts_end::default();
            end.head.thread = number;
            end
        };
        lives.end(&end(1));
        lives.start(&start(3, 12, 10));
        assert_eq!(lives.processes.len(), 1);
        lives.end(&end(2));
        lives.end(&end(3));
        lives.start(&start(4, 10, 10));
        assert_eq!(lives.processes.len(), 2);
        assert_eq!(lives.threads[3].process, lives.processes[1].process);
    }

    /// A process that nobody saw execute its program runs what it was asked for as it came in; one that has its number later does not.
    #[test]
    fn a_process_that_was_there_before_has_a_program() {
        let mut lives = Lives::new(0, EventCosts::default());
        let program = ("/usr/bin/python3".to_owned(), "python3\0web.py".to_owned());
        lives.ran_before([(10, program)].into());
        lives.start(&start(1, 10, 10));
        let mut end = e::ts_end::default();
        end.head.thread = 1;
        lives.end(&end);
        lives.start(&start(2, 10, 10));
        let told = |at: usize| lives.processes[at].arguments.as_str();
        assert_eq!((told(0), told(1)), ("python3\0web.py", ""));
    }

    /// A child is in its parent's control group, until it executes a program in another one.
    #[test]
    fn a_child_is_in_the_group_of_its_parent() {
        let mut lives = Lives::new(0, EventCosts::default());
        lives.groups = [(10, "/a".to_owned()), (12, "/b".to_owned())].into();
        lives.start(&start(1, 10, 10));
        for (number, pid) in [(2, 11), (3, 12)] {
            let mut child = start(number, pid, pid);
            (child.how, child.parent) = (e::TS_START_FORK, 1);
            lives.start(&child);
        }
        let groups = |lives: &Lives| -> Vec<_> {
            let rows = lives.processes.iter();
            rows.map(|row| row.group.clone().unwrap_or_default())
                .collect()
        };
        assert_eq!(groups(&lives), ["/a", "/a", "/a"]);
        for (number, tid) in [(2, 11), (3, 12)] {
            let mut exec = e::ts_exec {
                tid,
                ..Default::default()
            };
            exec.head.thread = number;
            lives.exec(&exec);
        }
        assert_eq!(groups(&lives), ["/a", "/a", "/b"]);
    }

    /// On a machine whose processors are taken away for a moment a child may be born milliseconds before it is seen: that is
    /// of its life, and a wait.
    #[test]
    fn a_birth_that_is_seen_late() {
        let mut lives = Lives::new(1_000, EventCosts::default());
        let mut late = start(1, 10, 10);
        (late.how, late.head.t, late.start_time) = (e::TS_START_THREAD, 5_000, 2_000);
        lives.start(&late);
        let mut end = e::ts_end {
            ready_ns: 300,
            wait_ns: 700,
            cpu_ns: 4_000,
            ..Default::default()
        };
        (end.head.thread, end.head.t) = (1, 10_000);
        lives.end(&end);
        let row = &lives.threads[0];
        assert_eq!((row.start, row.end), (Nanos(1_000), Nanos(9_000)));
        assert_eq!(row.kernel_life_ns, 8_000);
        assert_eq!(row.cpu_ns + row.ready_ns + row.wait_ns, 8_000);
    }

    /// A program of 2 s was told to be slowed by 2.2 %, where samples of its deep stacks alone took 1.5 %, and its calls, which
    /// looked up paths, more than the call by which the start knows what one costs.
    #[test]
    fn what_stacks_and_dear_calls_cost_is_told() {
        let costs = EventCosts {
            call_ns: 400.0,
            return_ns: 200.0,
            switch_ns: 1_000.0,
            start_ns: 0,
        };
        let mut lives = Lives::new(0, costs);
        lives.start(&start(1, 10, 10));
        let mut end = e::ts_end {
            cpu_ns: 10_000_000,
            tracer_ns: 54_000,
            stacks_ns: 50_000,
            voluntary: 10,
            calls: 100,
            returns: 10,
            returns_ns: 5_000,
            ..Default::default()
        };
        end.head.thread = 1;
        lives.end(&end);
        let row = &lives.threads[0];
        assert_eq!(row.tracer_ns, 54_000);
        // A hundred calls of 200 + 500 ns, and ten switches of 1 us, of which 4 were measured.
        assert_eq!(row.tracer_estimated_ns, 70_000 + 6_000);
    }

    /// A start that is told twice is one start.
    #[test]
    fn a_thread_starts_once() {
        let mut lives = Lives::new(0, EventCosts::default());
        for _ in 0..1000 {
            lives.start(&start(1, 10, 10));
        }
        assert_eq!((lives.threads.len(), lives.processes.len()), (1, 1));
    }
}
