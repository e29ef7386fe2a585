//! Folded stacks: a line for each, `process;thread;outer;inner NANOSECONDS`, as flame graphs are
//! drawn from; and those of two recordings, each with both times.

use std::collections::BTreeMap;
use std::io::{self, Write};

use timesink_comparison::Branch;

use super::{missing, waiting, Export};
use crate::present::names;

pub(super) fn write(export: &Export, out: &mut impl Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |line: String, ns: u64| {
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(ns);
    };
    for thread in export.threads() {
        let (process, pid) = export.process(thread);
        let (name, tid) = (&thread.row.name, thread.row.tid);
        let root = format!(
            "{};{}",
            frame(&format!("{process}({pid})")),
            frame(&format!("{name}({tid})"))
        );
        for event in export.events(thread.row.thread) {
            let functions = export.stacks.code.functions_of(event.stack);
            let names = functions.iter().rev().map(|f| frame(&export.function(*f)));
            let parts = std::iter::once(root.clone())
                .chain(names)
                .chain(waiting(event));
            add(parts.collect::<Vec<_>>().join(";"), event.ns);
        }
        for rest in export.rests(thread.row.thread) {
            add(format!("{root};{}", missing(rest.missing)), rest.ns);
        }
    }
    for (line, ns) in lines.into_iter().filter(|(_, ns)| *ns > 0) {
        writeln!(out, "{line} {ns}")?;
    }
    Ok(())
}

/// The stacks of two recordings beside each other, `program;outer;inner NANOSECONDS NANOSECONDS`, in A and in B.
pub fn beside(tree: &Branch, out: &mut impl Write) -> io::Result<()> {
    for (names, a_ns, b_ns) in tree.stacks() {
        let frames: Vec<String> = names.into_iter().map(frame).collect();
        writeln!(out, "{} {a_ns} {b_ns}", frames.join(";"))?;
    }
    Ok(())
}

/// A name that stays within its frame: `;` parts frames, and a line feed parts stacks.
fn frame(name: &str) -> String {
    names::harmless(name).replace(';', ":")
}
