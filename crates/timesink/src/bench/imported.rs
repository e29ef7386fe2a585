//! Results that hyperfine has measured. It runs one command after the other, so what the machine did otherwise meanwhile is in
//! their ratios.

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_trials::{Apart, Gate};

use super::outcome::ALPHA;

#[derive(Deserialize)]
struct Results {
    results: Vec<Imported>,
}

/// A command and its runs.
#[derive(Clone, Debug, Deserialize)]
pub struct Imported {
    pub command: String,
    /// Of each run, in seconds.
    pub times: Vec<f64>,
}

/// The same, against the first command.
pub struct ImportedComparison {
    pub imported: Imported,
    pub against_first: Option<Apart>,
    /// What a gate says of it.
    pub gate: Option<Gate>,
}

pub fn results(text: &str) -> anyhow::Result<Vec<Imported>> {
    let Results { results } =
        serde_json::from_str(text).context("not JSON as hyperfine --export-json writes it")?;
    for one in &results {
        if one.times.is_empty() {
            bail!("a command has no single times");
        }
        if let Some(wrong) = one.times.iter().find(|time| **time < 0.0) {
            bail!(
                "{wrong} s is no time that a run of {:?} can take",
                one.command
            );
        }
    }
    Ok(results)
}

/// With a gate, which has one answer for all comparisons, these share the level.
pub fn held_against_first(all: Vec<Imported>, gate: Option<f64>) -> Vec<ImportedComparison> {
    let comparisons = all.len().saturating_sub(1).max(1);
    let alpha = match gate {
        Some(_) => ALPHA / comparisons as f64,
        None => ALPHA,
    };
    let first = all.first().map_or(Vec::new(), |first| first.times.clone());
    let compared = all.into_iter().enumerate().map(|(at, imported)| {
        let compared = Apart::of(&first, &imported.times, alpha).filter(|_| at > 0);
        let undecided = Gate::Undecided { more: None };
        ImportedComparison {
            gate: gate
                .filter(|_| at > 0)
                .map(|loss| compared.map_or(undecided, |one| one.gate(loss))),
            against_first: compared,
            imported,
        }
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hyperfine_writes_is_read() {
        let text = r#"{"results": [
            {"command": "sleep 0.1", "mean": 0.1, "times": [0.1, 0.11], "exit_codes": [0, 0]},
            {"command": "sleep 0.2", "times": [0.2], "parameters": {"s": "0.2"}}
        ]}"#;
        let read = results(text).expect("it is hyperfine's");
        let [first, second] = read.as_slice() else {
            panic!("two commands");
        };
        assert_eq!(
            (first.command.as_str(), first.times.len()),
            ("sleep 0.1", 2)
        );
        assert_eq!(second.times, [0.2]);
        for wrong in [
            "",
            "{}",
            r#"{"results": [{"command": "a", "times": []}]}"#,
            r#"{"results": [{"command": "a", "times": [0.1, -0.1]}]}"#,
        ] {
            assert!(results(wrong).is_err(), "{wrong}");
        }
    }

    /// A gate counts for results of others, too; what has no ratio is not decided.
    #[test]
    fn a_gate_counts_for_imported_results() {
        let imported = |command: &str, times: &[f64]| Imported {
            command: command.to_owned(),
            times: times.to_vec(),
        };
        let steady: Vec<f64> = (0..10).map(|run| 0.1 + f64::from(run) * 1e-5).collect();
        let twice: Vec<f64> = steady.iter().map(|time| time * 2.0).collect();
        let all = vec![
            imported("a", &steady),
            imported("same", &steady),
            imported("twice", &twice),
            imported("one run", &[0.1]),
            imported("nothing", &[0.0; 10]),
        ];
        let held = held_against_first(all.clone(), Some(0.05));
        let gates: Vec<Option<Gate>> = held.iter().map(|one| one.gate).collect();
        let undecided = Some(Gate::Undecided { more: None });
        assert_eq!(
            gates,
            [
                None,
                Some(Gate::Passed),
                Some(Gate::Lost),
                undecided,
                undecided
            ]
        );
        let held = held_against_first(all, None);
        assert!(held.iter().all(|one| one.gate.is_none()));
    }
}
