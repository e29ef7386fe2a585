//! A producer that waits until somebody takes what it makes: the one to look at is who takes it.
//!
//! Where that one is recorded the path goes on to what it does, and other rules speak of that.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::What;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, WakeSource};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{waits_told, Piece};

pub static RULE: Rule = Rule {
    name: "back-pressure",
    looks_for: "a program that waits for the receiver of what it sends or writes",
    why: "The buffer between the two is full: the receiver is slower than the sender, and sets the pace for both.",
    advice: "make the receiver faster, or send it less; a larger buffer only delays the wait",
    wrong_if: "the sender is meant to be limited to the receiver's pace",
    limits: &[&limits::SHARE, &limits::WAITS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in these waits",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of waits",
    };
}

fn is_full(detail: Option<Detail>) -> bool {
    matches!(
        detail,
        Some(Detail::NetworkSend | Detail::UnixSend | Detail::PipeWrite)
    )
}

/// How long a process waits until these take what it sends.
pub fn waited_ns(inquiry: &Inquiry<'_>, process: ProcessId, objects: &BTreeSet<ObjectId>) -> u64 {
    let groups = inquiry.waits().iter();
    let own = groups.filter(|group| {
        let is_one = group.object.is_some_and(|object| objects.contains(&object));
        is_full(Some(group.detail)) && group.process == process && is_one
    });
    own.map(|group| group.ns).fold(0, u64::saturating_add)
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut on_path: BTreeMap<(ProcessId, ObjectId), Vec<usize>> = BTreeMap::new();
    for cause in inquiry.waits_on_path(|key| is_full(key.detail)) {
        let key = inquiry.outlook.causes[cause].cause.key;
        if let Some(object) = key.object {
            on_path
                .entry((key.process, object))
                .or_default()
                .push(cause);
        }
    }
    let full = on_path.into_iter();
    full.filter_map(|((process, object), causes)| suspect(inquiry, process, object, causes))
        .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    object: ObjectId,
    causes: Vec<usize>,
) -> Option<Suspect> {
    let ns = inquiry.on_path_ns(&causes);
    let share = ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let group = inquiry.waits().iter().find(|group| {
        is_full(Some(group.detail))
            && group.object == Some(object)
            && inquiry.same_program(group.process, process)
    })?;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (group.count() as f64) < RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let title = say![process, " waits ", Piece::Time(ns), " to send to ", object];
    let what = What::Waits {
        detail: Some(group.detail),
        objects: Some(BTreeSet::from([object])),
    };
    let fix = Fix::without(what, inquiry.of_program(process));
    let suspect = Suspect::new(title, fix, Weight::all(causes))
        .of(process)
        .about(Some(object))
        .seen_in(inquiry, Some(group))
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .held(
            inquiry,
            &RULE,
            "waits",
            group.count() as f64,
            &limits::WAITS,
        )
        .told(waits_told(&group.lengths));
    Some(match taker(inquiry, group.examples.first().copied()) {
        Some(name) => suspect.told(say![
            Piece::Name(name),
            " is the receiver; it was not recorded"
        ]),
        None => suspect,
    })
}

/// Who ended such a wait, if that one is not recorded and did it itself.
fn taker(
    inquiry: &Inquiry<'_>,
    example: Option<(timesink_recording::ids::ThreadId, timesink_recording::Nanos)>,
) -> Option<String> {
    let (thread, t0) = example?;
    let at = inquiry
        .timeline
        .wait_at(inquiry.timeline.slot(thread)?, t0)?;
    let span = inquiry.timeline.span(at)?;
    let tid = span
        .waker_outsider()
        .filter(|_| span.wake_source == Some(WakeSource::Thread))?;
    let outsiders = &inquiry.facts.outsiders;
    let name = outsiders.name(outsiders.process(tid));
    (!name.is_empty()).then(|| name.to_owned())
}
