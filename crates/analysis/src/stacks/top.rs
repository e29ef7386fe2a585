//! Functions by their own time: rank, self, accumulated, count and running sum.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{Amount, FunctionIx, Missing, View};

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    Function(FunctionIx),
    /// Time without a stack.
    Missing(Missing),
}

/// One function, or one remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRow {
    pub what: What,
    /// In the function itself: it was the innermost.
    pub own: Amount,
    /// In it and in all that it called. One that calls itself counts once.
    pub accumulated: Amount,
    /// The own time of this row and all before it.
    pub running_ns: u64,
}

impl View<'_> {
    /// All functions and remainders, the most own time first. Their own times add up to the total.
    pub fn top(&self) -> Vec<TopRow> {
        let mut own: FxHashMap<FunctionIx, Amount> = FxHashMap::default();
        for (stack, amount) in &self.stacks {
            if let Some((_, innermost)) = self.code.frames_of(*stack).next() {
                own.entry(innermost).or_default().add(amount);
            }
        }
        let functions = self
            .inclusive()
            .into_iter()
            .map(|(function, accumulated)| TopRow {
                what: What::Function(function),
                own: own.get(&function).copied().unwrap_or_default(),
                accumulated,
                running_ns: 0,
            });
        let rests = self.rests.iter().map(|(missing, amount)| TopRow {
            what: What::Missing(*missing),
            own: *amount,
            accumulated: *amount,
            running_ns: 0,
        });
        let mut rows: Vec<TopRow> = functions.chain(rests).collect();
        rows.sort_unstable_by_key(|row| {
            (
                Reverse(row.own.ns()),
                Reverse(row.accumulated.ns()),
                row.what,
            )
        });
        let mut running = 0u64;
        for row in &mut rows {
            running = running.saturating_add(row.own.ns());
            row.running_ns = running;
        }
        rows
    }
}
