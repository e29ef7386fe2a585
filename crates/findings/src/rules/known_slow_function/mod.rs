//! A function of a library for which something faster is known.
//!
//! Which ones, and how much faster, is measured and stands in `table.rs`. What it would buy is what the replay says with
//! the function made faster by the least and by the most of that; the work itself stays.

mod table;

use timesink_analysis::stacks::Function;
use timesink_recording::words::Language;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use table::{From, Slow, LEFT_OUT, MEASURED, TABLE};

pub static RULE: Rule = Rule {
    name: "known-slow-function",
    looks_for: "a library function for which a faster replacement is known",
    why: "The same result is available for less: with CPU instructions made for it, in compiled code, or with a better algorithm.",
    advice: "use the faster replacement",
    wrong_if: "the exact format or checksum is required by others and the replacement cannot write it, or no other library may be used",
    limits: &[&limits::SHARE, &limits::MS],
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
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in it",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let slow = TABLE.iter();
    slow.filter_map(|slow| suspect(inquiry, slow)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, slow: &Slow) -> Option<Suspect> {
    let found = InCode::of(inquiry, |function| is_from(inquiry, function, slow));
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    let fix = Fix::Between(
        vec![found.scaled(1.0 / slow.least)],
        vec![found.scaled(1.0 / slow.most)],
    );
    let title = say![slow.what, " takes ", Piece::Time(ns)];
    let faster = match slow.least < slow.most {
        true if slow.most == LEFT_OUT => format!("at least {} times", slow.least),
        true => format!("{} to {} times", slow.least, slow.most),
        false => format!("{} times", slow.least),
    };
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in it and in what it calls"
        ])
        .advised(format!("use {}", slow.instead))
        .told(say!["faster: ", slow.instead])
        .told(say![
            "that was ",
            Piece::Name(faster),
            " as fast (measured ",
            MEASURED,
            ")"
        ]);
    Some(suspect)
}

/// Whether a function is the very one that is meant.
fn is_from(inquiry: &Inquiry<'_>, function: &Function, slow: &Slow) -> bool {
    let named = || slow.functions.is_empty() || slow.functions.contains(&function.name.as_str());
    match slow.from {
        From::Template(start) => function.name.starts_with(start),
        From::Python(end) => {
            function.language == Language::Python && function.file.ends_with(end) && named()
        }
        From::Library(start) => {
            let file = inquiry.stacks.code.file_of(function);
            // zlib-ng takes zlib's place under its name.
            named() && file.is_some_and(|file| file.starts_with(start) && !file.contains("-ng"))
        }
    }
}
