//! Threads that take requests from sockets and answer on them, found by themselves.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Thread;
use timesink_recording::words::{Detail, ObjectKind, State, WakeSource};
use timesink_recording::Nanos;

use super::{Found, Kind, Operation, Recorded, Set};
use crate::facts::sockets::{receives, sends, Role, Sockets};
use crate::timeline::Span;
use crate::waits::{Came, Known};

/// What a thread does on the sockets that it is asked on.
#[derive(Clone, Debug, Default)]
struct Serves {
    connections: BTreeSet<ObjectId>,
    sends: u64,
    /// Some of its calls were not seen.
    estimated: bool,
    kind: Option<Kind>,
}

struct Servers<'a> {
    recorded: &'a Recorded<'a>,
    sockets: Sockets,
    /// Sockets that the program opened itself count as well.
    any: bool,
}

/// Operations of all that serve; of whoever receives and sends on a socket, with `any`.
pub(super) fn served(recorded: &Recorded<'_>, any: bool) -> Vec<Set> {
    let sockets = Sockets::of(&recorded.facts.objects, &recorded.waited.calls);
    if !any && !sockets.any_served() {
        return Vec::new();
    }
    let servers = Servers {
        recorded,
        sockets,
        any,
    };
    let threads = servers.threads();
    let mut sets: BTreeMap<(ProcessId, Kind), Found> = BTreeMap::new();
    for (slot, serves) in &threads {
        let kind = serves.kind.unwrap_or(Kind::Request);
        let operations = servers.operations(*slot, kind, serves);
        if operations.is_empty() {
            continue;
        }
        let process = recorded.timeline.threads[*slot].process;
        let key = (recorded.programs.first(process), kind);
        let found = sets.entry(key).or_insert_with(|| Found {
            sends: Some(0),
            ..Found::default()
        });
        found.operations.extend(operations);
        found.threads += 1;
        found.processes.insert(process);
        found.connections.extend(&serves.connections);
        let sends = (!serves.estimated).then_some(serves.sends);
        found.sends = found.sends.and_then(|sum| Some(sum.saturating_add(sends?)));
    }
    let sets = sets.into_iter();
    sets.filter_map(|((process, kind), found)| {
        let addresses = servers.addresses(&found.connections);
        found.into_set(process, kind, addresses)
    })
    .collect()
}

/// A wait in which a thread does nothing for anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    /// For data on a connection.
    Receive,
    /// For a connection.
    Accept,
    /// For either of them, or to be told.
    Any,
}

/// One such wait.
struct Idled {
    idle: Idle,
    from: Nanos,
    until: Nanos,
    /// It came for a connection, not for data.
    takes: bool,
    /// It is known to have ended for a connection or for data on one.
    asked: bool,
    came: Came,
}

impl Idled {
    /// Whether what comes after it may be done for somebody.
    fn counts(&self) -> bool {
        self.came != Came::Nothing
    }
}

/// Whether a thread was made for one connection.
fn was_made_for(thread: &Thread, serves: &Serves) -> bool {
    serves.connections.len() == 1 && !thread.born_before && thread.parent.is_some()
}

impl Servers<'_> {
    fn is_connection(&self, object: ObjectId) -> bool {
        match self.sockets.role(object) {
            Some(Role::Served) => true,
            Some(Role::Listening) => false,
            Some(Role::Asking) => self.any,
            None => self.any && self.is_socket(object),
        }
    }

    fn is_socket(&self, object: ObjectId) -> bool {
        let object = self.recorded.facts.object(object);
        object.is_some_and(|object| {
            matches!(
                object.kind,
                ObjectKind::TcpSocket
                    | ObjectKind::UdpSocket
                    | ObjectKind::UnixSocket
                    | ObjectKind::OtherSocket
            )
        })
    }

    fn is_listening(&self, object: Option<ObjectId>) -> bool {
        let role = object.and_then(|object| self.sockets.role(object));
        role == Some(Role::Listening)
    }

    /// The threads that serve, by their places in the timeline.
    fn threads(&self) -> BTreeMap<usize, Serves> {
        let timeline = self.recorded.timeline;
        let mut threads: BTreeMap<usize, Serves> = BTreeMap::new();
        let mut answers: FxHashSet<usize> = FxHashSet::default();
        for row in &self.recorded.waited.calls {
            let Some(slot) = timeline.slot(row.thread) else {
                continue;
            };
            let serves = threads.entry(slot).or_default();
            serves.estimated |= row.estimated;
            let Some(object) = row.object.filter(|object| self.is_connection(*object)) else {
                continue;
            };
            if receives(&row.call) && row.bytes > 0 {
                serves.connections.insert(object);
            } else if sends(&row.call) && row.bytes > 0 {
                serves.sends = serves.sends.saturating_add(row.count);
                answers.insert(slot);
            }
        }
        for slot in 0..timeline.threads.len() {
            self.waits_on(slot, &mut threads);
        }
        threads.retain(|slot, serves| {
            // Where calls were seen only now and then, an answer may be among those that were not.
            !serves.connections.is_empty() && (answers.contains(slot) || serves.estimated)
        });
        self.tell_kinds(&mut threads);
        threads
    }

    /// Connections that a thread waited on: where not all calls were seen these may be missing among them.
    fn waits_on(&self, slot: usize, threads: &mut BTreeMap<usize, Serves>) {
        let mut found = BTreeSet::new();
        for (index, span) in self.recorded.timeline.indexed(slot) {
            let waits = span.state == State::Wait;
            let object = match span.detail {
                Detail::NetworkReceive | Detail::UnixReceive if waits => span.object(),
                Detail::Poll if waits => self
                    .recorded
                    .waited
                    .known(index)
                    .and_then(|known| known.woken),
                _ => continue,
            };
            found.extend(object.filter(|object| self.is_connection(*object)));
        }
        if !found.is_empty() {
            let serves = threads.entry(slot).or_insert_with(|| Serves {
                // No call of it was seen at all.
                estimated: true,
                ..Serves::default()
            });
            serves.connections.extend(found);
        }
    }

    fn tell_kinds(&self, threads: &mut BTreeMap<usize, Serves>) {
        let timeline = self.recorded.timeline;
        let mut readers: FxHashMap<(ProcessId, ObjectId), usize> = FxHashMap::default();
        for (slot, serves) in threads.iter() {
            let process = timeline.threads[*slot].process;
            for connection in &serves.connections {
                *readers.entry((process, *connection)).or_default() += 1;
            }
        }
        let mut shared: FxHashMap<ProcessId, (usize, usize)> = FxHashMap::default();
        for ((process, _), readers) in &readers {
            let (several, all) = shared.entry(*process).or_default();
            *several += usize::from(*readers > 1);
            *all += 1;
        }
        for (slot, serves) in threads.iter_mut() {
            let (several, all) = shared
                .get(&timeline.threads[*slot].process)
                .copied()
                .unwrap_or_default();
            // One connection in so many may have been given to another thread for once.
            const OFTEN: usize = 5;
            let polls = || {
                let spans = timeline.indexed(*slot);
                spans
                    .filter(|(index, span)| {
                        span.state == State::Wait && self.detail(*index, span) == Detail::Poll
                    })
                    .take(2)
                    .count()
                    > 1
            };
            serves.kind = Some(match serves.connections.len() {
                _ if several * OFTEN >= all && several > 0 => Kind::Piece,
                // Who has many connections, but one after the other, waits for data on each.
                2.. if polls() && !self.reads_one(*slot) => Kind::Round,
                _ => Kind::Request,
            });
        }
    }

    /// Whether a thread waits for data on a connection itself, rather than to be told of it.
    fn reads_one(&self, slot: usize) -> bool {
        self.recorded.timeline.indexed(slot).any(|(index, span)| {
            span.state == State::Wait
                && matches!(
                    self.detail(index, span),
                    Detail::NetworkReceive | Detail::UnixReceive
                )
                && span
                    .object()
                    .is_some_and(|object| self.is_connection(object))
        })
    }

    /// What a wait is to who serves: one for an answer of somebody else may be among many.
    fn detail(&self, index: usize, span: &Span) -> Detail {
        match self.recorded.timeline.was_poll(index) {
            true => Detail::Poll,
            false => span.detail,
        }
    }

    fn idle(&self, index: usize, span: &Span, known: Option<&Known>, kind: Kind) -> Option<Idle> {
        if span.state != State::Wait {
            return None;
        }
        match self.detail(index, span) {
            Detail::NetworkReceive | Detail::UnixReceive => {
                let object = span.object()?;
                match self.is_listening(Some(object)) {
                    // It polls for somebody to connect.
                    true => Some(Idle::Accept),
                    false => self.is_connection(object).then_some(Idle::Receive),
                }
            }
            Detail::NetworkAccept => Some(Idle::Accept),
            Detail::UnixConnect => {
                let role = span.object().and_then(|object| self.sockets.role(object));
                matches!(role, Some(Role::Listening | Role::Served)).then_some(Idle::Accept)
            }
            Detail::Poll if kind == Kind::Request => {
                // Who has one connection and asks another server waits for that one's answer in between.
                let own = span
                    .object()
                    .filter(|_| self.recorded.timeline.was_poll(index));
                let woken = known.and_then(|known| known.woken).or(own);
                let asks = woken.is_some_and(|object| {
                    !self.is_connection(object) && !self.is_listening(Some(object))
                });
                (!asks).then_some(Idle::Any)
            }
            Detail::Poll => Some(Idle::Any),
            Detail::Condition if kind == Kind::Piece => Some(Idle::Any),
            _ => None,
        }
    }

    fn operations(&self, slot: usize, kind: Kind, serves: &Serves) -> Vec<Operation> {
        let thread = &self.recorded.timeline.threads[slot];
        let mut found = Vec::new();
        let mut add = |from: Nanos, until: Nanos| {
            if until > from {
                found.push(Operation { slot, from, until });
            }
        };
        let idles = self.idles(slot, kind);
        // Before a loop is first known to be asked it was getting ready.
        let begin = match kind {
            Kind::Round => idles.iter().position(|idled| idled.asked).unwrap_or(0),
            _ => 0,
        };
        for pair in idles[begin..].windows(2) {
            let only_taken = pair[0].takes && pair[1].idle == Idle::Receive;
            if pair[0].counts() && !only_taken {
                add(pair[0].until, pair[1].from);
            }
        }
        let ended = !thread.alive_at_end && !thread.end_lost;
        let (Some(first), Some(last)) = (idles.first(), idles.last()) else {
            // Its request was there before it was.
            if ended && was_made_for(thread, serves) {
                add(thread.start, thread.end);
            }
            return found;
        };
        let before = first.from.since(thread.start);
        let after = thread.end.since(last.until);
        let answered_before = was_made_for(thread, serves)
            && first.idle != Idle::Accept
            && match (first.came, idles.len()) {
                (Came::Nothing, _) => true,
                (Came::Something, _) | (Came::Unknown, 2..) => false,
                // Whether it waited for the request or for the end: to answer takes longer than to close.
                (Came::Unknown, _) => ended && before > after,
            };
        if answered_before {
            add(thread.start, first.from);
        }
        let is_answer = match last.came {
            Came::Something => true,
            Came::Nothing => false,
            // Of a thread with several requests the last wait was for the end.
            Came::Unknown => idles.len() == 1 && !answered_before,
        };
        if ended && is_answer && last.idle == Idle::Receive && last.counts() {
            add(last.until, thread.end);
        }
        found
    }

    /// The waits in which a thread does nothing for anybody, in order.
    fn idles(&self, slot: usize, kind: Kind) -> Vec<Idled> {
        let mut idles = Vec::new();
        for (index, span) in self.recorded.timeline.indexed(slot) {
            // Asking what is known of a wait costs more than to see that it is none.
            if span.state != State::Wait {
                continue;
            }
            let known = self.recorded.waited.known(index);
            let Some(idle) = self.idle(index, span, known, kind) else {
                continue;
            };
            let woken = known.and_then(|known| known.woken);
            let came = match known {
                _ if span.wake_source == Some(WakeSource::Signal) => Came::Nothing,
                Some(known) if known.expired => Came::Nothing,
                known => known.map_or(Came::Unknown, |known| known.came),
            };
            idles.push(Idled {
                idle,
                from: span.t0,
                until: span.t1,
                takes: idle == Idle::Accept || self.is_listening(woken),
                asked: idle != Idle::Any
                    || self.is_listening(woken)
                    || woken.is_some_and(|object| self.is_connection(object)),
                came,
            });
        }
        idles
    }

    /// One socket for each address of these connections.
    fn addresses(&self, connections: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        let mut known: FxHashSet<&str> = FxHashSet::default();
        let objects = connections
            .iter()
            .filter_map(|id| self.recorded.facts.object(*id));
        let new = objects.filter(|object| {
            let local = object.local.as_deref();
            local.is_some_and(|local| known.insert(local))
        });
        new.map(|object| object.object).collect()
    }
}
