//! Results that hyperfine has measured. It runs one command after the other, so what the machine did otherwise meanwhile is in
//! their ratios.

use anyhow::{bail, Context};
use serde::Deserialize;
use timesink_trials::Apart;

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
}

pub fn results(text: &str) -> anyhow::Result<Vec<Imported>> {
    let Results { results } =
        serde_json::from_str(text).context("not JSON as hyperfine --export-json writes it")?;
    if results.iter().any(|one| one.times.is_empty()) {
        bail!("a command has no single times");
    }
    Ok(results)
}

pub fn held_against_first(all: Vec<Imported>) -> Vec<ImportedComparison> {
    let first = all.first().map_or(Vec::new(), |first| first.times.clone());
    let compared = all.into_iter().enumerate().map(|(at, imported)| {
        let compared = Apart::of(&first, &imported.times, ALPHA);
        ImportedComparison {
            against_first: compared.filter(|_| at > 0),
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
        for wrong in ["", "{}", r#"{"results": [{"command": "a", "times": []}]}"#] {
            assert!(results(wrong).is_err(), "{wrong}");
        }
    }
}
