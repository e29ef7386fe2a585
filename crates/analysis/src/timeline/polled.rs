//! What waits for any of several things (`epoll_wait`, `poll`, `select`) were for: each belongs to what it returned for.
//!
//! A wait that ended with an answer on a connection on which its process asks is a wait for that peer, in whichever call it
//! was. Where the row of a wait does not tell what came, the exact counts of calls do, but only if nearly all that the thread
//! receives comes from one peer. Waits for requests, for several peers at once, and those whose time was over stay what
//! they are.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::{Call, Object, Wait};
use timesink_recording::words::{Detail, ObjectKind, State};
use timesink_recording::Recording;

use super::Spans;
use crate::facts::sockets::{receives, Role, Sockets};

/// Of what a thread receives, so much comes from one peer if its waits are for that peer.
const NEARLY_ALL: f64 = 0.9;

/// On which sockets their processes ask, and what a wait for an answer on each is called.
pub struct Asking {
    sockets: FxHashMap<ObjectId, Detail>,
    /// What each thread mostly receives from, if that is one of them.
    mostly: FxHashMap<ThreadId, ObjectId>,
}

impl Spans {
    /// Gives the waits for any of several things to what they returned for.
    pub(super) fn with_polls_told_apart(
        mut self,
        recording: &Recording,
        asking: &Asking,
    ) -> timesink_recording::Result<Spans> {
        if asking.sockets.is_empty() || !self.spans.iter().any(is_poll) {
            return Ok(self);
        }
        // What their rows say: this came, or none of these.
        let mut told: FxHashMap<usize, Option<ObjectId>> = FxHashMap::default();
        recording.scan(|rows: &[Wait]| {
            for row in rows.iter().filter(|row| row.detail == Detail::Poll) {
                let slot = self.slot(row.thread);
                let span = slot.and_then(|slot| self.wait_at(slot, row.t0));
                let came = row.woken_object;
                let nothing = row.expired == Some(true) || row.result.is_some_and(|r| r <= 0);
                if let Some(span) = span.filter(|_| came.is_some() || nothing) {
                    told.insert(span, came.filter(|_| !nothing));
                }
            }
        })?;
        for (index, span) in self.spans.iter_mut().enumerate() {
            if !is_poll(span) {
                continue;
            }
            let came = told.get(&index).copied();
            let came = came.unwrap_or_else(|| asking.mostly.get(&span.thread).copied());
            let came = came.and_then(|object| Some((object, *asking.sockets.get(&object)?)));
            if let Some((object, detail)) = came {
                span.set_object(object);
                span.detail = detail;
                self.polled.push(index);
            }
        }
        Ok(self)
    }

    /// What the wait was for that a row is about.
    pub fn was_for(&self, row: &Wait) -> (Detail, Option<ObjectId>) {
        let own = (row.detail, row.object);
        if row.detail != Detail::Poll || self.polled.is_empty() {
            return own;
        }
        let slot = self.slot(row.thread);
        let index = slot.and_then(|slot| self.wait_at(slot, row.t0));
        let span = index.filter(|index| self.was_poll(*index));
        let span = span.and_then(|index| self.span(index));
        span.map_or(own, |span| (span.detail, span.object()))
    }

    /// Whether a wait for one peer was in a call that waits for any of several things.
    pub fn was_poll(&self, index: usize) -> bool {
        self.polled.binary_search(&index).is_ok()
    }
}

impl Asking {
    pub fn of(objects: &[Object], calls: &[Call]) -> Asking {
        let roles = Sockets::of(objects, calls);
        let asking = objects.iter().filter_map(|object| {
            let detail = match object.kind {
                ObjectKind::TcpSocket | ObjectKind::UdpSocket => Detail::NetworkReceive,
                ObjectKind::UnixSocket => Detail::UnixReceive,
                _ => return None,
            };
            (roles.role(object.object) == Some(Role::Asking)).then_some((object.object, detail))
        });
        let sockets: FxHashMap<ObjectId, Detail> = asking.collect();
        Asking {
            mostly: mostly(objects, calls, &sockets),
            sockets,
        }
    }
}

/// What each thread receives nearly all from: of all things that can be waited for.
fn mostly(
    objects: &[Object],
    calls: &[Call],
    asking: &FxHashMap<ObjectId, Detail>,
) -> FxHashMap<ThreadId, ObjectId> {
    // A file is always ready; nobody waits for one in these calls.
    let always = objects.iter().filter(|object| {
        matches!(
            object.kind,
            ObjectKind::File | ObjectKind::Directory | ObjectKind::Futex | ObjectKind::Child
        )
    });
    let always: FxHashSet<ObjectId> = always.map(|object| object.object).collect();
    let mut counts: FxHashMap<ThreadId, FxHashMap<ObjectId, u64>> = FxHashMap::default();
    for call in calls.iter().filter(|call| receives(&call.call)) {
        let came = call.count.saturating_sub(call.errors);
        if let Some(object) = call.object.filter(|object| !always.contains(object)) {
            let of_thread = counts.entry(call.thread).or_default();
            let count = of_thread.entry(object).or_default();
            *count = count.saturating_add(came);
        }
    }
    let most = counts.into_iter().filter_map(|(thread, counts)| {
        let all: u64 = counts.values().sum();
        let (object, count) = counts
            .into_iter()
            .max_by_key(|(object, n)| (*n, std::cmp::Reverse(*object)))?;
        let is_peer = asking.contains_key(&object) && count as f64 >= all as f64 * NEARLY_ALL;
        (is_peer && count > 0).then_some((thread, object))
    });
    most.collect()
}

fn is_poll(span: &super::Span) -> bool {
    span.state == State::Wait && span.detail == Detail::Poll
}
