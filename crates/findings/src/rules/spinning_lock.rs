//! Threads that spin for a lock: they give up the CPU and try again, many times over, before they wait for it in earnest.
//!
//! Such a thread is on CPU or runnable, so no wait tells of it. It is told by its `sched_yield` calls, which come out of a function that
//! is called a lock; those of a pool's threads that look for work do not.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{CallSite, FunctionIx};
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::State;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "spinning-lock",
    looks_for: "threads that spin for a lock, with a call of sched_yield for each try",
    why: "While one thread holds the lock, the others use CPU time to try again, and what the lock protects moves between CPUs with it.",
    advice: "hold the lock less often: collect results per thread and merge them once, split what it protects, or use an atomic",
    wrong_if: "the lock is hardly ever taken, and the yields come from elsewhere",
    limits: &[&limits::YIELDS, &limits::THREADS, &limits::IN_LOCK, &limits::SHARE],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    /// Measured: 14,550 and 1,030,866 with a Mutex of parking_lot that four threads take for each item (2026-11-28).
    pub static YIELDS: Limit = Limit {
        name: "yields",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of sched_yield calls",
    };
    pub static THREADS: Limit = Limit {
        name: "threads",
        value: 2.0,
        unit: Unit::Count,
        means: "minimum number of threads that spin for it",
    };
    pub static IN_LOCK: Limit = Limit {
        name: "in a lock",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of these calls that come out of a function that takes a lock",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.05,
        unit: Unit::Share,
        means: "minimum share of the critical path on CPU in that function, or runnable",
    };
}

const YIELD: &str = "sched_yield";

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut yields: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for call in inquiry.facts.calls.iter().filter(|call| call.call == YIELD) {
        if let Some(process) = call.process {
            *yields.entry(process).or_default() += call.count;
        }
    }
    let many = yields.into_iter();
    let many = many.filter(|(_, count)| *count as f64 >= RULE.limit(inquiry, &limits::YIELDS));
    many.filter_map(|(process, count)| suspect(inquiry, process, count))
        .collect()
}

/// Whether a function is called a lock, or the taking of one: `Mutex<T>::lock`, `lock_slow`, `queue_spin_lock`.
fn takes_lock(name: &str) -> bool {
    let mut depth = 0;
    let plain: String = name
        .chars()
        .filter(|&c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0 && c != '>'
        })
        .collect();
    let last = plain.rsplit("::").next().unwrap_or_default().to_lowercase();
    let last = last.split('(').next().unwrap_or_default();
    matches!(last, "lock" | "spinlock" | "acquire")
        || last.starts_with("lock_")
        || last.ends_with("_lock")
        || last.ends_with("spinlock")
}

/// The functions of a call's stack that take the lock, the innermost first.
fn lock_of(inquiry: &Inquiry<'_>, site: &CallSite) -> Vec<FunctionIx> {
    let code = &inquiry.stacks.code;
    let functions = code.functions_of(site.stack).into_iter();
    let is_lock = |function: &FunctionIx| takes_lock(&code.function(*function).name);
    let from_lock = functions.skip_while(|function| !is_lock(function));
    from_lock.take_while(is_lock).collect()
}

/// The threads of a process that spin, and in what.
struct Spinning<'a> {
    threads: BTreeSet<ThreadId>,
    /// The functions that take the lock.
    functions: BTreeSet<FunctionIx>,
    /// Of the calls, the share that comes out of these.
    in_lock: f64,
    /// Where most of them are made, and the outermost function that takes the lock there.
    site: &'a CallSite,
    lock: FunctionIx,
}

impl<'a> Spinning<'a> {
    fn of(inquiry: &Inquiry<'a>, process: ProcessId) -> Option<Spinning<'a>> {
        let threads = inquiry.threads_of(&BTreeSet::from([process])).into_iter();
        let sites = threads.flat_map(|thread| inquiry.stacks.sites_of(thread));
        let (mut all, mut in_lock) = (0u64, 0u64);
        let mut functions: BTreeSet<FunctionIx> = BTreeSet::new();
        let mut spinning: BTreeSet<ThreadId> = BTreeSet::new();
        let mut usual: Option<(&CallSite, FunctionIx)> = None;
        for site in sites.filter(|site| site.call == YIELD) {
            all += site.count;
            let lock = lock_of(inquiry, site);
            let Some(&outermost) = lock.last() else {
                continue;
            };
            in_lock += site.count;
            functions.extend(lock);
            spinning.insert(site.thread);
            if usual.is_none_or(|(other, _)| other.count < site.count) {
                usual = Some((site, outermost));
            }
        }
        let (site, lock) = usual?;
        Some(Spinning {
            threads: spinning,
            functions,
            in_lock: in_lock as f64 / all.max(1) as f64,
            site,
            lock,
        })
    }

    /// At least half of the spinning goes. What the lock protects is slower, too, as long as it moves from CPU to CPU: of a Mutex of
    /// parking_lot for each item 58 % were saved, where the spinning was 27 to 40 % (2026-11-28).
    fn fix(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> Fix {
        let change = |what, factor| Change {
            what,
            processes: Some(inquiry.of_program(process)),
            how: How::Scale(factor),
        };
        let spins = |factor| change(What::Functions(self.functions.clone()), factor);
        let most = [spins(0.0), change(What::Ready, 0.0), change(What::Cpu, 0.5)];
        Fix::Likely(vec![spins(0.5)], vec![spins(0.0)], most.to_vec())
    }
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, yields: u64) -> Option<Suspect> {
    let spinning = Spinning::of(inquiry, process)?;
    let code = InCode::through(inquiry, spinning.functions.clone());
    let code = code.in_program(inquiry, process);
    let own = |state: State| {
        inquiry.causes(|key| key.state == state && inquiry.same_program(key.process, process))
    };
    let ready = own(State::Ready);
    let on_path_ns = code.ns().saturating_add(inquiry.on_path_ns(&ready));
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if (spinning.threads.len() as f64) < RULE.limit(inquiry, &limits::THREADS)
        || spinning.in_lock < RULE.limit(inquiry, &limits::IN_LOCK)
        || share < RULE.limit(inquiry, &limits::SHARE)
    {
        return None;
    }
    let title = say![
        Piece::Count(spinning.threads.len() as u64),
        " threads of ",
        process,
        " spin for a lock: ",
        Piece::Count(yields),
        " calls of sched_yield"
    ];
    let causes = own(State::Cpu).into_iter().chain(ready).collect();
    let weight = Weight::within(causes, on_path_ns);
    let mut suspect = Suspect::new(title, spinning.fix(inquiry, process), weight)
        .of(process)
        .held(inquiry, &RULE, "yields", yields as f64, &limits::YIELDS)
        .held(
            inquiry,
            &RULE,
            "yields in a lock",
            spinning.in_lock,
            &limits::IN_LOCK,
        )
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .told(say!["they come out of ", spinning.lock]);
    let frames = inquiry.spots(spinning.site.stack);
    let at = frames
        .iter()
        .rposition(|spot| spot.function == spinning.lock);
    suspect.frames = frames[at.unwrap_or(0)..].to_vec();
    suspect.examples = vec![Example {
        thread: spinning.site.thread,
        at: spinning.site.at,
    }];
    Some(suspect)
}

#[cfg(test)]
mod tests {
    use super::takes_lock;

    #[test]
    fn a_lock_is_told_by_its_name() {
        for name in [
            "lock_api::mutex::Mutex<R,T>::lock",
            "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock",
            "parking_lot::raw_mutex::RawMutex::lock_slow",
            "queue_spin_lock",
            "absl::base_internal::SpinLock::lock(int)",
        ] {
            assert!(takes_lock(name), "{name}");
        }
        for name in [
            "rayon_core::registry::WorkerThread::wait_until_cold",
            "std::thread::yield_now",
            "write_block",
            "clock",
            "Clocks::tick",
            "main",
        ] {
            assert!(!takes_lock(name), "{name}");
        }
    }
}
