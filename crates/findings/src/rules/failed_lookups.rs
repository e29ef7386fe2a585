//! Paths that are looked for and are not there, thousands of them.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "failed-lookups",
    looks_for: "thousands of lookups of paths that do not exist",
    why: "A program that searches a list of folders for each file makes as many system calls per file as the list is long.",
    advice: "put the folder that is used most first, shorten the list, or remember what was found",
    wrong_if: "the files may appear at any moment",
    limits: &[&limits::LOOKUPS, &limits::SHARE],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static LOOKUPS: Limit = Limit {
        name: "lookups",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of failed lookups",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of all lookups that failed",
    };
}

const LOOKUPS: [&str; 9] = [
    "open",
    "openat",
    "openat2",
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat2",
];

/// What a process looked for.
#[derive(Default)]
struct LookedFor {
    all: u64,
    failed: u64,
    /// Not all of these calls were timed.
    is_estimated: bool,
    ns: u64,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut processes: BTreeMap<ProcessId, LookedFor> = BTreeMap::new();
    let calls = inquiry.facts.calls.iter();
    for call in calls.filter(|call| LOOKUPS.contains(&call.call.as_str())) {
        let Some(process) = call.process else {
            continue;
        };
        let missing = call.errnos.iter().filter(|(error, _)| error == "ENOENT");
        let missing: u64 = missing.map(|(_, count)| count).sum();
        // Errors by name are of the calls that were timed.
        let scale = call.count as f64 / call.seen.max(1) as f64;
        let sum = processes.entry(process).or_default();
        sum.all += call.count;
        sum.failed += (missing as f64 * scale) as u64;
        sum.is_estimated |= call.estimated;
        sum.ns += call.ns;
    }
    let suspects = processes.into_iter();
    suspects
        .filter_map(|(process, sum)| suspect(inquiry, process, &sum))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, sum: &LookedFor) -> Option<Suspect> {
    let &LookedFor {
        all,
        failed,
        is_estimated,
        ns,
    } = sum;
    if (failed as f64) < RULE.limit(inquiry, &limits::LOOKUPS)
        || (failed as f64) < all as f64 * RULE.limit(inquiry, &limits::SHARE)
    {
        return None;
    }
    let title = say![
        process,
        " looks up paths that do not exist ",
        if is_estimated { "about " } else { "" },
        Piece::Count(failed),
        " times"
    ];
    let share = failed as f64 / all.max(1) as f64;
    let what = What::Calls(BTreeSet::from(LOOKUPS));
    let fix = Fix::scaled(what, BTreeSet::from([process]), 1.0 - share);
    let processes = BTreeSet::from([process]);
    let region = inquiry
        .stacks
        .region_of_sites(&inquiry.threads_of(&processes), |site| {
            let is_such = site.error == "ENOENT" && LOOKUPS.contains(&site.call.as_str());
            is_such.then_some(0)
        });
    let suspect = Suspect::new(title, fix, Weight::within(inquiry.busy(process), ns))
        .of(process)
        .seen_around(inquiry, region.as_ref())
        .held(inquiry, &RULE, "in vain", failed as f64, &limits::LOOKUPS)
        .held(inquiry, &RULE, "share of look-ups", share, &limits::SHARE)
        .told(say![
            Piece::Count(failed),
            " of ",
            Piece::Count(all),
            " lookups failed"
        ]);
    Some(match inquiry.facts.missing.first() {
        Some(most) => suspect.told(say![
            Piece::Name(most.path.clone()),
            " was looked up ",
            Piece::Count(most.count),
            " times"
        ]),
        None => suspect,
    })
}
