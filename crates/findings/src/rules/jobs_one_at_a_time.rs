//! Jobs handed to a pool of threads, each of which is waited for before the next is handed over: the other threads of the pool do nothing.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_analysis::timeline::pools::Pool;
use timesink_analysis::timeline::Waker;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::{Detail, Language, State};

use crate::awaiting::has_goroutines;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "jobs-one-at-a-time",
    looks_for: "jobs that are given to a pool of threads one at a time, each waited for before the next",
    why: "A pool works on as many jobs at a time as it is given. With one, its other threads and the other CPUs are idle.",
    advice: "start several jobs before the first is waited for: Promise.all in Node.js (no more at a time than UV_THREADPOOL_SIZE), invokeAll or a list of futures in Java",
    wrong_if: "each job needs the result of the one before",
    limits: &[&limits::JOBS, &limits::SHARE, &limits::AT_WORK],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static JOBS: Limit = Limit {
        name: "jobs",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of jobs",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the wall time in which one of them is waited for",
    };
    pub static AT_WORK: Limit = Limit {
        name: "at work",
        value: 0.7,
        unit: Unit::Share,
        means:
            "minimum share of each such wait in which a thread of the pool is on CPU or runnable",
    };
}

/// Shorter waits are for something that is hardly a job.
const LEAST_NS: u64 = 100_000;
/// Whoever is free gets the next job: of a pool whose threads all do the same another one does this part of the jobs at least, and its jobs
/// take about as long. Of zstd one thread reads, one compresses and one writes; of the pool of Node.js each did a quarter (2026-11-30).
const ANOTHER: f64 = 0.1;
const AS_LONG: f64 = 3.0;
/// What others of the pool do meanwhile is less than this part of what is done for the jobs.
const OTHERS: f64 = 0.2;

/// The jobs that a thread gave to a pool, and waited for.
struct Jobs {
    count: u64,
    ns: u64,
    /// On a CPU for them.
    cpu_ns: u64,
    /// How many each thread of the pool did, and for how long on a CPU.
    by: BTreeMap<usize, (u64, u64)>,
    example: Option<Example>,
}

impl Jobs {
    /// Whether several threads of the pool do them.
    fn are_shared(&self) -> bool {
        let mut by: Vec<(u64, u64)> = self.by.values().copied().collect();
        by.sort_unstable_by(|one, other| other.cmp(one));
        let [most, next, ..] = by[..] else {
            return false;
        };
        let each = |(count, cpu_ns): (u64, u64)| cpu_ns as f64 / count.max(1) as f64;
        let (long, short) = (each(most).max(each(next)), each(most).min(each(next)));
        let by_others = self.count - most.0;
        by_others as f64 >= self.count as f64 * ANOTHER && long <= short * AS_LONG
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let pools = Pool::all(inquiry.timeline).into_iter();
    let threads = pools.filter(|pool| !pool.is_processes);
    threads.filter_map(|pool| suspect(inquiry, &pool)).collect()
}

/// The jobs that a thread waits for, by the threads that ended its waits.
fn jobs_of(inquiry: &Inquiry<'_>, pool: &Pool, giver: usize) -> Jobs {
    let timeline = inquiry.timeline;
    let mut jobs = Jobs {
        count: 0,
        ns: 0,
        cpu_ns: 0,
        by: BTreeMap::new(),
        example: None,
    };
    let waits = timeline.spans_of(giver).iter().filter(|span| {
        let kind = matches!(span.detail, Detail::Poll | Detail::Condition | Detail::Lock);
        span.state == State::Wait && kind
    });
    for span in waits {
        let worker = match timeline.waker(span) {
            Waker::Thread { slot, .. } if pool.members.contains(&slot) => slot,
            _ => continue,
        };
        let ns = span.t1.since(span.t0);
        let (mut cpu, mut busy) = (0u64, 0u64);
        for (during, ns) in timeline.between(worker, span.t0, span.t1) {
            cpu += if during.state == State::Cpu { ns } else { 0 };
            busy += if during.state == State::Wait { 0 } else { ns };
        }
        let at_work = busy as f64 / ns.max(1) as f64;
        if ns >= LEAST_NS && at_work >= RULE.limit(inquiry, &limits::AT_WORK) {
            jobs.count += 1;
            let (count, cpu_ns) = jobs.by.entry(worker).or_default();
            (*count, *cpu_ns) = (*count + 1, *cpu_ns + cpu);
            jobs.ns += ns;
            jobs.cpu_ns += cpu;
            let thread = timeline.threads[worker].thread;
            jobs.example.get_or_insert(Example {
                thread,
                at: span.t0,
            });
        }
    }
    jobs
}

/// Whether what a thread does is the program's, and others could do the same beside it. A virtual machine waits for threads of its own, too, and
/// threads of Python and Ruby run one at a time.
fn may_go_beside(inquiry: &Inquiry<'_>, thread: ThreadId) -> bool {
    let code = &inquiry.stacks.code;
    let is_of = |function: &FunctionIx, languages: &[Language]| {
        languages.contains(&code.function(*function).language)
    };
    let mut all = (0..code.functions.len()).map(|at| FunctionIx(at as u32));
    let has_java = all.any(|function| is_of(&function, &[Language::Java]));
    let events = inquiry.stacks.events_of(thread).iter();
    let stacks: BTreeSet<StackIx> = events.map(|event| event.stack).collect();
    let functions = stacks
        .into_iter()
        .flat_map(|stack| code.functions_of(stack));
    let functions: BTreeSet<FunctionIx> = functions.collect();
    let in_any = |is: &dyn Fn(&FunctionIx) -> bool| functions.iter().any(is);
    let is_own = |function: &FunctionIx| code.is_programs_own(*function);
    let takes_turns = |function: &FunctionIx| is_of(function, &[Language::Python, Language::Ruby]);
    (!has_java || in_any(&is_own)) && !in_any(&takes_turns)
}

fn suspect(inquiry: &Inquiry<'_>, pool: &Pool) -> Option<Suspect> {
    let timeline = inquiry.timeline;
    let process = pool.process(timeline);
    if has_goroutines(inquiry, process) {
        return None;
    }
    let wall = inquiry.outlook.wall_ns.max(1) as f64;
    let threads = timeline.threads.iter().enumerate();
    let givers =
        threads.filter(|(slot, thread)| thread.process == process && !pool.members.contains(slot));
    let jobs = givers.map(|(slot, _)| jobs_of(inquiry, pool, slot));
    let jobs = jobs.max_by_key(|jobs| jobs.ns)?;
    let share = jobs.ns as f64 / wall;
    if !jobs.are_shared() {
        return None;
    }
    if (jobs.count as f64) < RULE.limit(inquiry, &limits::JOBS)
        || share < RULE.limit(inquiry, &limits::SHARE)
        || !may_go_beside(inquiry, jobs.example.as_ref()?.thread)
    {
        return None;
    }
    let in_pool: u64 = pool.rows(timeline).map(|row| row.cpu_ns).sum();
    let in_all: u64 = timeline.threads.iter().map(|row| row.cpu_ns).sum();
    let processors = f64::from(inquiry.outlook.processors);
    let others = in_pool.saturating_sub(jobs.cpu_ns) as f64;
    // Another CPU is idle for at least half of the time.
    if others > jobs.cpu_ns as f64 * OTHERS || in_all as f64 / wall > processors - 0.5 {
        return None;
    }
    let at_once = processors.min(pool.members.len() as f64);
    let members: BTreeSet<ThreadId> = pool.rows(timeline).map(|row| row.thread).collect();
    let fix = Fix::Change(Change {
        what: What::Threads(members),
        processes: Some(BTreeSet::from([process])),
        how: How::Scale(1.0 / at_once),
    });
    let title = say![
        process,
        " gives ",
        Piece::Count(jobs.count),
        " jobs to a pool of ",
        Piece::Count(pool.members.len() as u64),
        " threads, one at a time, while another CPU is idle"
    ];
    let weight = Weight::within(inquiry.busy(process), jobs.cpu_ns);
    let mut suspect = Suspect::new(title, fix, weight)
        .of(process)
        .held(inquiry, &RULE, "jobs", jobs.count as f64, &limits::JOBS)
        .held(inquiry, &RULE, "share of the time", share, &limits::SHARE)
        .told(say![
            "each takes ",
            Piece::Time(jobs.ns / jobs.count.max(1)),
            ", and is waited for before the next"
        ]);
    let worker = jobs.example.as_ref().map(|example| example.thread)?;
    suspect.frames = inquiry.mostly_in(worker);
    suspect.examples = jobs.example.into_iter().collect();
    Some(suspect)
}
