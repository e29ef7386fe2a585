//! Pauses that end on a schedule: a rate limit, a ticker, a job at a fixed rate. What such a timer waits for is a moment, not a length
//! of time: whatever is done in between, the pause takes what is left of the period. So of a program that keeps a pace quicker
//! work saves nothing, and a replay has to end its pauses a period after the one before.
//!
//! It is told by the lengths of the pauses: of a sleep of a fixed length the periods differ as the work does, of a pause
//! that takes what is left the pauses do. And of a sleep of a fixed length what the periods differ by adds up, while the moments of
//! a schedule stay where they are.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::Nanos;

use super::carried::Carried;
use super::{Span, Spans};

/// The schedule of a thread, or of all threads of a runtime that carry its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    pub process: ProcessId,
    /// From one pause's end to the next one's.
    pub period_ns: u64,
    pub ticks: Vec<Tick>,
}

/// The end of a pause, or of several that threads of one runtime made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    pub at: Nanos,
    /// How long after the one before, if that is one period, or a few.
    pub after_ns: Option<u64>,
    /// The spans of its pauses, by their indexes: of each pause those in the order of time.
    pub pauses: Vec<Vec<usize>>,
    /// How long the first of its pauses took.
    paused_ns: u64,
}

/// All schedules that are kept.
#[derive(Clone, Debug, Default)]
pub struct Paces {
    all: Vec<Pace>,
    /// For each span of a pause, which schedule it is of.
    of: FxHashMap<usize, usize>,
}

/// Timers of runtimes have a resolution of a millisecond: what is left of one is waited for in another wait.
const REST_NS: u64 = 2_000_000;
/// Shorter pauses may be part of anything.
const PAUSE_NS: u64 = 4_000_000;
/// So many periods are needed to tell them from chance.
const PERIODS: usize = 8;
/// So many of the periods have one length, or a few times that: now and then there is no pause, because the work took longer.
const MOST: f64 = 0.7;
const TIMES: f64 = 4.0;
/// How much a period may differ, and at least: two timers with a resolution of a millisecond.
const SPREAD: f64 = 0.02;
const SPREAD_NS: f64 = 1_200_000.0;
/// The variance of the pauses is so many times that of the periods. Measured, in three recordings each (2026-11-28): 0.9 to 1.0 where a
/// fixed sleep comes between requests; 4.8 for a rate limit in Node.js, whose timers have a resolution of a millisecond, and more
/// than 100 in Go and Java.
const STEADIER: f64 = 2.0;
/// With few periods the difference must be larger: by this, divided by their number.
const WITH_FEW: f64 = 20.0;
/// How far moments are from a schedule: their variance, as so many times that of the periods, for each moment. Where what the periods differ
/// by adds up, one in a thousand such rows of 40 to 160 moments is so near to one by chance (drawn 4,000 times each).
const AS_BY_CHANCE: f64 = 0.0135;

impl Paces {
    pub(super) fn of(spans: &Spans, carried: &Carried) -> Paces {
        let mut together: BTreeMap<(ProcessId, usize), Vec<usize>> = BTreeMap::new();
        for (slot, thread) in spans.threads.iter().enumerate() {
            if spans.is_housekeeping(slot) {
                continue;
            }
            // A task's timer is waited for by whatever thread has nothing to do.
            let of = if carried.has(slot) { usize::MAX } else { slot };
            together.entry((thread.process, of)).or_default().push(slot);
        }
        let mut paces = Paces::default();
        for ((process, _), slots) in together {
            let ticks = ticks(slots.iter().flat_map(|&slot| pauses(spans, slot)).collect());
            if let Some(pace) = pace(process, ticks) {
                let pauses = pace.ticks.iter().flat_map(|tick| &tick.pauses);
                let own = pauses.flatten().map(|&span| (span, paces.all.len()));
                paces.of.extend(own);
                paces.all.push(pace);
            }
        }
        paces
    }

    pub fn all(&self) -> &[Pace] {
        &self.all
    }

    /// The schedule that a span is a pause of.
    pub fn pace(&self, span: usize) -> Option<&Pace> {
        self.all.get(*self.of.get(&span)?)
    }
}

/// A pause of one thread.
struct Pause {
    spans: Vec<usize>,
    ns: u64,
    until: Nanos,
}

fn is_timer(span: &Span) -> bool {
    span.state == State::Wait
        && span.wake_source == Some(WakeSource::Timer)
        && matches!(
            span.detail,
            Detail::Sleep | Detail::Poll | Detail::Condition | Detail::Event
        )
}

/// The pauses of one thread that are long enough.
fn pauses(spans: &Spans, slot: usize) -> Vec<Pause> {
    let mut all: Vec<Pause> = Vec::new();
    let mut open: Option<Pause> = None;
    for (index, span) in spans.indexed(slot).filter(|(_, s)| s.state == State::Wait) {
        let before = open.take();
        let ns = span.t1.since(span.t0);
        if !is_timer(span) {
            all.extend(before);
            continue;
        }
        let (mut pause, other) = match before {
            Some(before) if is_rest(&before, span) => (before, None),
            before => (
                Pause {
                    spans: Vec::new(),
                    ns: 0,
                    until: span.t1,
                },
                before,
            ),
        };
        all.extend(other);
        pause.spans.push(index);
        pause.ns += ns;
        pause.until = span.t1;
        open = Some(pause);
    }
    all.extend(open);
    all.retain(|pause| pause.ns >= PAUSE_NS);
    all
}

/// Whether a wait is for what is left of the timer of the one before, or that was.
fn is_rest(before: &Pause, span: &Span) -> bool {
    span.t0.since(before.until) <= REST_NS / 2
        && before.ns.min(span.t1.since(span.t0)) <= REST_NS * before.spans.len() as u64
}

/// The moments at which pauses end, those of several threads together.
fn ticks(mut pauses: Vec<Pause>) -> Vec<Tick> {
    pauses.sort_by_key(|pause| pause.until);
    let mut ticks: Vec<Tick> = Vec::new();
    for pause in pauses {
        match ticks.last_mut() {
            Some(tick) if pause.until.since(tick.at) <= REST_NS => tick.pauses.push(pause.spans),
            _ => ticks.push(Tick {
                at: pause.until,
                after_ns: None,
                pauses: vec![pause.spans],
                paused_ns: pause.ns,
            }),
        }
    }
    ticks
}

/// The schedule that these moments keep, if they keep one.
fn pace(process: ProcessId, mut ticks: Vec<Tick>) -> Option<Pace> {
    let mut periods: Vec<u64> = ticks
        .windows(2)
        .map(|two| two[1].at.since(two[0].at))
        .collect();
    if periods.len() < PERIODS {
        return None;
    }
    periods.sort_unstable();
    let candidates = [periods.len() / 2, periods.len() / 4].map(|at| periods[at]);
    let keeps = |kept: &[Kept]| {
        kept.len() >= PERIODS
            && kept.len() as f64 >= periods.len() as f64 * MOST
            && (is_steadier(kept) || is_on_schedule(&ticks, kept))
    };
    let mut found = candidates
        .map(|period| (period, kept(&ticks, period)))
        .into_iter();
    let (period_ns, kept) = found.find(|(_, kept)| keeps(kept))?;
    for one in kept {
        ticks[one.tick].after_ns = Some(one.after_ns);
    }
    Some(Pace {
        process,
        period_ns,
        ticks,
    })
}

/// A tick that came a period, or a few, after the one before.
struct Kept {
    tick: usize,
    after_ns: u64,
    /// By how much that is more or less.
    off_ns: f64,
    paused_ns: f64,
}

fn kept(ticks: &[Tick], period_ns: u64) -> Vec<Kept> {
    let period = period_ns as f64;
    let most = (period * SPREAD).max(SPREAD_NS);
    let two = ticks.windows(2).enumerate();
    let kept = two.filter_map(|(at, two)| {
        let after_ns = two[1].at.since(two[0].at);
        let times = (after_ns as f64 / period).round().clamp(1.0, TIMES);
        let off_ns = after_ns as f64 - period * times;
        (off_ns.abs() <= most).then_some(Kept {
            tick: at + 1,
            after_ns,
            off_ns,
            paused_ns: two[1].paused_ns as f64,
        })
    });
    kept.collect()
}

/// Whether the periods differ by less than the pauses.
fn is_steadier(kept: &[Kept]) -> bool {
    let paused = variance(kept.iter().map(|one| one.paused_ns));
    let least = STEADIER + WITH_FEW / kept.len() as f64;
    paused > variance(kept.iter().map(|one| one.off_ns)) * least
}

/// Whether the moments stay where a schedule has them, in the longest row of them.
fn is_on_schedule(ticks: &[Tick], kept: &[Kept]) -> bool {
    let rows = kept.chunk_by(|one, next| one.tick + 1 == next.tick);
    let Some(row) = rows.max_by_key(|row| row.len()) else {
        return false;
    };
    let period = |one: &Kept| (one.after_ns as f64 - one.off_ns).round();
    let mut due = 0.0;
    let moments = row.iter().map(|one| {
        due += period(one);
        (due, ticks[one.tick].at.since(ticks[row[0].tick].at) as f64)
    });
    let moments: Vec<(f64, f64)> = moments.collect();
    // Of a period that is a little longer or shorter they are off by more and more: what is left without that counts.
    let due = || moments.iter().map(|(due, _)| *due);
    let at = || moments.iter().map(|(_, at)| *at);
    let (mean_due, mean_at) = (mean(due()), mean(at()));
    let together = mean(
        moments
            .iter()
            .map(|(due, at)| (due - mean_due) * (at - mean_at)),
    );
    let off = variance(at()) - together.powi(2) / variance(due()).max(1.0);
    let periods = variance(row.iter().map(|one| one.off_ns));
    off < periods * AS_BY_CHANCE * row.len() as f64
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

fn variance(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let mean_value = mean(values.clone());
    mean(values.map(|value| (value - mean_value).powi(2)))
}
