//! A program that waits for one page of a file after the other, because it touches a mapping that is not in memory.
//!
//! The pages have to be read once. What is lost is that the disk is asked for one at a time: of 4,000 pages far from each
//! other, asked for together beforehand, a fifth of the time was left, of a whole file that is read at once a tenth
//! (measured on 2026-11-21; see `LEFT`).

use std::collections::BTreeMap;

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::memory::Memory;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "major-faults",
    looks_for: "waits for pages of mapped files, one after the other",
    why: "A mapped file that is not in memory is read page by page as it is touched, so the disk never has more than one request at a time.",
    advice: "prefetch the pages that will be needed (MAP_POPULATE, madvise MADV_WILLNEED for these pages), or read the file in large blocks",
    wrong_if: "the pages cannot be known in advance, and they are few",
    limits: &[&limits::SHARE, &limits::WAITS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.05,
        unit: Unit::Share,
        means: "minimum share of the critical path in these waits",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 100.0,
        unit: Unit::Count,
        means: "minimum number of waits on the critical path",
    };
}

/// What is left of the waits and of the kernel's work on them, at most and at least.
const LEFT: (f64, f64) = (0.25, 0.1);

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut programs: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for cause in inquiry.waits_on_path(|key| key.detail == Some(Detail::PageFault)) {
        let process = inquiry.outlook.causes[cause].cause.key.process;
        programs.entry(process).or_default().push(cause);
    }
    programs
        .into_iter()
        .filter_map(|(process, causes)| suspect(inquiry, process, causes))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, causes: Vec<usize>) -> Option<Suspect> {
    let ns = inquiry.on_path_ns(&causes);
    let share = ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let count = causes
        .iter()
        .map(|&at| inquiry.outlook.causes[at].cause.count);
    let count: u64 = count.sum();
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (count as f64) < RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let longest = causes
        .iter()
        .max_by_key(|&&cause| inquiry.on_path_ns(&[cause]));
    let key = inquiry.outlook.causes.get(*longest?)?.cause.key;
    let faults = Memory::of(inquiry).faults.in_program(inquiry, process);
    let fix = |left: f64| {
        let waits = Change {
            what: What::Waits {
                detail: Some(Detail::PageFault),
                objects: None,
            },
            processes: Some(inquiry.of_program(process)),
            how: How::Scale(left),
        };
        vec![waits, faults.scaled_in(inquiry, process, left)]
    };
    let title = match key.object {
        Some(file) => say![
            process,
            " waits ",
            Piece::Count(count),
            " times for pages of ",
            file,
            ", one at a time"
        ],
        None => say![
            process,
            " waits ",
            Piece::Count(count),
            " times for pages, one at a time"
        ],
    };
    let group = inquiry.waits().iter().find(|group| {
        group.detail == Detail::PageFault && inquiry.same_program(group.process, process)
    });
    let suspect = Suspect::new(
        title,
        Fix::Between(fix(LEFT.0), fix(LEFT.1)),
        Weight::all(causes),
    )
    .of(process)
    .about(key.object)
    .seen_in(inquiry, group)
    .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
    .held(inquiry, &RULE, "waits", count as f64, &limits::WAITS)
    .told(say![
        Piece::Count(count),
        " waits of ",
        Piece::Time(ns / count.max(1)),
        "; ",
        Piece::Percent(share * 100.0),
        " of the critical path"
    ])
    .told(say![
        "in addition, ",
        Piece::Time(faults.ns()),
        " on CPU in page faults"
    ]);
    Some(suspect)
}
