//! What the verifier goes through for each program, held against a table that is kept: a change that makes it much more on one
//! kernel is noticed before a kernel refuses it.

use std::collections::BTreeMap;

/// Kernel, program, instructions; the largest seen on an evening of runs.
const TABLE: &str = include_str!("verified.tsv");
/// By so much a program may grow until the table has to be changed, which shows in the change.
const GROWTH: f64 = 1.25;
/// What kernels allow, halved: one that follows branches otherwise must have room.
const MOST: u64 = 500_000;

type Counts = BTreeMap<String, u64>;

/// What is wrong with what `doctor --verbose` said on a kernel.
pub fn verified(kernel: &str, verbose: &str) -> Vec<String> {
    compare(kernel, &counts(verbose), &kept(TABLE, kernel))
}

/// The counts of a page of `doctor --verbose`.
fn counts(verbose: &str) -> Counts {
    let table = verbose.split("instructions that were verified\n").nth(1);
    let lines = table.unwrap_or_default().lines();
    let lines = lines.take_while(|line| !line.is_empty());
    lines
        .filter_map(|line| {
            let (program, count) = line.trim().split_once(' ')?;
            Some((program.to_owned(), count.trim().parse().ok()?))
        })
        .collect()
}

fn kept(table: &str, kernel: &str) -> Counts {
    let rows = table.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        (fields.next()? == kernel).then_some((fields.next()?, fields.next()?))
    });
    rows.filter_map(|(program, count)| Some((program.to_owned(), count.parse().ok()?)))
        .collect()
}

fn compare(kernel: &str, seen: &Counts, kept: &Counts) -> Vec<String> {
    if seen.len() < 20 {
        return vec![format!(
            "doctor --verbose tells of {} programs only",
            seen.len()
        )];
    }
    let mut problems = Vec::new();
    for (program, &count) in seen {
        if count > MOST {
            problems.push(format!("{program} takes the verifier {count} instructions"));
        }
        // A kernel that nobody wrote down yet is held against the limit alone.
        let most = kept
            .get(program)
            .map(|&kept| (kept as f64 * GROWTH) as u64 + 50);
        if !kept.is_empty() && most.is_none_or(|most| count > most) {
            problems.push(format!(
                "verified.tsv lacks or has less than: {kernel}\t{program}\t{count}"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(on_switch: u64) -> String {
        let others: String = (0..20).map(|n| format!("  program_{n} {n}\n")).collect();
        format!("probes\n\ninstructions that were verified\n  on_switch  {on_switch}\n{others}\nkernels\n  6.1  1\n")
    }

    /// A program that takes the verifier much more than it did is a fault; a little more is none, nor is an unknown kernel.
    #[test]
    fn growth_is_noticed() {
        let table: String = counts(&page(40_000))
            .iter()
            .map(|(program, count)| format!("6.1\t{program}\t{count}\n"))
            .collect();
        let wrong =
            |count, kernel: &str| compare(kernel, &counts(&page(count)), &kept(&table, kernel));
        assert_eq!(wrong(44_000, "6.1"), [""; 0]);
        assert_eq!(wrong(60_000, "6.1").len(), 1);
        assert_eq!(wrong(60_000, "6.5"), [""; 0]);
        assert_eq!(wrong(600_000, "6.5").len(), 1);
        assert_eq!(compare("6.1", &Counts::new(), &Counts::new()).len(), 1);
    }
}
