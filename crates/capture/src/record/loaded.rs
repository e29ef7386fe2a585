//! Where processes of several threads have their files: by that, locks that lie in variables get names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::address_space::{Change, Image, Space};

/// Of more processes nothing is kept: their files may be told twice.
const MOST_PROCESSES: usize = 4096;

/// A file as a process has it.
pub struct LoadedFile {
    pub image: Arc<Image>,
    /// By how much its addresses in memory are beyond those that the file counts by.
    pub moved: u64,
    /// Where all of it lies in memory.
    pub start: u64,
    pub end: u64,
}

/// What was told of one process.
#[derive(Default)]
struct Told {
    /// How many mappings it had then.
    mappings: usize,
    /// By their serial numbers.
    images: HashSet<u32>,
}

/// The files of processes, each told once.
#[derive(Default)]
pub struct LoadedFiles(HashMap<u32, Told>);

impl LoadedFiles {
    /// The files that this process is not known to have.
    pub fn newly(&mut self, pid: u32, space: &Space) -> Vec<LoadedFile> {
        if self.0.len() >= MOST_PROCESSES && !self.0.contains_key(&pid) {
            self.0.clear();
        }
        let told = self.0.entry(pid).or_default();
        let mappings = space.mappings();
        if told.mappings == mappings.len() {
            return Vec::new();
        }
        told.mappings = mappings.len();
        let loaded = mappings.iter().filter_map(|mapping| {
            let loads = &mapping.image.elf()?.loads;
            let first = loads.iter().map(|load| load.address).min()?;
            let ends = loads.iter();
            let ends = ends.map(|load| {
                load.address
                    .saturating_add(load.size)
                    .saturating_add(load.zeros)
            });
            let moved = mapping.moved();
            told.images
                .insert(mapping.image.serial())
                .then(|| LoadedFile {
                    image: mapping.image.clone(),
                    moved,
                    start: first.wrapping_add(moved),
                    end: ends.max().unwrap_or(first).wrapping_add(moved),
                })
        });
        loaded.collect()
    }

    /// A process that executes another program has none of them any more, nor one that has ended.
    pub fn applied(&mut self, change: &Change) {
        match change {
            Change::Executed { pid } => drop(self.0.remove(pid)),
            Change::Ended { pid, tid } if pid == tid => drop(self.0.remove(pid)),
            _ => {}
        }
    }
}
