//! `lanes`: what threads did, who ran on processors, and processes as sums of their threads.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::timeline::{Span, Timeline};
use timesink_recording::words::State;

use crate::model::{Lane, LaneTile, Pieces, Sums, TileTime};
use crate::places::from_one;
use crate::strip::{Heap, Piece, Strip};
use crate::{LanesBy, Page, Tile};

pub const LANE_BUCKETS: u32 = 1024;

/// Lanes that are asked for together.
pub(crate) const LANES_PER_CHUNK: u32 = 64;

/// The spans on one processor, as indexes into the timeline, by when they begin: who ran, and who wanted to.
#[derive(Default)]
pub(crate) struct OnProcessor {
    ran: Vec<u32>,
    wanted: Vec<u32>,
}

/// The processors that anything ran on, or wanted.
pub(crate) fn processors(timeline: &Timeline) -> Vec<u32> {
    let mut numbers = BTreeSet::new();
    let mut last = None;
    for span in timeline.all() {
        let is_on = matches!(span.state, State::Cpu | State::Ready);
        // One after the other a thread is mostly on one: a look into the set for each span would be the most of this.
        if is_on && last.replace(span.processor) != Some(span.processor) {
            numbers.insert(span.processor);
        }
    }
    numbers.into_iter().collect()
}

/// Who ran on each processor, and who wanted to.
fn on_processors(timeline: &Timeline) -> BTreeMap<u32, OnProcessor> {
    let mut ran: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
    let mut wanted: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
    // An index takes four bytes of a span's forty: of four thousand million there is no recording.
    for (at, span) in (0u32..).zip(timeline.all()) {
        let lists = match span.state {
            State::Cpu => &mut ran,
            State::Ready => &mut wanted,
            State::Wait | State::Lost => continue,
        };
        lists
            .entry(span.processor)
            .or_default()
            .push((span.t0.0, at));
    }
    let mut processors: BTreeMap<u32, OnProcessor> = BTreeMap::new();
    let in_order = |mut spans: Vec<(i64, u32)>| -> Vec<u32> {
        spans.sort_unstable();
        spans.into_iter().map(|(_, at)| at).collect()
    };
    for (processor, spans) in ran {
        processors.entry(processor).or_default().ran = in_order(spans);
    }
    for (processor, spans) in wanted {
        processors.entry(processor).or_default().wanted = in_order(spans);
    }
    processors
}

impl Page<'_> {
    /// How many lanes there are.
    pub fn lane_count(&self, by: LanesBy) -> u32 {
        let count = match by {
            LanesBy::Process => self.places.processes.len(),
            LanesBy::Thread => self.places.threads.len(),
            LanesBy::Processor => self.processors.len(),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// How many chunks of them.
    pub fn chunk_count(&self, by: LanesBy) -> u32 {
        self.lane_count(by).div_ceil(LANES_PER_CHUNK)
    }

    /// A chunk of lanes in a tile; `None` where there is none.
    pub fn lanes(&self, by: LanesBy, chunk: u32, tile: Tile) -> Option<LaneTile> {
        if chunk >= self.chunk_count(by) {
            return None;
        }
        let time = self.time(tile, LANE_BUCKETS);
        let first_lane = chunk * LANES_PER_CHUNK;
        let end = (first_lane + LANES_PER_CHUNK).min(self.lane_count(by));
        let lanes = (first_lane..end).map(|lane| match by {
            LanesBy::Process => self.process_lane(lane, time),
            LanesBy::Thread => self.thread_lane(lane, time),
            LanesBy::Processor => self.processor_lane(lane, time),
        });
        let lanes: Vec<Lane> = lanes.collect();
        let is_whole = |lane: &Lane| lane.sums.bucket.is_empty();
        let is_complete = match by {
            LanesBy::Thread => lanes.iter().all(is_whole),
            LanesBy::Process | LanesBy::Processor => false,
        };
        Some(LaneTile {
            time,
            first_lane,
            lanes,
            is_complete,
        })
    }

    fn slot_of(&self, lane: u32) -> Option<usize> {
        let thread = *self.places.threads.get(lane as usize)?;
        let row = &self.loaded.facts.ledger.threads.get(thread)?.row;
        self.loaded.timeline.slot(row.thread)
    }

    fn thread_lane(&self, lane: u32, time: TileTime) -> Lane {
        let mut strip = Strip::new(time);
        if let Some(slot) = self.slot_of(lane) {
            for span in within(self.loaded.timeline.spans_of(slot), time) {
                let state = self.states.of(span.state, span.detail);
                strip.add(span.t0.0, span.t1.0, state, || self.piece(span, None));
            }
        }
        let (pieces, sums) = strip.finish();
        Lane { pieces, sums }
    }

    fn piece(&self, span: &Span, thread: Option<u32>) -> Piece {
        Piece {
            thread,
            thing: self.thing_from_one(span.object()),
            node: self.node_at(span.thread, span.t0),
            waker: from_one(span.waker().and_then(|id| self.places.thread(id))),
            source: from_one(span.wake_source.map(|source| source as u32)),
            ..Piece::default()
        }
    }

    fn process_lane(&self, lane: u32, time: TileTime) -> Lane {
        let mut heap = Heap::new(time);
        let ledger = &self.loaded.facts.ledger;
        let process = self.places.processes.get(lane as usize);
        let threads = process.and_then(|&at| ledger.processes.get(at));
        let threads = threads.iter().flat_map(|process| &process.threads);
        let timeline = &self.loaded.timeline;
        let slots = threads.filter_map(|&at| timeline.slot(ledger.threads.get(at)?.row.thread));
        for span in slots.flat_map(|slot| within(timeline.spans_of(slot), time)) {
            let state = self.states.of(span.state, span.detail);
            heap.add(span.t0.0, span.t1.0, state);
        }
        Lane {
            pieces: Pieces::default(),
            sums: heap.finish(),
        }
    }

    fn processor_lane(&self, lane: u32, time: TileTime) -> Lane {
        let timeline = &self.loaded.timeline;
        let mut strip = Strip::new(time);
        let mut heap = Heap::new(time);
        let processors = self.on_processors.get_or_init(|| on_processors(timeline));
        if let Some(one) = processors.values().nth(lane as usize) {
            let first = one.ran.partition_point(|&at| {
                timeline
                    .span(at as usize)
                    .is_some_and(|span| span.t1.0 <= time.from_ns)
            });
            let ran = one.ran[first..].iter();
            let ran = ran.filter_map(|&at| timeline.span(at as usize));
            for span in ran.take_while(|span| span.t0.0 < time.until_ns) {
                let state = self.states.of(span.state, span.detail);
                let thread = self.places.thread(span.thread).unwrap_or(0);
                strip.add(span.t0.0, span.t1.0, state, || {
                    self.piece(span, Some(thread))
                });
            }
            let wanted = one.wanted.iter();
            let wanted = wanted.filter_map(|&at| timeline.span(at as usize));
            for span in wanted.take_while(|span| span.t0.0 < time.until_ns) {
                let state = self.states.of(span.state, span.detail);
                heap.add(span.t0.0, span.t1.0, state);
            }
        }
        let (pieces, mut sums) = strip.finish();
        append(&mut sums, heap.finish());
        Lane { pieces, sums }
    }
}

fn append(sums: &mut Sums, more: Sums) {
    sums.bucket.extend(more.bucket);
    sums.state.extend(more.state);
    sums.ns.extend(more.ns);
    sums.count.extend(more.count);
}

/// The spans of a thread that lie within a tile, or reach into it.
fn within(spans: &[Span], time: TileTime) -> impl Iterator<Item = &Span> {
    let first = spans.partition_point(|span| span.t1.0 <= time.from_ns);
    let then = spans[first..].iter();
    then.take_while(move |span| span.t0.0 < time.until_ns)
}
