//! A program that carries a file over to another file or to a socket itself, in small pieces that it does not look at.
//!
//! The kernel can copy without the program. What that buys depends on the pieces: between files in the page cache (ext4)
//! it is what the calls cost, and with pieces of 64 KiB there was nothing left to gain. So larger pieces are not told,
//! nor are pipes and Unix sockets, where whoever reads the other end decides how long it takes. That nobody looks at what
//! is copied the samples must show.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::{Act, Use};
use timesink_analysis::replay::entered;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::words::{Language, ObjectKind};

use crate::file_functions::act;
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "user-space-copying",
    looks_for: "a file copied in small pieces that the program does not look at",
    why: "Each piece costs two system calls and is copied twice, out of the kernel and back into it. The kernel can copy all of it in one call.",
    advice: "let the kernel copy: copy_file_range from file to file, sendfile from a file to a socket; or copy 64 KiB or more at a time, which was as fast between files (measured on ext4)",
    wrong_if: "the program has to see what it copies, or must be able to stop after each piece",
    limits: &[&limits::MEGABYTES, &limits::BYTES, &limits::DIFFER, &limits::LOOKS, &limits::WAITS, &limits::SHARE],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static MEGABYTES: Limit = Limit {
        name: "amount",
        value: 64.0,
        unit: Unit::Megabytes,
        means: "minimum amount copied from one object to another",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 8192.0,
        unit: Unit::Bytes,
        means: "maximum bytes per piece, on average; with more there is little to gain",
    };
    pub static DIFFER: Limit = Limit {
        name: "difference",
        value: 0.02,
        unit: Unit::Share,
        means: "maximum difference between reads and writes, in number and bytes, as a share",
    };
    pub static LOOKS: Limit = Limit {
        name: "other work",
        value: 0.1,
        unit: Unit::Share,
        means: "maximum share of its time on CPU spent on anything but reading and writing",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 0.2,
        unit: Unit::Share,
        means: "maximum time waiting for either of the two, relative to the time on CPU",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.05,
        unit: Unit::Share,
        means: "minimum share of the critical path spent copying",
    };
}

/// A pair of calls takes so long as so many bytes more, at least and at most. Measured on 2026-11-22, of what copying in
/// pieces of 4 KiB took the kernel alone took 28 % from file to file (as 10,500 bytes would) and 39 % from a file to a TCP
/// socket (6,400); in pieces of 16 KiB 63 and 60 %, but not each time. In some rounds of
/// whole programs no more than a tenth was left with pieces of 4 KiB.
const CALLS_AS_BYTES: (f64, f64) = (5_000.0, 30_000.0);
/// Where no function is known that only copies, so many of the program's reads and writes must be of these two.
const MOST: f64 = 0.8;

/// What one process carries from one thing to another.
struct Copied<'a> {
    from: &'a Use,
    to: &'a Use,
    bytes: u64,
    /// Reads and writes in pairs.
    pairs: u64,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let large = |bytes: u64| bytes as f64 >= RULE.limit(inquiry, &limits::MEGABYTES) * 1e6;
    let uses = || inquiry.facts.uses.all.iter();
    let sources = uses().filter(|one| {
        large(one.done(Act::Read).bytes) && is_kind(inquiry, one.object, &[ObjectKind::File])
    });
    let targets: Vec<&Use> = uses()
        .filter(|one| {
            const KINDS: [ObjectKind; 2] = [ObjectKind::File, ObjectKind::TcpSocket];
            large(one.done(Act::Write).bytes) && is_kind(inquiry, one.object, &KINDS)
        })
        .collect();
    sources
        .flat_map(|from| targets.iter().map(move |&to| (from, to)))
        .filter(|(from, to)| from.process == to.process && from.object != to.object)
        .filter_map(|(from, to)| suspect(inquiry, &copied(inquiry, from, to)?))
        .collect()
}

fn is_kind(inquiry: &Inquiry<'_>, object: ObjectId, kinds: &[ObjectKind]) -> bool {
    let object = inquiry.facts.object(object);
    object.is_some_and(|object| kinds.contains(&object.kind))
}

/// As many bytes, in as many pieces: it is carried over as it is.
fn copied<'a>(inquiry: &Inquiry<'_>, from: &'a Use, to: &'a Use) -> Option<Copied<'a>> {
    let (reads, writes) = (from.done(Act::Read), to.done(Act::Write));
    let differ = |a: u64, b: u64| {
        a.abs_diff(b) as f64 > a.max(b) as f64 * RULE.limit(inquiry, &limits::DIFFER)
    };
    if differ(reads.bytes, writes.bytes) || differ(reads.count, writes.count) {
        return None;
    }
    let copied = Copied {
        from,
        to,
        bytes: reads.bytes.min(writes.bytes),
        pairs: reads.count.max(writes.count).max(1),
    };
    (copied.bytes as f64 / copied.pairs as f64 <= RULE.limit(inquiry, &limits::BYTES))
        .then_some(copied)
}

fn suspect(inquiry: &Inquiry<'_>, copied: &Copied<'_>) -> Option<Suspect> {
    let process = copied.from.process;
    let threads = inquiry.threads_of(&BTreeSet::from([process]));
    let (code, looks) = code(inquiry, copied, &threads)?;
    let (ns, share) = (code.ns(), code.share(inquiry));
    let objects = [copied.from.object, copied.to.object];
    let waits = inquiry.waits_on_path(|key| {
        key.object.is_some_and(|object| objects.contains(&object))
            && inquiry.same_program(key.process, process)
    });
    let waits = inquiry.on_path_ns(&waits) as f64 / ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || looks > RULE.limit(inquiry, &limits::LOOKS)
        || waits > RULE.limit(inquiry, &limits::WAITS)
    {
        return None;
    }
    let each = copied.bytes / copied.pairs;
    let left = |calls: f64| vec![code.scaled(each as f64 / (each as f64 + calls))];
    let fix = Fix::Between(left(CALLS_AS_BYTES.0), left(CALLS_AS_BYTES.1));
    let title = say![
        copied.from.object,
        " is copied to ",
        copied.to.object,
        " in pieces of ",
        Piece::Bytes(each),
        ", ",
        Piece::Bytes(copied.bytes),
        " in all"
    ];
    let estimated = copied.from.estimated || copied.to.estimated;
    let suspect = code
        .suspect(inquiry, title, fix)
        .of(process)
        .about(Some(copied.from.object))
        .held(
            inquiry,
            &RULE,
            "megabytes",
            copied.bytes as f64 / 1e6,
            &limits::MEGABYTES,
        )
        .held(inquiry, &RULE, "bytes each", each as f64, &limits::BYTES)
        .held(inquiry, &RULE, "share that looks", looks, &limits::LOOKS)
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .told(say![
            if estimated { "about " } else { "" },
            Piece::Count(copied.pairs),
            " reads and as many writes; ",
            Piece::Percent(share * 100.0),
            " of the critical path"
        ])
        .told(say![
            Piece::Percent(looks * 100.0),
            " of that is spent on anything but reading and writing"
        ]);
    Some(suspect)
}

/// Where it copies, and which share of the time on a processor there is anything but reading and writing.
fn code(inquiry: &Inquiry<'_>, copied: &Copied<'_>, threads: &[ThreadId]) -> Option<(InCode, f64)> {
    let process = copied.from.process;
    // Around a call there is the way into the kernel and back, in the C library's function of its name.
    let copies = |names: &[&str]| {
        let is_copying =
            |name: &&str| matches!(act(name), Some(Act::Read | Act::Write)) || is_wrapper(name);
        names.iter().any(is_copying)
    };
    let kind = |name: &str| {
        let act = act(entered(name).map(|_| name)?)?;
        matches!(act, Act::Read | Act::Write).then_some(act as usize)
    };
    if let Some(region) = inquiry.stacks.region(threads, kind) {
        let name = inquiry.stacks.code.function(region.function).name.as_str();
        let within = |names: &[&str]| names.contains(&name);
        let (part, whole) = inquiry.stacks.part(threads, within, copies);
        let looks = 1.0 - part as f64 / whole.max(1) as f64;
        let code = InCode::through(inquiry, BTreeSet::from([region.function]));
        return Some((code.in_program(inquiry, process), looks));
    }
    // It is done in no function of its own: then all that the program does must be that.
    let uses = &inquiry.facts.uses;
    let shares = [(copied.from, Act::Read), (copied.to, Act::Write)]
        .map(|(one, act)| uses.share_of_calls(one, act));
    let (part, whole) = inquiry.stacks.part(threads, |_| true, copies);
    let looks = 1.0 - part as f64 / whole.max(1) as f64;
    let code = InCode::of(inquiry, |function| {
        function.language == Language::Kernel && kind(&function.name).is_some()
    });
    let mostly = shares.iter().all(|share| *share >= MOST) && whole > 0;
    mostly.then(|| (code.in_program(inquiry, process), looks))
}

/// The C library's function that makes such a call: it has names that no program may give to its own.
fn is_wrapper(name: &str) -> bool {
    const STARTS: [&str; 3] = ["__libc_", "__GI___libc_", "__GI___"];
    let mut starts = STARTS.iter();
    let call = starts.find_map(|start| name.strip_prefix(start));
    let acts = [Act::Read, Act::Write];
    call.is_some_and(|call| acts.iter().any(|act| act.calls().contains(&call)))
}
