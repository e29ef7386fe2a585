//! The wall time of a recording, by one rule: from the start of the main thread to its end, as the critical path has it. A recording without one
//! is as long as it lasted.

use std::collections::HashSet;

use timesink_recording::tables::processes::Process;
use timesink_recording::tables::threads::Thread;
use timesink_recording::{ProcessId, Recording, Result};

/// The first thread of the process that nobody recorded started; of several such processes, the one that was there first.
pub fn main_thread<'r>(
    processes: impl Iterator<Item = &'r Process> + Clone,
    threads: impl Iterator<Item = &'r Thread> + Clone,
) -> Option<&'r Thread> {
    let known: HashSet<ProcessId> = processes.clone().map(|process| process.process).collect();
    let with_threads: HashSet<ProcessId> = threads.clone().map(|thread| thread.process).collect();
    let root = processes
        .filter(|process| !process.parent.is_some_and(|parent| known.contains(&parent)))
        .filter(|process| with_threads.contains(&process.process))
        .min_by_key(|process| (process.start, process.process))?;
    first_thread(root, threads)
}

/// The thread that a process began with; where that was not recorded, the one that was there first.
pub fn first_thread<'r>(
    process: &Process,
    threads: impl Iterator<Item = &'r Thread> + Clone,
) -> Option<&'r Thread> {
    let own = threads.filter(|thread| thread.process == process.process);
    let leader = own.clone().find(|thread| thread.tid == process.pid);
    leader.or_else(|| own.min_by_key(|thread| (thread.start, thread.thread)))
}

/// How long it took.
pub fn wall_ns(recording: &Recording) -> Result<u64> {
    let processes: Vec<Process> = recording.rows()?;
    let threads: Vec<Thread> = recording.rows()?;
    let main = main_thread(processes.iter(), threads.iter());
    Ok(match main {
        Some(main) => main.end.since(main.start),
        None => recording.about().wall_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use crate::timeline::Timeline;
    use timesink_recording::notation::recording;

    /// It is the length of the critical path, also where a child outlives the program.
    #[test]
    fn it_is_as_long_as_the_path() {
        let drawn = recording(
            "process 1 main
             process 2 child parent 1
             thread 1.1 main
             thread 2.2 child
             1.1: cpu 0..10ms
             2.2: cpu 5ms..50ms",
        );
        let timeline = Timeline::of(&drawn).expect("it reads");
        let path = Path::of_thread(&timeline, 0);
        assert_eq!(wall_ns(&drawn).expect("it reads"), path.wall_ns());
        assert_eq!(path.wall_ns(), 10_000_000);
        assert!(drawn.about().wall_ns > path.wall_ns());
    }
}
