//! A program that has work for more processors than there are: no fault of its own, and what more of them would buy.

use crate::crowd::{self, OwnCrowd};
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
    limits: &[&crowd::SHARE, &crowd::TIME, &crowd::OTHERS, &crowd::DEMAND],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let own = OwnCrowd::of(inquiry, &RULE);
    own.map(|own| suspect(inquiry, own)).into_iter().collect()
}

fn suspect(inquiry: &Inquiry<'_>, own: OwnCrowd) -> Suspect {
    let title = say![
        "the program could use ",
        Piece::Times(own.demand),
        " the CPUs that exist"
    ];
    let ready = Weight::all(own.crowd.causes.clone());
    let suspect = Suspect::new(title, Fix::Processors, ready);
    own.held(inquiry, &RULE, suspect).told(say![
        Piece::Time(own.crowd.ns),
        " of the critical path runnable (waiting for a CPU), while its own threads used the CPUs"
    ])
}
