//! `path`: the critical path to the end of the main thread.

use timesink_recording::words::State;

use crate::lanes::LANE_BUCKETS;
use crate::model::{PathTile, Pieces, Sums};
use crate::places::from_one;
use crate::strip::{Piece, Strip};
use crate::{Page, Tile};

impl Page<'_> {
    /// The critical path in a tile; its pieces tile the wall time.
    pub fn path(&self, tile: Tile) -> PathTile {
        let time = self.time(tile, LANE_BUCKETS);
        let mut strip = Strip::new(time);
        let timeline = &self.loaded.timeline;
        let segments = self.path.as_ref().map_or(&[][..], |path| &path.segments);
        let first = segments.partition_point(|segment| segment.t1.0 <= time.from_ns);
        let then = segments[first..].iter();
        for segment in then.take_while(|segment| segment.t0.0 < time.until_ns) {
            let state = match segment.unknown {
                Some(why) => self.states.of_unknown(why),
                None => self.states.of(segment.state, segment.detail),
            };
            strip.add(segment.t0.0, segment.t1.0, state, || {
                let thread = timeline.threads[segment.slot].thread;
                let wait = match segment.state {
                    State::Wait => timeline.wait_at(segment.slot, segment.t0),
                    _ => None,
                };
                let wait = wait.and_then(|at| timeline.span(at));
                let waker = wait.and_then(|wait| wait.waker());
                let source = wait.and_then(|wait| wait.wake_source);
                Piece {
                    thread: Some(self.places.slot(segment.slot).unwrap_or(0)),
                    thing: self.thing_from_one(segment.object),
                    node: self.node_at(thread, segment.t0),
                    waker: from_one(waker.and_then(|id| self.places.thread(id))),
                    source: from_one(source.map(|source| source as u32)),
                    ..Piece::default()
                }
            });
        }
        let (pieces, sums): (Pieces, Sums) = strip.finish();
        PathTile {
            is_complete: sums.bucket.is_empty(),
            time,
            pieces,
            sums,
        }
    }
}
