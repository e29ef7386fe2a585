//! How fast tables are written and read: one million spans, like those of a busy service.
//!
//!     cargo run --release -p timesink-recording --example speed

use std::time::Instant;
use timesink_recording::tables::Span;
use timesink_recording::words::{Detail, State, WakeSource};
use timesink_recording::{About, Nanos, ObjectId, Recording, RecordingWriter, ThreadId};

const SPANS: usize = 1_000_000;

/// A small generator (xorshift): the figures should be the same every time.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn spans() -> Vec<Span> {
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let mut t = 0;
    (0..SPANS)
        .map(|i| {
            let thread = (i / 20_000) as u32;
            t = if i % 20_000 == 0 { 0 } else { t };
            let t0 = t;
            t += (next(&mut seed) % 200_000) as i64;
            let waits = [
                Detail::NetworkReceive,
                Detail::Flush,
                Detail::Lock,
                Detail::Condition,
            ];
            let detail = waits[(next(&mut seed) % 4) as usize];
            let wait = i % 3 == 1;
            Span {
                thread: ThreadId(thread),
                t0: Nanos(t0),
                t1: Nanos(t),
                state: [State::Cpu, State::Wait, State::Ready][i % 3],
                detail: [Detail::Running, detail, Detail::Woken][i % 3],
                object: wait.then(|| ObjectId((next(&mut seed) % 300) as u32)),
                processor: (next(&mut seed) % 16) as u32,
                waker: wait.then(|| ThreadId((next(&mut seed) % 50) as u32)),
                waker_outsider: None,
                wake_source: wait.then_some(WakeSource::Thread),
                tracer_ns: next(&mut seed) % 700,
                taken_ns: None,
            }
        })
        .collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("timesink-speed-{}", std::process::id()));
    let rows = spans();
    let start = Instant::now();
    let mut writer = RecordingWriter::create(&folder)?;
    for row in &rows {
        writer.push(row.clone())?;
    }
    let about = writer.finish(About::default())?;
    println!("write {SPANS} spans: {:.0?}", start.elapsed());
    for table in about.tables.iter().filter(|table| table.name == "spans") {
        println!(
            "{} bytes, {:.2} a span",
            table.bytes,
            table.bytes as f64 / SPANS as f64
        );
    }
    let mut fastest = [std::time::Duration::MAX; 2];
    for _ in 0..5 {
        let recording = Recording::open(&folder)?;
        let start = Instant::now();
        let mut count = 0;
        recording.scan::<Span>(|batch| count += batch.len())?;
        fastest[0] = fastest[0].min(start.elapsed());
        let start = Instant::now();
        let read = recording.rows::<Span>()?;
        fastest[1] = fastest[1].min(start.elapsed());
        assert!(count == SPANS && read == rows);
    }
    println!("scan: {:.0?}, rows: {:.0?}", fastest[0], fastest[1]);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
