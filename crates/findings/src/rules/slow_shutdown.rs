//! A thread that looks now and then whether it is to end, and another one that waits until it does.
//!
//! A server that waits for connections with a timeout has nothing to do, so nobody accuses it; where the critical path leads
//! through such waits, somebody has told it to end and waits for that.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::replay::What;
use timesink_analysis::timeline::Span;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, WakeSource};

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "slow-shutdown",
    looks_for: "a thread that checks now and then whether it should stop, while another one waits for that",
    why: "Whoever has asked a server to stop waits until its timeout for the next connection expires, though nothing is left to do.",
    advice: "let the request to stop wake it (a pipe or an eventfd among what it polls), or let it check more often, as with serve_forever(poll_interval=0.01)",
    wrong_if: "it has to finish something first",
    limits: &[&limits::TIMES, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TIMES: Limit = Limit {
        name: "times",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of such timeouts",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in them",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let ledger = &inquiry.facts.ledger;
    let main = ledger.main.and_then(|main| ledger.threads.get(main));
    let main = main.map(|main| main.row.thread);
    // The path ends in the main thread: what that looks for, nobody waits for.
    let looks = |span: &Span| {
        let listens = |object| sockets.role(object) == Some(Role::Listening);
        Some(span.thread) != main
            && span.wake_source == Some(WakeSource::Timer)
            && span.object().is_some_and(listens)
    };
    let mut processes: BTreeMap<ProcessId, BTreeSet<usize>> = BTreeMap::new();
    for (at, span) in inquiry
        .single_waits(|_| true)
        .filter(|(_, span)| looks(span))
    {
        let process = inquiry.process_of(span.thread);
        let on_path = inquiry.outlook.in_threads.contains_key(&span.thread);
        if let Some(process) = process.filter(|_| on_path) {
            processes.entry(process).or_default().insert(at);
        }
    }
    let each = processes.into_iter();
    each.filter_map(|(process, spans)| suspect(inquiry, process, spans))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, spans: BTreeSet<usize>) -> Option<Suspect> {
    let picked = Picked::of(inquiry, process, spans);
    let waits = picked.waits(inquiry);
    let kinds: BTreeSet<_> = waits
        .map(|span| (Some(span.detail), span.object()))
        .collect();
    let causes = inquiry.waits_on_path(|key| {
        kinds.contains(&(key.detail, key.object)) && inquiry.same_program(key.process, process)
    });
    let on_path_ns = inquiry.on_path_ns(&causes).min(picked.ns());
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let times = picked.count() as f64;
    if times < RULE.limit(inquiry, &limits::TIMES) || share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let title = say![
        process,
        " waits ",
        Piece::Count(picked.count()),
        " times for its own server to stop, which checks only every ",
        Piece::Time(picked.quantile(0.5))
    ];
    let fix = Fix::without(
        What::Spans(picked.spans().clone()),
        BTreeSet::from([process]),
    );
    let groups = inquiry.waits().iter();
    let ends = groups.filter(|group| {
        group.process == process
            && matches!(
                group.detail,
                Detail::Condition | Detail::Join | Detail::Lock
            )
    });
    let waiter = ends.max_by_key(|group| group.ns);
    let suspect = Suspect::new(title, fix, Weight::within(causes, picked.ns()))
        .of(process)
        .seen_in(inquiry, waiter)
        .held(inquiry, &RULE, "times", times, &limits::TIMES)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE);
    Some(suspect)
}
