//! From numbers in a recording to positions in a vector. Numbers are dense in a sound recording,
//! so a plain vector does; a broken one may name number four thousand million, so not only that.

use rustc_hash::FxHashMap;

/// Where each number sits.
#[derive(Clone, Debug)]
pub(crate) enum Slots {
    Dense(Vec<u32>),
    Sparse(FxHashMap<u32, u32>),
}

const NOWHERE: u32 = u32::MAX;

impl Slots {
    /// Positions of `numbers` in their order. Of two equal numbers the first counts.
    pub(crate) fn new(numbers: impl ExactSizeIterator<Item = u32> + Clone) -> Slots {
        let largest = numbers.clone().max().unwrap_or(0) as usize;
        let positions = numbers.clone().zip(0u32..);
        if largest > numbers.len().saturating_mul(8).saturating_add(1024) {
            let mut map = FxHashMap::default();
            for (number, position) in positions {
                map.entry(number).or_insert(position);
            }
            return Slots::Sparse(map);
        }
        let mut dense = vec![NOWHERE; largest + 1];
        for (number, position) in positions {
            let slot = &mut dense[number as usize];
            if *slot == NOWHERE {
                *slot = position;
            }
        }
        Slots::Dense(dense)
    }

    /// Where `number` sits, if anywhere.
    pub(crate) fn get(&self, number: u32) -> Option<usize> {
        let position = match self {
            Slots::Dense(dense) => dense
                .get(number as usize)
                .copied()
                .filter(|&at| at != NOWHERE),
            Slots::Sparse(map) => map.get(&number).copied(),
        };
        position.map(|at| at as usize)
    }
}
