//! `timesink mcp`: a coding assistant asks, on standard input and output.

use crate::assistant::{serve, Asked, Tools};

#[derive(clap::Args)]
pub struct Arguments {}

/// Answers an assistant until it closes standard input.
pub fn run(_: &Arguments) -> anyhow::Result<()> {
    serve(Tools::new(Asked::new()))
}
