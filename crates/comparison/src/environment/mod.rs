//! The environment of a run, and what of it differs from that of another.
//!
//! What only the live system knew stands in the table `facts`; what the run was seen to use is told by the other tables, also
//! of recordings that are older than that table.

mod differences;
mod disks;
mod kinds;
mod observed;
mod users;

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::Facts;
use timesink_recording::tables::{Fact, Module, Probe};
use timesink_recording::words::{FactKind, Moment};
use timesink_recording::About;

pub use differences::{EnvironmentDifferences, FactDifference, LineDifference};
use disks::Disks;
pub use kinds::{resource_of, varies, Resource, Varies};
pub use observed::is_known_variable;
use users::Users;

/// What stands behind the path of a file in the key of its text.
const TEXT: &str = " (text)";

/// The facts of one run.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub facts: BTreeMap<(FactKind, String), KnownFact>,
    /// It has none of the live system: it was recorded by an older timesink, or cut short.
    pub only_observed: bool,
    /// Every file that the run opened is known: its calls were timed all along, or opens were watched while they were not.
    pub saw_all_files: bool,
    /// Where its files lie.
    disks: Disks,
}

/// One fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFact {
    pub begin: Option<String>,
    pub end: Option<String>,
    /// Whether the run had to do with it, as far as that is known.
    pub touched: bool,
    /// What stands in a file, if that was kept.
    pub text: Option<String>,
    /// Of a file: the programs that it can have had an effect on, as far as that is known.
    pub programs: BTreeSet<String>,
}

impl KnownFact {
    /// What it was when the run began, if that is known.
    pub fn value(&self) -> &str {
        let known = self.begin.as_deref().or(self.end.as_deref());
        known.unwrap_or_default()
    }
}

/// What a recording says that facts are made of.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub about: &'a About,
    pub noted: &'a [Fact],
    pub modules: &'a [Module],
    pub facts: &'a Facts,
}

impl Environment {
    pub fn of(sources: &Sources<'_>) -> Environment {
        let mut environment = Environment {
            only_observed: sources.noted.is_empty(),
            saw_all_files: saw_all_files(sources),
            disks: Disks::of(&sources.about.directory, sources.noted, sources.facts),
            ..Environment::default()
        };
        let used = observed::Used::of(sources.facts);
        for fact in sources.noted {
            environment.add_noted(fact, &used);
        }
        observed::add(&mut environment, sources, &used);
        let users = Users::of(sources.facts);
        for ((kind, path), fact) in &mut environment.facts {
            if *kind == FactKind::File {
                fact.programs = users.programs(path);
            }
        }
        environment
    }

    fn add_noted(&mut self, fact: &Fact, used: &observed::Used) {
        let (kind, key) = (used.kind_of(fact.kind, &fact.key), fact.key.as_str());
        if kind == FactKind::Mount && key.ends_with(disks::NUMBER) {
            return;
        }
        // Its size is that of when it was opened: what came of the run was not looked at.
        if kind == FactKind::Outcome && !fact.value.contains(" changed=") && !key.ends_with(TEXT) {
            return;
        }
        if kind == FactKind::Library {
            let value = format!("{key} {}", fact.value);
            return self.add_observed(kind, observed::library_name(key), value);
        }
        if let Some(path) = key
            .strip_suffix(TEXT)
            .filter(|_| fact.kind == FactKind::File)
        {
            let file = self.facts.entry((kind, path.to_owned())).or_default();
            file.text = Some(fact.value.clone());
            return;
        }
        let known = self.facts.entry((kind, key.to_owned())).or_default();
        known.touched = used.touches(kind, key);
        let value = match fact.moment {
            Moment::Begin => &mut known.begin,
            Moment::End => &mut known.end,
        };
        *value = Some(fact.value.clone());
    }

    /// One that the run was seen to use, unless the live system told of it.
    fn add_observed(&mut self, kind: FactKind, key: &str, value: impl Into<String>) {
        let known = self
            .facts
            .entry((kind, key.to_owned()))
            .or_insert_with(|| KnownFact {
                end: Some(value.into()),
                ..KnownFact::default()
            });
        known.touched = true;
    }

    /// How the run ended, in words.
    pub fn end(&self) -> Option<&str> {
        let key = (FactKind::Outcome, observed::END.to_owned());
        self.facts.get(&key).map(KnownFact::value)
    }

    /// How many kinds there are facts of.
    pub fn kinds(&self) -> usize {
        let mut kinds: Vec<FactKind> = self.facts.keys().map(|(kind, _)| *kind).collect();
        kinds.dedup();
        kinds.len()
    }
}

fn saw_all_files(sources: &Sources<'_>) -> bool {
    let watched = |probe: &Probe| probe.probe == "opens" && probe.attached;
    let facts = sources.facts;
    facts.calls_timed_ns >= sources.about.wall_ns || facts.probes.iter().any(watched)
}
