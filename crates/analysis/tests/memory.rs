//! Whether memory comes and goes in turn, by the samples of small recordings drawn as text.

use std::collections::BTreeSet;

use timesink_analysis::facts::Facts;
use timesink_analysis::stacks::memory::turns;
use timesink_analysis::stacks::{Filter, FunctionIx, Stacks};
use timesink_recording::notation::recording;

/// The turns of a thread whose samples are in these functions, one after the other.
fn turns_of(samples: &[&str]) -> u64 {
    let mut text = "process 1 p\nthread 1.1 tid 1 main\n1.1: cpu 0..1s\n".to_owned();
    for (at, function) in samples.iter().enumerate() {
        text += &format!(
            "sample 1.1 {}ms weight 1ms stack \"main;{function}\"\n",
            at + 1
        );
    }
    let recording = recording(&text);
    let facts = Facts::of(&recording).expect("its facts");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let named = |name: &str| -> BTreeSet<FunctionIx> {
        let functions = stacks.code.functions.iter().enumerate();
        let named = functions.filter(|(_, function)| function.name == name);
        named.map(|(at, _)| FunctionIx(at as u32)).collect()
    };
    let threads = facts.ledger.threads.iter().map(|thread| thread.row.thread);
    turns(&stacks, threads, &named("fault"), &named("unmap"))
}

/// Each giving back after a taking is a turn, however many samples either takes and whatever lies between.
#[test]
fn in_turn() {
    let samples = [
        "fault", "work", "fault", "unmap", "unmap", "work", "fault", "unmap",
    ];
    assert_eq!(turns_of(&samples), 2);
}

/// Memory that is all taken and then all given back is one turn, and that which only grows is none.
#[test]
fn at_once() {
    assert_eq!(
        turns_of(&["fault", "fault", "fault", "unmap", "unmap", "unmap"]),
        1
    );
    assert_eq!(turns_of(&["unmap", "fault", "work", "fault"]), 0);
}
