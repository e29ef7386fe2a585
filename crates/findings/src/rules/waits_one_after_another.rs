//! Several peers waited for one after the other, with little done between.
//!
//! Whether one has to be asked before the other can be is not recorded: it is a possibility, and told as one.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "waits-one-after-another",
    looks_for: "several peers waited for one after the other, with little work in between",
    why: "While one peer is waited for, the others could work: in parallel they would take as long as the slowest.",
    advice: "if none needs the response of another, send all requests first and then wait: threads, asynchronous calls, poll",
    wrong_if: "a request depends on the response of another peer",
    limits: &[&limits::PEERS, &limits::LEAST, &limits::BETWEEN],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static PEERS: Limit = Limit {
        name: "peers",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of peers in a row, each of them once",
    };
    pub static LEAST: Limit = Limit {
        name: "length",
        value: 1e7,
        unit: Unit::Nanoseconds,
        means: "minimum length of the wait for each",
    };
    pub static BETWEEN: Limit = Limit {
        name: "work between",
        value: 0.25,
        unit: Unit::Share,
        means: "maximum share of the wait that is spent on work before the next one",
    };
}

/// Waits for one peer, without another one between.
struct Turn {
    peer: usize,
    spans: Vec<usize>,
    ns: u64,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut waits: BTreeMap<ProcessId, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, peer) in inquiry.peers().iter().enumerate() {
        // Who polls several may wait for all of them already.
        let own = peer.waits.iter().filter(|wait| wait.alone);
        let own = own.map(|wait| (wait.span, at));
        waits.entry(peer.process).or_default().extend(own);
    }
    let waits = waits.into_iter();
    waits
        .filter_map(|(process, mut waits)| {
            // By threads, and in the order of time.
            waits.sort_unstable();
            suspect(inquiry, process, &waits)
        })
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, waits: &[(usize, usize)]) -> Option<Suspect> {
    let rows = rows(inquiry, waits);
    let all: u64 = rows.iter().flatten().map(|turn| turn.ns).sum();
    let mut spare: Vec<usize> = Vec::new();
    let mut peers: BTreeSet<usize> = BTreeSet::new();
    for row in &rows {
        peers.extend(row.iter().map(|turn| turn.peer));
        let longest = row.iter().map(|turn| turn.ns).max();
        let stays = row.iter().position(|turn| Some(turn.ns) == longest);
        let others = row.iter().enumerate().filter(|(at, _)| Some(*at) != stays);
        spare.extend(others.flat_map(|(_, turn)| &turn.spans));
    }
    if rows.is_empty() {
        return None;
    }
    let spare = Picked::of(inquiry, process, spare);
    let title = say![
        Piece::Count(peers.len() as u64),
        " peers are waited for one after the other, possibly unnecessarily"
    ];
    let turns = rows.iter().flatten();
    let longest = turns.max_by_key(|turn| turn.ns)?;
    let suspect = spare
        .suspect(inquiry, title, 0.0)
        .held(inquiry, &RULE, "peers", peers.len() as f64, &limits::PEERS)
        .told(say![
            "together they take ",
            Piece::Time(all),
            ", the slowest ",
            Piece::Time(longest.ns),
            ": ",
            Piece::Name(inquiry.peers()[longest.peer].address.clone())
        ])
        .told(say![
            "whether a request depends on the response of another peer is not recorded"
        ]);
    Some(suspect)
}

/// The rows of turns, each long enough, in which each peer has one turn.
fn rows(inquiry: &Inquiry<'_>, waits: &[(usize, usize)]) -> Vec<Vec<Turn>> {
    let mut rows: Vec<Vec<Turn>> = Vec::new();
    let mut row: Vec<Turn> = Vec::new();
    let mut had: BTreeSet<usize> = BTreeSet::new();
    let mut last: Option<usize> = None;
    // To look up a name is part of what is asked afterwards.
    let named = waits
        .iter()
        .filter(|(_, peer)| !inquiry.peers()[*peer].is_name_server());
    for &(span, peer) in named {
        let Some(now) = inquiry.timeline.span(span) else {
            continue;
        };
        let before = last.and_then(|last| inquiry.timeline.span(last));
        let same_thread = before.is_some_and(|before| before.thread == now.thread);
        let gap = before.map_or(0, |before| now.t0.since(before.t1));
        let before_it = row.last().map(|turn| turn.peer);
        let again = before_it != Some(peer) && had.contains(&peer);
        let waited = row.last().map_or(0, |turn| turn.ns) as f64;
        let near = gap as f64 <= waited * RULE.limit(inquiry, &limits::BETWEEN);
        if !same_thread || again || (!near && before_it.is_some_and(|before| before != peer)) {
            rows.push(std::mem::take(&mut row));
            had.clear();
        }
        had.insert(peer);
        let ns = now.t1.since(now.t0);
        match row.last_mut().filter(|turn| turn.peer == peer) {
            Some(turn) => {
                turn.spans.push(span);
                turn.ns = turn.ns.saturating_add(ns);
            }
            None => row.push(Turn {
                peer,
                spans: vec![span],
                ns,
            }),
        }
        last = Some(span);
    }
    rows.push(row);
    let least = RULE.limit(inquiry, &limits::LEAST);
    for row in &mut rows {
        row.retain(|turn| turn.ns as f64 >= least);
    }
    rows.retain(|row| row.len() as f64 >= RULE.limit(inquiry, &limits::PEERS));
    rows
}
