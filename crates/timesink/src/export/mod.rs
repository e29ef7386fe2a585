//! A recording's stacks in the formats of other tools. Stacks in, bytes out; who writes them where
//! is the command's.
//!
//! Times without a stack go along as frames in parentheses, so that the sums of an export are those
//! of the ledger, as far as its weights choose.

mod firefox;
pub mod folded;
mod messages;
mod perfetto;
mod pprof;
mod speedscope;

use std::io::{self, Write};

use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::{Account, ThreadLedger};
use timesink_analysis::stacks::{Event, Filter, FunctionIx, Missing, Rest, Stacks};
use timesink_recording::about::About;
use timesink_recording::{Recording, ThreadId};

use crate::present::file_name;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Folded stacks (`outer;inner 123`), for flame graphs
    Folded,
    /// For `go tool pprof` and compatible tools
    Pprof,
    /// For speedscope.app
    Speedscope,
    /// For profiler.firefox.com
    Firefox,
    /// For ui.perfetto.dev: a timeline of every thread, with stacks
    Perfetto,
}

/// Which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Weights {
    /// Time on CPU
    Cpu,
    /// Time waiting
    Wait,
    /// All time
    Both,
}

/// What is exported.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    pub about: &'a About,
    pub facts: &'a Facts,
    pub stacks: &'a Stacks,
    /// What the stacks were chosen by.
    pub filter: &'a Filter,
    pub weights: Weights,
}

impl<'a> Export<'a> {
    fn has(&self, account: Account) -> bool {
        match self.weights {
            Weights::Cpu => account == Account::Cpu,
            Weights::Wait => account == Account::Wait,
            Weights::Both => true,
        }
    }

    /// The threads with anything to export, in the order of their numbers.
    fn threads(&self) -> impl Iterator<Item = &'a ThreadLedger> + '_ {
        let threads = self.facts.ledger.threads.iter();
        threads.filter(|thread| {
            let id = thread.row.thread;
            self.events(id).next().is_some() || self.rests(id).next().is_some()
        })
    }

    /// A thread's samples and waits that count, in order.
    fn events(&self, thread: ThreadId) -> impl Iterator<Item = &'a Event> + '_ {
        let events = self.stacks.events_of(thread).iter();
        events.filter(|event| self.has(event.account))
    }

    /// A thread's remainders that count.
    fn rests(&self, thread: ThreadId) -> impl Iterator<Item = &'a Rest> + '_ {
        let rests = self.stacks.rests_of(thread).iter();
        rests.filter(|rest| self.has(rest.missing.account()))
    }

    /// A function by its name; what has none is told by its module.
    fn function(&self, function: FunctionIx) -> String {
        let code = &self.stacks.code;
        match (
            code.function(function).name.as_str(),
            code.module_of(function),
        ) {
            ("", Some(module)) => format!("(no name in {})", file_name(&module.path)),
            ("", None) => "(no name)".to_owned(),
            (name, _) => name.to_owned(),
        }
    }

    /// The process of a thread: its name and the kernel's number.
    fn process(&self, thread: &ThreadLedger) -> (&'a str, u32) {
        let processes = &self.facts.ledger.processes;
        let process = thread.process.and_then(|at| processes.get(at));
        process.map_or(("", 0), |process| (&process.row.name, process.row.pid))
    }
}

/// What a remainder is called.
fn missing(missing: Missing) -> String {
    format!("({})", missing.word())
}

/// The name of an innermost frame that says that the stack above it waited, and for what, or was ready, and why.
fn waiting(event: &Event) -> Option<String> {
    match event.account {
        Account::Wait => Some(format!("(waiting: {})", event.detail)),
        Account::Ready => Some(format!("(ready: {})", event.detail)),
        _ => None,
    }
}

/// Writes a recording's stacks in a format.
pub fn write(
    export: &Export,
    recording: &Recording,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        Format::Folded => folded::write(export, out)?,
        Format::Pprof => pprof::write(export, out)?,
        Format::Speedscope => json(&speedscope::file(export), out)?,
        Format::Firefox => json(&firefox::profile(export), out)?,
        Format::Perfetto => perfetto::write(export, recording, out)?,
    }
    Ok(out.flush()?)
}

fn json(page: &impl serde::Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, page)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests;
