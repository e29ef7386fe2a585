//! What timing a call and noting a switch cost on this machine: two small processes of ours make a
//! cheap call many times and hand a byte to and fro, before the probes are attached and again while
//! they are tracked. Their own records are left out of the recording.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

use crate::clock::CpuClock;
use crate::memory_file;
use crate::spool::EventCosts;

/// Calls, or round trips, in one batch, and batches: the cheapest counts, the others were disturbed.
const CALLS: u32 = 200;
const ROUND_TRIPS: u32 = 60;
const BATCHES: u32 = 5;

pub struct Calibrator {
    pid: libc::pid_t,
    partner: u32,
    go: File,
    answer: File,
}

/// The two ends of a pipe: to read from, to write to.
fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors; both are new and nobody else's.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((
            OwnedFd::from_raw_fd(ends[0]).into(),
            OwnedFd::from_raw_fd(ends[1]).into(),
        ))
    }
}

/// Nanoseconds of CPU time that one turn of `work` takes of these processes, in the cheapest of a few batches. Where others keep
/// the processors busy too, somebody is between two switches in each batch, and the wall time says nothing.
fn cheapest(turns: u32, clocks: &[&CpuClock], mut work: impl FnMut()) -> f64 {
    let taken = || clocks.iter().map(|clock| clock.now_ns()).sum::<u64>() as f64;
    let mut best = f64::MAX;
    for _ in 0..BATCHES {
        let start = taken();
        for _ in 0..turns {
            work();
        }
        best = best.min((taken() - start) / f64::from(turns));
    }
    best
}

/// The one who hands the byte back, until the other is gone.
struct Partner {
    pid: libc::pid_t,
    to: File,
    from: File,
}

impl Partner {
    fn start() -> io::Result<Partner> {
        let (mut their_from, to) = pipe()?;
        let (from, mut their_to) = pipe()?;
        stay_here();
        // SAFETY: one thread; the child makes system calls only.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((to, from));
                let mut byte = [0];
                while their_from.read_exact(&mut byte).is_ok() && their_to.write_all(&byte).is_ok()
                {
                }
                // SAFETY: ends the child without running what belongs to the parent.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Partner { pid, to, from }),
        }
    }

    fn round_trip(&mut self) {
        let mut byte = [0];
        // Should the partner be gone, the figure is wrong and no more than that.
        let _ = self.to.write_all(&byte);
        let _ = self.from.read_exact(&mut byte);
    }
}

/// Stay on this processor: two that hand over on one processor switch each time.
fn stay_here() {
    // SAFETY: a set of processors is plain bits; a refusal is as good as none.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// A file that only we have. One that the program may use as well, such as /dev/zero, would be told of
/// once, while it is ours, be left out with all that is ours, and have no name in the recording.
fn empty_file() -> io::Result<File> {
    memory_file::create(c"timesink", 0)
}

/// The child: what a call and a round trip take, bare at once, and again when told to.
fn child(mut go: File, mut answer: File) -> io::Result<()> {
    let mut nothing = empty_file()?;
    let mut partner = Partner::start()?;
    answer.write_all(&partner.pid.to_ne_bytes())?;
    let ours = CpuClock::OWN;
    let theirs = CpuClock::of_process(partner.pid).unwrap_or(CpuClock::OWN);
    let mut measure = || {
        let mut byte = [0];
        let call = cheapest(CALLS, &[&ours], || {
            let _ = nothing.read(&mut byte);
        });
        let trip = cheapest(ROUND_TRIPS, &[&ours, &theirs], || partner.round_trip());
        (call, trip)
    };
    let (call, trip) = measure();
    // That the bare cost is known.
    answer.write_all(&[1])?;
    go.read_exact(&mut [0])?;
    let (timed_call, timed_trip) = measure();
    let call_ns = (timed_call - call).max(0.0);
    // A round trip is four calls and two switches.
    let switch_ns = ((timed_trip - trip - 4.0 * call_ns) / 2.0).max(0.0);
    answer.write_all(&call_ns.to_ne_bytes())?;
    answer.write_all(&switch_ns.to_ne_bytes())
}

impl Calibrator {
    /// Start it while nothing is attached yet: it measures the bare cost at once.
    pub fn start() -> io::Result<Calibrator> {
        let (go_read, go) = pipe()?;
        let (answer, answer_write) = pipe()?;
        // SAFETY: we have one thread; the child makes system calls and arithmetic only.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((go, answer));
                let _ = child(go_read, answer_write);
                // SAFETY: ends the child without running what belongs to the parent.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Calibrator {
                pid,
                partner: 0,
                go,
                answer,
            }),
        }
    }

    /// The two processes.
    pub fn pids(&self) -> [u32; 2] {
        [self.pid as u32, self.partner]
    }

    /// Wait until the bare cost is known: attach only after that.
    pub fn bare_done(&mut self) {
        let mut pid = [0; 4];
        if self.answer.read_exact(&mut pid).is_ok() && self.answer.read_exact(&mut [0]).is_ok() {
            self.partner = u32::from_ne_bytes(pid);
        }
    }

    /// Measure again, now with everything attached.
    pub fn costs(mut self) -> EventCosts {
        let mut told = [0; 16];
        if self.go.write_all(&[1]).is_err() || self.answer.read_exact(&mut told).is_err() {
            return EventCosts::default();
        }
        let figure = |at: usize| {
            let bytes = told[at..at + 8].try_into().unwrap_or_default();
            Some(f64::from_ne_bytes(bytes))
                .filter(|f| f.is_finite())
                .unwrap_or(0.0)
        };
        EventCosts {
            call_ns: figure(0),
            return_ns: 0.0,
            switch_ns: figure(8),
            start_ns: 0,
        }
    }
}

impl Drop for Calibrator {
    fn drop(&mut self) {
        // The partner ends when its pipe does. SAFETY: our own child, which ends by itself or by this.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// On a machine whose processors were all taken a switch was measured as 6.9 us, where it took 1: who waits for a
    /// processor, or sleeps, costs nothing.
    #[test]
    fn what_others_take_is_no_cost() {
        let ours = CpuClock::THREAD;
        let slept = Duration::from_millis(20);
        let taken = cheapest(1, &[&ours], || std::thread::sleep(slept));
        assert!(taken < slept.as_nanos() as f64 / 2.0, "{taken} ns");
    }
}
