//! A thread that wants to write under a read-write lock, and waits while readers come and go.
//!
//! Readers that find the lock free for reading make no call, so who had it is not recorded; the path goes to what they do meanwhile. That a
//! writer waits for long, again and again, in a function that takes such a lock for writing, its own stacks say.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::timeline::Span;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "starved-writer",
    looks_for: "long waits to write under a read-write lock that readers hold",
    why: "Most read-write locks let readers in as long as others read: a writer waits until none of them is left, however many come meanwhile.",
    advice: "have the lock prefer writers (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP for POSIX threads), and hold it for shorter: no sleep and no I/O under it; or let readers use a copy that the writer replaces",
    wrong_if: "one reader holds the lock for all of that time",
    limits: &[&limits::WAITS, &limits::SHARE, &limits::LENGTH],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of waits to write",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the wall time that they take",
    };
    /// Measured (2026-11-30): 10 ms behind three readers that hold the lock for 2 ms each, 46 ms on a busy machine; up to 2 ms with a lock
    /// that prefers writers.
    pub static LENGTH: Limit = Limit {
        name: "length",
        value: 5e6,
        unit: Unit::Nanoseconds,
        means: "minimum average of these waits",
    };
}

/// Functions that take such a lock for writing.
const WRITES: [&str; 9] = [
    "pthread_rwlock_wrlock",
    "__pthread_rwlock_wrlock",
    "___pthread_rwlock_wrlock",
    "__pthread_rwlock_wrlock_full64",
    "pthread_rwlock_timedwrlock",
    "std::sys::sync::rwlock::futex::RwLock::write_contended",
    "parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow",
    "java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock",
    "sync.(*RWMutex).Lock",
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let groups = inquiry.waits().iter();
    let locks = groups.filter(|group| matches!(group.detail, Detail::Lock | Detail::Condition));
    let to_write = locks.filter(|group| {
        let mut functions = inquiry.functions(group.stack);
        functions.any(|function| WRITES.contains(&function.name.as_str()))
    });
    to_write
        .filter_map(|group| suspect(inquiry, group))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let wall = inquiry.outlook.wall_ns.max(1) as f64;
    let (count, each) = (group.count() as f64, group.ns / group.count().max(1));
    let share = (group.ns as f64 / wall).min(1.0);
    if count < RULE.limit(inquiry, &limits::WAITS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || (each as f64) < RULE.limit(inquiry, &limits::LENGTH)
    {
        return None;
    }
    let own = BTreeSet::from([group.process]);
    let title = say![
        group.process,
        " waits ",
        Piece::Count(group.count()),
        " times to write under a read-write lock, ",
        Piece::Time(each),
        " each, while others read"
    ];
    let suspect = Suspect::new(
        title,
        fix(inquiry, group),
        Weight::within(inquiry.all_of(&own), group.ns),
    )
    .about(group.object)
    .seen_in(inquiry, Some(group))
    .held(inquiry, &RULE, "waits", count, &limits::WAITS)
    .held(inquiry, &RULE, "share of the time", share, &limits::SHARE)
    .held(inquiry, &RULE, "length", each as f64, &limits::LENGTH);
    Some(suspect.of(group.process))
}

/// The writer does not wait. Whether what the readers do goes with that is not known: they may go on until the writer has written.
fn fix(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Fix {
    let waits = inquiry.single_waits(|process| process == group.process);
    let waits: Vec<_> = waits.collect();
    let is_meant = |span: &Span| span.detail == group.detail && span.object() == group.object;
    let own = BTreeSet::from([group.process]);
    let of_writer = waits.iter().filter(|(_, span)| is_meant(span));
    let of_writer = What::Spans(of_writer.map(|(at, _)| *at).collect());
    let of_readers = waits
        .iter()
        .filter(|(_, span)| span.detail == Detail::Sleep);
    let of_readers = What::Spans(of_readers.map(|(at, _)| *at).collect());
    let without = |what| Fix::without(what, own.clone()).changes();
    let least = without(of_writer);
    let most = least.iter().cloned().chain(without(of_readers)).collect();
    Fix::Between(least, most)
}
