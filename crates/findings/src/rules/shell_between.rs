//! A shell that is started only to start one other program.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::starts::{Executed, Start};
use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::heaviest::for_children;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "shell-between",
    looks_for: "a shell (sh -c) started again and again only to start one program each time",
    why: "The shell is a program of its own that is forked, loaded, linked and torn down each time, and does nothing but start another.",
    advice: "start the program directly, with its arguments as a list: posix_spawn or execv instead of system or popen, shell=False",
    wrong_if: "the command is entered by the user, or needs features of a shell",
    limits: &[&limits::SHELLS],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHELLS: Limit = Limit {
        name: "shells",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of shells started by one program",
    };
}

const SHELLS: [&str; 6] = ["sh", "dash", "bash", "ash", "ksh", "zsh"];

/// Whether a process became a shell that was given its command as an argument.
fn is_shell(executed: &Executed) -> bool {
    let name = executed.executable.rsplit('/').next().unwrap_or_default();
    let command = executed.arguments.iter().skip(1).take(2);
    SHELLS.contains(&name) && command.into_iter().any(|argument| argument == "-c")
}

/// A shell, and the one program that it started.
struct Between<'a> {
    shell: &'a Start,
    child: &'a Start,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut children: BTreeMap<ProcessId, Vec<&Start>> = BTreeMap::new();
    for start in &inquiry.facts.starts {
        if let Some(parent) = start.parent {
            children.entry(parent).or_default().push(start);
        }
    }
    let mut parents: BTreeMap<ProcessId, Vec<Between<'_>>> = BTreeMap::new();
    for shell in &inquiry.facts.starts {
        let (Some(parent), [one]) = (shell.parent, shell.executed.as_slice()) else {
            continue;
        };
        let child = match children.get(&shell.process).map(Vec::as_slice) {
            Some(&[child]) if child.execs > 0 => child,
            _ => continue,
        };
        if is_shell(one) {
            let parents = parents.entry(inquiry.programs.first(parent)).or_default();
            parents.push(Between { shell, child });
        }
    }
    let suspects = parents.into_iter();
    suspects
        .filter_map(|(parent, shells)| suspect(inquiry, parent, &shells))
        .collect()
}

/// The time that processes were on a processor.
fn on_cpu(inquiry: &Inquiry<'_>, processes: &BTreeSet<ProcessId>) -> u64 {
    let threads = inquiry.timeline.threads.iter();
    let own = threads.filter(|thread| processes.contains(&thread.process));
    own.fold(0, |sum, thread| sum.saturating_add(thread.cpu_ns))
}

fn suspect(inquiry: &Inquiry<'_>, parent: ProcessId, shells: &[Between<'_>]) -> Option<Suspect> {
    let count = shells.len() as u64;
    if (count as f64) < RULE.limit(inquiry, &limits::SHELLS) {
        return None;
    }
    let first = shells.first()?;
    let processes: BTreeSet<ProcessId> = shells.iter().map(|b| b.shell.process).collect();
    let cpu = on_cpu(inquiry, &processes);
    let causes = inquiry.causes(|key| {
        inquiry.same_program(key.process, first.shell.process)
            || inquiry.same_program(key.process, first.child.process)
            || (inquiry.same_program(key.process, parent)
                && matches!(
                    key.detail,
                    Some(Detail::Child | Detail::Vfork | Detail::Creation)
                ))
    });
    let waits = for_children(inquiry, |process| inquiry.same_program(process, parent));
    let program = inquiry.program(first.child.process).unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let title = say![
        parent,
        " starts ",
        Piece::Count(count),
        " shells, each to start only one program"
    ];
    let fix = Fix::without(What::Cpu, processes.clone());
    let suspect = Suspect::new(title, fix, Weight::within(causes, cpu))
        .of(parent)
        .seen_in_most(inquiry, waits)
        .seen_after_starts(inquiry, processes)
        .held(inquiry, &RULE, "shells", count as f64, &limits::SHELLS)
        .figure("a shell on a processor", (cpu / count) as f64, "ns")
        .told(say![
            "for example ",
            Piece::Name(program),
            ", through sh -c"
        ])
        .told(say![
            "a shell takes ",
            Piece::Time(cpu / count),
            " on CPU, in addition to what it starts"
        ]);
    Some(suspect)
}
