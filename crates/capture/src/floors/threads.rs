//! Threads: from one to another on the same processor, and a lock handed to one that sleeps on another processor.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use timesink_recording::floors::Floors;

use super::pinned::{processors, Pinned};
use super::{Kind, Lengths};

/// Switches there and back that are timed together, and how often in a round.
const TOGETHER: usize = 100;
const SWITCHES: usize = 6;
/// Locks handed over in a round.
const HANDED: usize = 30;
/// Who waits for a lock sleeps after this.
const ASLEEP: Duration = Duration::from_micros(150);

pub(super) struct Threads {
    switch: Lengths,
    hand_over: Lengths,
}

impl Threads {
    pub(super) fn new(left_out: &mut Vec<String>) -> Threads {
        if processors().1.is_none() {
            left_out.push("lock hand-over: only one CPU".to_owned());
        }
        Threads {
            switch: Lengths::default(),
            hand_over: Lengths::default(),
        }
    }
}

impl Kind for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn round(&mut self) -> io::Result<()> {
        let (first, second) = processors();
        let _here = Pinned::to(first);
        switches(first, &mut self.switch)?;
        match second {
            Some(_) => hand_over(second, &mut self.hand_over),
            None => Ok(()),
        }
    }

    fn tell(&mut self, floors: &mut Floors) {
        floors.switch = self.switch.figure();
        floors.hand_over = self.hand_over.figure();
    }
}

/// A thread on a processor, which ends when it is told to.
fn beside(
    processor: Option<usize>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(move || {
        let _there = Pinned::to(processor);
        work();
    })
}

/// Whose turn it is, of two.
struct Turn {
    others: AtomicBool,
    over: AtomicBool,
}

impl Turn {
    fn wait(&self, others: bool) {
        while self.others.load(Ordering::Acquire) != others {
            thread::park();
        }
    }

    fn give(&self, others: bool, to: &Thread) {
        self.others.store(others, Ordering::Release);
        to.unpark();
    }
}

fn switches(processor: Option<usize>, lengths: &mut Lengths) -> io::Result<()> {
    let turn = Arc::new(Turn {
        others: AtomicBool::new(false),
        over: AtomicBool::new(false),
    });
    let (theirs, us) = (Arc::clone(&turn), thread::current());
    let other = beside(processor, move || loop {
        theirs.wait(true);
        let over = theirs.over.load(Ordering::Acquire);
        theirs.give(false, &us);
        if over {
            return;
        }
    })?;
    let there_and_back = || {
        turn.give(true, other.thread());
        turn.wait(false);
    };
    there_and_back();
    for _ in 0..SWITCHES {
        lengths.time(2 * TOGETHER, || {
            (0..TOGETHER).for_each(|_| there_and_back())
        });
    }
    turn.over.store(true, Ordering::Release);
    there_and_back();
    // It does nothing that could panic.
    let _ = other.join();
    Ok(())
}

/// What both sides of a lock know.
struct Handed {
    lock: Mutex<()>,
    /// How often it was to be handed over, and how often it was.
    wanted: AtomicU64,
    had: AtomicU64,
    /// When the other one had it, since the beginning.
    had_at_ns: AtomicU64,
    begun: Instant,
}

fn hand_over(processor: Option<usize>, lengths: &mut Lengths) -> io::Result<()> {
    let handed = Arc::new(Handed {
        lock: Mutex::new(()),
        wanted: AtomicU64::new(0),
        had: AtomicU64::new(0),
        had_at_ns: AtomicU64::new(0),
        begun: Instant::now(),
    });
    let theirs = Arc::clone(&handed);
    let other = beside(processor, move || {
        for number in 1..=HANDED as u64 {
            while theirs.wanted.load(Ordering::Acquire) < number {
                std::hint::spin_loop();
            }
            let held = theirs.lock.lock();
            let now = theirs.begun.elapsed().as_nanos() as u64;
            drop(held);
            theirs.had_at_ns.store(now, Ordering::Release);
            theirs.had.store(number, Ordering::Release);
        }
    })?;
    for number in 1..=HANDED as u64 {
        let held = handed.lock.lock().unwrap_or_else(PoisonError::into_inner);
        handed.wanted.store(number, Ordering::Release);
        let begun = Instant::now();
        while begun.elapsed() < ASLEEP {
            std::hint::spin_loop();
        }
        let let_go = handed.begun.elapsed().as_nanos() as u64;
        drop(held);
        while handed.had.load(Ordering::Acquire) < number {
            std::hint::spin_loop();
        }
        let had = handed.had_at_ns.load(Ordering::Acquire);
        lengths.add(Duration::from_nanos(had.saturating_sub(let_go)), 1);
    }
    // It does nothing that could panic.
    let _ = other.join();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both end, and tell as many lengths as they were asked for.
    #[test]
    fn threads_take_turns_and_end() {
        let (first, second) = processors();
        let mut lengths = Lengths::default();
        switches(first, &mut lengths).expect("switches");
        assert_eq!(lengths.0.len(), SWITCHES);
        let mut lengths = Lengths::default();
        hand_over(second, &mut lengths).expect("a lock");
        assert_eq!(lengths.0.len(), HANDED);
    }
}
