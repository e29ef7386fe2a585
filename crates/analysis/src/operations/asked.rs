//! Operations that somebody asked for by the calls that they begin and end with.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};

use super::{Found, Kind, Operation, Recorded, Set};
use crate::timeline::Span;

/// Which operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of servers and of those who ask them, as they are found.
    Served,
    /// From what is received on a socket to the next wait for such, whoever opened the socket.
    AnySocket,
    /// From the end of a wait to the end of another.
    Between(End, End),
}

/// The wait that an operation begins or ends with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// One of these kinds.
    pub details: Option<BTreeSet<Detail>>,
    /// In this call.
    pub call: Option<String>,
    /// For one of these things.
    pub objects: Option<BTreeSet<ObjectId>>,
}

impl End {
    /// Whether a span is such a wait.
    fn is(&self, recorded: &Recorded<'_>, index: usize, span: &Span) -> bool {
        if span.state != State::Wait {
            return false;
        }
        let is_kind = |kinds: &BTreeSet<Detail>| kinds.contains(&span.detail);
        let is_about = |things: &BTreeSet<ObjectId>| {
            let object = span.object();
            object.is_some_and(|object| things.contains(&object))
        };
        let is_in = |call: &String| {
            recorded
                .waited
                .was_in(index, (span.detail, span.object()), call.as_str())
        };
        self.details.as_ref().is_none_or(is_kind)
            && self.objects.as_ref().is_none_or(is_about)
            && self.call.as_ref().is_none_or(is_in)
    }
}

/// From the end of a wait to the end of the next one of another kind, or the same. Of several first ones before
/// a last one, the earliest counts: what lies between belongs to one piece of work.
pub(super) fn between(recorded: &Recorded<'_>, first: &End, last: &End) -> Vec<Set> {
    let mut sets: BTreeMap<ProcessId, Found> = BTreeMap::new();
    for slot in 0..recorded.timeline.threads.len() {
        let mut operations = Vec::new();
        let mut from = None;
        for run in recorded.waited.runs(recorded.timeline, slot) {
            let ends = last.is(recorded, run.last, run.span);
            let begins = first.is(recorded, run.last, run.span);
            if let Some(from) = from.filter(|from| ends && *from < run.until) {
                operations.push(Operation {
                    slot,
                    from,
                    until: run.until,
                });
            }
            from = match (from, begins, ends) {
                (_, true, true) => Some(run.until),
                (_, false, true) => None,
                (None, true, false) => Some(run.until),
                (before, _, false) => before,
            };
        }
        if operations.is_empty() {
            continue;
        }
        let process = recorded.timeline.threads[slot].process;
        let found = sets.entry(recorded.programs.first(process)).or_default();
        found.operations.extend(operations);
        found.threads += 1;
        found.processes.insert(process);
    }
    let sets = sets.into_iter();
    sets.filter_map(|(process, found)| found.into_set(process, Kind::Between, Vec::new()))
        .collect()
}
