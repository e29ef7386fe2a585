//! Where the time of a program divides: the deepest function through which nearly all of it passes, and what it goes to
//! from there.
//!
//! Walked are the program's own functions and those of libraries that others made. What an interpreter, a standard library
//! or the system does in them is one step at the end, the function of it that they call. What a script's runtime does on
//! its own, as it starts or collects garbage, is apart: it is no part of any of the script's functions.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ProcessId;

use super::OnProcessors;
use crate::stacks::{without_recursion, Code, FunctionIx, StackIx, Stacks};

/// Of all time so much passes through a function that is walked into.
const NEARLY_ALL: f64 = 0.8;
/// Or so much, where each other way has little.
const MOST: f64 = 0.5;
const LITTLE: f64 = 0.1;

/// A step from the outermost frame inwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Within {
    /// A program, by its first process.
    Program(ProcessId),
    Function(FunctionIx),
}

/// Where time divides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// From the outermost inwards; nearly all passes through each.
    pub chain: Vec<Within>,
    pub ns: u64,
    /// What it goes to from the last of the chain, the most first.
    pub parts: Vec<DividedPart>,
    /// What the runtime of scripts did beside them.
    pub runtime_ns: u64,
}

/// One of the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedPart {
    /// What nearly all of it passes through, from the outermost inwards; nothing for the function itself.
    pub chain: Vec<Within>,
    pub ns: u64,
    /// The stack with the most time in it.
    pub stack: StackIx,
}

/// A stack as steps inwards.
struct Outline {
    program: ProcessId,
    /// Whether any of it is a script's.
    in_script: bool,
    steps: Vec<Within>,
    ns: u64,
    stack: StackIx,
}

impl Division {
    /// The division of what a path did on processors. `program` tells the program of each cause of the path.
    pub fn of(
        on_processors: &OnProcessors,
        stacks: &Stacks,
        program: impl Fn(usize) -> Option<ProcessId>,
    ) -> Option<Division> {
        let mut known: FxHashMap<StackIx, Vec<FunctionIx>> = FxHashMap::default();
        let mut outlines: Vec<Outline> = Vec::new();
        for on in &on_processors.stacks {
            let Some(program) = program(on.cause) else {
                continue;
            };
            let functions = known
                .entry(on.stack)
                .or_insert_with(|| walked(&stacks.code, on.stack));
            let mut each = functions.iter().copied();
            let steps = each.clone().map(Within::Function);
            outlines.push(Outline {
                program,
                in_script: each.any(|function| stacks.code.function(function).is_script()),
                steps: std::iter::once(Within::Program(program))
                    .chain(steps)
                    .collect(),
                ns: on.ns,
                stack: on.stack,
            });
        }
        let of_scripts = outlines.iter().filter(|one| one.in_script);
        let of_scripts: BTreeSet<ProcessId> = of_scripts.map(|one| one.program).collect();
        let is_runtimes = |one: &&Outline| !one.in_script && of_scripts.contains(&one.program);
        let (apart, all): (Vec<&Outline>, Vec<&Outline>) = outlines.iter().partition(is_runtimes);
        // A stack that ends too soon may be of a function of a script as well.
        let whole = apart.into_iter();
        let whole: Vec<&Outline> = whole
            .filter(|one| stacks.code.is_complete(one.stack))
            .collect();
        let runtime_ns = sum(&whole);
        let code = &stacks.code;
        let (chain, within) = descend(code, all, 0);
        let ns = sum(&within);
        let mut parts: Vec<DividedPart> = by_step(&within, chain.len())
            .into_values()
            .filter_map(|part| {
                let ns = sum(&part);
                let heaviest = part.iter().max_by_key(|one| (one.ns, Reverse(one.stack)))?;
                let stack = heaviest.stack;
                let (chain, _) = descend(code, part, chain.len());
                Some(DividedPart { chain, ns, stack })
            })
            .collect();
        parts.sort_by_cached_key(|part| {
            (
                Reverse(part.ns),
                part.chain.first().map(|step| rank(code, *step)),
            )
        });
        (ns > 0).then_some(Division {
            chain,
            ns,
            parts,
            runtime_ns,
        })
    }

    /// The innermost function of the chain of which this holds.
    pub fn innermost(&self, is: impl Fn(FunctionIx) -> bool) -> Option<FunctionIx> {
        functions(&self.chain).rev().find(|&function| is(function))
    }
}

impl DividedPart {
    /// Its functions, the outermost first.
    pub fn functions(&self) -> impl DoubleEndedIterator<Item = FunctionIx> + '_ {
        functions(&self.chain)
    }
}

fn functions(chain: &[Within]) -> impl DoubleEndedIterator<Item = FunctionIx> + '_ {
    chain.iter().filter_map(|step| match step {
        Within::Function(function) => Some(*function),
        Within::Program(_) => None,
    })
}

/// Of those with as much time the name says which is first: numbers differ from recording to recording.
fn rank(code: &Code, step: Within) -> (&str, Within) {
    match step {
        Within::Function(function) => (&code.function(function).name, step),
        Within::Program(_) => ("", step),
    }
}

fn sum(outlines: &[&Outline]) -> u64 {
    let each = outlines.iter().map(|one| one.ns);
    each.fold(0, u64::saturating_add)
}

fn by_step<'a>(
    outlines: &[&'a Outline],
    depth: usize,
) -> FxHashMap<Option<Within>, Vec<&'a Outline>> {
    let mut groups: FxHashMap<Option<Within>, Vec<&Outline>> = FxHashMap::default();
    for outline in outlines {
        let step = outline.steps.get(depth).copied();
        groups.entry(step).or_default().push(outline);
    }
    groups
}

/// Inwards from a depth, as long as nearly all goes the same way: the steps from there, and what goes through the last.
fn descend<'a>(
    code: &Code,
    mut outlines: Vec<&'a Outline>,
    from: usize,
) -> (Vec<Within>, Vec<&'a Outline>) {
    let all = sum(&outlines) as f64;
    let mut chain = Vec::new();
    loop {
        let groups = by_step(&outlines, from + chain.len());
        let itself = groups.get(&None).map_or(0, |group| sum(group));
        let mut sums: Vec<(u64, Within, Vec<&Outline>)> = groups
            .into_iter()
            .filter_map(|(step, group)| Some((sum(&group), step?, group)))
            .collect();
        sums.sort_by_cached_key(|(ns, step, _)| (Reverse(*ns), rank(code, *step)));
        let next = sums.get(1).map_or(0, |(ns, ..)| *ns).max(itself) as f64;
        let is_way =
            |most: f64| most >= all * NEARLY_ALL || most >= all * MOST && next < all * LITTLE;
        match sums.into_iter().next() {
            Some((ns, step, group)) if is_way(ns as f64) => {
                chain.push(step);
                outlines = group;
            }
            _ => return (chain, outlines),
        }
    }
}

/// The functions of a stack that are walked, the outermost first.
pub fn walked(code: &Code, stack: StackIx) -> Vec<FunctionIx> {
    let functions = code.functions_of(stack).into_iter();
    let functions: Vec<FunctionIx> = functions.map(|f| code.one(f)).collect();
    let is_script = |function: FunctionIx| code.function(function).is_script();
    let script = functions.iter().copied().any(is_script);
    // A program may be all of it a part of its language: `python3 -m pydoc`.
    let is_others = |function: FunctionIx| is_script(function) && !code.is_standard(function);
    let of_others = functions.iter().copied().any(is_others);
    let is_own = |function: FunctionIx| match (script, of_others) {
        (true, true) => is_others(function),
        (true, false) => is_script(function),
        (false, _) => {
            let compiled = !code.is_system(function) && !code.is_before_main(function);
            compiled && !code.is_of_language(function)
        }
    };
    // What the innermost of them calls, if that has a name: the last step. Of a script it is the library's function that is a
    // script, too, as long as there is one.
    let own = functions.iter().position(|&function| is_own(function));
    let mut below = functions[..own.unwrap_or(functions.len())].iter().rev();
    /// How Java joins strings and calls lambdas: nobody knows it by that name.
    const OF_CALLS: &str = "java.lang.invoke.";
    let called = below.find(|&&function| {
        let name = &code.function(function).name;
        // Where nothing is the program's own, what is walked begins below what began the thread or the goroutine.
        let begins = own.is_none() && code.is_before_main(function);
        (!script || is_script(function))
            && !name.is_empty()
            && !name.starts_with(OF_CALLS)
            && !begins
    });
    let mut walked: Vec<FunctionIx> = functions
        .iter()
        .rev()
        .copied()
        .filter(|&f| is_own(f))
        .collect();
    walked.extend(called);
    without_recursion(walked)
}
