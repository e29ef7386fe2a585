//! `timesink export FILE --to FORMAT`: a recording's stacks for other tools.

use std::io::{self, BufWriter};
use std::path::PathBuf;

use anyhow::{bail, Context};
use timesink_analysis::facts::Facts;
use timesink_recording::files::NewFile;

use super::read;
use super::selection::Selection;
use crate::export::{self, Export, Format, Weights};
use crate::out;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a directory or a packed file
    recording: PathBuf,

    /// The output format
    #[arg(long, value_enum)]
    to: Format,

    /// The file to create; must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Which time to export
    #[arg(long, value_enum, default_value = "both")]
    weights: Weights,

    #[command(flatten, next_help_heading = "Parts of a recording")]
    selection: Selection,
}

/// Writes the export.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let binary = matches!(arguments.to, Format::Pprof | Format::Perfetto);
    if binary && arguments.output.is_none() && out::is_terminal() {
        bail!("this format is not for a terminal: name a file with -o, or use a pipe");
    }
    let recording = match arguments.output {
        Some(_) => read::open_to_make(&arguments.recording)?,
        None => read::open(&arguments.recording)?,
    };
    let facts = Facts::of(&recording)?;
    let filter = arguments.selection.filter();
    let stacks = arguments.selection.stacks(&recording, &facts)?;
    let export = Export {
        about: recording.about(),
        facts: &facts,
        stacks: &stacks,
        filter: &filter,
        weights: arguments.weights,
    };
    if !stacks.any() {
        out::tell("there are no stacks in this part of the recording, only sums of time");
    }
    let Some(path) = &arguments.output else {
        let mut out = out::machines();
        let written = export::write(&export, &recording, arguments.to, &mut out);
        return written.or_else(|error| match error.downcast_ref::<io::Error>() {
            // Whoever reads it has seen enough, as `head` does.
            Some(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error).context("cannot write the export"),
        });
    };
    let mut out = BufWriter::new(NewFile::at(path).context("cannot make the file")?);
    export::write(&export, &recording, arguments.to, &mut out)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error);
    file.with_context(|| format!("cannot write {}", path.display()))?
        .keep()?;
    Ok(())
}
