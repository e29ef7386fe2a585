//! What each thread did, as a program that can be run again: stretches on a processor, lengths of time that
//! pass by themselves, and moments at which one thread waits for what another one does.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::Nanos;

use super::contention::Contended;
use super::strands::{Strands, Stretch};
use crate::timeline::carried::Resumes;
use crate::timeline::{Span, Timeline, Waker, SKEW_NS};

/// One step of a thread. `span` is the index of the span it is of, in [`Timeline::span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayStep {
    /// It needs a processor for so long.
    Run { ns: u64, span: u32, processor: u16 },
    /// So much time passes: a device, a timer, a peer outside, or the way to a free processor.
    Pass { ns: u64, span: u32 },
    /// So much time passes until a timer of a loop of events is due, which goes on for as long as the loop waits for anything.
    Idle { ns: u64, span: u32 },
    /// Time passes until a schedule's next moment: a period after the one before.
    Tick { timer: u32, span: u32 },
    /// It waits until that has happened.
    Await { event: u32, span: u32 },
    /// The same of a loop of events. What comes while it waits for a timer it would have heard at once.
    Hear { event: u32, span: u32 },
    /// It comes to a meeting, and waits for one who came before it and waited there, in this span: unless that one does
    /// not wait there any more.
    Meet { event: u32, span: u32 },
    /// It makes that happen.
    Happen { event: u32 },
    /// It looks whether that has happened: if so it goes on at that step of its own.
    Look { event: u32, to: u32 },
}

/// Steps that do not belong to a span.
pub(super) const NO_SPAN: u32 = u32::MAX;

/// The steps of all threads.
#[derive(Clone, Debug)]
pub(super) struct ThreadSteps {
    steps: Vec<ReplayStep>,
    /// Where the steps of each thread begin; one more than there are threads.
    first: Vec<usize>,
    pub(super) events: usize,
    /// The timers of steps that wait for a schedule's next moment.
    pub(super) timers: Vec<Timer>,
    /// How many such moments there are.
    pub(super) ticks: usize,
    /// The highest number of a processor.
    pub(super) last_processor: u16,
    /// The events that loops hear of, if any loop waits for timers: a bit of each.
    heard: Vec<u64>,
    strands: Strands,
}

/// A wait for a schedule's next moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    /// The number of the moment.
    pub(super) tick: u32,
    /// How long after the moment before that is; `None`: that is not known.
    pub(super) after_ns: Option<u64>,
    /// How long it waited.
    pub(super) ns: u64,
}

// A hundred million spans have more of them.
const _: () = assert!(size_of::<ReplayStep>() == 16);

/// A damaged recording may name any number.
const MOST_PROCESSORS: u16 = 4096;

fn number(span: &Span) -> u16 {
    u16::try_from(span.processor).map_or(MOST_PROCESSORS, |number| number.min(MOST_PROCESSORS))
}

impl ThreadSteps {
    pub(super) fn of(&self, slot: usize) -> &[ReplayStep] {
        &self.steps[self.first[slot]..self.first[slot + 1]]
    }

    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// As many as there are strands: those of tasks come after those of threads.
    pub(super) fn threads(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether a loop of events that waits for timers, too, hears of an event.
    pub(super) fn is_heard(&self, event: usize) -> bool {
        let bits = self.heard.get(event / 64);
        bits.is_some_and(|bits| bits >> (event % 64) & 1 == 1)
    }

    fn note_heard(&mut self) {
        let is_idle = |step: &ReplayStep| matches!(step, ReplayStep::Idle { .. });
        if !self.steps.iter().any(is_idle) {
            return;
        }
        self.heard = vec![0; self.events.div_ceil(64)];
        for step in &self.steps {
            if let ReplayStep::Hear { event, .. } = *step {
                self.heard[event as usize / 64] |= 1 << (event % 64);
            }
        }
    }

    /// The strand that a thread is in just before a moment.
    pub(super) fn strand(&self, slot: usize, moment: Nanos) -> usize {
        self.strands.before(slot, moment)
    }

    /// The same with these waits, by their spans, all where the last of them is in its thread.
    pub(super) fn put_off(&self, waits: &BTreeSet<usize>) -> ThreadSteps {
        let mut program = ThreadSteps {
            steps: Vec::with_capacity(self.steps.len()),
            first: vec![0],
            events: self.events,
            timers: self.timers.clone(),
            ticks: self.ticks,
            last_processor: self.last_processor,
            heard: self.heard.clone(),
            strands: self.strands.clone(),
        };
        for slot in 0..self.threads() {
            put_off(self.of(slot), waits, &mut program.steps);
            program.first.push(program.steps.len());
        }
        program
    }
}

/// The steps of one thread with these waits, and what is waited for in their wake, where the last of them is.
fn put_off(steps: &[ReplayStep], waits: &BTreeSet<usize>, to: &mut Vec<ReplayStep>) {
    let is_meant = |step: &ReplayStep| matches!(step, ReplayStep::Await { span, .. } | ReplayStep::Hear { span, .. } if waits.contains(&(*span as usize)));
    // A look knows other steps by their places.
    let has_looks = steps
        .iter()
        .any(|step| matches!(step, ReplayStep::Look { .. }));
    let last = steps.iter().rposition(is_meant).filter(|_| !has_looks);
    let mut later = Vec::new();
    let mut wait: Option<u32> = None;
    for (at, step) in steps.iter().enumerate() {
        wait = match *step {
            ReplayStep::Await { span, .. } | ReplayStep::Hear { span, .. } if is_meant(step) => {
                Some(span)
            }
            ReplayStep::Await { span: NO_SPAN, .. } => wait,
            ReplayStep::Pass { span, .. } => wait.filter(|&wait| wait == span),
            _ => None,
        };
        if wait.is_some() && last.is_some_and(|last| at < last) {
            later.push(*step);
            continue;
        }
        if last == Some(at) {
            to.append(&mut later);
        }
        to.push(*step);
    }
}

/// What happens in a thread at a moment, beside its spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Await(u32),
    Meet(u32, u32),
    Happen(u32),
}

/// A round of a loop that looks now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// It sleeps, and looks afterwards.
    Asleep,
    /// It would be woken by what it waits for.
    Woken,
    Last,
}

/// The event that ends a wait for a recorded thread, and how much later the wait did.
struct End {
    span: u32,
    event: u32,
    late_ns: u64,
}

/// What is to happen within a strand, in order.
type Marks<'a> = std::iter::Peekable<std::slice::Iter<'a, (Nanos, Mark)>>;

/// The steps of a strand in which a loop looks.
struct Looks {
    /// The first step of the strand.
    first: usize,
    /// Those of the present loop, which have to be told where it ends.
    open: Vec<usize>,
}

struct Builder<'a> {
    timeline: &'a Timeline,
    from: Nanos,
    contended: &'a Contended,
    strands: Strands,
    /// By strand and stretch of it, what it awaits before it begins.
    resumptions: FxHashMap<(usize, usize), u32>,
    marks: Vec<Vec<(Nanos, Mark)>>,
    /// The waits for recorded threads, in the order of spans.
    ends: Vec<End>,
    /// For each thread, the event that starts it.
    starts: Vec<Option<u32>>,
    /// For each sleep of a loop that looks now and then, what it looks for.
    looks: FxHashMap<usize, (u32, Look)>,
    /// For each last wait of a pause that ends on a schedule, its timer.
    timer_of: FxHashMap<u32, u32>,
    timers: Vec<Timer>,
    ticks: u32,
    events: u32,
}

/// The program of all that happened from a moment on.
pub(super) fn build(
    timeline: &Timeline,
    strands: Strands,
    contended: &Contended,
    from: Nanos,
) -> ThreadSteps {
    let threads = timeline.threads.len();
    let mut builder = Builder {
        timeline,
        from,
        contended,
        marks: vec![Vec::new(); strands.count()],
        strands,
        resumptions: FxHashMap::default(),
        ends: Vec::new(),
        starts: vec![None; threads],
        looks: FxHashMap::default(),
        timer_of: FxHashMap::default(),
        timers: Vec::new(),
        ticks: 0,
        events: 0,
    };
    builder.wakes();
    builder.polls();
    builder.schedules();
    builder.starts();
    builder.reaped();
    builder.resumed();
    for marks in &mut builder.marks {
        marks.sort_unstable();
    }
    let marks: usize = builder.marks.iter().map(Vec::len).sum();
    let mut program = ThreadSteps {
        // What happens within a span on a processor divides it.
        steps: Vec::with_capacity(timeline.len() + marks * 2 + builder.ends.len()),
        first: Vec::with_capacity(threads + 1),
        events: builder.events as usize,
        timers: std::mem::take(&mut builder.timers),
        ticks: builder.ticks as usize,
        last_processor: 0,
        heard: Vec::new(),
        strands: Strands::default(),
    };
    for strand in 0..builder.strands.count() {
        program.first.push(program.steps.len());
        builder.strand(strand, &mut program.steps);
    }
    program.first.push(program.steps.len());
    program.strands = builder.strands;
    let ran = program.steps.iter().filter_map(|step| match step {
        ReplayStep::Run { processor, .. } => Some(*processor),
        _ => None,
    });
    program.last_processor = ran.max().unwrap_or(0);
    program.note_heard();
    program
}

impl Builder<'_> {
    /// An event that happens in a thread at a moment.
    fn event(&mut self, slot: usize, at: Nanos) -> u32 {
        let event = self.events;
        self.events += 1;
        self.mark(slot, at, Mark::Happen(event));
        event
    }

    fn mark(&mut self, slot: usize, at: Nanos, mark: Mark) {
        let strand = self.strands.before(slot, at);
        self.marks[strand].push((at, mark));
    }

    /// Waits that recorded threads ended.
    fn wakes(&mut self) {
        let meets = self.meetings();
        let begins = self.loops_begin();
        for slot in 0..self.timeline.threads.len() {
            for (index, span) in self.timeline.indexed(slot) {
                if span.state != State::Wait || span.t1 <= self.from {
                    continue;
                }
                let Waker::Thread { slot: waker, at } = self.timeline.waker(span) else {
                    continue;
                };
                let event = self.event(waker, at);
                self.ends.push(End {
                    span: index as u32,
                    event,
                    late_ns: span.t1.since(at),
                });
                if span.object().is_some_and(|object| {
                    meets.contains(&(span.thread, self.timeline.threads[waker].thread, object))
                }) {
                    let at_loop = begins.get(&index).copied();
                    let arrived = self.event(slot, at_loop.unwrap_or(span.t0));
                    self.mark(waker, at, Mark::Meet(arrived, index as u32));
                }
            }
        }
    }

    /// For each last wait of a loop that waits with a time-out, again and again, when the loop began: from then on
    /// it was there.
    fn loops_begin(&self) -> FxHashMap<usize, Nanos> {
        let polls = self.timeline.polls().all.iter();
        let woken = polls.filter(|poll| !poll.is_supposed);
        let begin = |sleeps: &[usize]| {
            let first = self.timeline.span(*sleeps.first()?)?;
            Some((*sleeps.last()?, first.t0))
        };
        woken.filter_map(|poll| begin(&poll.sleeps)).collect()
    }

    /// Loops that look now and then whether another thread has come to an end.
    fn polls(&mut self) {
        let timeline = self.timeline;
        for poll in &timeline.polls().all {
            if poll.done <= self.from {
                continue;
            }
            let event = self.event(poll.awaited, poll.done);
            let (first, last) = (poll.sleeps.first(), poll.sleeps.last());
            let looks = poll.sleeps.iter().map(|sleep| {
                let look = match Some(sleep) {
                    at if at == last => Look::Last,
                    // Who waits with a time-out does not sleep through what it waits for.
                    at if at == first && !poll.is_supposed => Look::Woken,
                    _ => Look::Asleep,
                };
                (*sleep, (event, look))
            });
            self.looks.extend(looks);
        }
    }

    /// Pauses that end on a schedule. What is only left of one, or was cut off at the start, has its length.
    fn schedules(&mut self) {
        for pace in self.timeline.paces().all() {
            for tick in &pace.ticks {
                let last = tick.pauses.iter().filter_map(|pause| pause.last());
                for &span in last {
                    let Some(wait) = self.timeline.span(span).filter(|s| s.t0 >= self.from) else {
                        continue;
                    };
                    self.timer_of.insert(span as u32, self.timers.len() as u32);
                    self.timers.push(Timer {
                        tick: self.ticks,
                        after_ns: tick.after_ns,
                        ns: wait.t1.since(wait.t0),
                    });
                }
                self.ticks += 1;
            }
        }
    }

    /// Pairs of threads that wait for each other at the same condition: who comes last at such a meeting
    /// ends the wait of the others, but would have waited for them had it come first.
    fn meetings(&self) -> FxHashSet<(ThreadId, ThreadId, ObjectId)> {
        let mut woken: FxHashSet<(ThreadId, ThreadId, ObjectId)> = FxHashSet::default();
        for slot in 0..self.timeline.threads.len() {
            for span in self.timeline.spans_of(slot) {
                if let (State::Wait, Detail::Condition, Some(waker), Some(object)) =
                    (span.state, span.detail, span.waker(), span.object())
                {
                    woken.insert((span.thread, waker, object));
                }
            }
        }
        let both = |&(one, other, object): &(ThreadId, ThreadId, ObjectId)| {
            one != other && woken.contains(&(other, one, object))
        };
        woken.iter().copied().filter(both).collect()
    }

    /// Threads that others started.
    fn starts(&mut self) {
        for slot in 0..self.timeline.threads.len() {
            let thread = &self.timeline.threads[slot];
            let parent = thread.parent.and_then(|parent| self.timeline.slot(parent));
            let Some(parent) = parent.filter(|&parent| parent != slot) else {
                continue;
            };
            let start = thread.start;
            if start <= self.from {
                continue;
            }
            if let Some(at) = self.timeline.ran(parent, start) {
                self.starts[slot] = Some(self.event(parent, at));
            }
        }
    }

    /// Who joins a thread, or waits for a child, and finds it ended already does not wait, so nothing tells of it;
    /// were everything else quicker it would have to.
    fn reaped(&mut self) {
        let mut reaps: FxHashMap<(usize, Detail), Vec<Nanos>> = FxHashMap::default();
        for slot in 0..self.timeline.threads.len() {
            for span in self.timeline.spans_of(slot) {
                if span.state == State::Wait && matches!(span.detail, Detail::Join | Detail::Child)
                {
                    reaps.entry((slot, span.detail)).or_default().push(span.t1);
                }
            }
        }
        reaps.values_mut().for_each(|ends| ends.sort_unstable());
        for slot in 0..self.timeline.threads.len() {
            let thread = &self.timeline.threads[slot];
            let parent = thread.parent.and_then(|parent| self.timeline.slot(parent));
            let Some(parent) = parent.filter(|&parent| parent != slot) else {
                continue;
            };
            if thread.alive_at_end || thread.end_lost || thread.end <= self.from {
                continue;
            }
            // Nobody waits for the rounds of a runtime's own thread: it is told to end.
            if self.timeline.is_housekeeping(slot) || self.timeline.carried().has(slot) {
                continue;
            }
            let row = &self.timeline.threads[parent];
            let same = row.process == thread.process;
            let detail = if same { Detail::Join } else { Detail::Child };
            let end = Nanos(thread.end.0.saturating_sub(SKEW_NS as i64));
            let reap = reaps.get(&(parent, detail)).and_then(|ends| {
                let at = ends.partition_point(|&t1| t1 < end);
                ends.get(at).copied()
            });
            // A process ends with its first thread, which mostly has joined the others before.
            let by_exit = row.exit.filter(|&exit| same && exit >= thread.end);
            let Some(at) = reap.or(by_exit) else {
                continue;
            };
            let ended = self.event(slot, thread.exit.unwrap_or(thread.end));
            self.mark(parent, at, Mark::Await(ended));
        }
    }

    /// What is carried by a thread that carries tasks goes on after what that did before, unless it came back from a call: then it
    /// could have gone on from there.
    fn resumed(&mut self) {
        for strand in 0..self.strands.count() {
            let stretches = self.strands.stretches(strand).unwrap_or_default().to_vec();
            for (at, stretch) in stretches.iter().enumerate() {
                let from = stretch.from.max(self.timeline.threads[stretch.slot].start);
                let before = self.strands.before(stretch.slot, from);
                if stretch.resumes != Resumes::Thread || before == strand || from <= self.from {
                    continue;
                }
                let event = self.event(stretch.slot, from);
                self.resumptions.insert((strand, at), event);
            }
        }
    }

    /// The steps of one strand.
    fn strand(&self, strand: usize, steps: &mut Vec<ReplayStep>) {
        let mut marks = self.marks[strand].iter().peekable();
        let mut looks = Looks {
            first: steps.len(),
            open: Vec::new(),
        };
        if strand < self.timeline.threads.len() {
            self.start(strand, steps);
        }
        let whole = |slot: usize| Stretch {
            slot,
            from: self.timeline.threads[slot].start,
            until: Nanos::MAX,
            resumes: Resumes::Thread,
        };
        let all;
        let stretches = match self.strands.stretches(strand) {
            Some(stretches) => stretches,
            None => {
                all = [whole(strand)];
                &all
            }
        };
        for (at, stretch) in stretches.iter().enumerate() {
            self.resume(stretch, self.resumptions.get(&(strand, at)), steps);
            self.stretch(stretch, &mut looks, &mut marks, steps);
        }
        steps.extend(marks.map(|(_, mark)| mark.step()));
    }

    /// What a stretch begins with. For as long as a task waited for one of the runtime's processors after a call, time passes with that call:
    /// without it the task had kept the one that it had. Where that was taken away in the midst of its work, time passes with what others
    /// did with it.
    fn resume(&self, stretch: &Stretch, event: Option<&u32>, steps: &mut Vec<ReplayStep>) {
        if let Some(&event) = event {
            steps.push(ReplayStep::Await {
                event,
                span: NO_SPAN,
            });
        }
        match stretch.resumes {
            Resumes::Thread => {}
            Resumes::Called { left, call } => steps.push(ReplayStep::Pass {
                ns: stretch.from.since(left.at.max(self.from)),
                span: call as u32,
            }),
            Resumes::Preempted { left } => self.others(stretch, left.at.max(self.from), steps),
        }
    }

    /// Time passes with what the thread of a stretch did before that, since a moment.
    fn others(&self, stretch: &Stretch, since: Nanos, steps: &mut Vec<ReplayStep>) {
        let mut reached = since;
        let mut pass = |until: Nanos, span: u32, reached: &mut Nanos| {
            if until > *reached {
                let ns = until.since(*reached);
                steps.push(ReplayStep::Pass { ns, span });
                *reached = until;
            }
        };
        for (index, span) in self.timeline.indexed_from(stretch.slot, since) {
            if span.t0 >= stretch.from {
                break;
            }
            pass(span.t0, NO_SPAN, &mut reached);
            pass(span.t1.min(stretch.from), index as u32, &mut reached);
        }
        pass(stretch.from, NO_SPAN, &mut reached);
    }

    /// How a thread begins.
    fn start(&self, slot: usize, steps: &mut Vec<ReplayStep>) {
        match self.starts[slot] {
            Some(event) => steps.push(ReplayStep::Await {
                event,
                span: NO_SPAN,
            }),
            None if self.begins_with_a_wait(slot) => {}
            None => steps.push(ReplayStep::Pass {
                ns: self.timeline.threads[slot].start.since(self.from),
                span: NO_SPAN,
            }),
        }
    }

    /// The steps of what a thread did from one moment to another.
    fn stretch(
        &self,
        stretch: &Stretch,
        looks: &mut Looks,
        marks: &mut Marks<'_>,
        steps: &mut Vec<ReplayStep>,
    ) {
        let slot = stretch.slot;
        let mut reached = stretch.from.max(self.from);
        let is_whole = stretch.until == Nanos::MAX;
        let first = if is_whole { Nanos(i64::MIN) } else { reached };
        for (index, span) in self.timeline.indexed_from(slot, first) {
            let (t0, t1) = (span.t0.max(reached), span.t1.min(stretch.until));
            if span.t0 >= stretch.until {
                break;
            }
            if t1 <= reached {
                continue;
            }
            let index = index as u32;
            // Holes are time that passed.
            if t0 > reached {
                steps.push(ReplayStep::Pass {
                    ns: t0.since(reached),
                    span: index,
                });
            }
            while let Some((_, mark)) = marks.next_if(|(at, _)| *at <= t0) {
                steps.push(mark.step());
            }
            match span.state {
                State::Cpu => {
                    let mut from = t0;
                    let processor = number(span);
                    let run = |from: Nanos, until: Nanos| ReplayStep::Run {
                        ns: until.since(from),
                        span: index,
                        processor,
                    };
                    while let Some((at, mark)) = marks.next_if(|(at, _)| *at <= t1) {
                        if *at > from {
                            steps.push(run(from, *at));
                            from = *at;
                        }
                        steps.push(mark.step());
                    }
                    if t1 > from {
                        steps.push(run(from, t1));
                    }
                }
                // The rest of it is in another stretch, and what ends it comes there.
                State::Wait if span.t1 > stretch.until && self.is_ended(index) => {}
                _ => {
                    self.passing(slot, index, span, t1.since(t0), steps);
                    self.look(index, looks, steps);
                }
            }
            reached = t1;
        }
        if !is_whole {
            steps.extend(
                std::iter::from_fn(|| marks.next_if(|(at, _)| *at <= stretch.until))
                    .map(|(_, mark)| mark.step()),
            );
        }
    }

    /// After a sleep of a loop it looks whether it is done, and after the last one it is, however long that takes now.
    fn look(&self, index: u32, looks: &mut Looks, steps: &mut Vec<ReplayStep>) {
        let Some(&(event, look)) = self.looks.get(&(index as usize)) else {
            return;
        };
        if look != Look::Last {
            looks.open.push(steps.len());
            steps.push(ReplayStep::Look { event, to: 0 });
            return;
        }
        let end = (steps.len() - looks.first) as u32;
        for look in looks.open.drain(..) {
            steps[look] = ReplayStep::Look { event, to: end };
        }
        // One that was woken waits there already, as long as there is that wait.
        if self.end(index).is_none() {
            steps.push(ReplayStep::Await {
                event,
                span: NO_SPAN,
            });
        }
    }

    /// What ended a wait, if a recorded thread did.
    fn end(&self, span: u32) -> Option<&End> {
        let at = self.ends.binary_search_by_key(&span, |end| end.span);
        self.ends.get(at.ok()?)
    }

    /// Whether it is known what ends a wait: a recorded thread, or what a loop looks for.
    fn is_ended(&self, span: u32) -> bool {
        self.end(span).is_some() || self.looks.contains_key(&(span as usize))
    }

    /// Whether it ran before it was recorded, and came in as a recorded thread woke it: were that one quicker, it would
    /// have come in sooner.
    fn begins_with_a_wait(&self, slot: usize) -> bool {
        let mut spans = self.timeline.indexed(slot);
        let first = spans.next();
        self.timeline.threads[slot].born_before
            && first.is_some_and(|(index, _)| self.end(index as u32).is_some())
    }

    /// The steps of a span in which it did not run.
    fn passing(&self, slot: usize, index: u32, span: &Span, ns: u64, steps: &mut Vec<ReplayStep>) {
        if let Some(&End { event, late_ns, .. }) = self.end(index) {
            steps.push(match span.detail {
                Detail::Poll => ReplayStep::Hear { event, span: index },
                _ => ReplayStep::Await { event, span: index },
            });
            if late_ns > 0 {
                steps.push(ReplayStep::Pass {
                    ns: late_ns,
                    span: index,
                });
            }
            return;
        }
        if let Some(&(event, Look::Woken)) = self.looks.get(&(index as usize)) {
            steps.push(ReplayStep::Await { event, span: index });
            return;
        }
        let whole_ns = span.t1.since(span.t0);
        if let Some(&timer) = self.timer_of.get(&index).filter(|_| ns == whole_ns) {
            steps.push(ReplayStep::Tick { timer, span: index });
            return;
        }
        if is_loops_timer(span) {
            return steps.push(ReplayStep::Idle { ns, span: index });
        }
        let again = match span.state {
            State::Ready => self.contended.ns(slot, span.t0),
            _ => None,
        };
        // Of a part of it the same part.
        let whole = whole_ns.max(1);
        let again = again.unwrap_or(0).min(whole) as f64 * (ns as f64 / whole as f64);
        steps.push(ReplayStep::Pass {
            ns: ns.saturating_sub(again as u64),
            span: index,
        });
    }
}

/// Whether a loop of events had nothing to do until a timer of its own was due.
fn is_loops_timer(span: &Span) -> bool {
    let by_timer = span.wake_source == Some(WakeSource::Timer) && span.waker().is_none();
    span.state == State::Wait && span.detail == Detail::Poll && by_timer
}

impl Mark {
    fn step(self) -> ReplayStep {
        match self {
            Mark::Await(event) => ReplayStep::Await {
                event,
                span: NO_SPAN,
            },
            Mark::Meet(event, span) => ReplayStep::Meet { event, span },
            Mark::Happen(event) => ReplayStep::Happen { event },
        }
    }
}
