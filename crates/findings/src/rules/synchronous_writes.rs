//! Small writes each of which waits until the disk says that it is safe: a file opened with O_SYNC or O_DSYNC.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::{Act, Use};
use timesink_recording::words::Detail;

use crate::file_functions::act;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "synchronous-writes",
    looks_for: "small writes to a file opened with O_SYNC or O_DSYNC",
    why: "Each write waits until the disk reports that the data are safe. That takes about as long for one row as for a thousand.",
    advice: "write many rows at once, or open the file without O_SYNC and flush after each batch",
    wrong_if: "each write must survive a crash on its own",
    limits: &[&limits::WRITES, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WRITES: Limit = Limit {
        name: "writes",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of writes to one file that waited",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes per write, on average",
    };
}

/// A file is also flushed by calls of its own: if there are more of them than this for each write, they are what waits.
const FLUSHED: f64 = 0.25;
/// Of the writes so many wait, at least. What the disk has done at once is no wait.
const WAITING: f64 = 0.5;
/// So much of what was waited for the disk is at least in the writes themselves: a flush waits several times, too, and a few writes without
/// any wait may come before it.
const IN_WRITES: f64 = 0.5;
const FLUSHES: [&str; 4] = ["fsync", "fdatasync", "sync_file_range", "msync"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let uses = inquiry.facts.uses.all.iter();
    let small = uses.filter(|one| {
        let writes = one.done(Act::Write);
        writes.count as f64 >= RULE.limit(inquiry, &limits::WRITES)
            && writes.bytes as f64 <= writes.count as f64 * RULE.limit(inquiry, &limits::BYTES)
    });
    small.filter_map(|one| suspect(inquiry, one)).collect()
}

/// How many of the writes waited for the disk, if it is them that did.
fn waited(inquiry: &Inquiry<'_>, one: &Use) -> Option<u64> {
    let writes = one.done(Act::Write).count;
    let waits = |detail| inquiry.waited_for(one.process, detail, one.object);
    let flushed = waits(Detail::Flush);
    // A short wait in a write is only known to be for the disk. One write may wait several times.
    let waited = (flushed + waits(Detail::DiskWrite)).min(writes);
    let flushes = inquiry.facts.calls.iter().filter(|call| {
        call.process == Some(one.process)
            && call.object == Some(one.object)
            && FLUSHES.contains(&call.call.as_str())
    });
    let flushes: u64 = flushes.map(|call| call.count).sum();
    let waited_ns = [Detail::Flush, Detail::DiskWrite]
        .map(|detail| inquiry.waited_ns(one.process, detail, one.object));
    let waited_ns = waited_ns.into_iter().fold(0, u64::saturating_add) as f64;
    let enough = flushed as f64 >= RULE.limit(inquiry, &limits::WRITES)
        && waited as f64 >= writes as f64 * WAITING
        && flushes as f64 <= writes as f64 * FLUSHED
        && one.done(Act::Write).ns as f64 >= waited_ns * IN_WRITES;
    enough.then_some(waited)
}

fn suspect(inquiry: &Inquiry<'_>, one: &Use) -> Option<Suspect> {
    let (process, object, writes) = (one.process, one.object, one.done(Act::Write));
    let waited = waited(inquiry, one)?;
    let mut causes = inquiry.waits_on_path(|key| {
        key.object == Some(object) && inquiry.same_program(key.process, process)
    });
    causes.extend(inquiry.busy(process));
    let title = say![
        object,
        " is written ",
        Piece::Count(writes.count),
        " times, and each write waits for the disk"
    ];
    let processes = BTreeSet::from([process]);
    let share = inquiry.facts.uses.share_of_time(one, &[Act::Write]);
    let region = inquiry
        .stacks
        .region(&inquiry.threads_of(&processes), |function| {
            (act(function)? == Act::Write).then_some(0)
        });
    let files = BTreeSet::from([object]);
    let fix = Fix::without_waits_for(inquiry, &files, processes.clone()).and_calls(
        Act::Write.calls(),
        share,
        processes.clone(),
    );
    let each = writes.bytes / writes.count.max(1);
    let suspect = Suspect::new(title, fix, Weight::within(causes, writes.ns))
        .with_whole_items(processes, &[Act::Write.calls()])
        .with_all_between()
        .on([object])
        .else_in(region.as_ref())
        .of(process)
        .about(Some(object))
        .seen_around(inquiry, region.as_ref())
        .held(
            inquiry,
            &RULE,
            "writes that waited",
            waited as f64,
            &limits::WRITES,
        )
        .held(inquiry, &RULE, "bytes each", each as f64, &limits::BYTES)
        .told(say![
            if one.estimated { "about " } else { "" },
            Piece::Count(writes.count),
            " writes of ",
            Piece::Bytes(each),
            ", ",
            Piece::Time(writes.ns / writes.count.max(1)),
            " each"
        ]);
    Some(suspect)
}
