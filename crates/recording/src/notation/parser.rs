//! Reading the notation, statement by statement, except for spans.

use super::code_names::CodeNames;
use super::Draft;
use crate::ids::{ObjectId, ProcessId, ThreadId};
use crate::tables::{Call, Object, Outsider, Process, Thread};
use crate::units::Nanos;
use crate::words::{ObjectKind, SchedulingPolicy};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

/// Splits at spaces, except within double quotes.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// `0`, `20ns`, `3us`, `1.5ms` or `2s` in nanoseconds.
pub fn time_of(text: &str) -> Option<i64> {
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" if number == "0" => 1.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some((number * scale).round() as i64)
}

pub(super) type Words = Peekable<std::vec::IntoIter<String>>;

/// What was read so far, and where we are.
#[derive(Default)]
pub(super) struct Parser {
    pub(super) line: usize,
    pub(super) draft: Draft,
    /// Columns of `threads` that the text gives, which the sums must not replace.
    pub(super) given: BTreeMap<ThreadId, BTreeSet<String>>,
    pub(super) wall_given: bool,
    pub(super) code: CodeNames,
}

impl Parser {
    #[track_caller]
    pub(super) fn fail(&self, what: impl std::fmt::Display) -> ! {
        panic!("notation, line {}: {what}", self.line)
    }

    pub(super) fn statement(&mut self, line: &str) {
        if let Some((thread, spans)) = line.split_once(':') {
            if self.draft.thread_names.contains_key(thread) {
                return self.spans(thread, spans);
            }
        }
        let mut words = words_of(line).into_iter().peekable();
        match words.next().as_deref() {
            Some("run") => self.run(words),
            Some("process") => self.process(words),
            Some("thread") => self.thread_line(words),
            Some("object") => self.object_line(words),
            Some("call") => self.call(words),
            Some("frame") => self.frame(words),
            Some("sample") => self.sample(words),
            Some("error") => self.call_error(words),
            Some("site") => self.call_site(words),
            Some("task") => self.task(words),
            Some("tag") => self.tag(words),
            Some("tagged") => self.tag_turn(words),
            Some("turn") => self.task_turn(words),
            Some("sight") => self.task_sight(words),
            Some("lookup") => self.lookup(words),
            Some("histogram") => self.histogram(words),
            Some("image") => self.image(words),
            Some("request") => self.request(words),
            Some("loss") => self.loss(words),
            Some("outsider") => {
                let tid = self.number(&mut words);
                let name = words.next().unwrap_or_default();
                let pid = words.next().map(|word| match word.as_str() {
                    "pid" => self.number(&mut words),
                    _ => self.fail(format!("not a part of an outsider: {word}")),
                });
                self.draft.outsiders.push(Outsider { tid, name, pid });
            }
            _ => self.fail(format!(
                "neither a statement nor a declared thread: {line:?}"
            )),
        }
    }

    pub(super) fn word(&self, words: &mut Words) -> String {
        match words.next() {
            Some(word) => word,
            None => self.fail("something is missing at the end"),
        }
    }

    pub(super) fn number<N: TryFrom<i128>>(&self, words: &mut Words) -> N {
        let word = self.word(words);
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        match parsed.and_then(|number| N::try_from(number).ok()) {
            Some(number) => number,
            None => self.fail(format!("{word:?} is not a number, or out of range")),
        }
    }

    pub(super) fn nanos(&self, text: &str) -> i64 {
        time_of(text).unwrap_or_else(|| self.fail(format!("{text:?} is not a time such as 1.5ms")))
    }

    pub(super) fn time(&self, words: &mut Words) -> i64 {
        self.nanos(&self.word(words))
    }

    pub(super) fn length(&self, words: &mut Words) -> u64 {
        match u64::try_from(self.time(words)) {
            Ok(length) => length,
            Err(_) => self.fail("a length of time cannot be negative"),
        }
    }

    pub(super) fn thread_name(&self, words: &mut Words) -> ThreadId {
        let name = self.word(words);
        match self.draft.thread_names.get(&name) {
            Some(&thread) => thread,
            None => self.fail(format!("thread {name:?} is not declared")),
        }
    }

    pub(super) fn run(&mut self, mut words: Words) {
        while let Some(key) = words.next() {
            match key.as_str() {
                "wall" => {
                    self.draft.about.wall_ns = self.length(&mut words);
                    self.wall_given = true;
                }
                "threshold" => self.draft.about.threshold_ns = self.length(&mut words),
                "processors" => self.draft.about.processors = self.number(&mut words),
                "exit" => self.draft.about.exit_code = Some(self.number(&mut words)),
                "signal" => self.draft.about.exit_signal = Some(self.number(&mut words)),
                "call_timing_share" => match self.word(&mut words).parse() {
                    Ok(share) => self.draft.about.call_timing_share = share,
                    Err(_) => self.fail("call_timing_share is not a number"),
                },
                "mended" => self.draft.about.mended = Some(self.word(&mut words)),
                "command" => self.draft.about.command = words.by_ref().collect(),
                _ => self.fail(format!("{key:?} is not known of a run")),
            }
        }
    }

    pub(super) fn process(&mut self, mut words: Words) {
        let number: u32 = self.number(&mut words);
        let mut process = Process {
            process: ProcessId(number),
            pid: 1000 * number,
            parent: None,
            parent_pid: 1,
            name: String::new(),
            executable: String::new(),
            arguments: String::new(),
            start: Nanos::MAX,
            end: Nanos(i64::MIN),
            uid: 0,
            group: None,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "pid" => process.pid = self.number(&mut words),
                "parent" => process.parent = Some(ProcessId(self.number(&mut words))),
                "parent_pid" => process.parent_pid = self.number(&mut words),
                "executable" => process.executable = self.word(&mut words),
                "arguments" => {
                    process.arguments = self.word(&mut words).replace(' ', "\0");
                }
                "start" => process.start = Nanos(self.time(&mut words)),
                "end" => process.end = Nanos(self.time(&mut words)),
                "uid" => process.uid = self.number(&mut words),
                "group" => process.group = Some(self.word(&mut words)),
                _ if process.name.is_empty() => process.name = key,
                _ => self.fail(format!("{key:?} is not known of a process")),
            }
        }
        if self
            .draft
            .processes
            .iter()
            .any(|other| other.process == process.process)
        {
            self.fail(format!("process {number} is declared twice"));
        }
        self.draft.processes.push(process);
    }

    pub(super) fn thread_line(&mut self, mut words: Words) {
        let label = self.word(&mut words);
        let (process, position) = match label.split_once('.') {
            Some((process, position)) => (process.parse().ok(), position.parse::<u32>().ok()),
            None => (None, None),
        };
        let (Some(process), Some(position)) = (process.map(ProcessId), position) else {
            self.fail(format!("{label:?} is not a thread such as 1.2"));
        };
        let Some(owner) = self
            .draft
            .processes
            .iter()
            .find(|row| row.process == process)
        else {
            self.fail(format!("process {process} is not declared"));
        };
        let id = ThreadId(self.draft.threads.len() as u32 + 1);
        let mut thread = empty_thread(id, process);
        thread.tid = owner.pid + position.saturating_sub(1);
        thread.name = owner.name.clone();
        if self.draft.thread_names.insert(label.clone(), id).is_some() {
            self.fail(format!("thread {label} is declared twice"));
        }
        let mut given = BTreeSet::new();
        while let Some(key) = words.next() {
            if !self.thread_key(&mut thread, &key, &mut words) {
                if given.contains("name") {
                    self.fail(format!("{key:?} is not known of a thread"));
                }
                thread.name = key;
                given.insert("name".to_owned());
            } else {
                given.insert(key);
            }
        }
        self.given.insert(id, given);
        self.draft.threads.push(thread);
    }

    /// Sets one column of a thread; false if there is none of this name.
    pub(super) fn thread_key(&self, thread: &mut Thread, key: &str, words: &mut Words) -> bool {
        match key {
            "tid" => thread.tid = self.number(words),
            "start" => thread.start = Nanos(self.time(words)),
            "end" => thread.end = Nanos(self.time(words)),
            "exit" => thread.exit = Some(Nanos(self.time(words))),
            "parent" => thread.parent = Some(self.thread_name(words)),
            "born_before" => thread.born_before = true,
            "alive_at_end" => thread.alive_at_end = true,
            "end_lost" => thread.end_lost = true,
            "cpu" => thread.cpu_ns = self.length(words),
            "ready" => thread.ready_ns = self.length(words),
            "wait" => thread.wait_ns = self.length(words),
            "tracer" => thread.tracer_ns = self.length(words),
            "tracer_estimated" => thread.tracer_estimated_ns = self.length(words),
            "kernel_cpu" => thread.kernel_cpu_ns = self.length(words),
            "taken" => thread.taken_ns = Some(self.length(words)),
            "kernel_ready" => thread.kernel_ready_ns = self.length(words),
            "kernel_life" => thread.kernel_life_ns = self.length(words),
            "kernel_user" => thread.kernel_user_ns = self.length(words),
            "kernel_system" => thread.kernel_system_ns = self.length(words),
            "samples_user" => thread.samples_user = self.number(words),
            "samples_kernel" => thread.samples_kernel = self.number(words),
            "switches_voluntary" => thread.switches_voluntary = self.number(words),
            "switches_involuntary" => thread.switches_involuntary = self.number(words),
            "migrations" => thread.migrations = self.number(words),
            "faults_minor" => thread.faults_minor = self.number(words),
            "faults_major" => thread.faults_major = self.number(words),
            "calls_seen" => thread.calls_seen = self.number(words),
            "exit_status" => thread.exit_status = Some(self.number(words)),
            "nice" => thread.nice = Some(self.number(words)),
            "policy" => {
                let word = self.word(words);
                let policy = SchedulingPolicy::from_str(&word);
                thread.policy = policy.or_else(|| self.fail(format!("{word:?} is no policy")));
            }
            "priority" => thread.realtime_priority = Some(self.number(words)),
            "allowed" => thread.allowed_processors = Some(self.word(words)),
            _ => return false,
        }
        true
    }

    pub(super) fn object_line(&mut self, mut words: Words) {
        let name = self.word(&mut words);
        let mut rest: Vec<String> = words.collect();
        let (kind, taken) = match longest(&rest, ObjectKind::from_str) {
            Some(found) => found,
            None => self.fail("a kind of object should come after the name"),
        };
        let mut columns = Vec::new();
        while rest.len() >= taken + 2
            && ["size", "filesystem", "remote", "local"].contains(&&*rest[rest.len() - 2])
        {
            columns.push(rest.split_off(rest.len() - 2));
        }
        // What a socket is connected to is what it is called.
        let remote = columns.iter().find(|column| column[0] == "remote");
        let label = match remote {
            _ if rest.len() > taken => rest[taken..].join(" "),
            Some(remote) => remote[1].clone(),
            None => name.clone(),
        };
        if self.draft.object_names.contains_key(&name) {
            self.fail(format!("object {name:?} was named before"));
        }
        self.add_object(&name, kind, label);
        for column in columns {
            let size = column[1].parse();
            if column[0] == "size" && size.is_err() {
                self.fail(format!("{:?} is not a size", column[1]));
            }
            let Some(object) = self.draft.objects.last_mut() else {
                continue;
            };
            match size {
                Ok(size) if column[0] == "size" => object.size = Some(size),
                _ if column[0] == "remote" => object.remote = Some(column[1].clone()),
                _ if column[0] == "local" => object.local = Some(column[1].clone()),
                _ => object.filesystem = Some(column[1].clone()),
            }
        }
    }

    pub(super) fn add_object(&mut self, name: &str, kind: ObjectKind, label: String) -> ObjectId {
        let object = ObjectId(self.draft.objects.len() as u32 + 1);
        let has_path = matches!(
            kind,
            ObjectKind::File | ObjectKind::Directory | ObjectKind::Device
        );
        self.draft.objects.push(Object {
            object,
            kind,
            path: has_path.then(|| label.clone()),
            label,
            filesystem: None,
            device: None,
            inode: None,
            size: None,
            protocol: None,
            local: None,
            remote: None,
            process: None,
        });
        self.draft.object_names.insert(name.to_owned(), object);
        object
    }

    pub(super) fn object_named(&mut self, name: &str, kind: ObjectKind) -> ObjectId {
        match self.draft.object_names.get(name) {
            Some(&object) => object,
            None => self.add_object(name, kind, name.to_owned()),
        }
    }

    pub(super) fn call(&mut self, mut words: Words) {
        let mut call = Call {
            thread: self.thread_name(&mut words),
            call: self.word(&mut words),
            object: None,
            count: 1,
            ns: 0,
            bytes: 0,
            errors: 0,
            seen: 0,
            estimated: false,
        };
        let mut seen = None;
        while let Some(key) = words.next() {
            match key.as_str() {
                "count" => call.count = self.number(&mut words),
                "ns" => call.ns = self.length(&mut words),
                "bytes" => call.bytes = self.number(&mut words),
                "errors" => call.errors = self.number(&mut words),
                "seen" => seen = Some(self.number(&mut words)),
                "estimated" => call.estimated = true,
                _ if call.object.is_none() => {
                    call.object = Some(self.object_named(&key, ObjectKind::File));
                }
                _ => self.fail(format!("{key:?} is not known of a call")),
            }
        }
        call.seen = seen.unwrap_or(call.count);
        self.draft.calls.push(call);
    }
}

/// The longest run of up to three words at the start that means something, and how many they are.
pub(super) fn longest<T>(
    words: &[String],
    parse: impl Fn(&str) -> Option<T>,
) -> Option<(T, usize)> {
    (1..=words.len().min(3))
        .rev()
        .find_map(|count| parse(&words[..count].join(" ")).map(|found| (found, count)))
}

fn empty_thread(thread: ThreadId, process: ProcessId) -> Thread {
    Thread {
        thread,
        process,
        tid: 0,
        name: String::new(),
        start: Nanos::ZERO,
        end: Nanos::ZERO,
        exit: None,
        born_before: false,
        alive_at_end: false,
        end_lost: false,
        parent: None,
        cpu_ns: 0,
        ready_ns: 0,
        wait_ns: 0,
        tracer_ns: 0,
        tracer_estimated_ns: 0,
        kernel_cpu_ns: 0,
        kernel_ready_ns: 0,
        kernel_life_ns: 0,
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
    }
}
