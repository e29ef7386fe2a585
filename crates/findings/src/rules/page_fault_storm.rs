//! A program that spends its time having the kernel give it new pages.
//!
//! Where memory comes and goes in turn, it can be kept and used again; the pages that are touched for the first time
//! can be larger ones. How much faster the kernel then is was measured: see `HUGE`.

use timesink_recording::ids::ProcessId;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::memory::{kept, most_faults, Memory, PAGE};
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "page-fault-storm",
    looks_for: "much time in page faults for new memory",
    why: "The kernel clears memory when it is first touched, one fault per page of 4 kB.",
    advice: "keep memory and reuse it; use huge pages where much memory is touched for the first time (madvise MADV_HUGEPAGE, or always in /sys/kernel/mm/transparent_hugepage/enabled); touch less",
    wrong_if: "the memory consists of small, scattered pieces, of which a huge page would hold little",
    limits: &[&limits::SHARE, &limits::FAULTS, &limits::TURNS, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.04,
        unit: Unit::Share,
        means: "minimum share of the critical path in page faults",
    };
    pub static FAULTS: Limit = Limit {
        name: "faults",
        value: 20_000.0,
        unit: Unit::Count,
        means: "minimum number of page faults of the process",
    };
    pub static TURNS: Limit = Limit {
        name: "turns",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of allocate-and-free cycles from which on the memory could be kept",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 2_097_152.0,
        unit: Unit::Bytes,
        means: "minimum bytes touched per allocation call; with less, huge pages do not fit",
    };
}

/// With large pages it goes so many times as fast: 64 MB taken, touched and given back, on 2026-11-21. The first round after
/// a pause, in which the kernel has to make large pages first, gained the least.
const HUGE: (f64, f64) = (1.2, 9.0);
/// Pages of files, and copies of pages that were shared: larger pages do not help there.
const OTHERS: [&str; 6] = [
    "do_fault",
    "do_read_fault",
    "do_cow_fault",
    "do_shared_fault",
    "do_wp_page",
    "wp_page_copy",
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let memory = Memory::of(inquiry);
    let program = memory.faults.process(inquiry);
    program
        .and_then(|program| suspect(inquiry, &memory, program))
        .into_iter()
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, memory: &Memory, program: ProcessId) -> Option<Suspect> {
    let memory = memory.in_program(inquiry, program);
    let share = memory.faults.share(inquiry);
    if share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let (process, count) = most_faults(inquiry, program)?;
    if (count as f64) < RULE.limit(inquiry, &limits::FAULTS) {
        return None;
    }
    let new = InCode::of_kernel(inquiry, &["do_anonymous_page"]).in_program(inquiry, program);
    let others = InCode::of_kernel(inquiry, &OTHERS).in_program(inquiry, program);
    if new.ns() < others.ns() {
        return None;
    }
    let turns = memory.turns(inquiry, process);
    let again = turns as f64 >= RULE.limit(inquiry, &limits::TURNS);
    let touched = count.saturating_mul(PAGE);
    let large =
        touched as f64 >= asked(inquiry, process) as f64 * RULE.limit(inquiry, &limits::BYTES);
    if !again && !large {
        return None;
    }
    let title = say![
        process,
        if again {
            " allocates and frees "
        } else {
            " touches "
        },
        Piece::Bytes(touched),
        " of new memory, 4 kB at a time"
    ];
    let (meant, most) = match again {
        true => (
            memory.faults.and(inquiry, &memory.mapping),
            kept(inquiry, process),
        ),
        false => (memory.faults.clone(), 1.0 / HUGE.1),
    };
    let meant = meant.in_program(inquiry, program);
    let scaled = |factor| vec![meant.scaled_in(inquiry, program, factor)];
    let suspect = meant
        .suspect(
            inquiry,
            title,
            Fix::Between(scaled(1.0 / HUGE.0), scaled(most)),
        )
        .of(process)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .held(inquiry, &RULE, "page faults", count as f64, &limits::FAULTS)
        .held(inquiry, &RULE, "turns seen", turns as f64, &limits::TURNS)
        .told(say![
            Piece::Count(count),
            " page faults; ",
            Piece::Percent(share * 100.0),
            " of the critical path is in them"
        ]);
    Some(match again {
        true => suspect.told(say![
            "at exit it has ",
            Piece::Percent(kept(inquiry, process) * 100.0),
            " of that memory: the rest was freed in at least ",
            Piece::Count(turns),
            " cycles"
        ]),
        false => suspect,
    })
}

/// How often a process asked for memory.
fn asked(inquiry: &Inquiry<'_>, process: ProcessId) -> u64 {
    let calls = inquiry.facts.calls.iter().filter(|call| {
        call.process == Some(process)
            && call.object.is_none()
            && matches!(call.call.as_str(), "mmap" | "brk" | "mremap")
    });
    calls.fold(0, |sum, call| sum.saturating_add(call.count))
}
