//! Long strings that a program makes anew of the ones before, by a runtime that has memory of its own.
//!
//! Where such memory comes from malloc, `map-unmap-churn` and `trim-thrash` tell of it, and `copying` where most of it is the copying.
//! The runtimes of Go and Java take it from their own heaps: what it costs is divided among the copying, the clearing and the first
//! touch of new memory and the collection of what was before, each of them less than the whole.

use std::collections::BTreeMap;

use timesink_analysis::path::OnStack;
use timesink_analysis::replay::{Change, What};
use timesink_analysis::stacks::{Function, FunctionIx};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Language;

use crate::in_code::{self, InCode};
use crate::inquiry::Inquiry;
use crate::memory::is_fault;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::rules::garbage_collection;
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "concatenation",
    looks_for: "long strings put together with + or concat, each of which is copied to make the next",
    why: "Strings do not change: to append to one, a new one is made, and all that was there is copied. For each piece the amount is larger, so it grows with the square of the number of pieces, and the old strings are left to the garbage collector.",
    advice: "collect the pieces in a buffer that grows (strings.Builder in Go, StringBuilder in Java), and make one string of it at the end",
    wrong_if: "each string is made once, of a few long pieces",
    limits: &[&limits::SHARE, &in_code::MS, &limits::LONG],
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
        means: "minimum share of the critical path in making strings of others, by one function",
    };
    pub static LONG: Limit = Limit {
        name: "long",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of that time in copying, clearing and first touching memory; of short strings it is mostly other work",
    };
}

/// What makes one string of others.
const IN_GO: &str = "runtime.concatstrings";
const IN_JAVA: &str = "java.lang.String.concat";
const IN_JAVA_FOR_PLUS: &str = "java.lang.StringConcatHelper.";

fn concatenates(function: &Function) -> bool {
    let name = function.name.as_str();
    match function.language {
        Language::Native => name == IN_GO,
        Language::Java => name == IN_JAVA || name.starts_with(IN_JAVA_FOR_PLUS),
        _ => false,
    }
}

/// Whether a stack is in what costs more the longer a string is: copying or clearing it, or its first touch. Java copies in code that it
/// makes as it starts.
fn is_for_length(inquiry: &Inquiry<'_>, on: &OnStack) -> bool {
    const BEGIN: [&str; 6] = [
        "memmove",
        "memcpy",
        "memset",
        "runtime.memmove",
        "runtime.memclr",
        "StubRoutines",
    ];
    let names = inquiry.stacks.names_of(on.stack);
    let innermost = names.first().map(|name| name.trim_start_matches('_'));
    let works_on_memory = |name: &str| BEGIN.iter().any(|begin| name.starts_with(begin));
    is_fault(&names) || innermost.is_some_and(works_on_memory)
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let all = InCode::of(inquiry, concatenates);
    // A method of Java that was compiled while it ran is one by its name.
    let code = &inquiry.stacks.code;
    let mut callers: BTreeMap<(ProcessId, &str), (FunctionIx, InCode)> = BTreeMap::new();
    for on in &all.stacks {
        let spots = inquiry.spots(on.stack);
        let own = code.own_of(&spots);
        let cause = inquiry.outlook.causes.get(on.cause);
        let (Some(caller), Some(on_path)) = (own.first(), cause) else {
            continue;
        };
        let process = inquiry.programs.first(on_path.cause.key.process);
        let name = code.function(caller.function).name.as_str();
        let of_caller = callers.entry((process, name));
        let (_, found) = of_caller.or_insert_with(|| {
            let functions = all.functions.clone();
            let stacks = Vec::new();
            (caller.function, InCode { functions, stacks })
        });
        found.stacks.push(*on);
    }
    let each = callers.into_values();
    each.filter_map(|(caller, found)| suspect(inquiry, caller, &found, all.ns()))
        .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    caller: FunctionIx,
    found: &InCode,
    all_ns: u64,
) -> Option<Suspect> {
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &in_code::MS)?;
    let for_length = found.stacks.iter().filter(|on| is_for_length(inquiry, on));
    let for_length = for_length.fold(0u64, |sum, on| sum.saturating_add(on.ns));
    let long = for_length as f64 / ns.max(1) as f64;
    if long < RULE.limit(inquiry, &limits::LONG) {
        return None;
    }
    let title = say![
        caller,
        " copies a string each time it appends to it, for ",
        Piece::Time(ns)
    ];
    let suspect = found
        .suspect_held(
            inquiry,
            &RULE,
            &limits::SHARE,
            &in_code::MS,
            title,
            fix(inquiry, found, ns as f64 / all_ns.max(1) as f64),
        )
        .held(inquiry, &RULE, "long", long, &limits::LONG)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is spent concatenating strings, ",
            Piece::Percent(long * 100.0),
            " of that copying, clearing and first touching memory"
        ]);
    Some(suspect)
}

/// What this function has made, which is this part of all, is not made, so it is not collected either, and threads of the collector do not take the CPUs. Measured 2026-11-30
/// with 40,000 appended in Go: 4.0 to 7.5 s, and 0.01 s with a strings.Builder.
fn fix(inquiry: &Inquiry<'_>, found: &InCode, part: f64) -> Fix {
    let made = found.scaled(1.0 - part);
    let collected = garbage_collection::collecting(inquiry);
    let waited = Change {
        what: What::Ready,
        ..collected.clone()
    };
    Fix::Likely(
        vec![made.clone()],
        vec![made.clone(), collected.clone()],
        vec![made, collected, waited],
    )
}
