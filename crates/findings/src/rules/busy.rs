//! A program that computes: no fault that these rules know, and the function that it is busy in.
//!
//! It is told so that nobody looks elsewhere. What it would save is anything between nothing and all of the function's time.

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::FunctionIx;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::State;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "busy",
    looks_for: "a program that is busy on CPU, and the function that it is busy in",
    why: "The program computes. Whether it could compute less, only someone who knows it can tell.",
    advice: "look at that function (timesink report --line): can it do less, or run less often? The gain is at most all of its time, with all that it calls",
    wrong_if: "the work is necessary and already done as well as it can be",
    limits: &[&limits::CPU, &limits::FUNCTION],
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
        means: "minimum share of the critical path on CPU",
    };
    pub static FUNCTION: Limit = Limit {
        name: "function",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in one function",
    };
}

/// Of its time a function that computes is on a processor for more than this part.
const COMPUTES: f64 = 0.5;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let wall = inquiry.outlook.wall_ns as f64;
    let busy = inquiry.causes(|key| key.state == State::Cpu);
    if (inquiry.on_path_ns(&busy) as f64) < wall * RULE.limit(inquiry, &limits::CPU) {
        return Vec::new();
    }
    // A function that mostly waits is not what keeps a processor busy, however long the path is in it.
    let mut functions = inquiry.outlook.functions.iter();
    let most = functions.find(|function| function.cpu_ns as f64 > function.ns as f64 * COMPUTES);
    let most = most.filter(|most| {
        let share = most.ns as f64 / wall.max(1.0);
        share >= RULE.limit(inquiry, &limits::FUNCTION)
            && !inquiry.stacks.code.function(most.function).name.is_empty()
    });
    let Some(most) = most else {
        return nameless(inquiry, busy).into_iter().collect();
    };
    let share = most.ns as f64 / wall.max(1.0);
    let name = &inquiry.stacks.code.function(most.function).name;
    let all = Change {
        what: What::Function(name.clone()),
        processes: None,
        how: How::Scale(0.0),
    };
    let fix = at_most(all);
    let caller = called_from(inquiry, most.function);
    let title = match caller {
        Some(caller) => say!["busy on CPU in ", most.function, ", called from ", caller],
        None => say!["busy on CPU in ", most.function],
    };
    let mut suspect = Suspect::new(title, fix, Weight::all(busy))
        .held(
            inquiry,
            &RULE,
            "share of the path",
            share,
            &limits::FUNCTION,
        )
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in it and in the system functions it calls"
        ]);
    let through = inquiry.outlook.on_processors.through(most.function);
    if through as f64 > most.ns as f64 * MORE {
        suspect = suspect.told(say![
            Piece::Percent(through as f64 / wall.max(1.0) * 100.0),
            " with all that it calls"
        ]);
    }
    suspect.frames = std::iter::once(most.function)
        .chain(caller)
        .map(|function| inquiry.mostly_at(function))
        .collect();
    vec![suspect]
}

/// With what it calls of the program it is worth telling apart from what it is itself.
const MORE: f64 = 1.05;
/// Of what the path did on processors, so much passes through the function that is named beside the busiest one.
const DOMINANT: f64 = 0.8;

/// The deepest function through which nearly all of it passes, if that is another one. Of a script it is one of the
/// script: what its interpreter and its libraries consist of is nothing to change.
fn called_from(inquiry: &Inquiry<'_>, busiest: FunctionIx) -> Option<FunctionIx> {
    let view = inquiry.outlook.on_processors.view(inquiry.stacks);
    let of_script = |function: FunctionIx| {
        let code = &inquiry.stacks.code;
        code.function(function).is_script() && !code.is_installed(function)
    };
    let dominant = view
        .dominant_of(DOMINANT, of_script)
        .or_else(|| view.dominant(DOMINANT))
        .filter(|dominant| !inquiry.stacks.code.is_installed(dominant.function))?;
    let passes = view.stacks.iter().any(|(stack, _)| {
        let functions = inquiry.stacks.code.functions_of(*stack);
        let at = |wanted| functions.iter().position(|&function| function == wanted);
        at(busiest) < at(dominant.function) && at(busiest).is_some()
    });
    passes.then_some(dominant.function)
}

/// That much or nothing: nobody knows how much of it is needed.
fn at_most(all: Change) -> Fix {
    Fix::Between(vec![all], Vec::new())
}

/// The same of a program whose functions have no names, or are many with little each.
fn nameless(inquiry: &Inquiry<'_>, busy: Vec<usize>) -> Option<Suspect> {
    let longest = busy
        .iter()
        .max_by_key(|&&cause| inquiry.on_path_ns(&[cause]))?;
    let process = inquiry.outlook.causes.get(*longest)?.cause.key.process;
    let share = inquiry.on_path_ns(&[*longest]) as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let fix = at_most(Change {
        what: What::Cpu,
        processes: Some(inquiry.of_program(process)),
        how: How::Scale(0.0),
    });
    let title = match has_names(inquiry, process) {
        true => say!["busy on CPU: ", process, ", in many functions"],
        false => say!["busy on CPU: ", process, ", whose functions have no names"],
    };
    let suspect = Suspect::new(title, fix, Weight::all(busy))
        .of(process)
        .held(inquiry, &RULE, "share of the path", share, &limits::CPU)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path; no named function stands out"
        ]);
    Some(match has_names(inquiry, process) {
        true => suspect,
        false => suspect.advised(format!(
            "install the debug symbols of {} (on Debian the package NAME-dbgsym, or a debuginfod server in \
             DEBUGINFOD_URLS), then run timesink symbolize",
            inquiry.program(process).map_or("it", |path| path.rsplit('/').next().unwrap_or(path)),
        )),
    })
}

/// Whether most of what the path did in a program on processors has names.
fn has_names(inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
    let code = &inquiry.stacks.code;
    let (mut named, mut nameless) = (0u64, 0u64);
    for on in &inquiry.outlook.on_processors.stacks {
        let cause = inquiry.outlook.causes.get(on.cause);
        if !cause.is_some_and(|on_path| inquiry.same_program(on_path.cause.key.process, process)) {
            continue;
        }
        let functions = code.functions_of(on.stack);
        let is_named = functions.iter().any(|&function| !code.is_system(function));
        *(if is_named { &mut named } else { &mut nameless }) += on.ns;
    }
    named >= nameless
}
