//! Threads that were started to work side by side, and work one at a time because all need the same lock.
//!
//! Time ready counts as wanting to work: on a busy machine a pool that runs at full speed has few processors, too. But
//! who is ready while another has the lock that it is about to take could not have worked.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::timeline::locks::Hold;
use timesink_analysis::timeline::pools::{over, Pool};
use timesink_analysis::timeline::Span;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::Thread;
use timesink_recording::words::{Detail, Language, State};

use crate::holding::{no_processor, Holding};
use crate::inquiry::Inquiry;
use crate::interpreter_lock;
use crate::rule::{Blames, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "false-pool",
    looks_for: "threads that run one at a time because all of them need the same lock",
    why: "Threads that work under one lock take turns: together they are no faster than one, and switching between them costs time.",
    advice: "give each thread its own data, or hold the lock only while accessing shared data; in Python or Ruby, use processes",
    wrong_if: "the threads are there to wait for many things at a time, not to compute",
    limits: &[&limits::WORKERS, &limits::DEMAND, &limits::WORK, &limits::SHARE, &limits::WAITS, &limits::RUBYS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WORKERS: Limit = Limit {
        name: "workers",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of threads that work",
    };
    pub static DEMAND: Limit = Limit {
        name: "demand",
        value: 1.2,
        unit: Unit::Count,
        means: "maximum demand of all threads together, in CPUs",
    };
    pub static WORK: Limit = Limit {
        name: "work",
        value: 0.7,
        unit: Unit::Count,
        means: "minimum demand of all threads together, in CPUs; with less they are not there to compute",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of their waiting time that is for this lock",
    };
    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of waits",
    };
    /// A thread of Ruby has its turn for 100 ms, where one of Python's has 5: twenty waits are two seconds.
    pub static RUBYS: Limit = Limit {
        name: "waits in Ruby",
        value: 5.0,
        unit: Unit::Count,
        means: "the same of threads of Ruby, which take turns of 100 ms",
    };
}

/// Who works less than this part of what the busiest does is no worker.
const WORKER: f64 = 0.3;

/// The lock that a pool takes turns at.
struct Turns {
    lock: ObjectId,
    /// The waits for it, as indexes of spans, in order: also of who only hands out the work.
    waits: Vec<usize>,
    /// Those of the workers.
    wait_ns: u64,
    /// Of an interpreter's own: which.
    interpreter: Option<Language>,
}

impl Turns {
    /// How many waits are enough.
    fn enough(&self) -> &'static Limit {
        match self.interpreter {
            Some(Language::Ruby) => &limits::RUBYS,
            _ => &limits::WAITS,
        }
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let pools = Pool::all(inquiry.timeline).into_iter();
    let threads = pools.filter(|pool| !pool.is_processes);
    threads.filter_map(|pool| suspect(inquiry, &pool)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, pool: &Pool) -> Option<Suspect> {
    let most = pool.rows(inquiry.timeline).map(|row| row.cpu_ns).max()?;
    let works = |row: &&Thread| row.cpu_ns > 0 && row.cpu_ns as f64 >= most as f64 * WORKER;
    let workers: Vec<&Thread> = pool.rows(inquiry.timeline).filter(works).collect();
    if (workers.len() as f64) < RULE.limit(inquiry, &limits::WORKERS) {
        return None;
    }
    let from = workers.iter().map(|row| row.start).min()?;
    let window = workers.iter().map(|row| over(row)).max()?.since(from);
    let sum = |ns: fn(&Thread) -> u64| workers.iter().map(|row| ns(row)).sum::<u64>();
    let turns = turns(inquiry, pool, &workers)?;
    let process = pool.process(inquiry.timeline);
    let lock = inquiry.timeline.locks().find(process, turns.lock);
    let holds: &[Hold] = lock.map_or(&[], |lock| &lock.holds);
    let wanted = sum(|row| row.cpu_ns.saturating_add(row.ready_ns));
    let wanted = wanted.saturating_sub(ready_in_vain(inquiry, &turns.waits, holds, &workers));
    let demand = wanted as f64 / window.max(1) as f64;
    if demand >= RULE.limit(inquiry, &limits::DEMAND) || demand < RULE.limit(inquiry, &limits::WORK)
    {
        return None;
    }
    let share = turns.wait_ns as f64 / sum(|row| row.wait_ns).max(1) as f64;
    let count = turns.waits.len() as u64;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (count as f64) < RULE.limit(inquiry, turns.enough())
    {
        return None;
    }
    if no_processor(inquiry, holds) {
        return None;
    }
    let holding = Holding::of(inquiry, holds);
    let interpreter = turns.interpreter;
    let suspect = told(
        inquiry,
        pool,
        turns,
        (workers.len() as u64, demand, share, window),
    );
    let suspect = match interpreter {
        Some(language) => of_interpreter(inquiry, suspect, &workers, language),
        None => suspect,
    };
    Some(match holding {
        Some(holding) => suspect.told(holding.told(inquiry)),
        None => suspect,
    })
}

/// Under the interpreter's lock all that the threads do is done: it is seen where the busiest of them works, not where one
/// happened to wait for it longest.
fn of_interpreter(
    inquiry: &Inquiry<'_>,
    suspect: Suspect,
    workers: &[&Thread],
    language: Language,
) -> Suspect {
    let busiest = workers.iter().max_by_key(|row| row.cpu_ns);
    let frames = busiest.map_or(Vec::new(), |row| inquiry.mostly_in(row.thread));
    let advice = match language {
        Language::Ruby => "use processes (fork, or the parallel gem) or Ractors instead of threads for computation",
        _ => "use processes instead of threads for computation (multiprocessing, ProcessPoolExecutor), or calls that release the GIL",
    };
    let suspect = suspect.advised(advice.to_owned());
    match frames.is_empty() {
        true => suspect,
        false => Suspect { frames, ..suspect },
    }
}

/// How long workers were ready who could not have worked: who comes to wait for the lock before it has worked for as long
/// as it was ready, unless it held it then; and who was woken for it while another held it.
fn ready_in_vain(
    inquiry: &Inquiry<'_>,
    waits: &[usize],
    holds: &[Hold],
    workers: &[&Thread],
) -> u64 {
    let mut in_vain = 0u64;
    for slot in workers
        .iter()
        .filter_map(|row| inquiry.timeline.slot(row.thread))
    {
        let spans: Vec<(usize, &Span)> = inquiry.timeline.indexed(slot).collect();
        let is_lock = |at: usize| waits.binary_search(&spans[at].0).is_ok();
        // From here on it works so long before it waits for the lock.
        let mut work: Option<u64> = None;
        for (at, (_, span)) in spans.iter().enumerate().rev() {
            let ns = span.t1.since(span.t0);
            match span.state {
                State::Cpu => work = work.map(|work| work.saturating_add(ns)),
                State::Wait => work = is_lock(at).then_some(0),
                State::Lost => work = None,
                State::Ready => {
                    let lost = match work {
                        Some(work) if work <= ns => ns - held(holds, span, |who| who == slot),
                        _ if at > 0 && is_lock(at - 1) => held(holds, span, |who| who != slot),
                        _ => 0,
                    };
                    in_vain = in_vain.saturating_add(lost);
                }
            }
        }
    }
    in_vain
}

/// For how long of a span a lock was held by such threads.
fn held(holds: &[Hold], span: &Span, by: impl Fn(usize) -> bool) -> u64 {
    let first = holds.partition_point(|hold| hold.until <= span.t0);
    let meanwhile = holds[first..].iter().take_while(|hold| hold.from < span.t1);
    let ns = meanwhile
        .filter(|hold| by(hold.holder))
        .map(|hold| hold.until.min(span.t1).since(hold.from.max(span.t0)));
    ns.sum()
}

/// The lock that these wait for longest: Python's own, if it is that.
fn turns(inquiry: &Inquiry<'_>, pool: &Pool, workers: &[&Thread]) -> Option<Turns> {
    let process = pool.process(inquiry.timeline);
    let threads: BTreeSet<ThreadId> = workers.iter().map(|row| row.thread).collect();
    let is_worker = |thread: ThreadId| threads.contains(&thread);
    let locks = inquiry.timeline.locks().0.iter();
    let locks = locks.filter(|lock| lock.process == process);
    let own = locks.map(|lock| {
        let waits = lock.waits.iter().copied();
        let waits = waits.filter(|&at| {
            inquiry
                .timeline
                .span(at)
                .is_some_and(|s| is_worker(s.thread))
        });
        let mut waits: Vec<usize> = waits.collect();
        waits.sort_unstable();
        (lock.object, waits, None)
    });
    let interpreters = interpreter_lock::of_process(inquiry, process);
    let waits = inquiry.single_waits(|of| of == process);
    let waits = waits.filter(|(_, span)| {
        let of_interpreter = |object| interpreters.contains(&object);
        matches!(span.detail, Detail::Condition | Detail::Lock)
            && span.object().is_some_and(of_interpreter)
    });
    let waits: Vec<usize> = waits.map(|(index, _)| index).collect();
    let language = interpreter_lock::language_in(inquiry, process);
    let interpreters = interpreters.first();
    let interpreters = interpreters.map(|&object| (object, waits, language));
    let all = own.chain(interpreters).map(|(lock, waits, interpreter)| {
        let spans = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
        let spans = spans.filter(|span| is_worker(span.thread));
        Turns {
            wait_ns: spans.map(|span| span.t1.since(span.t0)).sum(),
            lock,
            waits,
            interpreter,
        }
    });
    all.max_by_key(|turns| (turns.wait_ns, turns.lock))
}

fn told(
    inquiry: &Inquiry<'_>,
    pool: &Pool,
    turns: Turns,
    (workers, demand, share, window): (u64, f64, f64, u64),
) -> Suspect {
    let process = pool.process(inquiry.timeline);
    let mut title = say![
        Piece::Count(workers),
        " threads of ",
        process,
        " run one at a time, under "
    ];
    title.0.push(match turns.interpreter {
        Some(Language::Ruby) => "Ruby's global VM lock (GVL)".into(),
        Some(_) => "Python's global interpreter lock (GIL)".into(),
        None => "the lock ".into(),
    });
    if turns.interpreter.is_none() {
        title.0.push(turns.lock.into());
    }
    let causes = inquiry.all_of(&BTreeSet::from([process]));
    let group = inquiry
        .waits()
        .iter()
        .find(|group| group.process == process && group.object == Some(turns.lock));
    let count = turns.waits.len() as u64;
    let enough = turns.enough();
    let first: Vec<usize> = turns.waits.iter().copied().take(3).collect();
    let fix = Fix::Change(Change {
        what: What::Spans(turns.waits.into_iter().collect()),
        processes: Some(BTreeSet::from([process])),
        how: How::Never,
    });
    let suspect = Suspect::new(title, fix, Weight::within(causes, window))
        .of(process)
        .about(Some(turns.lock))
        .seen_in(inquiry, group)
        .held(inquiry, &RULE, "threads", workers as f64, &limits::WORKERS)
        .held(inquiry, &RULE, "processors wanted", demand, &limits::DEMAND)
        .held(
            inquiry,
            &RULE,
            "share of their waits",
            share,
            &limits::SHARE,
        )
        .held(inquiry, &RULE, "waits", count as f64, enough)
        .told(say![
            "together they use ",
            Piece::Percent(demand * 100.0),
            " of one CPU, and wait for each other ",
            Piece::Count(count),
            " times"
        ])
        .told(say![
            Piece::Percent(share * 100.0),
            " of their waiting time is for this lock"
        ]);
    suspect.shown_at(inquiry, first)
}
