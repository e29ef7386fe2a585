//! Shells that stand between a program and another one that it starts: `sh -c COMMAND`.

use std::collections::BTreeMap;

use timesink_analysis::facts::last_part;
use timesink_analysis::facts::starts::{Executed, Start};
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;

/// The names of programs that are shells.
pub const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"];

/// Whether a process became a shell that was given its command as an argument.
fn is_shell(executed: &Executed) -> bool {
    let name = last_part(&executed.executable);
    let command = executed.arguments.iter().skip(1).take(2);
    SHELLS.contains(&name) && command.into_iter().any(|argument| argument == "-c")
}

/// A shell, and the one program that it started.
pub struct ShellBetween<'a> {
    pub parent: ProcessId,
    pub shell: &'a Start,
    pub child: &'a Start,
}

/// All shells that do nothing but start one program.
pub fn between<'a>(inquiry: &Inquiry<'a>) -> Vec<ShellBetween<'a>> {
    let mut children: BTreeMap<ProcessId, Vec<&Start>> = BTreeMap::new();
    for start in &inquiry.facts.starts {
        if let Some(parent) = start.parent {
            children.entry(parent).or_default().push(start);
        }
    }
    let shells = inquiry.facts.starts.iter().filter_map(|shell| {
        let (Some(parent), [one]) = (shell.parent, shell.executed.as_slice()) else {
            return None;
        };
        let child = match children.get(&shell.process).map(Vec::as_slice) {
            Some(&[child]) if child.execs > 0 => child,
            _ => return None,
        };
        is_shell(one).then_some(ShellBetween {
            parent,
            shell,
            child,
        })
    });
    shells.collect()
}
