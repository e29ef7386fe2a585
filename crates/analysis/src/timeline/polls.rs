//! Loops that look now and then whether something is done: sleep, look, sleep, look.
//!
//! Nothing wakes such a loop but its own timer, so nothing that is recorded says what it waits for. But if it goes
//! on in the very round in which another thread comes to the end of its work, after many rounds in which it did
//! not, that is hardly chance. It stays a supposition, and whoever tells of it has to say so.
//!
//! The same loop may wait with a time-out: poll, nothing yet, poll, or the same at a condition, or in a sleep that a signal ends. There
//! the last round says what it waited for, since somebody ends it before its time. A thread that wakes others between its rounds does not
//! merely wait: it is somebody's clock.
//!
//! It does not see loops that wait with a time-out for what nobody signals, and none that never sleep.

use rustc_hash::FxHashMap;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::Nanos;

use super::{Span, Spans, Waker};

/// So many rounds at least: once in so many it would be chance.
const ROUNDS: usize = 5;
/// A round does little but sleep: of its time it sleeps at least this.
const ASLEEP: f64 = 0.8;
/// A sleep that is no longer than this part of those before is much shorter.
const SHORTER: f64 = 0.8;
/// Of those before it counts what the shortest of so many was: sleeps may end late, one after the other.
const BEFORE: usize = 3;
/// The thread that it waits for was at work for this share of the loop.
const AT_WORK: f64 = 0.8;

/// One such loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The thread that looks.
    pub slot: usize,
    /// Its sleeps, as indexes of spans.
    pub sleeps: Vec<usize>,
    /// The thread whose end of work it waited for.
    pub awaited: usize,
    /// When that came to its end.
    pub done: Nanos,
    /// It slept and looked; else it waited, and was woken in the last round.
    pub is_supposed: bool,
}

/// The loops of a recording.
#[derive(Clone, Debug, Default)]
pub struct Polls {
    pub all: Vec<Poll>,
    /// For each last sleep, by thread and start, its loop.
    last: FxHashMap<(usize, Nanos), usize>,
}

impl Polls {
    /// Finds all loops whose end another thread explains.
    pub fn of(timeline: &Spans) -> Polls {
        let mut polls = Polls::default();
        let mut ends: Option<Ends> = None;
        let started = started(timeline);
        let mut wakes: Option<Wakes> = None;
        for slot in 0..timeline.threads.len() {
            let starts = started.get(&slot).map_or(&[][..], Vec::as_slice);
            for sleeps in loops(timeline, slot, starts) {
                let ends = ends.get_or_insert_with(|| Ends::of(timeline));
                let Some((awaited, done)) = ends.in_the_last_round(timeline, slot, &sleeps) else {
                    continue;
                };
                let last = sleeps.last().and_then(|&last| timeline.span(last));
                if let Some(last) = last {
                    polls.last.insert((slot, last.t0), polls.all.len());
                }
                polls.all.push(Poll {
                    slot,
                    sleeps,
                    awaited,
                    done,
                    is_supposed: true,
                });
            }
            for poll in time_outs(timeline, slot) {
                let wakes = wakes.get_or_insert_with(|| Wakes::of(timeline));
                polls.all.extend(wakes.waited_only(timeline, poll));
            }
        }
        polls
    }

    /// Loops that slept and looked, without those that were woken in the end.
    pub fn supposed(&self) -> impl Iterator<Item = &Poll> {
        self.all.iter().filter(|poll| poll.is_supposed)
    }

    /// The loop of a thread whose last sleep began at this moment.
    pub fn ending_with(&self, slot: usize, t0: Nanos) -> Option<&Poll> {
        self.all.get(*self.last.get(&(slot, t0))?)
    }
}

/// When each thread started others, in the order of time.
fn started(timeline: &Spans) -> FxHashMap<usize, Vec<Nanos>> {
    let mut started: FxHashMap<usize, Vec<Nanos>> = FxHashMap::default();
    for thread in &timeline.threads {
        let parent = thread.parent.and_then(|parent| timeline.slot(parent));
        if let Some(parent) = parent {
            started.entry(parent).or_default().push(thread.start);
        }
    }
    started
        .values_mut()
        .for_each(|starts| starts.sort_unstable());
    started
}

/// The loops of one thread, which started others at these moments, each as the indexes of its sleeps.
fn loops(timeline: &Spans, slot: usize, starts: &[Nanos]) -> Vec<Vec<usize>> {
    let mut starts = starts.iter().peekable();
    let mut found = Vec::new();
    let mut sleeps: Vec<usize> = Vec::new();
    let mut awake_ns = 0u64;
    let mut close = |sleeps: &mut Vec<usize>| {
        let whole = std::mem::take(sleeps);
        if whole.len() >= ROUNDS {
            found.push(whole);
        }
    };
    let mut last_ns = 0u64;
    for (index, span) in timeline.indexed(slot) {
        let ns = span.t1.since(span.t0);
        if !is_sleep(span) {
            // Where processors are few it may be late, but looks no longer for that.
            if span.state != State::Ready {
                awake_ns = awake_ns.saturating_add(ns);
            }
            // A look that takes long was not only a look.
            if awake_ns as f64 > last_ns as f64 * (1.0 - ASLEEP) / ASLEEP {
                close(&mut sleeps);
            }
            continue;
        }
        // Who looks sleeps longer and longer, if not always the same: with a shorter sleep another loop begins. So it
        // does where it has started something meanwhile.
        let mut has_started = false;
        while starts.next_if(|start| **start <= span.t0).is_some() {
            has_started = true;
        }
        let slept_ns = looks_at(timeline, index, span).since(span.t0);
        let before = sleeps.iter().rev().take(BEFORE);
        let before = before.filter_map(|&index| timeline.span(index));
        let least_ns = before.map(|sleep| sleep.t1.since(sleep.t0)).min();
        if has_started || (slept_ns as f64) < least_ns.unwrap_or(0) as f64 * SHORTER {
            close(&mut sleeps);
        }
        sleeps.push(index);
        (awake_ns, last_ns) = (0, ns);
    }
    close(&mut sleeps);
    found
}

/// Waits of a thread whose time was over, again and again, up to one that another thread ended.
fn time_outs(timeline: &Spans, slot: usize) -> Vec<Poll> {
    let mut found = Vec::new();
    let mut rounds: Vec<usize> = Vec::new();
    let mut awake_ns = 0u64;
    for (index, span) in timeline.indexed(slot) {
        let ns = span.t1.since(span.t0);
        let waits = span.state == State::Wait
            && matches!(
                span.detail,
                Detail::Poll | Detail::Condition | Detail::Sleep
            );
        if !waits {
            if span.state != State::Ready {
                awake_ns = awake_ns.saturating_add(ns);
            }
            continue;
        }
        let last = rounds.last().and_then(|&last| timeline.span(last));
        let last_ns = last.map_or(0, |last| last.t1.since(last.t0));
        let another =
            last.is_some_and(|last| (last.detail, last.object()) != (span.detail, span.object()));
        if another || awake_ns as f64 > last_ns.max(ns) as f64 * (1.0 - ASLEEP) / ASLEEP {
            rounds.clear();
        }
        awake_ns = 0;
        rounds.push(index);
        if span.wake_source == Some(WakeSource::Timer) {
            continue;
        }
        let sleeps = std::mem::take(&mut rounds);
        if let (Waker::Thread { slot: awaited, at }, true) =
            (timeline.waker(span), sleeps.len() > 1)
        {
            found.push(Poll {
                slot,
                sleeps,
                awaited,
                done: at,
                is_supposed: false,
            });
        }
    }
    found
}

/// For each thread, when it woke another.
struct Wakes(FxHashMap<usize, Vec<Nanos>>);

impl Wakes {
    fn of(timeline: &Spans) -> Wakes {
        let mut all: FxHashMap<usize, Vec<Nanos>> = FxHashMap::default();
        for slot in 0..timeline.threads.len() {
            for span in timeline.spans_of(slot) {
                if let Waker::Thread { slot: by, at } = timeline.waker(span) {
                    all.entry(by).or_default().push(at);
                }
            }
        }
        all.values_mut().for_each(|at| at.sort_unstable());
        Wakes(all)
    }

    /// What is left of a loop after the last time that its thread woke another in it; none if that is a single wait.
    fn waited_only(&self, timeline: &Spans, mut poll: Poll) -> Option<Poll> {
        let end = timeline.span(*poll.sleeps.last()?)?.t1;
        if let Some(wakes) = self.0.get(&poll.slot) {
            let before = wakes.partition_point(|at| *at < end);
            if let Some(&woke) = before.checked_sub(1).and_then(|at| wakes.get(at)) {
                let later =
                    |&index: &usize| timeline.span(index).is_some_and(|wait| wait.t0 >= woke);
                poll.sleeps.retain(later);
            }
        }
        (poll.sleeps.len() > 1).then_some(poll)
    }
}

/// A sleep that its own timer ended.
fn is_sleep(span: &Span) -> bool {
    span.state == State::Wait && span.detail == Detail::Sleep && span.waker().is_none()
}

/// When a loop looks after a sleep: as soon as it has a processor. Kernels count the rest of a sleep as time ready now
/// and then, by their own sums too (seen with 6.18 on a crowded machine: 3 ms of 50 asleep).
fn looks_at(timeline: &Spans, index: usize, sleep: &Span) -> Nanos {
    let next = timeline.span(index + 1);
    let ready = next.filter(|next| next.thread == sleep.thread && next.state == State::Ready);
    ready.map_or(sleep.t1, |ready| ready.t1)
}

/// When threads came to ends of their work: for each process those of its own threads and of its children.
struct Ends(FxHashMap<ProcessId, Vec<(Nanos, usize)>>);

impl Ends {
    fn of(timeline: &Spans) -> Ends {
        let mut all: FxHashMap<ProcessId, Vec<(Nanos, usize)>> = FxHashMap::default();
        for (slot, thread) in timeline.threads.iter().enumerate() {
            let parent = thread.parent.and_then(|parent| timeline.slot(parent));
            let parent = parent.map(|parent| timeline.threads[parent].process);
            let ended = (!thread.alive_at_end && !thread.end_lost)
                .then(|| thread.exit.unwrap_or(thread.end));
            let rests = timeline.spans_of(slot).iter().filter(|span| rests(span));
            let ends = rests.map(|wait| wait.t0).chain(ended);
            let mine = all.entry(thread.process).or_default();
            mine.extend(ends.map(|at| (at, slot)));
            // Of a child only its end can be seen.
            let parent = parent.filter(|&parent| parent != thread.process);
            if let (Some(parent), Some(ended)) = (parent, ended) {
                all.entry(parent).or_default().push((ended, slot));
            }
        }
        all.values_mut().for_each(|ends| ends.sort_unstable());
        Ends(all)
    }

    /// Who came to the end of its work after the look before the last, and had been at work until then.
    fn in_the_last_round(
        &self,
        timeline: &Spans,
        slot: usize,
        sleeps: &[usize],
    ) -> Option<(usize, Nanos)> {
        /// Of so many that came to an end in one round, nobody can tell which it was.
        const MOST: usize = 16;
        let [first, .., before, last] = sleeps else {
            return None;
        };
        let span = |index: &usize| timeline.span(*index);
        let looked = looks_at(timeline, *last, span(last)?);
        let (first, before) = (span(first)?, span(before)?);
        let ends = self.0.get(&timeline.threads[slot].process)?;
        let from = ends.partition_point(|(at, _)| *at <= before.t1);
        let to = ends.partition_point(|(at, _)| *at <= looked);
        let round = ends.get(from..to)?.iter().rev().take(MOST);
        let process = timeline.threads[slot].process;
        let mut at_work = round.filter(|(at, other)| {
            let (at, other) = (*at, *other);
            let child = timeline.threads[other].process != process;
            other != slot
                && match child {
                    true => share_alive(timeline, other, first.t0, at) >= AT_WORK,
                    false => share_at_work(timeline, other, first.t0, at) >= AT_WORK,
                }
        });
        at_work.next().map(|&(at, other)| (other, at))
    }
}

/// A wait of somebody who has nothing to do.
fn rests(span: &Span) -> bool {
    span.state == State::Wait
        && matches!(
            span.detail,
            Detail::Condition
                | Detail::PipeRead
                | Detail::UnixReceive
                | Detail::Poll
                | Detail::Event
                | Detail::Join
        )
}

/// The share of a stretch in which a thread was there.
fn share_alive(timeline: &Spans, slot: usize, from: Nanos, until: Nanos) -> f64 {
    let start = timeline.threads[slot].start.max(from);
    until.since(start) as f64 / until.since(from).max(1) as f64
}

/// The share of a stretch in which a thread did something that was not resting; of what it was not there, nothing.
fn share_at_work(timeline: &Spans, slot: usize, from: Nanos, until: Nanos) -> f64 {
    let at_work = timeline.between(slot, from, until);
    let at_work = at_work.filter(|(span, _)| !rests(span) && !is_sleep(span));
    let worked: u64 = at_work.map(|(_, ns)| ns).sum();
    worked as f64 / until.since(from).max(1) as f64
}
