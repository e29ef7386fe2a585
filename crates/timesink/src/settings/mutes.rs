//! `.timesink-ignore.toml`: findings that are known. Each entry says which, why, and perhaps until when.

use timesink_findings::mutes::{Day, Mute};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::entries::{Complaint, Complaints};
use super::nearest::nearest;

const WANTED: &str = "mutes are [[mute]] tables with a signature and a reason";
const KEYS: [&str; 3] = ["signature", "reason", "until"];

/// The mutes in a file. Errors are reported, and the rest applies.
pub fn read(text: &str, found: &mut Vec<Complaint>) -> Vec<Mute> {
    let mut complaints = Complaints::about(text, found);
    let mut mutes = Vec::new();
    for (key, value) in &complaints.table() {
        let list = value.get_ref().as_array();
        let Some(list) = list.filter(|_| key.get_ref() == "mute") else {
            complaints.add(
                key.span(),
                format!("unknown key {:?}: {WANTED}", key.get_ref()),
            );
            continue;
        };
        for entry in list.iter() {
            if let Some(table) = complaints.table_of(entry, WANTED) {
                mutes.extend(mute(entry, table, &mut complaints));
            }
        }
    }
    mutes
}

fn mute(
    entry: &Spanned<DeValue<'_>>,
    table: &DeTable<'_>,
    complaints: &mut Complaints<'_>,
) -> Option<Mute> {
    for (key, _) in table {
        let name = key.get_ref().as_ref();
        if !KEYS.contains(&name) {
            complaints.add_with(key.span(), || {
                let means = nearest(name, KEYS.into_iter())
                    .map_or(String::new(), |known| format!(": did you mean {known}?"));
                format!("unknown key {name:?} in a mute{means}")
            });
        }
    }
    let mut text = |name: &str| {
        let value = table.get(name);
        let text = value.and_then(|value| value.get_ref().as_str());
        let text = text.filter(|text| !text.trim().is_empty());
        if text.is_none() {
            let at = value.unwrap_or(entry).span();
            complaints.add(at, format!("mute ignored: it has no {name}"));
        }
        text.map(str::to_owned)
    };
    let (signature, reason) = (text("signature"), text("reason"));
    let until = match table.get("until") {
        None => None,
        Some(value) => match day(value.get_ref()) {
            Some(day) => Some(day),
            // Without its end it would mute for good, which nobody said.
            None => {
                complaints.add(
                    value.span(),
                    "mute ignored: until must be a date such as 2026-12-31",
                );
                return None;
            }
        },
    };
    Some(Mute {
        signature: signature?,
        reason: reason?,
        until,
    })
}

/// A date, quoted or not.
fn day(value: &DeValue<'_>) -> Option<Day> {
    match value {
        DeValue::Datetime(moment) => {
            let date = moment.date?;
            Some(Day {
                year: date.year,
                month: date.month,
                day: date.day,
            })
        }
        DeValue::String(text) => {
            let mut parts = text.splitn(3, '-');
            let year = parts.next()?.parse().ok()?;
            let month = parts.next()?.parse().ok()?;
            let day = parts.next()?.parse().ok()?;
            let is_day = (1..=12).contains(&month) && (1..=31).contains(&day);
            is_day.then_some(Day { year, month, day })
        }
        _ => None,
    }
}
