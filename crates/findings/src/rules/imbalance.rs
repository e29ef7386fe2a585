//! Threads that share a work unevenly: all but one are done, and that one is waited for.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::pools::{over, work_ns, Pool};
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Thread;
use timesink_recording::Nanos;

use crate::alike::{is_managed, Works};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "imbalance",
    looks_for: "threads that share the same work, one of which does much more of it than the others",
    why: "The work is done when the last thread is done. The threads that finished earlier only wait.",
    advice: "divide the work into small parts, and let each thread fetch the next part when it has finished one",
    wrong_if: "the work of the last thread cannot be divided",
    limits: &[&limits::RATIO, &limits::ALONE, &limits::TOGETHER],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static RATIO: Limit = Limit {
        name: "ratio",
        value: 1.3,
        unit: Unit::Ratio,
        means: "minimum ratio of the work of the busiest thread to the average",
    };
    pub static ALONE: Limit = Limit {
        name: "alone",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the time in which the last thread works alone",
    };
    pub static TOGETHER: Limit = Limit {
        name: "together",
        value: 0.2,
        unit: Unit::Share,
        means: "maximum share of the time until all threads are started",
    };
}

/// Who does less of what the busiest does than this part was hardly meant to share it.
const PART: f64 = 0.01;
/// The last one must have been at work for this part of its life.
const AT_WORK: f64 = 0.8;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    if is_managed(inquiry) {
        return Vec::new();
    }
    let mut works = Works::new(inquiry);
    let pools = Pool::all(inquiry.timeline).into_iter();
    let threads = pools.filter(|pool| !pool.is_processes);
    threads
        .filter_map(|pool| suspect(inquiry, &pool, &mut works))
        .collect()
}

/// A work that threads share, and the one that does most of it.
struct Shared {
    threads: BTreeSet<ThreadId>,
    last: ThreadId,
    /// On a processor: the last one, and all of them on average.
    most_ns: u64,
    mean_ns: u64,
    /// When all others were done.
    before: Nanos,
    alone_ns: u64,
    whole_ns: u64,
}

/// What the threads of a pool share that do the same as the busiest of them, if that is the last one.
fn shared(inquiry: &Inquiry<'_>, pool: &Pool, works: &mut Works<'_>) -> Option<Shared> {
    let busiest = pool.rows(inquiry.timeline).max_by_key(|row| work_ns(row))?;
    let work = works.of_thread(busiest.thread)?;
    let least = work_ns(busiest) as f64 * PART;
    let some = pool.rows(inquiry.timeline);
    let some = some.filter(|row| work_ns(row) as f64 > least);
    let alike = some.filter(|row| {
        let other = works.of_thread(row.thread);
        other.is_some_and(|other| work.is_like(&other))
    });
    let rows: Vec<&Thread> = alike.collect();
    let last = rows.iter().max_by_key(|row| over(row))?;
    let others = rows.iter().filter(|row| row.thread != last.thread);
    let before = others.map(|row| over(row)).max()?;
    let from = rows.iter().map(|row| row.start).min()?;
    let whole_ns = over(last).since(from);
    let started = rows.iter().map(|row| row.start).max()?.since(from);
    let at_work = last.cpu_ns.saturating_add(last.ready_ns);
    let joins = pool
        .joins(inquiry.timeline)
        .into_iter()
        .zip(pool.rows(inquiry.timeline));
    let mut joined = joins.filter(|(join, row)| join.is_some() && row.thread == last.thread);
    let is_one = last.thread == busiest.thread
        && started as f64 <= whole_ns as f64 * RULE.limit(inquiry, &limits::TOGETHER)
        && at_work as f64 >= over(last).since(last.start) as f64 * AT_WORK
        && joined.next().is_some();
    is_one.then(|| Shared {
        threads: rows.iter().map(|row| row.thread).collect(),
        last: last.thread,
        most_ns: work_ns(last),
        mean_ns: rows.iter().map(|row| work_ns(row)).sum::<u64>() / rows.len() as u64,
        before,
        alone_ns: over(last).since(before),
        whole_ns,
    })
}

fn suspect(inquiry: &Inquiry<'_>, pool: &Pool, works: &mut Works<'_>) -> Option<Suspect> {
    let shared = shared(inquiry, pool, works)?;
    let ratio = shared.most_ns as f64 / shared.mean_ns.max(1) as f64;
    let alone = shared.alone_ns as f64 / shared.whole_ns.max(1) as f64;
    if ratio < RULE.limit(inquiry, &limits::RATIO) || alone < RULE.limit(inquiry, &limits::ALONE) {
        return None;
    }
    let process = pool.process(inquiry.timeline);
    let title = say![
        shared.last,
        " does most of the work of ",
        Piece::Count(shared.threads.len() as u64),
        " threads, which wait for it"
    ];
    let fix = Fix::Change(Change {
        what: What::Threads(shared.threads),
        processes: Some(BTreeSet::from([process])),
        how: How::Even,
    });
    let weight = Weight::within(inquiry.busy(process), shared.alone_ns);
    let mut suspect = Suspect::new(title, fix, weight)
        .of(process)
        .held(inquiry, &RULE, "of the average", ratio, &limits::RATIO)
        .held(inquiry, &RULE, "alone", alone, &limits::ALONE)
        .told(say![
            "it is on CPU for ",
            Piece::Time(shared.most_ns),
            "; the average of all is ",
            Piece::Time(shared.mean_ns)
        ])
        .told(say![
            "it works on alone for ",
            Piece::Time(shared.alone_ns),
            " after the others have finished"
        ]);
    suspect.examples = vec![Example {
        thread: shared.last,
        at: shared.before,
    }];
    suspect.frames = inquiry.mostly_in(shared.last);
    Some(suspect)
}
