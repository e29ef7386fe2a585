//! What a program does for the same items is one difference: a commit flushes a journal twice, writes to it eight times and
//! removes it, and where there are fewer commits there is less of all of that. Counts say what belongs together. What a
//! finding accuses names the row; else what has the most time.
//!
//! It knows nothing of digests: what was measured on both sides goes in, rows come out.

use std::collections::BTreeSet;

use crate::{Difference, Does, Effect, Found, Phase, Range, Row, Total, With, Work};

/// What was measured of one kind of work on both sides, before it is known what it is told with.
pub(crate) struct Measured {
    pub(crate) program: String,
    pub(crate) about: Difference,
    pub(crate) works: BTreeSet<Work>,
    pub(crate) place: Option<String>,
    pub(crate) a: Total,
    pub(crate) b: Total,
    /// Of each recording of a side.
    pub(crate) a_all: Vec<u64>,
    pub(crate) b_all: Vec<u64>,
    pub(crate) counts_waits: bool,
    /// When it was done, on both sides.
    pub(crate) phases: (Option<Phase>, Option<Phase>),
}

/// Counts that differ by less belong together: some items have no answer, or one call more.
const ALIKE: f64 = 0.1;
/// On the side with few of them, what is done once beside each, or before all, is so few.
const FEW: f64 = 0.05;
/// Fewer are too few to say that they belong together.
const LEAST: u64 = 10;
/// The same for what is done several times for each item: of 20 items or more, a count that has nothing to do with them is a
/// whole multiple of theirs in one case of fifty (by `MISSED`) or twenty (of just 20).
const LEAST_ITEMS: u64 = 20;
/// What is done several times for each item may miss a whole multiple by so much of the items.
const MISSED: f64 = 0.01;
/// It is done so many times for each at most: more are items of something else.
const MOST_TIMES: f64 = 10.0;
/// What a finding accuses names a row if it is so much of it, as much as makes a finding a main cause.
const NAMED: f64 = 0.1;

/// How often on both sides.
#[derive(Clone, Copy)]
struct Counts {
    a: u64,
    b: u64,
}

impl Counts {
    fn most(self) -> u64 {
        self.a.max(self.b)
    }

    fn difference(self) -> f64 {
        self.a as f64 - self.b as f64
    }

    /// On the side that has fewer.
    fn fewer(self) -> f64 {
        self.a.min(self.b) as f64
    }

    /// Whether both were done as often as each other, on either side.
    fn are_alike(self, other: Counts) -> bool {
        let few = self.most().max(other.most()) as f64 * FEW;
        let alike = |one: u64, other: u64| {
            let is_few = one.max(other) as f64 <= few;
            is_few || one.abs_diff(other) as f64 <= one.max(other) as f64 * ALIKE
        };
        alike(self.a, other.a) && alike(self.b, other.b)
    }

    /// Whether the other is done several times for each of these items: each that one side has beyond the other brings as many
    /// more of the other, and those that both have do, too, but for what is done once.
    fn has_several_times(self, other: Counts) -> bool {
        let times = other.difference() / self.difference();
        let whole = times.round();
        self.a.abs_diff(self.b) >= LEAST_ITEMS
            && (2.0..=MOST_TIMES).contains(&whole)
            && (times - whole).abs() <= MISSED
            && (other.fewer() - whole * self.fewer()).abs() <= other.most() as f64 * FEW
    }
}

impl Measured {
    /// A row of this alone.
    pub(crate) fn row(self) -> Row {
        Items(vec![self]).row([&[], &[]])
    }

    fn moved(&self) -> u64 {
        self.a.ns.abs_diff(self.b.ns)
    }

    /// How often on both sides, where that differs and was counted call by call.
    fn counts(&self) -> Option<Counts> {
        let is_counted = !self.counts_waits
            && matches!(
                self.about,
                Difference::Work(Does::Calls { .. } | Does::Code { .. })
            );
        let (a, b) = (self.a.count?, self.b.count?);
        let differ = a.max(b) >= LEAST && a.abs_diff(b) as f64 > a.max(b) as f64 * ALIKE;
        (is_counted && differ).then_some(Counts { a, b })
    }

    /// Whether both were done as often as each other, on either side.
    fn is_done_with(&self, other: &Measured) -> bool {
        let (Some(mine), Some(others)) = (self.counts(), other.counts()) else {
            return false;
        };
        self.program == other.program && mine.are_alike(others)
    }

    /// Whether the other is done several times for each time of this.
    fn is_item_of(&self, other: &Measured) -> bool {
        let (Some(mine), Some(others)) = (self.counts(), other.counts()) else {
            return false;
        };
        let totals = [&self.a, &self.b, &other.a, &other.b];
        self.program == other.program
            && !totals.iter().any(|total| total.is_estimated)
            && mine.has_several_times(others)
            && self.is_at_the_time_of(other)
    }

    /// Whether both were done in the same part of the run, on the side with more of them; nobody knows it otherwise.
    fn is_at_the_time_of(&self, other: &Measured) -> bool {
        let phases = match self.a.count >= self.b.count {
            true => (self.phases.0, other.phases.0),
            false => (self.phases.1, other.phases.1),
        };
        match phases {
            (Some(mine), Some(others)) => mine.overlaps(others),
            _ => true,
        }
    }
}

/// The rows of all that was measured. What the findings of both sides accuse names them.
pub(crate) fn together(mut all: Vec<Measured>, found: [&[Found]; 2]) -> Vec<Row> {
    all.sort_by(|one, other| {
        let name = |one: &Measured| (one.program.clone(), one.about.clone());
        let moved = other.moved().cmp(&one.moved());
        moved.then_with(|| name(one).cmp(&name(other)))
    });
    let mut items: Vec<Items> = Vec::new();
    // Compared is with the one that has the most time, whose counts stay what they are.
    for one in all {
        match items.iter_mut().find(|items| items.0[0].is_done_with(&one)) {
            Some(items) => items.0.push(one),
            None => items.push(Items(vec![one])),
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    while let Some(of_one) = largest(&items) {
        let mut joined = Items(Vec::new());
        // From the last on, so that the places of the others stay what they are.
        for &at in of_one.iter().rev() {
            joined.0.append(&mut items.remove(at).0);
        }
        joined.0.sort_by_key(|one| std::cmp::Reverse(one.moved()));
        rows.push(joined.row(found));
    }
    rows.extend(items.into_iter().map(|items| items.row(found)));
    rows
}

/// All that is done for the same items; at least one, that with the most time first.
struct Items(Vec<Measured>);

/// Which of these are done for the items of one of them, if any are: those that have the most time together.
fn largest(items: &[Items]) -> Option<BTreeSet<usize>> {
    let of_one = |unit: usize| {
        let others = (0..items.len()).filter(|&at| at != unit);
        let others = others.filter(|&at| items[unit].0[0].is_item_of(&items[at].0[0]));
        let mut all: BTreeSet<usize> = others.collect();
        let is_any = !all.is_empty();
        all.insert(unit);
        is_any.then_some(all)
    };
    let moved = |all: &BTreeSet<usize>| {
        let all = all.iter().flat_map(|&at| &items[at].0);
        all.map(Measured::moved).fold(0, u64::saturating_add)
    };
    let found = (0..items.len()).filter_map(of_one);
    // Of as many the first, which are in the order of their time.
    found.reduce(|one, other| match moved(&other) > moved(&one) {
        true => other,
        false => one,
    })
}

impl Items {
    fn row(mut self, found: [&[Found]; 2]) -> Row {
        let named = self.0.remove(self.named(found));
        let (mut a, mut b) = (named.a, named.b);
        let (mut a_all, mut b_all) = (named.a_all, named.b_all);
        let add = |sums: &mut [u64], more: &[u64]| {
            for (sum, ns) in sums.iter_mut().zip(more) {
                *sum = sum.saturating_add(*ns);
            }
        };
        let mut with = Vec::new();
        for other in self.0 {
            a.ns = a.ns.saturating_add(other.a.ns);
            b.ns = b.ns.saturating_add(other.b.ns);
            add(&mut a_all, &other.a_all);
            add(&mut b_all, &other.b_all);
            with.push(With {
                times: times((&named.a, &named.b), (&other.a, &other.b)),
                about: other.about,
            });
        }
        Row {
            effect: Effect::of((a.ns, a.count), (b.ns, b.count)),
            program: named.program,
            program_in_b: None,
            about: named.about,
            place: named.place,
            a,
            b,
            a_range: Range::of(a_all.into_iter()),
            b_range: Range::of(b_all.into_iter()),
            counts_waits: named.counts_waits,
            with,
        }
    }

    /// Which of them a finding accuses, of the side that has more of this: the finding that saves most, and of what it accuses
    /// what it is about. If there is none, the one with the most time.
    fn named(&self, found: [&[Found]; 2]) -> usize {
        let sum = |ns: fn(&Measured) -> u64| self.0.iter().map(ns).fold(0, u64::saturating_add);
        let is_a = sum(|one| one.a.ns) >= sum(|one| one.b.ns);
        let found = if is_a { found[0] } else { found[1] };
        let all = sum(Measured::moved) as f64;
        let named = found
            .iter()
            .filter(|found| found.accuses)
            .find_map(|found| {
                let accused = |one: &&Measured| !one.works.is_disjoint(&found.accused.works);
                let moved = self.0.iter().filter(accused).map(Measured::moved);
                let is_much = moved.fold(0, u64::saturating_add) as f64 >= all * NAMED;
                let chief = found.accused.chief.as_ref();
                let is_chief = |one: &Measured| chief.is_some_and(|work| one.works.contains(work));
                let at = self.0.iter().position(is_chief);
                let at = at.or_else(|| self.0.iter().position(|one| accused(&one)));
                at.filter(|_| is_much)
            });
        named.unwrap_or(0)
    }
}

/// How many times the other is done for each time of the one, on the side that has more of it.
fn times(one: (&Total, &Total), other: (&Total, &Total)) -> f64 {
    let is_a = one.0.count >= one.1.count;
    let count = |totals: (&Total, &Total)| {
        let total = if is_a { totals.0 } else { totals.1 };
        total.count.unwrap_or(0) as f64
    };
    let times = count(other) / count(one).max(1.0);
    // A few that are done once are no part of an item.
    let (whole, part) = (times.round(), (1.0 / times).round());
    match times >= 1.0 {
        true if (times - whole).abs() <= whole * ALIKE => whole,
        false if (1.0 / times - part).abs() <= part * ALIKE => 1.0 / part,
        _ => times,
    }
}
