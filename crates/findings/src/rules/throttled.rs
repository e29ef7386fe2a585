//! Threads that a quota of their cgroup holds back.

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::words::{Detail, State};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "throttled",
    looks_for: "threads that are throttled by the CPU quota of their cgroup",
    why: "A cgroup that has used up its quota gets no CPU until the next period begins, however idle the machine is.",
    advice: "raise the quota (cpu.max, or the container's limit), or run no more threads than it has room for",
    wrong_if: "the quota is intended: the rest of the machine is reserved for others",
    limits: &[&limits::TIMES],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TIMES: Limit = Limit {
        name: "times",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of times throttled",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let is = |state, detail| state == State::Ready && detail == Detail::Throttled;
    let causes =
        inquiry.causes(|key| key.state == State::Ready && key.detail == Some(Detail::Throttled));
    let Some(&longest) = causes.first() else {
        return Vec::new();
    };
    let slots = 0..inquiry.timeline.threads.len();
    let spans = slots.flat_map(|slot| inquiry.timeline.spans_of(slot));
    let held = spans.filter(|span| is(span.state, span.detail));
    let (mut count, mut ns, mut examples) = (0u64, 0u64, Vec::new());
    for span in held {
        count += 1;
        ns = ns.saturating_add(span.t1.since(span.t0));
        if examples.len() < 3 {
            examples.push(Example {
                thread: span.thread,
                at: span.t0,
            });
        }
    }
    if (count as f64) < RULE.limit(inquiry, &limits::TIMES) {
        return Vec::new();
    }
    let process = inquiry.outlook.causes[longest].cause.key.process;
    let fix = Fix::Change(Change {
        what: What::Cause {
            state: State::Ready,
            detail: Some(Detail::Throttled),
            object: None,
        },
        processes: None,
        how: How::Scale(0.0),
    });
    let title = say![
        process,
        " is throttled by the CPU quota of its cgroup for ",
        Piece::Time(inquiry.on_path_ns(&causes))
    ];
    let mut suspect = Suspect::new(title, fix, Weight::all(causes))
        .of(process)
        .held(inquiry, &RULE, "times", count as f64, &limits::TIMES)
        .figure("in all threads", ns as f64, "ns")
        .told(say![
            "its threads were throttled ",
            Piece::Count(count),
            " times, for ",
            Piece::Time(ns / count.max(1)),
            " each"
        ]);
    suspect.examples = examples;
    vec![suspect]
}
