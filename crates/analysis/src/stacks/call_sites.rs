//! From where calls are made: the stacks of their 1st, 2nd, 4th, 8th, ... occurrences, and of those just after a long wait.
//!
//! How many there were is told by the counts in [`crate::facts`]. What is here places them.

use std::collections::BTreeMap;

use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables;
use timesink_recording::Nanos;

use super::{FunctionIx, StackIx, Stacks};

/// A call whose stack was taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSite {
    pub thread: ThreadId,
    /// When it returned.
    pub at: Nanos,
    pub call: String,
    pub object: Option<ObjectId>,
    /// Of calls that look up a path and have no object.
    pub path: String,
    /// Empty for success.
    pub error: String,
    pub stack: StackIx,
    /// The calls that it stands for: since the one before whose stack was taken.
    pub count: u64,
}

impl CallSite {
    /// One of a recording; `None` without a stack.
    pub(super) fn of(row: &tables::CallSite, stack: Option<StackIx>) -> Option<CallSite> {
        Some(CallSite {
            thread: row.thread,
            at: row.t,
            call: row.call.clone(),
            object: row.object,
            path: row.path.clone(),
            error: row.error.clone(),
            stack: stack?,
            count: match row.occurrence.is_power_of_two() {
                true => (row.occurrence / 2).max(1),
                // Taken because of when it was: it stands for itself.
                false => 1,
            },
        })
    }

    pub fn has_failed(&self) -> bool {
        !self.error.is_empty()
    }
}

impl Stacks {
    /// The call sites of one thread.
    pub fn sites_of(&self, thread: ThreadId) -> &[CallSite] {
        let from = self.sites.partition_point(|site| site.thread < thread);
        let to = self.sites.partition_point(|site| site.thread <= thread);
        &self.sites[from..to]
    }

    /// The place that most such calls of these threads come from, each by its stack.
    pub fn usual_site(
        &self,
        threads: &[ThreadId],
        is: impl Fn(&CallSite) -> bool,
    ) -> Option<&CallSite> {
        let mut places: BTreeMap<StackIx, (u64, &CallSite)> = BTreeMap::new();
        let sites = threads.iter().flat_map(|&thread| self.sites_of(thread));
        for site in sites.filter(|site| is(site)) {
            let (count, _) = places.entry(site.stack).or_insert((0, site));
            *count = count.saturating_add(site.count);
        }
        let most = places.into_values().max_by_key(|&(count, _)| count);
        most.map(|(_, site)| site)
    }

    /// Of the calls in a function that are of the first kind, or of any kind, the part that is of the first.
    pub fn share_of_sites(
        &self,
        threads: &[ThreadId],
        function: FunctionIx,
        (is, any): (impl Fn(&CallSite) -> bool, impl Fn(&CallSite) -> bool),
    ) -> f64 {
        let (mut own, mut all) = (0u64, 0u64);
        for site in threads.iter().flat_map(|&thread| self.sites_of(thread)) {
            let is = is(site);
            if !(is || any(site)) || !self.code.functions_of(site.stack).contains(&function) {
                continue;
            }
            all = all.saturating_add(site.count);
            own = own.saturating_add(if is { site.count } else { 0 });
        }
        own as f64 / all.max(1) as f64
    }
}
