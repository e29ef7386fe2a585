//! `flame`: how long each stack of each thread was in which state, by time.

use std::collections::BTreeMap;

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Event, StackIx};
use timesink_recording::words::State;

use crate::code::MISSING;
use crate::model::{FlameTile, LongWeights, RestWeights, ShortWeights, TileTime};
use crate::{Page, Tile};

/// Fewer than of lanes: each holds stacks of all threads.
pub const FLAME_BUCKETS: u32 = 128;

/// Waits of a thread do not overlap, so that of those that begin before a tile only the last few can reach into it.
const BEFORE: usize = 4;

/// Thread, node, state, bucket.
type ShortKey = (u32, u32, u32, u32);

impl Page<'_> {
    /// Weights in a tile; at level 0 also the time that has no stack.
    pub fn flame(&self, tile: Tile) -> FlameTile {
        let time = self.time(tile, FLAME_BUCKETS);
        let mut long = LongWeights::default();
        let mut short: BTreeMap<ShortKey, (u64, u32)> = BTreeMap::new();
        for (place, &at) in self.places.threads.iter().enumerate() {
            let thread = self.loaded.facts.ledger.threads[at].row.thread;
            let events = self.loaded.stacks.events_of(thread);
            let first = events.partition_point(|event| event.at.0 < time.from_ns);
            let then = events[first.saturating_sub(BEFORE)..].iter();
            for event in then.take_while(|event| event.at.0 < time.until_ns) {
                self.weigh(event, place as u32, time, &mut long, &mut short);
            }
        }
        let mut sums = ShortWeights::default();
        let is_complete = short.is_empty();
        for ((thread, node, state, bucket), (ns, count)) in short {
            sums.thread.push(thread);
            sums.node.push(node);
            sums.state.push(state);
            sums.bucket.push(bucket);
            sums.ns.push(ns);
            sums.count.push(count);
        }
        FlameTile {
            time,
            long,
            short: sums,
            rests: match tile.level {
                0 => self.rests(),
                _ => RestWeights::default(),
            },
            is_complete,
        }
    }

    fn weigh(
        &self,
        event: &Event,
        thread: u32,
        time: TileTime,
        long: &mut LongWeights,
        short: &mut BTreeMap<ShortKey, (u64, u32)>,
    ) {
        let node = StackIx::place(event.stack);
        let state = match event.account {
            Account::Cpu => State::Cpu,
            Account::Ready => State::Ready,
            Account::Wait => State::Wait,
            Account::Tracer | Account::Lost => State::Lost,
        };
        let is_sample = state == State::Cpu;
        let state = self.states.of(state, event.detail);
        let ns = i64::try_from(event.ns).unwrap_or(i64::MAX);
        let end = event.at.0.saturating_add(ns);
        // A sample stands for time before it, on a processor here and there: it has a moment only.
        if is_sample || end <= event.at.0 {
            if time.from_ns <= event.at.0 {
                let key = (thread, node, state, time.bucket(event.at.0));
                add(short, key, event.ns, 1);
            }
            return;
        }
        let Some((from, until)) = time.clip(event.at.0, end) else {
            return;
        };
        if time.is_long(event.ns) {
            long.node.push(node);
            long.thread.push(thread);
            long.state.push(state);
            long.from_ns.push(event.at.0);
            long.ns.push(event.ns);
            return;
        }
        let (first, last) = (time.bucket(from), time.bucket(until - 1));
        let cut = match first == last {
            true => until,
            false => time.begin_of(first + 1).clamp(from, until),
        };
        let begins = u32::from(event.at.0 >= time.from_ns);
        add(
            short,
            (thread, node, state, first),
            cut.abs_diff(from),
            begins,
        );
        if cut < until {
            add(short, (thread, node, state, last), until.abs_diff(cut), 0);
        }
    }

    fn rests(&self) -> RestWeights {
        let mut rests = RestWeights::default();
        for rest in self.loaded.stacks.rests.iter().filter(|rest| rest.ns > 0) {
            let Some(thread) = self.places.thread(rest.thread) else {
                continue;
            };
            let missing = MISSING.iter().position(|one| *one == rest.missing);
            rests.thread.push(thread);
            rests.missing.push(missing.unwrap_or(0) as u32);
            rests
                .state
                .push(self.states.of_account(rest.missing.account()));
            rests.ns.push(rest.ns);
        }
        rests
    }
}

fn add(short: &mut BTreeMap<ShortKey, (u64, u32)>, key: ShortKey, ns: u64, count: u32) {
    let sum = short.entry(key).or_default();
    sum.0 = sum.0.saturating_add(ns);
    sum.1 = sum.1.saturating_add(count);
}
