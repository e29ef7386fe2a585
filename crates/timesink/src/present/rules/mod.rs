//! What a rule is about, for people: on the command line and as the pages in `docs/rules`. Both are made of the same
//! parts, which are the registry's.

#[cfg(test)]
mod docs;

use timesink_findings::rule::{Rule, Unit};

use super::names;
use super::terminal::{wrap, Ink, Style};
use crate::settings::Settings;

/// A sentence that begins with a capital and ends with a stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    let rest = letters.as_str();
    let stop = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{}{rest}{stop}", first.unwrap_or_default())
}

/// What is to be said of a rule, under short headings.
fn parts(rule: &Rule) -> Vec<(&'static str, String)> {
    let needs: Vec<&str> = rule.needs.iter().map(|need| need.word()).collect();
    let mut parts = vec![
        ("Why it is slow", sentence(rule.why)),
        ("What to do", sentence(rule.advice)),
        ("When that would be wrong", sentence(rule.wrong_if)),
    ];
    if !rule.accuses() {
        parts[0].0 = "What it means";
        parts.push(("Not a fault", "It is listed after all causes.".to_owned()));
    }
    let needs = match needs.as_slice() {
        [] => "Nothing beyond what every recording has.".to_owned(),
        needs => format!(
            "The recording must have {}; otherwise the rule is skipped, and the report says so.",
            needs.join(" and ")
        ),
    };
    parts.push(("What it needs", needs));
    parts
}

/// A limit's value: whole where it is.
pub fn value(value: f64) -> String {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => super::terminal::units::count(value.abs() as u64),
        false => format!("{value}"),
    }
}

/// The same in its unit, as it may be written in the settings.
fn amount(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Count => value(number),
        _ => unit.show(number),
    }
}

/// A rule as `timesink rules` prints it.
pub fn page(rule: &Rule, settings: &Settings, style: &Style) -> String {
    let title = format!("{}: {}", rule.name, rule.looks_for);
    let mut lines = wrap(&title, "", Ink::Title, style);
    for (heading, text) in parts(rule) {
        lines.extend(wrap(&format!("{heading}: {text}"), "  ", Ink::Plain, style));
    }
    for limit in rule.limits {
        let own = amount(limit.unit, limit.value);
        let text = match settings.limit(rule, limit) {
            None => format!("{} = {own}: {}", limit.name, limit.means),
            Some((to, file)) => format!(
                "{} = {} (set in {}, default {own}): {}",
                limit.name,
                amount(limit.unit, to),
                names::harmless(file),
                limit.means
            ),
        };
        lines.extend(wrap(&text, "  ", Ink::Plain, style));
    }
    if let Some(file) = settings.switched_off(rule) {
        let text = format!("Disabled in {}", names::harmless(file));
        lines.extend(wrap(&text, "  ", Ink::Warning, style));
    }
    lines.push(String::new());
    lines.join("\n")
}
