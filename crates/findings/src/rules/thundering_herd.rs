//! Many threads that are woken for one thing: one of them gets it, the others look and go back to sleep.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::herds::Herd;
use timesink_recording::words::State;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "thundering-herd",
    looks_for: "many threads woken at a time, most of them for nothing",
    why: "Each of them needs a CPU and the lock to find out that there is nothing to do, and the one that got work waits behind them.",
    advice: "wake one thread per item (signal, not broadcast; EPOLLEXCLUSIVE), or give each thread its own queue",
    wrong_if: "all of them have to be notified",
    limits: &[&limits::WAKES, &limits::SHARE, &limits::TIMES, &limits::QUICK, &limits::FOUND],
    blames: Blames::Program,
    // Woken with a call: with calls lost each of the others would seem to wake more.
    needs: &[Need::WholeCalls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAKES: Limit = Limit {
        name: "wakes",
        value: 4.0,
        unit: Unit::Count,
        means: "minimum number of threads woken by a call, on average",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.75,
        unit: Unit::Share,
        means: "minimum share of them that go back to sleep at once",
    };
    pub static TIMES: Limit = Limit {
        name: "times",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of such wake-ups",
    };
    pub static QUICK: Limit = Limit {
        name: "cpu",
        value: 50_000.0,
        unit: Unit::Nanoseconds,
        means: "maximum time on CPU before going back to sleep",
    };
    pub static FOUND: Limit = Limit {
        name: "with work",
        value: 100.0,
        unit: Unit::Count,
        means: "minimum number of wake-ups that found work; with fewer it is a barrier",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let herds = Herd::all(inquiry.timeline, RULE.limit(inquiry, &limits::QUICK) as u64);
    herds
        .iter()
        .filter_map(|herd| suspect(inquiry, herd))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, herd: &Herd) -> Option<Suspect> {
    let row = &inquiry.timeline.threads[herd.waker];
    let in_vain = herd.in_vain.len() as u64;
    let all = in_vain + herd.not_in_vain;
    let share = in_vain as f64 / all.max(1) as f64;
    if (in_vain as f64) < RULE.limit(inquiry, &limits::TIMES)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || (herd.not_in_vain as f64) < RULE.limit(inquiry, &limits::FOUND)
    {
        return None;
    }
    let calls = inquiry.waited.calls.iter();
    let calls = calls.filter(|call| call.thread == row.thread && call.call == "futex");
    let calls: u64 = calls.map(|call| call.count).sum();
    let each = herd.wakes as f64 / calls.max(1) as f64;
    if calls == 0 || each < RULE.limit(inquiry, &limits::WAKES) {
        return None;
    }
    let title = say![
        row.thread,
        " wakes ",
        Piece::Count(herd.woken.len() as u64),
        " threads at a time, ",
        Piece::Percent(share * 100.0),
        " of them for nothing"
    ];
    let spans = herd.in_vain.iter().cloned().flatten();
    let fix = Fix::Change(Change {
        what: What::Spans(spans.collect()),
        processes: Some(BTreeSet::from([row.process])),
        how: How::Never,
    });
    let causes = inquiry.causes(|key| {
        matches!(key.state, State::Cpu | State::Ready)
            && inquiry.same_program(key.process, row.process)
    });
    let ns: u64 = herd.in_vain_ns.iter().sum();
    let group = inquiry.waits().iter().find(|group| {
        group.process == row.process
            && group
                .object
                .is_some_and(|object| herd.objects.contains(&object))
    });
    let suspect = Suspect::new(title, fix, Weight::within(causes, ns))
        .of(row.process)
        .about(herd.objects.first().copied())
        .seen_in(inquiry, group)
        .held(inquiry, &RULE, "woken with a call", each, &limits::WAKES)
        .held(inquiry, &RULE, "for nothing", share, &limits::SHARE)
        .held(inquiry, &RULE, "times", in_vain as f64, &limits::TIMES)
        .told(say![
            Piece::Count(in_vain),
            " times a thread goes back to sleep after ",
            Piece::Time(ns / in_vain.max(1)),
            " on CPU"
        ])
        .told(say![
            Piece::Count(herd.wakes),
            " wake-ups by ",
            Piece::Count(calls),
            " calls"
        ]);
    let starts = herd.in_vain.iter().map(|spans| spans.start);
    Some(suspect.shown_at(inquiry, starts))
}
