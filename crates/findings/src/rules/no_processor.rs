//! Threads that could run and have no processor to run on.

use std::collections::BTreeMap;

use timesink_analysis::ledger::Who;
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
    let mut behind: BTreeMap<Who, u64> = BTreeMap::new();
    for thread in &of.facts.ledger.threads {
        for who in &thread.behind {
            *behind.entry(who.who).or_default() += who.ns;
        }
    }
    let all: u64 = behind.values().sum();
    let most = behind.into_iter().max_by_key(|(who, ns)| (*ns, *who));
    let title = say![
        "ready to run for ",
        Piece::Time(ns),
        ", but others have the processors"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(explains))
        .figure("ready on the path", ns as f64, "ns")
        .told(say![
            Piece::Time(ns),
            " of the path ready, with no processor free"
        ]);
    let Some((who, ns)) = most else {
        return vec![suspect];
    };
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
