//! From a thread's turns to the spans that tile its life, its long waits one by one, and who was on
//! the processor while it was ready.

use std::collections::HashMap;

use timesink_recording::tables::delays::Delay;
use timesink_recording::tables::occupants::Occupant;
use timesink_recording::tables::samples::Sample;
use timesink_recording::tables::spans::Span;
use timesink_recording::tables::waits::Wait;
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::{Nanos, ObjectId, ProcessId, RecordingWriter, StackId, ThreadId};

use crate::calls;
use crate::convert::classify::{self, WaitFacts};
use crate::convert::lives::Lives;
use crate::convert::objects::{KnownObject, Objects};
use crate::convert::scale::TimedCpu;
use crate::convert::stacks::StackRows;
use crate::convert::tasks::Tasks;
use crate::error::Error;
use crate::probes::{self, events as e, Event};

/// What all threads' spans need to look up.
pub struct Context<'a> {
    pub lives: &'a mut Lives,
    pub objects: &'a mut Objects,
    pub stacks: &'a mut StackRows,
    pub symbols: &'a HashMap<u64, String>,
    pub tasks: &'a mut Tasks,
    pub out: &'a mut RecordingWriter,
    timing: Timing<'a>,
    /// Call names by number, filled as they come up.
    names: HashMap<(i16, bool), String>,
    /// Gaps that events lost left behind.
    pub gaps: u64,
    /// How long each thread was on a processor while calls were timed.
    pub timed_cpu: HashMap<ThreadId, TimedCpu>,
    current: Option<ThreadEvents>,
}

/// From what length on, and when, more is told.
#[derive(Clone, Copy)]
pub struct Timing<'a> {
    /// Times ready from this length up are told one by one.
    pub threshold_ns: u64,
    /// When calls were timed, in order.
    pub windows: &'a [(i64, i64)],
}

/// One thread's stream of events.
struct ThreadEvents {
    thread: ThreadId,
    process: ProcessId,
    /// Up to here its life is tiled.
    cursor: Nanos,
    exit: Option<Nanos>,
    /// The last long wait, for the result of its call: that may come after others have had the processor.
    pending: Option<Wait>,
    pending_out: u64,
    sums: SpanSums,
    /// The first window that does not end before the cursor.
    window: usize,
    timed_cpu: TimedCpu,
    /// The stacks of the wait, or the time ready, that began then, if one was taken: the thread's own, its waker's.
    waiting: Option<e::ts_seen>,
    waker: Option<e::ts_seen>,
    /// The last sample, until it is known how much time on a processor it stands for.
    sample: Option<Sample>,
    weighed_ns: u64,
}

/// What a thread's spans come to.
#[derive(Default)]
struct SpanSums {
    cpu_ns: u64,
    ready_ns: u64,
    wait_ns: u64,
    tracer_ns: u64,
}

/// Of a run, what was not the thread's own.
#[derive(Clone, Copy)]
struct NotItsOwn {
    /// What our programs took, ns.
    tracer_ns: u64,
    /// What the kernel counts as nobody's, ns.
    taken_ns: u64,
}

impl NotItsOwn {
    /// As the kernel's side tells it: the second in `TS_TAKEN`.
    fn told(tracer_ns: u32, taken: u32) -> NotItsOwn {
        NotItsOwn {
            tracer_ns: u64::from(tracer_ns),
            taken_ns: u64::from(taken) * u64::from(e::TS_TAKEN),
        }
    }
}

/// A wait, looked at from all sides.
struct ClassifiedWait {
    detail: Detail,
    object: Option<ObjectId>,
    call: String,
    function: String,
}

impl<'a> Context<'a> {
    pub fn new(
        lives: &'a mut Lives,
        objects: &'a mut Objects,
        stacks: &'a mut StackRows,
        symbols: &'a HashMap<u64, String>,
        timing: Timing<'a>,
        tasks: &'a mut Tasks,
        out: &'a mut RecordingWriter,
    ) -> Context<'a> {
        let (names, timed_cpu) = (HashMap::new(), HashMap::new());
        Context {
            lives,
            objects,
            stacks,
            symbols,
            tasks,
            out,
            timing,
            names,
            gaps: 0,
            timed_cpu,
            current: None,
        }
    }

    /// The next event, by thread and time.
    pub fn take(&mut self, number: u32, bytes: &[u8]) -> Result<(), Error> {
        let Some(thread) = self.lives.thread(number) else {
            return Ok(());
        };
        if self.current.as_ref().is_none_or(|s| s.thread != thread) {
            self.finish()?;
            let row = &self.lives.threads[thread.index()];
            self.current = Some(ThreadEvents {
                thread,
                process: row.process,
                cursor: row.start,
                exit: row.exit,
                pending: None,
                pending_out: 0,
                sums: SpanSums::default(),
                window: 0,
                timed_cpu: TimedCpu::default(),
                waiting: None,
                waker: None,
                sample: None,
                weighed_ns: 0,
            });
        }
        let Some(mut stream) = self.current.take() else {
            return Ok(());
        };
        match probes::decode(bytes) {
            Some(Event::Turn(turn)) => self.turn(&mut stream, &turn, None)?,
            Some(Event::Wait(wait)) => self.turn(&mut stream, &wait.turn, Some(&wait))?,
            Some(Event::Result(result)) => self.result(&mut stream, &result),
            Some(Event::Queue(queue)) => self.queue(&stream, &queue)?,
            Some(Event::End(end)) => {
                let at = self.lives.at(end.head.t);
                self.lost_until(&mut stream, self.lives.at(end.t_run).min(at))?;
                let not_its_own = NotItsOwn::told(end.run_tracer_ns, end.run_taken);
                self.run_until(&mut stream, at, end.head.cpu, not_its_own)?;
            }
            Some(Event::Seen(seen)) => self.seen(&mut stream, &seen)?,
            Some(Event::Task(task) | Event::Sight(task)) => {
                self.tasks.take(&task, self.lives, self.stacks, self.out)?;
            }
            _ => {}
        }
        self.current = Some(stream);
        Ok(())
    }

    /// The present thread's stream is at its end.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(mut stream) = self.current.take() else {
            return Ok(());
        };
        if let Some(wait) = stream.pending.take() {
            self.out.push(wait)?;
        }
        let end = self.lives.threads[stream.thread.index()].end;
        self.lost_until(&mut stream, end)?;
        let rest = stream.sums.cpu_ns.saturating_sub(stream.weighed_ns);
        self.end_sample(&mut stream, rest)?;
        self.timed_cpu.insert(stream.thread, stream.timed_cpu);
        let row = &mut self.lives.threads[stream.thread.index()];
        if row.end_lost {
            // The kernel's sums never came: what the spans say has to serve.
            row.cpu_ns = stream.sums.cpu_ns;
            row.ready_ns = stream.sums.ready_ns;
            row.wait_ns = stream.sums.wait_ns;
            row.tracer_ns = stream.sums.tracer_ns;
        }
        Ok(())
    }

    fn seen(&mut self, stream: &mut ThreadEvents, seen: &e::ts_seen) -> Result<(), Error> {
        match u32::from(seen.what) {
            e::TS_OF_WAIT | e::TS_OF_DELAY => stream.waiting = Some(*seen),
            e::TS_OF_WAKER => stream.waker = Some(*seen),
            _ => {
                let t = self.lives.at(seen.head.t);
                // Up to the cursor all is added up; since then it has been running.
                let so_far = stream.sums.cpu_ns + t.since(stream.cursor.min(t));
                let weight = so_far.saturating_sub(stream.weighed_ns);
                self.end_sample(stream, 0)?;
                stream.weighed_ns += weight;
                stream.sample = Some(Sample {
                    thread: stream.thread,
                    t,
                    processor: u32::from(seen.head.cpu),
                    kernel: u32::from(seen.user) & e::TS_HIT_USER == 0,
                    address: seen.frame[0],
                    weight_ns: Some(weight),
                    stack: self.stack_of(seen),
                });
            }
        }
        Ok(())
    }

    /// The last sample is done; what of the thread's time nothing came after is its as well.
    fn end_sample(&mut self, stream: &mut ThreadEvents, rest: u64) -> Result<(), Error> {
        if let Some(mut sample) = stream.sample.take() {
            sample.weight_ns = sample.weight_ns.map(|weight| weight + rest);
            self.out.push(sample)?;
        }
        Ok(())
    }

    fn stack_of(&mut self, seen: &e::ts_seen) -> Option<StackId> {
        let kernel = match interrupted_user(frames_of(seen), self.symbols) {
            true => &[],
            false => trimmed(frames_of(seen), self.symbols),
        };
        let complete = seen.complete != 0;
        self.stacks
            .with_kernel(seen.node, complete, kernel, self.symbols)
    }

    /// The stacks of a long wait: the thread's own user side with the kernel's frames, and its waker's.
    fn stacks_of(
        &mut self,
        stream: &mut ThreadEvents,
        long: &e::ts_wait,
    ) -> (Option<StackId>, Option<StackId>) {
        let t_out = long.turn.t_out;
        let kernel = kernel_side(stream, long);
        let own = stream.waiting.take().filter(|seen| seen.head.t == t_out);
        let waker = stream.waker.take().filter(|seen| seen.head.t == t_out);
        let (node, complete) = own.map_or((0, between_programs(&long.turn)), |seen| {
            (seen.node, seen.complete != 0)
        });
        let kernel = trimmed(&kernel, self.symbols);
        let own = self
            .stacks
            .with_kernel(node, complete, kernel, self.symbols);
        (own, waker.and_then(|seen| self.stack_of(&seen)))
    }

    fn push(&mut self, stream: &mut ThreadEvents, mut span: Span) -> Result<(), Error> {
        span.t0 = stream.cursor;
        if span.t1 <= span.t0 {
            return Ok(());
        }
        let ns = span.t1.since(span.t0);
        span.tracer_ns = span.tracer_ns.min(ns);
        match span.state {
            State::Cpu => {
                stream.sums.cpu_ns += ns - span.tracer_ns;
                stream.sums.tracer_ns += span.tracer_ns;
                let (t0, t1) = (span.t0.0, span.t1.0);
                let timed = timed_part(self.timing.windows, &mut stream.window, t0, t1);
                let early = match self.timing.windows {
                    [first, _, ..] => (first.1.min(t1) - first.0.max(t0)).max(0) as u64,
                    _ => 0,
                };
                stream.timed_cpu.early_ns += early;
                stream.timed_cpu.late_ns += timed - early.min(timed);
            }
            State::Ready => stream.sums.ready_ns += ns,
            State::Wait => stream.sums.wait_ns += ns,
            State::Lost => {}
        }
        stream.cursor = span.t1;
        Ok(self.out.push(span)?)
    }

    /// Up to here nothing is known: the events that would tell were lost.
    fn lost_until(&mut self, stream: &mut ThreadEvents, t: Nanos) -> Result<(), Error> {
        if t <= stream.cursor {
            return Ok(());
        }
        self.gaps += 1;
        let span = plain_span(stream.thread, t, State::Lost, Detail::Unknown, 0);
        self.push(stream, span)
    }

    /// It was on a processor from the cursor to here; after its exit that is tear-down. What was not its own stands at the
    /// first span that has room for it.
    fn run_until(
        &mut self,
        stream: &mut ThreadEvents,
        t: Nanos,
        cpu: u16,
        mut left: NotItsOwn,
    ) -> Result<(), Error> {
        let exit = stream.exit.filter(|exit| *exit < t);
        for until in exit.into_iter().chain([t]) {
            let from = stream.cursor;
            if until <= from {
                continue;
            }
            let detail = match stream.exit {
                Some(exit) if exit <= from => Detail::Exit,
                _ => Detail::Running,
            };
            let mut span = plain_span(stream.thread, until, State::Cpu, detail, cpu);
            let ns = until.since(from);
            let ours = left.tracer_ns.min(ns);
            let nobodys = left.taken_ns.min(ns - ours);
            (span.tracer_ns, span.taken_ns) = (ours, Some(nobodys));
            left = NotItsOwn {
                tracer_ns: left.tracer_ns - ours,
                taken_ns: left.taken_ns - nobodys,
            };
            self.push(stream, span)?;
        }
        Ok(())
    }

    fn turn(
        &mut self,
        stream: &mut ThreadEvents,
        turn: &e::ts_turn,
        long: Option<&e::ts_wait>,
    ) -> Result<(), Error> {
        let at = |t| self.lives.at(t);
        let (run, out, back) = (at(turn.t_run), at(turn.t_out), at(turn.head.t));
        let wake = at(turn.t_wake);
        let has = |flag: u32| turn.how & flag as u8 != 0;
        // What has not run before was being made since it was born.
        if !has(e::TS_FIRST) {
            self.lost_until(stream, run.min(out))?;
            let not_its_own = NotItsOwn::told(turn.tracer_ns, turn.taken.into());
            self.run_until(stream, out, turn.head.cpu, not_its_own)?;
        }
        let mut ready_detail = Detail::Woken;
        if has(e::TS_FIRST) {
            let span = plain_span(
                stream.thread,
                wake,
                State::Wait,
                Detail::Creation,
                turn.head.cpu,
            );
            self.push(stream, span)?;
            ready_detail = Detail::Started;
        } else if turn.t_wake != 0 {
            self.waited(stream, turn, long, wake)?;
        } else if has(e::TS_THROTTLED) {
            ready_detail = Detail::Throttled;
        } else if has(e::TS_PREEMPTED) {
            ready_detail = Detail::Preempted;
        }
        let ready = stream.cursor;
        let (state, detail) = match turn.dispatched {
            0 => (State::Ready, ready_detail),
            _ => (State::Cpu, Detail::SwitchingIn),
        };
        let span = plain_span(stream.thread, back, state, detail, turn.head.cpu);
        self.push(stream, span)?;
        if turn.dispatched == 0 && back > ready && back.since(ready) >= self.timing.threshold_ns {
            let stack = self.stack_of_delay(stream, turn);
            self.out.push(Delay {
                thread: stream.thread,
                t0: ready,
                t1: back,
                detail,
                stack,
            })?;
        }
        if turn.dispatched == 0 && turn.occupant != 0 && turn.occupant_ns > 0 && back > ready {
            let ns = u64::from(turn.occupant_ns).min(back.since(ready));
            self.occupant(stream.thread, ready, turn.occupant, ns, back)?;
        }
        Ok(())
    }

    /// Where in the code a long time ready was: where the thread lost the processor, or where it had waited.
    fn stack_of_delay(&mut self, stream: &mut ThreadEvents, turn: &e::ts_turn) -> Option<StackId> {
        let taken = stream.waiting.take();
        let taken = taken.filter(|seen| seen.head.t == turn.t_out);
        let waited = stream.pending.as_ref();
        match (waited.filter(|_| stream.pending_out == turn.t_out), taken) {
            (Some(wait), _) => wait.stack,
            (None, Some(seen)) => self.stack_of(&seen),
            (None, None) => None,
        }
    }

    /// Whether a wait is one by which a runtime sleeps: Java waits on a condition variable, and so does Ruby but for one of its threads,
    /// which waits for the descriptor by which it is told of signals.
    fn sleeps(&self, detail: Detail, stack: StackId, asked_ns: Option<u64>, ns: u64) -> bool {
        // A thread of Ruby that waits for the interpreter looks at the time again and again, too.
        let is_turn = || asked_ns.is_some_and(|asked| RUBYS_TURN_NS.contains(&asked));
        let expires = || lasted_as_asked(detail, asked_ns, ns) && self.stacks.is_in_ruby(stack);
        match detail {
            Detail::Condition => self.stacks.sleeps(stack) || !is_turn() && expires(),
            Detail::Event => expires(),
            _ => false,
        }
    }

    fn waited(
        &mut self,
        stream: &mut ThreadEvents,
        turn: &e::ts_turn,
        long: Option<&e::ts_wait>,
        wake: Nanos,
    ) -> Result<(), Error> {
        let before = stream.cursor;
        let mut waited = self.look_at(stream, turn, long, wake);
        let long = long.filter(|_| wake > before);
        let (stack, waker_stack) = match long {
            Some(long) => self.stacks_of(stream, long),
            None => (None, None),
        };
        let asked_ns = long.map(|long| long.asked_ns);
        if stack
            .is_some_and(|stack| self.sleeps(waited.detail, stack, asked_ns, wake.since(before)))
        {
            (waited.detail, waited.object) = (Detail::Sleep, None);
        }
        let mut span = plain_span(
            stream.thread,
            wake,
            State::Wait,
            waited.detail,
            turn.head.cpu,
        );
        span.object = waited.object;
        (span.waker, span.waker_outsider, span.wake_source) = self.waker(turn, wake);
        let open = turn.how & e::TS_OPEN_END as u8 != 0;
        if span.wake_source.is_none()
            && !open
            && lasted_as_asked(waited.detail, asked_ns, wake.since(before))
        {
            span.wake_source = Some(WakeSource::Timer);
        }
        if let Some(long) = long {
            let expired =
                (long.asked_ns != u64::MAX).then(|| span.wake_source == Some(WakeSource::Timer));
            stream.pending_out = turn.t_out;
            let earlier = stream.pending.replace(Wait {
                thread: stream.thread,
                t0: before,
                t1: wake,
                detail: waited.detail,
                object: waited.object,
                bytes: bytes_asked(&waited.call, &long.args),
                flags: flags_of(&waited.call, &long.args),
                call: waited.call,
                function: waited.function,
                asked_ns: (long.asked_ns != u64::MAX).then_some(long.asked_ns),
                expired,
                result: None,
                woken_fd: None,
                woken_object: None,
                sent_object: None,
                owner: self.owner(stream, long, wake),
                stack,
                waker_stack,
            });
            if let Some(wait) = earlier {
                self.out.push(wait)?;
            }
        }
        self.push(stream, span)
    }

    /// The thread that held the lock, if what stood there is a thread of this process.
    fn owner(&self, stream: &ThreadEvents, long: &e::ts_wait, at: Nanos) -> Option<ThreadId> {
        let owner = self
            .lives
            .by_tid(long.owner, at)
            .filter(|_| long.owner != 0)?;
        (self.lives.process_of(owner) == Some(stream.process) && owner != stream.thread)
            .then_some(owner)
    }

    fn waker(
        &self,
        turn: &e::ts_turn,
        at: Nanos,
    ) -> (Option<ThreadId>, Option<u32>, Option<WakeSource>) {
        let source = match u32::from(turn.wake) {
            e::TS_WAKE_TASK => WakeSource::Thread,
            e::TS_WAKE_TIMER => WakeSource::Timer,
            e::TS_WAKE_BLOCK => WakeSource::Block,
            e::TS_WAKE_NET => WakeSource::Network,
            e::TS_WAKE_IRQ => WakeSource::Interrupt,
            _ => return (None, None, None),
        };
        // In an interrupt the running thread is not the waker, but for one that was itself sending.
        let own_behalf =
            source == WakeSource::Thread || source == WakeSource::Network && turn.waker_sends != 0;
        if !own_behalf || turn.waker == 0 {
            return (None, None, Some(source));
        }
        match self.lives.by_tid(turn.waker, at) {
            Some(thread) => (Some(thread), None, Some(source)),
            None => (None, Some(turn.waker), Some(source)),
        }
    }

    fn look_at(
        &mut self,
        stream: &ThreadEvents,
        turn: &e::ts_turn,
        long: Option<&e::ts_wait>,
        wake: Nanos,
    ) -> ClassifiedWait {
        let compat = turn.how & e::TS_COMPAT_CALL as u8 != 0;
        let call = match turn.call {
            ..0 => String::new(),
            n => self
                .names
                .entry((n, compat))
                .or_insert_with(|| calls::name(n, compat))
                .clone(),
        };
        let known: Option<KnownObject> = self.objects.find(turn.device, turn.key, turn.object_kind);
        let kernel = long.map(|l| kernel_side(stream, l)).unwrap_or_default();
        let functions = self.functions(&kernel);
        let facts = WaitFacts {
            call: &call,
            object_kind: turn.object_kind,
            terminal: known.is_some_and(|k| k.terminal),
            family: known.map_or(0, |k| k.family),
            how: turn.how,
            futex_operation: turn.futex_operation,
            futex_contended: turn.futex_contended != 0,
            polled: u32::from(turn.polled),
            futex_is_thread: call == "futex"
                && long.is_some_and(|l| self.is_thread_of(stream, l.args[2] as u32, wake)),
            only_time: long.is_some_and(|l| classify::only_time(&call, &l.args)),
            functions: &functions,
        };
        let detail = classify::classify(&facts);
        let function = classify::sleeping_function(&functions).to_string();
        let object = match detail {
            Detail::Child | Detail::Vfork => self.child_waited_for(stream, turn, wake),
            Detail::Lock | Detail::Condition | Detail::Join => {
                (turn.key != 0).then(|| self.objects.futex(stream.process, turn.key))
            }
            _ => known.map(|k| k.id),
        };
        ClassifiedWait {
            detail,
            object,
            call,
            function,
        }
    }

    fn functions(&self, addresses: &[u64]) -> Vec<&'a str> {
        let symbols = self.symbols;
        trimmed(addresses, symbols)
            .iter()
            .filter_map(|a| symbols.get(a))
            .map(String::as_str)
            .collect()
    }

    /// Whether a number is the id of another thread of the same process: then a futex with that
    /// value is the one that the kernel clears when that thread ends.
    fn is_thread_of(&self, stream: &ThreadEvents, tid: u32, at: Nanos) -> bool {
        tid > 2
            && self.lives.by_tid(tid, at).is_some_and(|t| {
                t != stream.thread && self.lives.process_of(t) == Some(stream.process)
            })
    }

    /// The child whose end, or exec, woke its parent.
    fn child_waited_for(
        &mut self,
        stream: &ThreadEvents,
        turn: &e::ts_turn,
        wake: Nanos,
    ) -> Option<ObjectId> {
        if u32::from(turn.wake) != e::TS_WAKE_TASK {
            return None;
        }
        let child = self
            .lives
            .process_of(self.lives.by_tid(turn.waker, wake)?)?;
        let row = &self.lives.processes[child.index()];
        (row.parent == Some(stream.process)).then(|| self.objects.child(child, row.pid, &row.name))
    }

    fn result(&mut self, stream: &mut ThreadEvents, r: &e::ts_result) {
        let Some(wait) = stream
            .pending
            .as_mut()
            .filter(|_| stream.pending_out == r.t_out)
        else {
            return;
        };
        wait.result = Some(r.result);
        if wait.asked_ns.is_some() {
            wait.expired = Some(classify::timed_out(&wait.call, r.result));
        }
        if r.fd >= 0 {
            wait.woken_fd = Some(r.fd as u32);
            let kind = if r.key == 0 {
                e::TS_O_NONE
            } else {
                e::TS_O_OTHER
            } as u8;
            wait.woken_object = self.objects.find(r.device, r.key, kind).map(|o| o.id);
        }
        if r.sent_key != 0 {
            let sent = self
                .objects
                .find(r.sent_device, r.sent_key, e::TS_O_SOCKET as u8);
            wait.sent_object = sent.map(|o| o.id);
        }
    }

    fn queue(&mut self, stream: &ThreadEvents, queue: &e::ts_queue) -> Result<(), Error> {
        let ready = self.lives.at(queue.t_ready);
        let back = self.lives.at(queue.head.t);
        // The latest is told with the turn itself.
        for who in queue.who.iter().skip(1).filter(|w| w.tid != 0 && w.ns > 0) {
            self.occupant(stream.thread, ready, who.tid, u64::from(who.ns), back)?;
        }
        Ok(())
    }

    fn occupant(
        &mut self,
        thread: ThreadId,
        t0: Nanos,
        tid: u32,
        ns: u64,
        at: Nanos,
    ) -> Result<(), Error> {
        let occupant = self.lives.by_tid(tid, at);
        let occupant_outsider = occupant.is_none().then_some(tid);
        Ok(self.out.push(Occupant {
            thread,
            t0,
            occupant,
            occupant_outsider,
            ns,
        })?)
    }
}

/// How much of a span lies in windows. The spans come in order, so a window that is over is passed
/// for good.
fn timed_part(windows: &[(i64, i64)], first: &mut usize, t0: i64, t1: i64) -> u64 {
    while windows.get(*first).is_some_and(|w| w.1 <= t0) {
        *first += 1;
    }
    let within = windows[*first..].iter().take_while(|w| w.0 < t1);
    within
        .map(|w| (w.1.min(t1) - w.0.max(t0)).max(0) as u64)
        .sum()
}

/// In `execve` the old program's stack may be gone, and the new one has none yet.
fn between_programs(turn: &e::ts_turn) -> bool {
    calls::executes(turn.call, turn.how & e::TS_COMPAT_CALL as u8 != 0)
}

fn frames_of(seen: &e::ts_seen) -> &[u64] {
    let count = usize::from(seen.frames).min(seen.frame.len());
    &seen.frame[..count]
}

/// Where in the kernel a thread waited: noted as it blocked, or else as it was to run again.
fn kernel_side(stream: &ThreadEvents, long: &e::ts_wait) -> Vec<u64> {
    let count = (long.frames as usize).min(long.frame.len());
    match &stream.waiting {
        Some(seen) if count == 0 && seen.head.t == long.turn.t_out => frames_of(seen).to_vec(),
        _ => long.frame[..count].to_vec(),
    }
}

/// How the names of functions begin that stand above the real ones where a thread takes its own stack:
/// our programs, and how the kernel comes to call them.
const OURS: [&str; 4] = ["__bpf_", "bpf_prog_", "bpf_trace_run", "__traceiter_"];

/// Kernel addresses without those of our own programs.
fn trimmed<'s>(addresses: &'s [u64], names: &HashMap<u64, String>) -> &'s [u64] {
    let ours = |address: &u64| {
        names
            .get(address)
            .is_some_and(|name| OURS.iter().any(|start| name.starts_with(start)))
    };
    let at = addresses.iter().take(8).rposition(ours);
    &addresses[at.map_or(0, |last| last + 1)..]
}

/// Whether an interrupt took the processor from user space: what the kernel did then is not where the thread was.
fn interrupted_user(addresses: &[u64], names: &HashMap<u64, String>) -> bool {
    const ENTRIES: [&str; 2] = ["asm_sysvec_", "asm_common_interrupt"];
    let name = addresses.last().and_then(|address| names.get(address));
    name.is_some_and(|name| ENTRIES.iter().any(|start| name.starts_with(start)))
}

fn plain_span(thread: ThreadId, t1: Nanos, state: State, detail: Detail, cpu: u16) -> Span {
    Span {
        thread,
        t0: Nanos(0),
        t1,
        state,
        detail,
        object: None,
        processor: u32::from(cpu),
        waker: None,
        waker_outsider: None,
        wake_source: None,
        tracer_ns: 0,
        taken_ns: None,
    }
}

/// After 100 ms a thread of Ruby that waits for the interpreter has the one that has it give it up: what is left of that as the call begins.
const RUBYS_TURN_NS: std::ops::RangeInclusive<u64> = 99_000_000..=100_000_000;

/// Whether a wait lasted as long as it was asked to: then it ended by itself, also where nobody told what ended it. (There
/// are kernels that do not tell what happens while certain processes have the processor, such as a sandbox's first.) What was
/// asked for is not known of short waits; sleeps end in no other way in general.
fn lasted_as_asked(detail: Detail, asked_ns: Option<u64>, lasted_ns: u64) -> bool {
    /// From the call until the thread is off its processor.
    const BEFORE_NS: u64 = 100_000;
    match asked_ns {
        None => detail == Detail::Sleep,
        Some(u64::MAX) => false,
        Some(asked_ns) => lasted_ns.saturating_add(BEFORE_NS) >= asked_ns,
    }
}

fn bytes_asked(call: &str, args: &[u64; 6]) -> Option<u64> {
    match call {
        "read" | "write" | "pread64" | "pwrite64" | "recvfrom" | "sendto" => Some(args[2]),
        "sendfile" => Some(args[3]),
        "splice" | "copy_file_range" => Some(args[4]),
        _ => None,
    }
}

fn flags_of(call: &str, args: &[u64; 6]) -> Option<u64> {
    match call {
        "futex" | "open" | "flock" | "fcntl" | "poll" | "ppoll" => Some(args[1]),
        "openat" | "wait4" | "recvmsg" | "sendmsg" => Some(args[2]),
        "recvfrom" | "sendto" | "waitid" => Some(args[3]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A span may lie in a window, beside all, or across several; later ones find their windows too.
    #[test]
    fn parts_of_spans_in_windows() {
        let windows = [(10, 20), (30, 40), (50, 60)];
        let mut first = 0;
        let mut part = |t0, t1| timed_part(&windows, &mut first, t0, t1);
        assert_eq!(
            [
                part(0, 5),
                part(5, 15),
                part(15, 35),
                part(35, 36),
                part(36, 70),
                part(70, 80)
            ],
            [0, 5, 10, 1, 14, 0]
        );
    }
}
