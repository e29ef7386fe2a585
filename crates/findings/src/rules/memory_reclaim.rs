//! A program that has to free memory itself before it gets some, because its cgroup or the machine has none left.

use std::collections::BTreeMap;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "memory-reclaim",
    looks_for: "threads that free memory before they get some: their cgroup or the machine is out of memory",
    why: "A thread that needs a page where none is free has to find one to reclaim. If that page is dirty, the thread waits until it is on disk; if it is needed again, it is read again.",
    advice: "raise the memory limit (memory.max and memory.high, or the container's limit), or use less: drop cached data that are no longer needed (posix_fadvise POSIX_FADV_DONTNEED), write back early and steadily (sync_file_range), or bypass the page cache (O_DIRECT)",
    wrong_if: "the limit is intended, or all written data must be on disk anyway before the program continues",
    limits: &[&limits::WAITS, &limits::WORK],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of waits for memory on the critical path",
    };
    pub static WORK: Limit = Limit {
        name: "cpu",
        value: 0.05,
        unit: Unit::Share,
        means: "or: minimum share of the critical path on CPU, reclaiming memory",
    };
}

/// Freeing memory on one's own account: within a cgroup that is at its limit, and where the machine has none.
const IN_GROUP: [&str; 2] = [
    "try_to_free_mem_cgroup_pages",
    "mem_cgroup_handle_over_high",
];
const IN_MACHINE: [&str; 3] = [
    "try_to_free_pages",
    "__alloc_pages_direct_reclaim",
    "throttle_direct_reclaim",
];
/// Taking pages into the kernel's cache: those that are still there need not be taken again.
const TAKING: [&str; 5] = [
    "filemap_add_folio",
    "filemap_create_folio",
    "page_cache_ra_unbounded",
    "page_cache_ra_order",
    "create_empty_buffers",
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let names: Vec<&str> = IN_GROUP.iter().chain(&IN_MACHINE).copied().collect();
    let freeing = InCode::of_kernel(inquiry, &names);
    let mut programs: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for cause in inquiry.waits_on_path(|key| key.detail == Some(Detail::Reclaim)) {
        let process = inquiry.outlook.causes[cause].cause.key.process;
        programs.entry(process).or_default().push(cause);
    }
    let at_work = freeing.stacks.iter().map(|stack| stack.cause);
    for cause in at_work.filter_map(|cause| inquiry.outlook.causes.get(cause)) {
        programs.entry(cause.cause.key.process).or_default();
    }
    let suspects = programs.into_iter();
    suspects
        .filter_map(|(process, waits)| {
            let freeing = freeing.clone().in_program(inquiry, process);
            suspect(inquiry, process, waits, &freeing)
        })
        .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    waits: Vec<usize>,
    freeing: &InCode,
) -> Option<Suspect> {
    let count = waits
        .iter()
        .map(|&at| inquiry.outlook.causes[at].cause.count);
    let count: u64 = count.sum();
    let work = freeing.share(inquiry);
    if (count as f64) < RULE.limit(inquiry, &limits::WAITS)
        && work < RULE.limit(inquiry, &limits::WORK)
    {
        return None;
    }
    let group = inquiry.waits().iter().find(|group| {
        group.detail == Detail::Reclaim && inquiry.same_program(group.process, process)
    });
    let ns = inquiry.on_path_ns(&waits);
    let title = say![
        process,
        " has to free memory before it gets some",
        whose(inquiry, group, freeing),
        ", for ",
        Piece::Time(ns.saturating_add(freeing.ns()))
    ];
    let longest = waits
        .iter()
        .max_by_key(|&&cause| inquiry.on_path_ns(&[cause]));
    let object = longest.and_then(|&at| inquiry.outlook.causes[at].cause.key.object);
    let fix = fix(inquiry, process, freeing);
    let mut causes = waits;
    causes.extend(freeing.stacks.iter().map(|stack| stack.cause));
    causes.sort_unstable();
    causes.dedup();
    let weight = Weight::within(causes, ns.saturating_add(freeing.ns()));
    let suspect = Suspect::new(title, fix, weight)
        .of(process)
        .about(object)
        .seen_in(inquiry, group)
        .held(inquiry, &RULE, "waits", count as f64, &limits::WAITS)
        .held(
            inquiry,
            &RULE,
            "share freeing on a processor",
            work,
            &limits::WORK,
        )
        .figure("waiting on the path", ns as f64, "ns")
        .told(say![
            Piece::Count(count),
            " waits of ",
            Piece::Time(ns / count.max(1)),
            " on the critical path, and ",
            Piece::Time(freeing.ns()),
            " on CPU, reclaiming memory"
        ]);
    Some(match group {
        Some(_) => suspect,
        None => Suspect {
            frames: freeing.frames(inquiry),
            ..suspect
        },
    })
}

/// Whose memory it is that is all taken, if stacks show that.
fn whose(inquiry: &Inquiry<'_>, group: Option<&WaitGroup>, freeing: &InCode) -> &'static str {
    let code = &inquiry.stacks.code;
    let waiting = group.and_then(|group| group.stack);
    let waiting = waiting.and_then(|stack| code.stack(stack));
    let stack = waiting.or(freeing.stacks.first().map(|stack| stack.stack));
    let functions = stack.map_or(Vec::new(), |stack| code.functions_of(stack).to_vec());
    let has = |names: &[&str]| {
        let mut functions = functions.iter().map(|&function| code.function(function));
        functions.any(|function| names.contains(&function.name.as_str()))
    };
    match (has(&IN_GROUP), has(&IN_MACHINE)) {
        (true, _) => " (its cgroup is at its limit)",
        (_, true) => " (the machine has none left)",
        _ => "",
    }
}

/// Nobody waits for memory, nor looks for it. At most nothing has to be taken into the kernel's cache again either, nor be
/// waited for until it is read or written.
fn fix(inquiry: &Inquiry<'_>, process: ProcessId, freeing: &InCode) -> Fix {
    let processes = inquiry.of_program(process);
    let without = |details: &[Detail]| {
        let waits = inquiry.single_waits(|process| processes.contains(&process));
        let meant = waits.filter(|(_, span)| details.contains(&span.detail));
        let meant = meant.map(|(index, _)| index);
        Change {
            what: What::Spans(meant.collect()),
            processes: Some(processes.clone()),
            how: How::Scale(0.0),
        }
    };
    let work = |code: &InCode| code.scaled_in(inquiry, process, 0.0);
    let disk = [Detail::DiskRead, Detail::DiskWrite, Detail::PageFault];
    let least = vec![without(&[Detail::Reclaim]), work(freeing)];
    let mut most = least.clone();
    most.push(without(&disk));
    most.push(work(&InCode::of_kernel(inquiry, &TAKING)));
    Fix::AtLeast(least, most)
}
