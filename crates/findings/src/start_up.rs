//! What of a process's time is getting started: before its main function, and in what an interpreter does before the
//! first line of the program and while it loads modules.
//!
//! Told by the names of functions, so a process without them, or with broken stacks, is taken to be working.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::{Account, Kind, ThreadLedger};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;

/// What runs the program itself, or a thread of it. All outside of it is the kernel's, the loader's and the C library's.
const RUNS: [&str; 9] = [
    "main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "__libc_start_main",
    "start_thread",
    "runtime.goexit",
    "runtime.mstart",
    "runtime.mcall",
    "runtime.systemstack",
];
/// What Go's assembler appends to the names of its functions.
const ASSEMBLED: &str = ".abi0";
/// Where an interpreter gets itself ready, loads modules, and takes all of it down again.
const LOADS: [&str; 16] = [
    "Py_InitializeFromConfig",
    "Py_InitializeEx",
    "Py_FinalizeEx",
    "_find_and_load",
    "perl_parse",
    "perl_destruct",
    "ruby_init",
    "ruby_options",
    "JNI_CreateJavaVM",
    "SystemDictionary::resolve_or_null",
    "SystemDictionary::resolve_instance_class_or_null",
    "InstanceKlass::link_class_impl",
    "runtime.doInit",
    "runtime.doInit1",
    "node::InitializeOncePerProcessInternal",
    "node::NodeMainInstance::NodeMainInstance",
];
/// Threads in which virtual machines of Java and Node.js compile what is about to run often: a process that soon ends has little of it.
const COMPILES: [&str; 2] = [
    "CompileBroker::compiler_thread_loop",
    "node::(anonymous namespace)::PlatformWorkerThread",
];
/// Node.js prepares a program in the first, and loads each module with the second: the first of these is the program itself.
const PREPARES: &str = "node::LoadEnvironment";
const LOADS_MODULE: &str = "Module._load";

/// On a processor, by what it was for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StartUp {
    /// Of the time that samples tell of, getting started: a share, all of it and the interpreter's part.
    pub share: f64,
    pub loading: f64,
}

/// Whether an interpreter gets itself ready there, or loads modules.
pub fn is_loading(names: &[&str]) -> bool {
    let plain = || names.iter().map(|name| without_arguments(name));
    let prepares = || plain().any(|name| name == PREPARES);
    let modules = names.iter().filter(|name| **name == LOADS_MODULE);
    plain().any(|name| LOADS.contains(&name))
        || match modules.count() {
            0 => prepares(),
            1 => false,
            _ => true,
        }
}

/// The name of a C++ function, of which several may differ by their arguments.
fn without_arguments(name: &str) -> &str {
    let mut opens = name.match_indices('(').map(|(at, _)| at);
    let arguments = opens.find(|&at| at > 0 && !name[..at].ends_with("::"));
    arguments.map_or(name, |at| &name[..at])
}

fn is_starting(names: &[&str]) -> bool {
    let compiles = || {
        let mut plain = names.iter().map(|name| without_arguments(name));
        plain.any(|name| COMPILES.contains(&name))
    };
    is_loading(names) || !runs(names) || compiles()
}

/// Whether the program itself runs there, or a thread of it, which has no main function.
fn runs(names: &[&str]) -> bool {
    let mut plain = names
        .iter()
        .map(|name| name.strip_suffix(ASSEMBLED).unwrap_or(name));
    plain.any(|name| RUNS.contains(&name))
}

impl StartUp {
    /// Of these processes together; `None` where too little of them was sampled.
    pub fn of(inquiry: &Inquiry<'_>, processes: &BTreeSet<ProcessId>) -> Option<StartUp> {
        /// Fewer samples, of some milliseconds each, tell nothing.
        const LEAST_NS: u64 = 20_000_000;
        let threads = inquiry.threads_of(processes);
        let any = |_: &[&str]| true;
        let (starting, whole) = inquiry.stacks.part(&threads, any, is_starting);
        let (loading, _) = inquiry.stacks.part(&threads, any, is_loading);
        (whole >= LEAST_NS).then(|| StartUp {
            share: starting as f64 / whole as f64,
            loading: loading as f64 / whole as f64,
        })
    }
}

/// Of what these processes do, the share that is not waiting for what has nothing to do with their start: a child that sleeps
/// for a second is not slow to start. How long they stood in line for a CPU, or waited for children of their own, says
/// nothing.
pub fn at_work(inquiry: &Inquiry<'_>, processes: &BTreeSet<ProcessId>) -> f64 {
    // Threads of a pool that have nothing to do wait for all of it.
    let mut mains: BTreeMap<ProcessId, &ThreadLedger> = BTreeMap::new();
    let threads = inquiry.facts.ledger.threads.iter();
    for thread in threads.filter(|thread| processes.contains(&thread.row.process)) {
        mains.entry(thread.row.process).or_insert(thread);
    }
    let (mut working, mut waiting) = (0u64, 0u64);
    for cause in mains.values().flat_map(|thread| &thread.causes) {
        let sum = match (cause.key.account, cause.key.kind) {
            (Account::Cpu, _) => &mut working,
            (
                Account::Wait,
                Kind::As(
                    Detail::DiskRead
                    | Detail::PageFault
                    | Detail::Exec
                    | Detail::KernelLock
                    | Detail::Exit,
                ),
            ) => &mut working,
            (Account::Wait, Kind::As(Detail::Child | Detail::Vfork | Detail::Creation)) => continue,
            (Account::Wait, _) => &mut waiting,
            (Account::Ready | Account::Tracer | Account::Lost, _) => continue,
        };
        *sum = sum.saturating_add(cause.ns);
    }
    working as f64 / working.saturating_add(waiting).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread has no main function, and a goroutine neither: 62 compilers in Go, which spent a third of their time in goroutines with
    /// no stack of a main function around them, were told to be mostly started.
    #[test]
    fn a_thread_is_not_start_up() {
        assert!(!is_starting(&["start_thread", "worker", "compress"]));
        assert!(!is_starting(&[
            "runtime.goexit.abi0",
            "main.main",
            "main.work"
        ]));
        assert!(!is_starting(&["runtime.mcall", "runtime.schedule"]));
        assert!(is_starting(&["_dl_start", "_dl_relocate_object"]));
        assert!(is_starting(&["runtime.rt0_go.abi0", "runtime.schedinit"]));
        assert!(is_starting(&[
            "runtime.goexit.abi0",
            "runtime.main",
            "runtime.doInit1",
            "tables.init"
        ]));
    }

    /// Of a virtual machine of Java that starts, loading classes and compiling is start-up; what it runs is not.
    #[test]
    fn the_start_of_java() {
        let run = ["start_thread", "ThreadJavaMain", "JavaMain"];
        let with = |more: &[&'static str]| [&run[..], more].concat();
        assert!(!is_starting(&with(&["Main.main", "Parser.parse"])));
        assert!(is_starting(&with(&[
            "JNI_CreateJavaVM",
            "Threads::create_vm"
        ])));
        assert!(is_loading(&with(&[
            "Main.main",
            "SystemDictionary::resolve_or_null(Symbol*, Handle, Handle, JavaThread*)"
        ])));
        let compiles = ["start_thread", "CompileBroker::compiler_thread_loop()"];
        assert!(is_starting(&compiles) && !is_loading(&compiles));
    }

    /// What Node.js does before a program's first line and the modules that it loads are start-up; the program itself is not.
    #[test]
    fn the_start_of_node() {
        let run = ["main", "node::Start(int, char**)"];
        let program = [
            "node::LoadEnvironment(node::Environment*)",
            "executeUserEntryPoint",
            "Module._load",
            "(anonymous)",
        ];
        let with = |more: &[&'static str]| [&run[..], &program, more].concat();
        assert!(is_loading(&[
            "main",
            "node::InitializeOncePerProcessInternal(std::vector<int> const&)"
        ]));
        assert!(is_loading(&[&run[..], &program[..1]].concat()));
        assert!(!is_loading(&with(&["pbkdf2Sync"])));
        assert!(is_loading(&with(&["require", "Module._load", "compile"])));
        let compiles = [
            "start_thread",
            "node::(anonymous namespace)::PlatformWorkerThread(void*)",
        ];
        assert!(is_starting(&compiles) && !is_loading(&compiles));
    }
}
