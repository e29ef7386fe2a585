//! `timesink mcp`: a coding assistant asks, on standard input and output.

use anyhow::Context;

use crate::assistant::{serve, Asked, Tools};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {}

/// Answers an assistant until it closes standard input.
pub fn run(_: &Arguments) -> anyhow::Result<()> {
    let settings = Settings::told();
    let project = std::env::current_dir().context("the folder that this was started in")?;
    serve(Tools {
        project,
        may_run: settings.assistants_may_run,
        asked: Asked::default(),
    })
}
