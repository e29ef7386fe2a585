//! What a busy program is told besides being busy.

use timesink_findings::rule::Limits;
use timesink_recording::notation::recording;

use crate::drawn::findings_of;

/// How many functions a busy program is told to look at, and how many sentences it is told.
fn told(stacks: [&str; 2]) -> (usize, usize) {
    let text = format!(
        "run wall 1s\nprocess 1 verify\nthread 1.1 tid 1 verify\n1.1: cpu 0..1s\nfor n in 1..50\n\
         sample 1.1 {{20n-10}}ms weight 10ms stack \"{}\"\nsample 1.1 {{20n}}ms weight 10ms stack \"{}\"\nend\n",
        stacks[0], stacks[1]
    );
    let findings = findings_of(&recording(&text), &Limits::default());
    let busy = findings.told.iter().find(|told| told.rule.name == "busy");
    let suspect = &busy.expect("it is busy").suspect;
    (suspect.frames.len(), suspect.told.len())
}

/// The busiest function is told together with the deepest one that nearly all passes through: that is where the
/// work is asked for.
#[test]
fn busy_names_who_calls() {
    assert_eq!(
        told(["main;verify_all;crc_block", "main;verify_all;read_block"]),
        (2, 1)
    );
    // The busiest one itself is that function.
    assert_eq!(told(["main;crc_block", "main;crc_block"]), (1, 1));
}

/// A function that is busy by itself and by what it calls is told both, for the gain is of all of it.
#[test]
fn busy_tells_all_that_it_calls() {
    assert_eq!(
        told(["main;verify_all", "main;verify_all;crc_block"]),
        (1, 2)
    );
}
