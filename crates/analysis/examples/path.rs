//! Prints the critical path of a recording by cause, and how well it replays.
//! `cargo run --release -p timesink-analysis --example path RECORDING`

use std::path::Path as File;
use std::time::Instant;

use timesink_analysis::facts::Facts;
use timesink_analysis::path::Path;
use timesink_analysis::replay::Replay;
use timesink_analysis::timeline::Timeline;
use timesink_recording::Recording;

fn main() -> timesink_recording::Result<()> {
    let Some(file) = std::env::args().nth(1) else {
        println!("which recording?");
        return Ok(());
    };
    let recording = Recording::open(File::new(&file))?;
    let facts = Facts::of(&recording)?;
    let Some(main) = facts.ledger.main else {
        println!("there is no thread");
        return Ok(());
    };
    let start = Instant::now();
    let ms = || start.elapsed().as_secs_f64() * 1e3;
    let timeline = Timeline::of(&recording)?;
    println!("{} spans {:>10.1} ms", timeline.len(), ms());
    let path = Path::of_thread(&timeline, main);
    println!("{} segments {:>10.1} ms", path.segments.len(), ms());
    let replay = Replay::of(&recording, &timeline, main)?;
    println!("replay {:>10.1} ms", ms());
    for cause in path.causes(&timeline, |process| process).iter().take(12) {
        let key = cause.key;
        println!(
            "{:>10.3} ms {:>7} x  {:?} {:?} {:?} {:?} {:?}",
            cause.ns as f64 / 1e6,
            cause.count,
            key.process,
            key.state,
            key.detail,
            key.object
                .and_then(|id| facts.object(id))
                .map(|object| &object.label),
            key.unknown,
        );
    }
    println!(
        "wall {:.3} ms, unknown {:.3} ms; replayed {:.3} ms ({:+.2} %) on {:?}, {} forced",
        path.wall_ns() as f64 / 1e6,
        path.unknown_ns() as f64 / 1e6,
        replay.unchanged_ns as f64 / 1e6,
        replay.error_pct(),
        replay.processors,
        replay.run(|_| 1.0).forced,
    );
    Ok(())
}
