//! The walk from the end back to the beginning.

use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::{Path, ResponseWait, Segment, Unknown};
use crate::timeline::carried::{CarriedTurn, Resumes};
use crate::timeline::{Span, Timeline, Waker, SKEW_NS};

/// Nobody wakes somebody who wakes somebody, and so on, so often within one moment.
const HOPS: usize = 1000;

struct Walk<'a> {
    timeline: &'a Timeline,
    from: Nanos,
    /// Where the walk stands.
    slot: usize,
    moment: Nanos,
    /// Threads that it has been in at this very moment, few: it must not go in circles.
    here: Vec<usize>,
    /// The waits from which it went to who ended them.
    waits: Vec<(usize, &'a Span)>,
    /// The turn of a task that it is in, if that goes on with what another thread did.
    turn: Option<&'a CarriedTurn>,
    /// For each thread, how many of its spans begin before the walk's moment, or were not looked at yet.
    left: &'a mut Vec<usize>,
    /// The threads that it has been in.
    reached: &'a mut Vec<usize>,
    segments: Vec<Segment>,
}

/// Walks many short paths: what one of them costs does not grow with the recording.
#[derive(Clone, Debug)]
pub struct Walker<'a> {
    timeline: &'a Timeline,
    left: Vec<usize>,
    reached: Vec<usize>,
}

/// The walk has not been in this thread.
const UNSEEN: usize = usize::MAX;

impl<'a> Walker<'a> {
    pub fn new(timeline: &'a Timeline) -> Walker<'a> {
        Walker {
            timeline,
            left: vec![UNSEEN; timeline.threads.len()],
            reached: Vec::new(),
        }
    }

    /// The path from one moment to another, at which the thread has come to what is asked about.
    pub fn between(&mut self, slot: usize, from: Nanos, until: Nanos) -> Path {
        let mut walk = Walk {
            timeline: self.timeline,
            from,
            slot,
            moment: until,
            here: Vec::new(),
            waits: Vec::new(),
            turn: None,
            left: &mut self.left,
            reached: &mut self.reached,
            segments: Vec::new(),
        };
        while walk.moment > walk.from {
            walk.step();
        }
        let responses = walk
            .waits
            .iter()
            .filter_map(|(slot, span)| response(*slot, span));
        let responses = responses.collect();
        let mut segments = walk.segments;
        segments.reverse();
        for slot in self.reached.drain(..) {
            self.left[slot] = UNSEEN;
        }
        Path {
            slot,
            from,
            until: until.max(from),
            segments,
            responses,
        }
    }
}

impl<'a> Walk<'a> {
    /// Each step makes the moment earlier, or goes to a thread it has not been in at this moment.
    fn step(&mut self) {
        let turn = self.timeline.carried().before(self.slot, self.moment);
        self.turn = turn.filter(|turn| turn.resumes != Resumes::Thread);
        let Some(span) = self.before() else {
            return self.born();
        };
        if span.t1 < self.moment {
            let end = span.t1.max(span.t0);
            // Clocks of two processors differ a little: who came from another thread has missed nothing.
            let came = !self.here.is_empty() && self.moment.since(span.t1) <= SKEW_NS;
            return match came {
                true => self.lay(end, span.state, span.detail, span.object(), None),
                false => self.lost(end, Unknown::Lost),
            };
        }
        match span.state {
            State::Cpu | State::Ready => self.lay_span(span, None),
            State::Lost => self.lay_span(span, Some(Unknown::Lost)),
            State::Wait => self.wait(span),
        }
    }

    /// The last span of the thread that begins before this moment. The walk only goes back, so each is passed once.
    fn before(&mut self) -> Option<&'a Span> {
        let spans = self.timeline.spans_of(self.slot);
        let left = &mut self.left[self.slot];
        if *left == UNSEEN {
            *left = spans.partition_point(|span| span.t0 < self.moment);
            self.reached.push(self.slot);
        }
        while let Some(last) = left.checked_sub(1) {
            if spans[last].t0 < self.moment {
                return Some(&spans[last]);
            }
            *left = last;
        }
        None
    }

    fn wait(&mut self, span: &'a Span) {
        let waker = self.timeline.waker(span);
        if matches!(waker, Waker::Thread { slot, .. } if self.came_later(slot)) {
            return self.lay_span(span, None);
        }
        // In the midst of a wait that is not over: nobody ended it yet.
        if span.t1.since(self.moment) > SKEW_NS {
            let over = self.moment == self.timeline.threads[self.slot].end;
            return self.lay_span(span, (!over).then_some(Unknown::Impossible));
        }
        if span.detail == Detail::Creation {
            return self.born();
        }
        match waker {
            Waker::Thread { slot, .. } if self.here.contains(&slot) || self.here.len() >= HOPS => {
                self.lay_span(span, Some(Unknown::Circle));
            }
            Waker::Thread { slot, at } => {
                self.waits.push((self.slot, span));
                // From then on it was on its way to a processor.
                if at < self.moment {
                    self.lay(at, State::Ready, Detail::Woken, None, None);
                }
                self.go_to(slot);
            }
            Waker::Housekeeping => match self.timeline.busy_beside(self.slot, span) {
                Some(slot) if !self.here.contains(&slot) && self.here.len() < HOPS => {
                    self.waits.push((self.slot, span));
                    self.go_to(slot);
                }
                _ => self.lay_span(span, None),
            },
            Waker::Impossible => self.lay_span(span, Some(Unknown::Impossible)),
            Waker::Outside => {
                // The last sleep of a loop that looked now and then: on to what it looked for.
                let polls = self.timeline.polls();
                if let Some(poll) = polls.ending_with(self.slot, span.t0) {
                    if !self.here.contains(&poll.awaited) {
                        if poll.done < self.moment {
                            self.lay(poll.done, State::Wait, Detail::Sleep, None, None);
                        }
                        return self.go_to(poll.awaited);
                    }
                }
                let by_kernel = span.waker().is_some();
                let told =
                    by_kernel || span.waker_outsider().is_some() || span.wake_source.is_some();
                let unknown = !told && ends_by_a_thread(span.detail);
                self.lay_span(span, unknown.then_some(Unknown::NoWaker));
            }
        }
    }

    /// At the start of the thread: on to its parent.
    fn born(&mut self) {
        let thread = &self.timeline.threads[self.slot];
        let parent = thread
            .parent
            .and_then(|parent| self.timeline.slot(parent))
            .filter(|parent| *parent != self.slot && !self.here.contains(parent));
        match parent {
            Some(parent) => self.go_to(parent),
            // While it is being created it is its parent's work, whoever that is.
            None if thread.start < self.moment => {
                self.lay(thread.start, State::Wait, Detail::Creation, None, None);
            }
            None if thread.born_before => self.not_recorded(),
            None => self.lost(self.from, Unknown::Unborn),
        }
    }

    /// Whether a thread was not recorded yet at this moment, although it ran: somebody outside, so far.
    fn came_later(&self, slot: usize) -> bool {
        let thread = &self.timeline.threads[slot];
        thread.born_before && thread.parent.is_none() && thread.start >= self.moment
    }

    /// The thread ran before it was recorded. Who waited for it then waited for somebody outside; if nobody did yet, it is
    /// gone on with who did next, and had a part in that it came in.
    fn not_recorded(&mut self) {
        let mut next = None;
        while let Some((slot, span)) = self.waits.pop() {
            if span.t0 < self.moment {
                self.slot = slot;
                return self.lay_span(span, None);
            }
            next = Some(slot);
        }
        match next {
            Some(slot) if !self.here.contains(&slot) && slot != self.slot => self.go_to(slot),
            _ => self.lost(self.from, Unknown::Unborn),
        }
    }

    fn go_to(&mut self, slot: usize) {
        self.here.push(self.slot);
        self.slot = slot;
    }

    fn lost(&mut self, from: Nanos, why: Unknown) {
        self.lay(from, State::Lost, Detail::Unknown, None, Some(why));
    }

    fn lay_span(&mut self, span: &Span, unknown: Option<Unknown>) {
        self.lay(span.t0, span.state, span.detail, span.object(), unknown);
    }

    /// Lays down what lies between `from` and where the walk stands, and goes there.
    fn lay(
        &mut self,
        from: Nanos,
        state: State,
        detail: Detail,
        object: Option<timesink_recording::ObjectId>,
        unknown: Option<Unknown>,
    ) {
        let resumes = self.turn.take().filter(|turn| turn.t0 >= from);
        let t0 = from
            .max(self.from)
            .max(resumes.map_or(from, |turn| turn.t0));
        self.segments.push(Segment {
            slot: self.slot,
            t0,
            t1: self.moment,
            state,
            detail,
            object,
            unknown,
        });
        self.moment = t0;
        self.here.clear();
        if let Some(turn) = resumes.filter(|turn| turn.t0 == t0) {
            self.resumed(turn.resumes);
        }
    }

    /// At the start of a turn of a task that was left on another thread, and could have gone on: on to there. Until then others had the
    /// runtime's processors, and what the thread did that is first free for it is what it waited for.
    fn resumed(&mut self, resumes: Resumes) {
        let Some(left) = resumes.left() else {
            return;
        };
        while self.moment > left.at.max(self.from) {
            let Some(span) = self.before().filter(|span| span.t1 >= self.moment) else {
                self.lay(left.at, State::Ready, Detail::Woken, None, None);
                break;
            };
            let (from, object) = (span.t0.max(left.at), None);
            match span.state {
                State::Wait => self.lay(from, State::Ready, Detail::Woken, object, None),
                state => self.lay(from, state, span.detail, object, None),
            }
        }
        if self.moment > self.from && left.slot != self.slot {
            self.go_to(left.slot);
        }
    }
}

/// A wait, if it is one for a response.
fn response(slot: usize, span: &Span) -> Option<ResponseWait> {
    let receives = matches!(span.detail, Detail::NetworkReceive | Detail::UnixReceive);
    Some(ResponseWait {
        slot,
        t0: span.t0,
        t1: span.t1,
        detail: span.detail,
        object: span.object().filter(|_| receives)?,
    })
}

/// Whether only another thread can end such a wait.
fn ends_by_a_thread(detail: Detail) -> bool {
    matches!(
        detail,
        Detail::UnixReceive
            | Detail::UnixSend
            | Detail::UnixConnect
            | Detail::PipeRead
            | Detail::PipeWrite
            | Detail::Lock
            | Detail::Condition
            | Detail::Join
            | Detail::FileLock
            | Detail::Child
            | Detail::Vfork
            | Detail::Creation
            | Detail::Event
            | Detail::Ipc
            | Detail::KernelLock
    )
}
