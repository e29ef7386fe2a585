//! One function of the program in which memory is copied for a good part of the time: it moves what could stay where it is.
//!
//! How much is copied at a time no recording tells, only how long that takes and from where. What the kernel copies to
//! and from a program is not told here: whoever reads and writes has that done. Nor are the buffers of the C library's
//! streams, nor the first touch of new memory, which has rules of its own.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::path::OnStack;
use timesink_analysis::replay::{Change, How};
use timesink_analysis::stacks::{Function, FunctionIx};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Language;

use crate::file_functions::act;
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "copying",
    looks_for: "a function that spends much of its time copying memory (memmove, memcpy)",
    why: "Removing the first element of an array moves all others by one place; appending to a string by making a new one copies the whole string each time; so do buffers that grow in small steps and large structures passed by value. The amount copied grows with the square of the size.",
    advice: "do not move the data: use a ring buffer or deque in place of an array (collections.deque in Python), a buffer that grows by doubling, pieces collected and joined once, a pointer or reference to large structures",
    wrong_if: "each item is copied only once, and has to be",
    limits: &[&limits::SHARE, &limits::MS],
    blames: Blames::Runtime,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the critical path in copies made by one function",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in them",
    };
}

/// What is left of the copies: half where things have to be moved once in any case, nothing where they can stay.
const LEFT: (f64, f64) = (0.5, 0.0);

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let copies = InCode::of(inquiry, |function| copies(inquiry, function));
    let mut callers: BTreeMap<(ProcessId, FunctionIx), Vec<OnStack>> = BTreeMap::new();
    for stack in &copies.stacks {
        let Some(on_path) = inquiry.outlook.causes.get(stack.cause) else {
            continue;
        };
        if let Some(caller) = caller(inquiry, &copies.functions, stack) {
            let process = inquiry.programs.first(on_path.cause.key.process);
            callers.entry((process, caller)).or_default().push(*stack);
        }
    }
    callers
        .into_iter()
        .filter_map(|((_, caller), stacks)| suspect(inquiry, &copies, caller, stacks))
        .collect()
}

/// Whether a function is the C library's own that copies memory, in whichever of its forms.
fn copies(inquiry: &Inquiry<'_>, function: &Function) -> bool {
    const NAMES: [&str; 3] = ["memmove", "memcpy", "mempcpy"];
    let name = function.name.trim_start_matches('_');
    let form = NAMES.iter().find_map(|start| name.strip_prefix(start));
    let is_form = form.is_some_and(|form| form.is_empty() || form.starts_with('_'));
    let file = inquiry.stacks.code.file_of(function);
    let is_libc = |file: &str| {
        let starts = ["libc.so", "libc-", "libc.musl", "ld-musl"];
        starts.iter().any(|start| file.starts_with(start))
    };
    // Linked into the program it has names that no program gives to its own functions.
    let linked_in = function.name.starts_with("__mem") && name.contains('_');
    function.language == Language::Native && is_form && (file.is_some_and(is_libc) || linked_in)
}

/// The program's own function that has it copied. None if it is not the copying itself, but a page fault in it, or the
/// buffer of a stream.
fn caller(
    inquiry: &Inquiry<'_>,
    copies: &BTreeSet<FunctionIx>,
    stack: &OnStack,
) -> Option<FunctionIx> {
    let spots = inquiry.spots(stack.stack);
    let innermost = spots.first()?;
    let is_stream = |name: &str| act(name).is_some() || name.starts_with("_IO_");
    let mut functions = spots
        .iter()
        .map(|spot| inquiry.stacks.code.function(spot.function));
    let buffered = functions.any(|function| is_stream(&function.name));
    let own = inquiry.stacks.code.own_of(&spots);
    let counts = copies.contains(&innermost.function) && !buffered;
    own.first().filter(|_| counts).map(|spot| spot.function)
}

fn suspect(
    inquiry: &Inquiry<'_>,
    copies: &InCode,
    caller: FunctionIx,
    stacks: Vec<OnStack>,
) -> Option<Suspect> {
    let all_ns = copies.ns();
    let found = InCode {
        functions: copies.functions.clone(),
        stacks,
    };
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    // The same functions copy for others, too.
    let part = ns as f64 / all_ns.max(1) as f64;
    let fix = |left: f64| Change {
        how: How::Scale(1.0 - part * (1.0 - left)),
        ..found.scaled(left)
    };
    let fix = Fix::Between(vec![fix(LEFT.0)], vec![fix(LEFT.1)]);
    let title = say![caller, " copies memory for ", Piece::Time(ns)];
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in memmove or memcpy called from it: ",
            Piece::Percent(part * 100.0),
            " of all such copies"
        ]);
    Some(suspect)
}
