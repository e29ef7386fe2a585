//! Threads that could run and have no processor to run on.

use crate::crowd::Crowd;
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
    let Some(crowd) = Crowd::of(of, &RULE) else {
        return Vec::new();
    };
    // A program that keeps all processors busy itself stands in nobody's way.
    let share = crowd.behind_others(of);
    if share < RULE.limit(of, "others") {
        return Vec::new();
    }
    let foremost = crowd.foremost(of);
    let title = say![
        "ready to run for ",
        Piece::Time(crowd.ns),
        ", but others have the processors"
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(crowd.causes))
        .figure("ready on the path", crowd.ns as f64, "ns")
        .held(of, &RULE, "behind others", share, "others")
        .told(say![
            Piece::Time(crowd.ns),
            " of the path ready, with no processor free"
        ]);
    vec![match foremost {
        Some(foremost) => suspect.told(foremost),
        None => suspect,
    }]
}
