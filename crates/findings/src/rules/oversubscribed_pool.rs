//! Threads of a library that computes in parallel, more than there are CPUs: while one has none, the others spin for it.
//!
//! OpenBLAS and the run-time libraries of OpenMP divide each piece of work among as many threads as there are CPUs, and wait for the last of
//! them in a loop, because that is quickest where each has a CPU of its own. With several such processes, or with more threads than CPUs, a
//! thread spins for one that cannot run because of it. Spinning is no wait, so it is told by what these libraries do themselves on a CPU:
//! what they compute is done in other functions.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::What;
use timesink_analysis::stacks::{Code, FunctionIx, StackIx};
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::Language;

use crate::crowd::{self, OwnCrowd};
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "oversubscribed-pool",
    looks_for: "threads of OpenBLAS or OpenMP that spin for each other, more than there are CPUs",
    why: "Each of these threads waits in a loop until the others have done their part. Where there are more of them than CPUs, it keeps one from running that it waits for.",
    advice: "start no more of these threads than there are CPUs, in all processes together",
    wrong_if: "other programs had the CPUs: then there are enough for these threads at other times",
    limits: &[
        &limits::OVERHEAD,
        &crowd::SHARE,
        &crowd::TIME,
        &crowd::OTHERS,
        &crowd::DEMAND,
    ],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static OVERHEAD: Limit = Limit {
        name: "overhead",
        value: 0.3,
        unit: Unit::Share,
        means:
            "minimum share of the program's CPU time in the library itself, not in what it computes",
    };
}

/// A library that computes in parallel.
struct Library {
    name: &'static str,
    /// The names of its files begin so, if all that it does itself on a CPU is to divide work and to wait for it.
    files: &'static [&'static str],
    /// Else the functions in which it does so, whatever file they were linked into.
    functions: &'static [&'static str],
    /// What sets how many threads it starts.
    setting: &'static str,
}

static LIBRARIES: [Library; 3] = [
    Library {
        name: "OpenBLAS",
        files: &[],
        functions: &[
            "blas_thread_server",
            "exec_blas",
            "exec_blas_async_wait",
            "inner_thread",
        ],
        setting: "OPENBLAS_NUM_THREADS",
    },
    Library {
        name: "OpenMP (libgomp)",
        files: &["libgomp.so", "libgomp-"],
        functions: &["gomp_team_barrier_wait_end", "gomp_barrier_wait_end"],
        setting: "OMP_NUM_THREADS",
    },
    Library {
        name: "OpenMP (libomp)",
        files: &["libomp.so", "libomp-", "libiomp5"],
        functions: &[],
        setting: "OMP_NUM_THREADS",
    },
];

impl Library {
    fn has(&self, code: &Code, function: FunctionIx) -> bool {
        let found = code.function(function);
        let is_of_file = |file: &str| self.files.iter().any(|start| file.starts_with(start));
        found.language == Language::Native
            && (self.functions.contains(&found.name.as_str())
                || code.file_of(found).is_some_and(is_of_file))
    }

    fn functions(&self, code: &Code) -> BTreeSet<FunctionIx> {
        let all = (0..code.functions.len()).map(|at| FunctionIx(at as u32));
        all.filter(|&function| self.has(code, function)).collect()
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let each = LIBRARIES.iter();
    let spinning: Vec<_> = each
        .flat_map(|library| Spinning::all(inquiry, library))
        .filter(|spinning| spinning.share(inquiry) >= RULE.limit(inquiry, &limits::OVERHEAD))
        .collect();
    if spinning.is_empty() {
        return Vec::new();
    }
    let own = OwnCrowd::of(inquiry, &RULE);
    let suspects = own.map(|own| {
        let each = spinning.iter();
        each.map(|spinning| spinning.suspect(inquiry, &own))
            .collect()
    });
    suspects.unwrap_or_default()
}

/// What the threads of a program do in such a library itself.
struct Spinning {
    process: ProcessId,
    library: &'static Library,
    functions: BTreeSet<FunctionIx>,
    threads: BTreeSet<ThreadId>,
    ns: u64,
    places: BTreeMap<StackIx, Place>,
}

/// How long threads were at one place in it.
struct Place {
    ns: u64,
    example: Example,
}

impl Spinning {
    /// One of each program that has threads which do.
    fn all(inquiry: &Inquiry<'_>, library: &'static Library) -> Vec<Spinning> {
        let code = &inquiry.stacks.code;
        let functions = library.functions(code);
        if functions.is_empty() {
            return Vec::new();
        }
        let itself = What::Itself(functions.clone());
        let mut is_known: BTreeMap<StackIx, bool> = BTreeMap::new();
        let mut programs: BTreeMap<ProcessId, Spinning> = BTreeMap::new();
        let on_cpu = inquiry.stacks.events.iter();
        for event in on_cpu.filter(|event| event.account == Account::Cpu) {
            let is_meant = is_known
                .entry(event.stack)
                .or_insert_with(|| itself.is_within(code, &code.functions_of(event.stack)));
            let process = inquiry.process_of(event.thread).filter(|_| *is_meant);
            let Some(process) = process.map(|process| inquiry.programs.first(process)) else {
                continue;
            };
            let program = programs.entry(process).or_insert_with(|| Spinning {
                process,
                library,
                functions: functions.clone(),
                threads: BTreeSet::new(),
                ns: 0,
                places: BTreeMap::new(),
            });
            program.ns = program.ns.saturating_add(event.ns);
            program.threads.insert(event.thread);
            let example = Example {
                thread: event.thread,
                at: event.at,
            };
            let place = program.places.entry(event.stack);
            let place = place.or_insert(Place { ns: 0, example });
            place.ns = place.ns.saturating_add(event.ns);
        }
        programs.into_values().collect()
    }

    /// Of the program's time on CPU.
    fn share(&self, inquiry: &Inquiry<'_>) -> f64 {
        let all = inquiry.cpu_ns(&inquiry.of_program(self.process));
        self.ns as f64 / all.max(1) as f64
    }

    /// Where the path is in it.
    fn on_path(&self, inquiry: &Inquiry<'_>) -> InCode {
        let (code, itself) = (&inquiry.stacks.code, self.itself());
        let through = InCode::through(inquiry, self.functions.clone());
        let mut on_path = through.in_program(inquiry, self.process);
        let is_itself = |stack| itself.is_within(code, &code.functions_of(stack));
        on_path.stacks.retain(|on| is_itself(on.stack));
        on_path
    }

    fn itself(&self) -> What {
        What::Itself(self.functions.clone())
    }

    /// Where most of it is, of the threads that the program calls it in if there are any: those that it started do not tell for what.
    fn place(&self, inquiry: &Inquiry<'_>) -> Option<(StackIx, &Place)> {
        let code = &inquiry.stacks.code;
        let is_told = |stack| {
            let functions = code.functions_of(stack).into_iter().rev();
            let mut callers = functions.take_while(|&function| !self.functions.contains(&function));
            callers.any(|function| code.is_programs_own(function))
        };
        let places = self.places.iter().map(|(&stack, place)| (stack, place));
        places.max_by_key(|(stack, place)| (is_told(*stack), place.ns))
    }

    /// The title, and what to do.
    fn told(&self, inquiry: &Inquiry<'_>) -> (Sentence, String) {
        let threads = self.threads.iter();
        let processes = threads.filter_map(|&thread| inquiry.process_of(thread));
        let processes = processes.collect::<BTreeSet<_>>().len();
        let processors = inquiry.outlook.processors as usize;
        let others = match processes {
            1 => "",
            _ => " and processes like it",
        };
        let title = say![
            Piece::Count(self.threads.len() as u64),
            " threads of ",
            self.library.name,
            " in ",
            self.process,
            others,
            " spin for each other on ",
            Piece::Count(processors as u64),
            " CPUs"
        ];
        let each = match processes {
            1 => ", as many as there are CPUs",
            _ => " for each process, or start fewer processes at a time",
        };
        let useful = (processors / processes.max(1)).max(1);
        (
            title,
            format!("set {}={useful}{each}", self.library.setting),
        )
    }

    fn suspect(&self, inquiry: &Inquiry<'_>, own: &OwnCrowd) -> Suspect {
        let on_path = self.on_path(inquiry);
        let is_ready = |&at: &usize| {
            let key = &inquiry.outlook.causes[at].cause.key;
            inquiry.same_program(key.process, self.process)
        };
        let ready = own.crowd.causes.iter().copied().filter(is_ready);
        let ready: Vec<usize> = ready.collect();
        let ns = on_path.ns().saturating_add(inquiry.on_path_ns(&ready));
        let on_cpu = on_path.stacks.iter().map(|on| on.cause);
        let causes: BTreeSet<usize> = on_cpu.chain(ready).collect();
        let weight = Weight::within(causes.into_iter().collect(), ns);
        let (title, advice) = self.told(inquiry);
        let fix = Fix::without(self.itself(), inquiry.of_program(self.process));
        let share = self.share(inquiry);
        let suspect = Suspect::new(title, fix, weight).of(self.process).held(
            inquiry,
            &RULE,
            "overhead",
            share,
            &limits::OVERHEAD,
        );
        let mut suspect = own.held(inquiry, &RULE, suspect).told(say![
            Piece::Percent(share * 100.0),
            " of its CPU time is spent in ",
            self.library.name,
            " itself, spinning for other threads, not computing"
        ]);
        suspect.advice = Some(advice);
        if let Some((stack, place)) = self.place(inquiry) {
            let spots = inquiry.spots(stack);
            let outermost = spots
                .iter()
                .rposition(|spot| self.functions.contains(&spot.function));
            suspect.frames = spots[outermost.unwrap_or(0)..].to_vec();
            suspect.examples = vec![place.example];
        }
        suspect
    }
}
