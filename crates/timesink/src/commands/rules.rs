//! `timesink rules`: what the rules look for, why that is slow, and by which numbers they go.

use std::io::{self, Write};

use anyhow::bail;
use timesink_findings::registry::RULES;
use timesink_findings::rule::Rule;

use super::report::written;
use crate::present::terminal::{Ink, Style};

#[derive(clap::Args)]
pub struct Arguments {
    /// Only this one
    rule: Option<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let asked = |rule: &&&Rule| arguments.rule.as_ref().is_none_or(|name| name == rule.name);
    let rules: Vec<&&Rule> = RULES.iter().filter(asked).collect();
    if rules.is_empty() {
        bail!("there is no such rule: timesink rules lists them all");
    }
    let style = Style::of_stdout();
    let pages: Vec<String> = rules.iter().map(|rule| page(rule, &style)).collect();
    let mut out = io::stdout().lock();
    written(
        out.write_all(pages.join("\n").as_bytes())
            .and_then(|()| out.flush()),
    )
}

fn page(rule: &Rule, style: &Style) -> String {
    let mut lines = vec![
        format!("{}: {}", style.paint(Ink::Title, rule.name), rule.looks_for),
        format!("  {}", rule.why),
        format!("  Do: {}.", rule.advice),
        format!("  Wrong if: {}.", rule.wrong_if),
    ];
    for limit in rule.limits {
        lines.push(format!(
            "  {} = {}: {}",
            limit.name, limit.value, limit.means
        ));
    }
    if !rule.needs.is_empty() {
        let needs: Vec<&str> = rule.needs.iter().map(|need| need.word()).collect();
        lines.push(format!("  needs {}", needs.join(", ")));
    }
    lines.push(String::new());
    lines.join("\n")
}
