//! `timesink bench --import`: results that hyperfine has measured.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};

use super::status;
use crate::bench::imported::{held_against_first, results, Imported};
use crate::bench::outcome::gate_of_all;
use crate::commands::as_caller;
use crate::out;
use crate::present::terminal;

/// More than hundreds of thousands of runs take.
const LONGEST: u64 = 64 << 20;

/// The exit status is what the gate says, if there is one.
pub fn compare(files: &[PathBuf], gate: Option<f64>) -> anyhow::Result<u8> {
    let mut all: Vec<Imported> = Vec::new();
    for file in files {
        let read = as_caller(|| results(&text(file)?));
        all.extend(read.with_context(|| file.display().to_string())?);
    }
    if gate.is_some() && all.len() < 2 {
        bail!(
            "--gate needs results of two commands: the first is what the others are held against"
        );
    }
    let held = held_against_first(all, gate);
    let style = out::style();
    out::page(&terminal::imported(&held, gate, &style), &style)?;
    let gates = held.iter().filter_map(|one| one.gate);
    Ok(gate_of_all(gates).map_or(0, status))
}

pub fn text(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}
