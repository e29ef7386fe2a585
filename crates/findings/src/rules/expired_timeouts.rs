//! Waits that end because their time is over, not because what was waited for came.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::waits::{Over, WaitGroup};
use timesink_recording::words::{Detail, WakeSource};

use crate::event_loop::{self, Owed};
use crate::inquiry::Inquiry;
use crate::interpreter_lock;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "expired-timeouts",
    looks_for: "waits that end because their timeout expires",
    why: "What was waited for did not happen, and the program continued only when the timeout expired.",
    advice: "find out why nothing came: a peer that is down, a name server that does not respond, a signal that nobody sends",
    wrong_if: "the wait is a pause, and nothing is expected to end it",
    limits: &[&limits::WAITS, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of waits that timed out",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the waits with the same timeout that timed out",
    };
}

/// A timer may be a little early by the clock of the recording, and late by this: what lasted longer had another timeout.
const WHOLE: f64 = 0.95;
const LATE: f64 = 1.5;
const LATE_NS: f64 = 1e6;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let waits = inquiry.waits().iter().filter(|group| {
        matches!(
            group.detail,
            Detail::Poll
                | Detail::Condition
                | Detail::NetworkReceive
                | Detail::UnixReceive
                | Detail::Event
        )
    });
    // Who waits for Python's own lock asks for it again and again: that is another matter.
    let waits = waits.filter(|group| !interpreter_lock::is_one(inquiry, group));
    // A loop of events that nobody owes an answer waits for the program's own timers.
    let owed = Owed::of(inquiry);
    let waits = waits
        .filter(|group| !event_loop::is_one(inquiry, group.object) || owed.is_to(group.process));
    waits.filter_map(|group| suspect(inquiry, group)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let over = group.over?;
    let expired = over.expired as f64;
    if expired < RULE.limit(inquiry, &limits::WAITS)
        || expired < over.asked as f64 * RULE.limit(inquiry, &limits::SHARE)
    {
        return None;
    }
    let causes = inquiry.waits_on_path(|key| {
        key.detail == Some(group.detail)
            && key.object == group.object
            && inquiry.same_program(key.process, group.process)
    });
    let title = say![
        group.process,
        " times out in ",
        Piece::Name(group.call.clone()),
        " ",
        Piece::Count(over.expired),
        " times, after ",
        Piece::Time(over.asked_ns),
        " each"
    ];
    let picked = Picked::of(inquiry, group.process, those(inquiry, group, over));
    let fix = Fix::without(
        What::Spans(picked.spans().clone()),
        BTreeSet::from([group.process]),
    );
    let suspect = Suspect::new(title, fix, Weight::within(causes, picked.ns()))
        .of(group.process)
        .about(group.object)
        .seen_in(inquiry, Some(group))
        .held(inquiry, &RULE, "expired", expired, &limits::WAITS)
        .figure("asked for", over.asked_ns as f64, "ns")
        .told(say![
            Piece::Count(over.expired),
            " of ",
            Piece::Count(over.asked),
            " with this timeout, of ",
            Piece::Count(group.count()),
            " waits in all"
        ]);
    Some(suspect)
}

/// The waits that such a time ended.
fn those<'a>(
    inquiry: &'a Inquiry<'_>,
    group: &'a WaitGroup,
    over: Over,
) -> impl Iterator<Item = usize> + 'a {
    let waits = inquiry.single_waits(|process| process == group.process);
    let asked = over.asked_ns as f64;
    let as_asked = asked * WHOLE..=(asked * LATE).max(asked + LATE_NS);
    let of_it = waits.filter(move |(_, span)| {
        span.detail == group.detail
            && span.object() == group.object
            && span.wake_source == Some(WakeSource::Timer)
            && as_asked.contains(&(span.t1.since(span.t0) as f64))
    });
    of_it.map(|(at, _)| at)
}
