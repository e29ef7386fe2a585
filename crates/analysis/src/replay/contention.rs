//! How much of the time in which threads were runnable a replay makes anew: what other recorded threads took. What programs
//! outside of the recording took stays as it was.

use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use timesink_recording::tables::Occupant;
use timesink_recording::words::State;
use timesink_recording::{Nanos, ThreadId};

use crate::timeline::{real_time, Span, Timeline};

/// Of so many the list of a span may not be whole.
const LISTED: u32 = 8;

/// A ready span, by thread and start.
#[derive(Clone, Copy)]
struct Queued {
    slot: u32,
    /// How many had the processor meanwhile.
    listed: u32,
    t0: Nanos,
    ns: u64,
}

/// Of each ready span the time that a replay makes anew; the rest stays as it was.
#[derive(Default)]
pub(super) struct Contended {
    /// In the order of threads and time.
    queued: Vec<Queued>,
}

/// The same while its rows come in.
#[derive(Default)]
pub(super) struct BehindRecorded {
    queued: Vec<Queued>,
}

/// Whether a thread shares no CPU with one that waits for it: a real-time thread has it until it waits itself.
fn is_ahead(timeline: &Timeline, occupant: ThreadId, waiting: usize) -> bool {
    let row = timeline.slot(occupant).map(|slot| &timeline.threads[slot]);
    let is_real_time = row.is_some_and(|row| real_time(row).is_some());
    is_real_time && real_time(&timeline.threads[waiting]).is_none()
}

impl BehindRecorded {
    /// Adds rows. Those of one span follow each other in a sound recording.
    pub(super) fn add(&mut self, rows: &[Occupant], timeline: &Timeline) {
        for row in rows {
            let Some(slot) = timeline.slot(row.thread) else {
                continue;
            };
            let of_row = Queued {
                slot: slot as u32,
                listed: 1,
                t0: row.t0,
                ns: row
                    .occupant
                    .filter(|occupant| !is_ahead(timeline, *occupant, slot))
                    .map_or(0, |_| row.ns),
            };
            match self.queued.last_mut() {
                Some(last) if last.key() == of_row.key() => last.add(&of_row),
                _ => self.queued.push(of_row),
            }
        }
    }

    /// The time in which recorded threads had the processor; all of it where not all of them are listed.
    pub(super) fn finish(mut self) -> Contended {
        if !self.queued.is_sorted_by(|a, b| a.key() < b.key()) {
            self.queued.sort_by_key(Queued::key);
            self.queued.dedup_by(|later, kept| {
                let is_same = later.key() == kept.key();
                if is_same {
                    kept.add(later);
                }
                is_same
            });
        }
        for queued in &mut self.queued {
            if queued.listed >= LISTED && queued.ns > 0 {
                queued.ns = u64::MAX;
            }
        }
        Contended {
            queued: self.queued,
        }
    }
}

impl Contended {
    /// The time within a ready span, if any is known.
    pub(super) fn ns(&self, slot: usize, t0: Nanos) -> Option<u64> {
        let key = (slot as u32, t0);
        let at = self.queued.binary_search_by_key(&key, Queued::key).ok()?;
        self.queued.get(at).map(|queued| queued.ns)
    }

    /// Only what lies where recorded threads had all processors. Where they had fewer, programs outside had the rest: a
    /// replay, which does not know of those, would let the thread run at once.
    pub(super) fn while_all_taken(&self, timeline: &Timeline, processors: u32) -> Contended {
        let taken = Taken::of(timeline, processors);
        let mut contended = Contended::default();
        for queued in &self.queued {
            let spans = timeline.spans_of(queued.slot as usize);
            let from = spans.partition_point(|span| span.t0 < queued.t0);
            let then = spans[from..].iter().take_while(|span| span.t0 == queued.t0);
            let ready = then.filter(|span| span.state == State::Ready).last();
            if let Some(ready) = ready {
                let all_taken = taken.until(ready.t1) - taken.until(queued.t0);
                contended.queued.push(Queued {
                    ns: queued.ns.min(all_taken),
                    ..*queued
                });
            }
        }
        contended
    }
}

impl Queued {
    fn key(&self) -> (u32, Nanos) {
        (self.slot, self.t0)
    }

    fn add(&mut self, other: &Queued) {
        self.listed = self.listed.saturating_add(other.listed);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// So many runs of each thread are copied at a time, so that each page of its spans is touched once and not for each of them:
/// all threads have a place of their own.
const AHEAD: usize = 512;

/// The moments at which a thread begins and ceases to run, in order.
struct Runs<'a> {
    spans: std::slice::Iter<'a, Span>,
    /// What comes next, the first of it last.
    ahead: Vec<Run>,
    /// Whether it runs from the moment on that was told last.
    is_running: bool,
    reached: Nanos,
    until: Nanos,
}

#[derive(Clone, Copy)]
struct Run {
    from: Nanos,
    until: Nanos,
}

impl<'a> Runs<'a> {
    fn of(spans: &'a [Span]) -> Runs<'a> {
        Runs {
            spans: spans.iter(),
            ahead: Vec::new(),
            is_running: false,
            reached: Nanos(i64::MIN),
            until: Nanos(i64::MIN),
        }
    }

    fn next(&mut self) -> Option<Nanos> {
        if self.is_running {
            (self.is_running, self.reached) = (false, self.until);
            return Some(self.until);
        }
        if self.ahead.is_empty() {
            self.read_ahead();
        }
        let run = self.ahead.pop()?;
        (self.is_running, self.until) = (true, run.until);
        Some(run.from)
    }

    fn read_ahead(&mut self) {
        let mut reached = self.reached;
        let runs = self.spans.by_ref().filter_map(|span| {
            // Rows of a damaged recording may lie anywhere, but nobody runs twice at a time.
            let (from, until) = (span.t0.max(reached), span.t1);
            let is_run = span.state == State::Cpu && until > from;
            is_run.then(|| {
                reached = until;
                Run { from, until }
            })
        });
        self.ahead.extend(runs.take(AHEAD));
        self.ahead.reverse();
    }
}

/// For how long recorded threads had had all processors, at each moment at which that began or ended.
struct Taken(Vec<(Nanos, u64)>);

impl Taken {
    fn of(timeline: &Timeline, processors: u32) -> Taken {
        // Fewer threads cannot have them all.
        if timeline.threads.len() < processors as usize {
            return Taken(Vec::new());
        }
        let mut runs: Vec<Runs> = (0..timeline.threads.len())
            .map(|slot| Runs::of(timeline.spans_of(slot)))
            .collect();
        // The threads by their next turns: as many as there are threads, however many turns there are.
        let turns = (0..runs.len()).filter_map(|slot| Some(Reverse((runs[slot].next()?, slot))));
        let mut turns: BinaryHeap<Reverse<(Nanos, usize)>> = turns.collect();
        let (mut running, mut sum, mut since) = (0i64, 0u64, None);
        let mut moments = Vec::new();
        while let Some(mut first) = turns.peek_mut() {
            let Reverse((at, slot)) = *first;
            running += if runs[slot].is_running { 1 } else { -1 };
            match runs[slot].next() {
                Some(next) => *first = Reverse((next, slot)),
                None => drop(PeekMut::pop(first)),
            }
            let all = running >= i64::from(processors);
            match since {
                None if all => {
                    since = Some(at);
                    moments.push((at, sum));
                }
                Some(from) if !all => {
                    sum = sum.saturating_add(at.since(from));
                    since = None;
                    moments.push((at, sum));
                }
                _ => {}
            }
        }
        Taken(moments)
    }

    fn until(&self, moment: Nanos) -> u64 {
        let passed = self.0.partition_point(|&(at, _)| at <= moment);
        let Some(&(at, sum)) = passed.checked_sub(1).and_then(|last| self.0.get(last)) else {
            return 0;
        };
        // They begin at the even ones.
        let all = passed % 2 == 1;
        sum.saturating_add(if all { moment.since(at) } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use timesink_recording::notation::draft;

    /// At every moment as much of the time lies behind it in which all processors were taken as counting the runs of every stretch
    /// between two moments says.
    #[test]
    fn the_time_in_which_all_processors_are_taken() {
        for seed in 0..30 {
            let dice = &mut Rng::with_seed(seed);
            let mut text = String::from("process 1 p\n");
            (1..=5).for_each(|thread| text += &format!("thread 1.{thread} t parent 1.1\n"));
            for thread in 1..=5 {
                let mut now = 0;
                for at in 0..40 {
                    let until = now + dice.u64(1..9);
                    let state = ["cpu", "cpu", "ready"][dice.usize(..3)];
                    let before = if at == 0 {
                        format!("1.{thread}:")
                    } else {
                        " |".to_owned()
                    };
                    text += &format!("{before} {state} {now}ns..{until}ns");
                    now = until;
                }
                text += "\n";
            }
            let drawn = draft(&text);
            let runs = drawn.spans.iter().filter(|span| span.state == State::Cpu);
            let runs: Vec<(i64, i64)> = runs.map(|span| (span.t0.0, span.t1.0)).collect();
            let timeline = Timeline::new(drawn.threads, &drawn.spans);
            for processors in 1..=5 {
                let taken = Taken::of(&timeline, processors);
                let mut counted = 0;
                for moment in 0..400 {
                    assert_eq!(
                        taken.until(Nanos(moment)),
                        counted,
                        "seed {seed} at {moment}"
                    );
                    let running = runs.iter().filter(|(t0, t1)| (*t0..*t1).contains(&moment));
                    counted += u64::from(running.count() >= processors as usize);
                }
            }
        }
    }
}
