//! Locks that threads wait for: who let go of them when, and how long they were held at least.
//!
//! Nothing tells when a lock is taken that nobody waits for. But whoever lets go of it while others wait has held it
//! since they came, or since it was let go of last: so long at least, and holds do not overlap.
//!
//! Where a processor is taken away, who is woken there is queued late, after the one who let go ran again and again for other
//! reasons: it is known to have held the lock until the end of the first of these runs.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::{Span, Spans, Waker};

/// A stretch in which a lock was held while somebody waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Who let go of it, as an index into the timeline's threads.
    pub holder: usize,
    pub from: Nanos,
    pub until: Nanos,
    /// For how long of it the holder is known to have done something: it ran, or waited for something else.
    pub own_ns: u64,
}

impl Hold {
    pub fn ns(&self) -> u64 {
        self.until.since(self.from)
    }

    fn add_own(&mut self, ns: u64) {
        self.own_ns = self.own_ns.saturating_add(ns);
    }
}

/// One lock that was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub process: ProcessId,
    pub object: ObjectId,
    /// The waits, as indexes of spans, in the order in which they ended.
    pub waits: Vec<usize>,
    pub wait_ns: u64,
    /// In the order of time; they do not overlap.
    pub holds: Vec<Hold>,
}

impl Lock {
    /// How long it was held while others waited, all in all.
    pub fn held_ns(&self) -> u64 {
        let holds = self.holds.iter().map(Hold::ns);
        holds.fold(0, u64::saturating_add)
    }
}

/// All locks of a recording that were waited for, longest first.
#[derive(Clone, Debug, Default)]
pub struct Locks(pub Vec<Lock>);

impl Locks {
    pub fn of(timeline: &Spans) -> Locks {
        let mut waits: FxHashMap<(ProcessId, ObjectId), Vec<usize>> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            for (index, object) in waited_for(timeline, slot, Detail::Lock) {
                let own = waits.entry((thread.process, object));
                own.or_default().push(index);
            }
        }
        let locks = waits.into_iter();
        let locks = locks.map(|((process, object), waits)| lock(timeline, process, object, waits));
        let mut locks: Vec<Lock> = locks.collect();
        locks.sort_unstable_by_key(|lock| (Reverse(lock.wait_ns), lock.process, lock.object));
        Locks(locks)
    }

    /// Locks of files, which processes wait for together: each is told as one of the process that waits longest.
    pub fn of_files(timeline: &Spans) -> Locks {
        let mut waits: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        let mut waited: FxHashMap<(ObjectId, ProcessId), u64> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            for (index, object) in waited_for(timeline, slot, Detail::FileLock) {
                waits.entry(object).or_default().push(index);
                let ns = timeline
                    .span(index)
                    .map_or(0, |span| span.t1.since(span.t0));
                *waited.entry((object, thread.process)).or_default() += ns;
            }
        }
        let longest = |object: ObjectId| {
            let own = waited.iter().filter(|((of, _), _)| *of == object);
            let longest = own.max_by_key(|((_, process), ns)| (**ns, Reverse(*process)));
            longest.map(|((_, process), _)| *process)
        };
        let locks = waits.into_iter();
        let locks = locks.filter_map(|(object, waits)| {
            let process = longest(object)?;
            Some(lock(timeline, process, object, waits))
        });
        let mut locks: Vec<Lock> = locks.collect();
        locks.sort_unstable_by_key(|lock| (Reverse(lock.wait_ns), lock.object));
        Locks(locks)
    }

    /// The one of this process.
    pub fn find(&self, process: ProcessId, object: ObjectId) -> Option<&Lock> {
        self.0
            .iter()
            .find(|lock| lock.process == process && lock.object == object)
    }
}

/// The waits of a thread for locks of a kind, as indexes of spans, and for which each is.
fn waited_for(
    timeline: &Spans,
    slot: usize,
    kind: Detail,
) -> impl Iterator<Item = (usize, ObjectId)> + '_ {
    let waits = timeline.indexed(slot);
    let waits = waits.filter(move |(_, span)| span.state == State::Wait && span.detail == kind);
    waits.filter_map(|(index, span)| Some((index, span.object()?)))
}

fn lock(timeline: &Spans, process: ProcessId, object: ObjectId, mut waits: Vec<usize>) -> Lock {
    // Each span is looked at once: of many they lie far apart.
    waits.sort_by_cached_key(|&index| timeline.span(index).map(|span| span.t1));
    let mut holds: Vec<Hold> = Vec::new();
    let mut wait_ns = 0u64;
    let mut let_go: Option<Nanos> = None;
    for span in waits.iter().filter_map(|&index| timeline.span(index)) {
        wait_ns = wait_ns.saturating_add(span.t1.since(span.t0));
        let from = let_go.map_or(span.t0, |before| before.max(span.t0));
        let_go = Some(span.t1);
        if let Waker::Thread { slot, at } = timeline.waker(span) {
            // Whose processor was taken comes to late, and the holder may be far on by then.
            let until = timeline.ran_first(slot, from, span.t1, at);
            if until > from {
                holds.push(Hold {
                    holder: slot,
                    from,
                    until,
                    own_ns: 0,
                });
            }
        }
    }
    find_own(timeline, &mut holds);
    Lock {
        process,
        object,
        waits,
        wait_ns,
        holds,
    }
}

/// Part of a run that lies within a stretch.
struct Piece {
    /// Which of the stretches.
    hold: usize,
    within_ns: u64,
}

/// How much of each stretch is the holder's own. What was taken from one of its runs is known, but not where in it:
/// most likely where it took longest. The stretches of each holder are gone through in the order of time, so that its spans are, too.
fn find_own(timeline: &Spans, holds: &mut [Hold]) {
    let mut order: Vec<usize> = (0..holds.len()).collect();
    order.sort_by_key(|&at| (holds[at].holder, holds[at].from));
    // Those of the last run that something was taken from.
    let mut pieces: Vec<Piece> = Vec::new();
    let mut run: Option<&Span> = None;
    for at in order {
        let Hold {
            holder,
            from,
            until,
            ..
        } = holds[at];
        for (span, within_ns) in timeline.between(holder, from, until) {
            let own_ns = match (span.state, span.detail) {
                (State::Cpu, Detail::SwitchingIn) => 0,
                (State::Cpu, _) if span.taken_ns() > 0 => {
                    if !run.is_some_and(|run| std::ptr::eq(run, span)) {
                        share_run(run, &mut pieces, holds);
                        run = Some(span);
                    }
                    pieces.push(Piece {
                        hold: at,
                        within_ns,
                    });
                    0
                }
                (State::Cpu | State::Wait, _) => within_ns,
                _ => 0,
            };
            holds[at].add_own(own_ns);
        }
    }
    share_run(run, &mut pieces, holds);
}

/// Gives what was taken from a run to the longest of the stretches that it lies in, and the rest of it to these.
fn share_run(run: Option<&Span>, pieces: &mut Vec<Piece>, holds: &mut [Hold]) {
    let mut taken_ns = run.map_or(0, Span::taken_ns);
    pieces.sort_by_key(|piece| (Reverse(holds[piece.hold].ns()), piece.hold));
    for Piece { hold, within_ns } in pieces.drain(..) {
        let taken_here_ns = within_ns.min(taken_ns);
        taken_ns -= taken_here_ns;
        holds[hold].add_own(within_ns - taken_here_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use timesink_recording::notation::draft;
    use timesink_recording::tables;

    /// Four threads that run, are taken from, and wait for each other's lock, at random.
    fn random(dice: &mut Rng) -> Spans {
        let mut text = String::from("process 1 p\n");
        for thread in 1..=4 {
            text += &format!("thread 1.{thread} t parent 1.1\n");
        }
        for thread in 1..=4 {
            let mut now = 0;
            text += &format!("1.{thread}: ");
            for _ in 0..60 {
                let until = now + dice.u64(1..400);
                let waker = dice.u64(1..5);
                let span = match dice.u32(..8) {
                    0..4 => format!("cpu {now}us..{until}us taken {}us", dice.u64(..300)),
                    4 => format!("ready {now}us..{until}us preempted"),
                    5 => format!("cpu {now}us..{until}us \"switching in\""),
                    _ => format!("wait {now}us..{until}us lock l by 1.{waker}"),
                };
                text += &format!("{}{span}", if now > 0 { " | " } else { "" });
                now = until;
            }
            text += "\n";
        }
        let drawn = draft(&text);
        let spans = drawn.spans.iter().map(|row: &tables::Span| Span::from(row));
        let spans = spans.collect();
        Spans::new(drawn.threads, spans)
    }

    /// How much of each stretch is the holder's own, stretch by stretch, the longest first: what was taken from a run is
    /// noted for each run.
    fn longest_first(timeline: &Spans, holds: &[Hold]) -> Vec<u64> {
        let mut own = vec![0; holds.len()];
        let mut order: Vec<usize> = (0..holds.len()).collect();
        order.sort_by_key(|&at| Reverse(holds[at].ns()));
        let mut left: FxHashMap<(usize, Nanos), u64> = FxHashMap::default();
        for at in order {
            let hold = &holds[at];
            for (span, within_ns) in timeline.between(hold.holder, hold.from, hold.until) {
                let key = (hold.holder, span.t0);
                own[at] += match (span.state, span.detail) {
                    (State::Cpu, Detail::SwitchingIn) => 0,
                    (State::Cpu, _) => {
                        let left = left.entry(key).or_insert(span.taken_ns());
                        let taken_ns = within_ns.min(*left);
                        *left -= taken_ns;
                        within_ns - taken_ns
                    }
                    (State::Wait, _) => within_ns,
                    _ => 0,
                };
            }
        }
        own
    }

    /// Going through the stretches of each holder in the order of time gives each of them as much as going through all of them,
    /// the longest first.
    #[test]
    fn what_was_taken_lies_in_the_longest_stretches() {
        let mut holds_in_all = 0;
        for seed in 0..50 {
            let timeline = random(&mut Rng::with_seed(seed));
            for lock in Locks::of(&timeline).0 {
                let own: Vec<u64> = lock.holds.iter().map(|hold| hold.own_ns).collect();
                assert_eq!(own, longest_first(&timeline, &lock.holds), "seed {seed}");
                holds_in_all += own.len();
            }
        }
        assert!(holds_in_all > 500, "{holds_in_all}");
    }
}
