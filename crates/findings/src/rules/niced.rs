//! A program that gives way to others because of its nice value, and is what the end waits for.

use timesink_analysis::ledger::{ThreadLedger, Who};
use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;

use crate::crowd::{self, Crowd};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "niced",
    looks_for: "a program that yields to others because of its nice value",
    why: "The kernel shares a CPU by nice value: beside a program with nice 0, one with nice 5 gets a quarter of the CPU, one with nice 19 a seventieth.",
    advice: "run it without nice (nice, renice, Nice= of a service), or when the others have finished",
    wrong_if: "it is meant to yield: nobody waits for it",
    limits: &[&crowd::SHARE, &crowd::TIME, &limits::NICE, &limits::MORE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static NICE: Limit = Limit {
        name: "nice",
        value: 1.0,
        unit: Unit::Count,
        means: "minimum nice value",
    };
    pub static MORE: Limit = Limit {
        name: "ratio",
        value: 1.5,
        unit: Unit::Ratio,
        means: "minimum ratio of the time others had its CPU to an equal share",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    Crowd::suspects(inquiry, &RULE, |_, program| suspect(inquiry, program))
}

fn suspect(inquiry: &Inquiry<'_>, program: ProcessId) -> Option<Suspect> {
    let processes = inquiry.of_program(program);
    let threads = inquiry.facts.ledger.threads.iter();
    let own = threads.filter(|thread| processes.contains(&thread.row.process));
    let thread = own.max_by_key(|thread| (thread.row.ready_ns, thread.row.thread))?;
    let nice = thread.row.nice?;
    if (nice as f64) < RULE.limit(inquiry, &limits::NICE) {
        return None;
    }
    let before = before(inquiry, thread, nice)?;
    let alike_ns = before.at_a_time * thread.row.cpu_ns as f64;
    let more = before.ns as f64 / alike_ns.max(1.0);
    if more < RULE.limit(inquiry, &limits::MORE) {
        return None;
    }
    let causes =
        inquiry.causes(|key| key.state == State::Ready && processes.contains(&key.process));
    let ns = inquiry.on_path_ns(&causes);
    let process = thread.row.process;
    let title = say![
        process,
        " runs with nice ",
        Piece::Name(nice.to_string()),
        " while others use its CPU"
    ];
    let ready_ns = thread.row.ready_ns.max(1) as f64;
    let left = 1.0 - (before.ns as f64 - alike_ns) / ready_ns;
    let fix = Fix::scaled(What::Ready, processes, left.clamp(0.0, 1.0)).or_at_most(0.0);
    let suspect = Suspect::new(title, fix, Weight::all(causes))
        .of(process)
        .held(inquiry, &RULE, "ready on the path", ns as f64, &crowd::TIME)
        .held(inquiry, &RULE, "nice", nice as f64, &limits::NICE)
        .held(
            inquiry,
            &RULE,
            "times as long as itself",
            more,
            &limits::MORE,
        )
        .told(say![
            Piece::Time(ns),
            " of the critical path runnable (waiting for a CPU)"
        ])
        .told(say![
            "others, mostly ",
            before.foremost,
            ", had its CPU for ",
            Piece::Time(before.ns),
            ", the program itself for ",
            Piece::Time(thread.row.cpu_ns)
        ]);
    Some(match inquiry.who_called("setpriority", process) {
        Some(caller) => suspect.told(say![caller, " called setpriority"]),
        None => suspect.told(say![
            "the nice value was inherited from the process that started it"
        ]),
    })
}

/// Those who had the processor while a thread was ready for it, and give way less.
struct Before {
    /// Who had it for longest.
    foremost: Piece,
    /// For how long they all had it.
    ns: u64,
    /// How many of them took turns with the thread, on average.
    at_a_time: f64,
}

/// What is shorter is the switch itself.
const SHORT_NS: u64 = 50_000;

/// Of who is not recorded it is not known how much it gives way; that it had more than its part tells.
fn before(inquiry: &Inquiry<'_>, thread: &ThreadLedger, nice: i64) -> Option<Before> {
    let gives_way_less = |who: Who| match who {
        Who::Thread(other) => {
            let slot = inquiry.timeline.slot(other);
            let row = slot.map(|slot| &inquiry.timeline.threads[slot]);
            row.is_some_and(|row| {
                row.process != thread.row.process && row.nice.is_some_and(|its| its < nice)
            })
        }
        Who::Outsider(_) => true,
        Who::Idle | Who::Unlisted => false,
    };
    let behind = thread.behind.iter();
    let others = behind.filter(|behind| gives_way_less(behind.who));
    let each = others.clone().map(|behind| behind.ns);
    let ns = each.fold(0, u64::saturating_add);
    let most = others.max_by_key(|behind| (behind.ns, behind.who))?;
    let foremost = match most.who {
        Who::Thread(other) => Piece::from(other),
        Who::Outsider(tid) => Piece::Name(inquiry.facts.outsiders.name(tid).to_owned()),
        Who::Idle | Who::Unlisted => return None,
    };
    let spans = inquiry
        .timeline
        .spans_of(inquiry.timeline.slot(thread.row.thread)?);
    let long = spans
        .iter()
        .filter(|span| span.state == State::Ready && span.t1.since(span.t0) >= SHORT_NS);
    // By time, not by heads: many run for a moment, and are none that it shares with.
    let turn = ns as f64 / long.count().max(1) as f64;
    let its_part = most.ns as f64 / most.count.max(1) as f64;
    Some(Before {
        foremost,
        ns,
        at_a_time: (turn / its_part).max(1.0),
    })
}
