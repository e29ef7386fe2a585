//! Names in one recording that mean what another name means in the other.
//!
//! Most things have the same name in both. Where exactly one of each side is left over that can only be the other's
//! counterpart, it is taken to be that: the program that was started, the one peer, a file of the same name elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::operations;
use crate::{Digest, Does, Phase, Sum, Thing, Work};

/// Names of B by what A calls them, and how much of each side has a partner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aligned {
    /// Programs and things that go by another name in B: by A's name, B's.
    pub renamed: BTreeMap<String, String>,
    /// Of the time of the path, the share that is in kinds of work that the other side has, too.
    pub a_share: f64,
    pub b_share: f64,
}

/// With less in common than this on both sides, recordings are of unlike work. A fixed form lacks most of what the slow one
/// did, but it has little that the slow one lacks: of 34 such pairs the better side had 0.61 or more.
const UNLIKE: f64 = 0.4;

impl Aligned {
    /// Gives all that is in B the names that A has for it.
    pub(crate) fn of(a: &Digest, b: &mut Digest) -> Aligned {
        let mut renamed = BTreeMap::new();
        let other_root = root_of(a, b);
        let is_same_root = other_root.is_none();
        if let Some(name) = other_root {
            renamed.insert(a.root.clone(), name);
            rename_root(a, b);
        }
        let (in_a, in_b) = (things(a), things(b));
        let mut others: BTreeMap<Thing, Thing> = BTreeMap::new();
        let mut pair = |one: &Thing, other: &Thing| {
            renamed.insert(one.name().to_owned(), other.name().to_owned());
            others.insert(other.clone(), one.clone());
        };
        let only = |mine: &BTreeSet<Thing>, theirs: &BTreeSet<Thing>| -> Vec<Thing> {
            mine.difference(theirs).cloned().collect()
        };
        let (only_a, only_b) = (only(&in_a, &in_b), only(&in_b, &in_a));
        let is_address = |thing: &&Thing| matches!(thing, Thing::Address(_));
        let addresses = |things: &[Thing]| -> Vec<Thing> {
            things.iter().filter(is_address).cloned().collect()
        };
        if let ([one], [other]) = (addresses(&only_a).as_slice(), addresses(&only_b).as_slice()) {
            pair(one, other);
        }
        let (files_a, files_b) = (by_file_name(&only_a), by_file_name(&only_b));
        for (name, paths) in &files_a {
            if let ([one], Some([other])) = (paths.as_slice(), files_b.get(name).map(Vec::as_slice))
            {
                pair(one, other);
            }
        }
        if !others.is_empty() {
            rename_things(b, &others);
        }
        Aligned {
            renamed,
            a_share: shared(a, b, is_same_root),
            b_share: shared(b, a, is_same_root),
        }
    }

    /// Whether the two do too little of the same for a comparison to say much.
    pub fn is_unlike(&self) -> bool {
        self.a_share < UNLIKE && self.b_share < UNLIKE
    }
}

/// What B's first program is called, if that is another one than A's, and neither recording has both.
fn root_of(a: &Digest, b: &Digest) -> Option<String> {
    let is_other =
        a.root != b.root && !a.programs.contains_key(&b.root) && !b.programs.contains_key(&a.root);
    is_other.then(|| b.root.clone())
}

fn rename_root(a: &Digest, b: &mut Digest) {
    let (from, to) = (
        std::mem::replace(&mut b.root, a.root.clone()),
        a.root.clone(),
    );
    if let Some(program) = b.programs.remove(&from) {
        b.programs.insert(to.clone(), program);
    }
    let program = |name: String| if name == from { to.clone() } else { name };
    let named = |work: Work| Work {
        program: program(work.program),
        does: work.does,
    };
    b.parts = std::mem::take(&mut b.parts)
        .into_iter()
        .map(|(work, sum)| (named(work), sum))
        .collect();
    b.calls = std::mem::take(&mut b.calls)
        .into_iter()
        .map(|(work, sum)| (named(work), sum))
        .collect();
    b.places = std::mem::take(&mut b.places)
        .into_iter()
        .map(|(work, place)| (named(work), place))
        .collect();
    b.phases = std::mem::take(&mut b.phases)
        .into_iter()
        .map(|(work, phase)| (named(work), phase))
        .collect();
    for found in &mut b.found {
        found.accused = std::mem::take(&mut found.accused).renamed(named);
    }
    b.roles = std::mem::take(&mut b.roles)
        .into_iter()
        .map(|(mut role, times)| {
            role.program = program(role.program);
            (role, times)
        })
        .collect();
    operations::renamed(&mut b.recurrences, program, |thing| thing);
    let items = std::mem::take(&mut b.items).into_iter();
    b.items = items
        .map(|((name, function), count)| ((program(name), function), count))
        .collect();
}

fn things(digest: &Digest) -> BTreeSet<Thing> {
    let works = digest.parts.keys().chain(digest.calls.keys());
    let things = works.filter_map(|work| match &work.does {
        Does::Calls { thing, .. } | Does::Waits { thing, .. } => Some(thing.clone()),
        _ => None,
    });
    things.collect()
}

fn by_file_name(things: &[Thing]) -> BTreeMap<&str, Vec<&Thing>> {
    let mut names: BTreeMap<&str, Vec<&Thing>> = BTreeMap::new();
    for thing in things {
        if let Thing::Path(path) = thing {
            let name = path.rsplit('/').next().unwrap_or(path);
            names.entry(name).or_default().push(thing);
        }
    }
    names
}

fn rename_things(digest: &mut Digest, others: &BTreeMap<Thing, Thing>) {
    let named = |thing: Thing| others.get(&thing).cloned().unwrap_or(thing);
    let renamed = |work: Work| Work {
        program: work.program,
        does: match work.does {
            Does::Calls { act, thing } => Does::Calls {
                act,
                thing: named(thing),
            },
            Does::Waits { detail, thing } => Does::Waits {
                detail,
                thing: named(thing),
            },
            other => other,
        },
    };
    let mut parts: BTreeMap<Work, Sum> = BTreeMap::new();
    for (work, sum) in std::mem::take(&mut digest.parts) {
        parts.entry(renamed(work)).or_default().add(sum);
    }
    digest.parts = parts;
    let mut calls = BTreeMap::new();
    for (work, sum) in std::mem::take(&mut digest.calls) {
        let known: &mut crate::CallCount = calls.entry(renamed(work)).or_default();
        known.add(&sum);
    }
    digest.calls = calls;
    let places = std::mem::take(&mut digest.places).into_iter();
    digest.places = places.map(|(work, place)| (renamed(work), place)).collect();
    let mut phases: BTreeMap<Work, Phase> = BTreeMap::new();
    for (work, phase) in std::mem::take(&mut digest.phases) {
        let known = phases.entry(renamed(work)).or_insert(phase);
        *known = known.with(phase);
    }
    digest.phases = phases;
    operations::renamed(&mut digest.recurrences, |program| program, named);
    for found in &mut digest.found {
        found.accused = std::mem::take(&mut found.accused).renamed(renamed);
    }
}

/// Of a path's time, the share in work that the other recording has, too. Code is shared if any function on the way to it is,
/// other than the one that does everything: another version calls what it needs as it likes.
fn shared(mine: &Digest, theirs: &Digest, is_same_root: bool) -> f64 {
    let mut functions: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut silent: BTreeSet<&str> = BTreeSet::new();
    for work in theirs.parts.keys() {
        if let Does::Code { chain } = &work.does {
            silent.insert(&work.program);
            functions.extend(
                telling(chain)
                    .iter()
                    .map(|f| (work.program.as_str(), f.as_str())),
            );
        }
    }
    let has = |work: &Work| match &work.does {
        Does::Code { chain } if chain.is_empty() => {
            let is_root = work.program == mine.root;
            silent.contains(work.program.as_str()) && (is_same_root || !is_root)
        }
        Does::Code { chain } => {
            let known = |f: &String| functions.contains(&(work.program.as_str(), f.as_str()));
            telling(chain).iter().any(known)
        }
        Does::Unknown => false,
        // Two programs that both wait for a CPU have nothing else in common by that.
        Does::Ready if !is_same_root => false,
        _ => theirs.parts.contains_key(work) || theirs.calls.contains_key(work),
    };
    let shared = mine.parts.iter().filter(|(work, _)| has(work));
    let shared: u128 = shared.map(|(_, sum)| u128::from(sum.ns)).sum();
    shared as f64 / mine.wall_ns.max(1) as f64
}

/// The functions of a chain without the outermost, unless that is the only one.
fn telling(chain: &[String]) -> &[String] {
    match chain {
        [_, inner @ ..] if !inner.is_empty() => inner,
        all => all,
    }
}
