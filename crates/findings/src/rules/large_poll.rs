//! poll or select over so many descriptors that looking at them takes the time.

use timesink_recording::words::Language;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::made_calls::MadeCalls;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "large-poll",
    looks_for: "poll or select that look at many descriptors in each call",
    why: "poll and select look at each descriptor in each call, however few are ready, and the program looks through all of them again. epoll keeps them in the kernel, and returns those that are ready.",
    advice: "use epoll (or io_uring, or an event library that does), or ask for fewer descriptors at a time",
    wrong_if: "nearly all of the descriptors are ready each time",
    limits: &[&limits::SHARE, &limits::MS, &limits::EACH],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path on CPU in these calls",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in them",
    };
    /// Measured (2026-11-30): 525 us with 4,000 sockets, 131 ns for each of them; 0.6 us with one.
    pub static EACH: Limit = Limit {
        name: "each",
        value: 20_000.0,
        unit: Unit::Nanoseconds,
        means: "minimum time on CPU of a call, on average: that of some 150 descriptors",
    };
}

const CALLS: [&str; 4] = ["poll", "ppoll", "select", "pselect6"];
const FUNCTIONS: [&str; 3] = ["do_sys_poll", "do_select", "core_sys_select"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let is_one = |name: &str| FUNCTIONS.contains(&name);
    let polls = InCode::of(inquiry, |function| {
        function.language == Language::Kernel && is_one(&function.name)
    });
    if polls.stacks.is_empty() {
        return Vec::new();
    }
    let made = MadeCalls::all(inquiry, &CALLS).into_iter();
    made.filter_map(|made| suspect(inquiry, &made, &polls))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, made: &MadeCalls, polls: &InCode) -> Option<Suspect> {
    let polls = polls.clone().in_program(inquiry, made.process);
    let (ns, share) = polls.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    let on_cpu = polls.beside_path_ns(inquiry, Some(made.process));
    let each = on_cpu as f64 / made.count.max(1) as f64;
    if each < RULE.limit(inquiry, &limits::EACH) {
        return None;
    }
    let title = say![
        made.process,
        " looks at many descriptors ",
        Piece::Count(made.count),
        " times (poll, select), for ",
        Piece::Time(ns)
    ];
    let fix = Fix::Change(polls.scaled_in(inquiry, made.process, 0.0));
    let suspect = polls
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .held(inquiry, &RULE, "each", each, &limits::EACH)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is on CPU in these calls, ",
            Piece::Time(each as u64),
            " each"
        ]);
    Some(made.place(inquiry, suspect))
}
