//! What servers did for their clients, and loops did round by round, by names that are the same in another recording: how many, and
//! how long one took. Where a service was attached to, this is what tells whether it became slower; its wall time says nothing.

use std::collections::BTreeMap;

use timesink_analysis::loops::Loop;
use timesink_analysis::operations::{Kind, Set};
use timesink_recording::ids::ThreadId;
use timesink_recording::words::Detail;
use timesink_story::Story;

use crate::code::function_name;
use crate::digest::program_name;
use crate::{Digest, Thing};

/// What is done again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Again {
    pub program: String,
    pub what: AgainWhat,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgainWhat {
    /// Operations of a kind, with the address that is served or asked.
    Operations { kind: Kind, thing: Thing },
    /// Rounds of a loop in this function.
    LoopIn(String),
    /// Rounds of a loop in no function that is known, with what is waited for in one.
    Loop(Vec<(Detail, Thing)>),
}

/// How often, and how long one takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AgainTimes {
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
pub struct AgainDifference {
    pub again: Again,
    pub a: Option<AgainTimes>,
    pub b: Option<AgainTimes>,
}

impl AgainDifference {
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
pub(crate) fn again(story: &Story<'_>, directory: &str) -> BTreeMap<Again, AgainTimes> {
    let mut all: BTreeMap<Again, AgainTimes> = BTreeMap::new();
    for told in &story.operations {
        let times = AgainTimes {
            count: told.set.operations.len() as u64,
            rate: told.set.rate(),
            p50_ns: told.set.at(0.5).ns(),
            p99_ns: Some(told.set.at(0.99).ns()),
            ns: told.set.ns(),
        };
        put(&mut all, operations(story, &told.set, directory), times);
    }
    for one in &story.loops {
        let times = AgainTimes {
            count: one.rounds,
            rate: None,
            p50_ns: one.median_ns,
            p99_ns: None,
            ns: one.ns,
        };
        if let Some(again) = rounds(story, one, directory) {
            put(&mut all, again, times);
        }
    }
    all
}

/// Of several threads that do the same the one with most of it stands for one round; they are counted together.
fn put(all: &mut BTreeMap<Again, AgainTimes>, again: Again, times: AgainTimes) {
    let known = all.entry(again).or_default();
    let chief = if known.ns >= times.ns { *known } else { times };
    *known = AgainTimes {
        count: known.count.saturating_add(times.count),
        ns: known.ns.saturating_add(times.ns),
        rate: match (known.rate, times.rate) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        },
        ..chief
    };
}

fn operations(story: &Story<'_>, set: &Set, directory: &str) -> Again {
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
    Again {
        program: program_name(facts, set.process),
        what: AgainWhat::Operations {
            kind: set.kind,
            thing,
        },
    }
}

fn rounds(story: &Story<'_>, one: &Loop, directory: &str) -> Option<Again> {
    let facts = &story.loaded.facts;
    let is_it = |thread: ThreadId| thread == one.thread;
    let threads = &facts.ledger.threads;
    let thread = threads.iter().find(|row| is_it(row.row.thread))?;
    let code = &story.loaded.stacks.code;
    let function = one.body.iter().find_map(|step| step.function);
    let what = match function {
        Some(function) => AgainWhat::LoopIn(function_name(code, function)),
        None => {
            let things = one.body.iter().map(|step| {
                let object = step.object.and_then(|id| facts.object(id));
                let thing = object.map_or(Thing::Nothing, |object| Thing::of(object, directory));
                (step.detail, thing)
            });
            AgainWhat::Loop(things.collect())
        }
    };
    Some(Again {
        program: program_name(facts, thread.row.process),
        what,
    })
}

/// What both sides do again and again, those first whose time differs most. What is left over of a program on either side, and is
/// the only one of its kind there, is taken to be the same: a server that listens elsewhere.
pub(crate) fn differences(a: &Digest, b: &Digest) -> Vec<AgainDifference> {
    let mut others = b.again.clone();
    let mut left = Vec::new();
    let mut all = Vec::new();
    let mut add = |again: &Again, a: Option<AgainTimes>, b: Option<AgainTimes>| {
        let again = again.clone();
        all.push(AgainDifference { again, a, b });
    };
    for (again, &times) in &a.again {
        match others.remove(again) {
            Some(other) => add(again, Some(times), Some(other)),
            None => left.push((again, times)),
        }
    }
    for (again, times) in &left {
        let alike = |other: &Again| kind_of(other) == kind_of(again);
        let mine = left.iter().filter(|(other, _)| alike(other)).count();
        let theirs: Vec<Again> = others.keys().filter(|one| alike(one)).cloned().collect();
        let other = match theirs.as_slice() {
            [only] if mine == 1 && kind_of(again).is_some() => others.remove(only),
            _ => None,
        };
        add(again, Some(*times), other);
    }
    for (again, &times) in &others {
        add(again, None, Some(times));
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.by_each_ns()));
    all
}

/// Operations by what they are, wherever; loops are told apart by where they are alone.
fn kind_of(again: &Again) -> Option<(&str, Kind)> {
    match &again.what {
        AgainWhat::Operations { kind, .. } => Some((&again.program, *kind)),
        AgainWhat::LoopIn(_) | AgainWhat::Loop(_) => None,
    }
}

/// The same by the names that the other recording has for programs and things.
pub(crate) fn renamed(
    all: &mut BTreeMap<Again, AgainTimes>,
    program: impl Fn(String) -> String,
    thing: impl Fn(Thing) -> Thing,
) {
    for (again, times) in std::mem::take(all) {
        let what = match again.what {
            AgainWhat::Operations { kind, thing: its } => AgainWhat::Operations {
                kind,
                thing: thing(its),
            },
            AgainWhat::Loop(steps) => {
                let steps = steps.into_iter().map(|(detail, its)| (detail, thing(its)));
                AgainWhat::Loop(steps.collect())
            }
            AgainWhat::LoopIn(function) => AgainWhat::LoopIn(function),
        };
        let program = program(again.program);
        put(all, Again { program, what }, times);
    }
}
