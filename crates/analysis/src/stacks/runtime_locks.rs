//! Locks that a runtime makes for its programs: monitors of Java and .NET, Java's `ReentrantLock`, `threading.Lock` of Python, `Mutex`
//! of Ruby. To the kernel a thread that wants one waits for a condition, mostly at an address of its own. Its stack says what it
//! wants, and in which function of the program.
//!
//! Where all who want one wait at one address, that is the lock. Elsewhere a lock is known by the functions that take it: who
//! lets go of one in a function that takes one wakes somebody who wants the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ProcessId, StackId, ThreadId};
use timesink_recording::retold::Retold;
use timesink_recording::tables::{Module, Object, Thread, Wait};
use timesink_recording::words::{Detail, Language, ObjectKind};
use timesink_recording::{Nanos, Recording};

use super::code::is_runtimes_file;
use super::runtime_sleeps::is_sleep;
use super::{Code, FunctionIx, StackIx};

/// Has the waits of a recording that were for a runtime's locks, and those that were sleeps, read as such.
pub fn tell_waits_apart(recording: &Recording) -> timesink_recording::Result<()> {
    recording.retell(runtime_waits)
}

fn runtime_waits(recording: &Recording) -> timesink_recording::Result<Retold> {
    let modules: Vec<Module> = recording.rows()?;
    let is_runtime = |module: &Module| {
        let file = module.path.rsplit('/').next().unwrap_or_default();
        is_runtimes_file(file)
    };
    if !modules.iter().any(is_runtime) {
        return Ok(Retold::default());
    }
    let code = Code::new(modules, recording.rows()?, &recording.rows::<_>()?);
    let mut search = Search::new(&code, &recording.rows()?);
    let mut asleep: FxHashMap<StackIx, bool> = FxHashMap::default();
    let mut sleeps = HashSet::new();
    recording.scan(|rows: &[Wait]| {
        for row in rows {
            let stack = row.stack.and_then(|stack| code.stack(stack));
            let is_asleep = |stack| {
                *asleep
                    .entry(stack)
                    .or_insert_with(|| is_sleep(&code, stack))
            };
            match stack.is_some_and(is_asleep) {
                true => drop(sleeps.insert((row.thread, row.t0))),
                false => search.wait(row),
            }
        }
    })?;
    Ok(Retold {
        sleeps,
        ..search.finish(&recording.rows()?)
    })
}

/// How a lock is told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// By the address that all wait at.
    Address(ObjectId),
    /// By a function that takes it.
    Function(FunctionIx),
}

/// Where a wait wants a lock.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    taken_in: FunctionIx,
    /// Who called that function.
    caller: Option<FunctionIx>,
    /// Of the address that all wait at.
    by_address: bool,
    /// Whoever lets go of it must be seen to: the runtime makes other things of such locks, too.
    needs_proof: bool,
    /// What a thread is in that lets go of it, where waits for other things look the same.
    released_in: Option<&'static str>,
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
struct LockWait {
    process: ProcessId,
    thread: ThreadId,
    t0: Nanos,
    ns: u64,
    identity: Identity,
    address: ObjectId,
    taken_in: FunctionIx,
    needs_proof: bool,
    /// Whether it was let go of where it is taken; `None` if nobody was seen to end the wait.
    released_there: Option<bool>,
}

struct Search<'a> {
    code: &'a Code,
    processes: BTreeMap<ThreadId, ProcessId>,
    wanted: FxHashMap<StackIx, Option<Wanted>>,
    /// The innermost functions of scripts in the stacks of those who end waits.
    releasing: FxHashMap<StackIx, [Option<FunctionIx>; 2]>,
    /// Whether those stacks pass through a function that lets go of a lock.
    passes: FxHashMap<(StackIx, &'static str), bool>,
    waits: Vec<LockWait>,
    /// When waits for something else began, by who waits, and at which address.
    others: FxHashMap<(ThreadId, ObjectId), Vec<Nanos>>,
    /// Functions in which a lock is taken that another one lets go of, by process.
    same: BTreeSet<(ProcessId, FunctionIx, FunctionIx)>,
}

impl<'a> Search<'a> {
    fn new(code: &'a Code, threads: &[Thread]) -> Search<'a> {
        Search {
            code,
            processes: threads
                .iter()
                .map(|row| (row.thread, row.process))
                .collect(),
            wanted: FxHashMap::default(),
            releasing: FxHashMap::default(),
            passes: FxHashMap::default(),
            waits: Vec::new(),
            others: FxHashMap::default(),
            same: BTreeSet::new(),
        }
    }

    fn wait(&mut self, row: &Wait) {
        if row.detail != Detail::Condition {
            return;
        }
        let (Some(&process), Some(object), Some(stack)) = (
            self.processes.get(&row.thread),
            row.object,
            self.stack(row.stack),
        ) else {
            return;
        };
        let code = self.code;
        let wanted = self.wanted.entry(stack);
        let Some(wanted) = *wanted.or_insert_with(|| wanted_in(code, stack)) else {
            return self.other(row);
        };
        let waker = self.stack(row.waker_stack);
        let mut releases = |name| {
            waker.is_some_and(|stack| {
                let known = self.passes.entry((stack, name));
                *known.or_insert_with(|| pass(code, &code.functions_of(stack), name))
            })
        };
        if wanted.released_in.is_some_and(|name| !releases(name)) {
            return self.other(row);
        }
        let releasing = waker.map(|stack| {
            let known = self.releasing.entry(stack);
            *known.or_insert_with(|| innermost(code, stack))
        });
        let taking = [Some(wanted.taken_in), wanted.caller];
        let released_there = releasing.map(|releasing| {
            let mut functions = releasing.iter().flatten();
            functions.any(|function| taking.contains(&Some(*function)))
        });
        if let Some([Some(by), _]) = releasing.filter(|_| !wanted.by_address) {
            self.same.insert((process, wanted.taken_in, by));
        }
        self.waits.push(LockWait {
            process,
            thread: row.thread,
            t0: row.t0,
            ns: row.t1.since(row.t0),
            identity: match wanted.by_address {
                true => Identity::Address(object),
                false => Identity::Function(wanted.taken_in),
            },
            address: object,
            taken_in: wanted.taken_in,
            needs_proof: wanted.needs_proof,
            released_there,
        });
    }

    /// Notes that a wait is for something else.
    fn other(&mut self, row: &Wait) {
        if let Some(object) = row.object {
            let others = self.others.entry((row.thread, object)).or_default();
            others.push(row.t0);
        }
    }

    fn stack(&self, stack: Option<StackId>) -> Option<StackIx> {
        self.code.stack(stack?)
    }

    /// The waits by their locks, which get numbers after those of these objects.
    fn finish(self, objects: &[Object]) -> Retold {
        let first = self.first_functions();
        let mut locks: BTreeMap<(ProcessId, Identity), Vec<LockWait>> = BTreeMap::new();
        for wait in &self.waits {
            let identity = match wait.identity {
                Identity::Function(own) => {
                    let of_lock = first.get(&(wait.process, own));
                    Identity::Function(of_lock.copied().unwrap_or(own))
                }
                by_address @ Identity::Address(_) => by_address,
            };
            let key = (wait.process, identity);
            locks.entry(key).or_default().push(*wait);
        }
        let all = by_address(&self.waits);
        locks.retain(|_, waits| is_proven(waits));
        let last = objects.iter().map(|object| object.object.0).max();
        let next = last.map_or(1, |last| last.saturating_add(1));
        let mut retold = Retold::default();
        for (number, ((process, identity), waits)) in (next..u32::MAX).zip(locks) {
            let object = ObjectId(number);
            let address = objects.iter().find(|known| match identity {
                Identity::Address(at) => known.object == at,
                Identity::Function(_) => false,
            });
            retold.locks.push(Object {
                object,
                kind: ObjectKind::Futex,
                label: format!("taken in {}", self.mostly_taken_in(&waits)),
                path: None,
                filesystem: None,
                device: None,
                inode: address.and_then(|known| known.inode),
                size: None,
                protocol: None,
                local: None,
                remote: None,
                process: Some(process),
            });
            if let Identity::Function(_) = identity {
                self.tell_addresses(&waits, &all, object, &mut retold);
            }
            let waits = waits.iter();
            let waits = waits.map(|wait| ((wait.thread, wait.t0), object));
            retold.waits.extend(waits);
        }
        retold
    }

    /// A thread waits for locks of a runtime at an address of its own. Where nearly all of its waits there that have a stack are for one lock, so
    /// are those that were too short to have one.
    fn tell_addresses(
        &self,
        waits: &[LockWait],
        all: &BTreeMap<(ThreadId, ObjectId), usize>,
        lock: ObjectId,
        retold: &mut Retold,
    ) {
        /// With fewer nothing is known of the rest.
        const LEAST: usize = 5;
        for (at, count) in by_address(waits) {
            let others = self.others.get(&at).map_or(&[][..], Vec::as_slice);
            let for_other_locks = all.get(&at).map_or(0, |all| all - count);
            let rest = for_other_locks + others.len();
            if count >= LEAST && count >= rest * ELSEWHERE as usize {
                retold.addresses.insert(at, lock);
                retold.others.extend(others.iter().map(|&t0| (at.0, t0)));
            }
        }
    }

    /// For each function that takes a lock of a process the first of those that take the same one.
    fn first_functions(&self) -> BTreeMap<(ProcessId, FunctionIx), FunctionIx> {
        let taking = self.waits.iter().map(|wait| (wait.process, wait.taken_in));
        let mut first: BTreeMap<_, _> = taking.map(|key| (key, key.1)).collect();
        // A chain of as many as there are is joined in as many turns at most.
        for _ in 0..first.len() {
            let mut changed = false;
            for &(process, a, b) in &self.same {
                let (of_a, of_b) = (first.get(&(process, a)), first.get(&(process, b)));
                let (Some(&of_a), Some(&of_b)) = (of_a, of_b) else {
                    continue;
                };
                let least = of_a.min(of_b);
                changed |= of_a != of_b;
                first.insert((process, a), least);
                first.insert((process, b), least);
            }
            if !changed {
                break;
            }
        }
        first
    }

    fn mostly_taken_in(&self, waits: &[LockWait]) -> &str {
        let mut functions: BTreeMap<FunctionIx, u64> = BTreeMap::new();
        for wait in waits {
            let ns = functions.entry(wait.taken_in).or_default();
            *ns = ns.saturating_add(wait.ns);
        }
        let most = functions.into_iter().max_by_key(|(_, ns)| *ns);
        most.map_or("", |(function, _)| {
            self.code.function(function).name.as_str()
        })
    }
}

/// How many of these waits each thread has at each address.
fn by_address(waits: &[LockWait]) -> BTreeMap<(ThreadId, ObjectId), usize> {
    let mut counts = BTreeMap::new();
    for wait in waits {
        *counts.entry((wait.thread, wait.address)).or_default() += 1;
    }
    counts
}

/// Whether it is a lock that they wait for: nearly always it was let go of where it is taken, as far as that is known. Of a queue of
/// jobs half is: a worker that takes one lets the next worker look (57 % of aiofiles-lines, 2026-11-27; of locks 100 %).
fn is_proven(waits: &[LockWait]) -> bool {
    let sum = |known: bool| {
        let waits = waits.iter();
        let waits = waits.filter(|wait| wait.released_there == Some(known));
        waits.fold(0u64, |sum, wait| sum.saturating_add(wait.ns))
    };
    let needs_proof = waits.iter().any(|wait| wait.needs_proof);
    !needs_proof || sum(true) > sum(false).saturating_mul(ELSEWHERE)
}

/// Of the time that is known to have ended, at most one part to so many is ended elsewhere.
const ELSEWHERE: u64 = 9;

/// Where a stack wants a runtime's lock.
fn wanted_in(code: &Code, stack: StackIx) -> Option<Wanted> {
    let functions = code.functions_of(stack);
    let of_script = |function: &FunctionIx| is_of_script(code, *function);
    let (inner, outer) = functions.split_at(functions.iter().position(of_script)?);
    let inside = |name: &str| pass(code, inner, name);
    let outer: Vec<FunctionIx> = outer.iter().copied().filter(of_script).collect();
    let taken_at = |at: usize| {
        Some(Wanted {
            taken_in: code.one(*outer.get(at)?),
            caller: outer.get(at + 1).map(|&function| code.one(function)),
            by_address: false,
            needs_proof: false,
            released_in: None,
        })
    };
    match code.function(*outer.first()?).language {
        Language::DotNet if enters_monitor_of_dotnet(code, inner) => {
            let threading = |function: &FunctionIx| {
                let name = &code.function(*function).name;
                name.starts_with("System.Threading.Monitor.")
                    || name.starts_with("System.Threading.Lock.")
            };
            taken_at(outer.iter().take_while(|at| threading(at)).count())
        }
        Language::Java if inner.iter().any(|&function| enters_monitor(code, function)) => {
            taken_at(0)
        }
        Language::Java => taken_at(after_lock_of_java(code, &outer)?),
        Language::Python if is_python_waiting(code, outer[0]) => None,
        Language::Python if inside("PyThread_acquire_lock_timed") => Some(Wanted {
            by_address: true,
            needs_proof: true,
            ..taken_at(0)?
        }),
        Language::Python if inside("_PyMutex_LockTimed") => Some(Wanted {
            needs_proof: true,
            ..taken_at(0)?
        }),
        // Who gets one waits for Ruby's own lock in the same function.
        Language::Ruby if inside("rb_mutex_lock") || inside("rb_mutex_synchronize") => {
            Some(Wanted {
                released_in: Some("rb_mutex_unlock"),
                ..taken_at(0)?
            })
        }
        _ => None,
    }
}

/// Whether one of these functions has this name.
fn pass(code: &Code, functions: &[FunctionIx], name: &str) -> bool {
    functions
        .iter()
        .any(|&function| code.function(function).name == name)
}

/// Stubs that the JVM makes look like functions of Java, but are in no class.
fn is_of_script(code: &Code, function: FunctionIx) -> bool {
    let function = code.function(function);
    let is_stub = function.language == Language::Java && !function.name.contains('.');
    function.is_script() && !is_stub
}

/// `synchronized`. Who waits for a notification and gets the monitor again after it does something else.
fn enters_monitor(code: &Code, function: FunctionIx) -> bool {
    let name = &code.function(function).name;
    name.starts_with("ObjectMonitor::enter")
        || name.starts_with("ObjectMonitor::EnterI")
        || name.starts_with("ObjectMonitor::TrySpin")
}

/// `lock` of C#. Who waits to be told something and gets the monitor again after it does something else.
fn enters_monitor_of_dotnet(code: &Code, inner: &[FunctionIx]) -> bool {
    const ENTERS: [&str; 3] = ["AwareLock::Enter", "JIT_MonEnter", "JIT_MonReliableEnter"];
    let any = |begin: &str| {
        let mut names = inner.iter().map(|&function| &code.function(function).name);
        names.any(|name| name.starts_with(begin))
    };
    ENTERS.into_iter().any(any) && !any("SyncBlock::Wait")
}

/// Which of the functions of Java, the innermost first, takes a lock of `java.util.concurrent.locks`.
fn after_lock_of_java(code: &Code, outer: &[FunctionIx]) -> Option<usize> {
    const PACKAGE: &str = "java.util.concurrent.locks.";
    const LOCKS: [&str; 3] = ["ReentrantLock", "ReentrantReadWriteLock", "StampedLock"];
    let name = |function: &FunctionIx| code.function(*function).name.as_str();
    let is_park = |function: &FunctionIx| name(function).ends_with("misc.Unsafe.park");
    let parks = outer.iter().take_while(|f| is_park(f)).count();
    let inside = outer[parks..].iter();
    let inside = inside.map_while(|function| name(function).strip_prefix(PACKAGE));
    let inside: Vec<&str> = inside.collect();
    let is_lock = |class: &&str| LOCKS.iter().any(|lock| class.starts_with(lock));
    let awaits = inside.iter().any(|class| class.contains("ConditionObject"));
    (inside.iter().any(is_lock) && !awaits).then_some(parks + inside.len())
}

/// Python makes conditions, events and the ends of threads of locks as well.
fn is_python_waiting(code: &Code, function: FunctionIx) -> bool {
    const WAITING: [&str; 5] = [
        "wait",
        "wait_for",
        "join",
        "_wait_for_tstate_lock",
        "_shutdown",
    ];
    let function = code.function(function);
    let own = function.name.rsplit('.').next().unwrap_or_default();
    function.file.ends_with("/threading.py") && WAITING.contains(&own)
}

/// The innermost functions of a script in a stack.
fn innermost(code: &Code, stack: StackIx) -> [Option<FunctionIx>; 2] {
    let functions = code.functions_of(stack);
    let scripts = functions.into_iter();
    let mut scripts = scripts.filter(|function| is_of_script(code, *function));
    let mut next = || scripts.next().map(|function| code.one(function));
    [next(), next()]
}
