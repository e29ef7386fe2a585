//! `overview`: what was recorded, and what there is to ask.

use rustc_hash::FxHashMap;
use timesink_analysis::ledger::{Account, Sums};
use timesink_recording::words::WakeSource;

use crate::lanes::LANES_PER_CHUNK;
use crate::model::{Has, Overview, ProcessRow, StateSums, ThreadRow, CONTRACT};
use crate::Page;

/// What only who asks knows of a recording.
pub struct Known<'k> {
    /// As the user named it.
    pub name: &'k str,
    pub size_bytes: u64,
    pub exit_code: Option<i32>,
    pub has_b: bool,
    pub any_prediction: bool,
    /// What is left out, in sentences.
    pub thinned: Vec<String>,
}

pub(crate) fn state_sums(sums: &Sums) -> StateSums {
    StateSums {
        cpu_ns: sums.of(Account::Cpu),
        runnable_ns: sums.of(Account::Ready),
        blocked_ns: sums.of(Account::Wait),
        overhead_ns: sums.of(Account::Tracer),
        unknown_ns: sums.of(Account::Lost),
    }
}

impl Page<'_> {
    /// What was recorded.
    pub fn overview(&self, known: &Known<'_>) -> Overview {
        let about = self.loaded.recording.about();
        let ledger = &self.loaded.facts.ledger;
        let name = |text: &String| self.words.name(text);
        let main = ledger.main.and_then(|at| ledger.threads.get(at));
        Overview {
            contract: CONTRACT,
            tool_version: self.words.name(&about.tool_version),
            name: self.words.name(known.name),
            command: about.command.iter().map(name).collect(),
            directory: name(&about.directory),
            started_unix_ns: about.started_unix_ns,
            from_ns: self.from.0,
            until_ns: self.until.0,
            wall_ns: about.wall_ns,
            exit_code: known.exit_code,
            exit_signal: about.exit_signal,
            size_bytes: known.size_bytes,
            spans: self.loaded.timeline.len() as u64,
            states: self.states.kinds.clone(),
            wake_sources: WakeSource::ALL
                .iter()
                .map(|source| source.as_str().to_owned())
                .collect(),
            processes: self.process_rows(),
            threads: self.thread_rows(),
            processors: self.processors.clone(),
            lanes_per_chunk: LANES_PER_CHUNK,
            main_thread: main.and_then(|main| self.places.thread(main.row.thread)),
            has: Has {
                stacks: self.loaded.stacks.any(),
                calls: !self.loaded.facts.calls.is_empty(),
                b: known.has_b,
                any_prediction: known.any_prediction,
            },
            thinned: known.thinned.clone(),
        }
    }

    fn process_rows(&self) -> Vec<ProcessRow> {
        let ledger = &self.loaded.facts.ledger;
        // Threads stand in the order of processes.
        let mut of_process: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
        for (place, &at) in self.places.threads.iter().enumerate() {
            let process = self.places.process(ledger.threads[at].row.process);
            if let Some(process) = process {
                let (_, count) = of_process.entry(process).or_insert((place as u32, 0));
                *count += 1;
            }
        }
        let places = self.places.processes.iter().enumerate();
        let rows = places.map(|(place, &at)| {
            let process = &ledger.processes[at];
            let row = &process.row;
            let threads = of_process.get(&(place as u32)).copied();
            let (first_thread, thread_count) = threads.unwrap_or((0, 0));
            let arguments = row.arguments.split('\0');
            ProcessRow {
                process: row.process.0,
                pid: row.pid,
                name: self.words.name(&row.name),
                executable: self.words.name(&row.executable),
                arguments: arguments.map(|text| self.words.name(text)).collect(),
                parent: row.parent.and_then(|id| self.places.process(id)),
                start_ns: row.start.0,
                end_ns: row.end.0,
                first_thread,
                thread_count,
                sums: state_sums(&process.sums),
            }
        });
        rows.collect()
    }

    fn thread_rows(&self) -> Vec<ThreadRow> {
        let (ledger, timeline) = (&self.loaded.facts.ledger, &self.loaded.timeline);
        let mut on_path: FxHashMap<usize, u64> = FxHashMap::default();
        for segment in self.path.iter().flat_map(|path| &path.segments) {
            let sum = on_path.entry(segment.slot).or_default();
            *sum = sum.saturating_add(segment.ns());
        }
        let rows = self.places.threads.iter().map(|&at| {
            let thread = &ledger.threads[at];
            let row = &thread.row;
            let slot = timeline.slot(row.thread);
            ThreadRow {
                thread: row.thread.0,
                tid: row.tid,
                name: self.words.name(&row.name),
                process: self.places.process(row.process),
                start_ns: row.start.0,
                end_ns: row.end.0,
                sums: state_sums(&thread.sums),
                on_path_ns: slot
                    .and_then(|slot| on_path.get(&slot))
                    .copied()
                    .unwrap_or(0),
                is_housekeeping: slot.is_some_and(|slot| timeline.is_housekeeping(slot)),
            }
        });
        rows.collect()
    }
}
