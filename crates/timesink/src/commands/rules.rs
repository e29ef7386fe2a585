//! `timesink rules`: what the rules look for, why that is slow, and by which numbers they go.

use std::io::{self, Write};

use anyhow::bail;
use timesink_findings::registry::RULES;
use timesink_findings::rule::Rule;

use super::report::written;
use crate::present::rules;
use crate::present::terminal::Style;
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only this one
    rule: Option<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let asked = |rule: &&&Rule| arguments.rule.as_ref().is_none_or(|name| name == rule.name);
    let wanted: Vec<&&Rule> = RULES.iter().filter(asked).collect();
    if wanted.is_empty() {
        bail!("there is no such rule: timesink rules lists them all");
    }
    let (style, settings) = (Style::of_stdout(), Settings::told());
    let pages = wanted
        .iter()
        .map(|rule| rules::page(rule, &settings, &style));
    let pages: Vec<String> = pages.collect();
    let mut out = io::stdout().lock();
    written(
        out.write_all(pages.join("\n").as_bytes())
            .and_then(|()| out.flush()),
    )
}
