//! A stream that is flushed for each line: what its buffer could keep together goes out in small pieces.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::{Act, Use};
use timesink_analysis::replay::What;
use timesink_recording::words::ObjectKind;

use crate::file_functions::act;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "line-flushed-output",
    looks_for: "output to a file or a pipe that is flushed after each line",
    why: "A stream buffers its output until there is enough of it; a flush after each line costs a system call per line.",
    advice: "flush at the end, or before waiting for the reader; let the stream buffer as much as it wants",
    wrong_if: "each line must be seen at once, or after a crash",
    limits: &[&limits::WRITES, &limits::BYTES, &limits::FLUSHED],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WRITES: Limit = Limit {
        name: "writes",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of writes to one file or pipe",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 512.0,
        unit: Unit::Bytes,
        means: "maximum bytes per write, on average",
    };
    pub static FLUSHED: Limit = Limit {
        name: "flushed",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the time in writes that is in a flush of a stream",
    };
}

const FLUSHES: [&str; 4] = ["fflush", "_IO_fflush", "fflush_unlocked", "_IO_flush_all"];
/// Of the time of all writes of a process, those of the one thing are at least this share: stacks do not tell them apart.
const MOST: f64 = 0.8;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let uses = inquiry.facts.uses.all.iter();
    let small = uses.filter(|one| {
        let writes = one.done(Act::Write);
        writes.count as f64 >= RULE.limit(inquiry, &limits::WRITES)
            && writes.bytes as f64 <= writes.count as f64 * RULE.limit(inquiry, &limits::BYTES)
            && inquiry.facts.uses.share_of_calls(one, Act::Write) >= MOST
    });
    small.filter_map(|one| suspect(inquiry, one)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, one: &Use) -> Option<Suspect> {
    let kind = inquiry.facts.object(one.object)?.kind;
    if !matches!(kind, ObjectKind::File | ObjectKind::Pipe) {
        return None;
    }
    let processes = BTreeSet::from([one.process]);
    let threads = inquiry.threads_of(&processes);
    let writes = |names: &[&str]| names.iter().any(|name| act(name) == Some(Act::Write));
    let (flushed, all) = inquiry.stacks.part(&threads, writes, |names| {
        names.iter().any(|name| FLUSHES.contains(name))
    });
    let share = flushed as f64 / all.max(1) as f64;
    if all == 0 || share < RULE.limit(inquiry, &limits::FLUSHED) {
        return None;
    }
    let region = inquiry.stacks.region(&threads, |function| {
        FLUSHES.contains(&function).then_some(0)
    });
    let done = one.done(Act::Write);
    let each = done.bytes / done.count.max(1);
    let part = inquiry.facts.uses.share_of_time(one, &[Act::Write]);
    let what = What::Calls(Act::Write.calls().iter().copied().collect());
    let fix = Fix::scaled(what, processes, 1.0 - part);
    let title = say![
        one.object,
        " is flushed ",
        Piece::Count(done.count),
        " times, once per line"
    ];
    let suspect = Suspect::new(
        title,
        fix,
        Weight::within(inquiry.busy(one.process), done.ns),
    )
    .of(one.process)
    .about(Some(one.object))
    .seen_around(inquiry, region.as_ref())
    .held(inquiry, &RULE, "writes", done.count as f64, &limits::WRITES)
    .held(inquiry, &RULE, "bytes each", each as f64, &limits::BYTES)
    .held(inquiry, &RULE, "share in a flush", share, &limits::FLUSHED)
    .told(say![
        if one.estimated { "about " } else { "" },
        Piece::Count(done.count),
        " writes, ",
        Piece::Bytes(each),
        " and ",
        Piece::Time(done.ns / done.count.max(1)),
        " each"
    ]);
    Some(suspect)
}
