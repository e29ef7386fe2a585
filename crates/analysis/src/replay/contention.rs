//! How much of the time in which threads were runnable a replay makes anew: what other recorded threads took. What programs
//! outside of the recording took stays as it was.

use timesink_recording::tables::Occupant;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::timeline::Timeline;

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
                ns: row.occupant.map_or(0, |_| row.ns),
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

/// For how long recorded threads had had all processors, at each moment at which that began or ended.
struct Taken(Vec<(Nanos, u64)>);

impl Taken {
    fn of(timeline: &Timeline, processors: u32) -> Taken {
        // Fewer threads cannot have them all.
        if timeline.threads.len() < processors as usize {
            return Taken(Vec::new());
        }
        let mut turns: Vec<(Nanos, i32)> = Vec::new();
        for slot in 0..timeline.threads.len() {
            let spans = timeline.spans_of(slot).iter();
            for span in spans.filter(|span| span.state == State::Cpu && span.t1 > span.t0) {
                turns.extend([(span.t0, 1), (span.t1, -1)]);
            }
        }
        turns.sort_unstable();
        let (mut running, mut sum, mut since) = (0i64, 0u64, None);
        let mut moments = Vec::new();
        for (at, turn) in turns {
            running += i64::from(turn);
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
