//! A server whose only thread waits for others while it handles a request, and has no time to wait for the next one.
//!
//! Whether clients queue meanwhile is not recorded: a single client that asks again at once leaves as little time. So it is told as what
//! it may cost at most.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::timeline::Span;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};

use super::event_loop_blocked;
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use crate::served::requests;

pub static RULE: Rule = Rule {
    name: "one-request-at-a-time",
    looks_for: "a single-threaded server that blocks while it handles a request, and is hardly ever idle",
    why: "While its thread is blocked on a response, a child or a disk, it handles no other request: concurrent clients wait for each other.",
    advice: "handle several requests at a time: more threads or worker processes (threaded=True, --workers), or calls that do not block",
    wrong_if: "there is only one client, which sends one request at a time",
    limits: &[&limits::REQUESTS, &limits::SHARE, &limits::IDLE],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static REQUESTS: Limit = Limit {
        name: "requests",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of receives on connections of clients",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.3,
        unit: Unit::Share,
        means: "minimum share of the critical path in which it waits while it handles a request",
    };
    /// Measured 2026-11-28: 0.3 % of a server of Flask that six clients asked; of one of WEBrick with a paced client nearly all (95 % of its path).
    pub static IDLE: Limit = Limit {
        name: "idle",
        value: 0.1,
        unit: Unit::Share,
        means: "maximum time in which it waits for clients, of the time in which it waits at all",
    };
}

/// Who does less than this part of what the busiest thread does is no worker.
const PART: f64 = 0.1;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let requests = requests(inquiry, &sockets);
    let each = requests.iter();
    each.filter(|(process, _)| !has_others(inquiry, &requests, **process))
        .filter_map(|(process, requests)| suspect(inquiry, &sockets, *process, *requests))
        .collect()
}

/// Whether there are other processes of the same program that serve the same address, too.
fn has_others(
    inquiry: &Inquiry<'_>,
    requests: &BTreeMap<ProcessId, u64>,
    process: ProcessId,
) -> bool {
    let addresses = |process: ProcessId| -> BTreeSet<&str> {
        let asking = inquiry.asking().iter();
        let own = asking.filter(|clients| clients.process == process);
        own.map(|clients| clients.address.as_str()).collect()
    };
    let own = addresses(process);
    let mut others = requests.keys().filter(|other| **other != process);
    others
        .any(|other| inquiry.same_program(*other, process) && !addresses(*other).is_disjoint(&own))
}

/// The only thread of a process that works, or waits for others, with its waits.
fn only_worker(
    inquiry: &Inquiry<'_>,
    sockets: &Sockets,
    process: ProcessId,
) -> Option<(usize, Waits)> {
    let threads = inquiry.timeline.threads.iter().enumerate();
    let own = threads.filter(|(_, thread)| thread.process == process);
    let mut works: Vec<(u64, usize, Waits)> = own
        .map(|(slot, thread)| {
            let waits = waits(inquiry, sockets, slot);
            (thread.cpu_ns.saturating_add(waits.within_ns), slot, waits)
        })
        .collect();
    works.sort_by_key(|(ns, ..)| *ns);
    let (most, slot, waits) = works.pop()?;
    let mut others = works.iter();
    others
        .all(|(ns, ..)| (*ns as f64) < most as f64 * PART)
        .then_some((slot, waits))
}

/// Whether a wait of this kind is for somebody else's work.
fn is_for_others(detail: Detail) -> bool {
    matches!(
        detail,
        Detail::NetworkReceive
            | Detail::UnixReceive
            | Detail::Child
            | Detail::PipeRead
            | Detail::DiskRead
            | Detail::Flush
            | Detail::Sleep
    )
}

/// The waits of a server's thread.
#[derive(Default)]
struct Waits {
    /// While it handles a request.
    within: BTreeSet<usize>,
    within_ns: u64,
    /// For clients, or for it is not known what.
    idle_ns: u64,
}

fn waits(inquiry: &Inquiry<'_>, sockets: &Sockets, slot: usize) -> Waits {
    let is_clients =
        |object: ObjectId| matches!(sockets.role(object), Some(Role::Served | Role::Listening));
    let is_within = |at: usize, span: &Span| match span.detail {
        // A poll for something of its own, in the midst of a request.
        Detail::Poll => {
            let known = inquiry.waited.known(at);
            let woken = known.and_then(|known| known.woken);
            woken.is_some_and(|object| sockets.role(object) == Some(Role::Asking))
        }
        detail => is_for_others(detail) && !span.object().is_some_and(is_clients),
    };
    let mut waits = Waits::default();
    let spans = inquiry.timeline.indexed(slot);
    for (at, span) in spans.filter(|(_, span)| span.state == State::Wait) {
        let ns = span.t1.since(span.t0);
        match is_within(at, span) {
            true => {
                waits.within.insert(at);
                waits.within_ns += ns;
            }
            false => waits.idle_ns += ns,
        }
    }
    waits
}

fn suspect(
    inquiry: &Inquiry<'_>,
    sockets: &Sockets,
    process: ProcessId,
    requests: u64,
) -> Option<Suspect> {
    let (slot, waits) = only_worker(inquiry, sockets, process)?;
    if event_loop_blocked::are_blocking(inquiry, process, &waits.within) {
        return None;
    }
    let causes = inquiry.waits_on_path(|key| inquiry.same_program(key.process, process));
    let on_path_ns = inquiry.on_path_ns(&causes).min(waits.within_ns);
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let idle = waits.idle_ns as f64 / (waits.idle_ns + waits.within_ns).max(1) as f64;
    if (requests as f64) < RULE.limit(inquiry, &limits::REQUESTS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || idle > RULE.limit(inquiry, &limits::IDLE)
    {
        return None;
    }
    let picked = Picked::of(inquiry, process, waits.within.iter().copied());
    let title = say![
        process,
        " handles one request at a time, and is blocked in them for ",
        Piece::Time(waits.within_ns)
    ];
    let mut suspect = picked.suspect(inquiry, title, 0.5);
    suspect.fix = suspect.fix.or_at_most(0.0).or_nothing();
    let events = inquiry
        .stacks
        .events_of(inquiry.timeline.threads[slot].thread)
        .iter();
    let within = events.filter(|event| {
        let wait = inquiry.timeline.wait_at(slot, event.at);
        wait.is_some_and(|at| waits.within.contains(&at))
    });
    suspect.frames = inquiry.most_of(within);
    Some(
        suspect
            .held(
                inquiry,
                &RULE,
                "requests",
                requests as f64,
                &limits::REQUESTS,
            )
            .held(inquiry, &RULE, "share", share, &limits::SHARE)
            .held(inquiry, &RULE, "idle", idle, &limits::IDLE)
            .told(say![
                "its only working thread waits for clients for ",
                Piece::Time(waits.idle_ns),
                " in all: concurrent clients wait for each other"
            ]),
    )
}
