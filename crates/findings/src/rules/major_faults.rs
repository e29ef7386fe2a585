//! A program that waits for one page of a file after the other, because it touches a mapping that is not in memory.
//!
//! The pages have to be read once. What is lost is that the disk is asked for one at a time: of 4,000 pages far from each
//! other, asked for together beforehand, a fifth of the time was left, of a whole file that is read at once a tenth
//! (measured on 2026-11-21; see `LEFT`).

use timesink_recording::words::Detail;

use crate::disk_waits::DiskWaits;
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
    let waits = DiskWaits::by_program(inquiry, Detail::PageFault).into_iter();
    waits.filter_map(|waits| suspect(inquiry, waits)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, waits: DiskWaits) -> Option<Suspect> {
    let (process, count) = (waits.process, waits.count);
    if waits.share < RULE.limit(inquiry, &limits::SHARE)
        || (count as f64) < RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let longest = waits.on_path(inquiry).max_by_key(|cause| cause.ns);
    let key = longest?.key;
    let faults = Memory::of(inquiry).faults.in_program(inquiry, process);
    let fix = |left: f64| {
        vec![
            waits.scaled(inquiry, left),
            faults.scaled_in(inquiry, process, left),
        ]
    };
    let fix = Fix::Between(fix(LEFT.0), fix(LEFT.1));
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
    let suspect = Suspect::new(title, fix, Weight::all(waits.causes.clone()))
        .of(process)
        .about(key.object)
        .seen_in(inquiry, waits.group(inquiry))
        .held(
            inquiry,
            &RULE,
            "share of the path",
            waits.share,
            &limits::SHARE,
        )
        .held(inquiry, &RULE, "waits", count as f64, &limits::WAITS)
        .told(waits.told())
        .told(say![
            "in addition, ",
            Piece::Time(faults.ns()),
            " on CPU in page faults"
        ]);
    Some(suspect)
}
