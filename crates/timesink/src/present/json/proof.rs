//! What `prove` came to, as JSON. A field here is a field of docs/json.md; a test compares them.

use serde::Serialize;

use crate::proof::{FactVerdict, Proof, Tried};

#[derive(Serialize)]
pub(super) struct ProofPage<'a> {
    version: u32,
    difference_ns: i64,
    recorded_ns: u64,
    rounds: usize,
    run_ns: f64,
    facts: Vec<TriedPage<'a>>,
}

#[derive(Default, Serialize)]
struct TriedPage<'a> {
    name: &'a str,
    verdict: &'static str,
    ns: Option<f64>,
    lo_ns: Option<f64>,
    hi_ns: Option<f64>,
    more_rounds: Option<usize>,
    why: Option<&'a str>,
}

pub(super) fn page(proof: &Proof) -> ProofPage<'_> {
    ProofPage {
        version: super::VERSION,
        difference_ns: proof.difference_ns,
        recorded_ns: proof.recorded_ns,
        rounds: proof.rounds,
        run_ns: proof.run_ns,
        facts: proof.facts.iter().map(tried).collect(),
    }
}

fn tried(fact: &Tried) -> TriedPage<'_> {
    let named = |verdict| TriedPage {
        name: &fact.name,
        verdict,
        ..TriedPage::default()
    };
    match &fact.verdict {
        FactVerdict::Confirmed { ns, lo_ns, hi_ns } => TriedPage {
            ns: Some(*ns),
            lo_ns: Some(*lo_ns),
            hi_ns: Some(*hi_ns),
            ..named("confirmed")
        },
        FactVerdict::Excluded { ns } => TriedPage {
            ns: Some(*ns),
            ..named("excluded")
        },
        FactVerdict::Undecided { more } => TriedPage {
            more_rounds: *more,
            ..named("undecided")
        },
        FactVerdict::NotTested { why } => TriedPage {
            why: Some(why),
            ..named("not tested")
        },
    }
}
