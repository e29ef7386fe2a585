//! The calls of a program, counted by kind and by what they are on.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::Call;

/// Less is not again and again. Programs open some 10 libraries and read some 10 settings as they start.
pub(super) const FEW: u64 = 20;

/// What a call is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    One(ObjectId),
    /// Things of which each comes seldom.
    Several,
    Nothing,
}

pub(super) type Kind = (String, On);

/// All calls of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) ns: u64,
    pub(super) estimated: bool,
    pub(super) objects: u64,
    /// Who makes them.
    pub(super) threads: BTreeSet<ThreadId>,
}

impl Sum {
    /// The same with more such calls; what they are on is counted by who adds.
    fn add(&mut self, count: u64, ns: u64, estimated: bool) {
        self.count = self.count.saturating_add(count);
        self.ns = self.ns.saturating_add(ns);
        self.estimated |= estimated;
    }
}

/// The calls of these threads by kind; things with few calls together.
pub(super) fn calls(rows: &[Call], threads: &BTreeSet<ThreadId>) -> BTreeMap<Kind, Sum> {
    let mut all: BTreeMap<Kind, Sum> = BTreeMap::new();
    for call in rows.iter().filter(|call| threads.contains(&call.thread)) {
        let on = call.object.map_or(On::Nothing, On::One);
        let sum = all.entry((call.call.clone(), on)).or_default();
        sum.add(call.count, call.ns, call.estimated);
        sum.objects = u64::from(call.object.is_some());
        sum.threads.insert(call.thread);
    }
    let seldom = |(_, on): &Kind, sum: &Sum| matches!(on, On::One(_)) && sum.count < FEW;
    let (few, mut often): (BTreeMap<Kind, Sum>, BTreeMap<Kind, Sum>) =
        all.into_iter().partition(|(kind, sum)| seldom(kind, sum));
    for ((name, _), one) in few {
        let sum = often.entry((name, On::Several)).or_default();
        sum.add(one.count, one.ns, one.estimated);
        sum.objects = sum.objects.saturating_add(1);
        sum.threads.extend(one.threads);
    }
    often
}
