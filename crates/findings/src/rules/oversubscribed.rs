//! A program that has work for more processors than there are: no fault of its own, and what more of them would buy.

use timesink_analysis::ledger::ThreadLedger;

use crate::crowd::Crowd;
use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "oversubscribed",
    looks_for: "more threads that want to work than there are processors",
    why: "When all processors are busy with its own work, another thread makes a program no faster: they only take turns.",
    advice: "give it more processors, or let it compute less; more threads than processors buy nothing here",
    wrong_if: "the machine is as large as it will ever be: then what it computes is the place to look",
    limits: &[
        Limit { name: "share", value: 0.15, means: "of the path ready, without a processor, at least this share" },
        Limit { name: "time", value: 1e8, means: "and so many nanoseconds" },
        Limit { name: "others", value: 0.5, means: "of that less than this share behind others than those whose work the end waits for" },
        Limit { name: "demand", value: 1.2, means: "so many times the processors that there are would find work, at least" },
    ],
    is_innocent: true,
    needs: &[],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    suspect(of).into_iter().collect()
}

fn suspect(of: &Inquiry<'_>) -> Option<Suspect> {
    let crowd = Crowd::of(of, &RULE)?;
    let share = crowd.behind_others(of);
    if share >= RULE.limit(of, "others") {
        return None;
    }
    let sum = |ns: fn(&ThreadLedger) -> u64| {
        let threads = of.facts.ledger.threads.iter();
        threads.map(ns).fold(0, u64::saturating_add) as f64
    };
    let (worked, ready) = (
        sum(|thread| thread.row.cpu_ns),
        sum(|thread| thread.row.ready_ns),
    );
    let wall = of.outlook.wall_ns.max(1) as f64;
    let demand = (worked + ready) / wall / f64::from(of.outlook.processors.max(1));
    if demand < RULE.limit(of, "demand") {
        return None;
    }
    let title = say![
        "there is work for ",
        Piece::Times(demand),
        " the processors that there are"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(crowd.causes))
        .held(of, &RULE, "ready on the path", crowd.ns as f64, "time")
        .held(of, &RULE, "behind others", share, "others")
        .held(of, &RULE, "times the processors", demand, "demand")
        .told(say![
            Piece::Time(crowd.ns),
            " of the path ready, while its own threads had the processors"
        ]);
    Some(suspect)
}
