//! What tasks of tokio begin with. tokio keeps no address of that: it is told by the stacks of the time in which threads polled a
//! task, by the function that is called right below the part of tokio that polls.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::TaskId;
use timesink_recording::tables::Task;
use timesink_recording::words::TaskKind;

use super::TaskTurns;
use crate::stacks::{Code, FunctionIx, StackIx, Stacks};

/// The part of tokio that polls tasks, as its functions are named.
const POLLS: &str = "tokio::runtime::task::";
/// Crates whose futures hold one of somebody else and do nothing but poll it, and what every program has.
const HOLDERS: [&str; 11] = [
    "alloc",
    "async_trait",
    "core",
    "futures",
    "futures_core",
    "futures_util",
    "std",
    "tokio",
    "tokio_util",
    "tracing",
    "tracing_futures",
];

/// The first function of each task of tokio of which stacks tell it.
pub(super) fn first_functions(
    rows: &[Task],
    turns: &TaskTurns,
    stacks: &Stacks,
) -> FxHashMap<TaskId, FunctionIx> {
    let futures = rows.iter().filter(|row| row.kind == TaskKind::Future);
    // How many of its stacks have which: what a compiler has put into another function is not in all of them.
    let mut found: FxHashMap<TaskId, BTreeMap<FunctionIx, (bool, usize)>> = futures
        .map(|row| (row.task, BTreeMap::new()))
        .collect();
    if found.is_empty() {
        return FxHashMap::default();
    }
    let mut of_stack: FxHashMap<StackIx, Option<(FunctionIx, bool)>> = FxHashMap::default();
    for thread in turns.threads() {
        for event in stacks.events_of(thread) {
            let turn = turns.at(thread, event.at);
            let turn = turn.filter(|turn| event.at <= turn.t1);
            let Some(found) = turn.and_then(|turn| found.get_mut(&turn.task?)) else {
                continue;
            };
            let first = of_stack
                .entry(event.stack)
                .or_insert_with(|| first_function(&stacks.code, event.stack));
            if let Some((function, is_own)) = *first {
                found.entry(function).or_insert((is_own, 0)).1 += 1;
            }
        }
    }
    let most = found.into_iter().filter_map(|(task, found)| {
        let most = found.into_iter().max_by_key(|(_, weight)| *weight)?;
        Some((task, most.0))
    });
    most.collect()
}

/// The first function of the task that is polled in a stack, and whether it is one that holds no other future.
fn first_function(code: &Code, stack: StackIx) -> Option<(FunctionIx, bool)> {
    let functions = code.functions_of(stack);
    let name = |function: &FunctionIx| code.function(*function).name.as_str();
    let polls = functions
        .iter()
        .position(|function| name(function).contains(POLLS))?;
    // From the outermost one inwards.
    let below = || functions[..polls].iter().rev();
    let own = below().find(|function| !is_holder(name(function)) && !code.is_system(**function));
    let first = own.or_else(|| below().find(|function| !code.is_of_language(**function)));
    first.map(|first| (code.one(*first), own.is_some()))
}

/// Whether a function is of a crate that holds the futures of others.
fn is_holder(name: &str) -> bool {
    let name = name.trim_start_matches(['<', '&', '(', '[']);
    let name = name.strip_prefix("mut ").unwrap_or(name);
    let name = name.strip_prefix("dyn ").unwrap_or(name);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (first, rest) = name.split_at(end.unwrap_or(name.len()));
    // A method of a trait for whatever type has it, too.
    HOLDERS.contains(&first) || rest.starts_with(" as ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futures_that_hold_others_are_told_from_those() {
        let holders = [
            "core::ops::function::FnOnce::call_once",
            "<core::pin::Pin<P> as core::future::future::Future>::poll",
            "<tokio::runtime::blocking::task::BlockingTask<T> as core::future::future::Future>::poll",
            "<&mut dyn tokio::io::AsyncRead>::poll",
            "<F as core::future::into_future::IntoFuture>::into_future",
            "<tracing::instrument::Instrumented<T> as core::future::future::Future>::poll",
        ];
        for name in holders {
            assert!(is_holder(name), "{name}");
        }
        let others = [
            "mini::handle::{{closure}}",
            "<hyper::proto::h1::Conn<I> as core::future::future::Future>::poll",
            "tokio_postgres::connection::Connection::poll",
            "main",
        ];
        for name in others {
            assert!(!is_holder(name), "{name}");
        }
    }
}
