//! What of a process's time is getting started: before its main function, and in what an interpreter does before the
//! first line of the program and while it loads modules.
//!
//! Told by the names of functions, so a process without them, or with broken stacks, is taken to be working.

use std::collections::BTreeSet;

use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;

/// What runs the program itself. All outside of it is the kernel's, the loader's and the C library's.
const RUNS: [&str; 4] = [
    "main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "__libc_start_main",
];
/// Where an interpreter gets itself ready, loads modules, and takes all of it down again.
const LOADS: [&str; 11] = [
    "Py_InitializeFromConfig",
    "Py_InitializeEx",
    "Py_FinalizeEx",
    "_find_and_load",
    "perl_parse",
    "perl_destruct",
    "ruby_init",
    "ruby_options",
    "JNI_CreateJavaVM",
    "node::InitializeOncePerProcessInternal",
    "node::NodeMainInstance::NodeMainInstance",
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
    match name.find('(') {
        Some(at) if at > 0 && !name[..at].ends_with("::") => &name[..at],
        _ => name,
    }
}

fn is_starting(names: &[&str]) -> bool {
    is_loading(names) || !names.iter().any(|name| RUNS.contains(name))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!is_loading(&[
            "node::(anonymous namespace)::PlatformWorkerThread(void*)"
        ]));
    }
}
