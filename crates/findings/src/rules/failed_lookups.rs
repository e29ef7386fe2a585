//! Paths that are looked for and are not there, thousands of them.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "failed-lookups",
    looks_for: "thousands of paths that are looked for and are not there",
    why: "Whoever looks along a list of folders for each file asks the kernel as often as the list is long.",
    advice: "put what is used first on the list, make the list shorter, or remember what was found",
    wrong_if: "the files may come to be there at any moment",
    limits: &[
        Limit { name: "lookups", value: 1000.0, means: "at least so many in vain" },
        Limit { name: "share", value: 0.8, means: "of all look-ups at least this share was in vain" },
    ],
    is_innocent: false,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

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

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let processes: BTreeSet<_> = of
        .facts
        .calls
        .iter()
        .filter_map(|call| call.process)
        .collect();
    processes
        .into_iter()
        .filter_map(|process| suspect(of, process))
        .collect()
}

fn suspect(of: &Inquiry<'_>, process: timesink_recording::ids::ProcessId) -> Option<Suspect> {
    let calls = of
        .facts
        .calls
        .iter()
        .filter(|call| call.process == Some(process) && LOOKUPS.contains(&call.call.as_str()));
    let (mut all, mut failed, mut ns) = (0u64, 0u64, 0u64);
    for call in calls {
        let missing = call.errnos.iter().filter(|(error, _)| error == "ENOENT");
        let missing: u64 = missing.map(|(_, count)| count).sum();
        // Errors by name are of the calls that were timed.
        let scale = call.count as f64 / call.seen.max(1) as f64;
        all += call.count;
        failed += (missing as f64 * scale) as u64;
        ns += call.ns;
    }
    if (failed as f64) < RULE.limit(of, "lookups")
        || (failed as f64) < all as f64 * RULE.limit(of, "share")
    {
        return None;
    }
    let title = say![
        process,
        " looks ",
        Piece::Count(failed),
        " times for files that are not there"
    ];
    let share = failed as f64 / all.max(1) as f64;
    let what = What::Calls(BTreeSet::from(LOOKUPS));
    let fix = Fix::scaled(what, BTreeSet::from([process]), 1.0 - share);
    let suspect = Suspect::new(title, fix, Weight::within(of.busy(process), ns))
        .of(process)
        .held(of, &RULE, "in vain", failed as f64, "lookups")
        .held(of, &RULE, "share of look-ups", share, "share")
        .told(say![
            Piece::Count(failed),
            " of ",
            Piece::Count(all),
            " look-ups found nothing"
        ]);
    Some(match of.facts.missing.first() {
        Some(most) => suspect.told(say![
            Piece::Name(most.path.clone()),
            " was looked for ",
            Piece::Count(most.count),
            " times"
        ]),
        None => suspect,
    })
}
