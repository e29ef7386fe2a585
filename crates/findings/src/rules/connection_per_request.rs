//! One peer that is connected to again and again, with little asked over each connection.
//!
//! The gain is what was waited for connections after the first, and what the calls take that make and end them; perhaps what
//! is done around. Where a connection has more sends than a request and its answer need, the protocol has a handshake of its
//! own: what was waited for answers to it is in it, too. What a handshake takes on a processor is not. A program that is started
//! for each request has one connection in each process: these are told together.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::peers::{Peer, PeerWait};
use timesink_analysis::waits::quantile;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::Nanos;

use super::tls_per_request;
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "connection-per-request",
    looks_for: "one peer connected to again and again, with a few requests per connection",
    why: "A connection costs a round trip before the first request can be sent, and TCP sends little at first (slow start).",
    advice: "reuse the connection for the next request: a session, a connection pool, keep-alive",
    wrong_if: "the peer closes each connection itself, or the requests are far apart in time",
    limits: &[&limits::CONNECTIONS, &limits::SENDS, &limits::BY_PROCESSES],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CONNECTIONS: Limit = Limit {
        name: "connections",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of connections to one peer",
    };
    /// A database's protocol takes some for itself: measured 3.1 where a pool of PostgreSQL connections kept two of sixteen. Sixteen
    /// that were kept had 32 each.
    pub static SENDS: Limit = Limit {
        name: "sends",
        value: 8.0,
        unit: Unit::Count,
        means: "maximum number of sends per connection, on average",
    };
    /// What a program does in one process is one request, whatever its protocol sends for itself: logging in takes 5 sends with SMTP,
    /// 2 to 4 with PostgreSQL, and more where keys are exchanged in the program.
    pub static BY_PROCESSES: Limit = Limit {
        name: "sends by processes",
        value: 32.0,
        unit: Unit::Count,
        means: "the same where each process of a program has one connection",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    let alone = peers.clone().map(|peer| Connecting {
        peer: peer.clone(),
        processes: BTreeSet::from([peer.process]),
    });
    let mut by_program: BTreeMap<_, Vec<&Peer>> = BTreeMap::new();
    for peer in peers.filter(|peer| peer.connections == 1) {
        let program = inquiry.programs.first(peer.process);
        let same = by_program.entry((program, peer.address.as_str()));
        same.or_default().push(peer);
    }
    let together = by_program
        .values()
        .filter_map(|peers| Connecting::of(peers));
    let all = alone.chain(together);
    all.filter_map(|all| suspect(inquiry, &all)).collect()
}

/// Who connects to a peer: one process, or many of one program with a connection each.
struct Connecting {
    /// All that they do with it.
    peer: Peer,
    processes: BTreeSet<ProcessId>,
}

impl Connecting {
    /// Processes of one program, told as the first of them.
    fn of(peers: &[&Peer]) -> Option<Connecting> {
        let ([first, ..], processes) = (peers, peers.iter().map(|peer| peer.process).collect())
        else {
            return None;
        };
        let mut peer = Peer::clone(first);
        for other in &peers[1..] {
            peer.sockets.extend(&other.sockets);
            peer.under_way.extend(&other.under_way);
            peer.waits.extend(&other.waits);
            peer.connections += other.connections;
            peer.sends = peer.sends.saturating_add(other.sends);
            peer.sent_on.extend(&other.sent_on);
            peer.estimated |= other.estimated;
        }
        peer.sockets.sort_unstable();
        (peers.len() > 1).then_some(Connecting { peer, processes })
    }
}

fn suspect(inquiry: &Inquiry<'_>, all: &Connecting) -> Option<Suspect> {
    let peer = &all.peer;
    let count = peer.connections;
    let each = peer.sends as f64 / used(peer).max(1) as f64;
    let most = match all.processes.len() {
        1 => &limits::SENDS,
        _ => &limits::BY_PROCESSES,
    };
    if (count as f64) < RULE.limit(inquiry, &limits::CONNECTIONS)
        || each > RULE.limit(inquiry, most)
        || peer.is_name_server()
        || are_kept(inquiry, peer, each)
    {
        return None;
    }
    // One connection is needed in any case.
    let set_up = set_up(inquiry, peer, each, LastAnswer::Stays);
    let spans = set_up.values().skip(1).flatten().map(|wait| wait.span);
    let again = Picked::of(inquiry, peer.process, spans).of_all(&all.processes);
    let mut took: Vec<u64> = set_up
        .values()
        .map(|waits| waits.iter().map(|wait| wait.ns).sum())
        .collect();
    took.sort_unstable();
    let calls = SetUp::of(inquiry, all);
    let suspect = again
        .suspect(inquiry, title(inquiry, all, each), 0.0)
        .with_all_answers(inquiry, all, each)
        .also(inquiry, all, &calls)
        .about(peer.sockets.first().copied())
        .held(
            inquiry,
            &RULE,
            "connections",
            count as f64,
            &limits::CONNECTIONS,
        )
        .held(inquiry, &RULE, "sends over each", each, most)
        .told(say![
            Piece::Count(count),
            " connections, ",
            Piece::Count(peer.sends),
            " sends over all of them"
        ])
        .told(say![
            "a connection takes ",
            Piece::Time(quantile(&took, 0.5)),
            " to set up (median), 90th percentile ",
            Piece::Time(quantile(&took, 0.9))
        ]);
    Some(match all.processes.len() {
        1 if has_client_of_go(inquiry) => suspect.advised(IN_GO.to_owned()),
        1 => suspect,
        _ => suspect.advised(BY_PROCESSES.to_owned()),
    })
}

/// How many connections its sends were on: of some no calls may be known.
fn used(peer: &Peer) -> u64 {
    let sent_on = peer.sent_on.len() as u64;
    match peer.estimated || sent_on == 0 {
        true => peer.connections,
        false => peer.connections.min(sent_on),
    }
}

/// Whether several things are asked on each connection, and most of them are in use at the same time: a pool that is as large as what is
/// asked at a time. Measured 2026-11-27: 50 and 16 connections of two pools in a short run, 5 sends each.
fn are_kept(inquiry: &Inquiry<'_>, peer: &Peer, each: f64) -> bool {
    const SEVERAL: f64 = 2.0;
    let mut lives: BTreeMap<ObjectId, (Nanos, Nanos)> = BTreeMap::new();
    for wait in &peer.waits {
        if let Some(span) = inquiry.timeline.span(wait.span) {
            let (from, until) = lives.entry(wait.socket).or_insert((span.t0, span.t1));
            (*from, *until) = ((*from).min(span.t0), (*until).max(span.t1));
        }
    }
    let begins = lives.values().map(|(from, _)| (*from, 1i64));
    let ends = lives.values().map(|(_, until)| (*until, -1));
    let mut changes: Vec<(Nanos, i64)> = begins.chain(ends).collect();
    changes.sort_unstable();
    let (mut open, mut most) = (0, 0);
    for (_, change) in changes {
        open += change;
        most = most.max(open);
    }
    each >= SEVERAL && 2 * most >= lives.len() as i64 && most > 1
}

/// What to do about Go's client, which keeps a connection only if the response was read.
const IN_GO: &str = "use one http.Client for all requests, and read each response's body to its end before you close it; for many requests at a time raise MaxIdleConnsPerHost";

/// Whether a program has the client of Go's net/http.
fn has_client_of_go(inquiry: &Inquiry<'_>) -> bool {
    const CLIENT: &str = "net/http.(*Transport).";
    let mut functions = inquiry.stacks.code.functions.iter();
    functions.any(|function| function.name.starts_with(CLIENT))
}

/// What to do about a program that is started for each request.
const BY_PROCESSES: &str = "do all requests in one process that keeps its connection: many URLs for one curl, one script of statements for a database's client, a shared connection (ControlMaster) for ssh";

/// `200 connections to 10.0.0.1:80, 1.0 sends each`.
fn title(inquiry: &Inquiry<'_>, all: &Connecting, each: f64) -> Sentence {
    let mut title = say![
        Piece::Count(all.peer.connections),
        " connections to ",
        Piece::Name(all.peer.address.clone()),
        ", "
    ];
    let sends = match all.processes.len() {
        1 => say![Piece::Name(format!("{each:.1}")), " sends each"],
        _ => {
            let program = inquiry.program(all.peer.process).unwrap_or_default();
            let program = last_part(program).to_owned();
            say!["each from another process of ", Piece::Name(program)]
        }
    };
    title.0.extend(sends.0);
    title
}

/// The calls that make connections, set them up and end them.
const SET_UP: [&str; 11] = [
    "socket",
    "bind",
    "connect",
    "fcntl",
    "setsockopt",
    "getsockopt",
    "getsockname",
    "getpeername",
    "ioctl",
    "shutdown",
    "close",
];

/// What such calls take, those on the sockets of one peer and those on all.
#[derive(Default)]
struct SetUp {
    own_ns: u64,
    all_ns: u64,
}

impl SetUp {
    fn of(inquiry: &Inquiry<'_>, all: &Connecting) -> SetUp {
        let peer = &all.peer;
        let calls = inquiry.facts.calls.iter().filter(|call| {
            let own = call
                .process
                .is_some_and(|process| all.processes.contains(&process));
            own && SET_UP.contains(&call.call.as_str())
        });
        calls.fold(SetUp::default(), |sum, call| {
            let is_own = call
                .object
                .is_some_and(|object| peer.sockets.binary_search(&object).is_ok());
            SetUp {
                own_ns: sum.own_ns.saturating_add(if is_own { call.ns } else { 0 }),
                all_ns: sum.all_ns.saturating_add(call.ns),
            }
        })
    }
}

impl Suspect {
    /// At most no answer was to the request: with fewer waits than answers nobody knows which of them was waited for. And who answers
    /// first on a connection also has it to set up. Half of that is as probable as any part.
    fn with_all_answers(mut self, inquiry: &Inquiry<'_>, all: &Connecting, sends: f64) -> Suspect {
        let own = all.processes.clone();
        let all = set_up(inquiry, &all.peer, sends, LastAnswer::Goes);
        let spans = all.values().skip(1).flatten();
        let spans: BTreeSet<usize> = spans.map(|wait| wait.span).collect();
        let least = self.fix.changes();
        let known: BTreeSet<usize> = least
            .iter()
            .flat_map(|change| match &change.what {
                What::Spans(spans) => spans.clone(),
                _ => BTreeSet::new(),
            })
            .collect();
        let unsure = What::Spans(spans.difference(&known).copied().collect());
        let mut likely = least.clone();
        likely.extend(Fix::scaled(unsure, own.clone(), 0.5).changes());
        let most = Fix::without(What::Spans(spans), own);
        self.fix = Fix::Likely(least, likely, most.changes());
        self
    }

    /// And what the calls take that make connections and end them.
    fn also(mut self, inquiry: &Inquiry<'_>, all: &Connecting, calls: &SetUp) -> Suspect {
        let (peer, own) = (&all.peer, all.processes.clone());
        let again = 1.0 - 1.0 / peer.connections.max(1) as f64;
        let share = calls.own_ns as f64 / calls.all_ns.max(1) as f64;
        let calls_again = Change {
            what: What::Calls(SET_UP.into_iter().collect()),
            processes: Some(own.clone()),
            how: How::Scale(1.0 - share * again),
        };
        let (likely, most) = (self.fix.changes(), self.fix.most());
        let least = match self.fix {
            Fix::Likely(least, ..) => least,
            fix => fix.changes(),
        };
        let [least, likely, most] = [least, likely, most].map(|mut changes| {
            changes.push(calls_again.clone());
            changes
        });
        self.fix = Fix::Likely(least, likely, most);
        self.weight.causes.extend(inquiry.busy(peer.process));
        self.weight.at_most_ns = self.weight.at_most_ns.saturating_add(calls.own_ns);
        let sockets = peer.sockets.iter().copied().collect();
        self.with_what_is_around(own, &[&["connect"]])
            .or_seen_at(inquiry, peer.process, &["connect"], &sockets)
            .or_in_package(inquiry, peer.process)
    }
}

/// Whether the last answer on a connection that has a handshake is to its request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastAnswer {
    Stays,
    Goes,
}

/// Whether these waits on one connection are for one answer, which may come in pieces: something was sent before the first of them, and
/// nothing before any other.
fn is_answered_once(waits: &[&PeerWait]) -> bool {
    let mut answers = waits.iter().filter(|wait| !wait.connects());
    let is_asked = |wait: &&&PeerWait| wait.sent == Some(wait.socket);
    answers.next().is_some_and(|first| is_asked(&first)) && !answers.any(|wait| is_asked(&wait))
}

/// What is waited for on each connection before it can be used: in `connect`, or first on a socket whose `connect` did not
/// wait; and for answers to a handshake, if it has one. TLS's own is told elsewhere.
fn set_up<'a>(
    inquiry: &Inquiry<'_>,
    peer: &'a Peer,
    sends: f64,
    last: LastAnswer,
) -> BTreeMap<ObjectId, Vec<&'a PeerWait>> {
    /// A request may be sent in two parts, its head and its body.
    const OF_REQUEST: f64 = 2.0;
    /// With so many sends on each, most connections are asked for something, though not all of their calls may be known.
    const MOSTLY_ASKED: f64 = 0.5;
    let shaken = match sends > OF_REQUEST {
        true => (sends - 1.0).round() as usize,
        false => 0,
    };
    let mut by_socket: BTreeMap<ObjectId, Vec<&PeerWait>> = BTreeMap::new();
    for wait in &peer.waits {
        by_socket.entry(wait.socket).or_default().push(wait);
    }
    let under_way: BTreeSet<ObjectId> = peer.under_way.iter().copied().collect();
    for (socket, waits) in &mut by_socket {
        let is_under_way = under_way.contains(socket);
        let answers = waits.iter().filter(|wait| !wait.connects()).count();
        // What is sent in several parts, and answered once, is a request: each answer to a handshake is waited for, or comes at once.
        let shaken = if is_answered_once(waits) { 0 } else { shaken };
        // With more answers than sends, the peer speaks first: a greeting is no answer to the request.
        let greeting = usize::from(shaken > 0 && answers as f64 > sends.round());
        let shaken = shaken + greeting;
        // The last answer is most probably the one to the request.
        let shaken = match last {
            LastAnswer::Stays => shaken.min(answers.saturating_sub(1)),
            LastAnswer::Goes => shaken,
        };
        let mut answered = 0;
        // Who waits on a connection once, after something was sent, waits for an answer: it was made at once. Clients with many requests
        // under way at a time were told that a connection takes 34 and 61 ms to set up, where that took 3 (2026-11-27).
        let for_answer = waits.len() == 1 && waits[0].sent.is_some() && sends >= MOSTLY_ASKED;
        let is_under_way = is_under_way && !for_answer;
        waits.retain(|wait| {
            let is_first = answered == 0 && !wait.among_many;
            // On one machine a connection is made at once, and what is waited for first is the answer to what was sent: only part
            // of that is for the connection.
            let has_asked = wait.sent == Some(wait.socket) && last == LastAnswer::Stays;
            let of_connection = wait.connects() || is_first && is_under_way && !has_asked;
            answered += usize::from(!wait.connects());
            of_connection
                || answered <= shaken && !tls_per_request::is_in_handshake(inquiry, wait.span)
        });
    }
    by_socket.retain(|_, waits| !waits.is_empty());
    by_socket
}
