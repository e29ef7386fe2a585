//! Asks the rules about a recording that was drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::programs::Programs;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waited::Waited;
use timesink_findings::engine::Findings;
use timesink_findings::inquiry::Inquiry;
use timesink_findings::rule::Limits;
use timesink_recording::Recording;

/// What is told of a drawn recording: the rules, what saves most first, and by how many milliseconds.
pub fn told_of(recording: &Recording) -> Vec<(&'static str, i64)> {
    let findings = findings_of(recording, &Limits::default());
    let told = findings.told.iter();
    told.map(|finding| (finding.rule.name, finding.gain.ns / 1_000_000))
        .collect()
}

/// All that is said of a drawn recording.
pub fn findings_of(recording: &Recording, limits: &Limits) -> Findings {
    let facts = Facts::of(recording).expect("a drawn recording reads");
    let timeline = Timeline::of(recording).expect("its spans");
    let stacks = Stacks::of(recording, &facts, &Filter::default()).expect("its stacks");
    let waited = Waited::of(recording, &timeline).expect("its waits");
    let (_, findings) = Outlook::and(
        recording,
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
                programs: &Programs::of(&facts),
                waited: &waited,
                limits,
                floors: recording.about().floors(),
            };
            Findings::of(&inquiry, gains)
        },
    )
    .expect("an outlook")
    .expect("a main thread");
    findings
}
