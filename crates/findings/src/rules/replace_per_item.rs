//! Many files, each written aside, flushed and renamed into its place: a flush for each.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Kind;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, ObjectKind};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "replace-per-item",
    looks_for: "many files that are each written to a temporary name, flushed and renamed into place",
    why: "Each file is made durable on its own, and each time that waits for the disk.",
    advice: "write all of them, flush once for all (syncfs, or one flush per folder), then rename; or keep the items in one file",
    wrong_if: "each item must be durable before the next is started",
    limits: &[&limits::FILES, &limits::RENAMES],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static FILES: Limit = Limit {
        name: "files",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of files that were flushed, each once or twice",
    };
    pub static RENAMES: Limit = Limit {
        name: "renames",
        value: 0.5,
        unit: Unit::Count,
        means: "minimum number of renames per file",
    };
}

const FLUSHES: [&str; 2] = ["fsync", "fdatasync"];
const RENAMES: [&str; 3] = ["rename", "renameat", "renameat2"];
/// A file that is flushed more often is not one of many.
const TWICE: u64 = 2;

/// What one process flushed and renamed.
#[derive(Default)]
struct Replaced {
    files: BTreeSet<ObjectId>,
    flush_ns: u64,
    flushes: u64,
    renames: u64,
    /// All flushes of the process, of whatever.
    all_ns: u64,
}

impl Replaced {
    /// Of the time in flushes, the part that is about such files.
    fn share(&self) -> f64 {
        self.flush_ns as f64 / self.all_ns.max(1) as f64
    }

    /// What flushing all of them took, those included whose calls were not timed.
    fn whole_ns(&self) -> u64 {
        let each = self.flush_ns / self.flushes.max(1);
        each.saturating_mul(self.files.len() as u64)
            .max(self.flush_ns)
    }
}

/// A flush waits several times, for the data, for the inode and for the disk itself.
const WAITS: u64 = 8;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut processes: BTreeMap<ProcessId, Replaced> = BTreeMap::new();
    let is_file = |object: ObjectId| {
        let known = inquiry.facts.object(object);
        known.is_some_and(|object| object.kind == ObjectKind::File)
    };
    let mut often: BTreeSet<(ProcessId, ObjectId)> = BTreeSet::new();
    for call in &inquiry.facts.calls {
        let Some(process) = call.process else {
            continue;
        };
        let replaced = processes.entry(process).or_default();
        if RENAMES.contains(&call.call.as_str()) {
            replaced.renames += call.count - call.errors.min(call.count);
        }
        if !FLUSHES.contains(&call.call.as_str()) {
            continue;
        }
        replaced.all_ns += call.ns;
        let Some(file) = call.object.filter(|&object| is_file(object)) else {
            continue;
        };
        if call.count > TWICE {
            often.insert((process, file));
            continue;
        }
        replaced.files.insert(file);
        replaced.flushes += call.count;
        replaced.flush_ns += call.ns;
    }
    // Calls may not have been timed all along; waits are known all the same.
    for thread in &inquiry.facts.ledger.threads {
        let replaced = processes.entry(thread.row.process).or_default();
        let flushed = thread.causes.iter().filter(|cause| {
            cause.key.kind == Kind::As(Detail::Flush) && cause.count <= TWICE * WAITS
        });
        let files = flushed.filter_map(|cause| cause.key.object);
        replaced.files.extend(
            files.filter(|&file| is_file(file) && !often.contains(&(thread.row.process, file))),
        );
    }
    let suspects = processes.into_iter();
    suspects
        .filter_map(|(process, replaced)| suspect(inquiry, process, replaced))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, replaced: Replaced) -> Option<Suspect> {
    let files = replaced.files.len() as u64;
    let renames = replaced.renames as f64 / files.max(1) as f64;
    if (files as f64) < RULE.limit(inquiry, &limits::FILES)
        || renames < RULE.limit(inquiry, &limits::RENAMES)
    {
        return None;
    }
    let about = |object: Option<ObjectId>| object.is_some_and(|o| replaced.files.contains(&o));
    let waits = inquiry.waits().iter().filter(|group| {
        group.process == process && group.detail == Detail::Flush && about(group.object)
    });
    let longest = waits.clone().next();
    let mut causes = inquiry
        .waits_on_path(|key| about(key.object) && inquiry.same_program(key.process, process));
    causes.extend(inquiry.busy(process));
    let title = say![
        process,
        " flushes and renames ",
        Piece::Count(files),
        " files, one at a time"
    ];
    let processes = BTreeSet::from([process]);
    let not_waiting = Fix::without_waits_for(inquiry, &replaced.files, processes.clone());
    let all = not_waiting
        .clone()
        .and_calls(&FLUSHES, replaced.share(), processes.clone());
    // What is written by a flush has to be written all the same: a rename over another file does it, too.
    let fix = Fix::Likely(not_waiting.changes(), all.changes(), all.changes());
    let suspect = Suspect::new(title, fix, Weight::within(causes, replaced.whole_ns()))
        .with_whole_items(processes, &[&FLUSHES])
        .with_all_between()
        .on(replaced.files.iter().copied())
        .of(process)
        .about(longest.and_then(|group| group.object))
        .seen_in_most(inquiry, waits)
        .held(inquiry, &RULE, "files", files as f64, &limits::FILES)
        .held(
            inquiry,
            &RULE,
            "renames for each",
            renames,
            &limits::RENAMES,
        )
        .told(say![
            Piece::Count(replaced.flushes),
            " flushes of ",
            Piece::Time(replaced.flush_ns / replaced.flushes.max(1)),
            " each, and ",
            Piece::Count(replaced.renames),
            " renames"
        ]);
    Some(suspect)
}
