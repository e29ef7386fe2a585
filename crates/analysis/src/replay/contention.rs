//! How much of the time in which threads were runnable a replay makes anew: what other recorded threads took. What programs
//! outside of the recording took stays as it was.

use rustc_hash::FxHashMap;
use timesink_recording::tables::Occupant;
use timesink_recording::words::State;
use timesink_recording::Nanos;

use crate::timeline::Timeline;

/// By the thread and the start of a ready span, in nanoseconds.
pub(super) type Contended = FxHashMap<(usize, Nanos), u64>;

/// Of each ready span (by thread and start) the time in which recorded threads had the processor: a replay makes
/// that anew. The rest stays as it was.
pub(super) fn behind_recorded(timeline: &Timeline, occupants: &[Occupant]) -> Contended {
    /// Of so many the list may not be whole.
    const LISTED: u32 = 8;
    let mut sums: FxHashMap<(usize, Nanos), (u64, u32)> = FxHashMap::default();
    for row in occupants {
        let Some(slot) = timeline.slot(row.thread) else {
            continue;
        };
        let (ns, rows) = sums.entry((slot, row.t0)).or_default();
        if row.occupant.is_some() {
            *ns = ns.saturating_add(row.ns);
        }
        *rows += 1;
    }
    let whole = |(ns, rows)| {
        if rows >= LISTED && ns > 0 {
            u64::MAX
        } else {
            ns
        }
    };
    sums.into_iter()
        .map(|(key, sum)| (key, whole(sum)))
        .collect()
}

/// Of that only what lies where recorded threads had all processors. Where they had fewer, programs outside had the rest: a
/// replay, which does not know of those, would let the thread run at once.
pub(super) fn while_all_taken(
    timeline: &Timeline,
    behind_recorded: &Contended,
    processors: u32,
) -> Contended {
    let taken = Taken::of(timeline, processors);
    let mut contended = Contended::default();
    for (&(slot, t0), &ns) in behind_recorded {
        let spans = timeline.spans_of(slot);
        let from = spans.partition_point(|span| span.t0 < t0);
        let then = spans[from..].iter().take_while(|span| span.t0 == t0);
        for ready in then.filter(|span| span.state == State::Ready) {
            let all_taken = taken.until(ready.t1) - taken.until(t0);
            contended.insert((slot, t0), ns.min(all_taken));
        }
    }
    contended
}

/// For how long recorded threads had had all processors, at each moment at which that began or ended.
struct Taken(Vec<(Nanos, u64)>);

impl Taken {
    fn of(timeline: &Timeline, processors: u32) -> Taken {
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
