//! Threads that share a work unevenly: all but one are done, and that one is waited for.

use std::collections::BTreeSet;

use timesink_analysis::pools::{over, Pool};
use timesink_analysis::replay::{Change, How, What};
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Thread;

use crate::alike::{is_managed, Works};
use crate::inquiry::Inquiry;
use crate::rule::{Example, Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "imbalance",
    looks_for: "threads that do the same work side by side, one of them much more of it than the others",
    why: "The work is done when the last thread is done. Those that were done before only wait.",
    advice: "deal it out in small parts: let each thread fetch the next part when it is through with one",
    wrong_if: "what the last thread does cannot be divided",
    limits: &[
        Limit { name: "ratio", value: 1.3, means: "what the busiest does, as so many times what they do on average" },
        Limit { name: "alone", value: 0.2, means: "of the time the last one works alone, at least" },
        Limit { name: "together", value: 0.2, means: "of the time, at most, until all were started" },
    ],
    is_innocent: false,
    needs: &[Need::Stacks],
    ask,
};

/// Who does less of what the busiest does than this part was hardly meant to share it.
const PART: f64 = 0.01;
/// The last one must have been at work for this part of its life.
const AT_WORK: f64 = 0.8;

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    if is_managed(of) {
        return Vec::new();
    }
    let mut works = Works::new(of);
    let pools = Pool::all(of.timeline).into_iter();
    let threads = pools.filter(|pool| !pool.is_processes);
    threads
        .filter_map(|pool| suspect(of, &pool, &mut works))
        .collect()
}

fn suspect(of: &Inquiry<'_>, pool: &Pool, works: &mut Works<'_>) -> Option<Suspect> {
    let busiest = pool.rows(of.timeline).max_by_key(|row| row.cpu_ns)?;
    let work = works.of_thread(busiest.thread)?;
    let least = busiest.cpu_ns as f64 * PART;
    let some = pool
        .rows(of.timeline)
        .filter(|row| row.cpu_ns as f64 > least);
    let alike = some.filter(|row| {
        works
            .of_thread(row.thread)
            .is_some_and(|other| work.is_like(&other))
    });
    let rows: Vec<&Thread> = alike.collect();
    let last = rows.iter().max_by_key(|row| over(row))?;
    let others = rows.iter().filter(|row| row.thread != last.thread);
    let before = others.map(|row| over(row)).max()?;
    let from = rows.iter().map(|row| row.start).min()?;
    let whole = over(last).since(from);
    let alone = over(last).since(before);
    let mean = rows.iter().map(|row| row.cpu_ns).sum::<u64>() as f64 / rows.len() as f64;
    let ratio = busiest.cpu_ns as f64 / mean.max(1.0);
    let started = rows.iter().map(|row| row.start).max()?.since(from);
    let at_work = last.cpu_ns.saturating_add(last.ready_ns);
    let joined = pool.joins(of.timeline);
    let place = pool
        .members
        .iter()
        .position(|&slot| of.timeline.threads[slot].thread == last.thread)?;
    if last.thread != busiest.thread
        || ratio < RULE.limit(of, "ratio")
        || (alone as f64) < whole as f64 * RULE.limit(of, "alone")
        || started as f64 > whole as f64 * RULE.limit(of, "together")
        || (at_work as f64) < over(last).since(last.start) as f64 * AT_WORK
        || joined[place].is_none()
    {
        return None;
    }
    let process = pool.process(of.timeline);
    let title = say![
        last.thread,
        " does most of what ",
        Piece::Count(rows.len() as u64),
        " threads share, and is waited for"
    ];
    let threads: BTreeSet<ThreadId> = rows.iter().map(|row| row.thread).collect();
    let fix = Fix::Change(Change {
        what: What::Threads(threads),
        processes: Some(BTreeSet::from([process])),
        how: How::Even,
    });
    let mut suspect = Suspect::new(title, fix, Weight::within(of.busy(process), alone))
        .of(process)
        .held(of, &RULE, "of the average", ratio, "ratio")
        .held(
            of,
            &RULE,
            "alone",
            alone as f64 / whole.max(1) as f64,
            "alone",
        )
        .told(say![
            "it is on a processor for ",
            Piece::Time(busiest.cpu_ns),
            ", they are for ",
            Piece::Time(mean as u64),
            " on average"
        ])
        .told(say![
            "it works on for ",
            Piece::Time(alone),
            " after the others are done"
        ]);
    suspect.examples = vec![Example {
        thread: last.thread,
        at: before,
    }];
    Some(suspect)
}
