//! `timesink bench --import`: results that hyperfine has measured.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::bench::imported::{held_against_first, results, Imported};
use crate::commands::as_caller;
use crate::out;
use crate::present::terminal;

/// More than hundreds of thousands of runs take.
const LONGEST: u64 = 64 << 20;

pub fn compare(files: &[PathBuf]) -> anyhow::Result<()> {
    let mut all: Vec<Imported> = Vec::new();
    for file in files {
        let read = as_caller(|| results(&text(file)?));
        all.extend(read.with_context(|| file.display().to_string())?);
    }
    let style = out::style();
    out::page(
        &terminal::imported(&held_against_first(all), &style),
        &style,
    )
}

pub fn text(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}
