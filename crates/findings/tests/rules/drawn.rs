//! Asks the rules about a recording that was drawn as text.

use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::stacks::goroutines::OfGoroutines;
use timesink_analysis::stacks::{tell_waits_apart, Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_findings::engine::Findings;
use timesink_findings::inquiry::Inquiry;
use timesink_findings::rule::Limits;
use timesink_recording::notation::recording;
use timesink_recording::Recording;

/// What is told of a drawn recording: the rules, what saves most first, and by how many milliseconds.
pub fn told_of(recording: &Recording) -> Vec<(&'static str, i64)> {
    let findings = findings_of(recording, &Limits::default());
    let told = findings.told.iter();
    told.map(|finding| (finding.rule.name, finding.gain.ns / 1_000_000))
        .collect()
}

/// The same of a text.
pub fn told_of_text(text: &str) -> Vec<(&'static str, i64)> {
    told_of(&recording(text))
}

/// Where in the code a finding is seen.
pub struct Seen {
    /// The program's own functions with their lines, the innermost first.
    pub lines: Vec<(String, Option<u32>)>,
    pub signature: String,
}

/// Where in the code the findings of a drawn recording are seen, what saves most first.
pub fn seen_of(recording: &Recording) -> Vec<Seen> {
    let facts = Facts::of(recording).expect("a drawn recording reads");
    let code = Stacks::of(recording, &facts, &Filter::default())
        .expect("its stacks")
        .code;
    let line = |spot| {
        let line = code.frame(spot).and_then(|frame| frame.line);
        (code.function(spot.function).name.clone(), line)
    };
    let told = findings_of(recording, &Limits::default()).told.into_iter();
    told.map(|finding| Seen {
        lines: code
            .own_of(&finding.suspect.frames)
            .into_iter()
            .map(line)
            .collect(),
        signature: finding.signature,
    })
    .collect()
}

/// All that is said of a drawn recording.
pub fn findings_of(recording: &Recording, limits: &Limits) -> Findings {
    asked(recording, limits, Patience::SHORT)
}

/// The same, in a hurry: causes are not asked what they would buy, and nobody is asked twice.
pub fn findings_at_once(recording: &Recording, limits: &Limits) -> Findings {
    const NONE: Patience = Patience {
        steps: 0,
        most: 1,
        least: 0,
        of_causes: false,
    };
    asked(recording, limits, NONE)
}

fn asked(recording: &Recording, limits: &Limits, patience: Patience) -> Findings {
    tell_waits_apart(recording).expect("its locks");
    let facts = Facts::of(recording).expect("a drawn recording reads");
    let mut timeline = Timeline::of(recording).expect("its spans");
    let stacks = Stacks::of(recording, &facts, &Filter::default()).expect("its stacks");
    timeline
        .read_carried(recording, &OfGoroutines::new(&stacks))
        .expect("its tasks");
    let waited = Waited::of(recording, &timeline).expect("its waits");
    let (_, findings) = Outlook::and(
        recording,
        &timeline,
        &facts,
        &stacks,
        &waited.calls_of,
        patience,
        |outlook, gains| {
            let inquiry = Inquiry {
                facts: &facts,
                stacks: &stacks,
                timeline: &timeline,
                outlook,
                programs: &Programs::of(&facts),
                waited: &waited,
                limits,
                floors: recording.about().floors(),
                directory: &recording.about().directory,
            };
            Findings::of(&inquiry, gains)
        },
    )
    .expect("an outlook")
    .expect("a main thread");
    findings
}
