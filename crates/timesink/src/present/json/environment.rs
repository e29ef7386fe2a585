//! Environments as JSON. A field here is a field of docs/json.md; a test compares them.

use serde::Serialize;
use timesink_comparison::{Environment, EnvironmentDifferences, FactDifference, Resource};
use timesink_recording::words::FactKind;

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: u32,
    only_observed: bool,
    facts: Vec<FactPage<'a>>,
}

#[derive(Serialize)]
struct FactPage<'a> {
    kind: &'static str,
    key: &'a str,
    begin: Option<&'a str>,
    end: Option<&'a str>,
    text: Option<&'a str>,
    varies: &'static str,
    touched: bool,
}

pub(super) fn page(environment: &Environment) -> Page<'_> {
    let facts = environment
        .facts
        .iter()
        .map(|((kind, key), fact)| FactPage {
            kind: kind.as_str(),
            key,
            begin: fact.begin.as_deref(),
            end: fact.end.as_deref(),
            text: fact.text.as_deref(),
            varies: timesink_comparison::varies(*kind).word(),
            touched: fact.touched,
        });
    Page {
        version: super::VERSION,
        only_observed: environment.only_observed,
        facts: facts.collect(),
    }
}

#[derive(Serialize)]
pub(super) struct DifferencesPage<'a> {
    version: u32,
    environment: EnvironmentPage<'a>,
}

#[derive(Serialize)]
pub(super) struct EnvironmentPage<'a> {
    kinds: usize,
    compared: usize,
    differ: usize,
    touched: usize,
    differences: Vec<DifferencePage<'a>>,
}

#[derive(Serialize)]
struct DifferencePage<'a> {
    kind: &'static str,
    key: &'a str,
    a: Option<&'a str>,
    b: Option<&'a str>,
    varies: &'static str,
    resource: &'static str,
    touched: bool,
    may_be_unseen: bool,
    explains: bool,
    lines: Vec<LinePage<'a>>,
}

#[derive(Serialize)]
struct LinePage<'a> {
    a: Option<&'a str>,
    b: Option<&'a str>,
}

pub(super) fn differences(found: &EnvironmentDifferences) -> DifferencesPage<'_> {
    DifferencesPage {
        version: super::VERSION,
        environment: environment(found),
    }
}

pub(super) fn environment(found: &EnvironmentDifferences) -> EnvironmentPage<'_> {
    EnvironmentPage {
        kinds: FactKind::ALL.len(),
        compared: found.compared,
        differ: found.kinds(),
        touched: found.touched(),
        differences: found.facts.iter().map(difference).collect(),
    }
}

fn difference(fact: &FactDifference) -> DifferencePage<'_> {
    let lines = fact.lines.iter().map(|line| LinePage {
        a: line.a.as_deref(),
        b: line.b.as_deref(),
    });
    DifferencePage {
        kind: fact.kind.as_str(),
        key: &fact.key,
        a: fact.a.as_deref(),
        b: fact.b.as_deref(),
        varies: fact.varies.word(),
        resource: resource(fact.resource),
        touched: fact.touched,
        may_be_unseen: fact.may_be_unseen,
        explains: fact.explains,
        lines: lines.collect(),
    }
}

fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Processor => "processor",
        Resource::Scheduler => "scheduler",
        Resource::Memory => "memory",
        Resource::Disk => "disk",
        Resource::Network => "network",
        Resource::Any => "any",
        Resource::None => "none",
    }
}
