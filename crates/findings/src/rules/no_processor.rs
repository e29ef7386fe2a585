//! Threads that could run and have no processor to run on.

use crate::crowd::Crowd;
use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "no-processor",
    looks_for: "runnable threads that wait for a CPU while others use the CPUs",
    why: "A thread without a CPU does nothing, though it has all that it needs.",
    advice: "run fewer programs at a time, move others elsewhere, or add CPUs",
    wrong_if: "the machine is shared on purpose and nobody waits for this program",
    limits: &[
        Limit {
            name: "share",
            value: 0.15,
            means: "minimum share of the critical path",
        },
        Limit {
            name: "time",
            value: 1e8,
            means: "minimum time, in ns",
        },
        Limit {
            name: "others",
            value: 0.5,
            means:
                "minimum share of that time behind threads whose work the end does not depend on",
        },
    ],
    is_innocent: false,
    needs: &[],
    ask,
};

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let Some(crowd) = Crowd::of(inquiry, &RULE) else {
        return Vec::new();
    };
    // A program that keeps all processors busy itself stands in nobody's way.
    let share = crowd.behind_others(inquiry);
    if share < RULE.limit(inquiry, "others") {
        return Vec::new();
    }
    let foremost = crowd.foremost(inquiry);
    let title = say![
        "runnable for ",
        Piece::Time(crowd.ns),
        " while others use the CPUs"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(crowd.causes))
        .figure("ready on the path", crowd.ns as f64, "ns")
        .held(inquiry, &RULE, "behind others", share, "others")
        .told(say![
            Piece::Time(crowd.ns),
            " of the critical path runnable (waiting for a CPU)"
        ]);
    vec![match foremost {
        Some(foremost) => suspect.told(foremost),
        None => suspect,
    }]
}
