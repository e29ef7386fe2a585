//! Where in the code processes are started: where their parents are seen next, which mostly is in waiting for them.
//!
//! What a parent waits for in all is no answer to that: it may start several things in several places.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_recording::ids::ProcessId;

use crate::awaiting::has_place;
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
            let Some((example, stack, line)) = seen_at(inquiry, process) else {
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
            let thread = place.examples.first().map(|example| example.thread);
            let by = thread.and_then(|thread| inquiry.process_of(thread));
            self.started_by = by.filter(|&by| Some(by) != self.process);
            self.frames = inquiry.spots(place.stack);
            self.examples = place.examples;
        }
        self
    }
}

/// Where a process was started in a program's own code: by its parent or, where that is a shell without a script, by who started the
/// shell.
fn seen_at(inquiry: &Inquiry<'_>, process: ProcessId) -> Option<(Example, StackIx, Line)> {
    /// So many programs may only start the next one, such as shells and `env`.
    const BETWEEN: usize = 4;
    let parent = |process: &ProcessId| inquiry.facts.ledger.process(*process)?.row.parent;
    let mut ancestors = std::iter::successors(Some(process), parent).take(BETWEEN);
    ancestors.find_map(|started| {
        let (example, stack) = next_seen(inquiry, started)?;
        let line = own_line(inquiry, stack)?;
        has_place(inquiry, &inquiry.spots(stack)).then_some((example, stack, line))
    })
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
