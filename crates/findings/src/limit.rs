//! The numbers that rules go by: each with its unit, how it is written for people, and what somebody set it to instead.

use std::collections::{BTreeMap, BTreeSet};

/// A number that a rule goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub name: &'static str,
    /// In its unit.
    pub value: f64,
    pub unit: Unit,
    pub means: &'static str,
}

/// What a limit counts. A number without a unit in the settings is in this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, times, or a number on a scale of its own.
    Count,
    /// A part of a whole: 0.25 is 25 %.
    Share,
    /// How many times as much.
    Ratio,
    Bytes,
    Megabytes,
    Nanoseconds,
    Milliseconds,
}

impl Unit {
    /// How a figure's unit is called; empty where the number says all.
    pub(crate) fn of_figures(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
            Unit::Count | Unit::Share | Unit::Ratio | Unit::Megabytes | Unit::Milliseconds => "",
        }
    }
}

/// The suffixes that a quantity may be written with, largest first, each with its size in the smallest of them.
type Suffixes = &'static [(&'static str, f64)];

const TIMES: Suffixes = &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
const SIZES: Suffixes = &[
    ("GiB", (1u64 << 30) as f64),
    ("GB", 1e9),
    ("MiB", (1u64 << 20) as f64),
    ("MB", 1e6),
    ("KiB", 1024.0),
    ("kB", 1e3),
    ("B", 1.0),
];
const SHARES: Suffixes = &[("%", 0.01)];
const RATIOS: Suffixes = &[("x", 1.0)];

impl Unit {
    /// Its suffixes, and how large the unit itself is in the smallest of them.
    fn suffixes(self) -> (Suffixes, f64) {
        match self {
            Unit::Count => (&[], 1.0),
            Unit::Share => (SHARES, 1.0),
            Unit::Ratio => (RATIOS, 1.0),
            Unit::Bytes => (SIZES, 1.0),
            Unit::Megabytes => (SIZES, 1e6),
            Unit::Nanoseconds => (TIMES, 1.0),
            Unit::Milliseconds => (TIMES, 1e6),
        }
    }

    /// What a program is told of it; nothing for a number or a part of a whole.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Count | Unit::Share | Unit::Ratio => "",
            Unit::Bytes => "bytes",
            Unit::Megabytes => "MB",
            Unit::Nanoseconds => "ns",
            Unit::Milliseconds => "ms",
        }
    }

    /// The number in this unit that a text such as `100ms`, `64 KiB` or `25 %` stands for.
    pub fn parse(self, text: &str) -> Option<f64> {
        let (suffixes, own) = self.suffixes();
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, suffix) = text.split_at(end);
        let number: f64 = number.parse().ok()?;
        let suffix = suffixes.iter().find(|(name, _)| *name == suffix.trim());
        let number = number * suffix?.1 / own;
        number.is_finite().then_some(number)
    }

    /// A number in this unit, with the largest suffix that needs no fraction: [`Unit::parse`] reads it back.
    pub fn show(self, number: f64) -> String {
        let (suffixes, own) = self.suffixes();
        let whole = |size: f64| (number * own / size).fract() == 0.0 && number * own >= size;
        match self {
            Unit::Count => format!("{number}"),
            Unit::Ratio => format!("{number}x"),
            // What 0.07 * 100 has too many digits of is no part of the number.
            Unit::Share => format!("{} %", (number * 1e6).round() / 1e4),
            _ => {
                let smallest = suffixes.last().copied().unwrap_or(("", 1.0));
                let fitting = suffixes.iter().copied().find(|(_, size)| whole(*size));
                let (name, size) = fitting.unwrap_or(smallest);
                format!("{} {name}", number * own / size)
            }
        }
    }

    /// How such a number may be written, for who wrote another one.
    pub fn example(self) -> Option<&'static str> {
        match self {
            Unit::Count => None,
            Unit::Share => Some("25%"),
            Unit::Ratio => Some("1.5x"),
            Unit::Bytes | Unit::Megabytes => Some("64KiB"),
            Unit::Nanoseconds | Unit::Milliseconds => Some("100ms"),
        }
    }
}

/// What somebody set otherwise: limits, and rules that are not to be asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    set: BTreeMap<(String, String), f64>,
    off: BTreeSet<String>,
}

impl Limits {
    /// Sets a limit of a rule.
    pub fn set(&mut self, rule: &str, limit: &str, value: f64) {
        self.set.insert((rule.to_owned(), limit.to_owned()), value);
    }

    /// Switches a rule off, or on again.
    pub fn switch(&mut self, rule: &str, on: bool) {
        match on {
            true => self.off.remove(rule),
            false => self.off.insert(rule.to_owned()),
        };
    }

    /// Whether a rule is not to be asked.
    pub fn is_off(&self, rule: &str) -> bool {
        self.off.contains(rule)
    }

    /// What holds for a limit of this rule.
    pub fn value(&self, rule: &str, limit: &Limit) -> f64 {
        let set = self
            .set
            .iter()
            .find(|((r, l), _)| r == rule && l == limit.name);
        set.map_or(limit.value, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::RULES;

    /// What a limit is shown as can be written in the settings, and means the same there.
    #[test]
    fn what_is_shown_is_read_back() {
        let limits = RULES.iter().flat_map(|rule| rule.limits);
        for limit in limits.filter(|limit| limit.unit != Unit::Count) {
            let shown = limit.unit.show(limit.value);
            let read = limit.unit.parse(&shown).expect("it can be read");
            let difference = (read - limit.value).abs();
            assert!(difference <= limit.value * 1e-12, "{shown}: {read}");
        }
    }

    /// A quantity is read in the unit of its limit, and what is none is refused.
    #[test]
    fn quantities_are_read() {
        for (unit, text, wanted) in [
            (Unit::Nanoseconds, "100ms", Some(1e8)),
            (Unit::Nanoseconds, "1.5 s", Some(1.5e9)),
            (Unit::Milliseconds, "2s", Some(2000.0)),
            (Unit::Bytes, "64 KiB", Some(65536.0)),
            (Unit::Megabytes, "1GB", Some(1000.0)),
            (Unit::Share, "25%", Some(0.25)),
            (Unit::Ratio, "1.5x", Some(1.5)),
            (Unit::Nanoseconds, "100", None),
            (Unit::Nanoseconds, "ms", None),
            (Unit::Nanoseconds, "-1ms", None),
            (Unit::Nanoseconds, "1.2.3ms", None),
            (Unit::Nanoseconds, "1kB", None),
            (Unit::Count, "3", None),
            (Unit::Share, "", None),
        ] {
            assert_eq!(unit.parse(text), wanted, "{text}");
        }
    }
}
