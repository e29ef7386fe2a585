//! Recordings made of others: one after the other in the same main thread, with rows taken away at random or in
//! another order.

use fastrand::Rng;
use std::collections::HashMap;

use timesink_recording::ids::{FrameId, ObjectId, ProcessId, StackId, TaskId, ThreadId};
use timesink_recording::notation::Draft;
use timesink_recording::tables::{Call, CallWindow, Image, Loss, Object, Span, Thread, Wait};
use timesink_recording::words::{ImageEvent, LossKind};
use timesink_recording::Nanos;

/// How long a recording is: to the end of its main thread.
pub fn length(drawn: &Draft) -> i64 {
    let main = drawn.threads.first().map(|row| row.thread);
    let spans = drawn.spans.iter().filter(|span| Some(span.thread) == main);
    spans.map(|span| span.t1.0).max().unwrap_or(0)
}

/// New numbers for what comes after.
struct Numbers {
    later: i64,
    processes: HashMap<ProcessId, ProcessId>,
    threads: HashMap<ThreadId, ThreadId>,
    objects: HashMap<ObjectId, ObjectId>,
    frames: HashMap<FrameId, FrameId>,
    stacks: HashMap<StackId, StackId>,
}

impl Numbers {
    fn t(&self, t: Nanos) -> Nanos {
        Nanos(t.0 + self.later)
    }

    fn thread(&self, id: ThreadId) -> ThreadId {
        self.threads.get(&id).copied().unwrap_or(id)
    }

    fn process(&self, id: ProcessId) -> ProcessId {
        self.processes.get(&id).copied().unwrap_or(id)
    }

    fn object(&self, id: Option<ObjectId>) -> Option<ObjectId> {
        id.map(|id| self.objects.get(&id).copied().unwrap_or(id))
    }

    fn stack(&self, id: Option<StackId>) -> Option<StackId> {
        id.map(|id| self.stacks.get(&id).copied().unwrap_or(id))
    }
}

/// What `then` does after what `first` does: its main thread is the same, and so are things and code that are called
/// alike; all other threads and processes are others.
pub fn after(mut first: Draft, then: &Draft) -> Draft {
    let mut numbers = Numbers {
        later: length(&first),
        processes: HashMap::new(),
        threads: HashMap::new(),
        objects: HashMap::new(),
        frames: HashMap::new(),
        stacks: HashMap::new(),
    };
    add_code(&mut first, then, &mut numbers);
    add_lives(&mut first, then, &mut numbers);
    add_objects(&mut first, then, &mut numbers);
    add_events(&mut first, then, &numbers);
    add_tasks(&mut first, then, &numbers);
    add_calls(&mut first, then, &numbers);
    first.about.wall_ns += then.about.wall_ns;
    first
}

fn add_code(first: &mut Draft, then: &Draft, numbers: &mut Numbers) {
    for row in &then.frames {
        let mut known = first.frames.iter();
        let same = known.find(|frame| frame.function == row.function && frame.line == row.line);
        let frame = match same {
            Some(same) => same.frame,
            None => {
                let frame = FrameId(first.frames.len() as u32 + 1);
                // A case's modules are not told apart: they only say what is the system's.
                first.frames.push(timesink_recording::tables::Frame {
                    frame,
                    ..row.clone()
                });
                frame
            }
        };
        numbers.frames.insert(row.frame, frame);
    }
    for row in &then.modules {
        if first.modules.iter().all(|known| known.module != row.module) {
            first.modules.push(row.clone());
        }
    }
    for row in &then.stacks {
        let stack = StackId(first.stacks.len() as u32 + 1);
        first.stacks.push(timesink_recording::tables::Stack {
            stack,
            parent: numbers.stack(row.parent),
            frame: numbers.frames[&row.frame],
            complete: row.complete,
        });
        numbers.stacks.insert(row.stack, stack);
    }
}

fn add_lives(first: &mut Draft, then: &Draft, numbers: &mut Numbers) {
    let mains = (&first.processes[0], &then.processes[0]);
    numbers.processes.insert(mains.1.process, mains.0.process);
    let mains = (first.threads[0].thread, then.threads[0].thread);
    numbers.threads.insert(mains.1, mains.0);
    for row in &then.processes[1..] {
        let next = first.processes.iter().map(|row| row.process.0).max();
        let process = ProcessId(next.unwrap_or(0) + 1);
        numbers.processes.insert(row.process, process);
        let mut row = row.clone();
        row.process = process;
        row.pid += process.0 * 1000;
        row.parent = row.parent.map(|parent| numbers.process(parent));
        (row.start, row.end) = (numbers.t(row.start), numbers.t(row.end));
        first.processes.push(row);
    }
    for row in &then.threads[1..] {
        let next = first.threads.iter().map(|row| row.thread.0).max();
        let thread = ThreadId(next.unwrap_or(0) + 1);
        numbers.threads.insert(row.thread, thread);
        let mut row = row.clone();
        row.thread = thread;
        row.process = numbers.process(row.process);
        row.tid += thread.0 * 1000;
        row.parent = row.parent.map(|parent| numbers.thread(parent));
        (row.start, row.end) = (numbers.t(row.start), numbers.t(row.end));
        first.threads.push(row);
    }
    let end = numbers.later + length(then);
    first.processes[0].end = Nanos(end);
    add_sums(&mut first.threads[0], &then.threads[0], end);
}

fn add_sums(main: &mut Thread, then: &Thread, end: i64) {
    main.end = Nanos(end);
    for (sum, more) in [
        (&mut main.cpu_ns, then.cpu_ns),
        (&mut main.ready_ns, then.ready_ns),
        (&mut main.wait_ns, then.wait_ns),
        (&mut main.tracer_ns, then.tracer_ns),
        (&mut main.kernel_cpu_ns, then.kernel_cpu_ns),
        (&mut main.kernel_ready_ns, then.kernel_ready_ns),
        (&mut main.kernel_life_ns, then.kernel_life_ns),
        (&mut main.samples_user, then.samples_user),
        (&mut main.samples_kernel, then.samples_kernel),
        (&mut main.faults_minor, then.faults_minor),
    ] {
        *sum += more;
    }
}

fn add_objects(first: &mut Draft, then: &Draft, numbers: &mut Numbers) {
    for row in &then.objects {
        let mut known = first.objects.iter();
        let name = |row: &Object| (row.kind, row.label.clone(), row.local.clone());
        let same = known.find(|object| name(object) == name(row));
        let object = match same {
            Some(same) => same.object,
            None => {
                let next = first.objects.iter().map(|row| row.object.0).max();
                let object = ObjectId(next.unwrap_or(0) + 1);
                let mut row = row.clone();
                row.object = object;
                row.process = row.process.map(|process| numbers.process(process));
                first.objects.push(row);
                object
            }
        };
        numbers.objects.insert(row.object, object);
    }
}

fn add_events(first: &mut Draft, then: &Draft, numbers: &Numbers) {
    first.spans.extend(then.spans.iter().map(|row| Span {
        thread: numbers.thread(row.thread),
        t0: numbers.t(row.t0),
        t1: numbers.t(row.t1),
        object: numbers.object(row.object),
        waker: row.waker.map(|waker| numbers.thread(waker)),
        ..row.clone()
    }));
    first.waits.extend(then.waits.iter().map(|row| Wait {
        thread: numbers.thread(row.thread),
        t0: numbers.t(row.t0),
        t1: numbers.t(row.t1),
        object: numbers.object(row.object),
        woken_object: numbers.object(row.woken_object),
        sent_object: numbers.object(row.sent_object),
        owner: row.owner.map(|owner| numbers.thread(owner)),
        stack: numbers.stack(row.stack),
        waker_stack: numbers.stack(row.waker_stack),
        ..row.clone()
    }));
    for row in &then.samples {
        let mut row = row.clone();
        (row.thread, row.t) = (numbers.thread(row.thread), numbers.t(row.t));
        row.stack = numbers.stack(row.stack);
        first.samples.push(row);
    }
    for row in &then.delays {
        let mut row = row.clone();
        row.thread = numbers.thread(row.thread);
        (row.t0, row.t1) = (numbers.t(row.t0), numbers.t(row.t1));
        row.stack = numbers.stack(row.stack);
        first.delays.push(row);
    }
    for row in &then.occupants {
        let mut row = row.clone();
        (row.thread, row.t0) = (numbers.thread(row.thread), numbers.t(row.t0));
        row.occupant = row.occupant.map(|occupant| numbers.thread(occupant));
        first.occupants.push(row);
    }
    for row in &then.images {
        let mut row = row.clone();
        (row.process, row.t) = (numbers.process(row.process), numbers.t(row.t));
        row.thread = row.thread.map(|thread| numbers.thread(thread));
        // It ends once, with what both have left of memory.
        let is_exit = |image: &Image| image.event == ImageEvent::Exit;
        let mut known = first.images.iter_mut();
        let end = known.find(|end| is_exit(end) && is_exit(&row) && end.process == row.process);
        if let Some(end) = end {
            end.t = row.t;
            end.resident_bytes += row.resident_bytes;
            continue;
        }
        first.images.push(row);
    }
    for row in &then.requests {
        let mut row = row.clone();
        (row.issued, row.completed) = (numbers.t(row.issued), numbers.t(row.completed));
        row.thread = row.thread.map(|thread| numbers.thread(thread));
        first.requests.push(row);
    }
}

/// The tasks of what comes then are others: without them its threads were at work for nobody.
fn add_tasks(first: &mut Draft, then: &Draft, numbers: &Numbers) {
    let most = first.tasks.iter().map(|row| row.task.0 + 1).max();
    let renamed = |task: TaskId| TaskId(most.unwrap_or(0) + task.0);
    for row in &then.tasks {
        let mut row = row.clone();
        (row.task, row.process) = (renamed(row.task), numbers.process(row.process));
        row.parent = row.parent.map(renamed);
        row.stack = numbers.stack(row.stack);
        first.tasks.push(row);
    }
    for row in &then.task_turns {
        let mut row = row.clone();
        (row.task, row.thread) = (row.task.map(renamed), numbers.thread(row.thread));
        (row.t0, row.t1) = (numbers.t(row.t0), numbers.t(row.t1));
        row.left_at = numbers.stack(row.left_at);
        first.task_turns.push(row);
    }
}

fn add_calls(first: &mut Draft, then: &Draft, numbers: &Numbers) {
    for row in &then.calls {
        let row = Call {
            thread: numbers.thread(row.thread),
            object: numbers.object(row.object),
            ..row.clone()
        };
        // A recording has one sum for a thread's calls of one kind on one thing.
        let key = |row: &Call| (row.thread, row.call.clone(), row.object);
        match first.calls.iter_mut().find(|sum| key(sum) == key(&row)) {
            None => first.calls.push(row),
            Some(sum) => {
                sum.count += row.count;
                sum.ns += row.ns;
                sum.bytes += row.bytes;
                sum.errors += row.errors;
                sum.seen += row.seen;
                sum.estimated |= row.estimated;
            }
        }
    }
    first
        .call_windows
        .extend(then.call_windows.iter().map(|row| CallWindow {
            t0: numbers.t(row.t0),
            t1: numbers.t(row.t1),
        }));
    for row in &then.call_errors {
        let mut row = row.clone();
        row.thread = numbers.thread(row.thread);
        row.object = numbers.object(row.object);
        first.call_errors.push(row);
    }
    for row in &then.call_histograms {
        let mut row = row.clone();
        row.thread = numbers.thread(row.thread);
        row.object = numbers.object(row.object);
        first.call_histograms.push(row);
    }
    for row in &then.lookups {
        let mut row = row.clone();
        row.process = numbers.process(row.process);
        first.lookups.push(row);
    }
    for row in &then.outsiders {
        if first.outsiders.iter().all(|known| known.tid != row.tid) {
            first.outsiders.push(row.clone());
        }
    }
}

/// Takes rows away: of one kind, or of all, about one of so many.
pub fn thin(drawn: &mut Draft, dice: &mut Rng, of: u64) {
    let kind = dice.u64(..6);
    let (calls, waits) = (drawn.calls.len(), drawn.waits.len());
    let mut stays = |which: u64| (kind != 5 && kind != which) || dice.u64(..of) != 0;
    drawn.waits.retain(|_| stays(0));
    drawn.samples.retain(|_| stays(1));
    drawn.calls.retain(|_| stays(2));
    drawn.call_errors.retain(|_| stays(3));
    drawn.lookups.retain(|_| stays(3));
    drawn.occupants.retain(|_| stays(4));
    drawn.delays.retain(|_| stays(4));
    // A recording knows what it lost.
    let lost = [
        (LossKind::Calls, calls - drawn.calls.len()),
        (LossKind::Waits, waits - drawn.waits.len()),
    ];
    for (kind, count) in lost.into_iter().filter(|(_, count)| *count > 0) {
        drawn.losses.push(Loss {
            kind,
            count: count as u64,
            note: String::new(),
        });
    }
}

/// The same rows in another order. Stacks stay: one must stand before those that it is part of.
pub fn shuffle(drawn: &mut Draft, dice: &mut Rng) {
    dice.shuffle(&mut drawn.waits);
    dice.shuffle(&mut drawn.samples);
    dice.shuffle(&mut drawn.calls);
    dice.shuffle(&mut drawn.call_errors);
    dice.shuffle(&mut drawn.lookups);
    dice.shuffle(&mut drawn.occupants);
    dice.shuffle(&mut drawn.delays);
    dice.shuffle(&mut drawn.spans);
    dice.shuffle(&mut drawn.objects);
    dice.shuffle(&mut drawn.outsiders);
    dice.shuffle(&mut drawn.images);
    dice.shuffle(&mut drawn.frames);
}
