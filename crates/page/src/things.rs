//! `things` and `thing`: files, sockets, locks and children, and what was done with them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::Object;
use timesink_recording::words::{HistogramKind, ObjectKind, State};

use timesink_analysis::stacks::StackIx;

use crate::calls::{histogram, Buckets};
use crate::model::{CallSiteRow, Moment, Thing, ThingCall, ThingKind, ThingRow, ThingWait, Things};
use crate::page::ThingTimes;
use crate::Page;

/// Rows of each table of a thing.
const MOST: usize = 500;

fn kind(kind: ObjectKind) -> ThingKind {
    match kind {
        ObjectKind::File | ObjectKind::Directory => ThingKind::File,
        ObjectKind::TcpSocket
        | ObjectKind::UdpSocket
        | ObjectKind::UnixSocket
        | ObjectKind::OtherSocket => ThingKind::Socket,
        ObjectKind::Pipe => ThingKind::Pipe,
        ObjectKind::Futex => ThingKind::Lock,
        ObjectKind::Child => ThingKind::Child,
        ObjectKind::Device | ObjectKind::BlockDevice | ObjectKind::Terminal => ThingKind::Device,
        ObjectKind::Epoll | ObjectKind::Anonymous | ObjectKind::Other => ThingKind::Other,
    }
}

/// What a thread waited for a thing, in one state.
#[derive(Default)]
struct WaitSum {
    count: u64,
    ns: u64,
    longest_ns: u64,
    longest_at: i64,
}

impl Page<'_> {
    /// All things, in the order that pieces know them by.
    pub fn things(&self) -> Things {
        let objects = &self.loaded.facts.objects;
        let places = self.places.things.iter();
        Things {
            things: places.map(|&at| self.thing_row(at)).collect(),
            left_out: (objects.len() - self.places.things.len()) as u64,
        }
    }

    /// Things with most time, at most so many.
    pub fn heaviest_things(&self, most: usize) -> Vec<u32> {
        let weight = |at: &usize| {
            let times = &self.weights[*at];
            times.call_ns.saturating_add(times.wait_ns)
        };
        let mut things: Vec<usize> = self.places.things.clone();
        things.sort_by_key(|at| std::cmp::Reverse(weight(at)));
        let things = things.iter().take(most).filter(|at| weight(at) > 0);
        things
            .map(|&at| self.loaded.facts.objects[at].object.0)
            .collect()
    }

    fn thing_row(&self, at: usize) -> ThingRow {
        let object: &Object = &self.loaded.facts.objects[at];
        let ThingTimes {
            calls,
            call_ns,
            bytes,
            errors,
            is_estimated,
            waits,
            wait_ns,
            on_path_ns,
        } = self.weights[at];
        let name = |text: &Option<String>| text.as_deref().map(|text| self.words.name(text));
        ThingRow {
            id: object.object.0,
            kind: kind(object.kind),
            name: self.words.thing(object.object),
            path: name(&object.path),
            filesystem: name(&object.filesystem),
            size: object.size,
            local: name(&object.local),
            remote: name(&object.remote),
            calls,
            call_ns,
            bytes,
            errors,
            is_estimated,
            waits,
            wait_ns,
            on_path_ns,
        }
    }

    /// The page of one thing; `None` if there is none of this number.
    pub fn thing(&self, id: u32) -> Option<Thing> {
        let id = ObjectId(id);
        let objects = &self.loaded.facts.objects;
        let at = objects
            .binary_search_by_key(&id, |object| object.object)
            .ok()?;
        let mut calls = self.calls_on(id);
        let mut waits = self.waits_for(id);
        let mut sites = self.sites_on(id);
        let rows = [calls.len(), waits.len(), sites.len()];
        let left_out = rows.iter().map(|rows| rows.saturating_sub(MOST) as u64);
        let left_out = left_out.sum();
        calls.truncate(MOST);
        waits.truncate(MOST);
        sites.truncate(MOST);
        Some(Thing {
            row: self.thing_row(at),
            calls,
            waits,
            sites,
            left_out,
        })
    }

    fn calls_on(&self, id: ObjectId) -> Vec<ThingCall> {
        let mut buckets: FxHashMap<(ThreadId, &str, HistogramKind), Buckets> = FxHashMap::default();
        for row in self.histograms.iter().filter(|row| row.object == Some(id)) {
            let key = (row.thread, row.call.as_str(), row.kind);
            let count = buckets
                .entry(key)
                .or_default()
                .entry(row.bucket)
                .or_default();
            *count = count.saturating_add(row.count);
        }
        let calls = self.calls.iter().filter(|row| row.object == Some(id));
        let of_kind = |row: &timesink_recording::tables::Call, kind| {
            histogram(buckets.get(&(row.thread, row.call.as_str(), kind)))
        };
        let mut calls: Vec<ThingCall> = calls
            .map(|row| ThingCall {
                thread: self.places.thread(row.thread),
                call: self.words.name(&row.call),
                count: row.count,
                ns: row.ns,
                bytes: row.bytes,
                errors: row.errors,
                is_estimated: row.estimated,
                durations: of_kind(row, HistogramKind::Duration),
                sizes: of_kind(row, HistogramKind::Size),
            })
            .collect();
        calls.sort_by_key(|call| (std::cmp::Reverse(call.ns), call.thread));
        calls
    }

    fn waits_for(&self, id: ObjectId) -> Vec<ThingWait> {
        let timeline = &self.loaded.timeline;
        let mut sums: BTreeMap<(u32, u32), WaitSum> = BTreeMap::new();
        for slot in 0..timeline.threads.len() {
            let Some(thread) = self.places.slot(slot) else {
                continue;
            };
            let waits = timeline.spans_of(slot).iter();
            let waits = waits.filter(|span| span.state == State::Wait && span.object() == Some(id));
            for span in waits {
                let state = self.states.of(span.state, span.detail);
                let sum = sums.entry((thread, state)).or_default();
                let ns = span.t1.since(span.t0);
                sum.count += 1;
                sum.ns = sum.ns.saturating_add(ns);
                if ns > sum.longest_ns {
                    (sum.longest_ns, sum.longest_at) = (ns, span.t0.0);
                }
            }
        }
        let waits = sums.into_iter();
        let mut waits: Vec<ThingWait> = waits
            .map(|((thread, state), sum)| ThingWait {
                thread,
                state,
                count: sum.count,
                ns: sum.ns,
                longest_ns: sum.longest_ns,
                longest: Moment {
                    thread,
                    at_ns: sum.longest_at,
                    ns: sum.longest_ns,
                },
            })
            .collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
        waits
    }

    fn sites_on(&self, id: ObjectId) -> Vec<CallSiteRow> {
        let sites = self.loaded.stacks.sites.iter();
        let sites = sites.filter(|site| site.object == Some(id));
        let mut sites: Vec<CallSiteRow> = sites
            .map(|site| CallSiteRow {
                call: self.words.name(&site.call),
                node: Some(StackIx::place(site.stack)),
                thread: self.places.thread(site.thread),
                stands_for: site.count,
                at_ns: site.at.0,
                error: self.words.name(&site.error),
            })
            .collect();
        sites.sort_by_key(|site| std::cmp::Reverse(site.stands_for));
        sites
    }
}
