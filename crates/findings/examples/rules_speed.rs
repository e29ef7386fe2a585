//! Prints how long findings take on a recording: all of them, and the slowest rules.
//! `cargo run --release -p timesink-findings --example rules_speed RECORDING`

use std::cmp::Reverse;
use std::path::Path;
use std::time::{Duration, Instant};

use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_findings::engine::Findings;
use timesink_findings::inquiry::Inquiry;
use timesink_findings::registry::RULES;
use timesink_findings::rule::Limits;
use timesink_recording::Recording;

fn main() {
    for file in std::env::args().skip(1) {
        if let Err(error) = measure(Path::new(&file)) {
            println!("{file}: {error}");
        }
    }
}

fn measure(file: &Path) -> timesink_recording::Result<()> {
    let recording = Recording::open(file)?;
    let facts = Facts::of(&recording)?;
    let timeline = Timeline::of(&recording)?;
    let stacks = Stacks::of(&recording, &facts, &Filter::default())?;
    let waited = Waited::of(&recording, &timeline)?;
    let programs = Programs::of(&facts);
    println!("{}: {} spans", file.display(), timeline.len());
    Outlook::and(
        &recording,
        &timeline,
        &facts,
        &stacks,
        &waited.calls_of,
        Patience::SHORT,
        |outlook, gains| {
            let inquiry = Inquiry {
                facts: &facts,
                stacks: &stacks,
                timeline: &timeline,
                outlook,
                programs: &programs,
                waited: &waited,
                limits: &Limits::default(),
                floors: recording.about().floors(),
                directory: &recording.about().directory,
            };
            let start = Instant::now();
            let told = Findings::of(&inquiry, gains).told.len();
            println!("all findings, {told} told {:>23}", shown(start.elapsed()));
            let mut took: Vec<(Duration, &str)> = RULES
                .iter()
                .map(|rule| {
                    let start = Instant::now();
                    let _ = (rule.ask)(&inquiry);
                    (start.elapsed(), rule.name)
                })
                .collect();
            took.sort_by_key(|(took, _)| Reverse(*took));
            for (took, rule) in took.iter().take(8) {
                println!("  {rule:30} {:>10}", shown(*took));
            }
        },
    )?;
    Ok(())
}

fn shown(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1e3)
}
