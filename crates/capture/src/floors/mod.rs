//! What this machine does at best: flushes, round trips, starts of processes, switches, copies, checksums.
//!
//! All kinds take turns for some twenty seconds, a short round of each at a time, so that a machine that is slow for a
//! moment is slow for all of them a little and not for one of them wholly. Figures are medians over all rounds. How busy
//! others were meanwhile is told with them. Root is not needed. What is made of the figures is not decided here.

mod disk;
mod kept;
mod load;
mod memory;
mod mounts;
mod network;
mod pinned;
mod spawn;
mod sums;
mod threads;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use timesink_recording::floors::{Figure, Floors, FLOORS_VERSION};

use crate::error::Error;
use crate::host::HostFacts;

pub use kept::{keep, kept};
pub(crate) use load::ticks;
pub use load::LoadWatch;

/// For so long rounds are begun,
const TIME: Duration = Duration::from_secs(20);
/// but no more than so many, and no fewer.
const MOST_ROUNDS: u32 = 40;
const LEAST_ROUNDS: u32 = 3;

/// Where to measure what depends on the place.
#[derive(Debug, Clone, Default)]
pub struct WantedFloors {
    /// Each file system is measured once, in the first of these folders that is on it.
    pub folders: Vec<PathBuf>,
    /// Each as `HOST:PORT`.
    pub peers: Vec<String>,
}

/// How far measuring has come.
#[derive(Debug, Clone, Copy)]
pub struct FloorsProgress {
    /// From 0 to 1.
    pub done: f64,
    pub measuring: &'static str,
}

/// One kind of measurement.
trait Kind {
    fn name(&self) -> &'static str;
    /// Measures a little. An error ends this kind and no other.
    fn round(&mut self) -> io::Result<()>;
    /// Tells what it found, and what it could not measure.
    fn tell(&mut self, floors: &mut Floors);
}

/// Lengths of one thing, in nanoseconds.
#[derive(Debug, Default)]
struct Lengths(Vec<f64>);

impl Lengths {
    /// That many of it took so long together.
    fn add(&mut self, took: Duration, many: usize) {
        self.0.push(took.as_nanos() as f64 / many.max(1) as f64);
    }

    /// Times something that does its thing so often.
    fn time(&mut self, many: usize, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        self.add(start.elapsed(), many);
    }

    fn figure(&self) -> Option<Figure> {
        Figure::of(self.0.clone())
    }
}

/// Measures. `watch` is told before each step, and may end it: then there are none.
pub fn measure(
    wanted: &WantedFloors,
    watch: &mut dyn FnMut(&FloorsProgress) -> ControlFlow<()>,
) -> Result<Option<Floors>, Error> {
    let started = Instant::now();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut floors = Floors {
        version: FLOORS_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: HostFacts::gather().machine(),
        measured_unix_ns: since_1970.unwrap_or_default().as_nanos() as u64,
        ..Floors::default()
    };
    let watched = load::LoadWatch::start();
    let mut kinds = kinds(wanted, &mut floors.left_out);
    let mut longest = Duration::ZERO;
    for round in 0..MOST_ROUNDS {
        let begun = Instant::now();
        let time_is_up = started.elapsed() + longest > TIME;
        if kinds.is_empty() || (round >= LEAST_ROUNDS && time_is_up) {
            break;
        }
        let by_time = started.elapsed().as_secs_f64() / TIME.as_secs_f64();
        let by_rounds = f64::from(round) / f64::from(MOST_ROUNDS);
        let mut going = Vec::new();
        for mut kind in kinds {
            let progress = FloorsProgress {
                done: by_time.max(by_rounds).min(1.0),
                measuring: kind.name(),
            };
            if watch(&progress).is_break() {
                return Ok(None);
            }
            match kind.round() {
                Ok(()) => going.push(kind),
                Err(error) => {
                    let name = kind.name();
                    floors.left_out.push(format!("{name}: {error}"));
                    kind.tell(&mut floors);
                }
            }
        }
        kinds = going;
        longest = longest.max(begun.elapsed());
    }
    for kind in &mut kinds {
        kind.tell(&mut floors);
    }
    floors.load = watched.end();
    floors.took_ns = started.elapsed().as_nanos() as u64;
    Ok(Some(floors))
}

/// All kinds that can be measured here.
fn kinds(wanted: &WantedFloors, left_out: &mut Vec<String>) -> Vec<Box<dyn Kind>> {
    let mut kinds: Vec<Box<dyn Kind>> = Vec::new();
    for disk in disk::disks(&wanted.folders, left_out) {
        kinds.push(Box::new(disk));
    }
    for peer in network::peers(&wanted.peers, left_out) {
        kinds.push(Box::new(peer));
    }
    kinds.push(Box::new(spawn::Starts::new(left_out)));
    kinds.push(Box::new(threads::Threads::new(left_out)));
    kinds.push(Box::new(memory::Memory::new(left_out)));
    kinds.push(Box::new(sums::Sums::default()));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who ends the measuring gets no floors, and measuring leaves no file behind.
    #[test]
    fn ended_early_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("timesink-floors-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let wanted = WantedFloors {
            folders: vec![folder.clone()],
            peers: Vec::new(),
        };
        let mut steps = 0;
        let floors = measure(&wanted, &mut |_| {
            steps += 1;
            match steps {
                1..=2 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        assert_eq!(floors.expect("no error"), None);
        let left = std::fs::read_dir(&folder).expect("the folder").count();
        std::fs::remove_dir_all(&folder).expect("it goes");
        assert_eq!(left, 0);
    }
}
