//! Threads that could run and have no processor to run on.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Who;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State};

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "no-processor",
    looks_for: "threads that are ready to run while others have the processors",
    why: "A thread that has no processor does nothing, though it has all that it needs.",
    advice: "run fewer at a time, move others elsewhere, or give it more processors",
    wrong_if: "the machine is shared on purpose and nobody waits for this program",
    limits: &[
        Limit {
            name: "share",
            value: 0.15,
            means: "of the path at least this share",
        },
        Limit {
            name: "time",
            value: 1e8,
            means: "and so many nanoseconds",
        },
        Limit {
            name: "others",
            value: 0.5,
            means:
                "of that at least this share behind others than those whose work the end waits for",
        },
    ],
    is_innocent: false,
    needs: &[],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let explains =
        of.causes(|key| key.state == State::Ready && key.detail != Some(Detail::Throttled));
    let ns = of.on_path_ns(&explains);
    if (ns as f64) < RULE.limit(of, "time")
        || (ns as f64) < of.outlook.wall_ns as f64 * RULE.limit(of, "share")
    {
        return Vec::new();
    }
    let behind = behind(of, &explains);
    let known = |needed: bool| {
        let of_it = behind
            .iter()
            .filter(|(&who, _)| is_needed(of, who) == Some(needed));
        of_it.map(|(_, ns)| ns).sum::<u64>()
    };
    let (others, own) = (known(false), known(true));
    let share = others as f64 / (others + own).max(1) as f64;
    // A program that keeps all processors busy itself stands in nobody's way.
    if share < RULE.limit(of, "others") {
        return Vec::new();
    }
    let title = say![
        "ready to run for ",
        Piece::Time(ns),
        ", but others have the processors"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(explains))
        .figure("ready on the path", ns as f64, "ns")
        .held(of, &RULE, "behind others", share, "others")
        .told(say![
            Piece::Time(ns),
            " of the path ready, with no processor free"
        ]);
    let others = behind
        .iter()
        .filter(|(&who, _)| is_needed(of, who) == Some(false));
    let Some((&who, &ns)) = others.max_by_key(|(who, ns)| (**ns, **who)) else {
        return vec![suspect];
    };
    let all: u64 = behind.values().sum();
    let percent = Piece::Percent(ns as f64 * 100.0 / all.max(1) as f64);
    vec![suspect.told(match who {
        Who::Thread(thread) => say![thread, " had the processor for ", percent, " of it"],
        Who::Outsider(tid) => say![
            Piece::Name(of.facts.outsider(tid).to_owned()),
            ", which was not recorded, had it for ",
            percent
        ],
        Who::Idle | Who::Unlisted => say!["many had it in turn"],
    })]
}

/// Behind whom the programs stood that were ready on the path, and for how long.
fn behind(of: &Inquiry<'_>, causes: &[usize]) -> BTreeMap<Who, u64> {
    let causes = causes.iter().map(|&at| &of.outlook.causes[at].cause.key);
    let programs: BTreeSet<ProcessId> = causes.map(|key| of.programs.first(key.process)).collect();
    let mut behind: BTreeMap<Who, u64> = BTreeMap::new();
    for thread in &of.facts.ledger.threads {
        if programs.contains(&of.programs.first(thread.row.process)) {
            for who in &thread.behind {
                *behind.entry(who.who).or_default() += who.ns;
            }
        }
    }
    behind
}

/// Whether somebody does what has to be done anyway until the end that is asked about: a thread of the same process, or
/// one that was done before that. `None` if that is not known.
fn is_needed(of: &Inquiry<'_>, who: Who) -> Option<bool> {
    let thread = match who {
        Who::Thread(thread) => thread,
        Who::Outsider(_) => return Some(false),
        Who::Idle | Who::Unlisted => return None,
    };
    let main = &of.facts.ledger.threads.get(of.facts.ledger.main?)?.row;
    let row = &of.timeline.threads[of.timeline.slot(thread)?];
    let in_time = !row.alive_at_end && !row.born_before && row.end <= main.end;
    Some(row.process == main.process || in_time)
}
