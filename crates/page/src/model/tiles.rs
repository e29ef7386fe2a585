//! `path`, `lanes` and `flame` by tiles: at level 0 one tile is all the time, at each level twice as many are half as long.

use super::model;

model! {
    /// A stretch of time: what a tile covers, in buckets of equal length.
    #[derive(Copy)]
    pub struct TileTime {
        pub level: u32,
        pub tile: u32,
        pub from_ns: i64,
        pub until_ns: i64,
        pub buckets: u32,
    }

    /// Pieces at least as long as a bucket, one by one and in their whole length, also beyond the tile.
    #[derive(Default)]
    pub struct Pieces {
        /// From the end of the piece before to the start of this one; the first from the tile's `from_ns`. May be negative.
        pub gap: Vec<i64>,
        pub ns: Vec<u64>,
        /// As an index into `states`.
        pub state: Vec<u32>,
        /// As an index into `threads` of the overview; empty where a lane is a thread's own.
        pub thread: Vec<u32>,
        /// What was waited for, counted from 1 by its place in `things`; 0 for nothing.
        pub thing: Vec<u32>,
        /// Where in the code, as a node of `code`, counted from 1; 0 if that is not known.
        pub node: Vec<u32>,
        /// Who ended the wait, as an index into `threads`, counted from 1; 0 if no recorded thread did.
        pub waker: Vec<u32>,
        /// What ended the wait, as an index into `wake_sources`, counted from 1; 0 if that is not known.
        pub source: Vec<u32>,
    }

    /// What is shorter than a bucket, summed up; buckets and states without any are left out.
    #[derive(Default)]
    pub struct Sums {
        pub bucket: Vec<u32>,
        pub state: Vec<u32>,
        pub ns: Vec<u64>,
        /// How many begin there.
        pub count: Vec<u32>,
    }

    /// The critical path in a tile.
    pub struct PathTile {
        pub time: TileTime,
        pub pieces: Pieces,
        pub sums: Sums,
        /// Nothing was summed up: deeper tiles say no more.
        pub is_complete: bool,
    }

    /// A chunk of lanes in a tile.
    pub struct LaneTile {
        pub time: TileTime,
        pub first_lane: u32,
        pub lanes: Vec<Lane>,
        pub is_complete: bool,
    }

    /// One lane: a thread's states; who ran on a processor; or, in sums only, all threads of a process.
    pub struct Lane {
        pub pieces: Pieces,
        pub sums: Sums,
    }

    /// What happened again and again, as bands beside the lanes.
    pub struct Bands {
        pub bands: Vec<Band>,
    }

    pub struct Band {
        /// As in the terminal.
        pub title: String,
        pub kind: BandKind,
        pub count: u64,
        pub median_ns: u64,
        /// Those that are kept; all if as many as `count`.
        pub from_ns: Vec<i64>,
        pub ns: Vec<u64>,
        /// As an index into `threads`.
        pub thread: Vec<u32>,
    }

    #[derive(Copy, Eq)]
    #[serde(rename_all = "snake_case")]
    pub enum BandKind {
        Operations,
        Loop,
    }
}
