//! One peer that is connected to again and again, with little asked over each connection.
//!
//! The gain is what was waited for connections after the first, and what the calls take that make and end them; perhaps what
//! is done around. Where a connection has more sends than a request and its answer need, the protocol has a handshake of its
//! own: what was waited for answers to it is in it, too. What a handshake takes on a processor is not.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::peers::{Peer, PeerWait};
use timesink_analysis::waits::quantile;
use timesink_recording::ids::ObjectId;

use super::tls_per_request;
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "connection-per-request",
    looks_for: "one peer connected to again and again, with a few requests per connection",
    why: "A connection costs a round trip before the first request can be sent, and starts slowly.",
    advice: "reuse the connection for the next request: a session, a connection pool, keep-alive",
    wrong_if: "the peer closes each connection itself, or the requests are far apart in time",
    limits: &[&limits::CONNECTIONS, &limits::SENDS],
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
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    peers.filter_map(|peer| suspect(inquiry, peer)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let count = peer.connections;
    let each = peer.sends as f64 / count.max(1) as f64;
    if (count as f64) < RULE.limit(inquiry, &limits::CONNECTIONS)
        || each > RULE.limit(inquiry, &limits::SENDS)
        || peer.is_name_server()
    {
        return None;
    }
    // One connection is needed in any case.
    let set_up = set_up(inquiry, peer, each, LastAnswer::Stays);
    let spans = set_up.values().skip(1).flatten();
    let again = Picked::of(inquiry, peer.process, spans.map(|wait| wait.span));
    let mut took: Vec<u64> = set_up
        .values()
        .map(|waits| waits.iter().map(|wait| wait.ns).sum())
        .collect();
    took.sort_unstable();
    let calls = SetUp::of(inquiry, peer);
    let title = say![
        Piece::Count(count),
        " connections to ",
        Piece::Name(peer.address.clone()),
        ", ",
        Piece::Name(format!("{each:.1}")),
        " sends each"
    ];
    let suspect = again
        .suspect(inquiry, title, 0.0)
        .with_all_answers(inquiry, peer, each)
        .also(inquiry, peer, &calls)
        .about(peer.sockets.first().copied())
        .held(
            inquiry,
            &RULE,
            "connections",
            count as f64,
            &limits::CONNECTIONS,
        )
        .held(inquiry, &RULE, "sends over each", each, &limits::SENDS)
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
    Some(suspect)
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
    fn of(inquiry: &Inquiry<'_>, peer: &Peer) -> SetUp {
        let calls = inquiry.facts.calls.iter().filter(|call| {
            call.process == Some(peer.process) && SET_UP.contains(&call.call.as_str())
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
    fn with_all_answers(mut self, inquiry: &Inquiry<'_>, peer: &Peer, sends: f64) -> Suspect {
        let all = set_up(inquiry, peer, sends, LastAnswer::Goes);
        let spans = all.values().skip(1).flatten();
        let all = Picked::of(inquiry, peer.process, spans.map(|wait| wait.span));
        let own = BTreeSet::from([peer.process]);
        let least = self.fix.changes();
        let known: BTreeSet<usize> = least
            .iter()
            .flat_map(|change| match &change.what {
                What::Spans(spans) => spans.clone(),
                _ => BTreeSet::new(),
            })
            .collect();
        let unsure = What::Spans(all.spans().difference(&known).copied().collect());
        let mut likely = least.clone();
        likely.extend(Fix::scaled(unsure, own.clone(), 0.5).changes());
        let most = Fix::without(What::Spans(all.spans().clone()), own);
        self.fix = Fix::Likely(least, likely, most.changes());
        self
    }

    /// And what the calls take that make connections and end them.
    fn also(mut self, inquiry: &Inquiry<'_>, peer: &Peer, calls: &SetUp) -> Suspect {
        let own = BTreeSet::from([peer.process]);
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
        self.with_what_is_around(own, &[&["connect"]]).or_seen_at(
            inquiry,
            peer.process,
            &["connect"],
            &sockets,
        )
    }
}

/// Whether the last answer on a connection that has a handshake is to its request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastAnswer {
    Stays,
    Goes,
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
        // The last answer is most probably the one to the request.
        let shaken = match last {
            LastAnswer::Stays => shaken.min(answers.saturating_sub(1)),
            LastAnswer::Goes => shaken,
        };
        let mut answered = 0;
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
