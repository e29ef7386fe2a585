//! Many small files, each flushed as it was written; perhaps written aside, and renamed into its place after that.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Kind;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, ObjectKind};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "flush-per-file",
    looks_for: "many small files that are each flushed to disk, and perhaps renamed into place",
    why: "Each file is made durable on its own, and each time that waits for the disk.",
    advice: "write all of them, flush once for all (syncfs, or one flush per folder), and rename after that; or keep the items in one file",
    wrong_if: "each item must be durable before the next is started",
    limits: &[&limits::FILES, &limits::RENAMES, &limits::BYTES],
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
        means: "number of renames per file from which files are known to replace others, whatever their size",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes written per file that is not renamed: a large one takes long for what is in it",
    };
}

const FLUSHES: [&str; 2] = ["fsync", "fdatasync"];
const RENAMES: [&str; 3] = ["rename", "renameat", "renameat2"];
/// A file that is flushed more often is not one of many.
const TWICE: u64 = 2;

/// What one process flushed, and how much it renamed.
#[derive(Default)]
struct Flushed {
    files: BTreeSet<ObjectId>,
    flush_ns: u64,
    flushes: u64,
    renames: u64,
    /// All flushes of the process, of whatever.
    all_ns: u64,
}

impl Flushed {
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
    let mut processes: BTreeMap<ProcessId, Flushed> = BTreeMap::new();
    let is_file = |object: ObjectId| {
        let known = inquiry.facts.object(object);
        known.is_some_and(|object| object.kind == ObjectKind::File)
    };
    let mut often: BTreeSet<(ProcessId, ObjectId)> = BTreeSet::new();
    for call in &inquiry.facts.calls {
        let Some(process) = call.process else {
            continue;
        };
        let flushed = processes.entry(process).or_default();
        if RENAMES.contains(&call.call.as_str()) {
            flushed.renames += call.count - call.errors.min(call.count);
        }
        if !FLUSHES.contains(&call.call.as_str()) {
            continue;
        }
        flushed.all_ns += call.ns;
        let Some(file) = call.object.filter(|&object| is_file(object)) else {
            continue;
        };
        if call.count > TWICE {
            often.insert((process, file));
            continue;
        }
        flushed.files.insert(file);
        flushed.flushes += call.count;
        flushed.flush_ns += call.ns;
    }
    // Calls may not have been timed all along; waits are known all the same.
    for thread in &inquiry.facts.ledger.threads {
        let flushed = processes.entry(thread.row.process).or_default();
        let causes = thread.causes.iter().filter(|cause| {
            cause.key.kind == Kind::As(Detail::Flush) && cause.count <= TWICE * WAITS
        });
        let files = causes.filter_map(|cause| cause.key.object);
        flushed.files.extend(
            files.filter(|&file| is_file(file) && !often.contains(&(thread.row.process, file))),
        );
    }
    let suspects = processes.into_iter();
    suspects
        .filter_map(|(process, flushed)| suspect(inquiry, process, flushed))
        .collect()
}

/// How much was written to each of many names, on average; nothing if it is not known, as it may be much. A file that is made anew
/// under the same name each time is the journal of another, which is flushed, too.
fn written_to_each(inquiry: &Inquiry<'_>, flushed: &Flushed) -> Option<f64> {
    let files = flushed.files.iter();
    let named = files.filter_map(|&file| inquiry.facts.object(file)?.path.as_deref());
    let names: BTreeSet<&str> = named.collect();
    let written = inquiry.facts.files.iter();
    let written = written.filter(|file| flushed.files.contains(&file.object));
    let bytes = written.fold(0u64, |sum, file| sum.saturating_add(file.bytes_written));
    let is_known = bytes > 0 && names.len() as f64 >= RULE.limit(inquiry, &limits::FILES);
    is_known.then_some(bytes as f64 / names.len() as f64)
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, flushed: Flushed) -> Option<Suspect> {
    let files = flushed.files.len() as u64;
    let renames = flushed.renames as f64 / files.max(1) as f64;
    let replaces = renames >= RULE.limit(inquiry, &limits::RENAMES);
    if (files as f64) < RULE.limit(inquiry, &limits::FILES) {
        return None;
    }
    let each = written_to_each(inquiry, &flushed);
    if !(replaces || each? <= RULE.limit(inquiry, &limits::BYTES)) {
        return None;
    }
    let about = |object: Option<ObjectId>| object.is_some_and(|o| flushed.files.contains(&o));
    let waits = inquiry.waits().iter().filter(|group| {
        group.process == process && group.detail == Detail::Flush && about(group.object)
    });
    let longest = waits.clone().next();
    let mut causes = inquiry
        .waits_on_path(|key| about(key.object) && inquiry.same_program(key.process, process));
    causes.extend(inquiry.busy(process));
    let done = if replaces {
        " flushes and renames "
    } else {
        " flushes "
    };
    let title = say![process, done, Piece::Count(files), " files, one at a time"];
    let processes = BTreeSet::from([process]);
    let not_waiting = Fix::without_waits_for(inquiry, &flushed.files, processes.clone());
    let all = not_waiting
        .clone()
        .and_calls(&FLUSHES, flushed.share(), processes.clone());
    // What is written by a flush has to be written all the same: a rename over another file does it, too.
    let fix = Fix::Likely(not_waiting.changes(), all.changes(), all.changes());
    let suspect = Suspect::new(title, fix, Weight::within(causes, flushed.whole_ns()))
        .with_whole_items(processes, &[&FLUSHES])
        .with_all_between()
        .on(flushed.files.iter().copied())
        .of(process)
        .about(longest.and_then(|group| group.object))
        .seen_in_most(inquiry, waits)
        .held(inquiry, &RULE, "files", files as f64, &limits::FILES)
        .told(say![
            Piece::Count(flushed.flushes),
            " flushes of ",
            Piece::Time(flushed.flush_ns / flushed.flushes.max(1)),
            " each"
        ]);
    let held = match (replaces, each) {
        (false, Some(each)) => Held::new("bytes written for each", each, &limits::BYTES),
        _ => Held::new("renames for each", renames, &limits::RENAMES),
    };
    Some(suspect.held_all(inquiry, &RULE, [held]))
}
