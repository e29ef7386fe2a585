//! Which inputs are tried: new ones, and where a build counts what they reach, mostly some like those that reached something new.
//!
//! Those are kept in a file, so that a child that goes on behind a fault knows them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::coverage::{Coverage, Reached};
use crate::draws::{Draws, Random};
use crate::place;

/// One in so many inputs is new altogether.
const NEW: usize = 4;

/// Where those of a format are kept.
pub fn kept(format: &str) -> PathBuf {
    place().join("kept").join(format)
}

/// An input that reached something, and how many numbers were drawn for it.
struct Kept {
    draws: Draws,
    drawn: usize,
}

pub struct Guide {
    seed: u64,
    coverage: Option<Coverage>,
    kept: Vec<Kept>,
    file: File,
}

impl Guide {
    /// With those that an earlier child kept, which are still to be tried.
    pub fn begin(seed: u64, file: &Path) -> std::io::Result<(Guide, Vec<Draws>)> {
        fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
        let text = fs::read_to_string(file).unwrap_or_default();
        let guide = Guide {
            seed,
            coverage: Coverage::begin(),
            kept: Vec::new(),
            file: OpenOptions::new().create(true).append(true).open(file)?,
        };
        let known = text.lines().filter_map(|line| line.parse().ok());
        Ok((guide, known.collect()))
    }

    pub fn next(&self, at: u64) -> Draws {
        let new = Draws::of(self.seed, at);
        let mut random = Random::of(Draws::of(!self.seed, at));
        if self.kept.is_empty() || random.once_in(NEW) {
            return new;
        }
        // What was found last leads on more often.
        let late = self.kept.len() - self.kept.len().div_ceil(4);
        let one = match random.once_in(2) {
            true => &self.kept[late + random.below(self.kept.len() - late)],
            false => random.one(&self.kept),
        };
        let other = match random.once_in(4) {
            true => {
                let other = random.one(&self.kept);
                (&other.draws, random.below(other.drawn))
            }
            false => (&new, 0),
        };
        one.draws.changed(one.drawn, other, &mut random)
    }

    /// An input was read. `is_new`: it is not one of those that were kept already.
    pub fn learn(&mut self, draws: Draws, drawn: usize, is_new: bool) -> std::io::Result<()> {
        if !self.coverage.as_mut().is_some_and(Coverage::add) {
            return Ok(());
        }
        if is_new {
            writeln!(self.file, "{draws}")?;
        }
        self.kept.push(Kept { draws, drawn });
        Ok(())
    }

    /// How many are kept, and what all reached; `None` where that is not counted.
    pub fn reached(&self) -> Option<(usize, Vec<Reached>)> {
        let coverage = self.coverage.as_ref()?;
        Some((self.kept.len(), coverage.reached()))
    }
}
