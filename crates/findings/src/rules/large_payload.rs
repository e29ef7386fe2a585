//! Answers that are so large that their way takes most of the time.

use timesink_analysis::waits::peers::Peer;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "large-payload",
    looks_for: "large responses that arrive in many pieces, each waited for",
    why: "The network carries a limited number of bytes per second: a response takes as long as it is large.",
    advice: "request less (columns, pages, changes since the last time), or compress it. The gain assumes half of the bytes",
    wrong_if: "all of it is needed, and it is already compressed",
    limits: &[&limits::BYTES, &limits::WAITED, &limits::PIECE, &limits::DENSE, &limits::PIECES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 300_000.0,
        unit: Unit::Bytes,
        means: "minimum bytes received per send, on average",
    };
    pub static WAITED: Limit = Limit {
        name: "waited",
        value: 1e8,
        unit: Unit::Nanoseconds,
        means: "minimum time waited for pieces",
    };
    pub static PIECE: Limit = Limit {
        name: "piece",
        value: 4096.0,
        unit: Unit::Bytes,
        means: "minimum bytes received per wait, on average; fewer are single messages",
    };
    pub static DENSE: Limit = Limit {
        name: "gap",
        value: 5e7,
        unit: Unit::Nanoseconds,
        means: "maximum median of these waits; with longer ones the program is listening",
    };
    pub static PIECES: Limit = Limit {
        name: "pieces",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of waits per send; with fewer it is a wait for the peer's work",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    peers.filter_map(|peer| suspect(inquiry, peer)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let pieces = peer.waits.iter().filter(|wait| wait.receives());
    let pieces = Picked::of(inquiry, peer.process, pieces.map(|wait| wait.span));
    let sends = peer.sends.max(1);
    let bytes = peer.received_bytes / sends;
    if (bytes as f64) < RULE.limit(inquiry, &limits::BYTES)
        || (pieces.ns() as f64) < RULE.limit(inquiry, &limits::WAITED)
        || (peer.received_bytes as f64)
            < pieces.count() as f64 * RULE.limit(inquiry, &limits::PIECE)
        || pieces.quantile(0.5) as f64 > RULE.limit(inquiry, &limits::DENSE)
        || (pieces.count() as f64) < sends as f64 * RULE.limit(inquiry, &limits::PIECES)
    {
        return None;
    }
    let title = say![
        Piece::Name(peer.address.clone()),
        " sends ",
        Piece::Bytes(peer.received_bytes),
        ", waited for ",
        Piece::Time(pieces.ns())
    ];
    // Bytes in a second are what is left of bytes when the whole wait is a second.
    let rate = peer.received_bytes as f64 * 1e9 / pieces.ns().max(1) as f64;
    let suspect = pieces
        .suspect(inquiry, title, 0.5)
        .about(peer.sockets.first().copied())
        .held(
            inquiry,
            &RULE,
            "bytes for each send",
            bytes as f64,
            &limits::BYTES,
        )
        .held(
            inquiry,
            &RULE,
            "waited",
            pieces.ns() as f64,
            &limits::WAITED,
        )
        .told(say![
            Piece::Bytes(bytes),
            " per request (",
            Piece::Count(peer.sends),
            " sends), in ",
            Piece::Count(pieces.count()),
            " pieces that were waited for"
        ])
        .told(say![Piece::Bytes(rate as u64), " per second of waiting"]);
    Some(suspect)
}
