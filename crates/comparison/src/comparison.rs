//! Two sides beside each other: differences that add up to the difference of the wall times, the largest first.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::difference;
use crate::code::Tree;
use crate::predicted::{sides, Prediction, Side};
use crate::spread::middle;
use crate::{
    Act, Aligned, CallCount, CallDifference, Digest, Does, Effect, Found, Range, Sum, Thing, Work,
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
    /// Counted for part of the time only.
    pub is_estimated: bool,
    /// Things that it was done to.
    pub objects: u64,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What else was done as often on both sides, the most first: its time is in that of the row.
    pub with: Vec<Difference>,
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
        let rows = together(groups.iter().map(measured).collect());
        let mut rows: Vec<Row> = rows.into_iter().map(Measured::row).collect();
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
        Some(Comparison {
            aligned,
            rows,
            not_attributed,
            calls: calls(&first, &second),
            prediction: Prediction::of(&findings, wall.a_ns, wall.b_ns),
            findings,
            wall,
            a: first,
            b: second,
        })
    }
}

/// A row before its ranges are known, because others may join it.
struct Measured {
    program: String,
    about: Difference,
    place: Option<String>,
    a: Total,
    b: Total,
    /// Of each recording of a side.
    a_all: Vec<u64>,
    b_all: Vec<u64>,
    counts_waits: bool,
    with: Vec<Difference>,
}

/// Counts that differ by less belong together: some items have no answer, or one call more.
const ALIKE: f64 = 0.1;
/// On the side with few of them, what is done once beside each, or before all, is so few.
const FEW: f64 = 0.05;
/// Fewer are too few to say that they belong together.
const LEAST: u64 = 10;

impl Measured {
    fn row(self) -> Row {
        Row {
            effect: Effect::of((self.a.ns, self.a.count), (self.b.ns, self.b.count)),
            program: self.program,
            program_in_b: None,
            about: self.about,
            place: self.place,
            a: self.a,
            b: self.b,
            a_range: Range::of(self.a_all.into_iter()),
            b_range: Range::of(self.b_all.into_iter()),
            counts_waits: self.counts_waits,
            with: self.with,
        }
    }

    fn moved(&self) -> u64 {
        self.a.ns.abs_diff(self.b.ns)
    }

    /// How often on both sides, where that differs and was counted call by call.
    fn counts(&self) -> Option<(u64, u64)> {
        let is_counted = !self.counts_waits
            && matches!(
                self.about,
                Difference::Work(Does::Calls { .. } | Does::Code { .. })
            );
        let (a, b) = (self.a.count?, self.b.count?);
        let differ = a.max(b) >= LEAST && a.abs_diff(b) as f64 > a.max(b) as f64 * ALIKE;
        (is_counted && differ).then_some((a, b))
    }

    /// Whether both were done as often as each other, on either side.
    fn is_done_with(&self, other: &Measured) -> bool {
        let (Some(mine), Some(others)) = (self.counts(), other.counts()) else {
            return false;
        };
        let most = mine.0.max(mine.1).max(others.0).max(others.1) as f64;
        let alike = |one: u64, other: u64| {
            let is_few = (one.max(other) as f64) <= most * FEW;
            is_few || one.abs_diff(other) as f64 <= one.max(other) as f64 * ALIKE
        };
        self.program == other.program && alike(mine.0, others.0) && alike(mine.1, others.1)
    }

    fn join(&mut self, other: Measured) {
        self.a.ns = self.a.ns.saturating_add(other.a.ns);
        self.b.ns = self.b.ns.saturating_add(other.b.ns);
        for (mine, others) in [
            (&mut self.a_all, other.a_all),
            (&mut self.b_all, other.b_all),
        ] {
            for (sum, ns) in mine.iter_mut().zip(others) {
                *sum = sum.saturating_add(ns);
            }
        }
        self.with.push(other.about);
    }
}

/// What a program does as often as something else, on both sides, is one difference: what is done for one item. The one with
/// the most time names it.
fn together(mut all: Vec<Measured>) -> Vec<Measured> {
    all.sort_by(|one, other| {
        let name = |one: &Measured| (one.program.clone(), one.about.clone());
        let moved = other.moved().cmp(&one.moved());
        moved.then_with(|| name(one).cmp(&name(other)))
    });
    let mut rows: Vec<Measured> = Vec::new();
    // Compared is with the one that names a row, whose counts stay what they are.
    for one in all {
        match rows.iter_mut().find(|row| row.is_done_with(&one)) {
            Some(row) => row.join(one),
            None => rows.push(one),
        }
    }
    rows
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
            with: Vec::new(),
        }
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
            objects: calls.objects,
        };
        let apart = |a: u64, b: u64| (a.max(1) as f64 / b.max(1) as f64).ln().abs();
        let is_called = a_calls.count > 0 || b_calls.count > 0;
        let is_counted = |digest: &Digest| digest.weather.has_calls;
        let by_calls = is_called && is_counted(a.0) && is_counted(b.0);
        // Calls may be as many on both sides and be waited for one after the other on one only.
        let by_waits = a.1.waits + b.1.waits > 0
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
    for work in works {
        let Does::Code { chain } = &work.does else {
            continue;
        };
        if chain.is_empty() {
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
        let is_own = |work: &Work| things.len() == 1 || moved(work) as f64 >= all as f64 * OWN;
        let about = |thing: &Thing| {
            Difference::Work(Does::Calls {
                act: act.clone(),
                thing: thing.clone(),
            })
        };
        let mut several = Group::new(program, about(&Thing::Several));
        for (thing, work) in &things {
            if is_own(work) {
                let mut group = Group::new(program, about(thing));
                group.works.insert((*work).clone());
                groups.push(group);
            } else {
                several.works.insert((*work).clone());
            }
        }
        if !several.works.is_empty() {
            groups.push(several);
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
