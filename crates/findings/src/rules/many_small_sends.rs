//! Questions to a peer that are sent by the crumb.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::waits::peers::Peer;
use timesink_recording::words::ObjectKind;

use super::back_pressure;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "many-small-sends",
    looks_for: "many small sends to a peer for each response",
    why: "Each send is a system call and mostly a packet of its own, with all that a packet costs on this machine, on the network and on the other side.",
    advice: "collect a request in a buffer and send it at once (writev, a buffered writer, TCP_CORK)",
    wrong_if: "the peer must receive each piece immediately",
    limits: &[&limits::SENDS, &limits::EACH, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SENDS: Limit = Limit {
        name: "sends",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of sends to one peer",
    };
    pub static EACH: Limit = Limit {
        name: "per response",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of sends per response",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 1400.0,
        unit: Unit::Bytes,
        means: "maximum bytes per send, on average; more fill a packet of their own",
    };
}

const SENDS: [&str; 5] = ["write", "writev", "sendto", "sendmsg", "sendmmsg"];

/// Of all such calls of a process, those to one peer are at least this share: the time of calls is known for the
/// process only.
const MOST: f64 = 0.8;

/// If the sends wait for room in the peer's buffer for more than this share of their time, the peer sets the pace: larger pieces would
/// wait as long.
const HELD_UP: f64 = 0.5;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    peers.filter_map(|peer| suspect(inquiry, peer)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let sockets: BTreeSet<_> = peer.sockets.iter().copied().collect();
    let calls = || {
        let calls = inquiry.facts.calls.iter();
        calls.filter(|call| {
            call.process == Some(peer.process) && SENDS.contains(&call.call.as_str())
        })
    };
    let all: u64 = calls().map(|call| call.count).sum();
    let own = calls().filter(|call| call.object.is_some_and(|object| sockets.contains(&object)));
    let own_ns: u64 = own.map(|call| call.ns).sum();
    // Where calls were not timed all the time, the few that receive may have been missed.
    let waited = peer.waits.iter().filter(|wait| wait.receives()).count() as u64;
    let (sends, answers) = (peer.sends, peer.receives.max(waited));
    let bytes = peer.sent_bytes / sends.max(1);
    let each = sends as f64 / answers.max(1) as f64;
    if peer.kind == ObjectKind::UdpSocket
        || (sends as f64) < RULE.limit(inquiry, &limits::SENDS)
        || each < RULE.limit(inquiry, &limits::EACH)
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
        || (sends as f64) < all as f64 * MOST
        || answers == 0
        || back_pressure::waited_ns(inquiry, peer.process, &sockets) as f64
            > own_ns as f64 * HELD_UP
    {
        return None;
    }
    let title = say![
        Piece::Count(sends),
        " sends of ",
        Piece::Bytes(bytes),
        " to ",
        Piece::Name(peer.address.clone()),
        ", ",
        Piece::Count(each.round() as u64),
        " per response"
    ];
    let what = What::Calls(SENDS.iter().copied().collect());
    let fix = Fix::scaled(what, BTreeSet::from([peer.process]), 1.0 / each);
    let suspect = Suspect::new(
        title,
        fix,
        Weight::within(inquiry.busy(peer.process), own_ns),
    )
    .of(peer.process)
    .about(peer.sockets.first().copied())
    .held(inquiry, &RULE, "sends", sends as f64, &limits::SENDS)
    .held(inquiry, &RULE, "sends for each answer", each, &limits::EACH)
    .held(
        inquiry,
        &RULE,
        "bytes in each",
        bytes as f64,
        &limits::BYTES,
    )
    .told(say![
        if peer.estimated { "about " } else { "" },
        Piece::Count(sends),
        " sends, ",
        Piece::Bytes(bytes),
        " and ",
        Piece::Time(own_ns / sends.max(1)),
        " each, for ",
        Piece::Count(answers),
        " responses"
    ]);
    Some(suspect)
}
