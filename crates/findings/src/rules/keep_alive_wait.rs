//! A peer that keeps a connection open for a fixed time after its last answer, and a program that waits for its end.

use timesink_analysis::waits::peers::{Peer, PeerWait};
use timesink_analysis::waits::Came;
use timesink_recording::words::{Detail, WakeSource};

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "keep-alive-wait",
    looks_for: "connections that are read until the peer closes them, always after the same delay",
    why: "The response is complete, but the program waits for the end of the connection, and the peer keeps it open until a timeout of its own expires.",
    advice: "stop reading when the response is complete (its length, its last chunk), or ask the peer to close (Connection: close)",
    wrong_if: "the peer works that long before it closes",
    limits: &[&limits::ENDS, &limits::LEAST, &limits::ALIKE, &limits::SHARE],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static ENDS: Limit = Limit {
        name: "closes",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of waits for the end of a connection",
    };
    pub static LEAST: Limit = Limit {
        name: "length",
        value: 1e8,
        unit: Unit::Nanoseconds,
        means: "minimum length of each of them",
    };
    pub static ALIKE: Limit = Limit {
        name: "spread",
        value: 0.02,
        unit: Unit::Share,
        means: "maximum difference from their median, as a share",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the long waits for ends that have this length",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    peers.filter_map(|peer| suspect(inquiry, peer)).collect()
}

/// Whether it ended because the peer was gone, and not because somebody's own time was over.
fn is_end(inquiry: &Inquiry<'_>, wait: &PeerWait) -> bool {
    let source = inquiry
        .timeline
        .span(wait.span)
        .and_then(|span| span.wake_source);
    matches!(wait.detail, Detail::NetworkReceive | Detail::UnixReceive)
        && wait.came == Came::Nothing
        && source != Some(WakeSource::Timer)
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let least = RULE.limit(inquiry, &limits::LEAST);
    let ends = peer
        .waits
        .iter()
        .filter(|wait| wait.ns as f64 >= least && is_end(inquiry, wait));
    let ends: Vec<&PeerWait> = ends.collect();
    let all = Picked::of(inquiry, peer.process, ends.iter().map(|wait| wait.span));
    let middle = all.quantile(0.5);
    let slack = middle as f64 * RULE.limit(inquiry, &limits::ALIKE);
    let alike = ends
        .iter()
        .filter(|wait| wait.ns.abs_diff(middle) as f64 <= slack);
    let alike = Picked::of(inquiry, peer.process, alike.map(|wait| wait.span));
    let share = alike.count() as f64 / all.count().max(1) as f64;
    if (alike.count() as f64) < RULE.limit(inquiry, &limits::ENDS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || peer.received_bytes == 0
    {
        return None;
    }
    let title = say![
        Piece::Count(alike.count()),
        " connections wait ",
        Piece::Time(middle),
        " each until ",
        Piece::Name(peer.address.clone()),
        " closes them"
    ];
    let suspect = alike
        .suspect(inquiry, title, 0.0)
        .about(peer.sockets.first().copied())
        .held(inquiry, &RULE, "ends", alike.count() as f64, &limits::ENDS)
        .held(
            inquiry,
            &RULE,
            "share of the long waits for ends",
            share,
            &limits::SHARE,
        )
        .figure("length", middle as f64, "ns")
        .told(say![
            "no data arrived in these waits; shortest ",
            Piece::Time(alike.quantile(0.0)),
            ", longest ",
            Piece::Time(alike.quantile(1.0))
        ])
        .told(say![meaning(middle)]);
    Some(suspect)
}

/// What such a length mostly is.
fn meaning(ns: u64) -> &'static str {
    const SECOND: f64 = 1e9;
    const NEAR: f64 = 0.01;
    let seconds = ns as f64 / SECOND;
    let whole = (seconds - seconds.round()).abs() <= seconds * NEAR && seconds > 0.9;
    match whole {
        true => "a whole number of seconds is a configured value: a keep-alive or idle timeout of the peer",
        false => "always the same length: a timeout of the peer, such as keep-alive",
    }
}
