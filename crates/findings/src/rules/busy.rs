//! A program that computes: no fault that these rules know, and where in its code the time divides.
//!
//! It is told so that nobody looks elsewhere. What it would save is anything between nothing and all of that time.

use timesink_analysis::facts::last_part;
use timesink_analysis::path::{DividedPart, Division, Within};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{names_on_demand, FunctionIx, Spot, StackIx};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;

use crate::crowd::Crowd;
use crate::inquiry::Inquiry;
use crate::on_cpu::{most_frequent_calls, OnCpu};
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "busy",
    looks_for: "a program that is busy on CPU, and where in the code its time goes",
    why: "The program computes. Whether it could compute less, only someone who knows it can tell.",
    advice: "look at the largest part first: can it do less, or run less often? timesink report --line shows its lines",
    wrong_if: "the work is necessary and already done as well as it can be",
    limits: &[&limits::CPU, &limits::PATH, &limits::FUNCTION],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CPU: Limit = Limit {
        name: "cpu",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of the critical path spent on CPU, not counting time runnable (waiting for a CPU)",
    };
    /// Where many threads take turns, what they compute is mostly that they wait for each other: of a server that computed at full load
    /// on two CPUs 23 % of the path was on CPU, and 77 % runnable (2026-11-26).
    pub static PATH: Limit = Limit {
        name: "path",
        value: 0.25,
        unit: Unit::Share,
        means: "minimum share of the critical path on CPU, or runnable (waiting for a CPU) behind the program's own threads",
    };
    pub static FUNCTION: Limit = Limit {
        name: "function",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in one function",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let wall = inquiry.outlook.wall_ns as f64;
    let busy = inquiry.causes(|key| key.state == State::Cpu);
    let on_path = inquiry.on_path_ns(&busy) as f64;
    let computes = beside_queue(inquiry, on_path);
    let behind_own = Crowd::all(inquiry).along(inquiry).own_ns as f64;
    if computes < RULE.limit(inquiry, &limits::CPU)
        || on_path + behind_own < wall * RULE.limit(inquiry, &limits::PATH)
    {
        return Vec::new();
    }
    let causes = &inquiry.outlook.causes;
    let program = |cause: usize| Some(causes.get(cause)?.cause.key.process);
    let on_processors = &inquiry.outlook.on_processors;
    let division = Division::of(on_processors, inquiry.stacks, program);
    let suspect = division.and_then(|division| Divided::of(inquiry, division));
    match suspect {
        Some(divided) => vec![divided.suspect(inquiry, busy, computes)],
        None => nameless(inquiry, busy, computes).into_iter().collect(),
    }
}

/// The share that this time on CPU has of the critical path without its time runnable. Who waits for a CPU wants to compute:
/// the more threads take turns, the less of the path is on CPU.
fn beside_queue(inquiry: &Inquiry<'_>, on_path: f64) -> f64 {
    let ready = inquiry.causes(|key| key.state == State::Ready);
    let wall = inquiry.outlook.wall_ns as f64;
    on_path / (wall - inquiry.on_path_ns(&ready) as f64).max(1.0)
}

/// Where the time divides, in a program whose functions have names.
struct Divided {
    division: Division,
    /// The parts that are worth a word.
    parts: Vec<DividedPart>,
    /// The largest part of the first one, where that is a program in which nothing is common to all.
    inner: Option<DividedPart>,
}

/// So many parts are named.
const PARTS: usize = 3;

const ASYNCHRONOUSLY: &str = "use the asynchronous form of the function (zlib.gzip, crypto.pbkdf2, fs.promises): it runs in a thread pool, and the event loop goes on with other requests meanwhile";

impl Divided {
    fn of(inquiry: &Inquiry<'_>, division: Division) -> Option<Divided> {
        let wall = inquiry.outlook.wall_ns.max(1) as f64;
        let large =
            |part: &DividedPart| part.ns as f64 / wall >= RULE.limit(inquiry, &limits::FUNCTION);
        let parts = division.parts.iter().filter(|part| large(part));
        let parts: Vec<DividedPart> = parts.take(PARTS).cloned().collect();
        let first = parts.first();
        let named = division.innermost(|_| true).is_some()
            || first.is_some_and(|part| !part.chain.is_empty());
        let of_first = first.and_then(|part| part.chain.first());
        let process = match division.chain.first().or(of_first)? {
            Within::Program(process) => *process,
            Within::Function(_) => return None,
        };
        let inner = parts.first().and_then(|part| inner(inquiry, part));
        (named && has_names(inquiry, process)).then_some(Divided {
            division,
            parts,
            inner,
        })
    }

    /// `computes`: the share on CPU, of all programs.
    fn suspect(self, inquiry: &Inquiry<'_>, busy: Vec<usize>, computes: f64) -> Suspect {
        let wall = inquiry.outlook.wall_ns.max(1) as f64;
        let share = self.division.ns as f64 / wall;
        let fix = at_most(self.longest(inquiry), self.all(inquiry));
        let blocks_loop = self.is_synchronous_in_server(inquiry);
        let suspect = Suspect {
            frames: self.frames(inquiry),
            ..Suspect::new(self.title(inquiry), fix, Weight::all(busy))
                .along_with(Crowd::all(inquiry).along(inquiry))
                .held(inquiry, &RULE, "share on CPU", computes, &limits::CPU)
                .told(say![
                    Piece::Percent(share * 100.0),
                    " of the critical path is CPU time in it, callees included"
                ])
                .told_of_runtime(self.division.runtime_ns as f64 / wall)
        };
        match blocks_loop {
            true => suspect.advised(ASYNCHRONOUSLY.to_owned()),
            false => suspect,
        }
    }

    /// Whether the largest part of it is a function of Node.js's own that keeps the event loop of a server from going on.
    fn is_synchronous_in_server(&self, inquiry: &Inquiry<'_>) -> bool {
        let code = &inquiry.stacks.code;
        let is_synchronous = |function: FunctionIx| {
            let function = code.function(function);
            let name = function.name.to_lowercase();
            function.file.starts_with("node:") && name.contains("sync") && !name.contains("async")
        };
        let stack = self.parts.first().map(|part| part.stack);
        let mut functions = stack.map_or(Vec::new(), |stack| code.functions_of(stack));
        functions.extend(self.division.innermost(|_| true));
        let mut asked = inquiry.asking().iter().map(|clients| clients.process);
        let serves = |process| asked.any(|own| inquiry.same_program(own, process));
        self.program().is_some_and(serves) && functions.into_iter().any(is_synchronous)
    }

    /// `busy on CPU in handler(): pbkdf2Sync() 48 %, parse() in config() 31 %`.
    fn title(&self, inquiry: &Inquiry<'_>) -> Sentence {
        let code = &inquiry.stacks.code;
        let innermost = self.division.innermost(|_| true);
        let caller = self
            .division
            .innermost(|function| code.is_programs_own(function));
        let mut title = match (innermost, self.division.chain.first()) {
            (Some(function), _) => say!["busy on CPU in ", function],
            (None, Some(Within::Program(process))) => say!["busy on CPU: ", *process],
            (None, _) => say!["busy on CPU"],
        };
        if let Some(caller) = caller.filter(|&caller| Some(caller) != innermost) {
            title.0.extend([", called from ".into(), caller.into()]);
        }
        if let Some(process) = self.program() {
            let on_cpu = OnCpu::of(inquiry, process);
            title.0.extend(what_for(inquiry, process, on_cpu));
        }
        if self.is_of_one() {
            return title;
        }
        let wall = inquiry.outlook.wall_ns.max(1) as f64;
        for (rank, part) in self.parts.iter().enumerate() {
            title.0.push(if rank == 0 { ": " } else { ", " }.into());
            title.0.extend(label(part));
            title
                .0
                .extend([" ".into(), Piece::Percent(part.ns as f64 * 100.0 / wall)]);
            if let Some(inner) = self.inner.as_ref().filter(|_| rank == 0) {
                let percent = Piece::Percent(inner.ns as f64 * 100.0 / wall);
                title.0.push(" (".into());
                title.0.extend(label(inner));
                title.0.extend([" ".into(), percent, ")".into()]);
            }
        }
        if self.parts.is_empty() {
            title.0.push(", in many functions".into());
        }
        title
    }

    /// The program in which it divides, unless that is in several.
    fn program(&self) -> Option<ProcessId> {
        match self.division.chain.first()? {
            Within::Program(process) => Some(*process),
            Within::Function(_) => None,
        }
    }

    /// Whether it goes to nothing else than the function itself.
    fn is_of_one(&self) -> bool {
        matches!(self.parts.as_slice(), [one] if one.chain.is_empty())
    }

    /// All that is computed by the program in which it divides, or by all where that is in several.
    fn all(&self, inquiry: &Inquiry<'_>) -> Change {
        let processes = self.program().map(|process| inquiry.of_program(process));
        Change {
            what: What::Cpu,
            processes,
            how: How::Scale(0.0),
        }
    }

    /// The first part where that is the most of it, else all that divides there.
    fn longest(&self, inquiry: &Inquiry<'_>) -> Change {
        let first = self
            .parts
            .first()
            .filter(|part| part.ns > self.division.ns / 2);
        let of_part = first.and_then(|part| part.functions().next());
        let function = of_part.or_else(|| self.division.innermost(|_| true));
        let name = |function| inquiry.stacks.code.function(function).name.clone();
        Change {
            what: function.map_or(What::Cpu, |function| What::Function(name(function))),
            processes: None,
            how: How::Scale(0.0),
        }
    }

    /// The busiest place: in the first part, or where it divides.
    fn frames(&self, inquiry: &Inquiry<'_>) -> Vec<Spot> {
        let innermost = self.division.innermost(|_| true);
        let first = self.inner.as_ref().or(self.parts.first());
        let function = first.and_then(|part| part.functions().next_back());
        let Some(function) = function.or(innermost) else {
            return Vec::new();
        };
        let stack = first.or(self.division.parts.first()).map(|part| part.stack);
        let spots = stack.map_or(Vec::new(), |stack| inquiry.spots(stack));
        let from = spots.iter().position(|spot| spot.function == function);
        let mut frames = spots[from.unwrap_or(0)..].to_vec();
        if let Some(spot) = frames.first_mut() {
            *spot = inquiry.mostly_at(function);
        }
        frames
    }
}

impl Suspect {
    /// What a script's runtime does beside it, where that is much.
    fn told_of_runtime(self, share: f64) -> Suspect {
        if share < MUCH {
            return self;
        }
        self.told(say![
            Piece::Percent(share * 100.0),
            " is CPU time in the language runtime itself: start-up, compilation, garbage collection"
        ])
    }
}

/// A runtime that takes less is not worth a word.
const MUCH: f64 = 0.05;

/// The largest part of a program that is a part itself and no function, if it is worth a word and has a name.
fn inner(inquiry: &Inquiry<'_>, part: &DividedPart) -> Option<DividedPart> {
    let [Within::Program(process)] = part.chain.as_slice() else {
        return None;
    };
    let own = |cause: usize| {
        let program = inquiry.outlook.causes.get(cause)?.cause.key.process;
        Some(program).filter(|program| program == process)
    };
    let division = Division::of(&inquiry.outlook.on_processors, inquiry.stacks, own)?;
    let wall = inquiry.outlook.wall_ns.max(1) as f64;
    let first = division.parts.into_iter().next()?;
    let is_large = first.ns as f64 / wall >= RULE.limit(inquiry, &limits::FUNCTION);
    (is_large && first.functions().next().is_some()).then_some(first)
}

/// `itself`, `parse()`, `parse() in config()`, `cc1`.
fn label(part: &DividedPart) -> Vec<Piece> {
    let (outer, inner) = (part.functions().next(), part.functions().next_back());
    match (outer, inner, part.chain.first()) {
        (Some(outer), Some(inner), _) if outer != inner => {
            vec![inner.into(), " in ".into(), outer.into()]
        }
        (_, Some(inner), Some(Within::Function(_))) => vec![inner.into()],
        (_, Some(inner), Some(Within::Program(process))) => {
            vec![inner.into(), " in ".into(), (*process).into()]
        }
        (_, _, Some(Within::Program(process))) => vec![(*process).into()],
        _ => vec!["itself".into()],
    }
}

/// A program whose functions say little is known by the system calls that it makes, from this share of its time on.
const MOSTLY: f64 = 0.5;
/// Getting started that takes less of a program is not worth a word.
const MUCH_LOADING: f64 = 0.25;

/// `, 41 % of it starting and loading modules, 82 % of it in the kernel (48,695 x newfstatat, 20,101 x openat)`.
fn what_for(inquiry: &Inquiry<'_>, process: ProcessId, on_cpu: OnCpu) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if on_cpu.loading >= MUCH_LOADING {
        let percent = Piece::Percent(on_cpu.loading * 100.0);
        pieces.extend([
            ", ".into(),
            percent,
            " of it starting and loading modules".into(),
        ]);
    }
    if on_cpu.kernel >= MOSTLY {
        let percent = Piece::Percent(on_cpu.kernel * 100.0);
        pieces.extend([", ".into(), percent, " of it in the kernel".into()]);
        if on_cpu.faults >= on_cpu.kernel * MOSTLY {
            pieces.push(", mostly in page faults".into());
            return pieces;
        }
        let calls = most_frequent_calls(inquiry, process);
        if !calls.is_empty() {
            pieces.push(" (".into());
            pieces.extend(calls);
            pieces.push(")".into());
        }
    }
    pieces
}

/// Nobody knows how much of it is needed: half of the longest part, perhaps nothing, and at most all that is computed. What
/// computes less also has less memory to clear, less to collect, compile and prepare. And it leaves the CPUs to whom it works for:
/// at most nobody waits for one any more. A server that parsed its prices for each request was told to save 35 %, as its client kept
/// waiting for a CPU behind programs that were not recorded; with a cache it saved 94 % beside the same programs (2026-11-26).
fn at_most(longest: Change, all: Change) -> Fix {
    let half = Change {
        how: How::Scale(0.5),
        ..longest
    };
    let queues = Change {
        what: What::Ready,
        processes: None,
        how: How::Scale(0.0),
    };
    Fix::Likely(Vec::new(), vec![half], vec![all, queues])
}

const CALLS: &str = "make fewer system calls, or larger ones: timesink report --calls lists them with what they are for";

/// The same of a program whose functions have no names, or are many with little each.
fn nameless(inquiry: &Inquiry<'_>, busy: Vec<usize>, computes: f64) -> Option<Suspect> {
    let longest = busy
        .iter()
        .max_by_key(|&&cause| inquiry.on_path_ns(&[cause]))?;
    let process = inquiry.outlook.causes.get(*longest)?.cause.key.process;
    let share = inquiry.on_path_ns(&[*longest]) as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let all = Change {
        what: What::Cpu,
        processes: Some(inquiry.of_program(process)),
        how: How::Scale(0.0),
    };
    let fix = at_most(all.clone(), all);
    let named = has_names(inquiry, process);
    let on_cpu = OnCpu::of(inquiry, process);
    let in_kernel = on_cpu.kernel >= MOSTLY;
    let mut title = say!["busy on CPU: ", process];
    title.0.extend(what_for(inquiry, process, on_cpu));
    match (named, in_kernel) {
        (true, _) => title.0.push(", in many functions".into()),
        (false, true) => {}
        (false, false) => title.0.push(", whose functions have no names".into()),
    }
    let suspect = Suspect::new(title, fix, Weight::all(busy))
        .along_with(Crowd::all(inquiry).along(inquiry))
        .of(process)
        .held(inquiry, &RULE, "share on CPU", computes, &limits::CPU)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path; no named function stands out"
        ]);
    Some(match (named, in_kernel) {
        (true, _) => suspect,
        (false, true) => suspect.advised(CALLS.to_owned()),
        (false, false) => suspect.advised(ask_for_names(inquiry, process)),
    })
}

/// How the functions of a program come by names.
fn ask_for_names(inquiry: &Inquiry<'_>, process: ProcessId) -> String {
    let code = &inquiry.stacks.code;
    let program = inquiry.program(process).map_or("it", last_part);
    let runtime = || {
        let own = stacks_on_cpu(inquiry, process);
        let mut functions = own.flat_map(|(stack, _)| code.functions_of(stack));
        functions.find_map(|at| names_on_demand(code.file_of(code.function(at))?))
    };
    match names_on_demand(program).or_else(runtime) {
        Some(names) => format!(
            "record it again with {} in the environment, so that {} writes the names of its functions to /tmp; only where nobody else \
             uses this machine",
            names.variable, names.runtime
        ),
        None => format!(
            "install the debug symbols of {program} (on Debian the package NAME-dbgsym, or a debuginfod server in \
             DEBUGINFOD_URLS), then run timesink symbolize"
        ),
    }
}

/// Whether most of what the path did in a program on processors has names.
fn has_names(inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
    let code = &inquiry.stacks.code;
    let (mut named, mut nameless) = (0u64, 0u64);
    for (stack, ns) in stacks_on_cpu(inquiry, process) {
        let functions = code.functions_of(stack);
        let is_named = functions.iter().any(|&function| !code.is_system(function));
        *(if is_named { &mut named } else { &mut nameless }) += ns;
    }
    named >= nameless
}

/// The stacks of a program that the path was in on processors, and for how long.
fn stacks_on_cpu<'a>(
    inquiry: &'a Inquiry<'_>,
    process: ProcessId,
) -> impl Iterator<Item = (StackIx, u64)> + 'a {
    let all = inquiry.outlook.on_processors.stacks.iter();
    let own = all.filter(move |on| {
        let cause = inquiry.outlook.causes.get(on.cause);
        cause.is_some_and(|one| inquiry.same_program(one.cause.key.process, process))
    });
    own.map(|on| (on.stack, on.ns))
}
