//! Commands held against each other, as a table in Markdown and as a line for each run.

use std::io::{self, Write};

use crate::bench::{label, MemoryOf};
use crate::present::bench::{self, Bench};
use crate::present::names::harmless;

/// A table of the commands, then what is to be said of it, for a page of a CI job or a pull request.
pub fn markdown(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    let name = bench.question.name();
    writeln!(
        out,
        "| | command | {} | half of the runs | ratio |",
        cell(name)
    )?;
    writeln!(out, "|---|---|--:|--:|--:|")?;
    for (at, job) in bench.jobs.iter().enumerate() {
        let all = bench.outcome.commands.get(at).and_then(|one| one.deciding);
        let shown = |value: f64| bench::figure(bench.question.figure, value);
        let median = all.map_or("-".to_owned(), |all| shown(all.median));
        let half = all.map_or("-".to_owned(), |all| {
            format!("{} - {}", shown(all.quartiles.0), shown(all.quartiles.1))
        });
        let mut comparisons = bench.outcome.comparisons.iter();
        let ratio = comparisons
            .find(|one| one.b == at)
            .and_then(|one| Some((one, one.estimate?)))
            .map_or(String::new(), |(one, estimate)| {
                bench::ratio(&label(one.a), &label(one.b), &estimate)
            });
        let command = code(&job.text);
        writeln!(
            out,
            "| {} | {command} | {median} | {half} | {ratio} |",
            label(at)
        )?;
    }
    writeln!(out)?;
    for one in &bench.outcome.comparisons {
        let verdict = bench::verdict(one, bench.question, bench.outcome.memory_of);
        writeln!(out, "- **{}**", cell(&verdict))?;
        if let Some(gate) = bench::gate(one, bench.question) {
            writeln!(out, "- {}", cell(&gate))?;
        }
    }
    for warning in bench::warnings(bench) {
        writeln!(out, "- Warning: {}", cell(&warning))?;
    }
    writeln!(out, "\n{}", cell(&bench::method(bench).join(" · ")))
}

/// Text in a cell: nothing in it is a mark or the end of the cell.
fn cell(text: &str) -> String {
    let mut safe = String::new();
    for c in harmless(text).chars() {
        if "|<>[]*_`\\".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A command as code, with more ticks around it than there are within.
pub fn code(text: &str) -> String {
    let text = harmless(text).replace('|', "\\|");
    let ticks = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{space}{text}{space}{ticks}")
}

/// A line for each run, in the order in which they ran.
pub fn csv(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "round,place,label,command,wall_ns,user_ns,system_ns,memory_bytes,voluntary_switches,involuntary_switches,\
         minor_faults,major_faults,exit_code,metric,memory_of"
    )?;
    for (number, round) in bench.rounds.iter().enumerate() {
        for (place, &at) in round.order.iter().enumerate() {
            let (Some(job), Some(one)) = (bench.jobs.get(at), round.results.get(at)) else {
                continue;
            };
            let known = |value: Option<String>| value.unwrap_or_default();
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                number + 1,
                place + 1,
                label(at),
                quoted(&harmless(&job.text)),
                one.wall_ns,
                one.user_ns,
                one.system_ns,
                known(one.memory_bytes.map(|bytes| bytes.to_string())),
                one.voluntary_switches,
                one.involuntary_switches,
                one.minor_faults,
                one.major_faults,
                one.exit_code,
                known(one.metric.map(|figure| figure.to_string())),
                match one.memory_of {
                    MemoryOf::Process => "process",
                    MemoryOf::Group => "group",
                },
            )?;
        }
    }
    Ok(())
}

/// A text in a line of values (RFC 4180).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples;

    /// A table says what the page says, and nothing in a command ends it.
    #[test]
    fn a_table() {
        samples::hostile(|shown| {
            let mut text = Vec::new();
            markdown(shown, &mut text).expect("memory takes it");
            let text = String::from_utf8(text).expect("it is text");
            let rows: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
            assert_eq!(rows.len(), 4, "{text}");
            assert_eq!(rows[3].matches(" | ").count(), 4, "{text}");
            assert!(text.contains("\n- **"), "{text}");
        });
    }

    /// There is a line for each run, with as many values as the head has.
    #[test]
    fn a_line_for_each_run() {
        samples::hostile(|shown| {
            let mut text = Vec::new();
            csv(shown, &mut text).expect("memory takes it");
            let text = String::from_utf8(text).expect("it is text");
            assert_eq!(text.lines().count(), 1 + 2 * shown.rounds.len());
            let head = text
                .lines()
                .next()
                .map_or(0, |line| line.split(',').count());
            let line = text.lines().nth(1).unwrap_or_default();
            let (_, figures) = line.rsplit_once('"').expect("a command in quotes");
            assert_eq!(figures.split(',').count() + 3, head, "{line}");
        });
    }
}
