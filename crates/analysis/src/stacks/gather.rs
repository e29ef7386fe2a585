//! From tables to stacks with times: samples, waits and times ready are put beside the sums of their threads, and
//! what they do not cover becomes a remainder.
//!
//! A sum always leads. Where those of a thread have more time than its sum (a sample
//! stands for time before it, so at the edge of a part of a recording it may reach out), they are
//! made shorter alike until they fit, rather than making time up.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{StackId, ThreadId};
use timesink_recording::tables::{self, Delay, Sample, Span, Wait};
use timesink_recording::words::{Detail, State};
use timesink_recording::{Nanos, Recording};

use super::{CallSite, Code, Counts, Coverage, Event, Filter, Missing, Rest, Selected, Stacks};
use crate::facts::Facts;
use crate::ledger::{Account, Sums};

/// The stacks that a filter lets pass.
pub(super) fn gather(
    recording: &Recording,
    facts: &Facts,
    filter: &Filter,
) -> timesink_recording::Result<Stacks> {
    let selected = Selected::new(filter, facts);
    let mut gathering = StackGathering::selected(recording, filter, selected)?;
    recording.scan(|rows| gathering.waits(rows))?;
    if !filter.needs_spans() {
        return Ok(gathering.finish(facts));
    }
    let mut sums: BTreeMap<ThreadId, Sums> = BTreeMap::new();
    recording.scan(|rows: &[Span]| {
        rows.iter().for_each(|row| gathering.span(row, &mut sums));
    })?;
    Ok(gathering.finish_with(&sums))
}

/// Stacks as they are read.
pub struct StackGathering<'a> {
    filter: &'a Filter,
    selected: Selected<'a>,
    /// Waits that pass for the object that ended them (of a poll), which their spans do not name.
    woken: FxHashSet<(ThreadId, Nanos)>,
    code: Code,
    events: Vec<Event>,
    sites: Vec<CallSite>,
    /// Time in waits that were recorded one by one but have no stack.
    bare_waits: FxHashMap<ThreadId, u64>,
    counts: Counts,
    /// How many waits there will be, until the first comes.
    waits_to_come: usize,
}

impl StackGathering<'static> {
    /// All stacks of an open recording but those of its waits, which follow: who needs them for more than this reads them once.
    pub fn of(recording: &Recording) -> timesink_recording::Result<StackGathering<'static>> {
        StackGathering::selected(recording, &Filter::NONE, Selected::all())
    }
}

impl<'a> StackGathering<'a> {
    fn selected(
        recording: &Recording,
        filter: &'a Filter,
        selected: Selected<'a>,
    ) -> timesink_recording::Result<StackGathering<'a>> {
        let stacks = recording.rows()?;
        let mut gathering = StackGathering {
            filter,
            selected,
            woken: FxHashSet::default(),
            code: Code::new(recording.rows()?, recording.rows()?, &stacks),
            events: Vec::new(),
            sites: Vec::new(),
            bare_waits: FxHashMap::default(),
            counts: Counts::default(),
            waits_to_come: 0,
        };
        drop(stacks);
        recording.scan(|rows| gathering.samples(rows))?;
        recording.scan(|rows| gathering.delays(rows))?;
        recording.scan(|rows| gathering.call_sites(rows))?;
        if filter.is_empty() {
            let waits = recording.row_count::<Wait>()?;
            gathering.waits_to_come = usize::try_from(waits).unwrap_or(0);
        }
        Ok(gathering)
    }

    /// The stack of a row; all of them are counted, whatever the filter.
    fn stack(&mut self, stack: Option<StackId>) -> Option<super::StackIx> {
        let found = self.code.stack(stack?)?;
        self.counts.taken += 1;
        self.counts.complete += u64::from(self.code.is_complete(found));
        Some(found)
    }

    fn samples(&mut self, rows: &[Sample]) {
        for row in rows {
            let stack = self.stack(row.stack);
            count(&mut self.counts.samples, stack.is_some());
            let (Some(stack), Some(ns)) = (stack, row.weight_ns) else {
                continue;
            };
            let passes = self.selected.thread(row.thread)
                && self.selected.state(Account::Cpu)
                && self.selected.objects(&[])
                && self.selected.processor(Account::Cpu, row.processor)
                && self.selected.moment(row.t);
            if passes {
                self.events.push(Event {
                    thread: row.thread,
                    at: row.t,
                    account: Account::Cpu,
                    detail: Detail::Running,
                    stack,
                    ns,
                });
            }
        }
    }

    pub fn waits(&mut self, rows: &[Wait]) {
        // Of millions a vector that grows would be copied again and again. As soon as there is a row, the table is known to be
        // allowed as many as it says.
        self.events
            .reserve_exact(std::mem::take(&mut self.waits_to_come));
        for row in rows {
            let stack = self.stack(row.stack);
            let waker = row.waker_stack.and_then(|stack| self.code.stack(stack));
            self.counts.wakers += u64::from(waker.is_some());
            count(
                self.counts.waits.entry(row.detail).or_default(),
                stack.is_some(),
            );
            let passes = self.selected.thread(row.thread)
                && self.selected.state(Account::Wait)
                && self.selected.objects(&[row.object, row.woken_object])
                && self.selected.processor(Account::Wait, 0);
            let (t0, t1) = self.filter.clip(row.t0, row.t1);
            if !passes || t1 <= t0 {
                continue;
            }
            if !self.selected.objects(&[row.object]) {
                self.woken.insert((row.thread, row.t0));
            }
            let ns = t1.since(t0);
            match stack {
                Some(stack) => self.events.push(Event {
                    thread: row.thread,
                    at: t0,
                    account: Account::Wait,
                    detail: row.detail,
                    stack,
                    ns,
                }),
                None => {
                    let sum = self.bare_waits.entry(row.thread).or_default();
                    *sum = sum.saturating_add(ns);
                }
            }
        }
    }

    /// Their stacks are not counted: most are those of the waits before them.
    fn delays(&mut self, rows: &[Delay]) {
        for row in rows {
            let passes = self.selected.thread(row.thread)
                && self.selected.state(Account::Ready)
                && self.selected.objects(&[])
                && self.filter.processor.is_none();
            let (t0, t1) = self.filter.clip(row.t0, row.t1);
            if !passes || t1 <= t0 {
                continue;
            }
            if let Some(stack) = row.stack.and_then(|stack| self.code.stack(stack)) {
                self.events.push(Event {
                    thread: row.thread,
                    at: t0,
                    account: Account::Ready,
                    detail: row.detail,
                    stack,
                    ns: t1.since(t0),
                });
            }
        }
    }

    /// They stand for no time, so that only their thread and moment matter.
    fn call_sites(&mut self, rows: &[tables::CallSite]) {
        for row in rows {
            let stack = row.stack.and_then(|stack| self.code.stack(stack));
            if self.selected.thread(row.thread) && self.selected.moment(row.t) {
                self.sites.extend(CallSite::of(row, stack));
            }
        }
    }

    /// Adds to the sums of a thread what the filter lets pass of a span.
    fn span(&self, row: &Span, sums: &mut BTreeMap<ThreadId, Sums>) {
        let account = match row.state {
            State::Cpu => Account::Cpu,
            State::Ready => Account::Ready,
            State::Wait => Account::Wait,
            State::Lost => Account::Lost,
        };
        let object = row.object.filter(|_| account == Account::Wait);
        let (t0, t1) = self.filter.clip(row.t0, row.t1);
        let passes = self.selected.thread(row.thread)
            && (self.selected.objects(&[object]) || self.woken.contains(&(row.thread, row.t0)))
            && self.selected.processor(account, row.processor);
        if !passes || t1 <= t0 {
            return;
        }
        let (ns, whole) = (t1.since(t0), row.t1.since(row.t0));
        let tracer = share(row.tracer_ns.min(whole), ns, whole);
        let sum = sums.entry(row.thread).or_default();
        let add = |column: &mut u64, ns: u64| *column = column.saturating_add(ns);
        add(&mut sum.tracer_ns, tracer);
        let column = match account {
            Account::Cpu => &mut sum.cpu_ns,
            Account::Ready => &mut sum.ready_ns,
            Account::Wait => &mut sum.wait_ns,
            Account::Tracer | Account::Lost => &mut sum.lost_ns,
        };
        add(column, ns - tracer);
    }

    /// The stacks, where the facts of the same recording say what time threads took.
    pub fn finish(self, facts: &Facts) -> Stacks {
        let threads = facts.ledger.threads.iter();
        let wanted = threads.filter(|thread| self.selected.thread(thread.row.thread));
        let sums = wanted.map(|thread| (thread.row.thread, thread.sums));
        let sums = sums.collect();
        self.finish_with(&sums)
    }

    /// Drops what is of threads that are not listed: all were let pass before the list was known.
    fn keep_only(&mut self, threads: &BTreeMap<ThreadId, Sums>) {
        let is_listed = |thread| threads.contains_key(&thread);
        let mut runs = self.events.chunk_by(|a, b| a.thread == b.thread);
        if !runs.all(|run| run.first().is_none_or(|event| is_listed(event.thread))) {
            self.events.retain(|event| is_listed(event.thread));
        }
        self.sites.retain(|site| is_listed(site.thread));
    }

    fn finish_with(mut self, sums: &BTreeMap<ThreadId, Sums>) -> Stacks {
        // All of an event is in its order, so that the order of rows never shows. Mostly these are a few runs that are in order.
        self.events.sort();
        if self.selected.is_all() {
            self.keep_only(sums);
        }
        self.sites.sort_unstable();
        let mut rests = Vec::new();
        // A thread that no span and no sum tells of has no time: its samples have none either.
        let none = Sums::default();
        for events in self.events.chunk_by_mut(|a, b| a.thread == b.thread) {
            let Some(thread) = events.first().map(|event| event.thread) else {
                continue;
            };
            let sums = sums.get(&thread).unwrap_or(&none);
            fit(events, Account::Cpu, sums.cpu_ns);
            fit(events, Account::Wait, sums.wait_ns);
            fit(events, Account::Ready, sums.ready_ns);
        }
        for (&thread, sums) in sums {
            let from = self.events.partition_point(|event| event.thread < thread);
            let to = self.events.partition_point(|event| event.thread <= thread);
            let told = |account| {
                let events = self.events[from..to].iter();
                let of = events.filter(|event| event.account == account);
                of.fold(0u64, |sum, event| sum.saturating_add(event.ns))
            };
            let wait = sums.wait_ns.saturating_sub(told(Account::Wait));
            let bare = self.bare_waits.get(&thread).copied().unwrap_or(0).min(wait);
            let parts = [
                (Missing::Cpu, sums.cpu_ns.saturating_sub(told(Account::Cpu))),
                (
                    Missing::Ready,
                    sums.ready_ns.saturating_sub(told(Account::Ready)),
                ),
                (Missing::Wait, bare),
                (Missing::ShortWait, wait - bare),
                (Missing::Tracer, sums.tracer_ns),
                (Missing::Lost, sums.lost_ns),
            ];
            let parts = parts
                .into_iter()
                .filter(|(missing, ns)| *ns > 0 && self.selected.state(missing.account()));
            rests.extend(parts.map(|(missing, ns)| Rest {
                thread,
                missing,
                ns,
            }));
        }
        self.counts.frames = self.code.frames.len() as u64;
        let nameless = self.code.frames.iter();
        let nameless = nameless.filter(|frame| frame.function.is_empty());
        self.counts.nameless_frames = nameless.count() as u64;
        Stacks {
            code: self.code,
            events: self.events,
            rests,
            counts: self.counts,
            sites: self.sites,
        }
    }
}

fn count(coverage: &mut Coverage, with_stack: bool) {
    coverage.count += 1;
    coverage.with_stack += u64::from(with_stack);
}

/// `part` of `whole`, as a share of `ns`.
fn share(ns: u64, part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let share = u128::from(ns) * u128::from(part) / u128::from(whole);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Makes the events of one state shorter alike, if they have more time than there is.
fn fit(events: &mut [Event], account: Account, most: u64) {
    let of = |event: &&mut Event| event.account == account;
    let sum: u128 = events
        .iter_mut()
        .filter(of)
        .map(|event| u128::from(event.ns))
        .sum();
    if sum <= u128::from(most) {
        return;
    }
    // From running sums, so that what is rounded off in one is not missing at the end.
    let (mut before, mut given) = (0u128, 0u128);
    for event in events.iter_mut().filter(of) {
        before += u128::from(event.ns);
        let upto = before * u128::from(most) / sum;
        event.ns = u64::try_from(upto - given).unwrap_or(u64::MAX);
        given = upto;
    }
}
