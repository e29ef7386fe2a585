//! Time on a processor by what it was spent for: a system call, pages, or functions of the program.
//!
//! Samples say how the time divides; the time itself is that of the path.

use rustc_hash::FxHashMap;
use timesink_analysis::outlook::Outlook;
use timesink_analysis::path::{own_function, walked};
use timesink_analysis::stacks::{Code, FunctionIx, StackIx};
use timesink_recording::words::Language;
use timesink_story::Story;

use crate::counts::Counted;
use crate::digest::program_name;
use crate::{Does, Work};

/// Of a cause's time so much must be in samples if these are to stand for all of it. Short processes have few: what no
/// sample tells of them is told as that.
const SAMPLED: f64 = 0.5;

/// A part of the time of one cause.
pub(crate) struct CauseShare {
    pub(crate) work: Work,
    /// Where it was seen.
    pub(crate) function: Option<String>,
    pub(crate) ns: u64,
}

/// The time of one cause of the path on a processor.
pub(crate) struct OnProcessor {
    /// They add up to the cause's time.
    pub(crate) parts: Vec<CauseShare>,
}

/// What one stack is about.
enum About {
    Call(String),
    PageFault,
    Code(Vec<String>),
}

impl OnProcessor {
    pub(crate) fn of(
        story: &Story<'_>,
        outlook: &Outlook,
        at: usize,
        counted: &Counted,
    ) -> OnProcessor {
        let code = &story.loaded.stacks.code;
        let cause = &outlook.causes[at].cause;
        let program = program_name(&story.loaded.facts, cause.key.process);
        let mut parts = Parts {
            program: &program,
            code,
            parts: Vec::new(),
        };
        let stacks = outlook.on_processors.stacks.iter();
        let stacks: Vec<(StackIx, u64)> = stacks
            .filter(|on| on.cause == at)
            .map(|on| (on.stack, on.ns))
            .collect();
        let sampled: u128 = stacks.iter().map(|(_, ns)| u128::from(*ns)).sum();
        let stands_for_all = sampled as f64 >= cause.ns as f64 * SAMPLED;
        let mut left = cause.ns;
        for (stack, ns) in stacks {
            let ns = match stands_for_all {
                true => (u128::from(ns) * u128::from(cause.ns) / sampled.max(1)) as u64,
                false => ns,
            };
            let ns = ns.min(left);
            left -= ns;
            parts.add(stack, ns, counted);
        }
        if left > 0 {
            // What rounding left over belongs to the stack with the most.
            match parts.parts.first_mut().filter(|_| stands_for_all) {
                Some(most) => most.ns += left,
                None => parts.push(Does::Code { chain: Vec::new() }, None, left),
            }
        }
        OnProcessor { parts: parts.parts }
    }
}

struct Parts<'a> {
    program: &'a str,
    code: &'a Code,
    parts: Vec<CauseShare>,
}

impl Parts<'_> {
    fn push(&mut self, does: Does, function: Option<String>, ns: u64) {
        let work = Work {
            program: self.program.to_owned(),
            does,
        };
        self.parts.push(CauseShare { work, function, ns });
    }

    fn add(&mut self, stack: StackIx, ns: u64, counted: &Counted) {
        let functions = self.code.functions_of(stack);
        let own = own_function(self.code, &functions);
        let own = own.map(|function| function_name(self.code, function));
        let is_call = |call: &str| counted.has(self.program, call);
        match about(self.code, stack, &functions, is_call) {
            About::Call(call) => {
                for (does, ns) in counted.divided(self.program, &call, ns) {
                    self.push(does, own.clone(), ns);
                }
            }
            About::PageFault => self.push(Does::PageFaults, own, ns),
            About::Code(chain) => self.push(Does::Code { chain }, own, ns),
        }
    }
}

/// What the innermost of its functions that tells says it is about.
fn about(
    code: &Code,
    stack: StackIx,
    functions: &[FunctionIx],
    is_call: impl Fn(&str) -> bool,
) -> About {
    let is_kernels = |function: &FunctionIx| code.function(*function).language == Language::Kernel;
    let inside = functions.iter().take_while(|function| is_kernels(function));
    for function in inside {
        let name = code.function(*function).name.as_str();
        if matches!(name, "asm_exc_page_fault" | "exc_page_fault") {
            return About::PageFault;
        }
        if let Some(call) = entry(name) {
            return About::Call(call.to_owned());
        }
    }
    // The C library's function that makes the call: some calls of the kernel leave no frame of their own.
    let user = functions.iter().find(|function| !is_kernels(function));
    let user = user.filter(|function| code.is_system(**function));
    let wrapped = user.and_then(|function| wrapped(&code.function(*function).name));
    if let Some(call) = wrapped.filter(|call| is_call(call)) {
        return About::Call(call.to_owned());
    }
    let mut chain = walked(code, stack);
    // With no function of the program's own, what the system does for it is all that is known.
    let is_own =
        |function: &FunctionIx| !code.is_system(*function) && !code.is_before_main(*function);
    if !chain.iter().any(is_own) {
        // Of the library that it is in, the function that was called from outside.
        let module = |function: FunctionIx| code.function(function).module;
        let mut named = functions.iter().copied().skip_while(is_kernels).peekable();
        let library = named.peek().map(|&function| module(function));
        let within = named.take_while(|&function| {
            let is_named = !code.function(function).name.is_empty();
            is_named && Some(module(function)) == library
        });
        let called = within.last();
        chain.extend(called.filter(|function| chain.last() != Some(function)));
    }
    let names = chain
        .into_iter()
        .map(|function| function_name(code, function));
    About::Code(names.collect())
}

/// The system call that a function of the kernel is the entry of.
fn entry(function: &str) -> Option<&str> {
    const ENTRIES: [&str; 4] = ["__x64_sys_", "__ia32_sys_", "__do_sys_", "ksys_"];
    let call = ENTRIES
        .iter()
        .find_map(|entry| function.strip_prefix(entry))?;
    Some(match call {
        "newfstat" => "fstat",
        "newstat" => "stat",
        "newlstat" => "lstat",
        other => other,
    })
}

/// The system call that a function of the C library makes, by its name.
fn wrapped(function: &str) -> Option<&str> {
    let name = function.trim_start_matches('_');
    let name = name
        .strip_prefix("libc_")
        .or(name.strip_prefix("GI_"))
        .unwrap_or(name);
    let name = name.trim_start_matches('_');
    let name = name
        .strip_suffix("64")
        .filter(|name| *name == "open")
        .unwrap_or(name);
    Some(match name {
        "open" => "openat",
        "" => return None,
        name => name,
    })
}

/// A function by a name that another recording has, too. Of those that stand for a whole file, and of those without a name,
/// the file says which it is.
pub(crate) fn function_name(code: &Code, of: FunctionIx) -> String {
    let function = code.function(of);
    let file = function.file.rsplit('/').next().unwrap_or_default();
    match function.name.as_str() {
        "" => match code.file_of(function) {
            Some(module) if !module.is_empty() => format!("(no name in {module})"),
            _ => "(no name)".to_owned(),
        },
        name if name.starts_with(['<', '(']) && !file.is_empty() => format!("{name} {file}"),
        // A lambda of Java has an address in its name.
        name if name.contains("0x") => timesink_findings::signature::lasting(name),
        name => name.to_owned(),
    }
}

/// The time of code under each function, by the functions from the outermost inwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    a_ns: u64,
    b_ns: u64,
    /// Time in the function itself.
    own: (u64, u64),
    called: FxHashMap<String, Tree>,
}

/// Nearly all of a difference passes through a function that is walked into.
const NEARLY_ALL: f64 = 0.8;

impl Tree {
    pub(crate) fn add(&mut self, chain: &[String], ns: u64, is_b: bool) {
        let mut node = self;
        node.count(ns, is_b);
        for function in chain {
            node = node.called.entry(function.clone()).or_default();
            node.count(ns, is_b);
        }
        let own = if is_b {
            &mut node.own.1
        } else {
            &mut node.own.0
        };
        *own = own.saturating_add(ns);
    }

    fn count(&mut self, ns: u64, is_b: bool) {
        let sum = if is_b { &mut self.b_ns } else { &mut self.a_ns };
        *sum = sum.saturating_add(ns);
    }

    fn difference(&self) -> u64 {
        self.a_ns.abs_diff(self.b_ns)
    }

    /// Where the difference divides: the chains of functions with which its parts begin, each as deep as nearly all of the
    /// part passes through. Every stack begins with at most one of them.
    pub(crate) fn divided(&self) -> Vec<Vec<String>> {
        let (mut node, mut chain) = (self, Vec::new());
        while let Some((name, next)) = node.way() {
            chain.push(name.to_owned());
            node = next;
        }
        if chain.is_empty() || !node.called.is_empty() && !node.is_own() {
            let parts = node.called.iter().map(|(name, part)| {
                let mut chain = chain.clone();
                chain.push(name.clone());
                let mut node = part;
                while let Some((name, next)) = node.way() {
                    chain.push(name.to_owned());
                    node = next;
                }
                chain
            });
            return parts.collect();
        }
        vec![chain]
    }

    /// Whether the function itself has much of the difference.
    fn is_own(&self) -> bool {
        let own = self.own.0.abs_diff(self.own.1);
        own as f64 >= self.moved() as f64 * (1.0 - NEARLY_ALL)
    }

    /// All that became more or less below it.
    fn moved(&self) -> u64 {
        let called = self.called.values().map(Tree::difference);
        let own = self.own.0.abs_diff(self.own.1);
        called.fold(own, u64::saturating_add)
    }

    /// The function that nearly all of the difference goes on to.
    fn way(&self) -> Option<(&str, &Tree)> {
        let most = self
            .called
            .iter()
            .max_by_key(|(name, part)| (part.difference(), std::cmp::Reverse(*name)))?;
        let nearly = self.moved() as f64 * NEARLY_ALL;
        let is_way = most.1.difference() > 0 && most.1.difference() as f64 >= nearly;
        is_way.then_some((most.0.as_str(), most.1))
    }
}
