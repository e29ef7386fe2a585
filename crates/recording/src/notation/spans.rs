//! Reading spans: the lines that begin with a thread.

use super::parser::{longest, words_of, Parser, Words};
use crate::ids::ThreadId;
use crate::tables::{Delay, Occupant, Span, Wait};
use crate::units::Nanos;
use crate::words::{Detail, ObjectKind, State, WakeSource};

impl Parser {
    pub(super) fn spans(&mut self, thread: &str, text: &str) {
        let thread = self.draft.thread(thread);
        let before = self
            .draft
            .spans
            .iter()
            .rev()
            .find(|span| span.thread == thread);
        let mut at = before.map_or(Nanos::ZERO, |span| span.t1);
        for text in text.split('|').filter(|text| !text.trim().is_empty()) {
            at = self.span(thread, at, words_of(text));
        }
    }

    /// Reads one span, and says where it ends.
    fn span(&mut self, thread: ThreadId, at: Nanos, words: Vec<String>) -> Nanos {
        let mut rest = words.into_iter().peekable();
        let word = self.word(&mut rest);
        let Some(state) = State::from_str(&word) else {
            self.fail(format!("{word:?} is not a state"));
        };
        let (t0, t1) = self.range(at, &self.word(&mut rest));
        let mut rest: Vec<String> = rest.collect();
        let (detail, taken) =
            longest(&rest, Detail::from_str).unwrap_or((default_detail(state), 0));
        let mut words = rest.split_off(taken).into_iter().peekable();
        let object = match words.peek() {
            Some(word) if !is_attribute(word) => words.next(),
            _ => None,
        };
        let object = object.map(|name| self.object_named(&name, suitable_kind(detail)));
        let mut span = Span {
            thread,
            t0,
            t1,
            state,
            detail,
            object,
            processor: 0,
            waker: None,
            waker_outsider: None,
            wake_source: None,
            tracer_ns: 0,
            taken_ns: None,
        };
        let mut wait = empty_wait(&span);
        let mut told = false;
        while let Some(key) = words.next() {
            if !self.span_attribute(&mut span, &key, &mut words) {
                self.wait_attribute(&mut wait, &key, &mut words);
                told = true;
            }
        }
        let long = t1.since(t0) >= self.draft.about.threshold_ns;
        match state {
            State::Ready if told || long => self.draft.delays.push(delay(&wait)),
            State::Wait if long => self.draft.waits.push(wait),
            _ if told => self.draft.waits.push(wait),
            _ => {}
        }
        self.draft.spans.push(span);
        t1
    }

    fn range(&self, at: Nanos, text: &str) -> (Nanos, Nanos) {
        let (t0, t1) = if let Some(length) = text.strip_prefix('+') {
            (at, at + self.nanos(length))
        } else if let Some((from, to)) = text.split_once("..") {
            let from = if from.is_empty() {
                at
            } else {
                Nanos(self.nanos(from))
            };
            (from, Nanos(self.nanos(to)))
        } else {
            self.fail(format!("{text:?} is neither FROM..TO nor +LENGTH"));
        };
        if t1 < t0 {
            self.fail(format!("{text:?} ends before it begins (at {}ns)", t0.0));
        }
        (t0, t1)
    }

    /// Sets one column of a span; false if it has none of this name.
    fn span_attribute(&mut self, span: &mut Span, key: &str, words: &mut Words) -> bool {
        match key {
            "on" => span.processor = self.number(words),
            "tracer" => span.tracer_ns = self.length(words),
            "taken" => span.taken_ns = Some(self.length(words)),
            "by" => self.waker(span, words),
            "occupant" => {
                let outsider = words.next_if(|word| word == "outsider").is_some();
                let (occupant, occupant_outsider) = if outsider {
                    (None, Some(self.number(words)))
                } else {
                    (Some(self.thread_name(words)), None)
                };
                let (thread, t0, ns) = (span.thread, span.t0, self.length(words));
                self.draft.occupants.push(Occupant {
                    thread,
                    t0,
                    occupant,
                    occupant_outsider,
                    ns,
                });
            }
            _ => return false,
        }
        true
    }

    fn waker(&self, span: &mut Span, words: &mut Words) {
        let ahead: Vec<String> = words.clone().take(3).collect();
        if let Some((source, taken)) = longest(&ahead, WakeSource::from_str) {
            words.by_ref().take(taken).for_each(drop);
            span.wake_source = Some(source);
            return;
        }
        if words.next_if(|word| word == "outsider").is_some() {
            span.waker_outsider = Some(self.number(words));
        } else {
            span.waker = Some(self.thread_name(words));
        }
        span.wake_source = span.wake_source.or(Some(WakeSource::Thread));
    }

    fn wait_attribute(&mut self, wait: &mut Wait, key: &str, words: &mut Words) {
        match key {
            "call" => wait.call = self.word(words),
            "function" => wait.function = self.word(words),
            "asked" => wait.asked_ns = Some(self.length(words)),
            "expired" => wait.expired = Some(true),
            "not_expired" => wait.expired = Some(false),
            "bytes" => wait.bytes = Some(self.number(words)),
            "flags" => wait.flags = Some(self.number(words)),
            "result" => wait.result = Some(self.number(words)),
            "woken_fd" => wait.woken_fd = Some(self.number(words)),
            "woken_object" => {
                let name = self.word(words);
                wait.woken_object = Some(self.object_named(&name, ObjectKind::OtherSocket));
            }
            "sent_object" => {
                let name = self.word(words);
                wait.sent_object = Some(self.object_named(&name, ObjectKind::OtherSocket));
            }
            "owner" => wait.owner = Some(self.thread_name(words)),
            "stack" => wait.stack = Some(self.stack(words)),
            "waker_stack" => wait.waker_stack = Some(self.stack(words)),
            _ => self.fail(format!("{key:?} is not known of a span")),
        }
    }
}

const ATTRIBUTES: &[&str] = &[
    "on",
    "by",
    "tracer",
    "taken",
    "occupant",
    "call",
    "function",
    "asked",
    "expired",
    "not_expired",
    "bytes",
    "flags",
    "result",
    "woken_fd",
    "woken_object",
    "sent_object",
    "owner",
    "stack",
    "waker_stack",
];

fn is_attribute(word: &str) -> bool {
    ATTRIBUTES.contains(&word)
}

fn default_detail(state: State) -> Detail {
    match state {
        State::Cpu => Detail::Running,
        State::Ready => Detail::Woken,
        State::Wait => Detail::Other,
        State::Lost => Detail::Unknown,
    }
}

/// The kind of object that such a wait is usually about.
fn suitable_kind(detail: Detail) -> ObjectKind {
    match detail {
        Detail::NetworkReceive
        | Detail::NetworkSend
        | Detail::NetworkConnect
        | Detail::NetworkAccept => ObjectKind::TcpSocket,
        Detail::UnixReceive | Detail::UnixSend | Detail::UnixConnect => ObjectKind::UnixSocket,
        Detail::PipeRead | Detail::PipeWrite => ObjectKind::Pipe,
        Detail::Lock | Detail::Condition | Detail::Join => ObjectKind::Futex,
        Detail::Child | Detail::Vfork => ObjectKind::Child,
        Detail::Poll => ObjectKind::Epoll,
        Detail::Terminal => ObjectKind::Terminal,
        Detail::Event | Detail::Signal | Detail::IoUring | Detail::Aio => ObjectKind::Anonymous,
        _ => ObjectKind::File,
    }
}

/// A time ready, of which the same can be told as of a wait, but less.
fn delay(told: &Wait) -> Delay {
    Delay {
        thread: told.thread,
        t0: told.t0,
        t1: told.t1,
        detail: told.detail,
        stack: told.stack,
    }
}

fn empty_wait(span: &Span) -> Wait {
    Wait {
        thread: span.thread,
        t0: span.t0,
        t1: span.t1,
        detail: span.detail,
        object: span.object,
        call: String::new(),
        function: String::new(),
        asked_ns: None,
        expired: None,
        bytes: None,
        flags: None,
        result: None,
        woken_fd: None,
        woken_object: None,
        sent_object: None,
        owner: None,
        stack: None,
        waker_stack: None,
    }
}
