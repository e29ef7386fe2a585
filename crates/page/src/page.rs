//! A recording as its page sees it: what each answer is made from, found once.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use timesink_analysis::path::Path;
use timesink_analysis::stacks::StackIx;
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::{Call, CallHistogram};
use timesink_recording::Nanos;
use timesink_story::Loaded;

use crate::lanes::OnProcessor;
use crate::model::TileTime;
use crate::places::Places;
use crate::states::States;
use crate::{Tile, Wording};

/// A recording, ready to be asked.
pub struct Page<'a> {
    pub loaded: &'a Loaded<'a>,
    pub(crate) words: &'a dyn Wording,
    pub states: States,
    pub places: Places,
    /// To the end of the main thread; `None` if there is none.
    pub(crate) path: Option<Path>,
    pub(crate) processors: Vec<u32>,
    /// Sorted by when they begin, once somebody looks at them: of ten million spans that takes a second.
    pub(crate) on_processors: OnceLock<BTreeMap<u32, OnProcessor>>,
    pub(crate) calls: Vec<Call>,
    pub(crate) histograms: Vec<CallHistogram>,
    /// All moments lie within these.
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    /// By place in the facts' objects: time in calls and waits.
    pub(crate) weights: Vec<ThingTimes>,
}

/// What a thing took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThingTimes {
    pub calls: u64,
    pub call_ns: u64,
    pub bytes: u64,
    pub errors: u64,
    pub is_estimated: bool,
    pub waits: u64,
    pub wait_ns: u64,
    pub on_path_ns: u64,
}

impl<'a> Page<'a> {
    /// Of a recording that was read.
    pub fn of(
        loaded: &'a Loaded<'a>,
        words: &'a dyn Wording,
    ) -> timesink_recording::Result<Page<'a>> {
        let (ledger, timeline) = (&loaded.facts.ledger, &loaded.timeline);
        let main = ledger.main.and_then(|at| ledger.threads.get(at));
        let slot = main.and_then(|main| timeline.slot(main.row.thread));
        let path = slot.map(|slot| Path::of_thread(timeline, slot));
        let weights = thing_times(loaded, path.as_ref());
        let sums = weights.iter();
        let sums: Vec<u64> = sums
            .map(|times| times.call_ns.saturating_add(times.wait_ns))
            .collect();
        let wall = i64::try_from(loaded.recording.about().wall_ns).unwrap_or(i64::MAX);
        let starts = timeline.threads.iter().map(|thread| thread.start);
        let ends = timeline.threads.iter().map(|thread| thread.end);
        let from = starts.min().map_or(Nanos(0), |start| start.min(Nanos(0)));
        let until = ends.max().unwrap_or(Nanos(0)).max(Nanos(wall)).max(from);
        Ok(Page {
            places: Places::of(&loaded.facts, timeline, &sums),
            states: States::new(words),
            processors: crate::lanes::processors(timeline),
            on_processors: OnceLock::new(),
            calls: loaded.recording.rows()?,
            histograms: loaded.recording.rows()?,
            loaded,
            words,
            path,
            from,
            until,
            weights,
        })
    }

    /// The time that the page shows.
    pub fn wall_ns(&self) -> u64 {
        self.until.since(self.from)
    }

    pub(crate) fn time(&self, tile: Tile, buckets: u32) -> TileTime {
        tile.time(self.from.0, self.wall_ns(), buckets)
    }

    /// Where in the code a thread was at a moment, as a node counted from 1.
    pub(crate) fn node_at(&self, thread: ThreadId, at: Nanos) -> u32 {
        let stack = self.loaded.stacks.stack_at(thread, at);
        stack.map_or(0, |stack| StackIx::place(stack) + 1)
    }

    pub(crate) fn thing_from_one(&self, object: Option<ObjectId>) -> u32 {
        crate::places::from_one(object.and_then(|id| self.places.thing(id)))
    }
}

fn thing_times(loaded: &Loaded<'_>, path: Option<&Path>) -> Vec<ThingTimes> {
    let facts = &loaded.facts;
    let mut times = vec![ThingTimes::default(); facts.objects.len()];
    let at = |id: ObjectId| {
        facts
            .objects
            .binary_search_by_key(&id, |object| object.object)
            .ok()
    };
    for call in &facts.calls {
        let Some(at) = call.object.and_then(at) else {
            continue;
        };
        let sum = &mut times[at];
        sum.calls = sum.calls.saturating_add(call.count);
        sum.call_ns = sum.call_ns.saturating_add(call.ns);
        sum.bytes = sum.bytes.saturating_add(call.bytes);
        sum.errors = sum.errors.saturating_add(call.errors);
        sum.is_estimated |= call.estimated;
    }
    for cause in facts
        .ledger
        .threads
        .iter()
        .flat_map(|thread| &thread.causes)
    {
        if let Some(at) = cause.key.object.and_then(at) {
            times[at].waits = times[at].waits.saturating_add(cause.count);
            times[at].wait_ns = times[at].wait_ns.saturating_add(cause.ns);
        }
    }
    for segment in path.iter().flat_map(|path| &path.segments) {
        if let Some(at) = segment.object.and_then(at) {
            times[at].on_path_ns = times[at].on_path_ns.saturating_add(segment.ns());
        }
    }
    times
}
