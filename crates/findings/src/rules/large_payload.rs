//! Answers that are so large that their way takes most of the time.

use timesink_analysis::peers::Peer;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Limit, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "large-payload",
    looks_for: "large answers of a peer, that are waited for piece by piece",
    why: "The line carries so many bytes in a second and no more: an answer takes as long as it is large.",
    advice: "ask for less (columns, pages, what has changed since), or have it compressed. The gain is for half of the bytes",
    wrong_if: "all of it is needed, and it is compressed already",
    limits: &[
        Limit { name: "bytes", value: 300_000.0, means: "bytes received for each send, on average, at least" },
        Limit { name: "waited", value: 1e8, means: "nanoseconds that pieces were waited for at least" },
        Limit { name: "piece", value: 4096.0, means: "bytes received for each of these waits, on average, at least: less are single messages" },
        Limit { name: "dense", value: 5e7, means: "nanoseconds that half of these waits take at most: else it is listening" },
        Limit { name: "pieces", value: 5.0, means: "waits for each send at least: else it is one wait for the peer's work" },
    ],
    is_innocent: false,
    needs: &[Need::WholeCalls],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = of.peers().iter();
    peers.filter_map(|peer| suspect(of, peer)).collect()
}

fn suspect(of: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let pieces = peer.waits.iter().filter(|wait| wait.receives());
    let pieces = Picked::of(of, peer.process, pieces.map(|wait| wait.span));
    let sends = peer.sends.max(1);
    let bytes = peer.received_bytes / sends;
    if (bytes as f64) < RULE.limit(of, "bytes")
        || (pieces.ns() as f64) < RULE.limit(of, "waited")
        || (peer.received_bytes as f64) < pieces.count() as f64 * RULE.limit(of, "piece")
        || pieces.quantile(0.5) as f64 > RULE.limit(of, "dense")
        || (pieces.count() as f64) < sends as f64 * RULE.limit(of, "pieces")
    {
        return None;
    }
    let title = say![
        Piece::Name(peer.address.clone()),
        " sends ",
        Piece::Bytes(peer.received_bytes),
        ", and ",
        Piece::Time(pieces.ns()),
        " are waited for it"
    ];
    // Bytes in a second are what is left of bytes when the whole wait is a second.
    let rate = peer.received_bytes as f64 * 1e9 / pieces.ns().max(1) as f64;
    let suspect = pieces
        .suspect(of, title, 0.5)
        .about(peer.sockets.first().copied())
        .held(of, &RULE, "bytes for each send", bytes as f64, "bytes")
        .held(of, &RULE, "waited", pieces.ns() as f64, "waited")
        .told(say![
            Piece::Bytes(bytes),
            " for each of ",
            Piece::Count(peer.sends),
            " sends, in ",
            Piece::Count(pieces.count()),
            " pieces that were waited for"
        ])
        .told(say![
            "that is ",
            Piece::Bytes(rate as u64),
            " in a second of waiting"
        ]);
    Some(suspect)
}
