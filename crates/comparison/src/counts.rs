//! System calls by what they do and to which thing, counted exactly where they were all timed.

use std::collections::BTreeMap;

use timesink_analysis::facts::Facts;

use crate::change::difference;
use crate::digest::program_name;
use crate::{Act, Does, Thing, Work};

/// How often something was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    pub count: u64,
    /// How many were seen: there were no fewer.
    pub at_least: u64,
    /// From entry to return, waits included, in all threads.
    pub ns: u64,
    pub bytes: u64,
    pub errors: u64,
    /// Counted for part of the time only.
    pub is_estimated: bool,
    /// Objects of the recording that are this thing.
    pub objects: u64,
}

impl CallCount {
    pub(crate) fn add(&mut self, other: &CallCount) {
        self.count = self.count.saturating_add(other.count);
        self.at_least = self.at_least.saturating_add(other.at_least);
        self.ns = self.ns.saturating_add(other.ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.is_estimated |= other.is_estimated;
        self.objects = self.objects.saturating_add(other.objects);
    }
}

/// The same calls in two recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallDifference {
    pub work: Work,
    pub a: CallCount,
    pub b: CallCount,
}

impl CallDifference {
    /// Time in B minus time in A.
    pub fn difference_ns(&self) -> i64 {
        difference(self.a.ns, self.b.ns)
    }
}

/// The calls of one recording.
pub(crate) struct Counted {
    pub(crate) calls: BTreeMap<Work, CallCount>,
    /// For each call of a program, by its own name: what it was done to, and for how long.
    shares: BTreeMap<(String, String), BTreeMap<Does, u64>>,
}

impl Counted {
    pub(crate) fn of(facts: &Facts, directory: &str) -> Counted {
        let mut counted = Counted {
            calls: BTreeMap::new(),
            shares: BTreeMap::new(),
        };
        for sum in &facts.calls {
            let Some(process) = sum.process else {
                continue;
            };
            let program = program_name(facts, process);
            let object = sum.object.and_then(|id| facts.object(id));
            let act = Act::of_call(&sum.call, object.map(|object| object.kind));
            let thing = object.map_or(Thing::Nothing, |object| Thing::of(object, directory));
            let does = Does::calls(act, thing);
            let call = (program.clone(), sum.call.clone());
            let share = self::entry(&mut counted.shares, call, &does);
            *share = share.saturating_add(sum.ns);
            let work = Work { program, does };
            counted.calls.entry(work).or_default().add(&CallCount {
                count: sum.count,
                at_least: match sum.estimated {
                    true => sum.seen.min(sum.count),
                    false => sum.count,
                },
                ns: sum.ns,
                bytes: sum.bytes,
                errors: sum.errors,
                is_estimated: sum.estimated,
                objects: u64::from(object.is_some()),
            });
        }
        counted
    }

    /// Whether a program makes this call at all.
    pub(crate) fn has(&self, program: &str, call: &str) -> bool {
        let key = (program.to_owned(), call.to_owned());
        self.shares.contains_key(&key)
    }

    /// Time that the kernel spent for a call, divided among what it was done to as the time of these calls is. The parts
    /// add up to it.
    pub(crate) fn divided(&self, program: &str, call: &str, ns: u64) -> Vec<(Does, u64)> {
        let key = (program.to_owned(), call.to_owned());
        let Some(shares) = self.shares.get(&key) else {
            let does = Does::calls(Act::of_call(call, None), Thing::Nothing);
            return vec![(does, ns)];
        };
        let whole: u128 = shares.values().map(|&ns| u128::from(ns)).sum();
        let part = |share: u64| match whole {
            0 => 0,
            whole => (u128::from(ns) * u128::from(share) / whole) as u64,
        };
        let mut parts: Vec<(Does, u64)> = shares
            .iter()
            .map(|(does, &share)| (does.clone(), part(share)))
            .collect();
        let told: u64 = parts.iter().map(|(_, ns)| ns).sum();
        if let Some((_, most)) = parts.iter_mut().max_by_key(|(_, ns)| *ns) {
            *most += ns - told;
        }
        parts.retain(|(_, ns)| *ns > 0);
        parts
    }
}

fn entry<'m>(
    shares: &'m mut BTreeMap<(String, String), BTreeMap<Does, u64>>,
    call: (String, String),
    does: &Does,
) -> &'m mut u64 {
    let of_call = shares.entry(call).or_default();
    of_call.entry(does.clone()).or_default()
}
