//! A shell that is started only to start one other program.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::heaviest::for_children;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;
use crate::shells::{self, ShellBetween};

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

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut parents: BTreeMap<ProcessId, Vec<ShellBetween<'_>>> = BTreeMap::new();
    for between in shells::between(inquiry) {
        let parent = inquiry.programs.first(between.parent);
        parents.entry(parent).or_default().push(between);
    }
    let suspects = parents.into_iter();
    suspects
        .filter_map(|(parent, shells)| suspect(inquiry, parent, &shells))
        .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    parent: ProcessId,
    shells: &[ShellBetween<'_>],
) -> Option<Suspect> {
    let count = shells.len() as u64;
    if (count as f64) < RULE.limit(inquiry, &limits::SHELLS) {
        return None;
    }
    let first = shells.first()?;
    let processes: BTreeSet<ProcessId> = shells.iter().map(|b| b.shell.process).collect();
    let cpu = inquiry.cpu_ns(&processes);
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
    let program = last_part(program).to_owned();
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
