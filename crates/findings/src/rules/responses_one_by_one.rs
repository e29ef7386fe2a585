//! Responses of one peer that a program of tasks awaits one at a time, each much longer than a round trip takes.
//!
//! What many short round trips cost is told elsewhere. Whether a request needs the response to the one before is not recorded: it is a
//! possibility, and told as one. A server that is asked one thing at a time asks one thing at a time itself, so it is told only of what it
//! asks several times for each request of its own.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::peers::Peer;
use timesink_recording::ids::ProcessId;

use super::event_loop_blocked;
use crate::awaiting::Awaiting;
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use crate::served::asks_itself;

pub static RULE: Rule = Rule {
    name: "responses-one-by-one",
    looks_for: "tasks that await the responses of one peer one at a time, each for long",
    why: "While one response is awaited, the event loop has nothing else to do. With several requests in flight, the total wait would only be as long as the slowest response.",
    advice: "send requests that do not need each other's responses together and await all of them (asyncio.gather, join!, an errgroup)",
    wrong_if: "each request depends on the previous response, or the peer only responds when it has something to deliver, as a queue does",
    limits: &[&limits::RESPONSES, &limits::LEAST, &limits::SHARE, &limits::SENT, &limits::AT_A_TIME, &limits::PER_REQUEST],
    blames: Blames::Program,
    needs: &[Need::WholeCalls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static RESPONSES: Limit = Limit {
        name: "responses",
        value: 8.0,
        unit: Unit::Count,
        means: "minimum number of responses awaited one at a time",
    };
    /// Measured: 56 to 97 us (median) for one key or row of four servers on the same machine.
    pub static LEAST: Limit = Limit {
        name: "length",
        value: 1e6,
        unit: Unit::Nanoseconds,
        means: "minimum average wait; shorter ones are reported as round trips",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.25,
        unit: Unit::Share,
        means: "minimum share of the critical path spent waiting for them",
    };
    pub static SENT: Limit = Limit {
        name: "sent",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the waits before which something was sent on the same connection, and nothing on another",
    };
    /// Measured: 1.0 where they are awaited one after another; 27 where 40 threads of a pool await one each.
    pub static AT_A_TIME: Limit = Limit {
        name: "at a time",
        value: 1.2,
        unit: Unit::Count,
        means: "maximum number of responses awaited at a time, by all threads, on average",
    };
    pub static PER_REQUEST: Limit = Limit {
        name: "per request",
        value: 3.0,
        unit: Unit::Count,
        means: "for a server: minimum number of responses it awaits per request that it receives",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let carried = inquiry.timeline.carried();
    let of_slot = |slot: &usize| inquiry.timeline.threads[*slot].process;
    let with_tasks: BTreeSet<ProcessId> = carried.slots().iter().map(of_slot).collect();
    let peers = inquiry.peers().iter();
    let in_turn = peers.filter(|peer| {
        with_tasks.contains(&peer.process)
            && !peer.at_once
            && !peer.in_pairs
            && !peer.is_name_server()
    });
    in_turn.filter_map(|peer| suspect(inquiry, peer)).collect()
}

/// How often a peer was waited for, by what was sent before.
struct Waits {
    /// Something was sent on the same connection, and nothing on another: they are for the response.
    asked: f64,
    /// All but those for connections.
    all: f64,
}

impl Waits {
    fn of(peer: &Peer) -> Waits {
        let (mut asked, mut others, mut unknown) = (0usize, 0usize, 0usize);
        for wait in peer.waits.iter().filter(|wait| wait.awaits_answer()) {
            match wait.sent {
                Some(sent) if sent == wait.socket => asked += 1,
                Some(_) => others += 1,
                None => unknown += 1,
            }
        }
        // Before anything is sent on a connection that is under way, it is waited for itself.
        let unknown = unknown.saturating_sub(peer.under_way.len());
        Waits {
            asked: asked as f64,
            all: (asked + others + unknown) as f64,
        }
    }
}

/// How many requests of others the process was asked meanwhile, at least one.
fn requests(inquiry: &Inquiry<'_>, process: ProcessId) -> u64 {
    let asking = inquiry.asking().iter();
    let own = asking.filter(|clients| {
        clients.process == process && !asks_itself(inquiry, process, &clients.address)
    });
    own.map(|clients| clients.sends.min(clients.receives))
        .fold(0, u64::saturating_add)
        .max(1)
}

fn suspect(inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Suspect> {
    let waits = Waits::of(peer);
    let (count, sent) = (waits.asked, waits.asked / waits.all.max(1.0));
    let requests = requests(inquiry, peer.process);
    let per_request = count / requests as f64;
    let answers = peer.waits.iter().filter(|wait| wait.awaits_answer());
    let picked = Picked::of(inquiry, peer.process, answers.map(|wait| wait.span));
    let each_ns = picked.ns() as f64 / count.max(1.0);
    // Other threads may await responses of the same peer meanwhile.
    let at_a_time = picked.at_a_time(inquiry);
    if count < RULE.limit(inquiry, &limits::RESPONSES)
        || each_ns < RULE.limit(inquiry, &limits::LEAST)
        || sent < RULE.limit(inquiry, &limits::SENT)
        || at_a_time > RULE.limit(inquiry, &limits::AT_A_TIME)
        || requests > 1 && per_request < RULE.limit(inquiry, &limits::PER_REQUEST)
        || event_loop_blocked::are_blocking(inquiry, peer.process, picked.spans())
    {
        return None;
    }
    let title = say![
        Piece::Count(count as u64),
        " responses from ",
        Piece::Name(peer.address.clone()),
        " are awaited one after another, possibly unnecessarily"
    ];
    let mut suspect = picked.suspect(inquiry, title, 0.0);
    let on_path_ns = inquiry.on_path_ns(&suspect.weight.causes).min(picked.ns());
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    suspect.fix = fix(&picked, requests);
    let awaiting = Awaiting::of(inquiry, peer.process, picked.spans());
    if !awaiting.frames.is_empty() {
        suspect.frames = awaiting.frames;
    }
    let suspect = suspect
        .held(inquiry, &RULE, "responses", count, &limits::RESPONSES)
        .held(inquiry, &RULE, "length", each_ns, &limits::LEAST)
        .held(inquiry, &RULE, "share", share, &limits::SHARE)
        .held(inquiry, &RULE, "sent", sent, &limits::SENT)
        .told(say![
            "each takes ",
            Piece::Time(each_ns as u64),
            " on average, together ",
            Piece::Time(picked.ns()),
            "; meanwhile no other request to this peer is in flight"
        ]);
    let tasks = awaiting.tasks.len() as u64;
    let suspect = match tasks {
        0 | 1 => suspect,
        tasks => suspect.told(say![Piece::Count(tasks), " tasks do so, one at a time"]),
    };
    Some(suspect.told(say![
        "whether a request depends on the previous response is not recorded"
    ]))
}

/// With two under way at a time half of the waits go, with all of them all but the longest, for each request that the process is asked
/// itself.
fn fix(picked: &Picked, requests: u64) -> Fix {
    let scaled = |factor: f64| Change {
        what: What::Spans(picked.spans().clone()),
        processes: Some(picked.processes().clone()),
        how: How::Scale(factor),
    };
    let longest = picked.quantile(1.0) as f64 / picked.ns().max(1) as f64;
    let left = (longest * requests as f64).min(0.5);
    Fix::Likely(
        vec![scaled(0.5)],
        vec![scaled(left)],
        vec![scaled(left / 2.0)],
    )
}
