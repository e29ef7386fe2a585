//! Floors: what a machine does at best, as `timesink floors` measured it. They are kept by themselves, and a recording
//! made on that machine carries them, so that who reads it elsewhere compares with the right machine.
//!
//! How they are measured is not decided here, nor what follows from them.

use serde::{Deserialize, Serialize};

/// The version of these fields. A kept file of another version is measured again; a recording's own version covers those
/// that it carries.
pub const FLOORS_VERSION: u32 = 1;

/// Others may keep so much of all processors busy before a machine is not called idle,
const OTHERS_PCT: f64 = 5.0;
/// but never more than half a processor of a large one,
const OTHERS_PROCESSORS: f64 = 0.5;
/// and a host may take away so much.
const STOLEN_PCT: f64 = 2.0;
/// More of one kind than anybody measures.
const MOST: usize = 1000;

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    pub version: u32,
    /// The version of the timesink that measured.
    pub tool_version: String,
    pub machine: Machine,
    /// When, nanoseconds since 1970 UTC, and for how long.
    pub measured_unix_ns: u64,
    pub took_ns: u64,
    pub load: Load,
    /// One for each file system.
    pub disks: Vec<DiskFloors>,
    /// This machine itself first.
    pub peers: Vec<PeerFloors>,
    /// The smallest parent first.
    pub starts: Vec<StartFloors>,
    /// From one thread to another on the same processor: the one wakes the other and sleeps itself.
    pub switch: Option<Figure>,
    /// From letting go of a lock to its being held by a thread that slept for it, on another processor.
    pub hand_over: Option<Figure>,
    /// Copying so many bytes of memory, the fewest first.
    pub copies: Vec<ForBytes>,
    /// Touching a page of new memory for the first time, which zeroes it.
    pub zeroing: Option<ForBytes>,
    /// The CRC-32 of so many bytes, and their hash by SipHash 1-3, which hash tables use.
    pub crc32: Option<ForBytes>,
    pub hash: Option<ForBytes>,
    /// What was not measured and why, in sentences.
    pub left_out: Vec<String>,
}

/// Which machine they are of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub hostname: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's model.
    pub processor: String,
    /// Processors on line.
    pub processors: u32,
}

/// What else the machine did meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Percent of the time of all processors that others used.
    pub others_pct: f64,
    /// Percent of it that the host of a virtual machine took away.
    pub stolen_pct: f64,
    /// Percent of the time in which somebody wanted a processor and had none, if the kernel counts that.
    pub short_pct: Option<f64>,
}

/// How long one thing takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The median of what was measured.
    pub ns: f64,
    /// A quarter of it took no longer than the one, and three quarters no longer than the other.
    pub low_ns: f64,
    pub high_ns: f64,
    /// How often it was measured.
    pub times: u64,
}

/// How long something takes with so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForBytes {
    pub bytes: u64,
    pub takes: Figure,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskFloors {
    /// Where it was measured.
    pub folder: String,
    pub mounted_on: String,
    /// Its type, such as `ext4`.
    pub filesystem: String,
    /// Its device, as in the table `objects`.
    pub device: u64,
    /// By bytes written, the fewest first.
    pub sizes: Vec<FlushFloors>,
}

/// What it takes to write so many bytes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlushFloors {
    pub bytes: u64,
    /// Until the kernel has them.
    pub write: Figure,
    /// `fdatasync` after that, where the file had its length before: until the disk has them.
    pub flush: Figure,
    /// The same where they made the file longer.
    pub flush_longer: Figure,
}

/// A peer in the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerFloors {
    /// As it was named; `loopback` for this machine itself.
    pub name: String,
    /// Its address, without a port.
    pub address: String,
    /// Making a TCP connection.
    pub connect: Option<Figure>,
    /// A byte there and back over a TCP connection that is there: over loopback only, others do not send it back.
    pub round_trip: Option<Figure>,
    /// ICMP echo with 56 bytes of data.
    pub echo: Option<Figure>,
}

/// A child that ends at once, from its start until its parent knows of its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StartFloors {
    /// The parent's memory, resident in pages of 4 KiB.
    pub resident_bytes: u64,
    pub fork: Option<Figure>,
    pub vfork: Option<Figure>,
    /// With the execution of an empty program.
    pub posix_spawn: Option<Figure>,
}

impl Figure {
    /// The figure for these lengths in nanoseconds; none for no lengths.
    pub fn of(mut lengths: Vec<f64>) -> Option<Figure> {
        lengths.retain(|ns| ns.is_finite() && *ns > 0.0);
        lengths.sort_by(f64::total_cmp);
        let last = lengths.len().checked_sub(1)?;
        let at = |part: f64| lengths[(last as f64 * part).round() as usize];
        Some(Figure {
            ns: at(0.5),
            low_ns: at(0.25),
            high_ns: at(0.75),
            times: lengths.len() as u64,
        })
    }

    /// Half of all lie within so many percent of each other, up and down.
    pub fn spread_pct(&self) -> f64 {
        (self.high_ns - self.low_ns) / self.ns * 50.0
    }

    fn is_sound(&self) -> bool {
        let ordered = 0.0 < self.low_ns && self.low_ns <= self.ns && self.ns <= self.high_ns;
        ordered && self.high_ns < 1e15
    }
}

impl PeerFloors {
    /// The way there and back, by what of it could be measured.
    pub fn way(&self) -> Option<Figure> {
        self.round_trip.or(self.echo).or(self.connect)
    }
}

impl Floors {
    /// Whether nobody else used the machine much. If somebody did, floors are too high.
    pub fn was_idle(&self) -> bool {
        let Load {
            others_pct,
            stolen_pct,
            ..
        } = self.load;
        let others = others_pct / 100.0 * f64::from(self.machine.processors);
        others_pct <= OTHERS_PCT && others <= OTHERS_PROCESSORS && stolen_pct <= STOLEN_PCT
    }

    /// Whether these can be figures that were measured. What is not sound may come from anybody, and is not used.
    pub fn is_sound(&self) -> bool {
        let lists = [
            self.disks.len(),
            self.peers.len(),
            self.starts.len(),
            self.copies.len(),
            self.left_out.len(),
        ];
        let Load {
            others_pct,
            stolen_pct,
            short_pct,
        } = self.load;
        let mut shares = [others_pct, stolen_pct, short_pct.unwrap_or(0.0)].into_iter();
        lists.into_iter().all(|length| length <= MOST)
            && shares.all(|share| (0.0..=100.0).contains(&share))
            && self.figures().iter().all(Figure::is_sound)
    }

    /// All figures, in the order in which they are told.
    pub fn figures(&self) -> Vec<Figure> {
        let takes = |sized: &ForBytes| sized.takes;
        let disks = self.disks.iter().flat_map(|disk| &disk.sizes);
        let disks = disks.flat_map(|size| [size.write, size.flush, size.flush_longer]);
        let peers = self.peers.iter();
        let peers = peers.flat_map(|peer| [peer.connect, peer.round_trip, peer.echo]);
        let starts = self.starts.iter();
        let starts = starts.flat_map(|start| [start.fork, start.vfork, start.posix_spawn]);
        let sums = [&self.zeroing, &self.crc32, &self.hash];
        let sums = sums.into_iter().flatten().map(takes);
        disks
            .chain(peers.flatten())
            .chain(starts.flatten())
            .chain([self.switch, self.hand_over].into_iter().flatten())
            .chain(self.copies.iter().map(takes))
            .chain(sums)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure is the one in the middle, with the quarters beside it, and none is made of nothing.
    #[test]
    fn figures_are_medians() {
        let figure = Figure::of(vec![5.0, 1.0, 3.0, 2.0, 4.0, f64::NAN, 0.0]).expect("a figure");
        assert_eq!(
            (figure.low_ns, figure.ns, figure.high_ns, figure.times),
            (2.0, 3.0, 4.0, 5)
        );
        assert!((figure.spread_pct() - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(Figure::of(Vec::new()), None);
    }

    /// A machine is idle if others do next to nothing, on two processors or on a hundred.
    #[test]
    fn idle_is_idle_for_large_and_small() {
        let floors = |others_pct, stolen_pct, processors| Floors {
            load: Load {
                others_pct,
                stolen_pct,
                short_pct: None,
            },
            machine: Machine {
                processors,
                ..Machine::default()
            },
            ..Floors::default()
        };
        assert!(floors(4.0, 0.5, 2).was_idle());
        assert!(!floors(6.0, 0.0, 2).was_idle());
        assert!(!floors(4.0, 0.0, 100).was_idle());
        assert!(!floors(0.0, 3.0, 2).was_idle());
    }

    /// Figures that nobody can have measured are not used.
    #[test]
    fn impossible_figures_are_not_sound() {
        let with = |ns, low_ns, high_ns| Floors {
            switch: Some(Figure {
                ns,
                low_ns,
                high_ns,
                times: 3,
            }),
            ..Floors::default()
        };
        assert!(with(2.0, 1.0, 3.0).is_sound());
        assert!(!with(0.0, 0.0, 0.0).is_sound());
        assert!(!with(2.0, 3.0, 1.0).is_sound());
        assert!(!with(2.0, 1.0, f64::MAX).is_sound());
        assert!(!with(f64::NAN, f64::NAN, f64::NAN).is_sound());
    }
}
