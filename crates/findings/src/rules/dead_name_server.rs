//! A name server that is asked and never answers.

use std::collections::BTreeSet;

use timesink_analysis::waits::peers::Peer;
use timesink_analysis::waits::Came;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "dead-name-server",
    looks_for: "a name server that is queried and never responds",
    why: "Each DNS lookup waits for its timeout (5 s by default) before it queries the next name server.",
    advice: "remove the server from the list (nameserver in /etc/resolv.conf) or bring it back; check that no firewall drops the queries (UDP port 53)",
    wrong_if: "the server responds to others and was only down at that time",
    limits: &[&limits::WAITS, &limits::LEAST],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 1.0,
        unit: Unit::Count,
        means: "minimum number of waits that timed out",
    };
    pub static LEAST: Limit = Limit {
        name: "timeout",
        value: 3e8,
        unit: Unit::Nanoseconds,
        means: "minimum timeout of each of them",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let peers = inquiry.peers().iter();
    let dead = peers.filter(|peer| {
        let silent = peer.waits.iter().all(|wait| wait.came == Came::Nothing);
        peer.is_name_server() && peer.sends > 0 && peer.received_bytes == 0 && silent
    });
    dead.filter_map(|peer| suspect(inquiry, peer)).collect()
}

/// The polls of a process that nothing ended but their time.
fn expired(inquiry: &Inquiry<'_>, process: ProcessId) -> BTreeSet<usize> {
    let least = RULE.limit(inquiry, &limits::LEAST);
    let waits = inquiry.waited.each().filter(|(_, known)| known.expired);
    let waits = waits.filter(|(at, _)| {
        inquiry.timeline.span(*at).is_some_and(|span| {
            let slot = inquiry.timeline.slot(span.thread);
            matches!(span.detail, Detail::Poll | Detail::NetworkReceive)
                && span.t1.since(span.t0) as f64 >= least
                && slot.is_some_and(|slot| inquiry.timeline.threads[slot].process == process)
        })
    });
    waits.map(|(at, _)| at).collect()
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let expired = Picked::of(inquiry, peer.process, expired(inquiry, peer.process));
    let count = expired.count();
    // As often as it was asked: others that did not come are not its fault.
    if (count as f64) < RULE.limit(inquiry, &limits::WAITS) || count > peer.sends {
        return None;
    }
    let title = say![
        Piece::Name(peer.address.clone()),
        " does not respond to DNS lookups, which wait ",
        Piece::Time(expired.quantile(0.5)),
        " each"
    ];
    let suspect = expired
        .suspect(inquiry, title, 0.0)
        .about(peer.sockets.first().copied())
        .held(inquiry, &RULE, "expired", count as f64, &limits::WAITS)
        .figure("patience", expired.quantile(0.5) as f64, "ns")
        .told(say![
            Piece::Count(peer.sends),
            " queries, no response, and ",
            Piece::Count(count),
            " waits that timed out"
        ]);
    Some(suspect)
}
