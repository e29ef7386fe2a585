//! Which system call a function on a stack is the work of.
//!
//! The kernel's own functions tell that by their names. Around them a call also takes the time of getting into the
//! kernel and out of it, in the C library and before the kernel knows what it is to do: with small calls that is half
//! of them. It is told by the function of the C library that nothing but such calls goes through.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::words::Language;

use crate::ledger::Account;
use crate::stacks::{FunctionIx, StackIx, Stacks};

/// The system call that a function of the kernel is the work of. Where the entry itself only jumps on, stacks have the
/// function that it jumps to.
pub fn entered(function: &str) -> Option<&str> {
    const PREFIXES: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "ksys_", "__do_sys_"];
    const OTHERS: [(&str, &str); 8] = [
        ("do_sys_openat2", "openat"),
        ("kernel_wait4", "wait4"),
        ("kernel_clone", "clone"),
        ("do_execveat_common", "execve"),
        ("do_readv", "readv"),
        ("do_writev", "writev"),
        ("do_statx", "statx"),
        ("do_faccessat", "access"),
    ];
    let mut prefixes = PREFIXES.iter();
    let call = prefixes.find_map(|prefix| function.strip_prefix(prefix));
    call.or_else(|| {
        let other = OTHERS.iter().find(|(name, _)| *name == function);
        other.map(|(_, call)| *call)
    })
}

/// The functions of the C library through which these calls are made, and no others.
pub(super) fn wrappers(stacks: &Stacks, calls: &BTreeSet<&'static str>) -> BTreeSet<String> {
    let mut seen: FxHashMap<StackIx, Option<(FunctionIx, bool)>> = FxHashMap::default();
    let mut counts: FxHashMap<FunctionIx, (u64, u64)> = FxHashMap::default();
    let samples = stacks.events.iter();
    for event in samples.filter(|event| event.account == Account::Cpu) {
        let found = *seen
            .entry(event.stack)
            .or_insert_with(|| made(stacks, event.stack, calls));
        if let Some((function, meant)) = found {
            let (these, others) = counts.entry(function).or_default();
            *(if meant { these } else { others }) += 1;
        }
    }
    // A sample now and then is of an interrupt, which has the call it came into on its stack.
    const MOSTLY: u64 = 20;
    let only = counts
        .into_iter()
        .filter(|(_, (these, others))| *these > others * MOSTLY);
    only.map(|(function, _)| stacks.code.function(function).name.clone())
        .collect()
}

/// The function of the C library that a call on a stack was made by, and whether the call is one of these.
fn made(
    stacks: &Stacks,
    stack: StackIx,
    calls: &BTreeSet<&'static str>,
) -> Option<(FunctionIx, bool)> {
    let code = &stacks.code;
    let functions = code.functions_of(stack);
    let is_kernel = |f: &FunctionIx| code.function(*f).language == Language::Kernel;
    let mut outside = functions.iter().copied().filter(|f| !is_kernel(f));
    let maker = outside.next()?;
    // A program that is just being executed stands where it is to begin, and has made no call yet.
    outside.next()?;
    let kernel = functions.iter().take_while(|f| is_kernel(f));
    let call = kernel
        .filter_map(|&f| entered(&code.function(f).name))
        .next()?;
    let known = code.is_system(maker) && !code.function(maker).name.is_empty();
    known.then(|| (maker, calls.contains(call)))
}
