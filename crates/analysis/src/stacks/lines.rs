//! The time of one function by file and line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_recording::tables::Frame;

use super::{Amount, FunctionIx, View};

/// A place in the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineShare {
    pub function: FunctionIx,
    /// Empty if not known.
    pub file: String,
    pub line: Option<u32>,
    /// At this line itself.
    pub own: Amount,
    /// At this line and in what is called from it.
    pub accumulated: Amount,
}

/// The lines of all functions of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    pub functions: Vec<FunctionIx>,
    /// The most accumulated time first.
    pub places: Vec<LineShare>,
    /// Time that passes through any of the functions.
    pub total: Amount,
}

impl View<'_> {
    /// The lines of the functions of this name; if there is none, of those with it in their names.
    pub fn lines(&self, name: &str) -> Lines {
        let named = |matches: &dyn Fn(&str) -> bool| -> Vec<FunctionIx> {
            let functions = (0u32..).zip(&self.code.functions);
            let found = functions.filter(|(_, function)| matches(&function.name));
            found.map(|(at, _)| FunctionIx(at)).collect()
        };
        let mut functions = named(&|function| function == name);
        if functions.is_empty() && !name.is_empty() {
            functions = named(&|function| function.contains(name));
        }
        let mut sums: BTreeMap<(FunctionIx, &str, Option<u32>), (Amount, Amount)> = BTreeMap::new();
        let mut total = Amount::default();
        for (stack, amount) in &self.stacks {
            let mut seen = Vec::new();
            for (depth, (frame, function)) in self.code.frames_of(*stack).enumerate() {
                if functions.binary_search(&function).is_err() {
                    continue;
                }
                let (file, line) = frame.map_or(("", None), |(_, frame)| place(frame));
                let key = (function, file, line);
                let (own, accumulated) = sums.entry(key).or_default();
                if depth == 0 {
                    own.add(amount);
                }
                // The same line twice in a stack has its time once.
                if !seen.contains(&key) {
                    accumulated.add(amount);
                    seen.push(key);
                }
            }
            if !seen.is_empty() {
                total.add(amount);
            }
        }
        let mut places: Vec<LineShare> = sums
            .into_iter()
            .map(|((function, file, line), (own, accumulated))| LineShare {
                function,
                file: file.to_owned(),
                line,
                own,
                accumulated,
            })
            .collect();
        places.sort_by_key(|place| Reverse(place.accumulated.ns()));
        functions.retain(|function| places.iter().any(|place| place.function == *function));
        Lines {
            functions,
            places,
            total,
        }
    }
}

fn place(frame: &Frame) -> (&str, Option<u32>) {
    (&frame.file, frame.line)
}
