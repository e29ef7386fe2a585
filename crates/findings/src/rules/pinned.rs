//! Threads that stand behind each other on few processors because somebody bound them there.
//!
//! What threads may use is not recorded; that somebody said so is, and that they used nothing else.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "pinned",
    looks_for: "threads that are bound to a subset of the CPUs and wait for each other there",
    why: "A thread that is bound to a CPU waits for that CPU, however idle the others are.",
    advice:
        "do not bind the threads (sched_setaffinity, taskset, numactl), or give each its own CPU",
    wrong_if: "the other CPUs are reserved for another program",
    limits: &[&crowd::SHARE, &crowd::TIME, &limits::ELSEWHERE],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static ELSEWHERE: Limit = Limit {
        name: "elsewhere",
        value: 0.02,
        unit: Unit::Share,
        means: "maximum share of its time on CPU spent on any other CPU",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let programs = Crowd::of(inquiry, &RULE).map(|crowd| crowd.programs(inquiry));
    let programs = programs.into_iter().flatten();
    programs
        .filter_map(|program| suspect(inquiry, program))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, program: ProcessId) -> Option<Suspect> {
    let caller = inquiry.who_called("sched_setaffinity", program)?;
    let used = used(inquiry, program);
    let all = inquiry.outlook.processors as usize;
    if used.is_empty() || used.len() >= all {
        return None;
    }
    let causes = inquiry
        .causes(|key| key.state == State::Ready && inquiry.same_program(key.process, program));
    let ns = inquiry.on_path_ns(&causes);
    let title = say![
        program,
        " may use ",
        Piece::Count(used.len() as u64),
        " of ",
        Piece::Count(all as u64),
        " CPUs, and its threads wait for each other there"
    ];
    let suspect = Suspect::new(title, Fix::AllProcessors, Weight::all(causes))
        .of(program)
        .figure("processors used", used.len() as f64, "")
        .held(inquiry, &RULE, "ready on the path", ns as f64, &crowd::TIME)
        .told(say![
            Piece::Time(ns),
            " of the critical path runnable (waiting for a CPU)"
        ])
        .told(say![caller, " called sched_setaffinity"]);
    Some(suspect)
}

/// The processors that the processes of a program used, but for a moment.
fn used(inquiry: &Inquiry<'_>, program: ProcessId) -> BTreeSet<u32> {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
        if inquiry.same_program(thread.process, program) {
            for span in inquiry
                .timeline
                .spans_of(slot)
                .iter()
                .filter(|span| span.state == State::Cpu)
            {
                *sums.entry(span.processor).or_default() += span.t1.since(span.t0);
            }
        }
    }
    let all: u64 = sums.values().sum();
    let least = all as f64 * RULE.limit(inquiry, &limits::ELSEWHERE);
    let used = sums.into_iter().filter(|(_, ns)| *ns as f64 > least);
    used.map(|(processor, _)| processor).collect()
}
