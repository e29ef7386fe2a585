//! Which part of a recording a view is about.

use rustc_hash::FxHashSet;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::Nanos;

use crate::facts::Facts;
use crate::ledger::{Account, ThreadLedger};

/// What a view is about; by default all of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kernel's thread id, or a thread's name.
    pub thread: Option<String>,
    /// The kernel's process id, or a process's name.
    pub process: Option<String>,
    /// One state of the ledger.
    pub state: Option<Account>,
    /// Text in the name or path of what was waited for. Only waits have such a thing.
    pub object: Option<String>,
    /// One processor: time on it, and time ready to run on it. A wait is on none.
    pub processor: Option<u32>,
    /// From this moment on. Spans and waits are cut there; a sample counts if it was taken then.
    pub from: Option<Nanos>,
    /// Up to this moment.
    pub to: Option<Nanos>,
}

impl Filter {
    /// Lets everything pass.
    pub const NONE: Filter = Filter {
        thread: None,
        process: None,
        state: None,
        object: None,
        processor: None,
        from: None,
        to: None,
    };

    /// Whether it can only be told span by span what passes: the sums of threads do not say.
    pub fn needs_spans(&self) -> bool {
        self.object.is_some()
            || self.processor.is_some()
            || self.from.is_some()
            || self.to.is_some()
    }

    /// The part of a stretch of time that passes.
    pub fn clip(&self, t0: Nanos, t1: Nanos) -> (Nanos, Nanos) {
        let from = self.from.map_or(t0, |from| t0.max(from));
        let to = self.to.map_or(t1, |to| t1.min(to));
        (from, to)
    }

    /// Whether it lets everything pass.
    pub fn is_empty(&self) -> bool {
        *self == Filter::NONE
    }
}

/// A filter as it applies to one recording.
#[derive(Clone, Debug)]
pub struct Selected<'a> {
    filter: &'a Filter,
    /// `None`: any.
    threads: Option<FxHashSet<ThreadId>>,
    /// `None`: any, or none at all.
    objects: Option<FxHashSet<ObjectId>>,
}

impl Selected<'static> {
    /// All that any recording has, of threads that it does not list as well.
    pub fn all() -> Selected<'static> {
        Selected {
            filter: &Filter::NONE,
            threads: None,
            objects: None,
        }
    }
}

impl<'a> Selected<'a> {
    pub fn new(filter: &'a Filter, facts: &Facts) -> Selected<'a> {
        let threads = facts.ledger.threads.iter();
        let threads = threads
            .filter(|thread| has_thread(filter, facts, thread))
            .map(|thread| thread.row.thread);
        let objects = filter.object.as_ref().map(|text| {
            let named = facts.objects.iter().filter(|object| {
                object.label.contains(text.as_str())
                    || object
                        .path
                        .as_ref()
                        .is_some_and(|path| path.contains(text.as_str()))
            });
            named.map(|object| object.object).collect()
        });
        Selected {
            filter,
            threads: Some(threads.collect()),
            objects,
        }
    }

    pub fn is_all(&self) -> bool {
        self.threads.is_none()
    }

    /// Whether there is no thread that passes.
    pub fn is_nobody(&self) -> bool {
        self.threads.as_ref().is_some_and(FxHashSet::is_empty)
    }

    pub fn thread(&self, thread: ThreadId) -> bool {
        let threads = self.threads.as_ref();
        threads.is_none_or(|threads| threads.contains(&thread))
    }

    pub fn state(&self, account: Account) -> bool {
        self.filter.state.is_none_or(|state| state == account)
    }

    /// Whether something about one of these objects passes.
    pub fn objects(&self, objects: &[Option<ObjectId>]) -> bool {
        let Some(wanted) = &self.objects else {
            return true;
        };
        objects
            .iter()
            .flatten()
            .any(|object| wanted.contains(object))
    }

    /// Whether time in this state on this processor passes.
    pub fn processor(&self, account: Account, processor: u32) -> bool {
        self.filter
            .processor
            .is_none_or(|wanted| wanted == processor && account != Account::Wait)
    }

    /// Whether a moment passes.
    pub fn moment(&self, t: Nanos) -> bool {
        self.filter.from.is_none_or(|from| t >= from) && self.filter.to.is_none_or(|to| t < to)
    }
}

fn has_thread(filter: &Filter, facts: &Facts, thread: &ThreadLedger) -> bool {
    let is = |wanted: &str, id: u32, name: &str| match wanted.parse::<u32>() {
        Ok(number) => number == id || name == wanted,
        Err(_) => name == wanted,
    };
    let by_thread = filter.thread.as_ref();
    if by_thread.is_some_and(|wanted| !is(wanted, thread.row.tid, &thread.row.name)) {
        return false;
    }
    let Some(wanted) = &filter.process else {
        return true;
    };
    let process = thread.process.and_then(|at| facts.ledger.processes.get(at));
    process.is_some_and(|process| is(wanted, process.row.pid, &process.row.name))
}
