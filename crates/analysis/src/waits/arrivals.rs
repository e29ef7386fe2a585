//! What comes in to a thread piece by piece through pipes and sockets, and the time that it is on a processor from one
//! piece to the next.
//!
//! A single read has no moment in a recording, but a wait has: that of the reader for the next piece, or that of the
//! writer for room, which the reader ends each time it has taken one. What is read from files without waiting does not show.

use std::collections::BTreeMap;

use timesink_recording::ids::ObjectId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use super::KnownWaits;
use crate::timeline::{Timeline, Waker};

/// Of fewer pieces nobody can say how one differs from the next.
pub const LEAST: usize = 4;

/// What comes in to one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The thread, as an index into the timeline's.
    pub slot: usize,
    /// From wherever they came, not from one place alone.
    pub mixed: bool,
    /// When each piece was there, in order.
    pub at: Vec<Nanos>,
    /// How large each was, where that is known.
    pub bytes: Vec<Option<u64>>,
    /// From each to the next: the time that the thread was on a processor. One less than pieces.
    pub cpu_ns: Vec<u64>,
}

/// By whose waits it shows: the reader's own, or those of whoever writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Reader,
    Writer,
}

/// Where a piece comes from: what the reader waits for, or the thread that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Object(Option<ObjectId>),
    Thread(usize),
}

/// When a piece was there, and the index of the wait that shows it.
type Piece = (Nanos, usize);

impl Arrivals {
    /// Of each source from which so many pieces came in to a thread, or more, by when the first of them did; and after
    /// them, for threads with several sources, of all together.
    pub(crate) fn all(timeline: &Timeline, waited: &KnownWaits, least: usize) -> Vec<Arrivals> {
        let mut pieces: BTreeMap<(usize, By), BTreeMap<Source, Vec<Piece>>> = BTreeMap::new();
        for slot in 0..timeline.threads.len() {
            for (index, span) in timeline.indexed(slot) {
                if span.state != State::Wait {
                    continue;
                }
                let (reader, source) = match By::of(span.detail) {
                    Some(By::Reader) => ((slot, By::Reader), Source::Object(span.object())),
                    Some(By::Writer) => match timeline.waker(span) {
                        Waker::Thread { slot: by, .. } => ((by, By::Writer), Source::Thread(slot)),
                        _ => continue,
                    },
                    None => continue,
                };
                let of_reader = pieces.entry(reader).or_default();
                of_reader.entry(source).or_default().push((span.t1, index));
            }
        }
        let mut found = Vec::new();
        for ((slot, _), sources) in pieces {
            let is_one = sources.len() == 1;
            let made =
                |pieces: Vec<Piece>, mixed| Arrivals::of(timeline, waited, slot, pieces, mixed);
            let together: Vec<Piece> = match is_one {
                true => Vec::new(),
                false => sources.values().flatten().copied().collect(),
            };
            let many = sources.into_values().filter(|pieces| pieces.len() >= least);
            found.extend(many.map(|pieces| made(pieces, false)));
            if together.len() >= least {
                found.push(made(together, true));
            }
        }
        // What number a thread or a source has says nothing.
        found.sort_by_key(|one| (one.mixed, one.at.first().copied()));
        found
    }

    fn of(
        timeline: &Timeline,
        waited: &KnownWaits,
        slot: usize,
        mut pieces: Vec<Piece>,
        mixed: bool,
    ) -> Arrivals {
        pieces.sort_unstable();
        Arrivals {
            slot,
            mixed,
            at: pieces.iter().map(|&(at, _)| at).collect(),
            bytes: pieces.iter().map(|&(_, wait)| waited.moved(wait)).collect(),
            cpu_ns: between(timeline, slot, &pieces),
        }
    }
}

impl By {
    fn of(detail: Detail) -> Option<By> {
        match detail {
            Detail::PipeRead | Detail::NetworkReceive | Detail::UnixReceive => Some(By::Reader),
            // Who sends over a network is made room for by an acknowledgement, whenever that comes.
            Detail::PipeWrite | Detail::UnixSend => Some(By::Writer),
            _ => None,
        }
    }
}

/// How long a thread was on a processor from each moment to the next.
fn between(timeline: &Timeline, slot: usize, moments: &[Piece]) -> Vec<u64> {
    let mut sums = vec![0u64; moments.len().saturating_sub(1)];
    let mut round = 0;
    for span in timeline.spans_of(slot) {
        if span.state != State::Cpu {
            continue;
        }
        while round < sums.len() && moments[round + 1].0 <= span.t0 {
            round += 1;
        }
        let lies_in = (round..sums.len()).take_while(|&at| moments[at].0 < span.t1);
        for at in lies_in {
            let (from, until) = (moments[at].0.max(span.t0), moments[at + 1].0.min(span.t1));
            sums[at] = sums[at].saturating_add(until.since(from));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::Waited;
    use super::*;
    use timesink_recording::notation::recording;

    fn arrivals(text: &str, least: usize) -> Vec<Arrivals> {
        let recording = recording(text);
        let timeline = Timeline::of(&recording).expect("spans");
        let waited = Waited::of(&recording, &timeline).expect("waits");
        Arrivals::all(&timeline, &waited, least)
    }

    /// A reader that waits for each piece shows them by itself: how large each is, and what it did with it.
    #[test]
    fn a_reader_that_waits() {
        let found = arrivals(
            "run wall 20ms
            process 1 reader
            thread 1.1 tid 1 reader
            1.1: wait 0..1ms \"pipe read\" in call read bytes 4096 result 100
            | cpu +2ms | wait +1ms \"pipe read\" in call read bytes 4096 result 100 | cpu +3ms | ready +1ms | cpu +1ms
            | wait +1ms \"pipe read\" in call read bytes 4096 result 200 | cpu +5ms",
            2,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].bytes, [Some(100), Some(100), Some(200)]);
        assert_eq!(found[0].cpu_ns, [2_000_000, 4_000_000]);
    }

    /// Where the reader never waits, whoever writes to it does, and is let go on with each piece that is taken; with fewer
    /// than asked for there is nothing.
    #[test]
    fn a_writer_that_is_let_go_on() {
        let text = "run wall 10ms
            process 1 reader
            thread 1.1 tid 1 reader
            process 2 writer
            thread 2.1 tid 2 writer
            1.1: cpu 0..10ms
            2.1: wait 0..2ms \"pipe write\" out bytes 4096 call write by 1.1 result 4096 | cpu +10us
            | wait ..5ms \"pipe write\" out bytes 4096 call write by 1.1 result 4096 | cpu +10us
            | wait ..9ms \"pipe write\" out bytes 4096 call write by 1.1 result 4096 | cpu +10us";
        let found = arrivals(text, 3);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].slot, 0);
        assert_eq!(found[0].bytes, [Some(4096); 3]);
        assert_eq!(found[0].cpu_ns, [3_000_000, 4_000_000]);
        assert_eq!(arrivals(text, 4), []);
    }

    /// What comes from several places is told for each place that it comes from often, and then together.
    #[test]
    fn several_sources() {
        let found = arrivals(
            "run wall 20ms
            process 1 reader
            thread 1.1 tid 1 reader
            1.1: wait 0..1ms \"pipe read\" one call read | cpu +1ms | wait +1ms \"pipe read\" other call read
            | cpu +1ms | wait +1ms \"pipe read\" one call read | cpu +2ms",
            2,
        );
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.mixed, &one.cpu_ns[..]))
            .collect();
        let ms = 1_000_000;
        assert_eq!(told, [(false, &[2 * ms][..]), (true, &[ms, ms][..])]);
        assert_eq!(found[0].bytes, [None, None]);
    }
}
