//! Memory that is asked for and given back again and again: by mapping and unmapping it, or by moving the heap's end.
//!
//! What is lost is not so much the calls as what they bring with them: the kernel clears each page anew, one fault at a
//! time, and takes it away again. That memory is given back between, and not once at the end, the samples must show.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::Spot;
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::memory::{faults, kept, Memory};
use crate::rule::{Blames, Fix, Limit, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

/// What to do about it where a script makes the values: its interpreter may have an allocator of its own.
const IN_SCRIPTS: &str = "change a large value in place, instead of making a new one of the old one each time: append to a string, an array or a buffer";
/// Interpreters of scripts that are not seen.
const AWKS: [&str; 3] = ["awk", "mawk", "gawk"];
const WHY: &str = "The kernel clears each page again, one fault at a time, and takes it back. That costs far more than reusing the same memory.";
pub static MAPS: Rule = Rule {
    name: "map-unmap-churn",
    looks_for: "memory mapped and unmapped again and again",
    why: WHY,
    advice: "keep the memory and reuse it; with malloc, raise M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (mallopt, or MALLOC_MMAP_THRESHOLD_ in the environment)",
    wrong_if: "the memory must not stay with the process between uses",
    limits: &[&limits::UNMAPS, &limits::SHARE, &limits::TURNS],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask: |inquiry| ask(inquiry, &MAPS, &limits::UNMAPS, &["munmap"], " maps and unmaps memory "),
};

pub static TRIMS: Rule = Rule {
    name: "trim-thrash",
    looks_for: "a heap whose end is returned to the kernel and allocated again",
    why: WHY,
    advice: "let malloc keep more: raise M_TRIM_THRESHOLD and M_TOP_PAD (mallopt, or MALLOC_TRIM_THRESHOLD_ in the environment), or reuse the same buffers",
    wrong_if: "the memory must not stay with the process between uses",
    limits: &[&limits::HEAP_CALLS, &limits::SHARE, &limits::TURNS],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask: |inquiry| ask(inquiry, &TRIMS, &limits::HEAP_CALLS, &["brk", "madvise"], " grows and shrinks its heap "),
};

/// What the rules go by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static UNMAPS: Limit = Limit {
        name: "calls",
        value: 500.0,
        unit: Unit::Count,
        means: "minimum number of munmap calls",
    };
    pub static HEAP_CALLS: Limit = Limit {
        name: "calls",
        value: 500.0,
        unit: Unit::Count,
        means: "minimum number of brk or madvise calls",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in these calls and the page faults they cause",
    };
    pub static TURNS: Limit = Limit {
        name: "turns",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of times that samples show memory freed after it was touched",
    };
}

fn ask(
    inquiry: &Inquiry<'_>,
    rule: &'static Rule,
    least_calls: &'static Limit,
    calls: &[&str],
    does: &'static str,
) -> Vec<Suspect> {
    let mut counts: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for call in &inquiry.facts.calls {
        let Some(process) = call.process.filter(|_| call.object.is_none()) else {
            continue;
        };
        if calls.contains(&call.call.as_str()) {
            *counts.entry(process).or_default() += call.count;
        }
    }
    counts.retain(|_, count| *count as f64 >= rule.limit(inquiry, least_calls));
    if counts.is_empty() {
        return Vec::new();
    }
    let memory = Memory::of(inquiry);
    let many = counts.into_iter();
    many.filter_map(|(process, count)| {
        suspect(inquiry, rule, least_calls, &memory, process, count, does)
    })
    .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    rule: &'static Rule,
    least_calls: &'static Limit,
    memory: &Memory,
    process: ProcessId,
    count: u64,
    does: &'static str,
) -> Option<Suspect> {
    let memory = memory.in_program(inquiry, process);
    let share = (memory.faults.ns() + memory.mapping.ns()) as f64;
    if share < inquiry.outlook.wall_ns as f64 * rule.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let all = memory
        .faults
        .and(inquiry, &memory.mapping)
        .in_program(inquiry, process);
    let share = all.share(inquiry);
    if share < rule.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let turns = memory.turns(inquiry, process);
    if (turns as f64) < rule.limit(inquiry, &limits::TURNS) {
        return None;
    }
    let faults = faults(inquiry, process);
    let kept = kept(inquiry, process);
    let title = say![process, does, Piece::Count(count), " times"];
    let fix = all.scaled_in(inquiry, process, kept);
    let suspect = all
        .suspect(inquiry, title, Fix::Change(fix.clone()))
        .of(process)
        .held(inquiry, rule, "calls", count as f64, least_calls)
        .held(inquiry, rule, "share of the path", share, &limits::SHARE)
        .held(inquiry, rule, "turns seen", turns as f64, &limits::TURNS)
        .told(say![
            Piece::Count(faults),
            " page faults, ",
            Piece::Count(faults / count.max(1)),
            " per call"
        ])
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in the kernel for it: ",
            Piece::Time(memory.faults.ns()),
            " in page faults, ",
            Piece::Time(memory.mapping.ns()),
            " in the calls"
        ]);
    let code = &inquiry.stacks.code;
    let is_script = |spot: &Spot| code.function(spot.function).is_script();
    let Some(script) = suspect.frames.iter().find(|spot| is_script(spot)) else {
        let program = last_part(inquiry.program(process).unwrap_or_default());
        return Some(match AWKS.contains(&program) {
            true => suspect.advised(IN_SCRIPTS.to_owned()),
            false => suspect,
        });
    };
    // What is made anew each time is filled, too, and given back: at most all that the script's function does there.
    let filled = Change {
        what: What::Functions(BTreeSet::from([script.function])),
        how: How::Scale(0.0),
        ..fix.clone()
    };
    Some(Suspect {
        fix: Fix::Likely(vec![fix.clone()], vec![fix], vec![filled]),
        ..suspect.advised(IN_SCRIPTS.to_owned())
    })
}
