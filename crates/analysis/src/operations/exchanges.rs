//! What a process asks others, seen from its own side: from the first wait for an answer to the end of the last.
//!
//! Sends have no moments in a recording, but their count is exact. So of the waits for a peer so many are joined to the one
//! before as there are more of them than requests: those with the least time between, because within one answer there is
//! less to do than from one request to the next. Answers that did not have to be waited for do not show.

use std::collections::BTreeMap;

use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, ObjectKind};
use timesink_recording::Nanos;

use super::{Found, Kind, Operation, Recorded, Set};
use crate::waits::peers::Peer;

/// Of fewer requests percentiles say nothing.
const LEAST: u64 = 10;
/// With fewer requests for each wait the program listens to what it is told.
const ASKED: f64 = 0.5;

/// A wait for a peer.
struct Waited {
    slot: usize,
    from: Nanos,
    until: Nanos,
}

/// The requests of all who ask, peer by peer.
pub(super) fn asked(recorded: &Recorded<'_>) -> Vec<Set> {
    let peers = &recorded.waited.peers(recorded.facts, recorded.timeline).all;
    let mut sets: BTreeMap<(ProcessId, &str), (Found, Vec<_>)> = BTreeMap::new();
    for peer in peers {
        let is_stream = matches!(peer.kind, ObjectKind::TcpSocket | ObjectKind::UnixSocket);
        if !is_stream || peer.at_once || peer.sends.min(peer.receives) < LEAST {
            continue;
        }
        let waits = waits_for(recorded, peer);
        if waits.len() < LEAST as usize || (peer.sends as f64) < waits.len() as f64 * ASKED {
            continue;
        }
        let key = (recorded.programs.first(peer.process), peer.address.as_str());
        let (found, addresses) = sets.entry(key).or_insert_with(|| {
            let found = Found {
                sends: Some(0),
                ..Found::default()
            };
            (found, Vec::new())
        });
        addresses.extend(
            peer.sockets
                .first()
                .copied()
                .filter(|_| addresses.is_empty()),
        );
        found.connections.extend(&peer.sockets);
        found.processes.insert(peer.process);
        let sends = (!peer.estimated).then_some(peer.sends);
        found.sends = found.sends.and_then(|sum| Some(sum.saturating_add(sends?)));
        let mut threads: Vec<usize> = waits.iter().map(|wait| wait.slot).collect();
        threads.dedup();
        found.threads += threads.len();
        found.operations.extend(as_requests(waits, peer.sends));
    }
    let sets = sets.into_iter();
    sets.filter_map(|((program, _), (found, addresses))| {
        // Of one process its own name is told; who runs the same program may well be the one that it asks.
        let one = found
            .processes
            .first()
            .copied()
            .filter(|_| found.processes.len() == 1);
        found.into_set(one.unwrap_or(program), Kind::Asked, addresses)
    })
    .collect()
}

/// All waits of a process for answers of a peer, thread by thread, the short ones too.
fn waits_for(recorded: &Recorded<'_>, peer: &Peer) -> Vec<Waited> {
    let timeline = recorded.timeline;
    let mut waits = Vec::new();
    for (slot, thread) in timeline.threads.iter().enumerate() {
        if thread.process != peer.process {
            continue;
        }
        let own = timeline.spans_of(slot).iter().filter(|span| {
            matches!(
                span.detail,
                Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
            ) && peer.is_waited_for_in(span)
        });
        waits.extend(own.map(|span| Waited {
            slot,
            from: span.t0,
            until: span.t1,
        }));
    }
    waits
}

/// The waits as so many requests.
fn as_requests(waits: Vec<Waited>, requests: u64) -> Vec<Operation> {
    let pairs = waits.windows(2);
    let same = pairs.filter(|pair| pair[0].slot == pair[1].slot);
    let mut gaps: Vec<u64> = same.map(|pair| pair[1].from.since(pair[0].until)).collect();
    let surplus = waits
        .len()
        .saturating_sub(usize::try_from(requests).unwrap_or(usize::MAX));
    let surplus = surplus.min(gaps.len());
    let widest = surplus
        .checked_sub(1)
        .map(|last| *gaps.select_nth_unstable(last).1);
    let mut operations: Vec<Operation> = Vec::new();
    for wait in waits {
        let within = |last: &&mut Operation| {
            last.slot == wait.slot && widest.is_some_and(|most| wait.from.since(last.until) <= most)
        };
        match operations.last_mut().filter(within) {
            Some(last) => last.until = wait.until,
            None => operations.push(Operation {
                slot: wait.slot,
                from: wait.from,
                until: wait.until,
            }),
        }
    }
    operations
}
