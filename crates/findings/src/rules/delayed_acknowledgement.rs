//! Questions sent in small pieces, of which the second waits until the first is acknowledged, and the peer puts that off.
//!
//! Neither the pieces nor the acknowledgement are recorded: it is told by the length of the waits, which is that of the
//! kernel's timer, by more sends than answers, and by no option having been set on the sockets.

use timesink_analysis::waits::peers::Peer;
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "delayed-acknowledgement",
    looks_for: "responses that all take 40 ms, to requests sent in small pieces",
    why: "The second small piece is held until the first is acknowledged (Nagle's algorithm), and the peer delays the acknowledgement by 40 ms, hoping to send it with the response.",
    advice: "send each request at once (one write, writev, a buffer), or set TCP_NODELAY",
    wrong_if: "the peer itself needs 40 ms for each response",
    limits: &[&limits::WAITS, &limits::SHORTEST, &limits::LONGEST, &limits::SHARE, &limits::SENDS, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of waits of that length",
    };
    pub static SHORTEST: Limit = Limit {
        name: "shortest",
        value: 38e6,
        unit: Unit::Nanoseconds,
        means: "minimum length of such a wait",
    };
    pub static LONGEST: Limit = Limit {
        name: "longest",
        value: 50e6,
        unit: Unit::Nanoseconds,
        means: "maximum length of such a wait",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of waits of that length, among all waits longer than half of it",
    };
    pub static SENDS: Limit = Limit {
        name: "sends",
        value: 1.5,
        unit: Unit::Count,
        means: "minimum number of sends per response waited for",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 1400.0,
        unit: Unit::Bytes,
        means: "maximum bytes per send, on average; larger sends are not held back",
    };
}

/// So long an acknowledgement is put off at least, in nanoseconds; with a slow clock a little longer.
const PUT_OFF_NS: f64 = 40e6;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    peers.filter_map(|peer| suspect(inquiry, peer)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let (shortest, longest) = (
        RULE.limit(inquiry, &limits::SHORTEST),
        RULE.limit(inquiry, &limits::LONGEST),
    );
    let answers = || peer.waits.iter().filter(|wait| wait.awaits_answer());
    let alike = answers().filter(|wait| (shortest..=longest).contains(&(wait.ns as f64)));
    let put_off = Picked::of(inquiry, peer.process, alike.map(|wait| wait.span));
    let long = answers().filter(|wait| wait.ns as f64 > shortest / 2.0);
    let share = put_off.count() as f64 / long.count().max(1) as f64;
    let sends = peer.sends as f64 / answers().count().max(1) as f64;
    let bytes = peer.sent_bytes / peer.sends.max(1);
    // What was set before it was recorded is not known: only of connections that were seen being made.
    if peer.kind != ObjectKind::TcpSocket
        || peer.connections == 0
        || peer.estimated
        || peer.options > 0
        || (put_off.count() as f64) < RULE.limit(inquiry, &limits::WAITS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || sends < RULE.limit(inquiry, &limits::SENDS)
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
    {
        return None;
    }
    let each = put_off.ns() as f64 / put_off.count() as f64;
    // What the peer takes itself: as long as its quickest answer, else at most what is more than is put off.
    let quickest = answers()
        .map(|wait| wait.ns as f64)
        .min_by(f64::total_cmp)?;
    let is_known = quickest < shortest;
    let itself = match is_known {
        true => quickest,
        false => (each - PUT_OFF_NS).max(0.0),
    };
    let title = say![
        Piece::Count(put_off.count()),
        " responses of ",
        Piece::Name(peer.address.clone()),
        " take ",
        Piece::Time(put_off.quantile(0.5)),
        " each: the request waits for an acknowledgement"
    ];
    let mut suspect = put_off.suspect(inquiry, title, itself / each);
    if !is_known {
        suspect.fix = suspect.fix.or_at_most(0.0);
    }
    let suspect = suspect
        .about(peer.sockets.first().copied())
        .held(inquiry, &RULE, "answers", put_off.count() as f64, &limits::WAITS)
        .held(inquiry, &RULE, "share of the long waits", share, &limits::SHARE)
        .held(inquiry, &RULE, "sends for each answer", sends, &limits::SENDS)
        .held(inquiry, &RULE, "bytes in each send", bytes as f64, &limits::BYTES)
        .told(say![Piece::Count(peer.sends), " sends of ", Piece::Bytes(bytes), " each for ", Piece::Count(answers().count() as u64), " responses, and no option set on the connection"])
        .told(say!["an acknowledgement is delayed by 40 ms or slightly more: 90th percentile of the waits ", Piece::Time(put_off.quantile(0.9))]);
    Some(suspect)
}
