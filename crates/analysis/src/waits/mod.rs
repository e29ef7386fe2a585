//! What is known of single waits beyond their spans, from their own rows: the call, its result, whether a timeout ended
//! them. And what follows from that: groups of similar waits, peers and how long they take to respond, pieces of input as
//! they arrive, reads from disks.

use std::ops::Deref;
use std::sync::OnceLock;

use timesink_recording::tables::Call;
use timesink_recording::Recording;

use crate::facts::Facts;
use crate::timeline::Timeline;

pub mod arrivals;
pub mod disk_reads;
mod groups;
mod known;
pub mod peers;

use arrivals::Arrivals;
pub use groups::{quantile, Over, WaitGroup};
pub use known::{Came, Known, KnownWaits, Sent};
use peers::Peers;

/// What is known of waits, with the peers and the arrivals in them, which are looked for when they are asked for.
#[derive(Clone, Debug, Default)]
pub struct Waited {
    known: KnownWaits,
    peers: OnceLock<Peers>,
    arrivals: OnceLock<Vec<Arrivals>>,
}

impl Waited {
    /// Reads what an open recording, whose timeline this is, knows.
    pub fn of(recording: &Recording, timeline: &Timeline) -> timesink_recording::Result<Waited> {
        Waited::with(recording, timeline, recording.rows()?)
    }

    /// The same with its system calls, which have been read.
    pub fn with(
        recording: &Recording,
        timeline: &Timeline,
        calls: Vec<Call>,
    ) -> timesink_recording::Result<Waited> {
        Ok(Waited {
            known: KnownWaits::of(recording, timeline, calls)?,
            ..Waited::default()
        })
    }

    /// Whom processes asked, and how they waited for the answers.
    pub fn peers(&self, facts: &Facts, timeline: &Timeline) -> &Peers {
        let peers = || Peers::of(facts, timeline, &self.known);
        self.peers.get_or_init(peers)
    }

    /// What comes in to threads piece by piece, in so many pieces as [`arrivals::LEAST`] or more.
    pub fn arrivals(&self, timeline: &Timeline) -> &[Arrivals] {
        let all = || Arrivals::all(timeline, &self.known, arrivals::LEAST);
        self.arrivals.get_or_init(all)
    }
}

impl Deref for Waited {
    type Target = KnownWaits;

    fn deref(&self) -> &KnownWaits {
        &self.known
    }
}
