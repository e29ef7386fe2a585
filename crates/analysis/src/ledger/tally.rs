//! Adding up: rows come in by batches, the ledger comes out.
//!
//! Memory grows with threads and with causes, not with spans.

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::tables::Occupant;
use timesink_recording::tables::Process;
use timesink_recording::tables::Thread;
use timesink_recording::tables::Wait;
use timesink_recording::units::Nanos;
use timesink_recording::words::{Detail, State};

use super::behind::{Behind, Occupants, Queued, Who};
use super::causes::{Causes, Sum};
use super::split::{split, Evidence, Split};
use super::tiling::Seams;
use super::{
    longest_first, Account, Books, Cause, Ends, FunctionId, Key, Kind, Ledger, ProcessLedger, Sums,
    ThreadLedger,
};
use crate::outsiders::Outsiders;
use crate::slots::Slots;
use crate::span::Span;
use crate::wall;

/// What the spans of one thread say of its states.
#[derive(Clone, Copy, Default)]
struct Spanned {
    running: Sum,
    exit: Sum,
    /// Being switched to.
    switching: Sum,
    ready_ns: u64,
    wait_ns: u64,
    lost_ns: u64,
    tracer: Sum,
    queued: Queued,
}

impl Spanned {
    fn cpu_ns(&self) -> u64 {
        self.running
            .ns
            .saturating_add(self.exit.ns)
            .saturating_add(self.switching.ns)
    }
}

/// The ledger under way. Feed `waits` and `occupants` before `spans`, which refer to both;
/// otherwise the order of batches does not matter.
pub struct Tally {
    threads: Vec<Thread>,
    processes: Vec<Process>,
    slots: Slots,
    spanned: Vec<Spanned>,
    seams: Seams,
    occupants: Occupants,
    /// Ready and wait causes.
    causes: Causes,
    /// For waits of kind `other`, the kernel function, by position of the thread and start.
    others: FxHashMap<(u32, Nanos), FunctionId>,
    /// Who held the locks that the thread at a position waited for.
    held_by: Vec<FxHashMap<ThreadId, Sum>>,
    functions: Vec<String>,
    function_ids: FxHashMap<String, FunctionId>,
}

impl Tally {
    /// A ledger of these threads and processes, with nothing in it yet.
    pub fn new(mut threads: Vec<Thread>, mut processes: Vec<Process>) -> Tally {
        threads.sort_by_key(|thread| thread.thread);
        threads.dedup_by_key(|thread| thread.thread);
        processes.sort_by_key(|process| process.process);
        processes.dedup_by_key(|process| process.process);
        Tally {
            slots: Slots::new(threads.iter().map(|thread| thread.thread.0)),
            spanned: vec![Spanned::default(); threads.len()],
            seams: Seams::new(threads.len()),
            occupants: Occupants::new(),
            causes: Causes::new(threads.len()),
            others: FxHashMap::default(),
            held_by: vec![FxHashMap::default(); threads.len()],
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            threads,
            processes,
        }
    }

    /// Notes the kernel functions of waits that are `other`, and who held a lock.
    pub fn waits(&mut self, rows: &[Wait]) {
        for row in rows {
            if let (Some(owner), Some(slot)) = (row.owner, self.slots.get(row.thread.0)) {
                self.held_by[slot]
                    .entry(owner)
                    .or_default()
                    .add(row.t1.since(row.t0));
            }
            if row.detail != Detail::Other || row.function.is_empty() {
                continue;
            }
            if let Some(slot) = self.slots.get(row.thread.0) {
                let function = self.function(&row.function);
                self.others.insert((slot as u32, row.t0), function);
            }
        }
    }

    fn function(&mut self, name: &str) -> FunctionId {
        if let Some(&known) = self.function_ids.get(name) {
            return known;
        }
        let new = FunctionId(self.functions.len() as u32);
        self.functions.push(name.to_owned());
        self.function_ids.insert(name.to_owned(), new);
        new
    }

    /// Adds up who was on the processor while a thread was ready.
    pub fn occupants(&mut self, rows: &[Occupant], outsiders: &Outsiders) {
        for row in rows {
            if let Some(slot) = self.slots.get(row.thread.0) {
                self.occupants.row(slot, row, outsiders);
            }
        }
    }

    /// Adds up a span, so much of which was spent in timesink's own programs.
    pub fn span(&mut self, span: &Span, tracer_ns: u64) {
        self.seams.found.spans += 1;
        match self.slots.get(span.thread.0) {
            Some(slot) => self.of_thread(slot, span, tracer_ns),
            None => self.seams.found.strays += 1,
        }
    }

    fn of_thread(&mut self, slot: usize, row: &Span, tracer_ns: u64) {
        self.seams.span(slot, &self.threads[slot], row.t0, row.t1);
        let spanned = &mut self.spanned[slot];
        let whole = row.t1.since(row.t0);
        let tracer = tracer_ns.min(whole);
        if tracer > 0 {
            spanned.tracer.add(tracer);
        }
        let ns = whole - tracer;
        let account = match row.state {
            State::Cpu if row.detail == Detail::Exit => return spanned.exit.add(ns),
            State::Cpu if row.detail == Detail::SwitchingIn => return spanned.switching.add(ns),
            State::Cpu => return spanned.running.add(ns),
            State::Lost => {
                spanned.lost_ns = spanned.lost_ns.saturating_add(ns);
                return;
            }
            State::Ready => {
                spanned.ready_ns = spanned.ready_ns.saturating_add(ns);
                if row.detail != Detail::Throttled {
                    spanned.queued.ns = spanned.queued.ns.saturating_add(ns);
                    spanned.queued.has_full |= self.occupants.is_full(slot, row.t0);
                }
                Account::Ready
            }
            State::Wait => {
                spanned.wait_ns = spanned.wait_ns.saturating_add(ns);
                Account::Wait
            }
        };
        let function = (row.detail == Detail::Other && account == Account::Wait)
            .then(|| self.others.get(&(slot as u32, row.t0)).copied())
            .flatten();
        let object = row.object().filter(|_| account == Account::Wait);
        let key = Key {
            account,
            kind: Kind::As(row.detail),
            object,
            function,
        };
        self.causes.add(slot, key, ns);
    }

    /// The ledger of all that was fed.
    pub fn finish(self) -> Ledger {
        let mut tiling = self.seams.finish(&self.threads);
        let queued: Vec<Queued> = self.spanned.iter().map(|spanned| spanned.queued).collect();
        let mut behind = self.occupants.finish(&queued).into_iter();
        let mut causes = self.causes.finish();
        let homes = homes(&self.threads, &self.processes);
        let splits = splits(&self.threads, &self.spanned, &homes, self.processes.len());
        let mut ends = Ends::default();
        let mut pages = Vec::with_capacity(self.threads.len());
        for (slot, row) in self.threads.into_iter().enumerate() {
            ends.born_before += u64::from(row.born_before);
            ends.alive_at_end += u64::from(row.alive_at_end);
            ends.end_lost += u64::from(row.end_lost);
            let spanned = &self.spanned[slot];
            let beyond = beyond_sums(&row, spanned);
            tiling.beyond_sums += u64::from(beyond > 0);
            tiling.beyond_sums_ns = tiling.beyond_sums_ns.saturating_add(beyond);
            let sums = sums(&row, spanned);
            let mut causes = std::mem::take(&mut causes[slot]);
            add_causes(&mut causes, spanned, &sums, &splits[slot]);
            pages.push(ThreadLedger {
                held_by: longest_holders(&self.held_by[slot]),
                process: homes[slot],
                sums,
                causes: longest_first(causes),
                behind: behind.next().unwrap_or_default(),
                split: splits[slot],
                row,
            });
        }
        let (processes, whole) = process_pages(self.processes, &pages);
        Ledger {
            main: main_thread(&processes, &pages),
            books: Books::of_all(&pages),
            threads: pages,
            processes,
            whole,
            tiling,
            ends,
            functions: self.functions,
        }
    }
}

fn longest_holders(holders: &FxHashMap<ThreadId, Sum>) -> Vec<Behind> {
    let mut all: Vec<Behind> = holders
        .iter()
        .map(|(owner, sum)| Behind {
            who: Who::Thread(*owner),
            count: sum.count,
            ns: sum.ns,
        })
        .collect();
    all.sort_unstable_by_key(|held| (std::cmp::Reverse(held.ns), held.who));
    all
}

/// For each thread, where its process sits.
fn homes(threads: &[Thread], processes: &[Process]) -> Vec<Option<usize>> {
    let slots = Slots::new(processes.iter().map(|process| process.process.0));
    threads
        .iter()
        .map(|thread| slots.get(thread.process.0))
        .collect()
}

/// How far the spans exceed the sums kept inside the kernel. Sums of a thread whose end was lost
/// are older than its spans, so there it means nothing.
fn beyond_sums(row: &Thread, spanned: &Spanned) -> u64 {
    if row.end_lost {
        return 0;
    }
    let cpu = spanned.cpu_ns();
    let pairs = [
        (cpu, row.cpu_ns),
        (spanned.ready_ns, row.ready_ns),
        (spanned.wait_ns, row.wait_ns),
        (spanned.tracer.ns, row.tracer_ns),
    ];
    pairs.iter().fold(0, |sum, (spans, kept)| {
        sum.saturating_add(spans.saturating_sub(*kept))
    })
}

/// The states of one thread. The sums kept inside the kernel lead; where spans have more, they
/// are the later word.
fn sums(row: &Thread, spanned: &Spanned) -> Sums {
    let spanned_cpu = spanned.cpu_ns();
    let cpu_ns = row.cpu_ns.max(spanned_cpu);
    let ready_ns = row.ready_ns.max(spanned.ready_ns);
    let wait_ns = row.wait_ns.max(spanned.wait_ns);
    let tracer_ns = row.tracer_ns.max(spanned.tracer.ns);
    // Time in spans that are lost is mostly known by state from the sums. Only what is left
    // over is lost altogether.
    let known = (cpu_ns - spanned_cpu)
        .saturating_add(ready_ns - spanned.ready_ns)
        .saturating_add(wait_ns - spanned.wait_ns)
        .saturating_add(tracer_ns - spanned.tracer.ns);
    Sums {
        life_ns: row.end.since(row.start),
        cpu_ns,
        ready_ns,
        wait_ns,
        tracer_ns,
        tracer_estimated_ns: row.tracer_estimated_ns,
        lost_ns: spanned.lost_ns.saturating_sub(known),
        taken_ns: row.taken_ns.unwrap_or(0),
        kernel_cpu_ns: row.kernel_cpu_ns,
        kernel_ready_ns: row.kernel_ready_ns,
        kernel_life_ns: row.kernel_life_ns,
    }
}

/// Adds what the spans' own causes (ready and wait) leave out: the processor's, the tracer's, and
/// what each state lacks.
fn add_causes(causes: &mut Vec<Cause>, spanned: &Spanned, sums: &Sums, split: &Split) {
    let mut add = |account, kind, sum: Sum, estimated| {
        if sum.count > 0 || sum.ns > 0 {
            let key = Key {
                account,
                kind,
                object: None,
                function: None,
            };
            causes.push(Cause {
                key,
                count: sum.count,
                ns: sum.ns,
                estimated,
            });
        }
    };
    let running = spanned.running;
    if split.basis == super::Basis::Nothing {
        add(Account::Cpu, Kind::As(Detail::Running), running, false);
    } else if running.count > 0 {
        let user = ((running.ns as f64 * split.user).round() as u64).min(running.ns);
        add(
            Account::Cpu,
            Kind::User,
            Sum {
                ns: user,
                ..running
            },
            true,
        );
        add(
            Account::Cpu,
            Kind::Kernel,
            Sum {
                ns: running.ns - user,
                ..running
            },
            true,
        );
    }
    add(Account::Cpu, Kind::As(Detail::Exit), spanned.exit, false);
    add(
        Account::Cpu,
        Kind::As(Detail::SwitchingIn),
        spanned.switching,
        false,
    );
    let tracer = Sum {
        ns: sums.tracer_ns,
        ..spanned.tracer
    };
    add(Account::Tracer, Kind::Recording, tracer, false);
    let lost = Sum {
        ns: sums.lost_ns,
        count: 0,
    };
    add(Account::Lost, Kind::As(Detail::Unknown), lost, false);
    let spanned_cpu = spanned.cpu_ns();
    let lacking = [
        (Account::Cpu, sums.cpu_ns - spanned_cpu),
        (Account::Ready, sums.ready_ns - spanned.ready_ns),
        (Account::Wait, sums.wait_ns - spanned.wait_ns),
    ];
    for (account, ns) in lacking {
        add(account, Kind::Missing, Sum { count: 0, ns }, false);
    }
}

/// For each thread, its estimate of user against kernel.
fn splits(
    threads: &[Thread],
    spanned: &[Spanned],
    homes: &[Option<usize>],
    processes: usize,
) -> Vec<Split> {
    let own: Vec<Evidence> = threads
        .iter()
        .zip(spanned)
        .map(|(thread, spanned)| Evidence::of(thread, spanned.running.ns, spanned.exit.ns))
        .collect();
    let mut by_process = vec![Evidence::default(); processes];
    let mut all = Evidence::default();
    for (evidence, home) in own.iter().zip(homes) {
        all.add(evidence);
        if let Some(home) = home {
            by_process[*home].add(evidence);
        }
    }
    let none = Evidence::default();
    own.iter()
        .zip(homes)
        .map(|(own, home)| split(own, home.map_or(&none, |home| &by_process[home]), &all))
        .collect()
}

/// The processes with the sums of their threads, and the sums of all threads.
fn process_pages(rows: Vec<Process>, threads: &[ThreadLedger]) -> (Vec<ProcessLedger>, Sums) {
    let mut whole = Sums::default();
    let mut pages: Vec<ProcessLedger> = rows
        .into_iter()
        .map(|row| ProcessLedger {
            row,
            sums: Sums::default(),
            threads: Vec::new(),
        })
        .collect();
    for (at, thread) in threads.iter().enumerate() {
        whole.add(&thread.sums);
        if let Some(page) = thread.process.and_then(|home| pages.get_mut(home)) {
            page.sums.add(&thread.sums);
            page.threads.push(at);
        }
    }
    for page in &mut pages {
        page.threads
            .sort_by_key(|&at| (threads[at].row.start, threads[at].row.thread));
    }
    (pages, whole)
}

/// By the rule that the wall time goes by, too.
fn main_thread(processes: &[ProcessLedger], threads: &[ThreadLedger]) -> Option<usize> {
    let rows = processes.iter().map(|process| &process.row);
    let main = wall::main_thread(rows, threads.iter().map(|thread| &thread.row))?;
    let is_main = |thread: &ThreadLedger| thread.row.thread == main.thread;
    threads.iter().position(is_main)
}
