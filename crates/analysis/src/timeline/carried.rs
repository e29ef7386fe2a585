//! Which tasks threads carried, in the order of time, and what each turn of a task had to wait for before it began: a task goes
//! on where another thread left it.
//!
//! How a task was left is recorded. Who ended its wait in the runtime is not: it is inferred from who was carried just
//! before it by the same thread, or from who woke that thread. Where neither tells, nobody is named.

use rustc_hash::FxHashMap;
use timesink_recording::ids::{StackId, TaskId};
use timesink_recording::tables::{Task, TaskTurn};
use timesink_recording::words::{Detail, State, TaskState};
use timesink_recording::{Nanos, Recording};

use super::{Spans, Waker};

/// A stretch of time in which a thread carried one task, or the runtime itself. Those of a thread follow each other without
/// holes: from one to the next it changed half way between seeing the one for the last time and the other for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedTurn {
    pub task: Option<TaskId>,
    pub t0: Nanos,
    pub t1: Nanos,
    pub resumes: Resumes,
    /// Of a task: the wait, by its span, that the thread had last before it came to the task, if it did nothing else in between.
    pub woken: Option<usize>,
}

/// A moment of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// As an index into [`Spans::threads`].
    pub slot: usize,
    pub at: Nanos,
}

/// What a turn of a task comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumes {
    /// After what the thread itself did before.
    Thread,
    /// The task could have gone on from then on, when it was left there: it had no thread, or no processor of the runtime's.
    Ready(Place),
    /// After what was done there for it.
    Given(Place),
    /// It waited in the runtime since it was left there, and no recorded task is known to have ended that; the thread that goes
    /// on with it came to that by this wait of its own, by its span.
    Parked { left: Place, wait: Option<usize> },
}

/// The turns of all threads that carry tasks.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// By the slots of their threads.
    turns: FxHashMap<usize, Vec<CarriedTurn>>,
}

/// From one to another that the runtime's threads wake each other, so often at most.
const HOPS: usize = 8;

/// The last turn of a task so far, by where it stands.
#[derive(Clone, Copy)]
struct LastTurn {
    slot: usize,
    index: usize,
}

/// A turn as its thread was seen: how it was left.
#[derive(Clone, Copy)]
struct LeftAs {
    state: Option<TaskState>,
    at: Option<StackId>,
}

impl Carried {
    /// Of an open recording. `parks` tells whether a task that was left in such a stack had given itself up to wait.
    pub fn of(
        recording: &Recording,
        spans: &Spans,
        parks: impl Fn(StackId) -> bool,
    ) -> timesink_recording::Result<Carried> {
        let mut rows: FxHashMap<usize, Vec<TaskTurn>> = FxHashMap::default();
        recording.scan(|all: &[TaskTurn]| {
            for row in all {
                if let Some(slot) = spans.slot(row.thread) {
                    rows.entry(slot).or_default().push(row.clone());
                }
            }
        })?;
        // Older recordings do not tell how tasks were left: where one went on after what is not known then.
        let is_told = |rows: &Vec<TaskTurn>| rows.iter().any(|row| row.left.is_some());
        if !rows.values().any(is_told) {
            return Ok(Carried::default());
        }
        let mut carried = Carried::default();
        let mut left: FxHashMap<usize, Vec<LeftAs>> = FxHashMap::default();
        for (slot, mut rows) in rows {
            rows.sort_by_key(|turn| (turn.t0, turn.t1));
            let (turns, as_left) = stretched(&rows);
            carried.turns.insert(slot, turns);
            left.insert(slot, as_left);
        }
        let parents = recording.rows::<Task>()?.into_iter();
        let parents: FxHashMap<TaskId, TaskId> = parents
            .filter_map(|task| Some((task.task, task.parent?)))
            .collect();
        carried.link(spans, &left, &parents, parks);
        Ok(carried)
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The turns of a thread, in order; none if it carries no tasks.
    pub fn turns(&self, slot: usize) -> &[CarriedTurn] {
        self.turns.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// Whether a thread carries tasks.
    pub fn has(&self, slot: usize) -> bool {
        self.turns.contains_key(&slot)
    }

    /// The turn that a thread is in just before a moment.
    pub fn before(&self, slot: usize, moment: Nanos) -> Option<&CarriedTurn> {
        let turns = self.turns(slot);
        turns.get(self.index_before(slot, moment)?)
    }

    fn index_before(&self, slot: usize, moment: Nanos) -> Option<usize> {
        let begun = self.turns(slot).partition_point(|turn| turn.t0 < moment);
        begun.checked_sub(1)
    }

    /// The slots of the threads, in order.
    pub fn slots(&self) -> Vec<usize> {
        let mut slots: Vec<usize> = self.turns.keys().copied().collect();
        slots.sort_unstable();
        slots
    }

    /// Finds what each turn comes after.
    fn link(
        &mut self,
        spans: &Spans,
        left: &FxHashMap<usize, Vec<LeftAs>>,
        parents: &FxHashMap<TaskId, TaskId>,
        parks: impl Fn(StackId) -> bool,
    ) {
        let mut all: Vec<(Nanos, usize, usize)> = Vec::new();
        for slot in self.slots() {
            let turns = self.turns(slot).iter().enumerate();
            all.extend(turns.map(|(index, turn)| (turn.t0, slot, index)));
        }
        all.sort_unstable();
        let mut last: FxHashMap<TaskId, LastTurn> = FxHashMap::default();
        for (_, slot, index) in all {
            let turn = self.turns(slot)[index];
            let Some(task) = turn.task else {
                continue;
            };
            let before = last.insert(task, LastTurn { slot, index });
            let resumes = match before {
                Some(before) => {
                    let as_left = left.get(&before.slot).and_then(|all| all.get(before.index));
                    let end = self.turns(before.slot)[before.index].t1.min(turn.t0);
                    let end = Place {
                        slot: before.slot,
                        at: end,
                    };
                    match as_left.and_then(|left| waited(left, &parks)) {
                        None => Resumes::Thread,
                        Some(false) => Resumes::Ready(end),
                        Some(true) => self.ended_by(spans, (slot, index), Some(end)),
                    }
                }
                None => match self.ended_by(spans, (slot, index), None) {
                    Resumes::Thread if index == 0 => {
                        let parent = parents.get(&task).and_then(|parent| last.get(parent));
                        parent.map_or(Resumes::Thread, |parent| {
                            let end = self.turns(parent.slot)[parent.index].t1;
                            Resumes::Given(Place {
                                slot: parent.slot,
                                at: end.min(turn.t0),
                            })
                        })
                    }
                    resumes => resumes,
                },
            };
            let idle = index.checked_sub(1).map(|at| self.turns(slot)[at]);
            let idle = idle.filter(|before| before.task.is_none());
            let woken = idle.and_then(|idle| last_wait(spans, slot, idle.t0, turn.t0));
            let woken = woken.map(|(wait, _)| wait);
            if let Some(turn) = self.turns.get_mut(&slot).and_then(|t| t.get_mut(index)) {
                turn.resumes = sound(resumes, slot, turn.t0);
                turn.woken = woken;
            }
        }
    }

    /// Who ended a task's wait in the runtime, as far as that can be told from what the thread that goes on with it did before.
    fn ended_by(
        &self,
        spans: &Spans,
        (mut slot, mut index): (usize, usize),
        left: Option<Place>,
    ) -> Resumes {
        let task = self.turns(slot)[index].task;
        let mut moment = self.turns(slot)[index].t0;
        let mut first_wait = None;
        let since = left.map_or(Nanos(i64::MIN), |left| left.at);
        let nobody = |wait| left.map_or(Resumes::Thread, |left| Resumes::Parked { left, wait });
        for hop in 0..HOPS {
            let Some(before) = index.checked_sub(1).map(|at| self.turns(slot)[at]) else {
                return nobody(first_wait);
            };
            if before.task.is_some() {
                // Another one, which then gave up the thread.
                return match before.task != task && before.t1 >= since {
                    true if hop == 0 => Resumes::Thread,
                    true => Resumes::Given(Place {
                        slot,
                        at: before.t1,
                    }),
                    false => nobody(first_wait),
                };
            }
            let wait = last_wait(spans, slot, before.t0, moment);
            let Some((wait, span)) = wait else {
                // The scheduler looked for something to do, and found it at once.
                let giver = index.checked_sub(2).map(|at| self.turns(slot)[at]);
                let giver = giver.filter(|giver| giver.task != task && giver.t1 >= since);
                return match giver {
                    Some(giver) => Resumes::Given(Place { slot, at: giver.t1 }),
                    None => nobody(first_wait),
                };
            };
            first_wait = first_wait.or(Some(wait));
            match spans.waker(span) {
                Waker::Thread { slot: waker, at } if at >= since => {
                    let place = Place { slot: waker, at };
                    let Some(turn) = self.index_before(waker, at) else {
                        return Resumes::Given(place);
                    };
                    match self.turns(waker)[turn].task {
                        Some(giver) if Some(giver) != task => return Resumes::Given(place),
                        Some(_) => return nobody(first_wait),
                        // The runtime there was woken itself.
                        None => (slot, index, moment) = (waker, turn + 1, at),
                    }
                }
                _ => return nobody(first_wait),
            }
        }
        nobody(first_wait)
    }
}

/// Nothing comes after what is later, nor after itself.
fn sound(resumes: Resumes, slot: usize, t0: Nanos) -> Resumes {
    let is_sound = match resumes {
        Resumes::Thread => true,
        Resumes::Ready(place) | Resumes::Given(place) | Resumes::Parked { left: place, .. } => {
            place.at < t0 || place.at == t0 && place.slot != slot
        }
    };
    match is_sound {
        true => resumes,
        false => Resumes::Thread,
    }
}

/// Whether a task that was left so waited in the runtime; none if that is not known, or it had ended.
fn waited(left: &LeftAs, parks: impl Fn(StackId) -> bool) -> Option<bool> {
    match left.state? {
        TaskState::Waiting => Some(true),
        TaskState::Ready | TaskState::Running => Some(left.at.is_some_and(parks)),
        TaskState::Ended => None,
    }
}

/// The last wait of a thread that ended between two moments.
fn last_wait(
    spans: &Spans,
    slot: usize,
    from: Nanos,
    until: Nanos,
) -> Option<(usize, &super::Span)> {
    let all = spans.spans_of(slot);
    let begun = all.partition_point(|span| span.t0 < until);
    let mut before = all[..begun].iter().rev();
    let last = before.find(|span| span.state == State::Wait || span.t1 <= from)?;
    let is_it = last.state == State::Wait && last.t1 > from && last.detail != Detail::Creation;
    let index = spans.wait_at(slot, last.t0).filter(|_| is_it)?;
    Some((index, last))
}

/// Each made as long as it probably was.
fn stretched(rows: &[TaskTurn]) -> (Vec<CarriedTurn>, Vec<LeftAs>) {
    let half_way = |a: &TaskTurn, b: &TaskTurn| {
        let (a, b) = (a.t1.0, b.t0.0);
        Nanos(a.saturating_add(b.saturating_sub(a).max(0) / 2))
    };
    let turns = rows.iter().enumerate().map(|(index, row)| {
        let before = index.checked_sub(1).map(|before| &rows[before]);
        let after = rows.get(index + 1);
        let t0 = before.map_or(row.t0, |before| half_way(before, row));
        CarriedTurn {
            task: row.task,
            t0,
            t1: after.map_or(row.t1, |after| half_way(row, after)).max(t0),
            resumes: Resumes::Thread,
            woken: None,
        }
    });
    let left = rows.iter().map(|row| LeftAs {
        state: row.left,
        at: row.left_at,
    });
    (turns.collect(), left.collect())
}
