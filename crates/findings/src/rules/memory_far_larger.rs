//! A program that keeps what comes in to it in a form many times as large, and pays for the memory.
//!
//! That its memory is large beside what it read accuses nobody: a program may make its data itself. So it is told only where
//! new memory is taken with each piece that comes in, from the first to the last, evenly. Pieces show where they come through a
//! pipe or a socket and are waited for; who reads a file without waiting is not spoken of, nor who lets go of memory before its end.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::FunctionIx;
use timesink_analysis::waits::arrivals::Arrivals;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Language;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::memory::{kept, Memory};
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "memory-far-larger",
    looks_for: "input kept in memory in a form many times as large",
    why: "A separate node for each small value, with its pointers and the allocator's overhead, is many times as large as the value, and the kernel clears all of it page by page and frees it at the end.",
    advice: "keep values in flat storage (arrays, columns, one buffer with offsets into it) instead of one object per value, do not keep what is used once, or process each piece as it arrives",
    wrong_if: "the larger form makes later work faster, and that work takes much longer than this",
    limits: &[&limits::SHARE, &limits::TIMES, &limits::BYTES, &limits::KEPT, &limits::PIECES, &limits::EVENLY],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in page faults for it and in freeing it",
    };
    pub static TIMES: Limit = Limit {
        name: "ratio",
        value: 20.0,
        unit: Unit::Ratio,
        means: "minimum ratio of the memory at exit to all data that it read, wrote or mapped",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 200e6,
        unit: Unit::Bytes,
        means: "minimum memory at exit",
    };
    pub static KEPT: Limit = Limit {
        name: "kept",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of all newly touched memory that it still has at exit",
    };
    pub static PIECES: Limit = Limit {
        name: "pieces",
        value: 100.0,
        unit: Unit::Count,
        means: "minimum number of pieces of input",
    };
    pub static EVENLY: Limit = Limit {
        name: "evenness",
        value: 0.25,
        unit: Unit::Share,
        means: "minimum part that each quarter of the pieces takes of a quarter of the new memory",
    };
}

/// What is left at most: as if it were kept in so many times the bytes that came in.
const LOOSE: f64 = 10.0;
/// Pages that are not new memory but a file's.
const OF_FILES: [&str; 4] = [
    "do_fault",
    "do_read_fault",
    "do_shared_fault",
    "do_cow_fault",
];
/// Where memory is given back at the end.
const ENDS: [&str; 2] = ["exit_mmap", "mmput"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let starts = inquiry.facts.starts.iter();
    let large = starts.filter_map(|start| {
        let resident = start.exit?.resident_bytes;
        (resident as f64 >= RULE.limit(inquiry, &limits::BYTES))
            .then_some((start.process, resident))
    });
    let large: Vec<_> = large
        .filter(|&(process, resident)| {
            resident as f64 >= data(inquiry, process) as f64 * RULE.limit(inquiry, &limits::TIMES)
                && kept(inquiry, process) >= RULE.limit(inquiry, &limits::KEPT)
        })
        .collect();
    // Nearly all recordings end here; only then is it worth a look at all waits.
    if large.is_empty() {
        return Vec::new();
    }
    let least = RULE.limit(inquiry, &limits::PIECES) as usize;
    let all = inquiry.arrivals(least);
    let suspects = large.into_iter().filter_map(|(process, resident)| {
        let its = all
            .clone()
            .filter(|arrivals| inquiry.timeline.threads[arrivals.slot].process == process);
        let most = its.max_by_key(|arrivals| arrivals.at.len())?;
        suspect(inquiry, process, resident, most)
    });
    suspects.collect()
}

/// All bytes that a process read or wrote, and those of the files that it mapped.
fn data(inquiry: &Inquiry<'_>, process: ProcessId) -> u64 {
    let calls = || {
        let calls = inquiry.facts.calls.iter();
        calls.filter(|call| call.process == Some(process))
    };
    let moved = calls().fold(0u64, |sum, call| sum.saturating_add(call.bytes));
    let mapped = calls().filter(|call| call.call == "mmap");
    let mapped: BTreeSet<ObjectId> = mapped.filter_map(|call| call.object).collect();
    let sizes = mapped
        .into_iter()
        .filter_map(|object| inquiry.facts.object(object)?.size);
    sizes.fold(moved, u64::saturating_add).max(1)
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    resident: u64,
    arrivals: &Arrivals,
) -> Option<Suspect> {
    let memory = Memory::of(inquiry).in_program(inquiry, process);
    let files = InCode::of_kernel(inquiry, &OF_FILES).in_program(inquiry, process);
    let ends = InCode::of_kernel(inquiry, &ENDS);
    let meant = memory
        .faults
        .and(inquiry, &ends)
        .in_program(inquiry, process);
    let share = meant.share(inquiry);
    if share < RULE.limit(inquiry, &limits::SHARE) || files.ns() * 4 > memory.faults.ns() {
        return None;
    }
    let evenly = evenly(inquiry, process, arrivals, &memory.faults.functions);
    if evenly < RULE.limit(inquiry, &limits::EVENLY) {
        return None;
    }
    let data = data(inquiry, process);
    let times = resident as f64 / data as f64;
    let title = say![
        process,
        " uses ",
        Piece::Bytes(resident),
        " of memory for ",
        Piece::Bytes(data),
        " that it read, wrote or mapped"
    ];
    let scaled = |code: &InCode, factor: f64| code.scaled_in(inquiry, process, factor);
    let mut most = vec![scaled(&meant, 0.0)];
    most.extend(keeper(inquiry, &memory.faults).map(|keeper| {
        let keeper = InCode::through(inquiry, BTreeSet::from([keeper]));
        scaled(&keeper, 0.0)
    }));
    let least = vec![scaled(&meant, (LOOSE / times).min(1.0))];
    let suspect = meant
        .suspect(inquiry, title, Fix::AtLeast(least, most))
        .of(process)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .held(inquiry, &RULE, "times as large", times, &limits::TIMES)
        .held(inquiry, &RULE, "bytes", resident as f64, &limits::BYTES)
        .held(inquiry, &RULE, "least quarter", evenly, &limits::EVENLY)
        .told(say![
            Piece::Times(times),
            " as much; ",
            Piece::Percent(share * 100.0),
            " of the critical path is in the kernel, clearing and freeing it"
        ])
        .told(say![
            "new memory with each of ",
            Piece::Count(arrivals.at.len() as u64),
            " pieces of input, evenly from the first to the last"
        ]);
    Some(suspect)
}

/// Of the page faults the least that any quarter of the pieces has, as a part of a quarter of all: 1 is quite evenly.
fn evenly(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    arrivals: &Arrivals,
    faults: &BTreeSet<FunctionIx>,
) -> f64 {
    let mut quarters = [0u64; 4];
    let mut all = 0u64;
    let code = &inquiry.stacks.code;
    for thread in inquiry.threads_of(&BTreeSet::from([process])) {
        let events = inquiry.stacks.events_of(thread).iter();
        for event in events.filter(|event| event.account == Account::Cpu) {
            let mut frames = code.frames_of(event.stack);
            if !frames.any(|(_, function)| faults.contains(&function)) {
                continue;
            }
            all = all.saturating_add(event.ns);
            let came = arrivals.at.partition_point(|&at| at < event.at);
            // What is taken before the first piece, or after the last, is not for the pieces.
            if came > 0 && came < arrivals.at.len() {
                quarters[came * 4 / arrivals.at.len()] += event.ns;
            }
        }
    }
    let least = quarters.into_iter().min().unwrap_or(0);
    least as f64 * 4.0 / all.max(1) as f64
}

/// The innermost function of the program in which nearly all of it is taken.
fn keeper(inquiry: &Inquiry<'_>, faults: &InCode) -> Option<FunctionIx> {
    const NEARLY: f64 = 0.8;
    let code = &inquiry.stacks.code;
    let mut candidates: BTreeMap<FunctionIx, u64> = BTreeMap::new();
    for stack in &faults.stacks {
        let functions: BTreeSet<FunctionIx> = code.functions_of(stack.stack).into_iter().collect();
        for function in functions {
            let sum = candidates.entry(function).or_default();
            *sum = sum.saturating_add(stack.ns);
        }
    }
    let enough = faults.ns() as f64 * NEARLY;
    let meant = candidates.into_iter().filter(|&(function, ns)| {
        ns as f64 >= enough
            && code.function(function).language != Language::Kernel
            && !code.is_system(function)
            && !code.is_before_main(function)
    });
    // Of those that all of it passes through, the one with the least besides.
    let through = |function| inquiry.outlook.on_processors.through(function);
    let inner = meant.min_by_key(|&(function, _)| (through(function), function));
    inner.map(|(function, _)| function)
}
