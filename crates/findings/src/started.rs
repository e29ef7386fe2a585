//! Where in the code processes are started: where their parents are seen next, which mostly is in waiting for them.
//!
//! What a parent waits for in all is no answer to that: it may start several things in several places.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::rule::{Example, Suspect};

/// A line of a function.
type Line = (FunctionIx, Option<u32>);

/// How often parents were seen there, and the first stack that shows it.
struct StartPlace {
    count: usize,
    stack: StackIx,
    examples: Vec<Example>,
}

impl Suspect {
    /// In the code in which parents are next seen, most often, when they have started these processes. As it was, where no
    /// stack tells.
    pub fn seen_after_starts(
        mut self,
        inquiry: &Inquiry<'_>,
        started: impl IntoIterator<Item = ProcessId>,
    ) -> Suspect {
        const EXAMPLES: usize = 3;
        let mut places: BTreeMap<Line, StartPlace> = BTreeMap::new();
        for process in started {
            let Some((example, stack)) = next_seen(inquiry, process) else {
                continue;
            };
            let Some(line) = own_line(inquiry, stack) else {
                continue;
            };
            let place = places.entry(line).or_insert(StartPlace {
                count: 0,
                stack,
                examples: Vec::new(),
            });
            place.count += 1;
            if place.examples.len() < EXAMPLES {
                place.examples.push(example);
            }
        }
        let most = places
            .into_iter()
            .max_by_key(|(line, place)| (place.count, Reverse(*line)));
        if let Some((_, place)) = most {
            self.frames = inquiry.spots(place.stack);
            self.examples = place.examples;
        }
        self
    }
}

/// The first stack of a parent after it started a process, as long as that is there.
fn next_seen(inquiry: &Inquiry<'_>, process: ProcessId) -> Option<(Example, StackIx)> {
    let row = &inquiry.facts.ledger.process(process)?.row;
    let parent = row.parent?;
    let threads = inquiry.timeline.threads.iter();
    let threads = threads.filter(|thread| thread.process == parent);
    let next = threads.filter_map(|thread| {
        let events = inquiry.stacks.events_of(thread.thread);
        let from = events.partition_point(|event| event.at < row.start);
        events.get(from).filter(|event| event.at <= row.end)
    });
    let first = next.min_by_key(|event| event.at)?;
    let example = Example {
        thread: first.thread,
        at: first.at,
    };
    Some((example, first.stack))
}

/// The line of the innermost function of the program's own.
fn own_line(inquiry: &Inquiry<'_>, stack: StackIx) -> Option<Line> {
    let code = &inquiry.stacks.code;
    let own = code.own_of(&code.spots_of(stack));
    let spot = own.first()?;
    Some((
        spot.function,
        code.frame(*spot).and_then(|frame| frame.line),
    ))
}
