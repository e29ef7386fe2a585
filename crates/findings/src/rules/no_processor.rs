//! Threads that could run and have no processor to run on.

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "no-processor",
    looks_for: "runnable threads that wait for a CPU while others use the CPUs",
    why: "A thread without a CPU does nothing, though it has all that it needs.",
    advice: "repeat on an idle machine; or run fewer programs at a time, move others elsewhere, add CPUs",
    wrong_if: "the machine is shared on purpose and nobody waits for this program",
    limits: &[&crowd::SHARE, &crowd::TIME, &limits::OTHERS],
    blames: Blames::Machine,
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
        means: "minimum share of that time behind threads whose work the end does not depend on",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let Some(crowd) = Crowd::of(inquiry, &RULE) else {
        return Vec::new();
    };
    // A program that keeps all processors busy itself stands in nobody's way.
    let share = crowd.behind_others(inquiry);
    if share < RULE.limit(inquiry, &limits::OTHERS) {
        return Vec::new();
    }
    let foremost = crowd.foremost(inquiry);
    let title = match crowd.foremost_name(inquiry) {
        Some(name) => say![
            "waits ",
            Piece::Time(crowd.ns),
            " for a CPU while ",
            Piece::Name(name),
            " and others use it"
        ],
        None => say![
            "waits ",
            Piece::Time(crowd.ns),
            " for a CPU while others use it"
        ],
    };
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(crowd.causes))
        .figure("ready on the path", crowd.ns as f64, "ns")
        .held(inquiry, &RULE, "behind others", share, &limits::OTHERS)
        .told(say![
            Piece::Time(crowd.ns),
            " of the critical path runnable (waiting for a CPU)"
        ]);
    vec![match foremost {
        Some(foremost) => suspect.told(foremost),
        None => suspect,
    }]
}
