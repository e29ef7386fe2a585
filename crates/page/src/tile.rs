//! Tiles: at level 0 one is all the time, at each level twice as many are half as long.

use crate::model::TileTime;

/// Which tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    pub level: u32,
    pub tile: u32,
}

/// No tile is asked for below this one.
const DEEPEST: u32 = 40;

/// How deep tiles can say more of so long a time: down to where a tile is a microsecond.
pub fn deepest_level(wall_ns: u64) -> u32 {
    (wall_ns / 1000).max(1).ilog2().min(31)
}

impl Tile {
    pub const WHOLE: Tile = Tile { level: 0, tile: 0 };

    pub fn new(level: u32, tile: u64) -> Option<Tile> {
        let tile_number = u32::try_from(tile).ok()?;
        (level <= DEEPEST && tile < 1 << level).then_some(Tile {
            level,
            tile: tile_number,
        })
    }

    /// The two below it.
    pub fn halves(self) -> [Tile; 2] {
        let half = |more| Tile {
            level: self.level + 1,
            tile: self.tile * 2 + more,
        };
        [half(0), half(1)]
    }

    /// What it covers of a time.
    pub fn time(self, from_ns: i64, wall_ns: u64, buckets: u32) -> TileTime {
        let at = |tile: u64| {
            let ns = (u128::from(wall_ns) * u128::from(tile)) >> self.level;
            from_ns.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        TileTime {
            level: self.level,
            tile: self.tile,
            from_ns: at(self.tile.into()),
            until_ns: at(u64::from(self.tile) + 1),
            buckets,
        }
    }
}

impl TileTime {
    /// Its length; what is empty is as long as a nanosecond, so that there is something to divide by.
    pub(crate) fn ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns).max(1) as u64
    }

    /// Whether so long a piece is told by itself.
    pub(crate) fn is_long(&self, ns: u64) -> bool {
        u128::from(ns) * u128::from(self.buckets) >= u128::from(self.ns())
    }

    /// The bucket that a moment within it lies in.
    pub(crate) fn bucket(&self, at_ns: i64) -> u32 {
        let past = at_ns.saturating_sub(self.from_ns).max(0) as u64;
        let bucket = u128::from(past) * u128::from(self.buckets) / u128::from(self.ns());
        (bucket as u32).min(self.buckets.saturating_sub(1))
    }

    /// The first moment that lies in a bucket.
    pub(crate) fn begin_of(&self, bucket: u32) -> i64 {
        let (ns, buckets) = (u128::from(self.ns()), u128::from(self.buckets.max(1)));
        let past = (u128::from(bucket) * ns).div_ceil(buckets);
        self.from_ns + past as i64
    }

    /// The part of a stretch that it covers, if any.
    pub(crate) fn clip(&self, t0: i64, t1: i64) -> Option<(i64, i64)> {
        let (t0, t1) = (t0.max(self.from_ns), t1.min(self.until_ns));
        (t0 < t1).then_some((t0, t1))
    }
}
