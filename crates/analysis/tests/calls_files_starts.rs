//! Calls, files and starts on small recordings drawn as text.

use timesink_analysis::facts::starts::{arguments, by_executable};
use timesink_analysis::facts::Facts;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::{CallError, Image, Lookup};
use timesink_recording::words::ImageEvent;
use timesink_recording::{Nanos, ProcessId};

fn facts(draft: &Draft) -> Facts {
    Facts::of(&draft.recording()).expect("a drawn recording reads")
}

const READER: &str = "
    process 1 a
    process 2 b parent 1
    thread 1.1 a
    thread 1.2 a
    thread 2.1 b
    object conf file /etc/app.conf
    1.1: cpu 0..10ms
    1.2: cpu 0..10ms
    2.1: cpu 0..10ms
    call 1.1 openat conf count 30 ns 1ms
    call 1.2 openat conf count 20 ns 2ms errors 3 estimated
    call 2.1 openat conf count 1 ns 1ms
    call 1.1 read conf count 30 ns 4ms bytes 3000
    call 2.1 write conf count 1 ns 1us bytes 10
";

/// Calls are summed over the threads of a process, and processes stay apart.
#[test]
fn calls_are_summed_per_process() {
    let mut drawn = draft(READER);
    for (thread, error, count) in [
        ("1.1", "EACCES", 1),
        ("1.2", "ENOENT", 2),
        ("1.1", "ENOENT", 3),
    ] {
        drawn.call_errors.push(CallError {
            thread: drawn.thread(thread),
            call: "openat".to_owned(),
            object: Some(drawn.object("conf")),
            error: error.to_owned(),
            count,
        });
    }
    let calls = facts(&drawn).calls;
    let shown: Vec<_> = calls
        .iter()
        .map(|c| (c.call.as_str(), c.process, c.count, c.ns, c.estimated))
        .collect();
    let (a, b) = (Some(ProcessId(1)), Some(ProcessId(2)));
    let expected = [
        ("read", a, 30, 4_000_000, false),
        ("openat", a, 50, 3_000_000, true),
        ("openat", b, 1, 1_000_000, false),
        ("write", b, 1, 1_000, false),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        calls[1].errnos,
        [("ENOENT".to_owned(), 5), ("EACCES".to_owned(), 1)]
    );
}

/// A file knows how often it was opened and how much of it was read, by whomever.
#[test]
fn files_are_summed_over_processes() {
    let files = facts(&draft(READER)).files;
    assert_eq!(files.len(), 1);
    let file = &files[0];
    assert_eq!(
        (file.opened, file.bytes_read, file.bytes_written),
        (51, 3000, 10)
    );
    assert!(file.estimated);
}

/// Look-ups that found nothing are counted by path; those that found something are not.
#[test]
fn vain_lookups_are_counted_by_path() {
    let mut drawn = draft(READER);
    let mut look = |process, path: &str, error: &str, count| {
        drawn.lookups.push(Lookup {
            process: ProcessId(process),
            call: "stat".to_owned(),
            path: path.to_owned(),
            error: error.to_owned(),
            count,
        });
    };
    look(1, "/a", "ENOENT", 3);
    look(2, "/a", "ENOENT", 4);
    look(2, "/b", "ENOENT", 9);
    look(2, "/a", "", 100);
    let missing = facts(&drawn).missing;
    let shown: Vec<_> = missing
        .iter()
        .map(|m| (m.path.as_str(), m.count, m.processes))
        .collect();
    assert_eq!(shown, [("/b", 9, 1), ("/a", 7, 2)]);
}

/// What fork, exec and tear-down cost is kept per process and summed by executable; a step that
/// was not timed is not taken for one that cost nothing.
#[test]
fn starts_know_their_cost() {
    let mut drawn = draft(
        "process 1 sh executable /bin/sh
         process 2 true parent 1 executable /bin/true arguments \"true --version\"
         process 3 true parent 1 executable /bin/true
         thread 1.1 sh
         thread 2.1 true
         thread 3.1 true
         1.1: cpu 0..10ms
         2.1: cpu 0..1ms
         3.1: cpu 0..1ms",
    );
    let mut step = |process, event, cost_ns, resident_bytes| {
        drawn.images.push(Image {
            process: ProcessId(process),
            thread: None,
            event,
            t: Nanos(0),
            cost_ns,
            resident_bytes,
            executable: String::new(),
            arguments: String::new(),
        });
    };
    step(2, ImageEvent::Fork, Some(900), 2_000);
    step(2, ImageEvent::Exec, Some(500), 2_000);
    step(2, ImageEvent::Exit, Some(100), 700);
    step(3, ImageEvent::Vfork, None, 3_000);
    step(3, ImageEvent::Exec, Some(300), 3_000);
    let facts = facts(&drawn);
    assert_eq!(facts.starts[1].cost_ns(), 1500);
    assert_eq!(facts.starts[1].arguments, ["true", "--version"]);
    assert!(facts.starts[2].by_vfork);
    let kin = by_executable(&facts.starts);
    assert_eq!(kin[0].executable, "/bin/true");
    assert_eq!(
        (kin[0].fork, kin[0].exec, kin[0].exit),
        ((1, 900), (2, 800), (1, 100))
    );
    assert_eq!(kin[0].resident_at_fork, 3_000);
}

/// Arguments come apart at NUL; a last NUL makes no empty argument, an empty one in between stays.
#[test]
fn arguments_come_apart() {
    assert_eq!(arguments(""), Vec::<String>::new());
    assert_eq!(arguments("a\0\0b\0"), ["a", "", "b"]);
}
