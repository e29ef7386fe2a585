//! The wall time of a recording, by one rule: from the start of the main thread to its end, as the critical path has it. A recording without one
//! is as long as it lasted.
//!
//! Of a server that was attached to the first thread often does nothing but wait for the others to end (tokio, Java, a master of workers).
//! Its path would be one wait that nobody ended: the thread that ran most stands for it.

use std::collections::HashSet;

use timesink_recording::tables::processes::Process;
use timesink_recording::tables::threads::Thread;
use timesink_recording::{ProcessId, Recording, Result};

/// The first thread of the process that nobody recorded started; of several such processes, the one that was there first. If all that it
/// did was to wait, another thread.
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
    at_work(began_with(root, threads.clone())?, threads)
}

/// The thread that a process began with, or another one of it if all that the first one did was to wait.
pub fn first_thread<'r>(
    process: &Process,
    threads: impl Iterator<Item = &'r Thread> + Clone,
) -> Option<&'r Thread> {
    let own = threads.filter(|thread| thread.process == process.process);
    at_work(began_with(process, own.clone())?, own)
}

/// The thread that a process began with; where that was not recorded, the one that was there first.
fn began_with<'r>(
    process: &Process,
    threads: impl Iterator<Item = &'r Thread> + Clone,
) -> Option<&'r Thread> {
    let own = threads.filter(|thread| thread.process == process.process);
    let leader = own.clone().find(|thread| thread.tid == process.pid);
    leader.or_else(|| own.min_by_key(|thread| (thread.start, thread.thread)))
}

/// This thread; if it waited from before the recording until after it, the one of these that ran most and was there as long.
fn at_work<'r>(first: &'r Thread, threads: impl Iterator<Item = &'r Thread>) -> Option<&'r Thread> {
    if !all_along(first) || first.cpu_ns > 0 || first.ready_ns > 0 {
        return Some(first);
    }
    let busy = threads.filter(|thread| all_along(thread) && thread.cpu_ns > 0);
    busy.min_by_key(|thread| (std::cmp::Reverse(thread.cpu_ns), thread.thread))
        .or(Some(first))
}

/// Whether it was there from before the recording until after it.
pub fn all_along(thread: &Thread) -> bool {
    thread.born_before && thread.alive_at_end
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

    fn main_of(drawn: &str) -> String {
        let drawn = recording(drawn);
        let processes: Vec<Process> = drawn.rows().expect("it reads");
        let threads: Vec<Thread> = drawn.rows().expect("it reads");
        let main = main_thread(processes.iter(), threads.iter());
        main.expect("there is one").name.clone()
    }

    /// Of a server that was attached to, whose first thread waits for the others from before until after the recording, the thread that
    /// ran most is told of; of one whose first thread ran, that one, and of one in which nobody ran.
    #[test]
    fn a_first_thread_that_only_waits_is_not_the_main_one() {
        let server = "process 1 pid 50 server
             thread 1.1 first tid 50 born_before alive_at_end
             thread 1.2 few tid 51 born_before alive_at_end
             thread 1.3 most tid 52 born_before alive_at_end
             thread 1.4 short tid 53 born_before
             1.2: cpu 0..1ms | wait 1ms..10ms poll
             1.3: cpu 0..4ms | wait 4ms..10ms poll
             1.4: cpu 0..9ms\n";
        let waits = format!("{server}1.1: wait 0..10ms condition idle");
        assert_eq!(main_of(&waits), "most");
        let runs = format!("{server}1.1: wait 0..9ms condition idle | cpu 9ms..10ms");
        assert_eq!(main_of(&runs), "first");
        let alone = "process 1 pid 50 server
             thread 1.1 first tid 50 born_before alive_at_end
             1.1: wait 0..10ms condition idle";
        assert_eq!(main_of(alone), "first");
    }

    /// A master that waits for its workers, all of them attached to: the worker that ran most.
    #[test]
    fn a_worker_stands_for_its_idle_master() {
        let drawn = "process 1 pid 50 master start 0
             process 2 pid 60 worker parent 1 start 0
             thread 1.1 master tid 50 born_before alive_at_end
             thread 2.1 worker tid 60 born_before alive_at_end
             1.1: wait 0..10ms signal
             2.1: cpu 0..10ms";
        assert_eq!(main_of(drawn), "worker");
    }
}
