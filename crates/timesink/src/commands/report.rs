//! `timesink report FILE`: where the time of a recording went.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use timesink_analysis::facts::Facts;
use timesink_capture::convert;
use timesink_recording::{ErrorKind, Recording};

use crate::present::terminal::Style;
use crate::present::{json, terminal, Report};

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a folder or a packed file.
    recording: PathBuf,
    /// Print everything as JSON (documented in docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Reads a recording and prints its report on standard output.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    print(
        &arguments.recording,
        &mut out,
        (!arguments.json).then_some(&style),
    )
}

/// Prints the report of a recording just made on standard error: standard output is the program's.
pub fn show(recording: &Path) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stderr().lock());
    writeln!(out).context("cannot write the report")?;
    print(recording, &mut out, Some(&Style::of_stderr()))
}

/// As text in a style, or as JSON.
fn print(path: &Path, out: &mut impl Write, style: Option<&Style>) -> anyhow::Result<()> {
    let recording = open(path)?;
    let facts = Facts::of(&recording)?;
    let shown = path.to_string_lossy();
    let size_bytes =
        size_on_disk(path).with_context(|| format!("cannot tell the size of {shown}"))?;
    let report = Report {
        path: &shown,
        size_bytes,
        about: recording.about(),
        facts: &facts,
    };
    let written = match style {
        None => json::write(&report, out),
        Some(style) => out.write_all(terminal::render(&report, style).as_bytes()),
    };
    written
        .and_then(|()| out.flush())
        .or_else(|error| match error.kind() {
            // Whoever reads the report has seen enough, as `head` does.
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error).context("cannot write the report"),
        })
}

/// Opens a recording. One that was never finished is mended first, from what was written of it.
fn open(path: &Path) -> anyhow::Result<Recording> {
    match Recording::open(path) {
        Err(error) if error.kind() == ErrorKind::Unfinished => {
            eprintln!(
                "timesink: {} was never finished: mending it",
                path.display()
            );
            convert::convert(path, None)?;
            Ok(Recording::open(path)?)
        }
        // The error names the file and the fault.
        opened => Ok(opened?),
    }
}

/// The length of a file, or of the files in a folder.
fn size_on_disk(path: &Path) -> io::Result<u64> {
    let about = std::fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    let mut sum = 0u64;
    for entry in std::fs::read_dir(path)? {
        sum = sum.saturating_add(entry?.metadata()?.len());
    }
    Ok(sum)
}
