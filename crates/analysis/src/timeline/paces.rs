//! Pauses that end on a schedule: a rate limit, a ticker, a job at a fixed rate. What such a timer waits for is a moment, not a length
//! of time: whatever is done in between, the pause takes what is left of the period. So of a program that keeps a pace quicker
//! work saves nothing, and a replay has to end its pauses a period after the one before.
//!
//! It is told by the lengths of the pauses: of a sleep of a fixed length the periods differ as the work does, of a pause
//! that takes what is left the pauses do. And of a sleep of a fixed length what the periods differ by adds up, while the moments of
//! a schedule stay where they are. A loop of events waits for other things, too, and its timers have a resolution of a millisecond: there only the
//! moments tell.

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
/// At once. Measured (2026-11-29): 30 to 60 us in Go and tokio; 0.3 ms and more before a wait for another timer.
const AT_ONCE_NS: u64 = 200_000;
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
/// fixed sleep comes between requests, and more than 100 in Java. In loops of events fixed sleeps have up to 4.7 (2026-11-29), so that it says
/// nothing there.
const STEADIER: f64 = 2.0;
/// With few periods the difference must be larger: by this, divided by their number.
const WITH_FEW: f64 = 20.0;
/// How far moments are from a schedule: their variance, as so many times that of the periods, for each moment. Where what the periods differ
/// by adds up, one in a thousand such rows of 40 to 160 moments is so near to one by chance (drawn 4,000 times each).
const AS_BY_CHANCE: f64 = 0.0135;
/// The same for any number of moments. Measured (2026-11-29): 0.4 to 0.8 on schedules in Go, Python and Node.js; 1.1 of Node.js's setInterval,
/// which is late by a little each time, and 1.8 to 13 of fixed sleeps.
const OFF_SCHEDULE: f64 = 0.75;
/// Also of every second and every third moment: sleeps of two lengths in turn differ from each other by what says nothing of a schedule.
const STRIDES: [usize; 3] = [1, 2, 3];
/// Timers that differ by less are no timers of a real machine, and say nothing.
const LEAST_NS: f64 = 10_000.0;
/// What differs by more of a period is in no row with the moment before.
const IN_ROW: f64 = 0.15;

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
            let in_loop = slots
                .iter()
                .any(|&slot| carried.has(slot) || waits_in_loop(spans, slot));
            if let Some(pace) = pace(process, ticks, in_loop) {
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

/// Whether most of what a thread waits for timers in are waits for other things, too.
fn waits_in_loop(spans: &Spans, slot: usize) -> bool {
    let (mut polls_ns, mut all_ns) = (0u64, 0u64);
    for span in spans.spans_of(slot).iter().filter(|span| is_timer(span)) {
        let ns = span.t1.since(span.t0);
        all_ns = all_ns.saturating_add(ns);
        if span.detail == Detail::Poll {
            polls_ns = polls_ns.saturating_add(ns);
        }
    }
    2 * polls_ns > all_ns
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
    span.t0.since(before.until) <= AT_ONCE_NS
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
fn pace(process: ProcessId, mut ticks: Vec<Tick>, in_loop: bool) -> Option<Pace> {
    let mut periods: Vec<u64> = ticks
        .windows(2)
        .map(|two| two[1].at.since(two[0].at))
        .collect();
    if periods.len() < PERIODS {
        return None;
    }
    periods.sort_unstable();
    let candidates = [periods.len() / 2, periods.len() / 4].map(|at| periods[at]);
    let keeps = |period_ns: u64, kept: &[Kept]| {
        let most = kept.len() as f64 >= periods.len() as f64 * MOST;
        let is_steadier = most && !in_loop && is_steadier(kept);
        kept.len() >= PERIODS && (is_steadier || is_on_schedule(&ticks, period_ns))
    };
    let mut found = candidates
        .map(|period| (period, kept(&ticks, period)))
        .into_iter();
    let (period_ns, kept) = found.find(|(period_ns, kept)| keeps(*period_ns, kept))?;
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
fn is_on_schedule(ticks: &[Tick], period_ns: u64) -> bool {
    let period = period_ns as f64;
    let times = |after: f64| (after / period).round().max(1.0);
    let after = |two: &[Tick]| two[1].at.since(two[0].at) as f64;
    let in_row = |one: &Tick, next: &Tick| {
        let after = next.at.since(one.at) as f64;
        times(after) <= TIMES && (after - period * times(after)).abs() <= period * IN_ROW
    };
    let longest = ticks.chunk_by(in_row).max_by_key(|row| row.len());
    // Few moments are near to some schedule by chance: so were 4 and 5 of threads that sleep under a lock.
    let Some(row) = longest.filter(|row| row.len() > PERIODS) else {
        return false;
    };
    let mut due = 0.0;
    let mut moments = vec![Moment { due, at: 0.0 }];
    for two in row.windows(2) {
        due += period * times(after(two));
        let at = two[1].at.since(row[0].at) as f64;
        moments.push(Moment { due, at });
    }
    let by_chance = AS_BY_CHANCE * moments.len() as f64;
    STRIDES.into_iter().all(|stride| {
        let each: Vec<Moment> = moments.iter().copied().step_by(stride).collect();
        let limit = match stride {
            1 => OFF_SCHEDULE.min(by_chance),
            _ => OFF_SCHEDULE,
        };
        off_schedule(&each) < limit
    })
}

/// When a pause ended, and when one on a schedule would have.
#[derive(Clone, Copy)]
struct Moment {
    due: f64,
    at: f64,
}

/// The variance of what moments are off a schedule by, as so many times that of what they differ from each other by.
fn off_schedule(moments: &[Moment]) -> f64 {
    // Of a period that is a little longer or shorter they are off by more and more: what is left without that counts.
    let due = || moments.iter().map(|moment| moment.due);
    let at = || moments.iter().map(|moment| moment.at);
    let (mean_due, mean_at) = (mean(due()), mean(at()));
    let product = |moment: &Moment| (moment.due - mean_due) * (moment.at - mean_at);
    let together = mean(moments.iter().map(product));
    let off = variance(at()) - together.powi(2) / variance(due()).max(1.0);
    let differ = moments.windows(2);
    let differ = variance(differ.map(|two| two[1].at - two[0].at - (two[1].due - two[0].due)));
    match differ.sqrt() < LEAST_NS {
        true => f64::INFINITY,
        false => off / differ,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

fn variance(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let mean_value = mean(values.clone());
    mean(values.map(|value| (value - mean_value).powi(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(ends_us: &[i64]) -> Vec<Tick> {
        let tick = |&us: &i64| Tick {
            at: Nanos(us * 1000),
            after_ns: None,
            pauses: Vec::new(),
            paused_ns: 20_100_000,
        };
        ends_us.iter().map(tick).collect()
    }

    /// A thread of a program in C# that sleeps for 20 ms under a lock, which others take in between, who sleep as long: that was told as a round
    /// every 20.3 ms.
    #[test]
    fn sleeps_under_a_lock_keep_no_schedule() {
        let ends = [
            278_034, 298_292, 318_584, 338_837, 359_088, 561_997, 582_244, 663_332, 683_649,
            703_927,
        ];
        assert!(pace(ProcessId(1), ticks(&ends), false).is_none());
    }

    /// Forty ends of pauses that are where a schedule has them.
    #[test]
    fn moments_of_a_schedule_keep_it() {
        let late_us = [40, 110, 65, 90, 30, 120, 75, 50, 100, 60];
        let late_us = late_us.into_iter().cycle().take(40);
        let ends: Vec<i64> = (0..)
            .zip(late_us)
            .map(|(at, late)| 20_250 * at + late)
            .collect();
        let found = pace(ProcessId(1), ticks(&ends), false).expect("a schedule");
        assert!(found.period_ns.abs_diff(20_250_000) < 100_000);
    }
}
