//! Servers on the same machine that are not recorded: who they are is known by who ends the waits for them.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::outsiders::Outsiders;
use timesink_analysis::timeline::{Span, Timeline};
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

/// Who ended waits for one server, and for how long they lasted.
#[derive(Default)]
struct Enders<'a> {
    times: BTreeMap<&'a str, (u64, u32)>,
    all_ns: u64,
}

impl<'a> Enders<'a> {
    fn add(&mut self, wait: &Span, outsiders: &'a Outsiders) {
        let ns = wait.t1.since(wait.t0);
        self.all_ns = self.all_ns.saturating_add(ns);
        if let Some(tid) = wait.waker_outsider() {
            let pid = outsiders.process(tid);
            let (sum, _) = self.times.entry(outsiders.name(pid)).or_insert((0, pid));
            *sum = sum.saturating_add(ns);
        }
    }

    /// The process that ended most of them, if its name was noted.
    fn foremost(self) -> Option<(u32, &'a str)> {
        let (name, (ns, pid)) = self.times.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
        let is_kernels =
            name.is_empty() || name.starts_with("ksoftirqd/") || name.starts_with("swapper/");
        (!is_kernels && ns as f64 >= self.all_ns as f64 * MOSTLY).then_some((pid, name))
    }
}

/// The waits for things, each with the thing.
fn waits(timeline: &Timeline) -> impl Iterator<Item = (ObjectId, &Span)> {
    let slots = 0..timeline.threads.len();
    let spans = slots.flat_map(|slot| timeline.spans_of(slot));
    let waits = spans.filter(|span| span.state == State::Wait);
    waits.filter_map(|span| Some((span.object()?, span)))
}

/// The process that ended most of the waits for these sockets, if its name was noted.
pub fn who<'a>(
    timeline: &Timeline,
    outsiders: &'a Outsiders,
    sockets: &BTreeSet<ObjectId>,
) -> Option<(u32, &'a str)> {
    let mut enders = Enders::default();
    for (_, wait) in waits(timeline).filter(|(object, _)| sockets.contains(object)) {
        enders.add(wait, outsiders);
    }
    enders.foremost()
}

/// The names of all that recorded processes ask: in one pass over the waits, however many those are.
pub fn asked(inquiry: &Inquiry<'_>) -> BTreeSet<String> {
    let peers = inquiry.peers().iter();
    let sockets = peers.flat_map(|peer| {
        let sockets = peer.sockets.iter();
        sockets.map(|socket| (*socket, peer.address.as_str()))
    });
    let local = sockets.filter(|(socket, _)| inquiry.facts.object(*socket).is_some_and(is_local));
    let addresses: BTreeMap<ObjectId, &str> = local.collect();
    let mut enders: BTreeMap<&str, Enders<'_>> = BTreeMap::new();
    for (socket, wait) in waits(inquiry.timeline) {
        if let Some(address) = addresses.get(&socket) {
            let of_server = enders.entry(address).or_default();
            of_server.add(wait, &inquiry.facts.outsiders);
        }
    }
    let foremost = enders.into_values().filter_map(Enders::foremost);
    foremost.map(|(_, name)| name.to_owned()).collect()
}
