//! A lock on a file that processes wait for, while another one holds it: `flock` and `fcntl` make them run one after the other.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::timeline::locks::Lock;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State};

use crate::holding::{no_processor, Holding};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{waits_told, Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "file-lock",
    looks_for: "a lock on a file that processes wait for",
    why: "Who waits for the lock does nothing until its holder releases it, so the processes run one after the other.",
    advice: "hold the lock only while the file is read or written, and release it before anything that takes long; or give each its own file",
    wrong_if: "what is done under the lock can only be done by one process at a time",
    limits: &[&limits::HELD],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    /// Measured: 65 % where requests of one PHP session sleep under its lock.
    pub static HELD: Limit = Limit {
        name: "held",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the run in which the lock is held while others wait for it",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let locks = inquiry.timeline.file_locks().0.iter();
    locks.filter_map(|lock| suspect(inquiry, lock)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, lock: &Lock) -> Option<Suspect> {
    let held = lock.held_ns() as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if held < RULE.limit(inquiry, &limits::HELD) || no_processor(inquiry, &lock.holds) {
        return None;
    }
    let waits = lock
        .waits
        .iter()
        .filter_map(|&at| inquiry.timeline.span(at));
    let waiting = waits
        .clone()
        .filter_map(|span| inquiry.process_of(span.thread));
    let waiting: BTreeSet<ProcessId> = waiting.collect();
    let mut lengths: Vec<u64> = waits.map(|span| span.t1.since(span.t0)).collect();
    lengths.sort_unstable();
    let groups = inquiry.waits().iter();
    let mut groups = groups
        .filter(|group| group.detail == Detail::FileLock && group.object == Some(lock.object));
    let what = What::Waits {
        detail: Some(Detail::FileLock),
        objects: Some(BTreeSet::from([lock.object])),
    };
    // The path goes on to who held it, so such waits are not on it.
    let held_ns = lock.held_ns().min(lock.wait_ns);
    let weight = Weight::within(inquiry.causes(|key| key.state != State::Lost), held_ns);
    let title = title(lock, waiting.len() as u64);
    let suspect = Suspect::new(title, Fix::without(what, waiting), weight)
        .of(lock.process)
        .about(Some(lock.object))
        .seen_in(inquiry, groups.next())
        .held(inquiry, &RULE, "held", held, &limits::HELD)
        .told(waits_told(&lengths));
    Some(match Holding::of(inquiry, &lock.holds) {
        Some(holding) => suspect.told(holding.told(inquiry)),
        None => suspect,
    })
}

fn title(lock: &Lock, processes: u64) -> Sentence {
    let mut title = match processes {
        1 => say![lock.process, " waits "],
        many => say![
            Piece::Count(many),
            " processes like ",
            lock.process,
            " wait "
        ],
    };
    let times = match lock.waits.len() {
        1 => " time for the lock on ",
        _ => " times for the lock on ",
    };
    let count = Piece::Count(lock.waits.len() as u64);
    title.0.extend([count, times.into(), lock.object.into()]);
    title
}
