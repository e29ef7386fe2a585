//! Threads, copies of a process, or children at work, each of which is waited for before the next one is started.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::pools::{over, work_ns, Pool};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State, WakeSource};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};
use crate::shells::SHELLS;

pub static RULE: Rule = Rule {
    name: "one-after-another",
    looks_for: "threads, forked processes or CPU-bound programs that are started and waited for one at a time",
    why: "A program that waits for each worker right after starting it runs nothing in parallel, and the other CPUs stay idle.",
    advice: "start all of them, and wait for them afterwards",
    wrong_if: "each of them needs the result of the one before",
    limits: &[&limits::WORKERS, &limits::LIFE, &limits::GAP, &limits::PROGRAMS, &limits::TARGETS, &limits::WORK, &limits::ON_CPU],
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
    pub static PROGRAMS: Limit = Limit {
        name: "programs",
        value: 6.0,
        unit: Unit::Count,
        means: "for child programs: minimum number of runs of the same program, one after another",
    };
    /// Measured (2026-11-30): make -j saved 0.49 s of 1.0 with four compilers.
    pub static TARGETS: Limit = Limit {
        name: "targets",
        value: 3.0,
        unit: Unit::Count,
        means: "the same for programs that make runs",
    };
    /// A compiler takes 30 ms and more, and is started one at a time by a make without -j.
    pub static WORK: Limit = Limit {
        name: "work",
        value: 20e6,
        unit: Unit::Nanoseconds,
        means: "for child programs: minimum average lifetime",
    };
    pub static ON_CPU: Limit = Limit {
        name: "on CPU",
        value: 0.7,
        unit: Unit::Share,
        means: "for child programs: minimum share of that lifetime spent on CPU; everything else may use at most the remaining share of the other CPUs",
    };
}

const SEVERAL: &str =
    "run several at a time, as many as there are CPUs: xargs -P, make -j, a pool of workers";

/// Threads, copies of who starts them, or runs of one program.
enum Workers {
    Threads,
    Copies,
    Runs {
        program: String,
        /// So many are told.
        least: &'static Limit,
    },
}

impl Workers {
    /// So many of them one after another are told.
    fn least(&self) -> &'static Limit {
        match self {
            Workers::Runs { least, .. } => least,
            Workers::Threads | Workers::Copies => &limits::WORKERS,
        }
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let starts = inquiry.facts.starts.iter();
    let executed: Executed<'_> = starts
        .filter(|start| start.execs > 0)
        .map(|start| (start.process, last_part(&start.executable)))
        .collect();
    let mut suspects = Vec::new();
    for pool in Pool::all(inquiry.timeline) {
        if !pool.is_processes {
            suspects.extend(suspects_among(inquiry, &pool, &Workers::Threads));
        } else if is_copies(inquiry, &pool, &executed) {
            suspects.extend(suspects_among(inquiry, &pool, &Workers::Copies));
        } else {
            for (program, runs) in by_program(inquiry, &pool, &executed) {
                let runs_of = Workers::Runs {
                    program: program.to_owned(),
                    least: match is_make(inquiry, &pool) {
                        true => &limits::TARGETS,
                        false => &limits::PROGRAMS,
                    },
                };
                suspects.extend(suspects_among(inquiry, &runs, &runs_of));
            }
        }
    }
    suspects
}

/// Whether a tool started them that knows what may be done at the same time, and does so if it is told to.
fn is_make(inquiry: &Inquiry<'_>, pool: &Pool) -> bool {
    let program = inquiry.program(pool.process(inquiry.timeline));
    matches!(
        last_part(program.unwrap_or_default()),
        "make" | "gmake" | "bmake"
    )
}

/// The names of programs, by the processes that last executed them.
type Executed<'a> = BTreeMap<ProcessId, &'a str>;

/// Whether these processes go on with the program that started them, and that is no shell: one copies itself for what it has to keep
/// apart, and means it to be done in order.
fn is_copies(inquiry: &Inquiry<'_>, pool: &Pool, executed: &Executed<'_>) -> bool {
    let program = inquiry.program(pool.process(inquiry.timeline));
    let mut rows = pool.rows(inquiry.timeline);
    !SHELLS.contains(&last_part(program.unwrap_or_default()))
        && rows.all(|row| !executed.contains_key(&row.process))
}

/// Those that execute a program, by which. What a shell does in a copy of itself is meant to be done in order.
fn by_program<'a>(
    inquiry: &Inquiry<'_>,
    pool: &Pool,
    executed: &Executed<'a>,
) -> BTreeMap<&'a str, Pool> {
    let mut runs: BTreeMap<&str, Pool> = BTreeMap::new();
    for &slot in &pool.members {
        let program = executed.get(&inquiry.timeline.threads[slot].process);
        if let Some(program) = program.filter(|program| !SHELLS.contains(program)) {
            let of_program = runs.entry(program).or_insert_with(|| Pool {
                members: Vec::new(),
                ..*pool
            });
            of_program.members.push(slot);
        }
    }
    runs
}

/// The stretches in which each was waited for before the next one was started.
fn suspects_among(inquiry: &Inquiry<'_>, pool: &Pool, workers: &Workers) -> Vec<Suspect> {
    if (pool.members.len() as f64) < RULE.limit(inquiry, workers.least()) {
        return Vec::new();
    }
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
            let run = std::mem::take(&mut run);
            found.extend(suspect(inquiry, pool, workers, &joins, &run));
        }
        if works && joined(at).is_some() {
            run.push(at);
        }
    }
    found.extend(suspect(inquiry, pool, workers, &joins, &run));
    found
}

fn suspect(
    inquiry: &Inquiry<'_>,
    pool: &Pool,
    workers: &Workers,
    joins: &[Option<usize>],
    run: &[usize],
) -> Option<Suspect> {
    let least = workers.least();
    if (run.len() as f64) < RULE.limit(inquiry, least) {
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
    let slots = run.iter().map(|&at| pool.members[at]);
    if matches!(workers, Workers::Threads) && 2 * idle_ns(inquiry, slots) > lives {
        return None;
    }
    let process = pool.process(inquiry.timeline);
    let count = run.len() as u64;
    let mut processes: BTreeSet<ProcessId> = rows().map(|row| row.process).collect();
    if let Workers::Runs { .. } = workers {
        processes = inquiry.with_descendants(processes);
        if (lives as f64) < RULE.limit(inquiry, &limits::WORK) * count as f64
            || !leave_a_processor_idle(inquiry, &processes, lives, whole)
        {
            return None;
        }
    }
    processes.insert(process);
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
    let mut suspect = Suspect::new(
        title(process, workers, count),
        fix,
        Weight::within(causes, lives),
    )
    .of(process)
    .seen_in_most(inquiry, joins)
    .held(inquiry, &RULE, "one after another", count as f64, least)
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
    Some(match workers {
        Workers::Runs { .. } => suspect.advised(SEVERAL.to_owned()),
        Workers::Threads | Workers::Copies => suspect,
    })
}

/// How long these threads wait for something that does not come until their time is over: a server that looks now and then whether it is to
/// end has nothing to do, and five of them after each other are five tests.
fn idle_ns(inquiry: &Inquiry<'_>, slots: impl Iterator<Item = usize>) -> u64 {
    let spans = slots.flat_map(|slot| inquiry.timeline.indexed(slot));
    let idle = spans.filter(|(_, span)| {
        span.state == State::Wait
            && matches!(span.detail, Detail::Poll | Detail::NetworkReceive)
            && span.wake_source == Some(WakeSource::Timer)
    });
    idle.map(|(_, span)| span.t1.since(span.t0)).sum()
}

fn title(process: ProcessId, workers: &Workers, count: u64) -> Sentence {
    match workers {
        Workers::Threads => say![
            process,
            " starts ",
            Piece::Count(count),
            " threads and waits for each before it starts the next"
        ],
        Workers::Copies => say![
            process,
            " forks ",
            Piece::Count(count),
            " copies of itself and waits for each before it starts the next"
        ],
        Workers::Runs { program, .. } => say![
            process,
            " runs ",
            Piece::Name(program.clone()),
            " ",
            Piece::Count(count),
            " times, one at a time, while another CPU is idle"
        ],
    }
}

/// Whether these processes keep one CPU busy while they live, and what else was recorded leaves another one idle.
fn leave_a_processor_idle(
    inquiry: &Inquiry<'_>,
    processes: &BTreeSet<ProcessId>,
    lives: u64,
    whole: u64,
) -> bool {
    let (mut own, mut others) = (0u64, 0u64);
    for row in &inquiry.timeline.threads {
        match processes.contains(&row.process) {
            true => own += work_ns(row),
            false => others += work_ns(row),
        }
    }
    let on_cpu = own as f64 / lives.max(1) as f64;
    let least = RULE.limit(inquiry, &limits::ON_CPU);
    let idle = f64::from(inquiry.outlook.processors.saturating_sub(1)) * whole as f64;
    (least..2.0 - least).contains(&on_cpu) && others as f64 <= (1.0 - least) * idle && idle > 0.0
}
