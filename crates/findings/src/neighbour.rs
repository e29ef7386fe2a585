//! Servers on the same machine that are not recorded: who they are is known by who ends the waits for them.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::outsiders::Outsiders;
use timesink_analysis::timeline::Timeline;
use timesink_recording::ids::ObjectId;
use timesink_recording::tables::Object;
use timesink_recording::words::{ObjectKind, State};

use crate::floor;
use crate::inquiry::Inquiry;

/// Who ends so much of the waits for a server is that server; others only happened to deliver what it sent.
const MOSTLY: f64 = 0.6;

/// Whether the other end of a socket is on the same machine.
pub fn is_local(socket: &Object) -> bool {
    socket.kind == ObjectKind::UnixSocket || socket.local.is_some() && floor::is_here(socket)
}

/// The process that ended most of the waits for these sockets, if its name was noted.
pub fn who<'a>(
    timeline: &Timeline,
    outsiders: &'a Outsiders,
    sockets: &BTreeSet<ObjectId>,
) -> Option<(u32, &'a str)> {
    let slots = 0..timeline.threads.len();
    let spans = slots.flat_map(|slot| timeline.spans_of(slot));
    let waits = spans.filter(|span| {
        let object = span.object().filter(|_| span.state == State::Wait);
        object.is_some_and(|object| sockets.contains(&object))
    });
    let mut times: BTreeMap<&str, (u64, u32)> = BTreeMap::new();
    let mut all = 0u64;
    for wait in waits {
        let ns = wait.t1.since(wait.t0);
        all = all.saturating_add(ns);
        if let Some(tid) = wait.waker_outsider() {
            let pid = outsiders.process(tid);
            let (sum, _) = times.entry(outsiders.name(pid)).or_insert((0, pid));
            *sum = sum.saturating_add(ns);
        }
    }
    let (name, (ns, pid)) = times.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
    let is_kernels =
        name.is_empty() || name.starts_with("ksoftirqd/") || name.starts_with("swapper/");
    (!is_kernels && ns as f64 >= all as f64 * MOSTLY).then_some((pid, name))
}

/// The names of all that recorded processes ask.
pub fn asked<'i>(inquiry: &'i Inquiry<'_>) -> BTreeSet<&'i str> {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let is_asked = |socket: &&ObjectId| {
        let role = sockets.role(**socket);
        !matches!(role, Some(Role::Served | Role::Listening))
            && inquiry.facts.object(**socket).is_some_and(is_local)
    };
    let peers = inquiry.peers().iter().filter_map(|peer| {
        let sockets = peer.sockets.iter().filter(is_asked).copied().collect();
        who(inquiry.timeline, &inquiry.facts.outsiders, &sockets)
    });
    peers.map(|(_, name)| name).collect()
}
