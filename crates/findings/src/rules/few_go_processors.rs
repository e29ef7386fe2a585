//! Goroutines that could go on, on a machine with CPUs to spare: Go was told to use fewer.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;

use crate::awaiting::{has_goroutines, turns_of};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "few-go-processors",
    looks_for: "goroutines that could run while CPUs are idle, because GOMAXPROCS is too low",
    why: "Go runs no more goroutines at a time than GOMAXPROCS says. By default that is the number of CPUs as the program starts, or less where its control group has a limit.",
    advice: "raise GOMAXPROCS: it is lower than the number of CPUs (the environment, a call of runtime.GOMAXPROCS, a package that sets it, or a limit of the control group as the program started)",
    wrong_if: "the program is meant to leave CPUs to others",
    limits: &[&limits::QUEUED, &limits::WHOLE, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static QUEUED: Limit = Limit {
        name: "queued",
        value: 0.5,
        unit: Unit::Count,
        means: "minimum number of goroutines that could run and do not, on average",
    };
    /// What waits for a thread that is held up in the kernel leaves part of a CPU unused.
    pub static WHOLE: Limit = Limit {
        name: "whole",
        value: 0.1,
        unit: Unit::Share,
        means: "maximum difference of the CPUs that the program uses from a whole number of them",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the critical path that it is on CPU",
    };
}

/// So much of the time of its threads may be spent runnable in the kernel: then others have the CPUs.
const READY: f64 = 0.2;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let processes = inquiry.facts.ledger.processes.iter();
    let processes: BTreeSet<ProcessId> = processes.map(|known| known.row.process).collect();
    let of_go = processes
        .into_iter()
        .filter(|process| has_goroutines(inquiry, *process));
    of_go
        .filter_map(|process| suspect(inquiry, process))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId) -> Option<Suspect> {
    let own = BTreeSet::from([process]);
    // From when the first of them waits to when the last one goes on.
    let turns = turns_of(inquiry, process).filter(|turn| turn.queued_ns() > 0);
    let turns: Vec<_> = turns
        .map(|turn| (turn.t0 - turn.queued_ns() as i64, turn.t0))
        .collect();
    let from = turns.iter().map(|(from, _)| *from).min()?;
    let until = turns.iter().map(|(_, until)| *until).max()?;
    let life = until.since(from).max(1) as f64;
    let queued = turns.iter().map(|(from, until)| until.since(*from));
    let queued = queued.fold(0, u64::saturating_add) as f64 / life;
    let (mut cpu_ns, mut ready_ns) = (0u64, 0u64);
    let threads = inquiry.timeline.threads.iter().enumerate();
    for (slot, _) in threads.filter(|(_, thread)| thread.process == process) {
        for (span, ns) in inquiry.timeline.between(slot, from, until) {
            match span.state {
                State::Cpu => cpu_ns += ns,
                State::Ready => ready_ns += ns,
                _ => {}
            }
        }
    }
    let used = cpu_ns as f64 / life;
    let whole = used.round().max(1.0);
    let processors = f64::from(inquiry.outlook.processors);
    let busy = inquiry.busy(process);
    let share = inquiry.on_path_ns(&busy) as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if queued < RULE.limit(inquiry, &limits::QUEUED)
        || (used - whole).abs() > RULE.limit(inquiry, &limits::WHOLE)
        || whole >= processors
        || share < RULE.limit(inquiry, &limits::SHARE)
        || ready_ns as f64 > cpu_ns as f64 * READY
    {
        return None;
    }
    let could = (used + queued).min(processors);
    let fix = Fix::Change(Change {
        what: What::Cpu,
        processes: Some(own),
        how: How::Scale(used / could),
    });
    let title = say![
        process,
        " runs goroutines on ",
        Piece::Count(whole as u64),
        " of ",
        Piece::Count(processors as u64),
        " CPUs, while others are runnable"
    ];
    let suspect = Suspect::new(title, fix, Weight::all(busy))
        .of(process)
        .held(inquiry, &RULE, "queued", queued, &limits::QUEUED)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .figure("CPUs used", used, "")
        .told(say![
            "of the time in which goroutines could run, they waited for one of Go's processors (P) for ",
            Piece::Percent(queued * 100.0 / (used + queued))
        ]);
    Some(suspect)
}
