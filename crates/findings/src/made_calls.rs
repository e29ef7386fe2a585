//! Certain system calls of one process: how many, how long, and where they are made.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{entered, What};
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Suspect};

/// What a process did of some calls.
pub struct MadeCalls {
    pub process: ProcessId,
    pub count: u64,
    pub ns: u64,
    /// Whether they were counted by a part of them.
    pub estimated: bool,
    calls: &'static [&'static str],
}

impl MadeCalls {
    /// Of these calls, of each process that makes any.
    pub fn all(inquiry: &Inquiry<'_>, calls: &'static [&'static str]) -> Vec<MadeCalls> {
        let mut made: BTreeMap<ProcessId, MadeCalls> = BTreeMap::new();
        let rows = inquiry.facts.calls.iter();
        for row in rows.filter(|row| calls.contains(&row.call.as_str())) {
            let Some(process) = row.process else {
                continue;
            };
            let own = made.entry(process).or_insert(MadeCalls {
                process,
                count: 0,
                ns: 0,
                estimated: false,
                calls,
            });
            own.count = own.count.saturating_add(row.count);
            own.ns = own.ns.saturating_add(row.ns);
            own.estimated |= row.estimated;
        }
        made.into_values().collect()
    }

    /// That they are not made.
    pub fn left_out(&self) -> Fix {
        let calls = self.calls.iter().copied().collect();
        Fix::without(What::Calls(calls), BTreeSet::from([self.process]))
    }

    /// A suspect that is about them, with where they are made.
    pub fn place(&self, inquiry: &Inquiry<'_>, suspect: Suspect) -> Suspect {
        let threads = inquiry.threads_of(&BTreeSet::from([self.process]));
        let is_meant = |function: &str| {
            let call = entered(function)?;
            self.calls.contains(&call).then_some(0)
        };
        let region = inquiry.stacks.region(&threads, is_meant);
        suspect
            .of(self.process)
            .seen_around(inquiry, region.as_ref())
    }
}
