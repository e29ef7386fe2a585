//! What a converted recording says of its threads, as text in the notation of recordings: so that a test shows it whole. Spans
//! that begin where the one before ended are written `..TO`; any other begin shows, so that what does not tile is seen.

use timesink_recording::tables::{
    Delay, Frame, Loss, Object, Occupant, Sample, Span, Stack, Tag, TagTurn, Task, TaskSight,
    TaskTurn, Thread, Wait,
};
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::{FrameId, Nanos, ObjectId, Recording, StackId, ThreadId};

pub struct Told {
    threads: Vec<Thread>,
    spans: Vec<Span>,
    waits: Vec<Wait>,
    delays: Vec<Delay>,
    occupants: Vec<Occupant>,
    samples: Vec<Sample>,
    objects: Vec<Object>,
    frames: Vec<Frame>,
    stacks: Vec<Stack>,
    losses: Vec<Loss>,
    tasks: Vec<Task>,
    tag_turns: Vec<TagTurn>,
    tags: Vec<Tag>,
    turns: Vec<TaskTurn>,
    sights: Vec<TaskSight>,
}

/// The shortest way to write a time.
pub fn time(at: Nanos) -> String {
    let units = [(1_000_000, "ms"), (1_000, "us")];
    let unit = units
        .iter()
        .find(|(ns, _)| at.0 % (ns / 100).max(1) == 0 && at.0 >= *ns);
    match unit {
        _ if at.0 == 0 => "0".into(),
        Some((ns, unit)) => format!("{}{unit}", at.0 as f64 / *ns as f64),
        None => format!("{}ns", at.0),
    }
}

fn length(ns: u64) -> String {
    time(Nanos(ns as i64))
}

impl Told {
    pub fn of(recording: &Recording) -> Told {
        fn rows<R: timesink_recording::TableRow>(recording: &Recording) -> Vec<R> {
            recording.rows().expect("a table")
        }
        Told {
            threads: rows(recording),
            spans: rows(recording),
            waits: rows(recording),
            delays: rows(recording),
            occupants: rows(recording),
            samples: rows(recording),
            objects: rows(recording),
            frames: rows(recording),
            stacks: rows(recording),
            losses: rows(recording),
            tasks: rows(recording),
            tag_turns: rows(recording),
            tags: rows(recording),
            turns: rows(recording),
            sights: rows(recording),
        }
    }

    /// All lines: threads, samples, turns with tasks, losses.
    pub fn lines(&self) -> Vec<String> {
        let threads = self.threads.iter().map(|thread| self.thread(thread));
        let samples = self.samples.iter().map(|sample| self.sample(sample));
        let losses = self.losses.iter();
        let losses = losses.map(|loss| format!("lost {} {}", loss.kind, loss.count));
        let turns = self.turns.iter().map(|turn| self.turn(turn));
        let tagged = self.tag_turns.iter().map(|turn| self.tag_turn(turn));
        let sights = self.sights.iter().map(|sight| self.sight(sight));
        let all = threads.chain(samples).chain(turns).chain(sights);
        all.chain(tagged).chain(losses).collect()
    }

    /// With the runtime's own number of the task.
    fn turn(&self, turn: &TaskTurn) -> String {
        let name = self.name(turn.thread);
        let stretch = format!("turn {name} {}..{}", time(turn.t0), time(turn.t1));
        let left = turn.left.map(|left| format!(" left {}", left.as_str()));
        let left = left.unwrap_or_default();
        let told = match turn.task {
            Some(task) => format!("{stretch} task {}", self.tasks[task.index()].number),
            None => stretch,
        };
        told + &left
    }

    fn sight(&self, sight: &TaskSight) -> String {
        let number = self.tasks[sight.task.index()].number;
        let before = sight
            .before
            .map(|before| format!(" after {}", time(before)));
        let before = before.unwrap_or_default();
        format!(
            "sight {number} {}{before} {}",
            time(sight.t),
            sight.state.as_str()
        )
    }

    fn tag_turn(&self, turn: &TagTurn) -> String {
        let name = self.name(turn.thread);
        let stretch = format!("tagged {name} {}..{}", time(turn.t0), time(turn.t1));
        match turn.tag {
            Some(tag) => format!("{stretch} {}", self.tags[tag.index()].path),
            None => stretch,
        }
    }

    fn name(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()].name
    }

    fn thread(&self, thread: &Thread) -> String {
        let mut at = Nanos(-1);
        let spans = self.spans.iter();
        let spans = spans.filter(|span| span.thread == thread.thread);
        let spans: Vec<String> = spans
            .map(|span| {
                let before = std::mem::replace(&mut at, span.t1);
                self.span(span, before)
            })
            .collect();
        let end = match at == thread.end {
            true => String::new(),
            false => format!(" | nothing until {}", time(thread.end)),
        };
        format!("{}: {}{end}", thread.name, spans.join(" | "))
    }

    fn span(&self, span: &Span, before: Nanos) -> String {
        let from = match span.t0 == before {
            true => String::new(),
            false => time(span.t0),
        };
        let mut words = vec![span.state.to_string(), format!("{from}..{}", time(span.t1))];
        if !matches!(
            span.detail,
            Detail::Running | Detail::Woken | Detail::Unknown
        ) {
            words.push(span.detail.to_string());
        }
        words.extend(span.object.map(|object| self.object(object)));
        if span.processor != 0 {
            words.push(format!("on {}", span.processor));
        }
        let source = span.wake_source.filter(|s| *s != WakeSource::Thread);
        words.extend(span.waker.map(|by| format!("by {}", self.name(by))));
        words.extend(span.waker_outsider.map(|by| format!("by outsider {by}")));
        words.extend(source.map(|source| format!("by {source}")));
        if span.tracer_ns > 0 {
            words.push(format!("tracer {}", length(span.tracer_ns)));
        }
        let taken = span.taken_ns.filter(|ns| *ns > 0);
        words.extend(taken.map(|ns| format!("taken {}", length(ns))));
        self.occupants(span, &mut words);
        let is_it = |thread, t0, t1| (thread, t0, t1) == (span.thread, span.t0, span.t1);
        if let Some(wait) = self.waits.iter().find(|w| is_it(w.thread, w.t0, w.t1)) {
            self.wait(wait, &mut words);
        }
        let delay = self.delays.iter().find(|d| is_it(d.thread, d.t0, d.t1));
        if let Some(delay) = delay.filter(|_| span.state == State::Ready) {
            self.stack("stack", delay.stack, &mut words);
        }
        words.join(" ")
    }

    fn occupants(&self, span: &Span, words: &mut Vec<String>) {
        let occupants = self.occupants.iter();
        let is_its = |o: &&Occupant| o.thread == span.thread && o.t0 == span.t0;
        for occupant in occupants.filter(|o| span.state == State::Ready && is_its(o)) {
            let who = match occupant.occupant {
                Some(thread) => self.name(thread).to_owned(),
                None => format!("outsider {}", occupant.occupant_outsider.unwrap_or(0)),
            };
            words.push(format!("occupant {who} {}", length(occupant.ns)));
        }
    }

    fn wait(&self, wait: &Wait, words: &mut Vec<String>) {
        if !wait.call.is_empty() {
            words.push(format!("call {}", wait.call));
        }
        if !wait.function.is_empty() {
            words.push(format!("function {}", wait.function));
        }
        words.extend(wait.asked_ns.map(|ns| format!("asked {}", length(ns))));
        let expired = |expired| if expired { "expired" } else { "not_expired" };
        words.extend(wait.expired.map(|e| expired(e).to_owned()));
        words.extend(wait.bytes.map(|bytes| format!("bytes {bytes}")));
        words.extend(wait.result.map(|result| format!("result {result}")));
        words.extend(wait.woken_fd.map(|fd| format!("woken_fd {fd}")));
        words.extend(
            wait.owner
                .map(|owner| format!("owner {}", self.name(owner))),
        );
        self.stack("stack", wait.stack, words);
        self.stack("waker_stack", wait.waker_stack, words);
    }

    fn sample(&self, sample: &Sample) -> String {
        let (name, at) = (self.name(sample.thread), time(sample.t));
        let mut words = vec![format!("sample {name} {at}")];
        words.extend(sample.weight_ns.map(|ns| format!("weight {}", length(ns))));
        self.stack("stack", sample.stack, &mut words);
        if sample.kernel {
            words.push("kernel".into());
        }
        words.join(" ")
    }

    fn object(&self, object: ObjectId) -> String {
        format!("{:?}", self.objects[object.index()].label)
    }

    fn stack(&self, key: &str, stack: Option<StackId>, words: &mut Vec<String>) {
        let Some(innermost) = stack else {
            return;
        };
        let mut names = Vec::new();
        let mut at = stack;
        while let Some(stack) = at.map(|at| &self.stacks[at.index()]) {
            names.push(self.frame(stack.frame));
            at = stack.parent;
        }
        if !self.stacks[innermost.index()].complete {
            names.push("...".into());
        }
        names.reverse();
        words.push(format!("{key} {:?}", names.join(";")));
    }

    fn frame(&self, frame: FrameId) -> String {
        let frame = &self.frames[frame.index()];
        match frame.function.is_empty() {
            true => format!("{:#x}", frame.offset),
            false => frame.function.clone(),
        }
    }
}
