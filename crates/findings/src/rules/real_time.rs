//! Threads that get no CPU because a real-time thread has it, which gives it up to nobody.

use std::collections::BTreeSet;

use timesink_analysis::ledger::{ThreadLedger, Who};
use timesink_analysis::timeline::real_time;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::State;

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "real-time",
    looks_for: "threads that wait for a CPU behind real-time threads",
    why: "A real-time thread (FIFO, RR, deadline) keeps its CPU until it waits. Threads of the usual policy do not run there until then, whatever their nice values.",
    advice: "run what computes for long under the usual policy (chrt --other, CPUSchedulingPolicy= of a service), or bind it to a CPU of its own",
    wrong_if: "the real-time thread has deadlines to meet, and nobody waits for this program",
    limits: &[&crowd::SHARE, &crowd::TIME, &limits::PART],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static PART: Limit = Limit {
        name: "part",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the runnable time spent waiting behind real-time threads, where the thread ahead is known; of all runnable time, half this share",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    Crowd::suspects(inquiry, &RULE, |_, program| suspect(inquiry, program))
}

fn suspect(inquiry: &Inquiry<'_>, program: ProcessId) -> Option<Suspect> {
    let processes = inquiry.of_program(program);
    let behind = Behind::of(inquiry, &processes)?;
    let part = behind.real_time_ns as f64 / behind.known_ns.max(1) as f64;
    let least = RULE.limit(inquiry, &limits::PART);
    let of_all = behind.real_time_ns as f64 / behind.ready_ns.max(1) as f64;
    if part < least || of_all < least / 2.0 {
        return None;
    }
    let causes =
        inquiry.causes(|key| key.state == State::Ready && processes.contains(&key.process));
    let ns = inquiry.on_path_ns(&causes);
    let row = &inquiry.facts.ledger.thread(behind.foremost)?.row;
    let (policy, priority) = real_time(row)?;
    let title = say![
        program,
        " waits for a CPU behind the real-time thread ",
        behind.foremost
    ];
    let suspect = Suspect::new(title, Fix::Processors, Weight::all(causes))
        .of(program)
        .held(inquiry, &RULE, "ready on the path", ns as f64, &crowd::TIME)
        .held(
            inquiry,
            &RULE,
            "behind real-time threads",
            part,
            &limits::PART,
        )
        .told(say![
            Piece::Time(ns),
            " of the critical path runnable (waiting for a CPU), ",
            Piece::Percent(part * 100.0),
            " of the time behind real-time threads"
        ])
        .told(say![
            behind.foremost,
            " runs under the policy ",
            Piece::Name(policy.to_string()),
            " with priority ",
            Piece::Name(priority.to_string()),
            ", and was on CPU for ",
            Piece::Time(row.cpu_ns)
        ]);
    Some(
        match inquiry.who_called("sched_setscheduler", row.process) {
            Some(caller) => suspect.told(say![caller, " called sched_setscheduler"]),
            None => suspect,
        },
    )
}

/// How long threads of the usual policy were runnable, how long of that it is known behind whom, and how long behind real-time ones.
struct Behind {
    ready_ns: u64,
    /// Of a long time behind many the recording does not keep them all.
    known_ns: u64,
    real_time_ns: u64,
    /// The one that kept them waiting for longest.
    foremost: ThreadId,
}

impl Behind {
    /// Of all threads of these processes; `None` if none was behind one.
    fn of(inquiry: &Inquiry<'_>, processes: &BTreeSet<ProcessId>) -> Option<Behind> {
        let ledger = &inquiry.facts.ledger;
        let is_ahead = |who: Who| match who {
            Who::Thread(other) => {
                let found = ledger.thread(other);
                found.and_then(|other| real_time(&other.row)).map(|_| other)
            }
            Who::Outsider(_) | Who::Idle | Who::Unlisted => None,
        };
        let is_usual = |thread: &&ThreadLedger| {
            processes.contains(&thread.row.process) && real_time(&thread.row).is_none()
        };
        let mut all = Behind {
            ready_ns: 0,
            known_ns: 0,
            real_time_ns: 0,
            foremost: ThreadId(0),
        };
        let mut most = 0;
        for thread in ledger.threads.iter().filter(is_usual) {
            all.ready_ns = all.ready_ns.saturating_add(thread.row.ready_ns);
            for behind in &thread.behind {
                if matches!(behind.who, Who::Thread(_) | Who::Outsider(_)) {
                    all.known_ns = all.known_ns.saturating_add(behind.ns);
                }
                let Some(other) = is_ahead(behind.who) else {
                    continue;
                };
                all.real_time_ns = all.real_time_ns.saturating_add(behind.ns);
                if behind.ns > most {
                    (most, all.foremost) = (behind.ns, other);
                }
            }
        }
        (most > 0).then_some(all)
    }
}
