//! What `diff` says of a form beside the one without its cause: its first row has to be what the case is about, and its parts
//! have to add up.

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// Rows may miss the difference in wall time by so much of it ...
const MISSED: f64 = 0.01;
/// ... and so much of it may be in no row.
const NOT_ATTRIBUTED: f64 = 0.10;

/// A comparison, as far as a case asks for it.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceOutcome {
    /// The form beside it.
    pub fixed: String,
    /// The row that explains most.
    pub first: String,
    /// Shares of the difference in wall time.
    pub first_share: f64,
    pub missed: f64,
    pub not_attributed: f64,
}

/// What `timesink diff --json` says, as far as it is needed.
#[derive(Deserialize)]
struct Told {
    wall_difference_ns: f64,
    differences: Vec<Row>,
    not_attributed_ns: f64,
}

#[derive(Deserialize)]
struct Row {
    title: String,
    difference_ns: f64,
}

impl DifferenceOutcome {
    pub fn read(fixed: &str, json: &str) -> anyhow::Result<DifferenceOutcome> {
        let told: Told = serde_json::from_str(json).context("the comparison")?;
        let rows = told.differences.iter().map(|row| row.difference_ns);
        let sum = rows.sum::<f64>() + told.not_attributed_ns;
        let share = |ns: f64| ns / told.wall_difference_ns.abs().max(1.0);
        let first = told.differences.first();
        Ok(DifferenceOutcome {
            fixed: fixed.to_owned(),
            first: first.map_or(String::new(), |first| first.title.clone()),
            first_share: first.map_or(0.0, |first| share(first.difference_ns).abs()),
            missed: share(sum - told.wall_difference_ns).abs(),
            not_attributed: share(told.not_attributed_ns).abs(),
        })
    }

    /// What is not as it should be.
    pub fn problems(&self, form: &str, differs: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        let fixed = &self.fixed;
        let missing = differs
            .iter()
            .filter(|word| !self.first.contains(word.as_str()));
        problems.extend(missing.map(|word| {
            let first = &self.first;
            format!("{form} beside {fixed}: {word:?} is not in the first row of diff: {first}")
        }));
        let percent = |share: f64| share * 100.0;
        if self.missed > MISSED {
            let missed = percent(self.missed);
            problems.push(format!(
                "{form} beside {fixed}: the rows of diff miss the difference by {missed:.1} %"
            ));
        }
        if self.not_attributed > NOT_ATTRIBUTED {
            let part = percent(self.not_attributed);
            problems.push(format!(
                "{form} beside {fixed}: diff attributes {part:.1} % to nothing"
            ));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn read(rows: &[(&str, i64)], not_attributed_ns: i64) -> DifferenceOutcome {
        let rows: Vec<_> = rows
            .iter()
            .map(|(title, ns)| serde_json::json!({"title": title, "difference_ns": ns}))
            .collect();
        let json = serde_json::json!({
            "wall_difference_ns": -1000,
            "differences": rows,
            "not_attributed_ns": not_attributed_ns,
        });
        DifferenceOutcome::read("fixed", &json.to_string()).expect("it can be read")
    }

    #[test]
    fn the_first_row_and_the_sum_are_looked_at() {
        let good = read(&[("sqlite3 flushes t.db", -900), ("else", -60)], -40);
        assert_eq!(good.problems("slow", &words(&["t.db"])), [""; 0]);
        assert_eq!(good.first_share, 0.9);
        let problems = good.problems("slow", &words(&["checksum"]));
        assert!(
            problems.len() == 1 && problems[0].contains("\"checksum\""),
            "{problems:?}"
        );
        let loose = read(&[("sqlite3 flushes t.db", -500)], -400);
        let problems = loose.problems("slow", &words(&["t.db"]));
        assert!(
            problems.len() == 2 && problems[0].contains("10.0 %") && problems[1].contains("40.0 %"),
            "{problems:?}"
        );
        let nothing = read(&[], -1000);
        assert_eq!(nothing.problems("slow", &words(&["t.db"])).len(), 2);
    }
}
