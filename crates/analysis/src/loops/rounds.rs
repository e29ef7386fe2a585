//! From a thread's waits to its loops. A loop is found by one of its waits: where that comes again and again, what
//! lies between two of them is a round, and the rounds are alike or they are not.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::words::Detail;

use super::sites::Waits;
use super::{Loop, LoopStep, FEW, SMALL};
use crate::timeline::Timeline;

/// So many of the most frequent waits are tried as the end of a round.
const ENDS: usize = 8;
/// A round with more steps is no round that anybody would recognise.
const LONGEST: usize = 48;
/// Of all rounds so many must be alike.
const ALIKE: f64 = 0.6;

/// Waits of one kind, one after the other.
#[derive(Clone, Copy)]
struct Group {
    symbol: u32,
    /// The first of them, and the first behind them.
    first: usize,
    end: usize,
}

/// A stretch between two ends: groups from `first` up to and with `last`.
#[derive(Clone, Copy)]
struct Round {
    first: usize,
    last: usize,
}

pub(super) fn loops(timeline: &Timeline, slot: usize, waits: &Waits) -> Vec<Loop> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, wait) in waits.all.iter().enumerate() {
        match groups
            .last_mut()
            .filter(|group| group.symbol == wait.symbol)
        {
            Some(group) => group.end = at + 1,
            None => groups.push(Group {
                symbol: wait.symbol,
                first: at,
                end: at + 1,
            }),
        }
    }
    let thread = &timeline.threads[slot];
    let finder = Finder {
        thread: thread.thread,
        waits,
        groups,
    };
    let least = thread.end.since(thread.start) as f64 * SMALL;
    let mut found: Vec<Loop> = finder.of_one_wait();
    found.extend(finder.of_several());
    found.retain(|one| one.rounds >= FEW as u64 && one.ns as f64 >= least);
    found.sort_by_key(|one| (std::cmp::Reverse(one.ns), one.body.len()));
    // The same loop is found by each of its waits, and parts of it by those that come more than once in it.
    let mut kept: Vec<Loop> = Vec::new();
    for one in found {
        if !kept.iter().any(|other| is_part(&one, other)) {
            kept.push(one);
        }
    }
    kept
}

/// Whether a loop is another way to see one that is told. A loop of one wait within a round of others is not.
fn is_part(one: &Loop, other: &Loop) -> bool {
    let has = |steps: &[LoopStep], step: &LoopStep| {
        steps.iter().any(|found| {
            (found.detail, found.kind, found.function) == (step.detail, step.kind, step.function)
        })
    };
    let alone = one.body.len() == 1;
    alone == (other.body.len() == 1) && one.body.iter().any(|step| has(&other.body, step))
}

struct Finder<'a> {
    thread: ThreadId,
    waits: &'a Waits,
    groups: Vec<Group>,
}

impl Finder<'_> {
    /// Loops whose rounds have one wait: each group of the same wait is some rounds.
    fn of_one_wait(&self) -> Vec<Loop> {
        let mut by_symbol: FxHashMap<u32, Vec<Group>> = FxHashMap::default();
        for group in &self.groups {
            if group.end - group.first >= FEW {
                by_symbol.entry(group.symbol).or_default().push(*group);
            }
        }
        let found = by_symbol.into_values().map(|groups| {
            let mut lengths = Vec::new();
            let mut members = Vec::new();
            for group in &groups {
                let ends = &self.waits.all[group.first..group.end];
                let pairs = ends.windows(2);
                lengths.extend(pairs.map(|pair| pair[1].until.since(pair[0].until)));
                members.push(vec![(group.first, group.end)]);
            }
            let (first, last) = (groups[0].first, groups[groups.len() - 1].end - 1);
            let mut one = self.told(&mut lengths, &members, first, last);
            for step in &mut one.body {
                step.waits = 1.0;
            }
            one
        });
        found.collect()
    }

    /// Loops whose rounds have several different waits.
    fn of_several(&self) -> Vec<Loop> {
        let mut counts: Vec<(usize, u32)> = vec![(0, 0); self.waits.symbols.len()];
        for (group, number) in counts.iter_mut().zip(0..) {
            group.1 = number;
        }
        for group in &self.groups {
            counts[group.symbol as usize].0 += 1;
        }
        counts.sort_unstable_by_key(|(count, symbol)| (std::cmp::Reverse(*count), *symbol));
        let often = counts.into_iter().filter(|(count, _)| *count > FEW);
        let ends = often.take(ENDS).map(|(_, symbol)| symbol);
        ends.filter_map(|symbol| self.ending_in(symbol)).collect()
    }

    /// The loop whose rounds end in this wait.
    fn ending_in(&self, symbol: u32) -> Option<Loop> {
        let mut rounds: Vec<Round> = Vec::new();
        let mut first = None;
        for (at, group) in self.groups.iter().enumerate() {
            if group.symbol == symbol {
                rounds.extend(first.map(|first| Round { first, last: at }));
                first = Some(at + 1);
            }
        }
        let mut hashes: FxHashMap<u64, (usize, Round)> = FxHashMap::default();
        for round in rounds
            .iter()
            .filter(|round| round.last - round.first < LONGEST)
        {
            let (count, _) = hashes.entry(self.hash(round)).or_insert((0, *round));
            *count += 1;
        }
        let usual = hashes
            .values()
            .max_by_key(|(count, round)| (*count, std::cmp::Reverse(round.first)))?;
        let usual = self.symbols(&usual.1);
        let before = rounds.len();
        rounds.retain(|round| self.is_like(round, &usual));
        if (rounds.len() as f64) < before as f64 * ALIKE || usual.len() < 2 {
            return None;
        }
        let mut lengths = Vec::with_capacity(rounds.len());
        let mut members = Vec::with_capacity(rounds.len());
        for round in &rounds {
            let groups = &self.groups[round.first..=round.last];
            let before = self.groups[round.first - 1].end - 1;
            let (begin, end) = (
                self.waits.all[before].until,
                self.waits.all[groups[groups.len() - 1].end - 1].until,
            );
            lengths.push(end.since(begin));
            // Only of rounds that are as usual it is known which group is which step.
            if groups.len() == usual.len() {
                members.push(
                    groups
                        .iter()
                        .map(|group| (group.first, group.end))
                        .collect(),
                );
            }
        }
        let first = self.groups[rounds.first()?.first - 1].end - 1;
        let last = self.groups[rounds.last()?.last].end - 1;
        let mut one = self.told(&mut lengths, &members, first, last);
        one.unlike = (before - rounds.len()) as u64;
        Some(one)
    }

    fn symbols(&self, round: &Round) -> Vec<u32> {
        let groups = self.groups[round.first..=round.last].iter();
        groups.map(|group| group.symbol).collect()
    }

    fn hash(&self, round: &Round) -> u64 {
        let groups = self.groups[round.first..=round.last].iter();
        groups.fold(0xcbf2_9ce4_8422_2325, |hash, group| {
            (hash ^ u64::from(group.symbol)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Whether a round is as usual, but for a step more or less now and then.
    fn is_like(&self, round: &Round, usual: &[u32]) -> bool {
        let steps = round.last - round.first + 1;
        if steps.abs_diff(usual.len()) > 1 + usual.len() / 4 {
            return false;
        }
        let groups = self.groups[round.first..=round.last].iter();
        let symbols = groups.map(|group| group.symbol);
        match steps >= usual.len() {
            true => is_within(usual.iter().copied(), symbols),
            // A single step says nothing of which loop it is.
            false => steps > 1 && is_within(symbols, usual.iter().copied()),
        }
    }

    /// The loop of these rounds: their lengths, and for some of them which waits are which step.
    fn told(
        &self,
        lengths: &mut [u64],
        members: &[Vec<(usize, usize)>],
        first: usize,
        last: usize,
    ) -> Loop {
        lengths.sort_unstable();
        let steps = members.first().map_or(0, Vec::len);
        let body = (0..steps).map(|step| self.step(members.iter().map(move |waits| waits[step])));
        Loop {
            thread: self.thread,
            from: self.waits.all[first].until,
            until: self.waits.all[last].until,
            rounds: lengths.len() as u64,
            unlike: 0,
            ns: lengths.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
            median_ns: lengths
                .get(lengths.len().saturating_sub(1) / 2)
                .copied()
                .unwrap_or(0),
            body: body.collect(),
        }
    }

    fn step(&self, members: impl Iterator<Item = (usize, usize)> + Clone) -> LoopStep {
        let rounds = members.clone().count().max(1);
        let waits: usize = members.clone().map(|(first, end)| end - first).sum();
        let mut objects = members.flat_map(|(first, end)| &self.waits.all[first..end]);
        let first = objects.next();
        let object: Option<ObjectId> = first.and_then(|wait| wait.object);
        let one = objects.all(|wait| wait.object == object);
        let symbol = first.and_then(|wait| self.waits.symbols.get(wait.symbol as usize));
        let (detail, kind, site) = symbol.copied().unwrap_or((Detail::Unknown, None, None));
        LoopStep {
            detail,
            kind,
            object: object.filter(|_| one),
            function: site.map(|(_, function)| function),
            waits: waits as f64 / rounds as f64,
        }
    }
}

/// Whether all of one comes in the other, in the same order.
fn is_within(one: impl Iterator<Item = u32>, mut other: impl Iterator<Item = u32>) -> bool {
    let mut one = one;
    one.all(|wanted| other.any(|found| found == wanted))
}
