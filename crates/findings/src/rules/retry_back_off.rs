//! The same failure again and again, with pauses between that grow.
//!
//! A pause is told by its length, beside the ones before; that something failed each time, by as many errors of one kind
//! as there were pauses. What the failing would have to wait for is not known, so the gain is that of not failing.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "retry-back-off",
    looks_for: "growing pauses with the same error between them",
    why: "A failed operation is retried after a pause, and each pause is longer than the one before: most of the time is spent between the attempts.",
    advice: "find out why it fails: a peer that is down, a lock that is held, a limit; where a resource becomes free by itself, wait for that instead of retrying",
    wrong_if: "the cause of the failure is outside anyone's control, and the other side must be spared",
    limits: &[&limits::PAUSES, &limits::GROWS, &limits::MOST, &limits::FAILURES, &limits::OTHERS],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static PAUSES: Limit = Limit {
        name: "pauses",
        value: 4.0,
        unit: Unit::Count,
        means: "minimum number of pauses, each longer than the one before",
    };
    pub static GROWS: Limit = Limit {
        name: "growth",
        value: 1.2,
        unit: Unit::Ratio,
        means: "minimum factor of growth, in most cases",
    };
    pub static MOST: Limit = Limit {
        name: "max growth",
        value: 2.6,
        unit: Unit::Ratio,
        means: "maximum factor of growth",
    };
    pub static FAILURES: Limit = Limit {
        name: "failures",
        value: 0.7,
        unit: Unit::Count,
        means: "minimum number of errors of one kind per pause",
    };
    pub static OTHERS: Limit = Limit {
        name: "others",
        value: 4.0,
        unit: Unit::Count,
        means: "maximum number of errors per pause; with more they do not belong to the attempts",
    };
}

/// Failures after which trying again may help, of any call or of these only.
const FAILURES: [(&str, &[&str]); 15] = [
    ("ECONNREFUSED", &[]),
    ("ECONNRESET", &[]),
    ("ECONNABORTED", &[]),
    ("EHOSTUNREACH", &[]),
    ("ENETUNREACH", &[]),
    (
        "ETIMEDOUT",
        &["connect", "recvfrom", "recvmsg", "read", "sendto", "write"],
    ),
    ("EBUSY", &[]),
    ("EADDRINUSE", &[]),
    ("ETXTBSY", &[]),
    ("ENOBUFS", &[]),
    ("EPIPE", &[]),
    ("ENOENT", &["connect"]),
    (
        "EEXIST",
        &[
            "open",
            "openat",
            "mkdir",
            "mkdirat",
            "link",
            "linkat",
            "symlink",
            "symlinkat",
        ],
    ),
    (
        "EAGAIN",
        &["fcntl", "flock", "connect", "fork", "clone", "clone3"],
    ),
    ("EACCES", &["fcntl"]),
];

fn may_pass(call: &str, error: &str) -> bool {
    let known = FAILURES.iter().find(|(name, _)| *name == error);
    known.is_some_and(|(_, calls)| calls.is_empty() || calls.contains(&call))
}

/// A pause: how long, and its span.
type Pause = (u64, usize);

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut pauses: BTreeMap<ThreadId, Vec<(Nanos, Pause)>> = BTreeMap::new();
    // Where it is known whom it waited for, that is told elsewhere.
    let polls = inquiry.timeline.polls().supposed();
    let polled: BTreeSet<usize> = polls.flat_map(|poll| &poll.sleeps).copied().collect();
    for (at, _) in inquiry.waited.each().filter(|(at, _)| !polled.contains(at)) {
        let Some(span) = inquiry
            .timeline
            .span(at)
            .filter(|s| s.detail == Detail::Sleep)
        else {
            continue;
        };
        let pause = (span.t1.since(span.t0), at);
        pauses
            .entry(span.thread)
            .or_default()
            .push((span.t0, pause));
    }
    let mut ladders: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for (thread, mut pauses) in pauses {
        pauses.sort_unstable();
        let Some(slot) = inquiry.timeline.slot(thread) else {
            continue;
        };
        let pauses: Vec<Pause> = pauses.into_iter().map(|(_, pause)| pause).collect();
        let found = ladders
            .entry(inquiry.timeline.threads[slot].process)
            .or_default();
        for ladder in climbing(inquiry, &pauses) {
            found.extend(ladder.iter().map(|(_, span)| span));
        }
    }
    ladders.retain(|_, pauses| !pauses.is_empty());
    let each = ladders.iter();
    each.filter_map(|(process, pauses)| {
        let others = ladders.iter();
        let others = others
            .filter(|(other, _)| *other != process && inquiry.same_program(**other, *process));
        let others = others.flat_map(|(_, pauses)| pauses).copied();
        suspect(inquiry, *process, pauses.clone(), others)
    })
    .collect()
}

/// The stretches in which each pause is longer than the one before. The last may be repeated: there is a longest.
fn climbing<'a>(inquiry: &Inquiry<'_>, pauses: &'a [Pause]) -> Vec<&'a [Pause]> {
    let (grows, most) = (
        RULE.limit(inquiry, &limits::GROWS),
        RULE.limit(inquiry, &limits::MOST),
    );
    let steps = |stretch: &[Pause]| {
        let pairs = stretch.windows(2);
        let up = pairs.filter(|pair| pair[1].0 as f64 >= pair[0].0 as f64 * grows);
        up.count() as f64 + 1.0
    };
    // A pause may take a little less than the one before that asked for the same.
    const ALIKE: f64 = 0.95;
    let stretches = pauses.chunk_by(|(before, _), (next, _)| {
        let times = *next as f64 / (*before).max(1) as f64;
        (ALIKE..=most).contains(&times)
    });
    stretches
        .filter(|stretch| steps(stretch) >= RULE.limit(inquiry, &limits::PAUSES))
        .collect()
}

/// What fails again and again.
struct Failure<'a> {
    call: &'a str,
    error: &'a str,
    /// What it is mostly called on.
    on: Option<ObjectId>,
    count: u64,
}

/// How a call failed, and on what: the most often.
#[derive(Default)]
struct Failed {
    count: u64,
    on: BTreeMap<ObjectId, u64>,
}

/// The failure of which there are about as many as pauses.
fn failure<'a>(inquiry: &'a Inquiry<'_>, process: ProcessId, pauses: u64) -> Option<Failure<'a>> {
    let mut failures: BTreeMap<(&str, &str), Failed> = BTreeMap::new();
    let calls = inquiry.facts.calls.iter();
    for call in calls.filter(|call| call.process == Some(process)) {
        // Errors by name are of the calls that were timed.
        let scale = call.count as f64 / call.seen.max(1) as f64;
        for (error, count) in &call.errnos {
            let count = (*count as f64 * scale) as u64;
            let failed = failures.entry((&call.call, error)).or_default();
            failed.count += count;
            if let Some(object) = call.object {
                *failed.on.entry(object).or_default() += count;
            }
        }
    }
    let (least, most) = (
        RULE.limit(inquiry, &limits::FAILURES),
        RULE.limit(inquiry, &limits::OTHERS),
    );
    let pauses = pauses as f64;
    let fitting = failures.into_iter().filter(|((call, error), failed)| {
        let each = failed.count as f64 / pauses;
        (least..=most).contains(&each) && may_pass(call, error)
    });
    let nearest = fitting.min_by(|(_, a), (_, b)| {
        let far = |failed: &Failed| (failed.count as f64 / pauses).ln().abs();
        far(a).total_cmp(&far(b))
    });
    nearest.map(|((call, error), failed)| Failure {
        call,
        error,
        on: failed
            .on
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(on, _)| on),
        count: failed.count,
    })
}

/// A lock on a file that others hold, which `fcntl` and `flock` tell so.
const LOCKED: &str = "hold the lock on the file for a shorter time (in a database: do not wait for anything else within a transaction), or \
                      wait for it in place of asking again";

/// `others`: the same pauses of other processes of the program, through which the path would lead instead.
fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    pauses: Vec<usize>,
    others: impl Iterator<Item = usize>,
) -> Option<Suspect> {
    let picked = Picked::of(inquiry, process, pauses).and_of_others(inquiry, others);
    let failure = failure(inquiry, process, picked.count())?;
    let mut title = say![
        process,
        " retries ",
        Piece::Count(picked.count()),
        " times after ",
        Piece::Name(failure.call.to_owned())
    ];
    if let Some(on) = failure.on {
        title.0.extend([" of ".into(), on.into()]);
    }
    title.0.extend([
        " failed with ".into(),
        Piece::Name(failure.error.to_owned()),
        ", each time after a longer pause".into(),
    ]);
    let suspect = picked
        .suspect(inquiry, title, 0.0)
        .held(
            inquiry,
            &RULE,
            "pauses",
            picked.count() as f64,
            &limits::PAUSES,
        )
        .held(
            inquiry,
            &RULE,
            "failures for each pause",
            failure.count as f64 / picked.count() as f64,
            &limits::FAILURES,
        )
        .told(say![
            "the shortest pause is ",
            Piece::Time(picked.quantile(0.0)),
            ", the longest ",
            Piece::Time(picked.quantile(1.0)),
            "; ",
            Piece::Count(failure.count),
            " errors"
        ]);
    let is_lock = matches!(failure.call, "fcntl" | "flock");
    Some(match is_lock {
        true => suspect.about(failure.on).advised(LOCKED.to_owned()),
        false => suspect,
    })
}
