//! Reading statements that are one row each: failed calls, call sites, look-ups, sizes and lengths of calls, steps of processes,
//! requests to disks, tasks and tags and turns with them.

use super::parser::{Parser, Words};
use crate::ids::{ProcessId, TagId, TaskId};
use crate::tables::{
    CallError, CallHistogram, CallSite, Image, Lookup, Loss, Request, Tag, TagTurn, Task,
    TaskSight, TaskTurn,
};
use crate::units::Nanos;
use crate::words::{
    HistogramKind, ImageEvent, LossKind, ObjectKind, RequestKind, TaskKind, TaskState,
};

impl Parser {
    pub(super) fn call_error(&mut self, mut words: Words) {
        let (thread, call) = (self.thread_name(&mut words), self.word(&mut words));
        let error = self.word(&mut words);
        let (mut object, mut count) = (None, 1);
        while let Some(key) = words.next() {
            match key.as_str() {
                "count" => count = self.number(&mut words),
                name => object = Some(self.object_named(name, ObjectKind::File)),
            }
        }
        self.draft.call_errors.push(CallError {
            thread,
            call,
            object,
            error,
            count,
        });
    }

    pub(super) fn call_site(&mut self, mut words: Words) {
        let mut site = CallSite {
            thread: self.thread_name(&mut words),
            call: self.word(&mut words),
            object: None,
            path: String::new(),
            error: String::new(),
            occurrence: 1,
            t: Nanos::ZERO,
            stack: None,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "path" => site.path = self.word(&mut words),
                "error" => site.error = self.word(&mut words),
                "at" => site.t = Nanos(self.time(&mut words)),
                "occurrence" => site.occurrence = self.number(&mut words),
                "stack" => site.stack = Some(self.stack(&mut words)),
                name => site.object = Some(self.object_named(name, ObjectKind::File)),
            }
        }
        self.draft.call_sites.push(site);
    }

    pub(super) fn task(&mut self, mut words: Words) {
        let task = TaskId(self.number(&mut words));
        let process = ProcessId(self.number(&mut words));
        let mut row = Task {
            task,
            process,
            kind: TaskKind::Goroutine,
            number: u64::from(task.0),
            parent: None,
            stack: None,
            name: None,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "coroutine" => row.kind = TaskKind::Coroutine,
                "future" => row.kind = TaskKind::Future,
                "named" => row.name = Some(self.word(&mut words)),
                "parent" => row.parent = Some(TaskId(self.number(&mut words))),
                "stack" => row.stack = Some(self.stack(&mut words)),
                _ => self.fail(format!("{key:?} is not known of a task")),
            }
        }
        self.draft.tasks.push(row);
    }

    /// Two moments, `FROM..TO`.
    fn stretch(&mut self, words: &mut Words) -> (Nanos, Nanos) {
        let when = self.word(words);
        let Some((from, to)) = when.split_once("..") else {
            self.fail(format!("{when:?} is not a time from..to"));
        };
        (Nanos(self.nanos(from)), Nanos(self.nanos(to)))
    }

    pub(super) fn task_turn(&mut self, mut words: Words) {
        let thread = self.thread_name(&mut words);
        let (t0, t1) = self.stretch(&mut words);
        let (mut task, mut left, mut left_at) = (None, None, None);
        while let Some(key) = words.next() {
            match key.as_str() {
                "task" => task = Some(TaskId(self.number(&mut words))),
                "left" => left = Some(self.task_state(&mut words)),
                "at" => left_at = Some(self.stack(&mut words)),
                _ => self.fail(format!("{key:?} is not known of a turn")),
            }
        }
        self.draft.task_turns.push(TaskTurn {
            thread,
            task,
            t0,
            t1,
            left,
            left_at,
        });
    }

    fn task_state(&self, words: &mut Words) -> TaskState {
        let word = self.word(words);
        match TaskState::from_str(&word) {
            Some(state) => state,
            None => self.fail(format!("{word:?} is no state of a task")),
        }
    }

    /// `sight TASK MOMENT STATE`, when it was looked at before, and where it stood.
    pub(super) fn task_sight(&mut self, mut words: Words) {
        let mut row = TaskSight {
            task: TaskId(self.number(&mut words)),
            t: Nanos(self.time(&mut words)),
            before: None,
            state: self.task_state(&mut words),
            stack: None,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "before" => row.before = Some(Nanos(self.time(&mut words))),
                "at" => row.stack = Some(self.stack(&mut words)),
                _ => self.fail(format!("{key:?} is not known of a sight")),
            }
        }
        self.draft.task_sights.push(row);
    }

    pub(super) fn tag(&mut self, mut words: Words) {
        let row = Tag {
            tag: TagId(self.number(&mut words)),
            process: ProcessId(self.number(&mut words)),
            path: self.word(&mut words),
        };
        self.draft.tags.push(row);
    }

    pub(super) fn tag_turn(&mut self, mut words: Words) {
        let thread = self.thread_name(&mut words);
        let when = self.word(&mut words);
        let Some((t0, t1)) = when.split_once("..") else {
            self.fail(format!("{when:?} is not a time from..to"));
        };
        let (t0, t1) = (Nanos(self.nanos(t0)), Nanos(self.nanos(t1)));
        let mut tag = None;
        while let Some(key) = words.next() {
            match key.as_str() {
                "tag" => tag = Some(TagId(self.number(&mut words))),
                _ => self.fail(format!("{key:?} is not known of a tag's turn")),
            }
        }
        let turn = TagTurn {
            thread,
            tag,
            t0,
            t1,
        };
        self.draft.tag_turns.push(turn);
    }

    pub(super) fn lookup(&mut self, mut words: Words) {
        let process = ProcessId(self.number(&mut words));
        let (call, path) = (self.word(&mut words), self.word(&mut words));
        let mut lookup = Lookup {
            process,
            call,
            path,
            error: String::new(),
            count: 1,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "count" => lookup.count = self.number(&mut words),
                error => lookup.error = error.to_owned(),
            }
        }
        self.draft.lookups.push(lookup);
    }

    pub(super) fn histogram(&mut self, mut words: Words) {
        let (thread, call) = (self.thread_name(&mut words), self.word(&mut words));
        let kind = self.word(&mut words);
        let Some(kind) = HistogramKind::from_str(&kind) else {
            self.fail(format!("{kind:?} is neither duration nor size"));
        };
        let mut row = CallHistogram {
            thread,
            call,
            object: None,
            kind,
            bucket: 0,
            count: 1,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "bucket" => row.bucket = self.number(&mut words),
                "count" => row.count = self.number(&mut words),
                name => row.object = Some(self.object_named(name, ObjectKind::File)),
            }
        }
        self.draft.call_histograms.push(row);
    }

    pub(super) fn image(&mut self, mut words: Words) {
        let (process, event) = (ProcessId(self.number(&mut words)), self.word(&mut words));
        let Some(event) = ImageEvent::from_str(&event) else {
            self.fail(format!("{event:?} is no step of a process"));
        };
        let mut image = Image {
            process,
            thread: None,
            event,
            t: Nanos(self.time(&mut words)),
            cost_ns: None,
            resident_bytes: 0,
            executable: String::new(),
            arguments: String::new(),
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "by" => image.thread = Some(self.thread_name(&mut words)),
                "cost" => image.cost_ns = Some(self.length(&mut words)),
                "resident" => image.resident_bytes = self.number(&mut words),
                "executable" => image.executable = self.word(&mut words),
                "arguments" => image.arguments = self.word(&mut words).replace(' ', "\0"),
                _ => self.fail(format!("{key:?} is not known of a step")),
            }
        }
        self.draft.images.push(image);
    }
    pub(super) fn loss(&mut self, mut words: Words) {
        let kind = self.word(&mut words);
        let Some(kind) = LossKind::from_str(&kind) else {
            self.fail(format!("{kind:?} is nothing that can be lost"));
        };
        let count = self.number(&mut words);
        let note = words.next().unwrap_or_default();
        self.draft.losses.push(Loss { kind, count, note });
    }

    pub(super) fn request(&mut self, mut words: Words) {
        let thread = self.thread_name(&mut words);
        let (issued, completed) = self.stretch(&mut words);
        let kind = self.word(&mut words);
        let Some(kind) = RequestKind::from_str(&kind) else {
            self.fail(format!("{kind:?} is nothing that a disk is asked for"));
        };
        let mut row = Request {
            issued,
            completed,
            device: 1,
            sector: self.number(&mut words),
            bytes: 0,
            kind,
            thread: Some(thread),
            tid: 0,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "bytes" => row.bytes = self.number(&mut words),
                "device" => row.device = self.number(&mut words),
                _ => self.fail(format!("{key:?} is not known of a request")),
            }
        }
        self.draft.requests.push(row);
    }
}
