//! Many small writes or reads of one file: what a call costs is paid for each of them.

use std::collections::BTreeSet;

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::facts::uses::Act;
use timesink_analysis::replay::{entered, What};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, ObjectKind};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static WRITES: Rule = Rule {
    name: "small-writes",
    looks_for: "many small writes to one file or pipe",
    why: "A system call costs the same for one byte as for thousands, and the reader of a pipe may be woken for each.",
    advice: "collect the data in a buffer of 64 KiB or more, and write that",
    wrong_if: "each piece must be seen at once",
    limits: &[&limits::CALLS, &limits::WRITE_BYTES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask: |inquiry| ask(inquiry, &WRITES, &limits::WRITE_BYTES, &["write", "pwrite64", "writev", "pwritev"], "written"),
};

pub static READS: Rule = Rule {
    name: "tiny-reads",
    looks_for: "many tiny reads from one file or pipe",
    why: "A system call costs the same for one byte as for thousands.",
    advice: "read 64 KiB or more at a time, and take the pieces from that buffer",
    wrong_if: "there is never more data available at a time",
    limits: &[&limits::CALLS, &limits::READ_BYTES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask: |inquiry| {
        ask(
            inquiry,
            &READS,
            &limits::READ_BYTES,
            &["read", "pread64", "readv", "preadv"],
            "read",
        )
    },
};

/// What the rules go by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CALLS: Limit = Limit {
        name: "calls",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of calls",
    };
    pub static WRITE_BYTES: Limit = Limit {
        name: "bytes",
        value: 1024.0,
        unit: Unit::Bytes,
        means: "maximum bytes per call, on average; the buffer of a stream has 4096",
    };
    pub static READ_BYTES: Limit = Limit {
        name: "bytes",
        value: 16.0,
        unit: Unit::Bytes,
        means: "maximum bytes per call, on average",
    };
}

/// Of all such calls of a process, those of the one thing are at least this share: the time of calls is known for the
/// process only.
const MOST: f64 = 0.8;
/// Who waits less often than once in so many reads finds that there is more.
const SELDOM: u64 = 10;
/// To move a byte in large pieces takes so long (measured, into the page cache of ext4).
const NS_PER_BYTE: f64 = 0.35;

fn ask(
    inquiry: &Inquiry<'_>,
    rule: &'static Rule,
    most_bytes: &'static Limit,
    names: &[&'static str],
    done: &'static str,
) -> Vec<Suspect> {
    let calls = inquiry.facts.calls.iter().filter(|call| {
        names.contains(&call.call.as_str())
            && call.count as f64 >= rule.limit(inquiry, &limits::CALLS)
            && call.bytes as f64 <= call.count as f64 * rule.limit(inquiry, most_bytes)
    });
    calls
        .filter_map(|call| suspect(inquiry, rule, most_bytes, call, names, done))
        .collect()
}

/// Whether the calls mostly wait for the disk, for what they read or until what they wrote is safe: then it is not the
/// call that takes the time.
fn waits_for_disk(inquiry: &Inquiry<'_>, call: &CallSum) -> bool {
    let (Some(process), Some(object)) = (call.process, call.object) else {
        return false;
    };
    let waits = [Detail::Flush, Detail::DiskWrite, Detail::DiskRead]
        .map(|detail| inquiry.waited_for(process, detail, object));
    waits.iter().sum::<u64>() * 2 >= call.count
}

/// Whether a process waits on another pipe about as often as it writes to this one: it asks and is answered, and what it
/// writes cannot wait until there is more of it.
fn is_dialogue(inquiry: &Inquiry<'_>, process: ProcessId, pipe: ObjectId) -> bool {
    /// Of the writes so many are followed by a wait for the answer.
    const ANSWERED: u64 = 4;
    let uses = || {
        inquiry
            .facts
            .uses
            .all
            .iter()
            .filter(|one| one.process == process)
    };
    let on_this = uses().find(|one| one.object == pipe);
    let on_this = on_this.map_or(0, |one| {
        one.done(Act::Write).count.max(one.done(Act::Read).count)
    });
    let talks = |kind| {
        matches!(
            kind,
            ObjectKind::Pipe | ObjectKind::UnixSocket | ObjectKind::TcpSocket
        )
    };
    let mut others = uses().filter(|one| {
        let kind = inquiry.facts.object(one.object).map(|object| object.kind);
        one.object != pipe && kind.is_some_and(talks)
    });
    others.any(|one| {
        let (reads, writes) = (one.done(Act::Read).count, one.done(Act::Write).count);
        reads.max(writes) * ANSWERED >= on_this && on_this > 0
    })
}

/// Whether what is read from a pipe was written in pieces as small: there never was more to be had.
fn comes_in_pieces(inquiry: &Inquiry<'_>, call: &CallSum) -> bool {
    if !Act::Read.calls().contains(&call.call.as_str()) {
        return false;
    }
    let uses = inquiry.facts.uses.all.iter();
    let writes = uses
        .filter(|one| Some(one.object) == call.object)
        .map(|one| one.done(Act::Write));
    let (count, bytes) = writes.fold((0u64, 0u64), |(count, bytes), done| {
        (count + done.count, bytes + done.bytes)
    });
    if count == 0 {
        // Who wrote is not known, as with splice(2). Who reads what is written piece by piece waits for most pieces.
        let waits = call
            .process
            .zip(call.object)
            .map(|(process, pipe)| inquiry.waited_for(process, Detail::PipeRead, pipe));
        return waits.unwrap_or(0) * SELDOM >= call.count;
    }
    bytes * call.count <= 2 * call.bytes * count
}

fn suspect(
    inquiry: &Inquiry<'_>,
    rule: &'static Rule,
    most_bytes: &'static Limit,
    call: &CallSum,
    names: &[&'static str],
    done: &'static str,
) -> Option<Suspect> {
    let (process, object) = (call.process?, call.object?);
    let kind = inquiry.facts.object(object)?.kind;
    let may_wait = match kind {
        ObjectKind::File => !waits_for_disk(inquiry, call),
        ObjectKind::Pipe => {
            !is_dialogue(inquiry, process, object) && !comes_in_pieces(inquiry, call)
        }
        _ => false,
    };
    if !may_wait {
        return None;
    }
    let alike = inquiry
        .facts
        .calls
        .iter()
        .filter(|other| other.process == Some(process) && names.contains(&other.call.as_str()));
    let all: u64 = alike.map(|other| other.count).sum();
    if (call.count as f64) < all as f64 * MOST {
        return None;
    }
    let each = call.bytes / call.count.max(1);
    let title = say![
        object,
        " is ",
        done,
        " ",
        Piece::Count(call.count),
        " times in pieces of ",
        Piece::Bytes(each)
    ];
    let what = What::Calls(names.iter().copied().collect::<BTreeSet<_>>());
    // Bytes have to be moved in any case.
    let takes = call.ns as f64 / call.count.max(1) as f64;
    let moving = (each as f64 * NS_PER_BYTE / takes.max(1.0)).min(1.0);
    let processes = BTreeSet::from([process]);
    let is_such = |function: &str| {
        let call = entered(function)?;
        names.contains(&call).then_some(0)
    };
    let threads = inquiry.threads_of(&processes);
    let by_sites = inquiry.stacks.region_of_sites(&threads, |site| {
        let is_such = site.object == Some(object) && names.contains(&site.call.as_str());
        is_such.then_some(0)
    });
    let region = by_sites.or_else(|| inquiry.stacks.region(&threads, is_such));
    let fix = Fix::scaled(what, processes.clone(), moving);
    // With each call goes what the program and its language do for it.
    let suspect = Suspect::new(title, fix, Weight::within(inquiry.busy(process), call.ns))
        .with_what_is_around(processes, &[names])
        .on([object])
        .of(process)
        .about(Some(object))
        .seen_around(inquiry, region.as_ref())
        .or_seen_at(inquiry, process, names, &BTreeSet::from([object]))
        .held(inquiry, rule, "calls", call.count as f64, &limits::CALLS)
        .held(inquiry, rule, "bytes each", each as f64, most_bytes)
        .told(say![
            if call.estimated { "about " } else { "" },
            Piece::Count(call.count),
            " calls, ",
            Piece::Bytes(each),
            " and ",
            Piece::Time(call.ns / call.count.max(1)),
            " each"
        ]);
    Some(suspect)
}
