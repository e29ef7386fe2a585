//! The report as JSON: versioned, documented in docs/json.md, complete.
//!
//! Every name in it was chosen by somebody else. JSON escapes what breaks JSON; this also escapes
//! what would do something to a terminal that the text is shown on.

mod bench;
mod branch;
mod code;
mod diff;
mod environment;
mod findings;
mod history;
mod model;
mod operations;
mod path;
mod proof;
mod repeated;
mod rules;
mod tags;
mod tasks;
mod views;
mod writer;

use std::io::{self, Write};

use timesink_analysis::stacks::Stacks;
use timesink_comparison::{Branch, Environment, EnvironmentDifferences, Weights};
use timesink_findings::rule::Rule;
use timesink_recording::floors::Floors;

use super::bench::Bench;
use super::compared::Compared;
use super::terminal::Table;
use super::{Prediction, Report};
use crate::bench::Figure;
use crate::history::History;
use crate::proof::Proof;
use crate::settings::Settings;

/// The version of this JSON. It grows when a field is removed or changes its meaning, not when one
/// is added.
pub const VERSION: u32 = 1;

/// Writes the report as one JSON object and a line feed.
pub fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writer::write(&model::page(report), out)
}

/// Findings alone, the one of this number (from 1) or all, with the same fields as in the report.
pub fn findings(report: &Report, number: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&findings::page(report, number), out)
}

/// Views of the code, as one JSON object and a line feed.
pub fn views(stacks: &Stacks, tables: &[Table], out: &mut impl Write) -> io::Result<()> {
    writer::write(&views::page(stacks, tables), out)
}

/// Rules with their limits, as one JSON object and a line feed.
pub fn rules(rules: &[&Rule], settings: &Settings, out: &mut impl Write) -> io::Result<()> {
    writer::write(&rules::page(rules, settings), out)
}

/// A comparison, as one JSON object and a line feed.
pub fn comparison(compared: &Compared<'_>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&diff::page(compared), out)
}

/// Who called whom on both sides, as one JSON object and a line feed.
pub fn tree(tree: &Branch, weights: Weights, out: &mut impl Write) -> io::Result<()> {
    writer::write(&branch::page(tree, weights), out)
}

/// Where a recording was made, as one JSON object and a line feed.
pub fn environment(environment: &Environment, out: &mut impl Write) -> io::Result<()> {
    writer::write(&environment::page(environment), out)
}

/// What differs between two of these.
pub fn environments(found: &EnvironmentDifferences, out: &mut impl Write) -> io::Result<()> {
    writer::write(&environment::differences(found), out)
}

/// Commands held against each other, as one JSON object and a line feed.
pub fn bench(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&bench::page(bench), out)
}

/// The history of benchmarks; of another figure than that of each.
pub fn history(history: &History, figure: Option<Figure>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&history::page(history, figure), out)
}

/// The same as hyperfine writes it.
pub fn hyperfine(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&bench::hyperfine(bench), out)
}

/// The same as Bencher takes it in.
pub fn bencher(bench: &Bench<'_>, out: &mut impl Write) -> io::Result<()> {
    writer::write(&bench::bencher(bench), out)
}

/// Which facts make a difference, as one JSON object and a line feed.
pub fn proof(proof: &Proof, out: &mut impl Write) -> io::Result<()> {
    writer::write(&proof::page(proof), out)
}

/// What a machine does at best, as one JSON object and a line feed: the same as `floors` in a report.
pub fn floors(floors: &Floors, out: &mut impl Write) -> io::Result<()> {
    writer::write(floors, out)
}

/// A prediction, as one JSON object and a line feed.
pub fn prediction(prediction: &Prediction) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = writer::write(&path::prediction(prediction), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
