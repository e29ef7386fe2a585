//! A strip of time within a tile: long pieces one by one, short ones summed up by bucket and state.

use crate::model::{Pieces, Sums, TileTime};

/// One piece: a thread in a state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Piece {
    pub t0: i64,
    pub t1: i64,
    pub state: u32,
    pub thread: Option<u32>,
    /// Counted from 1.
    pub thing: u32,
    pub node: u32,
    pub waker: u32,
    pub source: u32,
}

/// A strip under way. Pieces come in the order in which they begin.
pub(crate) struct Strip {
    time: TileTime,
    end: i64,
    pieces: Pieces,
    sums: Sums,
    /// The bucket that is being summed up, and the one after it, which a short piece may reach into.
    bucket: u32,
    now: Vec<StateSum>,
    next: Vec<StateSum>,
}

#[derive(Clone, Copy)]
struct StateSum {
    state: u32,
    ns: u64,
    count: u32,
}

fn add(sums: &mut Vec<StateSum>, state: u32, ns: u64, count: u32) {
    match sums.iter_mut().find(|sum| sum.state == state) {
        Some(sum) => {
            sum.ns = sum.ns.saturating_add(ns);
            sum.count = sum.count.saturating_add(count);
        }
        None => sums.push(StateSum { state, ns, count }),
    }
}

impl Strip {
    pub fn new(time: TileTime) -> Strip {
        Strip {
            time,
            end: time.from_ns,
            pieces: Pieces::default(),
            sums: Sums::default(),
            bucket: 0,
            now: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Adds a piece; what makes it up is only asked for if it is told by itself.
    pub fn add(&mut self, t0: i64, t1: i64, state: u32, make: impl FnOnce() -> Piece) {
        let Some((from, until)) = self.time.clip(t0, t1) else {
            return;
        };
        if self.time.is_long(t1.abs_diff(t0)) {
            self.push(Piece {
                t0,
                t1,
                state,
                ..make()
            });
            return;
        }
        let (first, last) = (self.time.bucket(from), self.time.bucket(until - 1));
        self.go_to(first);
        // Where pieces overlap, one may begin before the bucket that is being summed up.
        let first = first.max(self.bucket);
        let count = u32::from(t0 >= self.time.from_ns);
        if last <= first {
            add(&mut self.now, state, until.abs_diff(from), count);
            return;
        }
        let cut = self.time.begin_of(first + 1).clamp(from, until);
        add(&mut self.now, state, cut.abs_diff(from), count);
        add(&mut self.next, state, until.abs_diff(cut), 0);
    }

    fn push(&mut self, piece: Piece) {
        let pieces = &mut self.pieces;
        pieces.gap.push(piece.t0.saturating_sub(self.end));
        pieces.ns.push(piece.t1.abs_diff(piece.t0));
        pieces.state.push(piece.state);
        pieces.thread.extend(piece.thread);
        pieces.thing.push(piece.thing);
        pieces.node.push(piece.node);
        pieces.waker.push(piece.waker);
        pieces.source.push(piece.source);
        self.end = piece.t1;
    }

    fn go_to(&mut self, bucket: u32) {
        while self.bucket < bucket {
            if self.now.is_empty() && self.next.is_empty() {
                self.bucket = bucket;
                return;
            }
            self.flush();
            std::mem::swap(&mut self.now, &mut self.next);
            self.bucket += 1;
        }
    }

    fn flush(&mut self) {
        for sum in self.now.drain(..).filter(|sum| sum.ns > 0 || sum.count > 0) {
            self.sums.push(self.bucket, sum.state, sum.ns, sum.count);
        }
    }

    pub fn finish(mut self) -> (Pieces, Sums) {
        self.go_to(self.bucket + 2);
        (self.pieces, self.sums)
    }
}

impl Sums {
    pub(crate) fn push(&mut self, bucket: u32, state: u32, ns: u64, count: u32) {
        self.bucket.push(bucket);
        self.state.push(state);
        self.ns.push(ns);
        self.count.push(count);
    }
}

/// Sums of pieces in any order, of any length, which may lie over each other.
pub(crate) struct Heap {
    time: TileTime,
    /// By state: within buckets, and how many full ones begin less end at each.
    by_state: Vec<Option<Box<Layer>>>,
}

struct Layer {
    within_ns: Vec<u64>,
    full: Vec<i64>,
    count: Vec<u32>,
}

impl Heap {
    pub fn new(time: TileTime) -> Heap {
        Heap {
            time,
            by_state: Vec::new(),
        }
    }

    pub fn add(&mut self, t0: i64, t1: i64, state: u32) {
        let Some((from, until)) = self.time.clip(t0, t1) else {
            return;
        };
        let time = self.time;
        let buckets = time.buckets as usize;
        let at = state as usize;
        if self.by_state.len() <= at {
            self.by_state.resize_with(at + 1, || None);
        }
        let layer = self.by_state[at].get_or_insert_with(|| {
            Box::new(Layer {
                within_ns: vec![0; buckets],
                full: vec![0; buckets + 1],
                count: vec![0; buckets],
            })
        });
        let (first, last) = (time.bucket(from) as usize, time.bucket(until - 1) as usize);
        if t0 >= time.from_ns {
            layer.count[first] = layer.count[first].saturating_add(1);
        }
        if first == last {
            layer.within_ns[first] = layer.within_ns[first].saturating_add(until.abs_diff(from));
            return;
        }
        let (begin, end) = (time.begin_of(first as u32 + 1), time.begin_of(last as u32));
        layer.within_ns[first] = layer.within_ns[first].saturating_add(begin.abs_diff(from));
        layer.within_ns[last] = layer.within_ns[last].saturating_add(until.abs_diff(end));
        layer.full[first + 1] += 1;
        layer.full[last] -= 1;
    }

    pub fn finish(self) -> Sums {
        let mut sums = Sums::default();
        for (state, layer) in self.by_state.into_iter().enumerate() {
            let Some(layer) = layer else {
                continue;
            };
            let mut full = 0i64;
            for bucket in 0..self.time.buckets {
                let at = bucket as usize;
                full += layer.full[at];
                let (begin, end) = match bucket + 1 == self.time.buckets {
                    true => (self.time.begin_of(bucket), self.time.until_ns),
                    false => (self.time.begin_of(bucket), self.time.begin_of(bucket + 1)),
                };
                let whole = end.abs_diff(begin).saturating_mul(full.max(0) as u64);
                let ns = layer.within_ns[at].saturating_add(whole);
                if ns > 0 || layer.count[at] > 0 {
                    sums.push(bucket, state as u32, ns, layer.count[at]);
                }
            }
        }
        sums
    }
}
