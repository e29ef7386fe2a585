//! `timesink rules`: what the rules look for, why that is slow, and by which numbers they go.

use anyhow::bail;
use timesink_findings::registry::RULES;
use timesink_findings::rule::Rule;

use crate::out;
use crate::present::{json, rules};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// Explain only this rule
    rule: Option<String>,

    /// Print them as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let asked = |rule: &&Rule| arguments.rule.as_ref().is_none_or(|name| name == rule.name);
    let wanted: Vec<&Rule> = RULES.iter().copied().filter(asked).collect();
    if wanted.is_empty() {
        bail!("no such rule; `timesink rules` lists all rules");
    }
    let (style, settings) = (out::style(), Settings::told());
    if arguments.json {
        return out::for_machines(|to| json::rules(&wanted, &settings, to));
    }
    let pages = wanted
        .iter()
        .map(|rule| rules::page(rule, &settings, &style));
    let pages: Vec<String> = pages.collect();
    out::page(&pages.join("\n"), &style)
}
