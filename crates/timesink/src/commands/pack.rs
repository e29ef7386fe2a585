//! `timesink pack FOLDER`: a recording's folder as one file, to send or to keep.

use std::path::PathBuf;

use timesink_capture::privileges;
use timesink_recording::Recording;

use crate::out;
use crate::present::terminal::Style;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a directory
    recording: PathBuf,
    /// The tar file to create; must not exist [default: RECORDING.tar]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Packs the recording.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    privileges::for_opening()?;
    let recording = Recording::open(&arguments.recording)?;
    privileges::for_making()?;
    let file = arguments.output.clone().unwrap_or_else(|| {
        let mut name = arguments
            .recording
            .file_name()
            .unwrap_or_default()
            .to_os_string();
        name.push(".tar");
        arguments.recording.with_file_name(name)
    });
    recording.pack(&file)?;
    out::page(&format!("{}\n", file.display()), &Style::PLAIN)
}
