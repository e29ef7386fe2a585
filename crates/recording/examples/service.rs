//! Writes a recording of a busy service with as many spans as are asked for, in bounded memory: pairs of threads that
//! receive, stand in line for each other's lock, compute and flush, round after round, none as long as another.
//!
//!     cargo run --release -p timesink-recording --example service FOLDER [SPANS] [THREADS]
//!
//! For measuring how time and memory of a report grow: `time -v timesink report FOLDER`.

use timesink_recording::notation::{self, Draft};
use timesink_recording::tables::{Call, Occupant, Sample, Span, Thread, Wait};
use timesink_recording::words::State;
use timesink_recording::{About, Nanos, RecordingWriter, Result, ThreadId};

/// One round of a pair, 1 ms long.
const ROUND: &str = r#"
    run threshold 50us
    process 1 pid 100 service executable /usr/sbin/service
    thread 1.1 tid 100 service
    thread 1.2 tid 101 worker parent 1.1
    thread 1.3 tid 102 worker parent 1.1
    frame start_thread module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame recv module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame fsync module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame serve module /usr/sbin/service file serve.c line 40
    frame answer module /usr/sbin/service file serve.c line 80
    frame checksum module /usr/sbin/service file checksum.c line 7
    frame store module /usr/sbin/service file store.c line 12
    1.2: cpu 0..40us on 0 tracer 300ns | wait ..62us lock L by 1.3 call futex | ready ..64us on 0
       | cpu ..120us on 0 tracer 310ns
       | wait ..700us network receive S by network call recvfrom result 120 stack "start_thread;serve;recv"
       | ready ..704us on 1 occupant 1.3 3us | cpu ..1ms on 1 tracer 420ns
    1.3: cpu 0..90us on 2 tracer 300ns | wait ..300us network receive T by network call recvfrom result 80 stack "start_thread;serve;recv"
       | ready ..303us on 2 | cpu ..400us on 2 tracer 300ns
       | wait ..900us flush store.db by "block device" call fsync stack "start_thread;serve;store;fsync"
       | ready ..905us on 3 | cpu ..1ms on 3 tracer 350ns
    call 1.2 recvfrom S count 1 ns 580us bytes 120
    call 1.2 futex L count 1 ns 22us
    call 1.3 recvfrom T count 1 ns 210us bytes 80
    call 1.3 fsync store.db count 1 ns 500us
    sample 1.2 900us weight 300us stack "start_thread;serve;answer;checksum"
    sample 1.3 350us weight 80us stack "start_thread;serve;answer"
"#;
const ROUND_NS: i64 = 1_000_000;
/// One round in so many has samples.
const SAMPLED: i64 = 8;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: service FOLDER [SPANS] [THREADS]");
        return Ok(());
    };
    let mut number = |usual: i64| match arguments.next().map(|text| text.parse()) {
        Some(Ok(number)) => number,
        _ => usual,
    };
    let (spans, threads) = (number(1_000_000), number(200));
    let drawn = notation::draft(ROUND);
    let pairs = (threads / 2).max(1);
    let rounds = (spans / pairs / drawn.spans.len() as i64).max(1);
    let mut writer = RecordingWriter::create(folder.as_ref())?;
    let ends = |pair| (0..rounds).map(|round| length(pair, round)).sum();
    let longest = (0..pairs).map(|pair| (Nanos(ends(pair)), pair)).max();
    let (end, last) = longest.unwrap_or((Nanos::ZERO, 0));
    write_main(
        &drawn,
        (end, renamed(drawn.threads[1].thread, last)),
        &mut writer,
    )?;
    for pair in 0..pairs {
        write_pair(&drawn, pair, rounds, &mut writer)?;
    }
    drawn.processes.iter().try_for_each(|row| {
        let mut row = row.clone();
        row.end = end;
        writer.push(row)
    })?;
    drawn
        .objects
        .iter()
        .try_for_each(|row| writer.push(row.clone()))?;
    drawn
        .modules
        .iter()
        .try_for_each(|row| writer.push(row.clone()))?;
    drawn
        .frames
        .iter()
        .try_for_each(|row| writer.push(row.clone()))?;
    drawn
        .stacks
        .iter()
        .try_for_each(|row| writer.push(row.clone()))?;
    let about = About {
        wall_ns: end.0.unsigned_abs(),
        processors: 64,
        ..drawn.about
    };
    writer.finish(about).map(|_| ())
}

/// When a moment of the drawn round is in one that begins at `start`: none takes as long as another.
fn moment(at: Nanos, start: i64, ns: i64) -> Nanos {
    Nanos(start + (at.0 as i128 * i128::from(ns) / i128::from(ROUND_NS)) as i64)
}

/// How long a round of a pair is: 0.8 to 1.3 ms.
fn length(pair: i64, round: i64) -> i64 {
    let mixed = (round as u64 ^ (pair as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
    800_000 + (mixed % 500_000) as i64
}

/// The number of a drawn thread in one of the pairs.
fn renamed(drawn: ThreadId, pair: i64) -> ThreadId {
    ThreadId(drawn.0 + 2 * pair as u32)
}

/// The rows of two threads.
fn write_pair(drawn: &Draft, pair: i64, rounds: i64, writer: &mut RecordingWriter) -> Result<()> {
    for drawn_thread in &drawn.threads[1..] {
        let mut thread = Thread {
            thread: renamed(drawn_thread.thread, pair),
            tid: drawn_thread.tid + 2 * pair as u32,
            cpu_ns: 0,
            ready_ns: 0,
            wait_ns: 0,
            tracer_ns: 0,
            ..drawn_thread.clone()
        };
        let is_own = |other: ThreadId| other == drawn_thread.thread;
        let mut start = 0;
        for round in 0..rounds {
            let ns = length(pair, round);
            for row in drawn.spans.iter().filter(|row| is_own(row.thread)) {
                let row = Span {
                    thread: thread.thread,
                    t0: moment(row.t0, start, ns),
                    t1: moment(row.t1, start, ns),
                    waker: row.waker.map(|waker| renamed(waker, pair)),
                    ..row.clone()
                };
                let lasted = row.t1.since(row.t0) - row.tracer_ns;
                match row.state {
                    State::Cpu => thread.cpu_ns += lasted,
                    State::Ready => thread.ready_ns += lasted,
                    _ => thread.wait_ns += lasted,
                }
                thread.tracer_ns += row.tracer_ns;
                writer.push(row)?;
            }
            write_details(
                drawn,
                drawn_thread.thread,
                (thread.thread, round, start, ns),
                writer,
            )?;
            start += ns;
        }
        thread.end = Nanos(start);
        thread.kernel_cpu_ns = thread.cpu_ns + thread.tracer_ns;
        thread.kernel_ready_ns = thread.ready_ns;
        thread.kernel_life_ns = start.unsigned_abs();
        let calls = drawn.calls.iter().filter(|row| is_own(row.thread));
        for row in calls {
            let times = rounds.unsigned_abs();
            writer.push(Call {
                thread: thread.thread,
                count: row.count * times,
                ns: row.ns * times,
                bytes: row.bytes * times,
                seen: row.seen * times,
                ..row.clone()
            })?;
        }
        writer.push(thread)?;
    }
    Ok(())
}

/// What comes with the spans of one round of one thread.
fn write_details(
    drawn: &Draft,
    drawn_thread: ThreadId,
    (thread, round, start, ns): (ThreadId, i64, i64, i64),
    writer: &mut RecordingWriter,
) -> Result<()> {
    for row in drawn.waits.iter().filter(|row| row.thread == drawn_thread) {
        let (t0, t1) = (moment(row.t0, start, ns), moment(row.t1, start, ns));
        if t1.since(t0) >= drawn.about.threshold_ns {
            writer.push(Wait {
                thread,
                t0,
                t1,
                ..row.clone()
            })?;
        }
    }
    let shift = thread.0 - drawn_thread.0;
    for row in drawn
        .occupants
        .iter()
        .filter(|row| row.thread == drawn_thread)
    {
        writer.push(Occupant {
            thread,
            t0: moment(row.t0, start, ns),
            occupant: row.occupant.map(|other| ThreadId(other.0 + shift)),
            ..row.clone()
        })?;
    }
    let samples = drawn
        .samples
        .iter()
        .filter(|row| row.thread == drawn_thread);
    for row in samples.filter(|_| round % SAMPLED == 0) {
        writer.push(Sample {
            thread,
            t: moment(row.t, start, ns),
            ..row.clone()
        })?;
    }
    Ok(())
}

/// The first thread waits until the last of the workers ends.
fn write_main(
    drawn: &Draft,
    (end, last): (Nanos, ThreadId),
    writer: &mut RecordingWriter,
) -> Result<()> {
    let text = format!(
        "process 1 pid 100 service
         thread 1.1 tid 100 service
         thread 1.2 tid 101 worker parent 1.1
         1.1: cpu 0..20us | wait ..{0}ns join by 1.2 | cpu +30us",
        end.0
    );
    let of_main = notation::draft(&text);
    let first = drawn.threads[0].thread;
    of_main.spans.iter().try_for_each(|row| {
        let waker = row.waker.map(|_| last);
        let row = row.clone();
        writer.push(Span { waker, ..row })
    })?;
    of_main
        .waits
        .iter()
        .try_for_each(|row| writer.push(row.clone()))?;
    let main = of_main.threads.iter().filter(|row| row.thread == first);
    main.cloned().try_for_each(|row| writer.push(row))
}
