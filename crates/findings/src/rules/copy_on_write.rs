//! Pages that a process copies because it shares them with children that it forked: for each fork, all that it writes to afterwards.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ProcessId;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::memory::Memory;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "copy-on-write",
    looks_for: "page faults that copy memory shared with forked children",
    why: "fork copies no memory, but has all of it shared: the first write to each page afterwards is a page fault that copies 4 kB, in the parent and in the child.",
    advice: "fork less often, or from a small process that is started first; let the child end before much is changed; keep what the child does not need out of it (madvise MADV_DONTFORK), or use posix_spawn if it only starts a program",
    wrong_if: "the snapshot is needed, and so is all that changes meanwhile",
    limits: &[&limits::SHARE, &limits::MS, &limits::FORKS],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in such page faults",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in them",
    };
    pub static FORKS: Limit = Limit {
        name: "forks",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of forks by the process",
    };
}

const FORKS: [&str; 3] = ["clone", "clone3", "fork"];
/// Where the kernel deals with a write to a page that others have, too, and where it deals with pages that nobody has yet.
const SHARED: [&str; 3] = ["do_wp_page", "wp_page_copy", "wp_page_reuse"];
const NEW: [&str; 4] = [
    "do_anonymous_page",
    "do_fault",
    "do_read_fault",
    "do_swap_page",
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let shared = InCode::of_kernel(inquiry, &SHARED);
    let Some(process) = shared.process(inquiry) else {
        return Vec::new();
    };
    suspect(inquiry, process, &shared).into_iter().collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, shared: &InCode) -> Option<Suspect> {
    let forks = inquiry.facts.starts.iter().filter(|start| {
        let parent = start.parent.filter(|_| !start.by_vfork);
        parent.is_some_and(|parent| inquiry.same_program(parent, process))
    });
    let forks = forks.count() as u64;
    let of_program = |code: &InCode| code.clone().in_program(inquiry, process).ns();
    let faults = Memory::of(inquiry).faults.in_program(inquiry, process);
    // What a fault takes beside is divided in the same way.
    let (copied, new) = (
        of_program(shared),
        of_program(&InCode::of_kernel(inquiry, &NEW)),
    );
    let part = copied as f64 / (copied + new).max(1) as f64;
    let ns = (faults.ns() as f64 * part) as u64;
    let share = ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (ns as f64) < RULE.limit(inquiry, &limits::MS) * 1e6
        || (forks as f64) < RULE.limit(inquiry, &limits::FORKS)
    {
        return None;
    }
    let faults_go = Change {
        how: How::Scale(1.0 - part),
        ..faults.scaled_in(inquiry, process, 0.0)
    };
    // Who forks no more does not copy page tables either. Measured with 60 snapshots of 96 MB (2026-11-30): 1.7 s of 1.9 in all.
    let forks_go = Change {
        what: What::Calls(BTreeSet::from(FORKS)),
        how: How::Scale(0.0),
        ..faults_go.clone()
    };
    let fix = Fix::AtLeast(vec![faults_go.clone()], vec![faults_go, forks_go]);
    let title = say![
        process,
        " copies memory that it shares with the ",
        Piece::Count(forks),
        " children it forked, for ",
        Piece::Time(ns)
    ];
    let suspect = faults
        .suspect(inquiry, title, fix)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .held(inquiry, &RULE, "milliseconds", ns as f64 / 1e6, &limits::MS)
        .held(inquiry, &RULE, "forks", forks as f64, &limits::FORKS)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is page faults on memory shared with other processes"
        ]);
    Some(suspect)
}
