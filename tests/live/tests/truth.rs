//! A program whose waits are known by construction is recorded as it was, by timesink's own account and by the program's.

use timesink_live::{attempts, program, Folder, Recorded, Slack, Truth};
use timesink_recording::tables::spans::Span;
use timesink_recording::tables::threads::Thread;
use timesink_recording::words::Detail;

/// Not off by more than 2 % and 1 ms.
const SLACK: Slack = Slack {
    share: 0.02,
    ns: 1e6,
};

fn record(options: &[&str]) -> Truth {
    let folder = Folder::new("truth");
    let (out, data) = (folder.join("truth.json"), folder.join("rows.data"));
    let truth = program("truth");
    let command = [&truth, &out, &data].map(|p| p.to_str().expect("a path"));
    let recorded = Recorded::run(&folder.join("t.timesink"), options, &command, 0);
    let truth = std::fs::read_to_string(&out).expect("the truth");
    Truth::of(recorded, &truth, SLACK)
}

/// Each kind of wait is recorded within 2 % or 1 ms of what the program itself measured, in the
/// right thread, about the right thing, and ended by the right one. A busy machine disturbs that, so
/// the best of some recordings counts.
#[test]
fn waits_that_are_known_by_construction() {
    attempts(|| record(&["-q"]).check(false));
}

/// The same with every call timed: then no particular of a wait is missing either.
#[test]
fn with_every_call_timed() {
    attempts(|| record(&["-q", "--exact"]).check(true));
}

/// A disk that interrupts a thread in user space is served on that thread's own stack: it was not the thread that woke who waited
/// for the disk. On each processor one computes whenever nobody else does.
#[test]
fn who_is_interrupted_by_a_disk_wakes_nobody() {
    let folder = Folder::new("interrupted");
    let slow = program("rules/flush-per-record");
    let spin = "nice -n 19 sh -c 'while :; do :; done' & spinning=\"$spinning $!\";";
    let processors = std::thread::available_parallelism().expect("it is known");
    let script = format!(
        "cd {}; {} {} fires; kill $spinning",
        folder.path().display(),
        spin.repeat(processors.get()),
        slow.display()
    );
    let command = ["sh", "-c", &script];
    let recorded = Recorded::run(&folder.join("t.timesink"), &["-q"], &command, 0);
    let threads = recorded.rows::<Thread>();
    let spans = recorded.rows::<Span>();
    let flushes: Vec<_> = spans.iter().filter(|s| s.detail == Detail::Flush).collect();
    assert!(flushes.len() > 1000, "{} waits for a flush", flushes.len());
    let by_those = flushes.iter().filter(|span| {
        let waker = span.waker.map(|waker| &threads[waker.index()]);
        waker.is_some_and(|waker| waker.name == "sh")
    });
    assert_eq!(by_those.count(), 0, "of {}", flushes.len());
}
