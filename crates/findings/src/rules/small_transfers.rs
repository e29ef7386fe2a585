//! Many small writes or reads of one file: what a call costs is paid for each of them.

use std::collections::BTreeSet;

use timesink_analysis::calls::CallSum;
use timesink_analysis::replay::What;
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static WRITES: Rule = Rule {
    name: "small-writes",
    looks_for: "many small writes of one file or pipe",
    why: "A call into the kernel costs the same for a byte as for thousands, and a pipe's reader may be woken for each.",
    advice: "collect in a buffer of 64 KiB or more, and write that",
    wrong_if: "somebody must see each piece at once",
    limits: &[
        Limit { name: "calls", value: 1000.0, means: "at least so many" },
        Limit { name: "bytes", value: 4096.0, means: "bytes each, on average, at most" },
    ],
    is_innocent: false,
    needs: &[Need::Calls, Need::Stacks],
    ask: |of| ask(of, &WRITES, &["write", "pwrite64", "writev", "pwritev"], "written"),
};

pub static READS: Rule = Rule {
    name: "tiny-reads",
    looks_for: "many tiny reads of one file or pipe",
    why: "A call into the kernel costs the same for a byte as for thousands.",
    advice: "read 64 KiB or more at a time, and take the pieces from there",
    wrong_if: "there is never more to be had at a time",
    limits: &[
        Limit {
            name: "calls",
            value: 1000.0,
            means: "at least so many",
        },
        Limit {
            name: "bytes",
            value: 16.0,
            means: "bytes each, on average, at most",
        },
    ],
    is_innocent: false,
    needs: &[Need::Calls, Need::Stacks],
    ask: |of| ask(of, &READS, &["read", "pread64", "readv", "preadv"], "read"),
};

/// Of all such calls of a process, those of the one thing are at least this share: the time of calls is known for the
/// process only.
const MOST: f64 = 0.8;

fn ask(
    of: &Inquiry<'_>,
    rule: &'static Rule,
    names: &[&'static str],
    done: &'static str,
) -> Vec<Suspect> {
    let calls = of.facts.calls.iter().filter(|call| {
        names.contains(&call.call.as_str())
            && call.count as f64 >= rule.limit(of, "calls")
            && call.bytes as f64 <= call.count as f64 * rule.limit(of, "bytes")
    });
    calls
        .filter_map(|call| suspect(of, rule, call, names, done))
        .collect()
}

fn suspect(
    of: &Inquiry<'_>,
    rule: &'static Rule,
    call: &CallSum,
    names: &[&'static str],
    done: &'static str,
) -> Option<Suspect> {
    let (process, object) = (call.process?, call.object?);
    let kind = of.facts.object(object)?.kind;
    if !matches!(kind, ObjectKind::File | ObjectKind::Pipe) {
        return None;
    }
    let alike = of
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
        " in pieces of ",
        Piece::Bytes(each),
        ", ",
        Piece::Count(call.count),
        " times"
    ];
    let what = What::Calls(names.iter().copied().collect::<BTreeSet<_>>());
    let fix = Fix::without(what, BTreeSet::from([process]));
    let suspect = Suspect::new(title, fix, Weight::within(of.busy(process), call.ns))
        .of(process)
        .about(Some(object))
        .held(of, rule, "calls", call.count as f64, "calls")
        .held(of, rule, "bytes each", each as f64, "bytes")
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
