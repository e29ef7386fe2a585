//! What servers did for their clients, and loops did round by round, by names that are the same in another recording: how many, and
//! how long one took. Where a service was attached to, this is what tells whether it became slower; its wall time says nothing.

use std::collections::BTreeMap;

use timesink_analysis::loops::Loop;
use timesink_analysis::operations::{Kind, Set};
use timesink_recording::words::Detail;
use timesink_story::Story;

use crate::code::function_name;
use crate::digest::program_name;
use crate::{Digest, Thing};

/// What is done again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recurrence {
    pub program: String,
    pub what: RecurrenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecurrenceKind {
    /// Operations of a kind, with the address that is served or asked.
    Operations { kind: Kind, thing: Thing },
    /// Rounds of a loop in this function.
    LoopIn(String),
    /// Rounds of a loop in no function that is known, with what is waited for in one.
    Loop(Vec<(Detail, Thing)>),
}

/// How often, and how long one takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecurrenceTimes {
    pub count: u64,
    /// So many a second, between the first and the last.
    pub rate: Option<f64>,
    pub p50_ns: u64,
    /// Not known of loops.
    pub p99_ns: Option<u64>,
    /// Of all.
    pub ns: u64,
}

/// The same in two recordings; `None` where one has none.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrenceDifference {
    pub recurrence: Recurrence,
    pub a: Option<RecurrenceTimes>,
    pub b: Option<RecurrenceTimes>,
}

impl RecurrenceDifference {
    /// By how much the time of all together differs that is not explained by how many there are; where one side has none, all of it.
    fn by_each_ns(&self) -> u64 {
        match (self.a, self.b) {
            (Some(a), Some(b)) => {
                let each = a.p50_ns.abs_diff(b.p50_ns);
                let late = a.p99_ns.unwrap_or(0).abs_diff(b.p99_ns.unwrap_or(0)) / 100;
                each.max(late).saturating_mul(a.count.min(b.count))
            }
            (Some(one), None) | (None, Some(one)) => one.ns,
            (None, None) => 0,
        }
    }
}

/// All of a recording.
pub(crate) fn recurrences(
    story: &Story<'_>,
    directory: &str,
) -> BTreeMap<Recurrence, RecurrenceTimes> {
    let mut all: BTreeMap<Recurrence, RecurrenceTimes> = BTreeMap::new();
    for told in &story.operations {
        let times = RecurrenceTimes {
            count: told.set.operations.len() as u64,
            rate: told.set.rate(),
            p50_ns: told.set.at(0.5).ns(),
            p99_ns: Some(told.set.at(0.99).ns()),
            ns: told.set.ns(),
        };
        put(&mut all, operations(story, &told.set, directory), times);
    }
    for one in &story.loops {
        let times = RecurrenceTimes {
            count: one.rounds,
            rate: None,
            p50_ns: one.median_ns,
            p99_ns: None,
            ns: one.ns,
        };
        if let Some(recurrence) = rounds(story, one, directory) {
            put(&mut all, recurrence, times);
        }
    }
    all
}

/// Of several threads that do the same the one with most of it stands for one round; they are counted together.
fn put(
    all: &mut BTreeMap<Recurrence, RecurrenceTimes>,
    recurrence: Recurrence,
    times: RecurrenceTimes,
) {
    let known = all.entry(recurrence).or_default();
    let chief = if known.ns >= times.ns { *known } else { times };
    *known = RecurrenceTimes {
        count: known.count.saturating_add(times.count),
        ns: known.ns.saturating_add(times.ns),
        rate: match (known.rate, times.rate) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        },
        ..chief
    };
}

fn operations(story: &Story<'_>, set: &Set, directory: &str) -> Recurrence {
    let facts = &story.loaded.facts;
    let first = set.addresses.first().and_then(|&id| facts.object(id));
    // What is served goes by its own end, what is asked by the other.
    let own = first.filter(|_| set.kind != Kind::Asked);
    let local = own.and_then(|object| object.local.clone());
    let thing = match (local, first) {
        (Some(local), _) => Thing::Address(local),
        (None, Some(object)) => Thing::of(object, directory),
        (None, None) => Thing::Nothing,
    };
    Recurrence {
        program: program_name(facts, set.process),
        what: RecurrenceKind::Operations {
            kind: set.kind,
            thing,
        },
    }
}

fn rounds(story: &Story<'_>, one: &Loop, directory: &str) -> Option<Recurrence> {
    let facts = &story.loaded.facts;
    let thread = facts.ledger.thread(one.thread)?;
    let code = &story.loaded.stacks.code;
    let function = one.body.iter().find_map(|step| step.function);
    let what = match function {
        Some(function) => RecurrenceKind::LoopIn(function_name(code, function)),
        None => {
            let things = one.body.iter().map(|step| {
                let object = step.object.and_then(|id| facts.object(id));
                let thing = object.map_or(Thing::Nothing, |object| Thing::of(object, directory));
                (step.detail, thing)
            });
            RecurrenceKind::Loop(things.collect())
        }
    };
    Some(Recurrence {
        program: program_name(facts, thread.row.process),
        what,
    })
}

/// What both sides do again and again, those first whose time differs most. What is left over of a program on either side, and is
/// the only one of its kind there, is taken to be the same: a server that listens elsewhere.
pub(crate) fn differences(a: &Digest, b: &Digest) -> Vec<RecurrenceDifference> {
    let mut others = b.recurrences.clone();
    let mut left = Vec::new();
    let mut all = Vec::new();
    let mut add =
        |recurrence: &Recurrence, a: Option<RecurrenceTimes>, b: Option<RecurrenceTimes>| {
            let recurrence = recurrence.clone();
            all.push(RecurrenceDifference { recurrence, a, b });
        };
    for (recurrence, &times) in &a.recurrences {
        match others.remove(recurrence) {
            Some(other) => add(recurrence, Some(times), Some(other)),
            None => left.push((recurrence, times)),
        }
    }
    for (recurrence, times) in &left {
        let alike = |other: &Recurrence| kind_of(other) == kind_of(recurrence);
        let mine = left.iter().filter(|(other, _)| alike(other)).count();
        let theirs: Vec<Recurrence> = others.keys().filter(|one| alike(one)).cloned().collect();
        let other = match theirs.as_slice() {
            [only] if mine == 1 && kind_of(recurrence).is_some() => others.remove(only),
            _ => None,
        };
        add(recurrence, Some(*times), other);
    }
    for (recurrence, &times) in &others {
        add(recurrence, None, Some(times));
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.by_each_ns()));
    all
}

/// Operations by what they are, wherever; loops are told apart by where they are alone.
fn kind_of(recurrence: &Recurrence) -> Option<(&str, Kind)> {
    match &recurrence.what {
        RecurrenceKind::Operations { kind, .. } => Some((&recurrence.program, *kind)),
        RecurrenceKind::LoopIn(_) | RecurrenceKind::Loop(_) => None,
    }
}

/// The same by the names that the other recording has for programs and things.
pub(crate) fn renamed(
    all: &mut BTreeMap<Recurrence, RecurrenceTimes>,
    program: impl Fn(String) -> String,
    thing: impl Fn(Thing) -> Thing,
) {
    for (recurrence, times) in std::mem::take(all) {
        let what = match recurrence.what {
            RecurrenceKind::Operations { kind, thing: its } => RecurrenceKind::Operations {
                kind,
                thing: thing(its),
            },
            RecurrenceKind::Loop(steps) => {
                let steps = steps.into_iter().map(|(detail, its)| (detail, thing(its)));
                RecurrenceKind::Loop(steps.collect())
            }
            RecurrenceKind::LoopIn(function) => RecurrenceKind::LoopIn(function),
        };
        let program = program(recurrence.program);
        put(all, Recurrence { program, what }, times);
    }
}
