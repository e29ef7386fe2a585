//! `timesink.toml`: limits that replace those of the rules, and rules that are disabled.

use timesink_findings::registry::RULES;
use timesink_findings::rule::{Rule, Unit};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::entries::{Complaint, Complaints};
use super::former::name_now;
use super::nearest::nearest;

/// A setting of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub rule: &'static str,
    pub to: To,
    /// The file that says so.
    pub file: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum To {
    /// Enabled, or disabled.
    Switched(bool),
    Limit(&'static str, f64),
}

impl Set {
    /// Whether one of the two holds, and not both.
    pub fn is_about_the_same(&self, other: &Set) -> bool {
        let what = |set: &Set| match set.to {
            To::Switched(_) => None,
            To::Limit(name, _) => Some(name),
        };
        self.rule == other.rule && what(self) == what(other)
    }
}

/// The settings in a file, the user's own or a project's. Errors are reported, and the rest applies.
pub fn read(text: &str, file: &str, is_own: bool, found: &mut Vec<Complaint>) -> Vec<Set> {
    const WANTED: &str = "limits go in tables such as [rules.flush-per-record]";
    let mut complaints = Complaints::about(text, found);
    let mut sets = Vec::new();
    for (key, value) in &complaints.table() {
        if key.get_ref() == super::assistants::TABLE {
            if !is_own {
                complaints.add(
                    key.span(),
                    "[assistants] counts in your own settings only, ~/.config/timesink/config.toml",
                );
            }
            continue;
        }
        if key.get_ref() != "rules" {
            let name = key.get_ref();
            complaints.add(key.span(), format!("unknown key {name:?}: {WANTED}"));
            continue;
        }
        let Some(rules) = complaints.table_of(value, WANTED) else {
            continue;
        };
        for (key, value) in rules {
            let known = RULES.iter().find(|rule| rule.name == key.get_ref());
            let Some(rule) = known else {
                let names = RULES.iter().map(|rule| rule.name);
                complaints.add_with(key.span(), || unknown("rule", key.get_ref(), names));
                continue;
            };
            if let Some(entries) = complaints.table_of(value, WANTED) {
                let to = of_rule(rule, entries, &mut complaints);
                sets.extend(to.into_iter().map(|to| Set {
                    rule: rule.name,
                    to,
                    file: file.to_owned(),
                }));
            }
        }
    }
    sets
}

fn of_rule(rule: &'static Rule, entries: &DeTable<'_>, complaints: &mut Complaints<'_>) -> Vec<To> {
    let mut found = Vec::new();
    for (key, value) in entries {
        if key.get_ref() == "disabled" {
            match value.get_ref().as_bool() {
                Some(disabled) => found.push(To::Switched(!disabled)),
                None => complaints.add(value.span(), "disabled must be true or false"),
            }
            continue;
        }
        let name = name_now(rule.name, key.get_ref());
        let limit = rule.limits.iter().find(|limit| limit.name == name);
        let Some(limit) = limit else {
            let names = rule.limits.iter().map(|limit| limit.name);
            let names = names.chain(["disabled"]);
            let what = format!("limit of {}", rule.name);
            complaints.add_with(key.span(), || unknown(&what, key.get_ref(), names));
            continue;
        };
        match quantity(value, limit.unit) {
            Some(value) => found.push(To::Limit(limit.name, value)),
            None => {
                let example = limit.unit.example();
                let example = example.map_or(String::new(), |text| {
                    format!(", or a string such as {text:?}")
                });
                complaints.add(
                    value.span(),
                    format!("{} must be a number, 0 or more{example}", limit.name),
                );
            }
        }
    }
    found
}

/// A number in the unit of the limit, or a text with a unit.
fn quantity(value: &Spanned<DeValue<'_>>, unit: Unit) -> Option<f64> {
    match value.get_ref() {
        DeValue::String(text) => unit.parse(text),
        _ => number(value),
    }
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let number = match value.get_ref() {
        DeValue::Integer(digits) => {
            i64::from_str_radix(digits.as_str(), digits.radix()).ok()? as f64
        }
        DeValue::Float(digits) => digits.as_str().parse().ok()?,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> String {
    match nearest(name, known) {
        Some(known) => format!("there is no {what} called {name:?}: did you mean {known}?"),
        None => format!("there is no {what} called {name:?}: timesink rules lists them all"),
    }
}
