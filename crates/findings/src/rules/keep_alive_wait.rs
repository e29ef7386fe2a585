//! A peer that keeps a connection open for a fixed time after its last answer, and a program that waits for its end.

use std::collections::BTreeSet;

use timesink_analysis::timeline::Waker;
use timesink_analysis::waits::peers::{Peer, PeerWait};
use timesink_analysis::waits::Came;
use timesink_recording::words::{Detail, State, WakeSource};

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
        means: "minimum number of waits for the end of a connection, not needed where the peer is recorded and waits for a timer",
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

/// What the peer itself waited for before it closed, if it is recorded and that was a request until a timer of its own expired.
fn timer_of_peer(inquiry: &Inquiry<'_>, wait: &PeerWait) -> Option<usize> {
    let span = inquiry.timeline.span(wait.span)?;
    let Waker::Thread { slot, at } = inquiry.timeline.waker(span) else {
        return None;
    };
    let meanwhile = inquiry.timeline.between(slot, span.t0, at);
    let waits = meanwhile.filter(|(own, _)| own.state == State::Wait && own.t1 <= at);
    let (last, _) = waits.last()?;
    let for_request = matches!(
        last.detail,
        Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
    );
    let is_it = for_request && last.wake_source == Some(WakeSource::Timer);
    is_it.then(|| inquiry.timeline.wait_at(slot, last.t0))?
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
    let alike: Vec<&PeerWait> = ends
        .into_iter()
        .filter(|wait| wait.ns.abs_diff(middle) as f64 <= slack)
        .collect();
    let timers = alike.iter().filter_map(|wait| timer_of_peer(inquiry, wait));
    let timers: BTreeSet<usize> = timers.collect();
    let is_timer = !alike.is_empty() && timers.len() == alike.len();
    let waits = Picked::of(inquiry, peer.process, alike.iter().map(|wait| wait.span))
        .and_of_others(inquiry, timers);
    let share = waits.count() as f64 / all.count().max(1) as f64;
    let is_often = waits.count() as f64 >= RULE.limit(inquiry, &limits::ENDS);
    if !(is_often || is_timer)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || peer.received_bytes == 0
    {
        return None;
    }
    let (connections, until, closes) = match waits.count() {
        1 => (" connection waits ", " until ", " closes it"),
        _ => (" connections wait ", " each until ", " closes them"),
    };
    let title = say![
        Piece::Count(waits.count()),
        connections,
        Piece::Time(middle),
        until,
        Piece::Name(peer.address.clone()),
        closes
    ];
    let suspect = waits
        .suspect(inquiry, title, 0.0)
        .about(peer.sockets.first().copied())
        .held(inquiry, &RULE, "ends", waits.count() as f64, &limits::ENDS)
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
            Piece::Time(waits.quantile(0.0)),
            ", longest ",
            Piece::Time(waits.quantile(1.0))
        ])
        .told(say![meaning(middle, is_timer)]);
    Some(suspect)
}

/// What such a length mostly is.
fn meaning(ns: u64, is_timer: bool) -> &'static str {
    const SECOND: f64 = 1e9;
    const NEAR: f64 = 0.01;
    let seconds = ns as f64 / SECOND;
    let whole = (seconds - seconds.round()).abs() <= seconds * NEAR && seconds > 0.9;
    match (is_timer, whole) {
        (true, _) => {
            "the peer is recorded: it waits for another request until its own timeout (keep-alive or idle) expires, then closes the connection"
        }
        (false, true) => {
            "a whole number of seconds: most likely a configured keep-alive or idle timeout of the peer"
        }
        (false, false) => "always the same length: a timeout of the peer, such as keep-alive",
    }
}
