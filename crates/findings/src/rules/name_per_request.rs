//! The same names looked up again and again.
//!
//! Which names were asked for is not recorded. That they are the same is told by the addresses that are connected to:
//! a look-up or more for each connection, and few addresses.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::waits::peers::Peer;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "name-per-request",
    looks_for: "repeated DNS lookups for connections to few addresses",
    why: "A name server is queried over the network for what it returned a moment ago: programs do not cache its responses unless told to.",
    advice: "keep the connection or the address; or run a local DNS cache (systemd-resolved, dnsmasq)",
    wrong_if: "the address behind the name is meant to change from one moment to the next",
    limits: &[&limits::LOOKUPS, &limits::AGAIN],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static LOOKUPS: Limit = Limit {
        name: "lookups",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of DNS lookups waited for",
    };
    pub static AGAIN: Limit = Limit {
        name: "per address",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of DNS lookups per address connected to",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut by_process: BTreeMap<ProcessId, Vec<&Peer>> = BTreeMap::new();
    for peer in inquiry.peers() {
        by_process.entry(peer.process).or_default().push(peer);
    }
    let peers = by_process.into_iter();
    peers
        .filter_map(|(process, peers)| suspect(inquiry, process, &peers))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, peers: &[&Peer]) -> Option<Suspect> {
    let (servers, others): (Vec<&Peer>, Vec<&Peer>) =
        peers.iter().partition(|peer| peer.is_name_server());
    let others = others
        .into_iter()
        .filter(|peer| peer.kind != ObjectKind::UnixSocket && peer.sends > 0);
    let hosts: BTreeSet<&str> = others.map(Peer::host).collect();
    let answers = servers.iter().flat_map(|server| &server.waits);
    let answers: Vec<usize> = answers
        .filter(|wait| wait.awaits_answer())
        .map(|wait| wait.span)
        .collect();
    let lookups = answers.len();
    let again = lookups as f64 / hosts.len().max(1) as f64;
    // Who connects to nobody looks names up for their own sake.
    if (lookups as f64) < RULE.limit(inquiry, &limits::LOOKUPS)
        || again < RULE.limit(inquiry, &limits::AGAIN)
        || hosts.is_empty()
    {
        return None;
    }
    // One for each is needed.
    let picked = Picked::of(inquiry, process, answers.into_iter().skip(hosts.len()));
    let server = servers.iter().max_by_key(|server| server.waits.len())?;
    let title = say![
        Piece::Count(lookups as u64),
        " DNS lookups at ",
        Piece::Name(server.address.clone()),
        " for connections to ",
        Piece::Count(hosts.len() as u64),
        if hosts.len() == 1 {
            " address"
        } else {
            " addresses"
        }
    ];
    let suspect = picked
        .suspect(inquiry, title, 0.0)
        .about(server.sockets.first().copied())
        .held(inquiry, &RULE, "look-ups", lookups as f64, &limits::LOOKUPS)
        .held(
            inquiry,
            &RULE,
            "look-ups for each address",
            again,
            &limits::AGAIN,
        )
        .told(say![
            "a response takes ",
            Piece::Time(picked.quantile(0.5)),
            " (median), 90th percentile ",
            Piece::Time(picked.quantile(0.9))
        ]);
    Some(suspect)
}
