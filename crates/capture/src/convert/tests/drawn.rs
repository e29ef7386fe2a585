//! Streams of events written as text, and what they become: so that the conversion is tested without a kernel, as analysis
//! is with recordings in `timesink_recording::notation`, whose style this follows. A fault in the text panics.
//!
//! ```text
//! threshold 50us                      # waits and times ready of this length have particulars
//! timed 0..2ms                        # calls were timed then; may be repeated
//! lost turns 3                        # the kernel's side counted so many lost: turns, waits, samples
//! until 10ms                          # the recording's end; `killed`: it was never told
//! module 1 jit /memory                # its names are told by `made 1 0x10 name`
//! loaded 1 by main 0x1000..0x9000 moved 0x1000 # a process has the file of module 1 there
//! thread main                         # was there before; `at TIME` if it came in later
//! thread worker of main at 1ms        # made by another: thread, process or vfork; `born TIME` if it was seen late
//!
//! main: run 0..1ms wait ..3ms ready ..3.1ms call fsync object file 7 by block
//! main: result 1ms 0                  # of the call that waited from 1ms on; `fd 4`: found ready
//! main: queue 3ms..3.1ms worker 50us  # who ran while it was ready
//! main: sample 4ms user "main;run" kernel "do_syscall_64;vfs_read"
//! main: stack wait 1ms user "main;run"    # or waker, delay: of what began then
//! main: task 7 2ms seen 1.5ms          # at work for goroutine 7 from then on; for the one before until 1.5ms, which is then `left` in Go's state of a number; 0: for none
//! main: sight 7 2ms after 1ms state 4 # goroutine 7 was found so, by Go's number of a state, and was looked at before then
//! main: exec 5ms
//! main: exit 9ms
//! main: end 3.1ms..10ms cpu 7.9ms     # its last run; the sums that the kernel's side kept; `alive`
//! ```
//!
//! In a user stack, `1+0x11` is a place in module 1 to return to, `1@0x10` the instruction itself; another word is a function.
//! Times are the recording's own; what was before it is negative. A line of a turn may have: `first`, `preempted`,
//! `throttled`, `stopped`, `exiting`, `open` (how the run ended), `switching ..TIME` for `ready`, `by THREAD`, `by timer`,
//! `block`, `network`, `interrupt` or `outsider TID`, `sends`, `on CPU`, `tracer TIME`, `taken UNITS`, `occupant THREAD TIME`,
//! `futex OPERATION`, `contended`. These make it a long wait: `asked TIME`, `args "N N ..."`, `owner THREAD`, `kernel "OUTER;INNER"`, `long`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use timesink_recording::files::Folder;
use timesink_recording::notation::{time_of, words_of};
use timesink_recording::Recording;
use zerocopy::{Immutable, IntoBytes};

use crate::patience::Patience;
use crate::probes::events as e;
use crate::spool::{BeginNote, EndNote, EventCosts, LoadedModule, Note, Writer};

/// The recording's first moment, by the probes' clock.
const ZERO: i64 = 1_000_000_000;

/// What the text describes, converted. It leaves nothing on disk.
pub fn converted(text: &str) -> Recording {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("timesink-drawn-{}-{count}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir(&path).expect("a folder");
    let folder = Folder::open(&path).expect("the folder");
    Drawn::of(text).write(&folder);
    let converted = super::super::convert(&folder, None, None, &Patience::default());
    let recording = converted.map(|_| Recording::open(&path).expect("a recording"));
    // Left behind it would be in nobody's way; what is open stays readable.
    let _ = std::fs::remove_dir_all(&path);
    recording.expect("it is converted")
}

/// The words of a line that are still to be read.
type Words = std::iter::Peekable<std::vec::IntoIter<String>>;

#[derive(Clone, Copy)]
struct Thread {
    /// As the probes number it, from 1.
    number: u32,
    tid: u32,
    pid: u32,
}

#[derive(Default)]
struct Drawn {
    threshold_ns: u64,
    until: Option<u64>,
    killed: bool,
    lost: Vec<u64>,
    events: Vec<Vec<u8>>,
    notes: Vec<Note>,
    threads: HashMap<String, Thread>,
    /// Addresses of kernel functions.
    kernel: HashMap<String, u64>,
    /// Functions of the program, and their frames by the frame of the caller.
    codes: HashMap<String, u32>,
    nodes: HashMap<(u32, String), u32>,
}

fn word(words: &mut Words) -> String {
    words.next().expect("something is missing at the end")
}

fn number<N: std::str::FromStr>(words: &mut Words) -> N {
    let word = word(words);
    word.parse()
        .unwrap_or_else(|_| panic!("{word:?} is no number"))
}

fn length(text: &str) -> i64 {
    time_of(text).unwrap_or_else(|| panic!("{text:?} is no time such as 1.5ms"))
}

/// A moment by the probes' clock.
fn moment(text: &str) -> u64 {
    (ZERO + length(text)) as u64
}

/// Two moments, `FROM..TO`.
fn range(text: &str) -> (u64, u64) {
    let (from, to) = text.split_once("..").expect("FROM..TO");
    (moment(from), moment(to))
}

/// The end of a stretch that begins where the one before it ended: `..TO`.
fn end_of(text: &str) -> u64 {
    moment(text.strip_prefix("..").expect("..TO"))
}

fn hexadecimal(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").expect("0x...");
    u64::from_str_radix(digits, 16).expect("a number")
}

fn name16(name: &str) -> [std::os::raw::c_char; 16] {
    let mut room = [0; 16];
    for (place, byte) in room.iter_mut().zip(name.bytes()) {
        *place = byte as _;
    }
    room
}

impl Drawn {
    fn of(text: &str) -> Drawn {
        let mut drawn = Drawn {
            threshold_ns: 50_000,
            lost: vec![0; e::TS_COUNTERS as usize],
            ..Drawn::default()
        };
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                drawn.line(line);
            }
        }
        drawn
    }

    fn write(&self, folder: &Folder) {
        let mut spool = Writer::create(folder).expect("a spool");
        spool.note(&Note::Begin(Box::new(self.begin())));
        self.events.iter().for_each(|event| spool.event(event));
        self.notes.iter().for_each(|note| spool.note(note));
        if !self.killed {
            spool.note(&Note::End(Box::new(EndNote {
                at: self.until.expect("`until` or `killed`"),
                exit_code: Some(0),
                exit_signal: None,
                lost: self.lost.clone(),
                writing_failed: None,
                recorder_cpu_ns: None,
            })));
        }
        spool.flush();
    }

    fn begin(&self) -> BeginNote {
        BeginNote {
            tool_version: String::new(),
            mode: "run".into(),
            command: Vec::new(),
            directory: String::new(),
            started_unix_ns: 0,
            zero: ZERO as u64,
            threshold_ns: self.threshold_ns,
            budget_pct: None,
            exact: false,
            kernel: String::new(),
            architecture: String::new(),
            processors: 1,
            hostname: String::new(),
            facts: Default::default(),
            floors: None,
            cost: EventCosts::default(),
        }
    }

    fn line(&mut self, line: &str) {
        let mut words = words_of(line).into_iter().peekable();
        let first = word(&mut words);
        if let Some(thread) = first.strip_suffix(':') {
            let thread = self.thread(thread);
            return self.event(thread, &mut words);
        }
        match first.as_str() {
            "threshold" => self.threshold_ns = length(&word(&mut words)) as u64,
            "until" => self.until = Some(moment(&word(&mut words))),
            "killed" => self.killed = true,
            "timed" => {
                let (t0, t1) = range(&word(&mut words));
                self.notes.push(Note::Window { t0, t1 });
            }
            "lost" => {
                let kind = match word(&mut words).as_str() {
                    "turns" => e::TS_TURN,
                    "waits" => e::TS_WAIT,
                    "samples" => e::TS_STACK,
                    kind => panic!("{kind} are not lost"),
                };
                self.lost[kind as usize] = number(&mut words);
            }
            "module" => self.notes.push(Note::Module {
                module: number(&mut words),
                kind: word(&mut words),
                path: word(&mut words),
                build_id: String::new(),
                stamp: None,
            }),
            "loaded" => {
                let module = number(&mut words);
                assert_eq!(word(&mut words), "by");
                let pid = self.thread(&word(&mut words)).pid;
                let range = word(&mut words);
                let (start, end) = range.split_once("..").expect("FROM..TO");
                assert_eq!(word(&mut words), "moved");
                self.notes.push(Note::Loaded(LoadedModule {
                    pid,
                    at: ZERO as u64,
                    module,
                    moved: hexadecimal(&word(&mut words)),
                    start: hexadecimal(start),
                    end: hexadecimal(end),
                }));
            }
            "made" => self.notes.push(Note::Made {
                module: number(&mut words),
                names: vec![(hexadecimal(&word(&mut words)), word(&mut words))],
            }),
            "thread" | "process" | "vfork" => self.start(&first, &mut words),
            _ => panic!("no such line: {line:?}"),
        }
    }

    fn thread(&self, name: &str) -> Thread {
        let known = self.threads.get(name);
        *known.unwrap_or_else(|| panic!("thread {name} is not declared"))
    }

    fn push(&mut self, event: &(impl IntoBytes + Immutable)) {
        self.events.push(event.as_bytes().to_vec());
    }

    fn start(&mut self, what: &str, words: &mut Words) {
        let name = word(words);
        let parent = words.next_if(|word| word == "of").map(|_| word(words));
        let parent = parent.map(|parent| self.thread(&parent));
        let at = words.next_if(|word| word == "at").map(|_| word(words));
        let at = moment(at.as_deref().unwrap_or("0"));
        let born = words.next_if(|word| word == "born").map(|_| word(words));
        let tid = 100 + self.threads.len() as u32;
        let (how, pid) = match (what, parent) {
            (_, None) => (e::TS_START_SEED, tid),
            ("thread", Some(parent)) => (e::TS_START_THREAD, parent.pid),
            ("vfork", _) => (e::TS_START_VFORK, tid),
            _ => (e::TS_START_FORK, tid),
        };
        let number = self.threads.len() as u32 + 1;
        let thread = Thread { number, tid, pid };
        self.threads.insert(name.clone(), thread);
        self.push(&e::ts_start {
            head: head(e::TS_START, thread, at),
            tid,
            pid,
            parent: parent.map_or(0, |parent| parent.number),
            parent_pid: parent.map_or(1, |parent| parent.pid),
            how,
            start_time: born.map_or(at, |born| moment(&born)),
            name: name16(&name),
            ..Default::default()
        });
    }

    fn event(&mut self, thread: Thread, words: &mut Words) {
        match word(words).as_str() {
            "run" => self.turn(thread, words),
            "result" => {
                let t_out = moment(&word(words));
                let result = number(words);
                let fd = words.next_if(|word| word == "fd").map(|_| number(words));
                self.push(&e::ts_result {
                    // A result comes after its wait, which is told when it is over.
                    head: head(e::TS_RESULT, thread, self.latest()),
                    t_out,
                    result,
                    fd: fd.unwrap_or(-1),
                    ..Default::default()
                });
            }
            "queue" => self.queue(thread, words),
            "sample" => self.seen(e::TS_OF_SAMPLE, thread, words),
            "stack" => {
                let what = match word(words).as_str() {
                    "wait" => e::TS_OF_WAIT,
                    "waker" => e::TS_OF_WAKER,
                    "delay" => e::TS_OF_DELAY,
                    what => panic!("no stack of a {what}"),
                };
                self.seen(what, thread, words);
            }
            "task" => {
                let task = number(words);
                let head = head(e::TS_TASK, thread, moment(&word(words)));
                let seen = words.next_if(|word| word == "seen");
                let seen_before = seen.map_or(0, |_| moment(&word(words)));
                let left = words.next_if(|word| word == "left");
                let left_state = left.map_or(0, |_| number(words));
                self.push(&e::ts_task {
                    head,
                    seen_before,
                    number: task,
                    left_state,
                    pid: thread.pid,
                    ..Default::default()
                });
            }
            "sight" => self.sight(thread, words),
            "text" => self.tag_text(thread, words),
            "tag" => self.tag(thread, words),
            "exec" => self.push(&e::ts_exec {
                head: head(e::TS_EXEC, thread, moment(&word(words))),
                tid: thread.tid,
                old_tid: thread.tid,
                ..Default::default()
            }),
            "exit" => self.push(&e::ts_exit {
                head: head(e::TS_EXIT, thread, moment(&word(words))),
                ..Default::default()
            }),
            "end" => self.end(thread, words),
            what => panic!("no such event: {what}"),
        }
    }

    fn sight(&mut self, thread: Thread, words: &mut Words) {
        let task = number(words);
        let head = head(e::TS_SIGHT, thread, moment(&word(words)));
        let after = words.next_if(|word| word == "after");
        let seen_before = after.map_or(0, |_| moment(&word(words)));
        assert_eq!(word(words), "state");
        self.push(&e::ts_task {
            head,
            seen_before,
            number: task,
            left_state: number(words),
            pid: thread.pid,
            ..Default::default()
        });
    }

    fn tag_text(&mut self, thread: Thread, words: &mut Words) {
        let tag = number(words);
        let mut text = e::ts_tag_text {
            head: head(e::TS_TAG_TEXT, thread, 0),
            tag,
            ..Default::default()
        };
        let told = word(words);
        for (to, from) in text.text.iter_mut().zip(told.bytes()) {
            *to = from as _;
        }
        self.push(&text);
    }

    fn tag(&mut self, thread: Thread, words: &mut Words) {
        let tag = number(words);
        let head = head(e::TS_TAG, thread, moment(&word(words)));
        let seen = words.next_if(|word| word == "seen");
        let seen_before = seen.map_or(0, |_| moment(&word(words)));
        self.push(&e::ts_tag {
            head,
            seen_before,
            tag,
        });
    }

    /// The moment of the event before.
    fn latest(&self) -> u64 {
        let before = self.events.last().expect("an event before");
        crate::probes::head(before).expect("an event").t
    }

    fn turn(&mut self, thread: Thread, words: &mut Words) {
        let (t_run, t_out) = range(&word(words));
        let mut wait = e::ts_wait {
            turn: e::ts_turn {
                head: head(e::TS_TURN, thread, t_out),
                t_run,
                t_out,
                call: -1,
                ..Default::default()
            },
            asked_ns: u64::MAX,
            ..Default::default()
        };
        let mut long = false;
        while let Some(key) = words.next() {
            if !self.turn_attribute(&mut wait.turn, &key, words) {
                self.wait_attribute(&mut wait, &key, words);
                long = true;
            }
        }
        match long {
            true => {
                wait.turn.head.kind = e::TS_WAIT as _;
                self.push(&wait);
            }
            false => self.push(&wait.turn),
        }
    }

    /// Sets what the words say of a turn; false if it is something of long waits only.
    fn turn_attribute(&self, turn: &mut e::ts_turn, key: &str, words: &mut Words) -> bool {
        match key {
            "wait" => {
                turn.t_wake = end_of(&word(words));
                turn.head.t = turn.t_wake;
            }
            "ready" => turn.head.t = end_of(&word(words)),
            "switching" => {
                turn.head.t = end_of(&word(words));
                turn.dispatched = 1;
            }
            "first" => turn.how |= e::TS_FIRST as u8,
            "preempted" => turn.how |= e::TS_PREEMPTED as u8,
            "throttled" => turn.how |= e::TS_THROTTLED as u8,
            "stopped" => turn.how |= e::TS_STOPPED as u8,
            "exiting" => turn.how |= e::TS_EXITING as u8,
            "open" => turn.how |= e::TS_OPEN_END as u8,
            "call" => {
                let name = word(words);
                let known: Result<syscalls::x86_64::Sysno, _> = name.parse();
                turn.call = known.unwrap_or_else(|_| panic!("no call {name}")).id() as i16;
            }
            "object" => {
                turn.object_kind = match word(words).as_str() {
                    "file" => e::TS_O_FILE,
                    "pipe" => e::TS_O_PIPE,
                    "socket" => e::TS_O_SOCKET,
                    "futex" => e::TS_O_FUTEX,
                    kind => panic!("no object of kind {kind}"),
                } as u8;
                turn.key = number(words);
            }
            "by" => self.woken_by(turn, words),
            "sends" => turn.waker_sends = 1,
            "on" => turn.head.cpu = number(words),
            "tracer" => turn.tracer_ns = length(&word(words)) as u32,
            "taken" => turn.taken = number(words),
            "occupant" => {
                turn.occupant = self.thread(&word(words)).tid;
                turn.occupant_ns = length(&word(words)) as u32;
            }
            "futex" => turn.futex_operation = number(words),
            "contended" => turn.futex_contended = 1,
            _ => return false,
        }
        true
    }

    fn woken_by(&self, turn: &mut e::ts_turn, words: &mut Words) {
        let who = word(words);
        turn.wake = match who.as_str() {
            "timer" => e::TS_WAKE_TIMER,
            "block" => e::TS_WAKE_BLOCK,
            "network" => e::TS_WAKE_NET,
            "interrupt" => e::TS_WAKE_IRQ,
            "outsider" => {
                turn.waker = number(words);
                e::TS_WAKE_TASK
            }
            name => {
                turn.waker = self.thread(name).tid;
                e::TS_WAKE_TASK.max(u32::from(turn.wake))
            }
        } as u8;
    }

    fn wait_attribute(&mut self, wait: &mut e::ts_wait, key: &str, words: &mut Words) {
        match key {
            "asked" => wait.asked_ns = length(&word(words)) as u64,
            "args" => {
                let args = word(words);
                for (place, arg) in wait.args.iter_mut().zip(args.split(' ')) {
                    *place = arg.parse().expect("a number");
                }
            }
            "owner" => wait.owner = self.thread(&word(words)).tid,
            "kernel" => (wait.frames, wait.frame) = self.kernel(&word(words)),
            "long" => {}
            _ => panic!("a turn has no {key}"),
        }
    }

    fn queue(&mut self, thread: Thread, words: &mut Words) {
        let (t_ready, t) = range(&word(words));
        let mut queue = e::ts_queue {
            head: head(e::TS_QUEUE, thread, t),
            t_ready,
            ..Default::default()
        };
        // The latest is told with the turn itself.
        for place in queue.who.iter_mut().skip(1) {
            let Some(name) = words.next() else { break };
            place.tid = self.thread(&name).tid;
            place.ns = length(&word(words)) as u32;
        }
        self.push(&queue);
    }

    fn seen(&mut self, what: u32, thread: Thread, words: &mut Words) {
        let mut seen = e::ts_seen {
            head: head(e::TS_SEEN, thread, moment(&word(words))),
            what: what as u8,
            user: e::TS_HIT_USER as u8,
            ..Default::default()
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "user" => (seen.node, seen.complete) = self.user(&word(words)),
                "kernel" => {
                    let (frames, frame) = self.kernel(&word(words));
                    (seen.frames, seen.frame, seen.user) = (frames as u8, frame, 0);
                }
                _ => panic!("a stack has no {key}"),
            }
        }
        self.push(&seen);
    }

    /// Kernel functions as addresses, of which the names are told.
    fn kernel(&mut self, functions: &str) -> (u32, [u64; e::TS_FRAMES as usize]) {
        let mut frame = [0; e::TS_FRAMES as usize];
        for (place, name) in frame.iter_mut().zip(functions.split(';').rev()) {
            let next = 0xffff_ffff_8100_0000 + 16 * self.kernel.len() as u64;
            let address = *self.kernel.entry(name.into()).or_insert(next);
            if address == next {
                let name = name.into();
                self.notes.push(Note::Symbol { address, name });
            }
            *place = address;
        }
        (functions.split(';').count() as u32, frame)
    }

    /// The node of a user stack, and whether it is whole: one that begins with `...` has lost its outer frames.
    fn user(&mut self, functions: &str) -> (u32, u8) {
        let whole = u8::from(!functions.starts_with("..."));
        let mut parent = 0;
        for name in functions.split(';').filter(|name| *name != "...") {
            let next = self.nodes.len() as u32 + 1;
            let node = *self.nodes.entry((parent, name.into())).or_insert(next);
            if node == next {
                let place = self.place(name);
                self.push(&e::ts_node {
                    head: e::ts_head {
                        kind: e::TS_NODE as _,
                        ..Default::default()
                    },
                    node,
                    parent,
                    complete: whole,
                    ..place
                });
            }
            parent = node;
        }
        (parent, whole)
    }

    /// What a frame is of: a place in a module, or a function.
    fn place(&mut self, name: &str) -> e::ts_node {
        if let Some((module, offset)) = name.split_once(['+', '@']) {
            return e::ts_node {
                module: module.parse().expect("a module"),
                offset: hexadecimal(offset),
                exact: u8::from(name.contains('@')),
                ..Default::default()
            };
        }
        let next = self.codes.len() as u32 + 1;
        let code = *self.codes.entry(name.into()).or_insert(next);
        if code == next {
            self.notes.push(Note::Code {
                code,
                function: name.into(),
                file: "program".into(),
                line: None,
                language: "python".into(),
            });
        }
        e::ts_node {
            code,
            ..Default::default()
        }
    }

    fn end(&mut self, thread: Thread, words: &mut Words) {
        let (t_run, t) = range(&word(words));
        let name = self.threads.iter().find(|(_, t)| t.tid == thread.tid);
        let mut end = e::ts_end {
            head: head(e::TS_END, thread, t),
            t_run,
            tid: thread.tid,
            pid: thread.pid,
            name: name16(name.map_or("", |(name, _)| name)),
            ..Default::default()
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "alive" => end.alive = 1,
                "cpu" => end.cpu_ns = length(&word(words)) as u64,
                "ready" => end.ready_ns = length(&word(words)) as u64,
                "wait" => end.wait_ns = length(&word(words)) as u64,
                "tracer" => end.run_tracer_ns = length(&word(words)) as u32,
                _ => panic!("an end has no {key}"),
            }
        }
        self.push(&end);
    }
}

fn head(kind: u32, thread: Thread, t: u64) -> e::ts_head {
    e::ts_head {
        kind: kind as u8,
        thread: thread.number,
        t,
        ..Default::default()
    }
}
