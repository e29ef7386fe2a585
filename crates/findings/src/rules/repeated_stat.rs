//! The same path looked at again and again.
//!
//! Only paths from the root: of others it is not known from where they lead, so two may be two files.

use std::collections::BTreeSet;

use timesink_analysis::facts::files::{Queried, LOOKS};
use timesink_analysis::replay::{entered, What};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "repeated-stat",
    looks_for: "repeated stat calls on one path",
    why: "Each call walks the path and copies the same metadata.",
    advice: "call stat once and cache the result for a moment, use fstat if the file is open, or let inotify report changes",
    wrong_if: "the file may change at any moment, and that must be seen at once",
    limits: &[&limits::LOOKS],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static LOOKS: Limit = Limit {
        name: "calls",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of calls on one path by one process",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let queried = inquiry.facts.queried.iter();
    let often = queried.filter(|path| path.count as f64 >= RULE.limit(inquiry, &limits::LOOKS));
    // All that a process looks at too often is one suspect, told by the most of it.
    let mut told = BTreeSet::new();
    let first: Vec<&Queried> = often.filter(|path| told.insert(path.process)).collect();
    first
        .into_iter()
        .filter_map(|path| suspect(inquiry, path))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, most: &Queried) -> Option<Suspect> {
    let calls =
        inquiry.facts.calls.iter().filter(|call| {
            call.process == Some(most.process) && LOOKS.contains(&call.call.as_str())
        });
    let (all, seen, ns) = calls.fold((0u64, 0u64, 0u64), |(all, seen, ns), call| {
        (all + call.count, seen + call.seen, ns + call.ns)
    });
    let same = inquiry.facts.queried.iter().filter(|path| {
        path.process == most.process && path.count as f64 >= RULE.limit(inquiry, &limits::LOOKS)
    });
    let (paths, looks) = same.fold((0u64, 0u64), |(paths, looks), path| {
        (paths + 1, looks + path.count)
    });
    // Look-ups by path are of the calls that were timed; one of each path has to stay.
    let share = (looks.checked_sub(paths)? as f64 / seen.max(1) as f64).min(1.0);
    let looks = ((looks as f64 * all as f64 / seen.max(1) as f64) as u64).min(all);
    let processes = BTreeSet::from([most.process]);
    let is_look = |function: &str| {
        let call = entered(function)?;
        LOOKS.contains(&call).then_some(0)
    };
    let threads = inquiry.threads_of(&processes);
    let by_sites = inquiry.stacks.region_of_sites(&threads, |site| {
        let is_such = site.path == most.path && LOOKS.contains(&site.call.as_str());
        is_such.then_some(0)
    });
    let region = by_sites.or_else(|| inquiry.stacks.region(&threads, is_look));
    let fix = Fix::scaled(What::Calls(BTreeSet::from(LOOKS)), processes, 1.0 - share);
    let each = ns / all.max(1);
    let weight = Weight::within(inquiry.busy(most.process), each.saturating_mul(looks));
    let path = Piece::Name(most.path.clone());
    let title = match paths {
        1 => say![path, " is queried ", Piece::Count(looks), " times (stat)"],
        many => say![
            path,
            " and ",
            Piece::Count(many - 1),
            " more paths are queried ",
            Piece::Count(looks),
            " times (stat)"
        ],
    };
    let suspect = Suspect::new(title, fix, weight)
        .of(most.process)
        .seen_around(inquiry, region.as_ref())
        .held(
            inquiry,
            &RULE,
            "looks at one path",
            most.count as f64,
            &limits::LOOKS,
        )
        .told(say![
            Piece::Count(looks),
            " of ",
            Piece::Count(all),
            " stat calls, ",
            Piece::Time(each),
            " each"
        ]);
    Some(suspect)
}
