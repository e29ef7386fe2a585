//! A program that waits for the disk in many files or directories, one after the other, little in each: a walk through a
//! tree, a build, a program that loads a thousand modules. No single one of them is worth a word.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "cold-files",
    looks_for: "waits for the disk in many files or directories, one at a time",
    why: "What is not in the page cache is read from the disk when it is needed, so the disk never has more than one request at a time.",
    advice: "read several at once (threads, io_uring, read-ahead), pack them into fewer files, or keep them in the page cache",
    wrong_if: "it runs only once after boot, or the page cache is too small for them",
    limits: &[&limits::SHARE, &limits::FILES, &limits::MS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    // Measured 2026-11-23: find in a cold /usr 0.53, in a warm one 0; git log on a cold pack 0.00 (it waits for pages).
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.15,
        unit: Unit::Share,
        means: "minimum share of the critical path in these waits",
    };
    pub static FILES: Limit = Limit {
        name: "files",
        value: 50.0,
        unit: Unit::Count,
        means: "minimum number of files and directories waited for",
    };
    pub static MS: Limit = Limit {
        name: "ms",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in these waits",
    };
}

/// Of these waits no single file has more.
const SPREAD: f64 = 0.2;
/// What is left of the waits with several requests at a time, and from the page cache.
const LEFT: (f64, f64) = (0.5, 0.0);

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut programs: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for cause in inquiry.waits_on_path(|key| key.detail == Some(Detail::DiskRead)) {
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
    let all = || causes.iter().map(|&at| &inquiry.outlook.causes[at].cause);
    let files: BTreeSet<ObjectId> = all().filter_map(|cause| cause.key.object).collect();
    let count: u64 = all().map(|cause| cause.count).sum();
    let longest = all().map(|cause| cause.ns).max()?;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (files.len() as f64) < RULE.limit(inquiry, &limits::FILES)
        || (ns as f64) < RULE.limit(inquiry, &limits::MS) * 1e6
        || longest as f64 > ns as f64 * SPREAD
    {
        return None;
    }
    let fix = |left: f64| {
        vec![Change {
            what: What::Waits {
                detail: Some(Detail::DiskRead),
                objects: None,
            },
            processes: Some(inquiry.of_program(process)),
            how: How::Scale(left),
        }]
    };
    let title = say![
        process,
        " waits for the disk ",
        Piece::Count(count),
        " times in ",
        Piece::Count(files.len() as u64),
        " files and directories, one at a time"
    ];
    let group = inquiry.waits().iter().find(|group| {
        group.detail == Detail::DiskRead && inquiry.same_program(group.process, process)
    });
    let suspect = Suspect::new(
        title,
        Fix::Between(fix(LEFT.0), fix(LEFT.1)),
        Weight::all(causes),
    )
    .of(process)
    .seen_in(inquiry, group)
    .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
    .held(inquiry, &RULE, "files", files.len() as f64, &limits::FILES)
    .held(inquiry, &RULE, "milliseconds", ns as f64 / 1e6, &limits::MS)
    .told(say![
        Piece::Count(count),
        " waits of ",
        Piece::Time(ns / count.max(1)),
        "; ",
        Piece::Percent(share * 100.0),
        " of the critical path"
    ]);
    Some(suspect)
}
