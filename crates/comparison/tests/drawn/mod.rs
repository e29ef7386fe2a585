//! Recordings drawn in the notation, told and compared.

use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_comparison::{Comparison, Digest, Row};
use timesink_findings::mutes::Day;
use timesink_findings::rule::Limits;
use timesink_recording::notation::recording;
use timesink_recording::Recording;
use timesink_story::{Loaded, Question, Story};

/// Asks something of the story of a recording.
pub fn story<T>(recording: &Recording, ask: impl FnOnce(&Story<'_>) -> T) -> T {
    let question = Question {
        patience: Patience::FINDINGS,
        limits: &Limits::default(),
        mutes: &[],
        today: Day::default(),
        operations: Wanted::Served,
        closely: false,
        tasks: false,
        tags: false,
    };
    let loaded = Loaded::of(recording).expect("what was drawn can be read");
    ask(&Story::of(&loaded, &question).expect("it has a story"))
}

pub fn digest(text: &str) -> Digest {
    story(&recording(text), Digest::of).expect("it has a main thread")
}

pub fn compared(a: &str, b: &str) -> Comparison {
    added_up(vec![digest(a)], vec![digest(b)])
}

pub fn added_up(a: Vec<Digest>, b: Vec<Digest>) -> Comparison {
    let comparison = Comparison::of(a, b).expect("both are there");
    let sum: i64 = comparison.rows.iter().map(Row::difference_ns).sum();
    let sum = sum + comparison.not_attributed.difference_ns();
    assert_eq!(sum, comparison.wall.difference_ns(), "the parts add up");
    comparison
}

pub fn first(comparison: &Comparison) -> &Row {
    comparison.rows.first().expect("there is a row")
}
