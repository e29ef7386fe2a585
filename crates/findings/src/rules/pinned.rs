//! Threads that stand behind each other on few processors because somebody bound them there.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;
use timesink_recording::processors;
use timesink_recording::words::State;

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "pinned",
    looks_for: "threads that are bound to a subset of the CPUs and are runnable there",
    why: "A thread that is bound to a CPU waits for that CPU, however idle the others are.",
    advice: "do not bind the threads (sched_setaffinity, taskset, numactl, a cpuset), or give each its own CPU",
    wrong_if: "the other CPUs are reserved for another program, or as busy as these",
    limits: &[&crowd::SHARE, &crowd::TIME],
    blames: Blames::Program,
    needs: &[],
    ask,
};

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    Crowd::suspects(inquiry, &RULE, |crowd, program| {
        suspect(inquiry, crowd, program)
    })
}

fn suspect(inquiry: &Inquiry<'_>, crowd: &Crowd, program: ProcessId) -> Option<Suspect> {
    let allowed = allowed(inquiry, program)?;
    let all = inquiry.outlook.processors as usize;
    if allowed.is_empty() || allowed.len() >= all {
        return None;
    }
    let causes = inquiry
        .causes(|key| key.state == State::Ready && inquiry.same_program(key.process, program));
    let ns = inquiry.on_path_ns(&causes);
    let title = say![
        program,
        " is bound to ",
        Piece::Count(allowed.len() as u64),
        " of ",
        Piece::Count(all as u64),
        " CPUs, and its threads wait for a CPU"
    ];
    let suspect = Suspect::new(title, fix(inquiry, program), Weight::all(causes))
        .of(program)
        .figure("CPUs it may use", allowed.len() as f64, "")
        .held(inquiry, &RULE, "ready on the path", ns as f64, &crowd::TIME)
        .told(say![
            Piece::Time(ns),
            " of the critical path runnable (waiting for a CPU), bound to ",
            Piece::Name(format!("CPU {}", processors::list(allowed)))
        ]);
    let suspect = match inquiry.who_called("sched_setaffinity", program) {
        Some(caller) => suspect.told(say![caller, " called sched_setaffinity"]),
        None => suspect.told(say![
            "the affinity was inherited from the process that started it, or set by its control group"
        ]),
    };
    Some(match crowd.foremost(inquiry) {
        Some(foremost) => suspect.told(foremost),
        None => suspect,
    })
}

/// A replay shares CPUs fairly: of a thread that is nice to others of its program it does not tell how long it stands behind them. On
/// another CPU it does not at all.
fn fix(inquiry: &Inquiry<'_>, program: ProcessId) -> Fix {
    let threads = inquiry.timeline.threads.iter();
    let own = threads.filter(|thread| inquiry.same_program(thread.process, program));
    let nice: BTreeSet<i64> = own.map(|thread| thread.nice.unwrap_or(0)).collect();
    Fix::AllProcessors(match nice.len() {
        0 | 1 => Vec::new(),
        _ => Fix::without(What::Ready, inquiry.of_program(program)).changes(),
    })
}

/// The CPUs that those threads of a program may use that were runnable for long; `None` if that is not known of one of them.
fn allowed(inquiry: &Inquiry<'_>, program: ProcessId) -> Option<BTreeSet<u32>> {
    /// Who was for a smaller part of the program's time is not why.
    const PART: f64 = 0.05;
    let threads = inquiry.timeline.threads.iter();
    let own: Vec<_> = threads
        .filter(|thread| inquiry.same_program(thread.process, program))
        .collect();
    let all: u64 = own.iter().map(|thread| thread.ready_ns).sum();
    let long = own
        .iter()
        .filter(|thread| thread.ready_ns as f64 >= all as f64 * PART);
    let mut allowed = BTreeSet::new();
    for thread in long {
        allowed.extend(processors::parse(thread.allowed_processors.as_deref()?));
    }
    Some(allowed)
}
