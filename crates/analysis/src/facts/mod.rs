//! All facts of one recording, gathered table by table.
//!
//! The rows come in batches from whoever has them (a file, a test); what is kept grows with
//! threads, causes, objects and paths, not with spans.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::{
    self, Call, CallError, CallWindow, Fact, Image, Lookup, Loss, Object, Occupant, Outsider,
    Probe, Process, Thread, Wait,
};
use timesink_recording::{Mode, Recording};

use crate::facts::calls::{CallSum, CallTally};
use crate::facts::files::{files, FileUse, LookedUp, Missing, Queried};
use crate::facts::starts::{starts, Start};
use crate::facts::uses::Uses;
use crate::ledger::{Ledger, Tally};
use crate::outsiders::Outsiders;
use crate::span::{KeptSpans, Span};
use crate::wall::first_thread;
use full_names::full_name;
pub use full_names::last_part;
pub use group_names::group_name;
use idle::idle_share;
pub use scripts::script_of;

pub mod calls;
pub mod files;
mod full_names;
mod group_names;
mod idle;
pub mod programs;
mod scripts;
pub mod sockets;
pub mod starts;
pub mod uses;

/// The facts of one recording.
#[derive(Clone, Debug)]
pub struct Facts {
    pub ledger: Ledger,
    /// Sorted by number; see [`Facts::object`].
    pub objects: Vec<Object>,
    pub outsiders: Outsiders,
    /// Longest first.
    pub calls: Vec<CallSum>,
    /// Most opened first.
    pub files: Vec<FileUse>,
    /// The same by process, pipes and all else that is opened, read or written included.
    pub uses: Uses,
    /// Most looked for first.
    pub missing: Vec<Missing>,
    /// Paths that one process queried again and again, most often first.
    pub queried: Vec<Queried>,
    /// In the order of processes.
    pub starts: Vec<Start>,
    pub losses: Vec<Loss>,
    pub probes: Vec<Probe>,
    /// For how long system calls were timed in all.
    pub calls_timed_ns: u64,
    /// The share of the time of all CPUs in which they had nothing to do, if that is known.
    pub idle_share: Option<f64>,
}

impl Facts {
    /// The facts of an open recording.
    pub fn of(recording: &Recording) -> timesink_recording::Result<Facts> {
        let mut gathering = Gathering::of(recording, &recording.rows::<Call>()?)?;
        recording.scan(|rows| gathering.waits(rows))?;
        recording.scan(|rows| gathering.spans(rows))?;
        Ok(gathering.finish())
    }

    /// Whose end is asked about, instead of the main thread's: the first thread of a process. False if it has none.
    pub fn ask_of(&mut self, process: ProcessId) -> bool {
        let ledger = &self.ledger;
        let rows = ledger.threads.iter().map(|thread| &thread.row);
        let asked = ledger.process(process);
        let first = asked.and_then(|process| first_thread(&process.row, rows.clone()));
        let at = first.and_then(|first| rows.clone().position(|row| row.thread == first.thread));
        if at.is_some() {
            self.ledger.main = at;
        }
        at.is_some()
    }

    /// The processes that are meant by a number or a name. Of a number that was used again the last one is meant.
    pub fn processes_called(&self, text: &str) -> BTreeSet<ProcessId> {
        let rows = || self.ledger.processes.iter().map(|process| &process.row);
        let number: Option<u32> = text.parse().ok();
        let numbered = rows().filter(|row| Some(row.pid) == number);
        match numbered.max_by_key(|row| (row.start, row.process)) {
            Some(row) => [row.process].into(),
            None => {
                let is_called = |row: &&Process| row.name == text || script_of(row) == Some(text);
                let named = rows().filter(is_called);
                named.map(|row| row.process).collect()
            }
        }
    }

    /// The processes in the control groups that are meant by a path or a name, the one with the most time on CPUs first.
    pub fn processes_in_group(&self, text: &str) -> Vec<ProcessId> {
        let is_meant = |path: &str| path == text || group_name(path) == text;
        let processes = self.ledger.processes.iter();
        let meant = processes.filter(|process| process.row.group.as_deref().is_some_and(is_meant));
        let mut meant: Vec<_> = meant
            .map(|one| (Reverse(one.sums.cpu_ns), one.row.process))
            .collect();
        meant.sort_unstable();
        meant.into_iter().map(|(_, process)| process).collect()
    }

    /// The object with this number.
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        let at = self
            .objects
            .binary_search_by_key(&id, |object| object.object);
        self.objects.get(at.ok()?)
    }
}

/// Small tables that are kept whole.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    pub threads: Vec<Thread>,
    pub processes: Vec<Process>,
    pub objects: Vec<Object>,
    pub outsiders: Vec<Outsider>,
    pub images: Vec<Image>,
    pub losses: Vec<Loss>,
    pub probes: Vec<Probe>,
    pub call_windows: Vec<CallWindow>,
    pub environment: Vec<Fact>,
}

/// Facts under way. Feed `waits` and `occupants` before `spans`.
pub struct Gathering {
    tally: Tally,
    calls: CallTally,
    looked_up: LookedUp,
    listed: Listed,
    outsiders: Outsiders,
    /// Nobody's end is asked about.
    is_of_machine: bool,
}

impl Gathering {
    /// All that an open recording has but its spans and waits, which follow: who needs them for more than this reads them once.
    pub fn of(recording: &Recording, calls: &[Call]) -> timesink_recording::Result<Gathering> {
        let mut gathering = Gathering::new(Listed {
            threads: recording.numbered_rows(|thread: &Thread| thread.thread.0)?,
            processes: recording.numbered_rows(|process: &Process| process.process.0)?,
            objects: recording.rows()?,
            outsiders: recording.rows()?,
            images: recording.rows()?,
            losses: recording.rows()?,
            probes: recording.rows()?,
            call_windows: recording.rows()?,
            environment: recording.rows()?,
        });
        gathering.is_of_machine = recording.about().mode == Mode::Machine;
        recording.scan(|rows| gathering.occupants(rows))?;
        gathering.calls(calls);
        recording.scan(|rows| gathering.call_errors(rows))?;
        recording.scan(|rows| gathering.lookups(rows))?;
        Ok(gathering)
    }

    /// The small tables; the large ones follow in batches.
    pub fn new(mut listed: Listed) -> Gathering {
        listed.objects.sort_by_key(|object| object.object);
        let threads = std::mem::take(&mut listed.threads);
        let calls = CallTally::new(&threads);
        let mut processes = std::mem::take(&mut listed.processes);
        for process in &mut processes {
            if let Some(name) = full_name(process) {
                process.name = name;
            }
        }
        let tally = Tally::new(threads, processes);
        Gathering {
            tally,
            calls,
            looked_up: LookedUp::default(),
            outsiders: Outsiders::new(std::mem::take(&mut listed.outsiders)),
            listed,
            is_of_machine: false,
        }
    }

    pub fn waits(&mut self, rows: &[Wait]) {
        self.tally.waits(rows);
    }

    pub fn occupants(&mut self, rows: &[Occupant]) {
        self.tally.occupants(rows, &self.outsiders);
    }

    pub fn spans(&mut self, rows: &[tables::Span]) {
        for row in rows {
            self.tally.span(&Span::from(row), row.tracer_ns);
        }
    }

    /// The same of spans that are kept.
    pub fn kept_spans(&mut self, kept: &KeptSpans) {
        for (span, tracer_ns) in kept.spans.iter().zip(&kept.tracer_ns) {
            self.tally.span(span, u64::from(*tracer_ns));
        }
    }

    pub fn calls(&mut self, rows: &[Call]) {
        self.calls.calls(rows);
    }

    pub fn call_errors(&mut self, rows: &[CallError]) {
        self.calls.errors(rows);
    }

    pub fn lookups(&mut self, rows: &[Lookup]) {
        self.looked_up.lookups(rows);
    }

    /// The objects that there are.
    pub fn objects(&self) -> &[Object] {
        &self.listed.objects
    }

    /// The facts of all that was fed.
    pub fn finish(self) -> Facts {
        let Listed {
            objects,
            images,
            losses,
            probes,
            call_windows,
            environment,
            ..
        } = self.listed;
        let mut ledger = self.tally.finish();
        if self.is_of_machine {
            ledger.main = None;
        }
        let calls = self.calls.finish();
        let (missing, queried) = self.looked_up.finish();
        let windows = call_windows.iter().map(|window| window.t1.since(window.t0));
        Facts {
            files: files(&calls, &objects),
            uses: Uses::of(&calls),
            missing,
            queried,
            starts: starts(ledger.processes.iter().map(|process| &process.row), &images),
            calls_timed_ns: windows.fold(0, u64::saturating_add),
            ledger,
            objects,
            outsiders: self.outsiders,
            calls,
            losses,
            probes,
            idle_share: idle_share(&environment),
        }
    }
}
