//! Two sides beside each other: differences that add up to the difference of the wall times, the largest first.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::difference;
use crate::code::Tree;
use crate::operations;
use crate::predicted::{sides, Prediction, Side};
use crate::roles;
use crate::spread::middle;
use crate::together::{together, Measured};
use crate::{
    Act, Aligned, CallCount, CallDifference, Digest, Does, Effect, Found, Phase, Range,
    RecurrenceDifference, RoleDifference, Sum, Thing, Work,
};

/// The wall times of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wall {
    /// Of the recordings that stand for their sides: those in the middle.
    pub a_ns: u64,
    pub b_ns: u64,
    /// Of all recordings of a side.
    pub a: Range,
    pub b: Range,
}

impl Wall {
    /// B minus A.
    pub fn difference_ns(&self) -> i64 {
        difference(self.a_ns, self.b_ns)
    }

    /// Whether the sides are no further apart than recordings of one side are.
    pub fn is_within_spread(&self) -> bool {
        self.a.overlaps(&self.b)
    }
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// All that the processes of a program do, of which there are more or fewer.
    Processes,
    Work(Does),
    /// Code of a program that is in none of its other rows.
    OtherCode,
}

/// How much of one side a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// On the path.
    pub ns: u64,
    /// How often, if that was counted.
    pub count: Option<u64>,
    /// Counted for part of the time only: it happened at least so often, and how often beyond that is guessed.
    pub is_estimated: bool,
    pub at_least: u64,
    /// Things that it was done to.
    pub objects: u64,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub program: String,
    /// What the program is called in B, if it has another name there.
    pub program_in_b: Option<String>,
    pub about: Difference,
    /// The function that most of it was seen in.
    pub place: Option<String>,
    pub a: Total,
    pub b: Total,
    pub effect: Effect,
    /// Of all recordings of a side.
    pub a_range: Range,
    pub b_range: Range,
    /// Whether counts are waits on the path, and not what was called.
    pub counts_waits: bool,
    /// What else was done for the same items on both sides, the most first: its time is in that of the row.
    pub with: Vec<With>,
}

/// What is done so many times for each time of what names its row, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub about: Difference,
    pub times: f64,
}

impl Row {
    /// B minus A.
    pub fn difference_ns(&self) -> i64 {
        difference(self.a.ns, self.b.ns)
    }

    pub fn is_within_spread(&self) -> bool {
        self.a_range.overlaps(&self.b_range)
    }

    /// Whether it only says that a program took longer: in the function that does everything, in all that no other row is
    /// about, or because others had the processors. It is told after what explains something.
    pub fn is_rest(&self) -> bool {
        match &self.about {
            Difference::OtherCode => true,
            Difference::Work(Does::Code { chain }) => chain.len() < 2 && self.a.count.is_none(),
            Difference::Work(does) => matches!(does, Does::Ready | Does::Exit),
            Difference::Processes => false,
        }
    }
}

/// Two sides.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub wall: Wall,
    pub aligned: Aligned,
    /// What explains most of the difference first; what goes against it last. They add up to it with what is not attributed.
    pub rows: Vec<Row>,
    /// The path is not known there.
    pub not_attributed: Row,
    /// By how much time they took more or less, the most first.
    pub calls: Vec<CallDifference>,
    /// All threads by the part that they have in their program, those first whose time differs most.
    pub roles: Vec<RoleDifference>,
    /// Operations and loops, those first of which one takes longer or less long, as often as there are.
    pub recurrences: Vec<RecurrenceDifference>,
    pub findings: Vec<(Side, Found)>,
    pub prediction: Option<Prediction>,
    /// Those that stand for their sides. B goes by A's names.
    pub a: Digest,
    pub b: Digest,
}

impl Comparison {
    /// Compares one recording or several of each side; `None` if a side has none.
    pub fn of(mut a: Vec<Digest>, mut b: Vec<Digest>) -> Option<Comparison> {
        let walls = |side: &[Digest]| side.iter().map(|one| one.wall_ns).collect::<Vec<_>>();
        let (a_walls, b_walls) = (walls(&a), walls(&b));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let first = a.swap_remove(middle(&a_walls));
        let mut second = b.swap_remove(middle(&b_walls));
        let aligned = Aligned::of(&first, &mut second);
        for other in a.iter_mut().chain(&mut b) {
            Aligned::of(&first, other);
        }
        let groups = groups(&first, &second);
        let measured = |group: &Group| group.measured((&first, &a), (&second, &b));
        let accused = [first.found.as_slice(), second.found.as_slice()];
        let mut rows = together(groups.iter().map(measured).collect(), accused);
        for row in rows.iter_mut().filter(|row| row.program == first.root) {
            row.program_in_b = aligned.renamed.get(&first.root).cloned();
        }
        let not_attributed = measured(&Group::unknown(&first, &second)).row();
        let wall = Wall {
            a_ns: first.wall_ns,
            b_ns: second.wall_ns,
            a: Range::of(a_walls.into_iter()),
            b: Range::of(b_walls.into_iter()),
        };
        let sign = if wall.difference_ns() < 0 { -1 } else { 1 };
        rows.retain(|row| row.a.ns > 0 || row.b.ns > 0);
        rows.sort_by(|one, other| {
            let explains =
                |row: &Row| (row.is_rest(), std::cmp::Reverse(row.difference_ns() * sign));
            let name = |row: &Row| (row.program.clone(), row.about.clone());
            explains(one)
                .cmp(&explains(other))
                .then_with(|| name(one).cmp(&name(other)))
        });
        let findings = sides(&first.found, &second.found);
        // What was predicted of one work says nothing of another.
        let prediction = Prediction::of(&findings, wall.a_ns, wall.b_ns);
        let prediction = prediction.filter(|_| !aligned.is_unlike());
        Some(Comparison {
            aligned,
            rows,
            not_attributed,
            calls: calls(&first, &second),
            roles: roles::differences(&first, &second),
            recurrences: operations::differences(&first, &second),
            prediction,
            findings,
            wall,
            a: first,
            b: second,
        })
    }
}

impl Comparison {
    /// What a program does that is most of how many more or fewer system calls there are; `None` if no one thing is.
    pub fn most_of_calls(&self) -> Option<CallDifference> {
        let mut acts: BTreeMap<(&str, &Act), (CallCount, CallCount, BTreeSet<&Thing>)> =
            BTreeMap::new();
        let mut whole = 0;
        for one in &self.calls {
            whole = difference(one.a.count, one.b.count).saturating_add(whole);
            if let Does::Calls { act, thing } = &one.work.does {
                let (a, b, things) = acts.entry((&one.work.program, act)).or_default();
                a.add(&one.a);
                b.add(&one.b);
                things.insert(thing);
            }
        }
        let share = |a: &CallCount, b: &CallCount| {
            difference(a.count, b.count) as f64 / whole.unsigned_abs().max(1) as f64
        };
        let sign = if whole < 0 { -1.0 } else { 1.0 };
        let most = acts.into_iter().max_by(|(_, one), (_, other)| {
            let (one, other) = (share(&one.0, &one.1), share(&other.0, &other.1));
            (one * sign).total_cmp(&(other * sign))
        });
        let ((program, act), (a, b, things)) = most?;
        let thing = match things.first() {
            Some(&thing) if things.len() == 1 => thing.clone(),
            _ => Thing::Several,
        };
        let work = Work {
            program: program.to_owned(),
            does: Does::calls(act.clone(), thing),
        };
        (share(&a, &b) * sign > 0.5).then_some(CallDifference { work, a, b })
    }
}

/// Which parts of a path a row is made of.
struct Group {
    program: String,
    about: Difference,
    works: BTreeSet<Work>,
    /// What code begins with, if it is code: one of these.
    chains: Vec<Vec<String>>,
    /// Code that begins with none of these.
    but: Vec<Vec<String>>,
}

impl Group {
    fn new(program: &str, about: Difference) -> Group {
        Group {
            program: program.to_owned(),
            about,
            works: BTreeSet::new(),
            chains: Vec::new(),
            but: Vec::new(),
        }
    }

    fn unknown(a: &Digest, b: &Digest) -> Group {
        let mut group = Group::new("", Difference::Work(Does::Unknown));
        let works = a.parts.keys().chain(b.parts.keys());
        let unknown = works.filter(|work| work.does == Does::Unknown);
        group.works = unknown.cloned().collect();
        group
    }

    fn sum(&self, of: &Digest) -> Sum {
        let mut sum = Sum::default();
        if self.about == Difference::Processes || !self.chains.is_empty() || !self.but.is_empty() {
            for (_, part) in of.parts.iter().filter(|(work, _)| self.has(work)) {
                sum.add(*part);
            }
            return sum;
        }
        for part in self.works.iter().filter_map(|work| of.parts.get(work)) {
            sum.add(*part);
        }
        sum
    }

    fn has(&self, work: &Work) -> bool {
        if work.program != self.program || work.does == Does::Unknown {
            return false;
        }
        if self.about == Difference::Processes {
            return true;
        }
        let Does::Code { chain } = &work.does else {
            return false;
        };
        let begins = |chains: &[Vec<String>]| chains.iter().any(|begin| chain.starts_with(begin));
        match self.chains.is_empty() {
            false => begins(&self.chains),
            true => !chain.is_empty() && !begins(&self.but),
        }
    }

    fn called(&self, of: &Digest) -> CallCount {
        let mut count = CallCount::default();
        for sum in self.works.iter().filter_map(|work| of.calls.get(work)) {
            count.add(sum);
        }
        count
    }

    fn measured(&self, a: (&Digest, &[Digest]), b: (&Digest, &[Digest])) -> Measured {
        let (a_sum, b_sum) = (self.sum(a.0), self.sum(b.0));
        let (mut a_total, mut b_total, counts_waits) = self.counted((a.0, a_sum), (b.0, b_sum));
        a_total.ns = a_sum.ns;
        b_total.ns = b_sum.ns;
        let all = |(one, others): (&Digest, &[Digest])| -> Vec<u64> {
            let all = std::iter::once(one).chain(others);
            all.map(|digest| self.sum(digest).ns).collect()
        };
        Measured {
            program: self.program.clone(),
            about: self.about.clone(),
            place: self.place(a.0, b.0),
            a: a_total,
            b: b_total,
            a_all: all(a),
            b_all: all(b),
            counts_waits,
            works: self.works.clone(),
            phases: (self.phase(a.0), self.phase(b.0)),
        }
    }

    /// From when until when any of it was seen.
    fn phase(&self, digest: &Digest) -> Option<Phase> {
        let phases = self.works.iter();
        let phases = phases.filter_map(|work| digest.phases.get(work));
        phases.copied().reduce(Phase::with)
    }

    /// How often it was done on both sides, by the same measure.
    fn counted(&self, a: (&Digest, Sum), b: (&Digest, Sum)) -> (Total, Total, bool) {
        let counted = |a: u64, b: u64| {
            let total = |count| Total {
                count: Some(count),
                ..Total::default()
            };
            (total(a), total(b), false)
        };
        let of_program = |digest: &Digest| {
            let program = digest.programs.get(&self.program);
            program.cloned().unwrap_or_default()
        };
        let not_counted = (Total::default(), Total::default(), false);
        match &self.about {
            Difference::Processes => counted(of_program(a.0).processes, of_program(b.0).processes),
            Difference::OtherCode => not_counted,
            Difference::Work(does) => match does {
                Does::PageFaults => {
                    counted(of_program(a.0).page_faults, of_program(b.0).page_faults)
                }
                Does::Code { chain } => match self.items(chain, a.0, b.0) {
                    Some((a, b)) => counted(a, b),
                    None => not_counted,
                },
                Does::Calls { .. } => self.calls(a, b),
                Does::Waits { .. } | Does::Ready => {
                    let (a, b, _) = counted(a.1.waits, b.1.waits);
                    (a, b, true)
                }
                Does::Throttled | Does::Exit | Does::Unknown => not_counted,
            },
        }
    }

    /// Calls that were made, where they were counted; else waits in them.
    fn calls(&self, a: (&Digest, Sum), b: (&Digest, Sum)) -> (Total, Total, bool) {
        let (a_calls, b_calls) = (self.called(a.0), self.called(b.0));
        let total = |calls: &CallCount, count| Total {
            ns: 0,
            count: Some(count),
            is_estimated: calls.is_estimated,
            at_least: calls.at_least,
            objects: calls.objects,
        };
        let apart = |a: u64, b: u64| (a.max(1) as f64 / b.max(1) as f64).ln().abs();
        let is_called = a_calls.count > 0 || b_calls.count > 0;
        let is_counted = |digest: &Digest| digest.weather.has_calls;
        let by_calls = is_called && is_counted(a.0) && is_counted(b.0);
        // Calls may be as many on both sides and be waited for one after the other on one only. Where none of them was waited for on
        // one side, that does not make them new or gone.
        let by_waits = a.1.waits.min(b.1.waits) > 0
            && apart(a.1.waits, b.1.waits) > OVERLAPPED
            && apart(a_calls.count, b_calls.count) < AS_MANY;
        match by_calls && !by_waits {
            true => (
                total(&a_calls, a_calls.count),
                total(&b_calls, b_calls.count),
                false,
            ),
            false => (
                total(&CallCount::default(), a.1.waits),
                total(&CallCount::default(), b.1.waits),
                true,
            ),
        }
    }

    /// How often the innermost of these functions of which both say so did what it does again and again.
    fn items(&self, chain: &[String], a: &Digest, b: &Digest) -> Option<(u64, u64)> {
        let item = |digest: &Digest, function: &String| {
            let key = (self.program.clone(), function.clone());
            digest.items.get(&key).copied()
        };
        chain
            .iter()
            .rev()
            .find_map(|function| Some((item(a, function)?, item(b, function)?)))
    }

    /// The function that most of it was seen in, on the side that has more of it.
    fn place(&self, a: &Digest, b: &Digest) -> Option<String> {
        let longest = |digest: &Digest| {
            let parts = self.works.iter();
            let parts = parts.filter_map(|work| Some((digest.parts.get(work)?.ns, work)));
            let (ns, work) = parts.max()?;
            Some((ns, digest.places.get(work)?.clone()))
        };
        let (a, b) = (longest(a), longest(b));
        let most = a.into_iter().chain(b).max_by_key(|(ns, _)| *ns);
        most.map(|(_, place)| place)
    }
}

/// Of waits on the path this is another number (a factor of 1.5), and of calls the same (a tenth).
const OVERLAPPED: f64 = 0.4;
const AS_MANY: f64 = 0.1;

/// Parts of both sides, put together as far as they tell the same.
fn groups(a: &Digest, b: &Digest) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut programs: BTreeMap<&str, BTreeSet<&Work>> = BTreeMap::new();
    for work in a.parts.keys().chain(b.parts.keys()) {
        if work.does != Does::Unknown {
            programs.entry(&work.program).or_default().insert(work);
        }
    }
    for (program, works) in programs {
        if is_by_processes(program, a, b) {
            let mut group = Group::new(program, Difference::Processes);
            group.works = works.into_iter().cloned().collect();
            groups.push(group);
            continue;
        }
        groups.extend(of_code(program, &works, a, b));
        groups.extend(of_calls(program, &works, a, b));
        for work in works {
            if !matches!(work.does, Does::Code { .. } | Does::Calls { .. }) {
                let mut group = Group::new(program, Difference::Work(work.does.clone()));
                group.works.insert(work.clone());
                groups.push(group);
            }
        }
    }
    groups
}

/// So many times as many processes of a program are another number of them.
const MORE: f64 = 1.25;
/// Of the program that was started there is one at least: it is told by its processes if there are so many.
const MANY: u64 = 10;

/// Whether how many processes ran a program says more than what they did.
fn is_by_processes(program: &str, a: &Digest, b: &Digest) -> bool {
    let processes = |digest: &Digest| digest.programs.get(program).map_or(0, |p| p.processes);
    let (few, many) = {
        let (a, b) = (processes(a), processes(b));
        (a.min(b), a.max(b))
    };
    let is_root = program == a.root || program == b.root;
    many as f64 >= few as f64 * MORE && many > few && (!is_root || many >= MANY)
}

/// A program's code, divided where the difference divides.
fn of_code(program: &str, works: &BTreeSet<&Work>, a: &Digest, b: &Digest) -> Vec<Group> {
    let mut tree = Tree::default();
    let mut silent = Group::new(program, Difference::Work(Does::Code { chain: Vec::new() }));
    // What only one side could tell does not differ.
    let is_told = a.weather.has_stacks && b.weather.has_stacks;
    for work in works {
        let Does::Code { chain } = &work.does else {
            continue;
        };
        if chain.is_empty() || !is_told {
            silent.works.insert((*work).clone());
            continue;
        }
        let ns = |digest: &Digest| digest.parts.get(work).map_or(0, |sum| sum.ns);
        tree.add(chain, ns(a), false);
        tree.add(chain, ns(b), true);
    }
    let chains = tree.divided();
    let mut groups: Vec<Group> = Vec::new();
    for chain in chains.iter().filter(|chain| !chain.is_empty()) {
        // A function that is called from several places is one function all the same.
        let known = groups.iter_mut().find(|group| {
            let known = group.chains.first().and_then(|known| known.last());
            known == chain.last()
        });
        match known {
            Some(group) => group.chains.push(chain.clone()),
            None => {
                let does = Does::Code {
                    chain: chain.clone(),
                };
                let mut group = Group::new(program, Difference::Work(does));
                group.chains.push(chain.clone());
                groups.push(group);
            }
        }
    }
    if !silent.works.is_empty() {
        groups.push(silent);
    }
    if chains.iter().any(|chain| !chain.is_empty()) {
        let mut other = Group::new(program, Difference::OtherCode);
        other.but = chains;
        groups.push(other);
    }
    groups
}

/// Of the change of all such calls so much is a thing's own for it to be told alone.
const OWN: f64 = 0.4;

/// A program's calls by what they do: to one thing each where that tells most, else to all of them.
fn of_calls(program: &str, works: &BTreeSet<&Work>, a: &Digest, b: &Digest) -> Vec<Group> {
    let mut acts: BTreeMap<&Act, Vec<(&Thing, &Work)>> = BTreeMap::new();
    for work in works {
        if let Does::Calls { act, thing } = &work.does {
            acts.entry(act).or_default().push((thing, work));
        }
    }
    let moved = |work: &Work| {
        let ns = |digest: &Digest| digest.parts.get(work).map_or(0, |sum| sum.ns);
        ns(a).abs_diff(ns(b))
    };
    let mut groups = Vec::new();
    for (act, things) in acts {
        let all = things.iter().map(|(_, work)| moved(work));
        let all = all.fold(0, u64::saturating_add);
        let is_only = things.len() == 1;
        // What a finding is about is told alone, too.
        let is_own = |work: &Work| {
            let is_most = is_only || moved(work) as f64 >= all as f64 * OWN;
            is_most || a.accuses(work) || b.accuses(work)
        };
        let about = |thing: &Thing| {
            Difference::Work(Does::Calls {
                act: act.clone(),
                thing: thing.clone(),
            })
        };
        let (own, several): (Vec<_>, Vec<_>) =
            things.into_iter().partition(|(_, work)| is_own(work));
        let mut told: Vec<(&Thing, Vec<&Work>)> = own
            .into_iter()
            .map(|(thing, work)| (thing, vec![work]))
            .collect();
        match several.as_slice() {
            [] => {}
            // What is left alone is told as what it is.
            [(thing, work)] => told.push((thing, vec![work])),
            _ => {
                let works = several.iter().map(|(_, work)| *work);
                told.push((&Thing::Several, works.collect()));
            }
        }
        for (thing, works) in told {
            let mut group = Group::new(program, about(thing));
            group.works.extend(works.into_iter().cloned());
            groups.push(group);
        }
    }
    groups
}

/// All calls of both sides, those whose time differs most first.
fn calls(a: &Digest, b: &Digest) -> Vec<CallDifference> {
    let works: BTreeSet<&Work> = a.calls.keys().chain(b.calls.keys()).collect();
    let of = |digest: &Digest, work: &Work| digest.calls.get(work).copied().unwrap_or_default();
    let mut calls: Vec<CallDifference> = works
        .into_iter()
        .map(|work| CallDifference {
            work: work.clone(),
            a: of(a, work),
            b: of(b, work),
        })
        .collect();
    calls.sort_by_cached_key(|one| {
        (
            std::cmp::Reverse(one.a.ns.abs_diff(one.b.ns)),
            one.work.clone(),
        )
    });
    calls
}
