//! Waits that were recorded one by one, grouped by process, kind, thing and call: how many, how long, what they asked for.

use std::ops::Range;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, StackId, ThreadId};
use timesink_recording::tables::Wait;
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

/// So many of each group are kept as examples: the first ones.
const EXAMPLES: usize = 3;

/// Waits that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitGroup {
    pub process: ProcessId,
    pub detail: Detail,
    pub object: Option<ObjectId>,
    pub call: String,
    pub ns: u64,
    /// How long each was, shortest first.
    pub lengths: Vec<u64>,
    /// How many ended because their time was over, of those that asked for one.
    pub expired: u64,
    pub asked: u64,
    /// What was asked for most often, and how often that was, or about that.
    pub asked_ns: Option<(u64, u64)>,
    /// Hardly two asked for the same: somebody worked out what was left until a moment.
    pub worked_out: bool,
    /// The time that most often was over, and how often that was, or about that; and how many asked for it at all.
    pub over: Option<Over>,
    /// Bytes that were asked to be moved.
    pub bytes: u64,
    pub examples: Vec<(ThreadId, Nanos)>,
    /// The stack of most of its time, and of those who ended most of it.
    pub stack: Option<StackId>,
    pub waker_stack: Option<StackId>,
}

/// A time after which waits end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    pub asked_ns: u64,
    pub expired: u64,
    pub asked: u64,
}

impl WaitGroup {
    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// The length that so much of them (0.5: half) do not exceed.
    pub fn quantile(&self, part: f64) -> u64 {
        quantile(&self.lengths, part)
    }
}

/// The length that so much of them (0.5: half) do not exceed, of lengths in their order; 0 of none.
pub fn quantile(lengths: &[u64], part: f64) -> u64 {
    let last = lengths.len().saturating_sub(1);
    let at = (last as f64 * part).round() as usize;
    lengths.get(at).copied().unwrap_or(0)
}

/// The same for lengths that differ by less than some percent.
fn roughly(asked_ns: u64) -> u64 {
    const STEPS: f64 = 10.0;
    ((asked_ns.max(1) as f64).ln() * STEPS).round() as u64
}

/// Of the times that were over, the one that was so most often.
fn over(over: FxHashMap<u64, u64>, asked: &FxHashMap<u64, u64>) -> Option<Over> {
    let (asked_ns, expired) = most_often(&over)?;
    let about = |ns: &&u64| {
        let (less, more) = (*(*ns).min(&asked_ns), *(*ns).max(&asked_ns));
        more as f64 <= less as f64 * ABOUT
    };
    let asked = asked.keys().filter(about).map(|ns| asked[ns]).sum();
    Some(Over {
        asked_ns,
        expired,
        asked,
    })
}

/// Lengths that differ by no more than this are about the same.
const ABOUT: f64 = 1.01;

/// The value that most of these are about, which came so many times, and how many those are. Who sleeps until a moment asks for
/// what is left until then, a little less each time.
fn most_often(asked: &FxHashMap<u64, u64>) -> Option<(u64, u64)> {
    let mut asked: Vec<(u64, u64)> = asked.iter().map(|(ns, count)| (*ns, *count)).collect();
    asked.sort_unstable();
    // How many there are of those before each.
    let mut before = vec![0u64];
    before.extend(asked.iter().scan(0u64, |sum, (_, count)| {
        *sum = sum.saturating_add(*count);
        Some(*sum)
    }));
    let about = |from: usize| {
        let most = (asked[from].0 as f64 * ABOUT) as u64;
        from..asked.partition_point(|(ns, _)| *ns <= most).max(from + 1)
    };
    let often = |range: &Range<usize>| before[range.end] - before[range.start];
    let best = (0..asked.len()).map(about).max_by_key(often)?;
    let value = asked[best.clone()]
        .iter()
        .max_by_key(|(ns, count)| (*count, *ns))?;
    Some((value.0, often(&best)))
}

/// Whether what is asked for about so often differs from time to time, by more than passes on the way into a call. Measured: by 1 to 20 us
/// where a program sleeps for 50 and 200 ms from now, by 110 us where an event loop has a timer every 110 ms (2026-11-28).
fn is_worked_out(asked: &FxHashMap<u64, u64>, about_ns: u64) -> bool {
    const SPREAD: f64 = 0.0005;
    const SPREAD_NS: u64 = 50_000;
    let least = (about_ns as f64 / ABOUT) as u64..=(about_ns as f64 * ABOUT) as u64;
    let mut about: Vec<u64> = asked
        .keys()
        .copied()
        .filter(|ns| least.contains(ns))
        .collect();
    about.sort_unstable();
    let count: u64 = about.iter().map(|ns| asked[ns]).sum();
    let spread = quantile(&about, 0.95) - quantile(&about, 0.05);
    let differ = spread > SPREAD_NS && spread as f64 > about_ns as f64 * SPREAD;
    differ && 2 * about.len() as u64 > count
}

#[derive(Default)]
struct Sum {
    /// The call of the first.
    call: Option<u32>,
    ns: u64,
    lengths: Vec<u64>,
    expired: u64,
    asked: FxHashMap<u64, u64>,
    over: FxHashMap<u64, u64>,
    bytes: u64,
    examples: Vec<(ThreadId, Nanos)>,
    stacks: FxHashMap<StackId, u64>,
    waker_stacks: FxHashMap<StackId, u64>,
}

/// Sleeps are told apart by what they asked for, roughly, and not by their call: one that was interrupted goes on in another.
type Key = (ProcessId, Detail, Option<ObjectId>, u32, Option<u64>);

/// The groups under way.
#[derive(Default)]
pub struct Grouping {
    names: Vec<String>,
    sums: FxHashMap<Key, Sum>,
}

impl Grouping {
    /// A wait of a thread of this process, with what it was for.
    pub fn add(
        &mut self,
        row: &Wait,
        process: ProcessId,
        detail: Detail,
        object: Option<ObjectId>,
    ) {
        let known = self.names.iter().position(|name| *name == row.call);
        let call = known.unwrap_or_else(|| {
            self.names.push(row.call.clone());
            self.names.len() - 1
        });
        let key = match detail {
            Detail::Sleep => (process, detail, None, u32::MAX, row.asked_ns.map(roughly)),
            _ => (process, detail, object, call as u32, None),
        };
        let sum = self.sums.entry(key).or_default();
        sum.call = sum.call.or(Some(call as u32));
        sum.add(row);
    }

    /// The groups, longest first.
    pub fn finish(self) -> Vec<WaitGroup> {
        let names = &self.names;
        let groups = self
            .sums
            .into_iter()
            .map(|(key, sum)| sum.group(key, names));
        let mut groups: Vec<WaitGroup> = groups.collect();
        groups.sort_by(|a, b| {
            let key = |g: &WaitGroup| (g.process, g.detail, g.object);
            b.ns.cmp(&a.ns)
                .then(key(a).cmp(&key(b)))
                .then_with(|| (&a.call, a.asked_ns).cmp(&(&b.call, b.asked_ns)))
        });
        groups
    }
}

impl Sum {
    fn add(&mut self, row: &Wait) {
        let ns = row.t1.since(row.t0);
        self.ns = self.ns.saturating_add(ns);
        self.lengths.push(ns);
        if let Some(asked) = row.asked_ns {
            *self.asked.entry(asked).or_default() += 1;
            if row.expired == Some(true) {
                self.expired += 1;
                *self.over.entry(asked).or_default() += 1;
            }
        }
        self.bytes = self.bytes.saturating_add(row.bytes.unwrap_or(0));
        if self.examples.len() < EXAMPLES {
            self.examples.push((row.thread, row.t0));
        }
        for (stack, sums) in [
            (row.stack, &mut self.stacks),
            (row.waker_stack, &mut self.waker_stacks),
        ] {
            if let Some(stack) = stack {
                let sum = sums.entry(stack).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
    }

    fn group(mut self, key: Key, names: &[String]) -> WaitGroup {
        let (process, detail, object, ..) = key;
        let call = self.call.unwrap_or_default();
        let over = over(self.over, &self.asked);
        self.lengths.sort_unstable();
        let most = |sums: &FxHashMap<StackId, u64>| {
            let most = sums
                .iter()
                .max_by_key(|(stack, ns)| (**ns, std::cmp::Reverse(**stack)));
            most.map(|(stack, _)| *stack)
        };
        let asked_ns = most_often(&self.asked);
        WaitGroup {
            process,
            detail,
            object,
            call: names.get(call as usize).cloned().unwrap_or_default(),
            ns: self.ns,
            asked: self.asked.values().sum(),
            worked_out: asked_ns.is_some_and(|(ns, _)| is_worked_out(&self.asked, ns)),
            asked_ns,
            over,
            stack: most(&self.stacks),
            waker_stack: most(&self.waker_stacks),
            lengths: self.lengths,
            expired: self.expired,
            bytes: self.bytes,
            examples: self.examples,
        }
    }
}
