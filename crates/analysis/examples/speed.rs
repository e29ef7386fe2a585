//! Prints how long the ledger of a million spans takes, from memory and from a recording, and the
//! stacks of its waits and samples.
//! `cargo run --release -p timesink-analysis --example speed [SPANS] [THREADS]`

use std::time::Instant;

use rustc_hash::FxHashSet;
use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::{Facts, Gathering, Listed};
use timesink_analysis::loops::loops;
use timesink_analysis::operations::{Recorded, Wanted};
use timesink_analysis::path::Path;
use timesink_analysis::replay::Replay;
use timesink_analysis::stacks::{Direction, Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::{Call, Frame, Occupant, Sample, Span, Stack, Thread, Wait};
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::{FrameId, Nanos, ObjectId, Recording, StackId, ThreadId};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut next = |usual: u32| match numbers.next() {
        Some(Ok(number)) => number.max(1),
        _ => usual,
    };
    let (spans, threads) = (next(1_000_000), next(500));
    let drawn = rows(spans, threads);

    let start = Instant::now();
    let mut gathering = Gathering::new(Listed {
        threads: drawn.threads.clone(),
        processes: drawn.processes.clone(),
        ..Listed::default()
    });
    drawn
        .spans
        .chunks(4096)
        .for_each(|rows| gathering.spans(rows));
    let facts = gathering.finish();
    let (waits, occupants) = (drawn.waits.len(), drawn.occupants.len());
    let spans = facts.ledger.tiling.spans;
    println!("{spans} spans, {waits} waits, {occupants} occupants, {threads} threads");
    println!(
        "ledger from memory     {:>10.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );

    let folder = std::env::temp_dir().join(format!("timesink-speed-{}", std::process::id()));
    if let Err(error) = drawn.write(&folder) {
        println!("cannot write {}: {error}", folder.display());
        return;
    }
    let start = Instant::now();
    let read = Recording::open(&folder).and_then(|recording| {
        let facts = Facts::of(&recording)?;
        let (facts_ms, start) = (start.elapsed().as_secs_f64() * 1e3, Instant::now());
        println!("facts from a recording {facts_ms:>10.1} ms");
        let stacks = Stacks::of(&recording, &facts, &Filter::default())?;
        let (stacks_ms, start) = (start.elapsed().as_secs_f64() * 1e3, Instant::now());
        let timeline = Timeline::of(&recording)?;
        let path = Path::of_thread(&timeline, 0);
        let (path_ms, start) = (start.elapsed().as_secs_f64() * 1e3, Instant::now());
        let segments = path.segments.len();
        println!("path, {segments:>7} segments {path_ms:>10.1} ms");
        let replay = Replay::of(&recording, &timeline, 0)?;
        let replay_ms = start.elapsed().as_secs_f64() * 1e3;
        println!(
            "replay, {:>7} steps    {replay_ms:>10.1} ms",
            replay.steps()
        );
        println!("stacks from it         {stacks_ms:>10.1} ms");
        let start = Instant::now();
        again(&recording, &timeline, &facts, &stacks)?;
        let again_ms = start.elapsed().as_secs_f64() * 1e3;
        println!("all of these           {again_ms:>10.1} ms");
        let start = Instant::now();
        let view = stacks.view();
        let rows = view.top().len() + view.tree(Direction::Callees, 0.01).roots.len();
        let views_ms = start.elapsed().as_secs_f64() * 1e3;
        println!("top and tree, {rows:>4} rows {views_ms:>9.1} ms");
        Ok(())
    });
    if let Err(error) = read {
        println!("cannot read it back: {error}");
    }
    if std::env::var_os("KEEP").is_some() {
        println!("kept in {}", folder.display());
    } else if let Err(error) = std::fs::remove_dir_all(&folder) {
        println!("cannot remove {}: {error}", folder.display());
    }
}

/// Prints how long operations take, their comparison, and loops.
fn again(
    recording: &Recording,
    timeline: &Timeline,
    facts: &Facts,
    stacks: &Stacks,
) -> timesink_recording::Result<()> {
    let start = Instant::now();
    let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let waited = Waited::of(recording, timeline)?;
    println!("single waits           {:>10.1} ms", ms(start));
    let recorded = Recorded {
        timeline,
        facts,
        waited: &waited,
        programs: &Programs::of(facts),
    };
    let start = Instant::now();
    let sets = recorded.operations(&Wanted::Served);
    let count: usize = sets.iter().map(|set| set.operations.len()).sum();
    println!("{count:>7} operations     {:>10.1} ms", ms(start));
    let start = Instant::now();
    for set in &sets {
        recorded.detail(set, stacks);
    }
    println!("what slow ones have    {:>10.1} ms", ms(start));
    let start = Instant::now();
    let found = loops(&recorded, stacks, &FxHashSet::default());
    println!("{:>7} loops          {:>10.1} ms", found.len(), ms(start));
    Ok(())
}

/// A number that looks random, so that the recording does not compress better than a real one.
fn hash(at: i64, number: u32) -> u64 {
    let mixed = (at as u64 ^ u64::from(number) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

/// Threads that run, wait for one of 50 files or a peer, and stand in line.
fn rows(spans: u32, threads: u32) -> Draft {
    let mut drawn = draft(
        "process 1 server executable /usr/bin/server
         thread 1.1 server
         1.1: cpu 0..1us | wait ..2us flush f call fsync function submit_bio_wait
         call 1.1 sendto f count 100 bytes 1000",
    );
    let (span, thread) = (drawn.spans[0].clone(), drawn.threads[0].clone());
    let wait = drawn.waits[0].clone();
    let each = i64::from(spans / threads);
    let kinds = [
        (State::Cpu, Detail::Running, 3_000),
        (State::Wait, Detail::Flush, 60_000),
        (State::Ready, Detail::Woken, 2_000),
        (State::Cpu, Detail::Running, 5_000),
        (State::Wait, Detail::NetworkReceive, 40_000),
        (State::Ready, Detail::Preempted, 9_000),
    ];
    drawn.spans.clear();
    drawn.waits.clear();
    drawn.threads.clear();
    add_code(&mut drawn);
    for number in 1..=threads {
        let mut now = 0;
        for at in 0..each {
            let (state, detail, length) = kinds[at as usize % kinds.len()];
            let length = length + (hash(at, number) % 20_000) as i64;
            let row = Span {
                thread: ThreadId(number),
                t0: Nanos(now),
                t1: Nanos(now + length),
                state,
                detail,
                object: match detail {
                    Detail::NetworkReceive => Some(ObjectId(1000 + number)),
                    _ => (state == State::Wait).then_some(ObjectId((at % 50) as u32)),
                },
                tracer_ns: 250 + hash(at, number) % 100,
                ..span.clone()
            };
            add_details(&mut drawn, &row, &wait, threads);
            drawn.spans.push(row);
            now += length;
        }
        for call in ["accept4", "recvfrom", "sendto"] {
            drawn.calls.push(Call {
                thread: ThreadId(number),
                call: call.to_owned(),
                object: Some(ObjectId(1000 + number)),
                ..drawn.calls[0].clone()
            });
        }
        let life = now as u64;
        drawn.threads.push(Thread {
            thread: ThreadId(number),
            tid: 1000 + number,
            name: format!("worker-{}", number % 7),
            end: Nanos(now),
            kernel_life_ns: life,
            ..thread.clone()
        });
    }
    drawn
}

/// Stacks of up to some dozen functions, as a tree that grows at random.
fn add_code(drawn: &mut Draft) {
    for number in 0..500 {
        drawn.frames.push(Frame {
            frame: FrameId(number),
            module: None,
            offset: 0,
            function: format!("function_{number}"),
            file: String::new(),
            line: None,
            returns: false,
            inlined: false,
            language: Language::Native,
            begins: None,
        });
    }
    for number in 0..STACKS {
        let recent = number.saturating_sub(1 + hash(number.into(), 2) as u32 % 200);
        drawn.stacks.push(Stack {
            stack: StackId(number),
            parent: (number > 0).then_some(StackId(recent)),
            frame: FrameId(hash(number.into(), 1) as u32 % 500),
            complete: true,
        });
    }
}

/// Different stacks.
const STACKS: u32 = 5000;

/// The rows of other tables that come with a span.
fn add_details(drawn: &mut Draft, span: &Span, wait: &Wait, threads: u32) {
    let Span {
        thread,
        t0,
        t1,
        detail,
        object,
        ..
    } = *span;
    if span.state == State::Wait && t1.since(t0) >= 50_000 {
        drawn.waits.push(Wait {
            thread,
            t0,
            t1,
            detail,
            object,
            stack: Some(StackId(hash(t0.0, thread.0) as u32 % STACKS)),
            ..wait.clone()
        });
    }
    if span.state == State::Cpu && hash(t0.0, 7).is_multiple_of(20) {
        drawn.samples.push(Sample {
            thread,
            t: t1,
            processor: 0,
            kernel: false,
            address: 0,
            weight_ns: Some(100_000),
            stack: Some(StackId(hash(t0.0, thread.0) as u32 % STACKS)),
        });
    }
    if detail == Detail::Preempted {
        drawn.occupants.push(Occupant {
            thread,
            t0,
            occupant: Some(ThreadId(thread.0 % threads + 1)),
            occupant_outsider: None,
            ns: t1.since(t0).saturating_sub(1000),
        });
    }
}
