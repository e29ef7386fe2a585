//! A function of a library for which something faster is known.
//!
//! Which ones, and how much faster, is measured and stands in `table`. What it would buy is what the replay says with
//! the function made faster by the least and by the most of that; the work itself stays.

mod table;

use timesink_analysis::stacks::Function;
use timesink_recording::words::Language;

use crate::in_code::{self, InCode};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use table::{is_tool, From, Gain, Slow, LEFT_OUT, TABLES};

pub static RULE: Rule = Rule {
    name: "known-slow-function",
    looks_for: "a library function for which a faster replacement is known",
    why: "The same result is available for less: with CPU instructions made for it, in compiled code, or with a better algorithm.",
    advice: "use the faster replacement",
    wrong_if: "the exact format or checksum is required by others and the replacement cannot write it, or no other library may be used; or what could be kept differs each time",
    limits: &[&limits::SHARE, &in_code::MS],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in the function",
    };
}

/// What is made so many times or more could be kept: once or twice it has to be made.
const TIMES_MADE: f64 = 10.0;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let each = TABLES
        .iter()
        .flat_map(|table| table.slow.iter().map(|slow| (table.on, slow)));
    let told = each.filter_map(|(on, slow)| Some((slow, suspect(inquiry, slow, on)?)));
    let mut told: Vec<(&Slow, Suspect)> = told.collect();
    // A checksum of what is compressed or decompressed goes with that.
    let packs = |slow: &Slow| PACKING.iter().any(|name| slow.functions.contains(name));
    if told.iter().any(|(slow, _)| packs(slow)) {
        told.retain(|(slow, _)| !slow.functions.contains(&CHECKSUM));
    }
    told.into_iter().map(|(_, suspect)| suspect).collect()
}

/// Functions of zlib: what packs and unpacks, and the checksum of that.
const PACKING: [&str; 2] = ["deflate", "inflate"];
const CHECKSUM: &str = "crc32";

fn suspect(inquiry: &Inquiry<'_>, slow: &Slow, on: &'static str) -> Option<Suspect> {
    let mut found = InCode::of(inquiry, |function| is_from(inquiry, function, slow));
    if let From::Library(library) = slow.from {
        found = found.without_programs(inquiry, |program| is_tool(program, library));
    }
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &in_code::MS)?;
    let fix = match slow.gain {
        Gain::Times(least, most) => Fix::Between(
            vec![found.scaled(1.0 / least)],
            vec![found.scaled(1.0 / most)],
        ),
        // What calls it has a purpose of its own.
        Gain::Nothing if matches!(slow.from, From::Kernel) => Fix::Change(found.scaled(0.0)),
        Gain::Nothing => Fix::AtLeast(
            vec![found.scaled(0.0)],
            vec![found.calls_into_packages(inquiry).scaled(0.0)],
        ),
        Gain::Once(ms) if (ns as f64) < ms * 1e6 * TIMES_MADE => return None,
        // Each may be made of something else; and who keeps it may also do without what belongs to making it, as reading a file.
        Gain::Once(_) => Fix::Likely(
            Vec::new(),
            vec![found.scaled(0.0)],
            vec![found.calls_into_packages(inquiry).scaled(0.0)],
        ),
    };
    let title = say![slow.what, " takes ", Piece::Time(ns)];
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &in_code::MS, title, fix)
        .or_started_at(inquiry)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in it and in what it calls"
        ]);
    Some(match slow.gain {
        Gain::Times(least, most) => suspect
            .advised(format!("use {}", slow.instead))
            .told(say!["faster: ", slow.instead])
            .told(say![
                "that was ",
                Piece::Name(times(least, most)),
                " as fast (measured ",
                on,
                ")"
            ]),
        Gain::Nothing => suspect.advised(slow.instead.to_owned()),
        Gain::Once(ms) => suspect.advised(slow.instead.to_owned()).told(say![
            "one takes ",
            Piece::Time((ms * 1e6) as u64),
            " (measured ",
            on,
            ")"
        ]),
    })
}

fn times(least: f64, most: f64) -> String {
    match least < most {
        true if most == LEFT_OUT => format!("at least {least} times"),
        true => format!("{least} to {most} times"),
        false => format!("{least} times"),
    }
}

/// Whether a function is the very one that is meant.
fn is_from(inquiry: &Inquiry<'_>, function: &Function, slow: &Slow) -> bool {
    let has = |name: &str| slow.functions.contains(&name);
    let is_named = slow.functions.is_empty() || has(&function.name);
    match slow.from {
        From::Template(start) => function.name.starts_with(start),
        From::Compiled => function.language == Language::Native && is_named,
        From::Java => function.language == Language::Java && is_named,
        From::Php => function.language == Language::Php && is_named,
        From::Kernel => function.language == Language::Kernel && is_named,
        From::Source(end) => {
            // `JSONEncoder.encode` of Python 3.11 and newer is `encode` of those before.
            let last = function.name.rsplit('.').next().unwrap_or_default();
            matches!(function.language, Language::Python | Language::JavaScript)
                && function.file.ends_with(end)
                && (is_named || has(last))
        }
        From::Library(start) => {
            let file = inquiry.stacks.code.file_of(function);
            // zlib-ng takes zlib's place under its name.
            is_named && file.is_some_and(|file| file.starts_with(start) && !file.contains("-ng"))
        }
    }
}
