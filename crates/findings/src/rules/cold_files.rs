//! A program that waits for the disk in many files or directories, one after the other, little in each: a walk through a
//! tree, a build, a program that loads a thousand modules. No single one of them is worth a word.

use std::collections::BTreeSet;

use timesink_recording::ids::ObjectId;
use timesink_recording::words::Detail;

use crate::disk_waits::DiskWaits;
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
        name: "time",
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
    let waits = DiskWaits::by_program(inquiry, Detail::DiskRead).into_iter();
    waits.filter_map(|waits| suspect(inquiry, waits)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, waits: DiskWaits) -> Option<Suspect> {
    let objects = waits.on_path(inquiry).filter_map(|cause| cause.key.object);
    let files = objects.collect::<BTreeSet<ObjectId>>().len();
    let longest = waits.on_path(inquiry).map(|cause| cause.ns).max()?;
    if waits.share < RULE.limit(inquiry, &limits::SHARE)
        || (files as f64) < RULE.limit(inquiry, &limits::FILES)
        || (waits.ns as f64) < RULE.limit(inquiry, &limits::MS) * 1e6
        || longest as f64 > waits.ns as f64 * SPREAD
    {
        return None;
    }
    let title = say![
        waits.process,
        " waits for the disk ",
        Piece::Count(waits.count),
        " times in ",
        Piece::Count(files as u64),
        " files and directories, one at a time"
    ];
    let fix = |left: f64| vec![waits.scaled(inquiry, left)];
    let fix = Fix::Between(fix(LEFT.0), fix(LEFT.1));
    let ms = waits.ns as f64 / 1e6;
    let suspect = Suspect::new(title, fix, Weight::all(waits.causes.clone()))
        .of(waits.process)
        .seen_in(inquiry, waits.group(inquiry))
        .held(
            inquiry,
            &RULE,
            "share of the path",
            waits.share,
            &limits::SHARE,
        )
        .held(inquiry, &RULE, "files", files as f64, &limits::FILES)
        .held(inquiry, &RULE, "milliseconds", ms, &limits::MS)
        .told(waits.told());
    Some(suspect)
}
