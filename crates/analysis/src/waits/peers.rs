//! Whom a process asks over sockets, peer by peer: how many connections, what was sent and received, and the waits.
//!
//! A process that opens a connection for each question has as many sockets as questions, so the peer is told by its
//! address. Sockets on which a process is asked itself are left out. Sends are known as sums only, without their moments.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, ObjectKind, State};
use timesink_recording::Nanos;

use super::{Came, KnownWaits, Sent};
use crate::facts::calls::CallSum;
use crate::facts::sockets::{is_poll, plain, receives, sends, Role, Sockets};
use crate::facts::Facts;
use crate::timeline::{Span, Timeline};

/// A peer of one process.
#[derive(Clone, Debug)]
pub struct Peer {
    pub process: ProcessId,
    pub kind: ObjectKind,
    /// Its address and port, or its path.
    pub address: String,
    /// In the order of their numbers.
    pub sockets: Vec<ObjectId>,
    /// How many sockets were connected to it, or taken from it; what still was under way counts.
    pub connections: u64,
    /// Those of its sockets whose `connect` did not wait: the first wait on each is for the connection.
    pub under_way: Vec<ObjectId>,
    pub sends: u64,
    /// The sockets that anything is known to have been sent on, one for each that calls were counted of.
    pub sent_on: BTreeSet<ObjectId>,
    pub sent_bytes: u64,
    pub receives: u64,
    pub received_bytes: u64,
    /// How often options of its sockets were set.
    pub options: u64,
    /// Not all calls were timed: the sums are scaled up.
    pub estimated: bool,
    /// Its connections are used at the same time: what is waited for is whichever answers first.
    pub at_once: bool,
    /// It is asked two things at a time, each on a socket of its own: for both kinds of address of a name, say.
    pub in_pairs: bool,
    /// In the order of threads and time.
    pub waits: Vec<PeerWait>,
}

impl Peer {
    /// Whether a span is a wait on one of its sockets.
    pub fn is_waited_for_in(&self, span: &Span) -> bool {
        let socket = span.object().filter(|_| span.state == State::Wait);
        socket.is_some_and(|socket| self.sockets.binary_search(&socket).is_ok())
    }
}

/// A wait for a peer that was recorded by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerWait {
    /// Its index in [`Timeline::span`].
    pub span: usize,
    pub ns: u64,
    pub detail: Detail,
    pub socket: ObjectId,
    pub came: Came,
    /// In a call that waits for many things, of which this peer was the one that came: how long it was before that is
    /// not the time that the peer took.
    pub among_many: bool,
    /// For this peer and nothing else: also a poll may be, of one descriptor.
    pub alone: bool,
    /// Something else came at the same time.
    pub several: bool,
    /// The socket that the thread last sent something on before it, and after its wait before.
    pub sent: Option<ObjectId>,
    /// Of a peer whose connections are used at the same time: at its end, how long ago something came on its socket before, or was
    /// sent there as far as that is known; `None`: that is not known at all. Who waits for many things at once waits for less than that.
    pub since_ns: Option<u64>,
}

impl PeerWait {
    /// For what it sends; a poll may be for either, and mostly is for that.
    pub fn receives(&self) -> bool {
        matches!(
            self.detail,
            Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
        )
    }

    /// For what it sends, and for that alone.
    pub fn awaits_answer(&self) -> bool {
        self.receives() && !self.among_many
    }

    /// For a connection.
    pub fn connects(&self) -> bool {
        matches!(self.detail, Detail::NetworkConnect | Detail::UnixConnect)
    }
}

impl Peer {
    fn new(process: ProcessId, kind: ObjectKind, address: &str) -> Peer {
        Peer {
            process,
            kind,
            address: address.to_owned(),
            sockets: Vec::new(),
            connections: 0,
            under_way: Vec::new(),
            sends: 0,
            sent_on: BTreeSet::new(),
            sent_bytes: 0,
            receives: 0,
            received_bytes: 0,
            options: 0,
            estimated: false,
            at_once: false,
            in_pairs: false,
            waits: Vec::new(),
        }
    }

    fn port(&self) -> Option<u32> {
        self.address.rsplit_once(':')?.1.parse().ok()
    }

    /// Its address without the port.
    pub fn host(&self) -> &str {
        let host = self.address.rsplit_once(':');
        host.map_or(self.address.as_str(), |(host, _)| host)
    }

    /// Whether it is asked for the addresses of names.
    pub fn is_name_server(&self) -> bool {
        self.port() == Some(53)
    }

    fn add(&mut self, call: &CallSum) {
        let name = plain(&call.call);
        let (count, bytes) = (call.count, call.bytes);
        self.estimated |= call.estimated;
        if sends(name) {
            self.sends = self.sends.saturating_add(count);
            self.sent_on.extend(call.object);
            self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        } else if receives(name) {
            self.receives = self.receives.saturating_add(count);
            self.received_bytes = self.received_bytes.saturating_add(bytes);
        } else if name == "setsockopt" {
            self.options = self.options.saturating_add(count);
        } else if name == "connect" {
            let under_way = call.errnos.iter().any(|(error, _)| error == "EINPROGRESS");
            self.connections += u64::from(under_way || call.errors < count);
            self.under_way.extend(call.object.filter(|_| under_way));
        } else if matches!(name, "accept" | "accept4") {
            let made = count.saturating_sub(call.errors);
            self.connections = self.connections.saturating_add(made);
        }
    }
}

/// The peers of all processes.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Whom processes ask, in the order of processes and addresses.
    pub all: Vec<Peer>,
    /// By whom they are asked, all who ask at one of their addresses together: that is the address told.
    pub asking: Vec<Peer>,
}

type PeerKey<'a> = (ProcessId, ObjectKind, &'a str);

impl Peers {
    pub(crate) fn of(facts: &Facts, timeline: &Timeline, waited: &KnownWaits) -> Peers {
        let roles = Sockets::of(&facts.objects, &waited.calls);
        let sockets = facts.objects.iter().filter(|object| {
            matches!(
                object.kind,
                ObjectKind::TcpSocket | ObjectKind::UdpSocket | ObjectKind::UnixSocket
            )
        });
        let (mut asked, mut asking) = (Places::default(), Places::default());
        for object in sockets {
            let (places, address) = match (roles.role(object.object), object.kind) {
                (Some(Role::Served), _) => (&mut asking, object.local.as_deref()),
                (Some(Role::Listening), _) => continue,
                (_, ObjectKind::UnixSocket) => (&mut asked, object.path.as_deref()),
                _ => (&mut asked, object.remote.as_deref()),
            };
            if let Some(address) = address {
                places.insert(object.object, (object.kind, address));
            }
        }
        Peers {
            all: gathered(facts, timeline, waited, &asked),
            asking: gathered(facts, timeline, waited, &asking),
        }
    }
}

/// The kind of each socket, and the address that its peer is told by.
type Places<'a> = FxHashMap<ObjectId, (ObjectKind, &'a str)>;

/// What was sent, received and waited for on these sockets, peer by peer.
fn gathered(
    facts: &Facts,
    timeline: &Timeline,
    waited: &KnownWaits,
    places: &Places<'_>,
) -> Vec<Peer> {
    let mut peers: FxHashMap<PeerKey<'_>, Peer> = FxHashMap::default();
    for call in &facts.calls {
        let (Some(process), Some(object)) = (call.process, call.object) else {
            continue;
        };
        if let Some(&(kind, address)) = places.get(&object) {
            let peer = peers
                .entry((process, kind, address))
                .or_insert_with(|| Peer::new(process, kind, address));
            peer.add(call);
            peer.sockets.push(object);
        }
    }
    for (index, known) in waited.each() {
        let Some(span) = timeline.span(index).filter(|s| s.state == State::Wait) else {
            continue;
        };
        let own = span.object().filter(|object| places.contains_key(object));
        let socket = own.or(known.woken);
        let place = socket.and_then(|socket| Some((socket, *places.get(&socket)?)));
        let slot = timeline.slot(span.thread);
        let (Some((socket, (kind, address))), Some(slot)) = (place, slot) else {
            continue;
        };
        let process = timeline.threads[slot].process;
        let peer = peers
            .entry((process, kind, address))
            .or_insert_with(|| Peer::new(process, kind, address));
        peer.sockets.push(socket);
        peer.waits.push(PeerWait {
            span: index,
            ns: span.t1.since(span.t0),
            detail: span.detail,
            socket,
            came: known.came,
            among_many: timeline.was_poll(index)
                || span.detail == Detail::Poll && span.object().is_some() && own.is_none(),
            alone: known.alone,
            several: known.several,
            sent: known.sent,
            since_ns: None,
        });
    }
    let polls = polls(facts);
    let mut all: Vec<Peer> = peers.into_values().collect();
    for peer in &mut all {
        peer.sockets.sort_unstable();
        peer.sockets.dedup();
        let is_own = |sent: &&Sent| peer.sockets.binary_search(&sent.socket).is_ok();
        let sent: Vec<Sent> = waited.sent.iter().filter(is_own).copied().collect();
        let by_turns = || used_at_once(timeline, peer, &sent) && !is_in_turn(timeline, peer, &sent);
        peer.at_once = match Polled::of(peer, polls.get(&peer.process).copied().unwrap_or(0)) {
            Polled::Many => true,
            Polled::Several => by_turns(),
            Polled::Each => answered_at_once(timeline, peer).unwrap_or_else(by_turns),
        };
        peer.in_pairs = peer.at_once && is_asked_in_pairs(peer);
        peer.at_once &= !peer.in_pairs;
        if peer.at_once {
            find_since(timeline, &mut peer.waits);
        } else {
            for wait in &mut peer.waits {
                wait.among_many &= !timeline.was_poll(wait.span);
            }
        }
    }
    all.sort_by(|a, b| {
        (a.process, a.kind as u8, &a.address).cmp(&(b.process, b.kind as u8, &b.address))
    });
    all
}

/// How long ago something came on the socket of each wait before, or was sent on it.
fn find_since(timeline: &Timeline, waits: &mut [PeerWait]) {
    let mut last: FxHashMap<(ThreadId, ObjectId), Nanos> = FxHashMap::default();
    for wait in waits {
        let Some(span) = timeline.span(wait.span) else {
            continue;
        };
        if let Some(sent) = wait.sent {
            last.insert((span.thread, sent), span.t0);
        }
        let before = last.insert((span.thread, wait.socket), span.t1);
        wait.since_ns = before.map(|before| span.t1.since(before));
    }
}

/// How often each process asks which of several things are ready.
fn polls(facts: &Facts) -> FxHashMap<ProcessId, u64> {
    let mut polls: FxHashMap<ProcessId, u64> = FxHashMap::default();
    for call in facts.calls.iter().filter(|call| is_poll(plain(&call.call))) {
        if let Some(process) = call.process {
            let count = polls.entry(process).or_default();
            *count = count.saturating_add(call.count);
        }
    }
    polls
}

/// How many requests go with each time that a process asks which of its connections have something for it. One at a time, it
/// asks for each answer, or does not ask at all and waits.
enum Polled {
    Each,
    /// As many as where each request is sent in two pieces, and its answer received in two.
    Several,
    Many,
}

impl Polled {
    /// Measured: 1.0 where redis-benchmark has one client, 2.0 with 2, 5.0 with 5, 24 with 50.
    const SEVERAL: f64 = 1.5;
    const MANY: f64 = 3.0;

    fn of(peer: &Peer, polls: u64) -> Polled {
        let each = peer.sends.min(peer.receives) as f64 / polls.max(1) as f64;
        // Each connection has one request at a time: more were waited for in other ways.
        let is_explained = polls > 0 && each <= peer.sockets.len() as f64 * 1.25;
        match is_explained && peer.sockets.len() > 1 {
            true if each > Polled::MANY => Polled::Many,
            true if each > Polled::SEVERAL => Polled::Several,
            _ => Polled::Each,
        }
    }
}

/// Whether a thread uses one connection and then another, again and again, rather than one after the other: by what it waits for,
/// and by what it sends, for who is answered quickly does not wait.
fn used_at_once(timeline: &Timeline, peer: &Peer, sent: &[Sent]) -> bool {
    let waits = peer.waits.iter().filter_map(|wait| {
        let span = timeline.span(wait.span)?;
        Some((span.thread, wait.socket))
    });
    take_turns(waits) || take_turns(sent.iter().map(|sent| (sent.thread, sent.socket)))
}

/// Whether connections are used by turns, by who used which, in the order of threads and time.
fn take_turns(uses: impl Iterator<Item = (ThreadId, ObjectId)>) -> bool {
    /// One after the other there are no more turns from one to another than connections, or hardly more.
    const MORE: f64 = 1.25;
    let mut used: BTreeSet<(ThreadId, ObjectId)> = BTreeSet::new();
    let (mut turns, mut last) = (0u64, None);
    for now in uses {
        turns += u64::from(Some(now) != last);
        used.insert(now);
        last = Some(now);
    }
    turns as f64 > used.len() as f64 * MORE
}

/// So many answers must be known.
const KNOWN: usize = 4;
/// Of these so much comes before anything else where one thing is asked at a time.
const MOST: f64 = 0.8;

fn mostly(alone: usize, known: usize) -> bool {
    alone as f64 >= known as f64 * MOST
}

/// Whether what is waited for comes on another connection than something was sent on last, or with something else, as far as that is
/// known of the waits. An answer may come in pieces: between them nothing is sent, and what was sent last still is.
fn answered_at_once(timeline: &Timeline, peer: &Peer) -> Option<bool> {
    let is_own = |sent: &ObjectId| peer.sockets.binary_search(sent).is_ok();
    let (mut known, mut alone) = (0, 0);
    let mut last: Option<(usize, ObjectId)> = None;
    // Those that are waited for themselves before anything is sent on them.
    let mut connecting: BTreeSet<ObjectId> = peer.under_way.iter().copied().collect();
    for wait in peer.waits.iter().filter(|wait| !wait.connects()) {
        if connecting.remove(&wait.socket) && wait.sent.is_none() {
            continue;
        }
        let before = last.filter(|(span, _)| follow_each_other(timeline, *span, wait.span));
        let sent = wait.sent.or(before.map(|(_, sent)| sent));
        if let Some(sent) = sent.filter(is_own) {
            known += 1;
            alone += usize::from(sent == wait.socket && !wait.several);
        }
        last = sent.map(|sent| (wait.span, sent));
    }
    (known >= KNOWN).then(|| !mostly(alone, known))
}

/// Whether no more than two questions are under way at a time, where each has a socket of its own: what comes is for the last that was
/// asked, or for the one before. Sockets are numbered in the order in which they are first used.
fn is_asked_in_pairs(peer: &Peer) -> bool {
    if peer.kind != ObjectKind::UdpSocket || peer.sends != peer.sockets.len() as u64 {
        return false;
    }
    let rank = |socket: ObjectId| peer.sockets.binary_search(&socket).ok();
    let ahead = peer.waits.iter().filter_map(|wait| {
        let (sent, came) = (rank(wait.sent?)?, rank(wait.socket)?);
        Some(sent.saturating_sub(came))
    });
    let (known, of_two) = ahead.fold((0, 0), |(known, of_two), ahead| {
        (known + 1, of_two + usize::from(ahead <= 1))
    });
    known >= KNOWN && mostly(of_two, known)
}

/// Whether two waits are of the same thread, with no other between them.
fn follow_each_other(timeline: &Timeline, first: usize, second: usize) -> bool {
    /// On a CPU, runnable, on a CPU again, preempted, and so on.
    const NEAR: usize = 16;
    let thread = |at: usize| timeline.span(at).map(|span| span.thread);
    let mut between = (first + 1..second).filter_map(|at| timeline.span(at));
    second.saturating_sub(first) <= NEAR
        && thread(first) == thread(second)
        && between.all(|span| span.state != State::Wait)
}

/// Whether nothing else came in between what was sent and its answer, whatever connection each took: by the moments of some that were
/// sent. A client may take its connections by turns, and ask one thing at a time.
fn is_in_turn(timeline: &Timeline, peer: &Peer, sent: &[Sent]) -> bool {
    let mut answers: Vec<(Nanos, ObjectId)> = peer
        .waits
        .iter()
        .filter(|wait| !wait.connects())
        .filter_map(|wait| Some((timeline.span(wait.span)?.t1, wait.socket)))
        .collect();
    answers.sort_unstable();
    let next = sent.iter().filter_map(|sent| {
        let later = answers.partition_point(|(answered, _)| *answered <= sent.at);
        answers.get(later).map(|(_, first)| *first == sent.socket)
    });
    let (mut known, mut alone) = (0usize, 0usize);
    for is_its_own in next {
        known += 1;
        alone += usize::from(is_its_own);
    }
    known >= KNOWN && mostly(alone, known)
}
