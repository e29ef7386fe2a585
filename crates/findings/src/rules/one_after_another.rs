//! Threads, or copies of a process, each of which is waited for before the next one is started.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::pools::{over, Pool};
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "one-after-another",
    looks_for: "threads or forked processes that are started and waited for one at a time",
    why: "A thread that waits for each worker right after starting it could have done the work itself: nothing runs in parallel.",
    advice: "start all of them, and wait for them afterwards",
    wrong_if: "each of them needs the result of the one before",
    limits: &[&limits::WORKERS, &limits::LIFE, &limits::GAP],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WORKERS: Limit = Limit {
        name: "workers",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of workers one after another",
    };
    pub static LIFE: Limit = Limit {
        name: "life",
        value: 2e6,
        unit: Unit::Nanoseconds,
        means: "minimum lifetime of each",
    };
    pub static GAP: Limit = Limit {
        name: "gap",
        value: 0.1,
        unit: Unit::Share,
        means:
            "maximum share of the time between the first start and the last end without any of them",
    };
}

/// A shell copies itself for what it has to keep apart, and means it to be done in order.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let pools = Pool::all(inquiry.timeline);
    let pools = pools
        .iter()
        .filter(|pool| !pool.is_processes || is_copies(inquiry, pool));
    pools.flat_map(|pool| suspects(inquiry, pool)).collect()
}

/// Whether these processes go on with the program that started them, and that is no shell.
fn is_copies(inquiry: &Inquiry<'_>, pool: &Pool) -> bool {
    let program = inquiry
        .program(pool.process(inquiry.timeline))
        .unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let copies: BTreeSet<ProcessId> = pool.rows(inquiry.timeline).map(|row| row.process).collect();
    let mut starts = inquiry.facts.starts.iter();
    let mut starts = starts
        .by_ref()
        .filter(|start| copies.contains(&start.process));
    !SHELLS.contains(&name) && starts.all(|start| start.execs == 0)
}

/// The stretches in which each was waited for before the next one was started.
fn suspects(inquiry: &Inquiry<'_>, pool: &Pool) -> Vec<Suspect> {
    let joins = pool.joins(inquiry.timeline);
    let row = |at: usize| &inquiry.timeline.threads[pool.members[at]];
    let joined = |at: usize| joins[at].and_then(|index| inquiry.timeline.span(index));
    let mut found = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    for at in 0..pool.members.len() {
        let life = over(row(at)).since(row(at).start);
        let works = life as f64 >= RULE.limit(inquiry, &limits::LIFE);
        let after = |&before: &usize| joined(before).is_some_and(|wait| wait.t1 <= row(at).start);
        if !run.last().is_none_or(after) || !works || joined(at).is_none() {
            found.extend(suspect(inquiry, pool, &joins, &std::mem::take(&mut run)));
        }
        if works && joined(at).is_some() {
            run.push(at);
        }
    }
    found.extend(suspect(inquiry, pool, &joins, &run));
    found
}

fn suspect(
    inquiry: &Inquiry<'_>,
    pool: &Pool,
    joins: &[Option<usize>],
    run: &[usize],
) -> Option<Suspect> {
    if (run.len() as f64) < RULE.limit(inquiry, &limits::WORKERS) {
        return None;
    }
    let rows = || {
        run.iter()
            .map(|&at| &inquiry.timeline.threads[pool.members[at]])
    };
    let lives: u64 = rows().map(|row| over(row).since(row.start)).sum();
    let whole = over(rows().last()?).since(rows().next()?.start);
    let gap = 1.0 - lives as f64 / whole.max(1) as f64;
    if gap > RULE.limit(inquiry, &limits::GAP) {
        return None;
    }
    let process = pool.process(inquiry.timeline);
    let count = run.len() as u64;
    let title = say![
        process,
        if pool.is_processes {
            " forks "
        } else {
            " starts "
        },
        Piece::Count(count),
        if pool.is_processes {
            " copies of itself"
        } else {
            " threads"
        },
        " and waits for each before it starts the next"
    ];
    let processes: BTreeSet<ProcessId> = rows().map(|row| row.process).chain([process]).collect();
    let causes = inquiry.all_of(&processes);
    let waits: BTreeSet<usize> = run.iter().filter_map(|&at| joins[at]).collect();
    let first = waits.first().and_then(|&at| inquiry.timeline.span(at));
    let joins = inquiry.waits().iter().filter(|group| {
        group.process == process && first.is_some_and(|span| group.detail == span.detail)
    });
    let fix = Fix::Change(Change {
        what: What::Spans(waits),
        processes: Some(processes),
        how: How::Last,
    });
    let mut suspect = Suspect::new(title, fix, Weight::within(causes, lives))
        .of(process)
        .seen_in_most(inquiry, joins)
        .held(
            inquiry,
            &RULE,
            "one after another",
            count as f64,
            &limits::WORKERS,
        )
        .held(inquiry, &RULE, "time without any", gap, &limits::GAP)
        .told(say![
            "each lives for ",
            Piece::Time(lives / count.max(1)),
            "; one at a time they take ",
            Piece::Time(whole)
        ]);
    let starts = rows().take(3).map(|row| Example {
        thread: row.thread,
        at: row.start,
    });
    suspect.examples = starts.collect();
    Some(suspect)
}
