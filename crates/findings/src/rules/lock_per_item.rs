//! Threads that take a lock for very little work each time: most of what they do is to take it and to release it.
//!
//! Such a thread hardly ever waits for the lock, or only for moments, so it is told by the CPU time in the functions that take and release
//! locks. Only calls from the program's own code count: what libraries lock inside is theirs.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Code, FunctionIx, StackIx};
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, Language};

use crate::in_code::{self, InCode};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "lock-per-item",
    looks_for: "threads that take and release a lock for very little work each time",
    why: "Taking a lock and releasing it costs more than the work under it, and what the lock protects moves from CPU to CPU with it.",
    advice: "collect results in each thread and merge them once, or take the lock once for many items",
    wrong_if: "each of these results must be seen by the other threads at once",
    limits: &[&limits::IN_LOCK, &limits::OTHERS, &in_code::SHARE, &in_code::MS],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static IN_LOCK: Limit = Limit {
        name: "in locks",
        value: 0.15,
        unit: Unit::Share,
        means: "minimum share of the program's CPU time in taking and releasing locks",
    };
    pub static OTHERS: Limit = Limit {
        name: "other threads",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of that time in other threads than the one with the most",
    };
}

/// Functions that take and release a kind of lock.
struct Kind {
    /// What is done with it.
    what: &'static str,
    functions: &'static [&'static str],
    /// The names of more begin so.
    starts: &'static [&'static str],
    /// The files that they are in, up to their versions; none: compiled into the program.
    files: &'static [&'static str],
    /// What to do, if there is more to say than the rule does.
    advice: Option<&'static str>,
}

const C_LIBRARY: &[&str] = &["libc.so", "libc-2", "libpthread"];

static KINDS: [Kind; 4] = [
    Kind {
        what: "take and release a mutex",
        functions: &[
            "pthread_mutex_lock",
            "__pthread_mutex_lock",
            "___pthread_mutex_lock",
            "pthread_mutex_unlock",
            "__pthread_mutex_unlock",
            "___pthread_mutex_unlock",
            "__pthread_mutex_unlock_usercnt",
            "__lll_lock_wait",
            "pthread_spin_lock",
            "pthread_spin_unlock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            "pthread_rwlock_unlock",
        ],
        starts: &[],
        files: C_LIBRARY,
        advice: None,
    },
    Kind {
        what: "take and release a mutex",
        functions: &[
            "sync.(*Mutex).Lock",
            "sync.(*Mutex).Unlock",
            "sync.(*Mutex).lockSlow",
            "sync.(*Mutex).unlockSlow",
            "sync.(*RWMutex).Lock",
            "sync.(*RWMutex).Unlock",
            "sync.(*RWMutex).RLock",
            "sync.(*RWMutex).RUnlock",
            "internal/sync.(*Mutex).Lock",
            "internal/sync.(*Mutex).Unlock",
            "internal/sync.(*Mutex).lockSlow",
            "internal/sync.(*Mutex).unlockSlow",
        ],
        starts: &[],
        files: &[],
        advice: None,
    },
    // Of Rust, whose compiler puts them into their callers: known where there is debug information.
    Kind {
        what: "take and release a mutex",
        functions: &[],
        starts: &[
            "std::sys::sync::mutex::",
            "std::sync::poison::mutex::Mutex",
            "std::sync::mutex::Mutex",
            "core::ptr::drop_in_place<std::sync::poison::mutex::MutexGuard",
            "lock_api::mutex::Mutex",
            "core::ptr::drop_in_place<lock_api::mutex::MutexGuard",
            "parking_lot::raw_mutex::",
        ],
        files: &[],
        advice: None,
    },
    Kind {
        what: "take the lock of the C library's random numbers",
        functions: &["rand", "random", "__random", "srand", "srandom"],
        starts: &[],
        files: C_LIBRARY,
        advice: Some("give each thread a generator of its own: rand_r, or one of <random>"),
    },
];

impl Kind {
    fn functions(&self, code: &Code) -> BTreeSet<FunctionIx> {
        let all = code.functions.iter().enumerate();
        let meant = all.filter(|(_, function)| {
            let is_from = |file: &str| self.files.iter().any(|start| file.starts_with(start));
            let name = function.name.trim_start_matches('<');
            let is_named = self.functions.contains(&name)
                || self.starts.iter().any(|start| name.starts_with(start));
            function.language == Language::Native
                && is_named
                && (self.files.is_empty() || code.file_of(function).is_some_and(is_from))
        });
        meant.map(|(at, _)| FunctionIx(at as u32)).collect()
    }
}

/// What the threads of a program do in such functions, called by its own.
#[derive(Default)]
struct Locking {
    threads: BTreeMap<ThreadId, u64>,
    callers: BTreeSet<FunctionIx>,
}

impl Locking {
    fn ns(&self) -> u64 {
        self.threads
            .values()
            .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// The lock that threads wait for most where its callers take one: it need not be known, as hardly anybody waits long.
    fn waited_for(&self, inquiry: &Inquiry<'_>, process: ProcessId) -> Option<ObjectId> {
        let groups = inquiry.waits().iter();
        let own = groups.filter(|group| {
            group.detail == Detail::Lock && inquiry.same_program(group.process, process)
        });
        let here = own.filter(|group| {
            let mut spots = inquiry.frames(group.stack).into_iter();
            spots.any(|spot| self.callers.contains(&spot.function))
        });
        here.max_by_key(|group| group.ns)?.object
    }

    /// How much of it is in other threads than the one with the most.
    fn of_others(&self) -> f64 {
        let most = self.threads.values().max().copied().unwrap_or(0);
        1.0 - most as f64 / self.ns().max(1) as f64
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let each = KINDS.iter();
    each.flat_map(|kind| suspects(inquiry, kind)).collect()
}

/// The function that calls the outermost of these, if it is the program's own: behind what its language has for locks.
fn caller_of(code: &Code, functions: &BTreeSet<FunctionIx>, stack: StackIx) -> Option<FunctionIx> {
    let all = code.functions_of(stack);
    let outermost = all
        .iter()
        .rposition(|function| functions.contains(function))?;
    let mut callers = all[outermost + 1..].iter().copied();
    let is_of_language = |function: &FunctionIx| {
        code.is_of_language(*function) || code.function(*function).name.starts_with("__gthread")
    };
    let caller = callers.find(|function| !is_of_language(function))?;
    code.is_programs_own(caller).then_some(caller)
}

fn suspects(inquiry: &Inquiry<'_>, kind: &'static Kind) -> Vec<Suspect> {
    let code = &inquiry.stacks.code;
    let functions = kind.functions(code);
    if functions.is_empty() {
        return Vec::new();
    }
    let mut callers: BTreeMap<StackIx, Option<FunctionIx>> = BTreeMap::new();
    let mut programs: BTreeMap<ProcessId, Locking> = BTreeMap::new();
    let on_cpu = inquiry.stacks.events.iter();
    for event in on_cpu.filter(|event| event.account == Account::Cpu) {
        let caller = callers.entry(event.stack);
        let caller = *caller.or_insert_with(|| caller_of(code, &functions, event.stack));
        let (Some(caller), Some(process)) = (caller, inquiry.process_of(event.thread)) else {
            continue;
        };
        let locking = programs.entry(inquiry.programs.first(process)).or_default();
        locking.callers.insert(caller);
        let ns = locking.threads.entry(event.thread).or_default();
        *ns = ns.saturating_add(event.ns);
    }
    let each = programs.into_iter();
    each.filter_map(|(process, locking)| suspect(inquiry, kind, &functions, process, &locking))
        .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    kind: &Kind,
    functions: &BTreeSet<FunctionIx>,
    process: ProcessId,
    locking: &Locking,
) -> Option<Suspect> {
    let code = &inquiry.stacks.code;
    let all_ns = inquiry.cpu_ns(&inquiry.of_program(process));
    let in_lock = locking.ns() as f64 / all_ns.max(1) as f64;
    if in_lock < RULE.limit(inquiry, &limits::IN_LOCK)
        || locking.of_others() < RULE.limit(inquiry, &limits::OTHERS)
    {
        return None;
    }
    let mut found = InCode::through(inquiry, functions.clone()).in_program(inquiry, process);
    found
        .stacks
        .retain(|on| caller_of(code, functions, on.stack).is_some());
    found.enough(inquiry, &RULE, &in_code::SHARE, &in_code::MS)?;
    let lock = locking.waited_for(inquiry, process);
    let count = Piece::Count(locking.threads.len() as u64);
    let mut title = say![count, " threads of ", process, " ", kind.what];
    if let Some(object) = lock {
        title.0.extend(say![" (", object, ")"].0);
    }
    let share = Piece::Percent(in_lock * 100.0);
    let rest = say![
        " for very little work each time: ",
        share,
        " of its CPU time"
    ];
    title.0.extend(rest.0);
    // What is done under the lock is slower, too, as long as it moves from CPU to CPU.
    let callers = InCode::through(inquiry, locking.callers.clone());
    let fix = Fix::AtLeast(
        vec![found.scaled_in(inquiry, process, 0.0)],
        vec![callers.scaled_in(inquiry, process, 0.0)],
    );
    let suspect = found
        .suspect_held(inquiry, &RULE, &in_code::SHARE, &in_code::MS, title, fix)
        .about(lock)
        .held(inquiry, &RULE, "in locks", in_lock, &limits::IN_LOCK)
        .held(
            inquiry,
            &RULE,
            "in other threads",
            locking.of_others(),
            &limits::OTHERS,
        );
    Some(match kind.advice {
        Some(advice) => suspect.advised(advice.to_owned()),
        None => suspect,
    })
}
