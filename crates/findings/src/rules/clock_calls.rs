//! The clock, read again and again by a system call.
//!
//! Most clocks are read without one, in code that the kernel maps into each program (the vDSO). A thread's or process's own CPU time is not, nor
//! is any clock on a machine whose clock source cannot be read from a program, as on some virtual machines.

use crate::inquiry::Inquiry;
use crate::made_calls::MadeCalls;
use crate::rule::{Blames, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "clock-calls",
    looks_for: "the clock read many times by system calls",
    why: "CLOCK_MONOTONIC and CLOCK_REALTIME are read without a system call if the machine's clock source allows it; the CPU time of a thread or process never is. A call takes ten times as long and more.",
    advice: "read the clock less often, for a whole batch at once; for intervals use CLOCK_MONOTONIC in place of CPU time (thread_time, CLOCK_THREAD_CPUTIME_ID); if it is CLOCK_MONOTONIC already, look at /sys/devices/system/clocksource/clocksource0/current_clocksource: tsc needs no call",
    wrong_if: "each of these moments is needed, and no other clock will do",
    limits: &[&limits::CALLS, &limits::SHARE],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CALLS: Limit = Limit {
        name: "calls",
        value: 10_000.0,
        unit: Unit::Count,
        means: "minimum number of calls by one process",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path that they take",
    };
}

const CLOCKS: [&str; 5] = [
    "clock_gettime",
    "gettimeofday",
    "time",
    "times",
    "getrusage",
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let made = MadeCalls::all(inquiry, &CLOCKS).into_iter();
    made.filter_map(|made| suspect(inquiry, &made)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, made: &MadeCalls) -> Option<Suspect> {
    let busy = inquiry.busy(made.process);
    let on_path_ns = inquiry.on_path_ns(&busy).min(made.ns);
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let count = made.count as f64;
    if count < RULE.limit(inquiry, &limits::CALLS) || share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let title = say![
        made.process,
        " reads the clock ",
        if made.estimated { "about " } else { "" },
        Piece::Count(made.count),
        " times with a system call"
    ];
    let weight = Weight::within(busy, made.ns);
    let suspect = Suspect::new(title, made.left_out(), weight)
        .held(inquiry, &RULE, "calls", count, &limits::CALLS)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .told(say![
            "each takes ",
            Piece::Time(made.ns / made.count.max(1)),
            "; without a system call it would take some 30 ns"
        ]);
    Some(made.place(inquiry, suspect))
}
