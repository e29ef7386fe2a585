//! Whether memory is taken from the system and given back to it in turn, or only taken and, once, given back.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;

use crate::ledger::Account;
use crate::stacks::{FunctionIx, StackIx, Stacks};

/// How often samples of these threads show memory being given back after they have shown it being taken. Samples are
/// some hundred a second, so there may have been many more turns; there were not fewer.
pub fn turns(
    stacks: &Stacks,
    threads: impl Iterator<Item = ThreadId>,
    taken: &BTreeSet<FunctionIx>,
    given: &BTreeSet<FunctionIx>,
) -> u64 {
    let mut known: FxHashMap<StackIx, Option<bool>> = FxHashMap::default();
    let mut gives = |stack: StackIx| {
        *known.entry(stack).or_insert_with(|| {
            let mut functions = stacks.code.frames_of(stack).map(|(_, function)| function);
            functions.find_map(|function| match function {
                function if given.contains(&function) => Some(true),
                function if taken.contains(&function) => Some(false),
                _ => None,
            })
        })
    };
    let mut turns = 0;
    for thread in threads {
        let mut held = false;
        for event in stacks.events_of(thread) {
            if event.account != Account::Cpu {
                continue;
            }
            match gives(event.stack) {
                Some(true) if held => (turns, held) = (turns + 1, false),
                Some(false) => held = true,
                _ => {}
            }
        }
    }
    turns
}
