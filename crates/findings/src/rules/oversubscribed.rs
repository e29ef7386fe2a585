//! A program that has work for more processors than there are: no fault of its own, and what more of them would buy.

use timesink_analysis::ledger::ThreadLedger;

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "oversubscribed",
    looks_for: "more runnable threads than CPUs",
    why: "When all CPUs are busy with a program's own work, another thread makes it no faster: its threads only take turns.",
    advice: "add CPUs, or compute less; more threads than CPUs gain nothing here",
    wrong_if: "the machine cannot be larger: then look at what the program computes",
    limits: &[&crowd::SHARE, &crowd::TIME, &limits::OTHERS, &limits::DEMAND],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static OTHERS: Limit = Limit {
        name: "others",
        value: 0.5,
        unit: Unit::Share,
        means: "maximum share of that time behind threads whose work the end does not depend on",
    };
    pub static DEMAND: Limit = Limit {
        name: "demand",
        value: 1.2,
        unit: Unit::Ratio,
        means: "minimum ratio of the CPUs that could be used to those that exist",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    suspect(inquiry).into_iter().collect()
}

fn suspect(inquiry: &Inquiry<'_>) -> Option<Suspect> {
    let crowd = Crowd::of(inquiry, &RULE)?;
    let share = crowd.behind_others(inquiry);
    if share >= RULE.limit(inquiry, &limits::OTHERS) {
        return None;
    }
    let sum = |ns: fn(&ThreadLedger) -> u64| {
        let threads = inquiry.facts.ledger.threads.iter();
        threads.map(ns).fold(0, u64::saturating_add) as f64
    };
    let (worked, ready) = (
        sum(|thread| thread.row.cpu_ns),
        sum(|thread| thread.row.ready_ns),
    );
    let wall = inquiry.outlook.wall_ns.max(1) as f64;
    let demand = (worked + ready) / wall / f64::from(inquiry.outlook.processors.max(1));
    if demand < RULE.limit(inquiry, &limits::DEMAND) {
        return None;
    }
    let title = say![
        "the program could use ",
        Piece::Times(demand),
        " the CPUs that exist"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(crowd.causes))
        .held(inquiry, &RULE, "ready on the path", crowd.ns as f64, &crowd::TIME)
        .held(inquiry, &RULE, "behind others", share, &limits::OTHERS)
        .held(inquiry, &RULE, "times the processors", demand, &limits::DEMAND)
        .told(say![Piece::Time(crowd.ns), " of the critical path runnable (waiting for a CPU), while its own threads used the CPUs"]);
    Some(suspect)
}
