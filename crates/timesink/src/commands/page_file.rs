//! The page of recordings as one file, for the commands that write one.

use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::Context;
use timesink_recording::files::NewFile;

use super::read::open_all_to_make;
use crate::page::{self, Asked, Sides};
use crate::settings::Settings;

/// Writes the page of recordings, of which the first so many are of A and the rest of B.
pub fn write_page(
    paths: &[&Path],
    of_a: usize,
    with_source: bool,
    file: &Path,
) -> anyhow::Result<()> {
    let sides = Sides::of(open_all_to_make(paths)?, of_a).context("no recording is named")?;
    let settings = Settings::told();
    let made = NewFile::at(file).context("cannot make the file")?;
    let mut out = BufWriter::new(made);
    let cannot = || format!("cannot write {}", file.display());
    let asked = Asked {
        settings: &settings,
        sources: with_source.then_some(Path::new(".")),
    };
    page::write(&sides, &asked, &mut out).with_context(cannot)?;
    let made = out.into_inner().map_err(io::IntoInnerError::into_error);
    made.with_context(cannot)?.keep()?;
    Ok(())
}
