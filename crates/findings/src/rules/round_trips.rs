//! Many small questions to one peer, each waited for: by whatever call, so the exact counts of what was sent and received
//! decide. Waits that were recorded one by one say how long an answer takes, and where.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::ledger::Who;
use timesink_analysis::path::Key;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{CallSite, Spot};
use timesink_analysis::stretches::Stretches;
use timesink_analysis::timeline::{Span, Waker};
use timesink_analysis::waits::{quantile, WaitGroup};
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::tables::Object;
use timesink_recording::words::{Detail, LossKind, ObjectKind, State, WakeSource};
use timesink_recording::Nanos;

use super::{event_loop_blocked, hot_lock};
use crate::engine::least_told_ns;
use crate::floor;
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::neighbour;
use crate::picked::Picked;
use crate::placed::Placed;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};
use crate::served::requests;

pub static RULE: Rule = Rule {
    name: "round-trips",
    looks_for: "many requests to one peer, one at a time, each waited for",
    why: "Each request costs a round trip and the peer's fixed cost per request, however little is requested.",
    advice: "batch the requests: one query for many keys, a join, a pipeline; or keep several in flight at a time",
    wrong_if: "each request depends on the response to the one before, or the peer only responds when it has something to deliver, as a queue does",
    limits: &[&limits::WAITS, &limits::IN_TURN, &limits::BYTES, &limits::SENT, &limits::PER_REQUEST, &limits::MOVED, &limits::SLOW],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of waits for responses",
    };
    pub static IN_TURN: Limit = Limit {
        name: "in turn",
        value: 1000.0,
        unit: Unit::Count,
        means: "or: minimum number of sends, with about as many receives that returned data",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes read per request, on average; more is a transfer",
    };
    pub static SENT: Limit = Limit {
        name: "sent",
        value: 0.5,
        unit: Unit::Count,
        means: "minimum number of sends per wait; with fewer the program is listening",
    };
    pub static PER_REQUEST: Limit = Limit {
        name: "per request",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of sends per request that a server received itself; with fewer it passes requests on",
    };
    /// Measured: 18 to 170 bytes for a key or a row of Redis, memcached, PostgreSQL and MySQL, 0.4 to 0.8 kB where Redis tells ten keys
    /// at a time; 4.3 kB for a hundred rows of PostgreSQL at once, 32 kB for a thousand keys of Redis.
    pub static MOVED: Limit = Limit {
        name: "moved",
        value: 2048.0,
        unit: Unit::Bytes,
        means: "maximum bytes sent and received per request; who moves more asks for many things at once, and is told only if the round trips by themselves are worth it",
    };
    /// Measured 2026-11-28: 230 to 304 ms where a consumer takes work from a queue, or polls long; 20 to 63 ms of the services in whose clients
    /// one request after the other was the fault.
    pub static SLOW: Limit = Limit {
        name: "slow",
        value: 100e6,
        unit: Unit::Nanoseconds,
        means: "median time of a response from which on the peer may wait for something to deliver: what fewer requests save is told as a maximum",
    };
}

/// Two counts of which the smaller is this part of the larger are about the same.
const ALIKE: f64 = 0.8;

const SENDS: [&str; 6] = ["write", "writev", "send", "sendto", "sendmsg", "sendmmsg"];
const RECEIVES: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let all = Conversations::of(inquiry, &sockets);
    let with_peers = all.by_peer(inquiry, &sockets);
    let suspects = with_peers.iter();
    suspects
        .filter_map(|(&(process, object), on)| suspect(inquiry, process, object, on, &all))
        .collect()
}

/// Calls of one process on one thing, or on all.
#[derive(Clone, Copy, Default)]
struct Calls {
    count: u64,
    /// Those that did something.
    came: u64,
    bytes: u64,
    ns: u64,
    estimated: bool,
}

impl Calls {
    fn of(call: &CallSum) -> Calls {
        Calls {
            count: call.count,
            came: call.count.saturating_sub(call.errors),
            bytes: call.bytes,
            ns: call.ns,
            estimated: call.estimated,
        }
    }

    fn add(&mut self, other: Calls) {
        self.count = self.count.saturating_add(other.count);
        self.came = self.came.saturating_add(other.came);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ns = self.ns.saturating_add(other.ns);
        self.estimated |= other.estimated;
    }
}

/// What was sent and received on a connection, or on all those to one peer, and how it was waited for: in whatever call.
#[derive(Clone, Default)]
struct Conversation<'a> {
    sockets: BTreeSet<ObjectId>,
    sent: Calls,
    received: Calls,
    /// The longest of each connection, where waits were recorded one by one.
    groups: BTreeMap<ObjectId, &'a WaitGroup>,
}

impl<'a> Conversation<'a> {
    fn add(&mut self, other: &Conversation<'a>) {
        self.sockets.extend(&other.sockets);
        self.sent.add(other.sent);
        self.received.add(other.received);
        self.groups.extend(&other.groups);
    }

    /// How often something was asked. On the same processor the peer may answer before the question's call is over: not each
    /// answer is waited for. And one that comes in pieces is waited for several times.
    fn requests(&self) -> u64 {
        let (sent, received) = (self.sent.came, self.received.came);
        self.waits().min(sent).max(sent.min(received))
    }

    fn bytes_each(&self) -> u64 {
        self.received.bytes / self.requests().max(1)
    }

    /// Whether it asks and is answered, rather than listens or loads.
    fn asks(&self, inquiry: &Inquiry<'_>) -> bool {
        self.received.count > 0
            && self.bytes_each() as f64 <= RULE.limit(inquiry, &limits::BYTES)
            && self.sent.count as f64 >= self.waits() as f64 * RULE.limit(inquiry, &limits::SENT)
    }

    fn waits(&self) -> u64 {
        let groups = self.groups.values();
        let answered = groups.map(|group| group.count() - group.expired);
        answered.sum()
    }

    /// Those that were recorded one by one.
    fn single_waits(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> BTreeSet<usize> {
        let waits = inquiry.single_waits(|of| of == process);
        let is_on = |span: &Span| span.object().is_some_and(|o| self.sockets.contains(&o));
        let own = waits.filter(|(_, span)| is_on(span) && is_answer(span.detail));
        own.map(|(at, _)| at).collect()
    }

    /// How many its own time ended, without an answer.
    fn unanswered(&self) -> u64 {
        self.groups.values().map(|group| group.expired).sum()
    }

    fn longest(&self) -> Option<&'a WaitGroup> {
        let groups = self.groups.values().copied();
        groups.max_by_key(|group| (group.ns, Reverse(group.object)))
    }

    /// Whether each request moves so much that it asks for many things at once, and the round trips by themselves are too
    /// short to matter: what a response takes beyond one is the peer's work, which stays with fewer requests.
    fn is_batched(&self, inquiry: &Inquiry<'_>, object: ObjectId) -> bool {
        /// Responses on one machine: measured 56 to 97 us (median) for one key or row of four servers.
        const ON_THIS_MACHINE_NS: u64 = 100_000;
        let requests = self.requests();
        let moved = self.sent.bytes.saturating_add(self.received.bytes) / requests.max(1);
        if moved as f64 <= RULE.limit(inquiry, &limits::MOVED) {
            return false;
        }
        let groups = self.groups.values();
        let mut lengths: Vec<u64> = groups.flat_map(|group| &group.lengths).copied().collect();
        lengths.sort_unstable();
        let quick_ns = quantile(&lengths, 0.05);
        // Where waits were lost there may have been quicker ones.
        let may_be_near = inquiry.has_lost(LossKind::Waits)
            || inquiry.facts.object(object).is_some_and(is_on_this_machine);
        let way_ns = match may_be_near {
            true if quick_ns == 0 => ON_THIS_MACHINE_NS,
            true => quick_ns.min(ON_THIS_MACHINE_NS),
            false => quick_ns,
        };
        way_ns.saturating_mul(requests) < least_told_ns(inquiry.outlook.wall_ns)
            && !self.groups.is_empty()
    }

    /// Who takes so long to answer may wait for something to deliver.
    fn or_nothing(&self, inquiry: &Inquiry<'_>, fix: Fix) -> Fix {
        match self.is_slow(inquiry) {
            true => fix.or_nothing(),
            false => fix,
        }
    }

    fn is_slow(&self, inquiry: &Inquiry<'_>) -> bool {
        self.took().0 as f64 >= RULE.limit(inquiry, &limits::SLOW)
    }

    /// The median and the 90th percentile of how long an answer was waited for.
    fn took(&self) -> (u64, u64) {
        let lengths = self.groups.values().flat_map(|group| &group.lengths);
        let mut lengths: Vec<u64> = lengths.copied().collect();
        lengths.sort_unstable();
        (quantile(&lengths, 0.5), quantile(&lengths, 0.9))
    }
}

/// The conversations of all processes.
struct Conversations<'a> {
    on: BTreeMap<(ProcessId, ObjectId), Conversation<'a>>,
    /// What all such calls of a process take, on sockets or not.
    ns: BTreeMap<ProcessId, u64>,
    /// How often a process was asked something itself.
    asked: BTreeMap<ProcessId, u64>,
    /// Connections of which others to the same peer are used at the same time.
    at_once: BTreeSet<(ProcessId, ObjectId)>,
    /// Sockets on which two things are asked at a time.
    in_pairs: BTreeSet<(ProcessId, ObjectId)>,
}

/// The first of several sockets for the same peer. With hardly a request on each connection, the connections are what costs: that
/// is told elsewhere. Datagrams need none. But who looks names up to connect to them is told of as such, or needs each.
fn firsts(inquiry: &Inquiry<'_>) -> BTreeMap<(ProcessId, ObjectId), ObjectId> {
    /// What the limits ask of a connection that is told by itself.
    const REQUESTS: u64 = 10;
    let peers = inquiry.peers().iter();
    let connecting: BTreeSet<ProcessId> = peers
        .clone()
        .filter(|peer| peer.kind == ObjectKind::TcpSocket)
        .map(|peer| peer.process)
        .collect();
    let several = peers.filter(|peer| match peer.kind {
        ObjectKind::UdpSocket => !peer.is_name_server() || !connecting.contains(&peer.process),
        _ => peer.sends >= REQUESTS * peer.sockets.len() as u64,
    });
    let each = several.flat_map(|peer| {
        let first = peer.sockets.first().copied();
        let sockets = peer.sockets.iter();
        sockets.filter_map(move |&socket| Some(((peer.process, socket), first?)))
    });
    each.collect()
}

impl<'a> Conversations<'a> {
    fn of(inquiry: &'a Inquiry<'_>, sockets: &Sockets) -> Conversations<'a> {
        let mut all = Conversations {
            on: BTreeMap::new(),
            ns: BTreeMap::new(),
            asked: requests(inquiry, sockets),
            at_once: BTreeSet::new(),
            in_pairs: BTreeSet::new(),
        };
        for call in &inquiry.facts.calls {
            let (sends, receives) = (
                SENDS.contains(&call.call.as_str()),
                RECEIVES.contains(&call.call.as_str()),
            );
            let Some(process) = call.process.filter(|_| sends || receives) else {
                continue;
            };
            let ns = all.ns.entry(process).or_default();
            *ns = ns.saturating_add(call.ns);
            let Some(object) = call.object else {
                continue;
            };
            let on = all.on.entry((process, object)).or_default();
            on.sockets.insert(object);
            match sends {
                true => on.sent.add(Calls::of(call)),
                false => on.received.add(Calls::of(call)),
            }
        }
        for peer in inquiry.peers() {
            let own = peer.sockets.iter().map(|&socket| (peer.process, socket));
            match (peer.at_once, peer.in_pairs) {
                (true, _) => all.at_once.extend(own),
                (false, true) => all.in_pairs.extend(own),
                (false, false) => {}
            }
        }
        for group in inquiry.waits() {
            let Some(object) = group.object.filter(|_| is_answer(group.detail)) else {
                continue;
            };
            if let Some(on) = all.on.get_mut(&(group.process, object)) {
                on.groups.entry(object).or_insert(group);
            }
        }
        all.on.retain(|(_, object), on| {
            !on.groups.is_empty() || inquiry.facts.object(*object).is_some_and(has_peer)
        });
        all
    }

    /// Those in which a process asks: all with one peer together, under the first of the connections.
    fn by_peer(
        &self,
        inquiry: &Inquiry<'_>,
        sockets: &Sockets,
    ) -> BTreeMap<(ProcessId, ObjectId), Conversation<'a>> {
        let firsts = firsts(inquiry);
        let mut with_peers: BTreeMap<_, Conversation<'a>> = BTreeMap::new();
        for (&(process, object), on) in &self.on {
            // Who is asked on a socket waits for questions there, not for answers.
            if matches!(sockets.role(object), None | Some(Role::Asking)) && on.asks(inquiry) {
                let first = firsts.get(&(process, object)).copied();
                let with_peer = with_peers.entry((process, first.unwrap_or(object)));
                with_peer.or_default().add(on);
            }
        }
        with_peers
    }
}

/// Whether such a wait may be one for an answer.
fn is_answer(detail: Detail) -> bool {
    matches!(
        detail,
        Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
    )
}

fn is_connection(object: &Object) -> bool {
    matches!(object.kind, ObjectKind::TcpSocket | ObjectKind::UnixSocket)
}

/// Whether the peer is known to be on the same machine.
fn is_on_this_machine(object: &Object) -> bool {
    object.kind == ObjectKind::UnixSocket || floor::is_here(object)
}

fn has_peer(object: &Object) -> bool {
    is_connection(object) || object.kind == ObjectKind::UdpSocket && object.remote.is_some()
}

/// That so many questions are asked at once. Fewer questions are also fewer calls; of these this share is about it. Who sends each
/// question on its own all the same, without waiting for the answer before, saves the waits alone.
fn at_once(
    waits: What,
    own: &BTreeSet<ProcessId>,
    count: u64,
    calls: &[&'static str],
    share: f64,
) -> Fix {
    let change = |what, how| Change {
        what,
        processes: Some(own.clone()),
        how,
    };
    let calls = What::Calls(calls.iter().copied().collect());
    let spared = share * (1.0 - 1.0 / count.max(1) as f64);
    let batch = How::Batch(u32::try_from(count).unwrap_or(u32::MAX));
    let waits = change(waits, batch);
    let all = vec![waits.clone(), change(calls, How::Scale(1.0 - spared))];
    Fix::Likely(vec![waits], all.clone(), all)
}

/// The part of the time in which a process is runnable that its peer has the CPU, on the same machine and not recorded: it works for
/// the response there, and often has it done before anybody waits for it.
fn behind_peer(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    object: ObjectId,
    on: &Conversation<'_>,
) -> f64 {
    if !inquiry
        .facts
        .object(object)
        .is_some_and(neighbour::is_local)
    {
        return 0.0;
    }
    let outsiders = &inquiry.facts.outsiders;
    let Some((_, peer)) = neighbour::who(inquiry.timeline, outsiders, &on.sockets) else {
        return 0.0;
    };
    let (mut behind_ns, mut ready_ns) = (0, 0);
    let threads = inquiry.facts.ledger.threads.iter();
    for thread in threads.filter(|thread| thread.row.process == process) {
        ready_ns += thread.row.ready_ns;
        let behind = thread.behind.iter();
        let is_peer = |who| matches!(who, Who::Outsider(tid) if outsiders.name(tid) == peer);
        let behind = behind.filter(|behind| is_peer(behind.who));
        behind_ns += behind.map(|behind| behind.ns).sum::<u64>();
    }
    behind_ns as f64 / ready_ns.max(1) as f64
}

/// With so many requests at once a process is runnable behind its peer for less, too.
fn with_less_behind(fix: Fix, own: &BTreeSet<ProcessId>, share: f64, count: u64) -> Fix {
    let change = Change {
        what: What::Ready,
        processes: Some(own.clone()),
        how: How::Scale(1.0 - share * (1.0 - 1.0 / count.max(1) as f64)),
    };
    match share > 0.0 {
        true => and_likely(fix, change.clone(), change),
        false => fix,
    }
}

/// The same, which takes this away, too: most probably the first, and at most the second.
fn and_likely(fix: Fix, likely: Change, most: Change) -> Fix {
    match fix {
        Fix::Likely(least, mut all_likely, mut all_most) => {
            all_likely.push(likely);
            all_most.push(most);
            Fix::Likely(least, all_likely, all_most)
        }
        fix => fix,
    }
}

/// What the peers did while they were waited for, where they are recorded.
fn work_of_peers(inquiry: &Inquiry<'_>, waits: &BTreeSet<usize>) -> Option<What> {
    let timeline = inquiry.timeline;
    let mut stretches: Vec<(Nanos, Nanos)> = Vec::new();
    let mut peers: BTreeSet<ThreadId> = BTreeSet::new();
    for wait in waits.iter().filter_map(|&at| timeline.span(at)) {
        if let Waker::Thread { slot, .. } = timeline.waker(wait) {
            peers.insert(timeline.threads[slot].thread);
            stretches.push((wait.t0, wait.t1));
        }
    }
    let stretches = Stretches::of(stretches).each();
    let during = peers.into_iter().map(|peer| (peer, stretches.clone()));
    let during: BTreeMap<ThreadId, Vec<(Nanos, Nanos)>> = during.collect();
    (!during.is_empty()).then_some(What::During(during))
}

/// With fewer requests the peer does less, too. How much of it is for each request, and how much for what is asked in it, nobody knows.
fn with_peers(fix: Fix, work: What, count: u64) -> Fix {
    let less = |factor| Change {
        what: work.clone(),
        processes: None,
        how: How::Scale(factor),
    };
    and_likely(fix, less(0.5), less(1.0 / count.max(1) as f64))
}

/// Whether these waits block a loop of events, or are under a lock that others want.
fn is_told_elsewhere(inquiry: &Inquiry<'_>, process: ProcessId, waits: &BTreeSet<usize>) -> bool {
    event_loop_blocked::are_blocking(inquiry, process, waits)
        || hot_lock::are_under_one(inquiry, process, waits)
}

/// Whether a stack waits for work from a queue, by what a client of Redis calls that.
fn takes_work(inquiry: &Inquiry<'_>, frames: &[Spot]) -> bool {
    const TAKING: [&str; 10] = [
        "blpop",
        "brpop",
        "blmove",
        "brpoplpush",
        "bzpopmin",
        "bzpopmax",
        "blmpop",
        "bzmpop",
        "xread",
        "xreadgroup",
    ];
    frames.iter().any(|spot| {
        let name = &inquiry.stacks.code.function(spot.function).name;
        let own = name.rsplit(['.', ':', '#']).next().unwrap_or_default();
        TAKING.contains(&own.to_ascii_lowercase().as_str())
    })
}

/// What to do where several are in flight at a time as it is.
const BY_THREADS: &str = "batch the requests: one query for many keys, a join, a pipeline; or keep more of them in flight at a time (more threads)";

/// How many threads make these requests, if they do so at the same time.
fn threads_at_once(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    waits: &BTreeSet<usize>,
) -> Option<u64> {
    /// Measured: 1.0 where eight threads take turns, 7.4 and 8.7 where eight and ten do not.
    const AT_A_TIME: f64 = 1.5;
    let waits = Picked::of(inquiry, process, waits.iter().copied());
    let threads: BTreeSet<ThreadId> = waits.waits(inquiry).map(|span| span.thread).collect();
    (threads.len() > 1 && waits.at_a_time(inquiry) >= AT_A_TIME).then_some(threads.len() as u64)
}

/// `600 requests to 10.0.0.1:5432, one at a time, over 3 connections`.
fn title(
    inquiry: &Inquiry<'_>,
    object: ObjectId,
    on: &Conversation<'_>,
    in_pairs: bool,
    threads: Option<u64>,
) -> Sentence {
    let is_estimated = on.sent.estimated || on.received.estimated;
    let mut title = say![
        if is_estimated { "about " } else { "" },
        Piece::Count(on.requests()),
        " requests to ",
        object,
        match in_pairs {
            true => ", two at a time",
            false => ", one at a time",
        }
    ];
    if let Some(threads) = threads {
        title.0.extend([
            " in each of ".into(),
            Piece::Count(threads),
            " threads".into(),
        ]);
    }
    if on.sockets.len() > 1 {
        let connected = inquiry.facts.object(object).is_some_and(is_connection);
        let sockets = Piece::Count(on.sockets.len() as u64);
        let name = match connected {
            true => " connections",
            false => " sockets",
        };
        title.0.extend([", over ".into(), sockets, name.into()]);
    }
    title
}

/// Whether a process makes its requests one after the other, many of them for each that it serves.
fn goes_in_turn(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    object: ObjectId,
    on: &Conversation<'_>,
    all: &Conversations<'_>,
) -> bool {
    let (sent, received) = (on.sent, on.received);
    // Who takes an answer for each question, thousands of times, asks one after the other whether it waits or not.
    let (fewer, more) = (
        sent.came.min(received.came) as f64,
        sent.came.max(received.came) as f64,
    );
    let in_turn = fewer >= RULE.limit(inquiry, &limits::IN_TURN) && fewer >= more * ALIKE;
    let asked = all.asked.get(&process).copied().unwrap_or(0) as f64;
    let waits = on.waits() as f64;
    (in_turn || waits >= RULE.limit(inquiry, &limits::WAITS))
        && sent.count as f64 >= asked * RULE.limit(inquiry, &limits::PER_REQUEST)
        && !all.at_once.contains(&(process, object))
        && !on.is_batched(inquiry, object)
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    object: ObjectId,
    on: &Conversation<'_>,
    all: &Conversations<'_>,
) -> Option<Suspect> {
    if !goes_in_turn(inquiry, process, object, on, all) {
        return None;
    }
    let (sent, waits) = (on.sent, on.waits());
    let (count, bytes) = (on.requests(), on.bytes_each());
    let single_waits = on.single_waits(inquiry, process);
    // Whether a loop of events has several requests under way is known by all of its waits, whether it passes on what it is asked by all
    // of its calls.
    let of_loop = single_waits.iter().any(|at| inquiry.timeline.was_poll(*at));
    let has_lost = [LossKind::Waits, LossKind::Calls];
    if of_loop && has_lost.into_iter().any(|kind| inquiry.has_lost(kind)) {
        return None;
    }
    if is_told_elsewhere(inquiry, process, &single_waits) {
        return None;
    }
    let own = BTreeSet::from([process]);
    let placed = placed(inquiry, &own, &on.sockets);
    let behind = behind_peer(inquiry, process, object, on);
    let (mut weight, called) = weight(inquiry, process, on, placed.as_ref(), behind);
    let (answers, unanswered_ns) = answers(inquiry, process, on);
    weight.at_most_ns = weight.at_most_ns.saturating_sub(unanswered_ns);
    let in_pairs = all.in_pairs.contains(&(process, object));
    let threads = threads_at_once(inquiry, process, &single_waits);
    let title = title(inquiry, object, on, in_pairs, threads);
    let names = [SENDS.as_slice(), &RECEIVES].concat();
    let share = called as f64 / all.ns.get(&process).copied().unwrap_or(0).max(1) as f64;
    let fix = at_once(answers, &own, count, &names, share.min(1.0));
    let fix = match work_of_peers(inquiry, &single_waits) {
        Some(work) => with_peers(fix, work, count),
        None => fix,
    };
    let fix = with_less_behind(fix, &own, behind, count);
    let fix = on.or_nothing(inquiry, fix);
    let suspect = Suspect::new(title, fix, weight)
        .with_what_is_around(own, &[&names])
        .with_all_between()
        .with_half_likely()
        .of(process)
        .about(Some(object))
        .seen_in(inquiry, on.longest())
        .seen_around(inquiry, placed.as_ref().map(|placed| &placed.region))
        .or_seen_at(inquiry, process, &SENDS, &on.sockets)
        .or_awaited_at(inquiry, process, || single_waits.clone())
        .or_followed_at(inquiry, &Picked::of(inquiry, process, single_waits))
        .or_in_task(inquiry, process)
        .held(inquiry, &RULE, "waits", waits as f64, &limits::WAITS)
        .held(
            inquiry,
            &RULE,
            "bytes answered",
            bytes as f64,
            &limits::BYTES,
        )
        .told(say![
            Piece::Count(sent.count),
            " sends of ",
            Piece::Bytes(sent.bytes / sent.count.max(1)),
            " each; responses of ",
            Piece::Bytes(bytes)
        ]);
    // Whoever takes work and tells what became of it may be shown where it does the one or the other.
    let longest = on.longest().map(|group| inquiry.frames(group.stack));
    if takes_work(inquiry, &suspect.frames) || takes_work(inquiry, &longest.unwrap_or_default()) {
        return None;
    }
    let suspect = match threads {
        Some(_) => suspect.advised(BY_THREADS.to_owned()),
        None => suspect,
    };
    Some(suspect.with_times(inquiry, object, on))
}

impl Suspect {
    /// How long a response takes, as far as it is known.
    fn with_times(self, inquiry: &Inquiry<'_>, object: ObjectId, on: &Conversation<'_>) -> Suspect {
        if on.groups.is_empty() {
            return self;
        }
        let (half, most) = on.took();
        self.told(say![
            "a response takes ",
            Piece::Time(half),
            " (median), 90th percentile ",
            Piece::Time(most)
        ])
        .held_against(floor::round_trip(inquiry, object, half))
    }
}

/// The waits of a process in a conversation that brought an answer, and how long those were that a timer ended.
fn answers(inquiry: &Inquiry<'_>, process: ProcessId, on: &Conversation<'_>) -> (What, u64) {
    if on.unanswered() == 0 {
        let all = What::Waits {
            detail: None,
            objects: Some(on.sockets.clone()),
        };
        return (all, 0);
    }
    let waits = on.single_waits(inquiry, process).into_iter();
    let is_expired = |at: &usize| {
        let span = inquiry.timeline.span(*at);
        span.is_some_and(|span| span.wake_source == Some(WakeSource::Timer))
    };
    let (expired, answered): (BTreeSet<_>, BTreeSet<_>) = waits.partition(is_expired);
    let expired = Picked::of(inquiry, process, expired);
    (What::Spans(answered), expired.ns())
}

/// The function in which a process sends and receives on these sockets.
fn placed(
    inquiry: &Inquiry<'_>,
    own: &BTreeSet<ProcessId>,
    sockets: &BTreeSet<ObjectId>,
) -> Option<Placed> {
    let is_meant = |site: &CallSite| site.object.is_some_and(|o| sockets.contains(&o));
    let kind = |site: &CallSite| {
        let is = |names: &[&str]| names.contains(&site.call.as_str()) && !site.has_failed();
        let kinds = [is(&SENDS), is(&RECEIVES)];
        kinds.iter().position(|is_it| *is_it)
    };
    Placed::around(inquiry, own, (is_meant, kind))
}

/// What of the path a conversation is: its waits, and what its calls take on a processor, or all that is done in the function
/// around them; and what they take in all.
fn weight(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    on: &Conversation<'_>,
    placed: Option<&Placed>,
    behind_peer: f64,
) -> (Weight, u64) {
    let is_own = |key: &Key| {
        key.object.is_some_and(|o| on.sockets.contains(&o))
            && key.detail.is_some_and(is_answer)
            && inquiry.same_program(key.process, process)
    };
    let mut causes = inquiry.waits_on_path(is_own);
    let waited: u64 = causes
        .iter()
        .map(|&cause| inquiry.on_path_ns(&[cause]))
        .sum();
    // Where the peer is recorded, too, the path leads through it. What takes long there is told of the peer.
    let during = match on.is_slow(inquiry) {
        true => BTreeMap::new(),
        false => inquiry.during_waits(is_own),
    };
    let waited = during.values().copied().fold(waited, u64::saturating_add);
    // With rows lost, a wait on the path may be for a timer: only the known ones are for answers.
    let known = on.groups.values().map(|group| group.ns);
    let known = known.fold(0, u64::saturating_add);
    let waited = match inquiry.has(Need::WholeCalls) {
        true => waited,
        false => waited.min(known),
    };
    let ready = match behind_peer > 0.0 {
        true => inquiry
            .causes(|key| key.state == State::Ready && inquiry.same_program(key.process, process)),
        false => Vec::new(),
    };
    let ready_ns = (inquiry.on_path_ns(&ready) as f64 * behind_peer) as u64;
    causes.extend(ready);
    causes.extend(inquiry.busy(process));
    causes.extend(during.into_keys());
    causes.sort_unstable();
    causes.dedup();
    let called = on.sent.ns.saturating_add(on.received.ns);
    let around = placed.map_or(0, |placed| {
        let function = BTreeSet::from([placed.region.function]);
        let code = InCode::through(inquiry, function).in_program(inquiry, process);
        code.ns()
    });
    let weight = waited
        .saturating_add(called.max(around))
        .saturating_add(ready_ns);
    (Weight::within(causes, weight), called)
}
