//! The notation means what its documentation says, and its faults name their line.

use timesink_recording::notation::{draft, recording};
use timesink_recording::tables::*;
use timesink_recording::words::*;
use timesink_recording::{Nanos, ProcessId, ThreadId};

const IMPORT: &str = r#"
    run threshold 100us exit 3 command import rows.csv   # a comment
    process 1 pid 100 import
    process 2 parent 1 helper arguments "helper --fast"
    thread 1.1 tid 100 main kernel_cpu 0.98s
    thread 2.1 parent 1.1 born_before

    1.1: cpu 0..570us tracer 20us | wait 570us..13.65ms flush rows.db by block device call fsync
       | ready ..13.67ms preempted on 1 occupant 2.1 15us occupant outsider 7 5us
    2.1: wait +1ms network receive "10.0.0.1:80" by 1.1 by network | wait +99us pipe read by 1.1
    1.1: lost +1us | cpu +1ms exit tear-down
    2.1: wait +50us sleep asked 50us expired
    call 2.1 read "10.0.0.1:80" count 5 ns 1ms bytes 100 errors 1 seen 4 estimated
    outsider 7 kworker
"#;

/// Spans follow each other where no start is given, and carry details, objects and wakers.
#[test]
fn spans_are_as_written() {
    let draft = draft(IMPORT);
    let (main, helper) = (draft.thread("1.1"), draft.thread("2.1"));
    assert_eq!((main, helper), (ThreadId(1), ThreadId(2)));
    let times: Vec<_> = draft
        .spans
        .iter()
        .map(|s| (s.thread, s.t0.0, s.t1.0))
        .collect();
    let wanted = [
        (main, 0, 570_000),
        (main, 570_000, 13_650_000),
        (main, 13_650_000, 13_670_000),
        (main, 13_670_000, 13_671_000),
        (main, 13_671_000, 14_671_000),
        (helper, 0, 1_000_000),
        (helper, 1_000_000, 1_099_000),
        (helper, 1_099_000, 1_149_000),
    ];
    assert_eq!(times, wanted);
    let flush = &draft.spans[1];
    assert_eq!((flush.state, flush.detail), (State::Wait, Detail::Flush));
    assert_eq!(flush.object, Some(draft.object("rows.db")));
    assert_eq!(flush.wake_source, Some(WakeSource::Block));
    let ready = &draft.spans[2];
    assert_eq!((ready.detail, ready.processor), (Detail::Preempted, 1));
    assert_eq!(draft.spans[3].detail, Detail::Unknown);
    assert_eq!(draft.spans[4].detail, Detail::Exit);
    let receive = &draft.spans[5];
    assert_eq!(
        (receive.waker, receive.wake_source),
        (Some(main), Some(WakeSource::Network))
    );
    let by_thread = &draft.spans[6];
    assert_eq!(
        (by_thread.waker, by_thread.wake_source),
        (Some(main), Some(WakeSource::Thread))
    );
}

/// Other tables follow: waits that are long or described, occupants, objects of a fitting kind.
#[test]
fn the_other_tables_follow() {
    let recording = recording(IMPORT);
    let waits = recording.rows::<Wait>().expect("waits");
    let calls: Vec<_> = waits
        .iter()
        .map(|w| (w.detail, w.call.as_str(), w.expired))
        .collect();
    let wanted = [
        (Detail::Flush, "fsync", None),
        (Detail::NetworkReceive, "", None),
        (Detail::Sleep, "", Some(true)),
    ];
    assert_eq!(calls, wanted);
    assert_eq!(recording.rows::<Occupant>().expect("occupants").len(), 2);
    let objects = recording.rows::<Object>().expect("objects");
    let kinds: Vec<_> = objects.iter().map(|o| (o.kind, o.label.as_str())).collect();
    assert_eq!(
        kinds,
        [
            (ObjectKind::File, "rows.db"),
            (ObjectKind::TcpSocket, "10.0.0.1:80")
        ]
    );
    let call = &recording.rows::<Call>().expect("calls")[0];
    assert_eq!(
        (call.count, call.ns, call.seen, call.estimated),
        (5, 1_000_000, 4, true)
    );
    let processes = recording.rows::<Process>().expect("processes");
    assert_eq!(processes[1].arguments, "helper\0--fast");
    assert_eq!(
        (processes[0].pid, processes[1].parent),
        (100, Some(ProcessId(1)))
    );
    let about = recording.about();
    assert_eq!(
        (about.wall_ns, about.processors, about.exit_code),
        (14_671_000, 2, Some(3))
    );
    assert_eq!(about.command, ["import", "rows.csv"]);
}

/// Sums are those of the spans, except those that are given.
#[test]
fn sums_are_computed_unless_given() {
    let draft = draft(IMPORT);
    let main = &draft.threads[0];
    assert_eq!((main.cpu_ns, main.tracer_ns), (550_000 + 1_000_000, 20_000));
    assert_eq!((main.wait_ns, main.ready_ns), (13_080_000, 20_000));
    assert_eq!(main.kernel_cpu_ns, 980_000_000);
    assert_eq!(
        (main.kernel_ready_ns, main.kernel_life_ns),
        (20_000, 14_671_000)
    );
    assert_eq!((main.start, main.end), (Nanos::ZERO, Nanos(14_671_000)));
    assert_eq!((main.name.as_str(), main.tid), ("main", 100));
    assert_eq!((main.switches_voluntary, main.switches_involuntary), (1, 1));
    let helper = &draft.threads[1];
    assert_eq!((helper.name.as_str(), helper.born_before), ("helper", true));
}

const CODE: &str = r#"
    process 1 a
    thread 1.1 a
    frame crc32 module /usr/lib/libz.so.1 file crc32.c line 12 offset 0x40
    frame crc32@14 function crc32 module /usr/lib/libz.so.1 file crc32.c line 14 inlined
    frame run language python module /opt/a.py file a.py line 3
    frame vfs_read language kernel module kernel
    frame ?1 function "" module /usr/lib/libz.so.1 offset 0x99
    1.1: cpu 0..9ms | wait ..12ms flush f call fsync stack "main;run;fsync" waker_stack "...;vfs_read"
       | wait +1us sleep stack "main;run;fsync"
    sample 1.1 1ms weight 2ms stack "main;run;crc32"
    sample 1.1 2ms kernel on 3 address 0xffffffff81000000
    sample 1.1 0 weight 500us stack "main;run;?1;crc32@14"
"#;

/// Stacks share what they have in common, frames and modules are as they were described, and
/// samples count.
#[test]
fn code_is_as_written() {
    let draft = draft(CODE);
    let names: Vec<_> = draft.frames.iter().map(|f| f.function.as_str()).collect();
    assert_eq!(
        names,
        ["crc32", "crc32", "run", "vfs_read", "", "main", "fsync"]
    );
    let kinds: Vec<_> = draft
        .modules
        .iter()
        .map(|m| (m.kind, m.path.as_str()))
        .collect();
    let wanted = [
        (ModuleKind::File, "/usr/lib/libz.so.1"),
        (ModuleKind::Script, "/opt/a.py"),
        (ModuleKind::Kernel, "kernel"),
    ];
    assert_eq!(kinds, wanted);
    let inlined = &draft.frames[1];
    assert_eq!((inlined.line, inlined.inlined), (Some(14), true));
    // main, run, fsync; vfs_read alone; crc32; ?1, crc32@14.
    assert_eq!(draft.stacks.len(), 7);
    let complete: Vec<_> = draft.stacks.iter().map(|s| s.complete).collect();
    assert_eq!(complete, [true, true, true, false, true, true, true]);
    assert_eq!(draft.stacks[4].parent, Some(draft.stacks[1].stack));
    assert_eq!(draft.waits.len(), 2, "a stack makes a row of a short wait");
    assert_eq!(draft.waits[1].stack, Some(draft.stacks[2].stack));
    let weights: Vec<_> = draft.samples.iter().map(|s| (s.t.0, s.weight_ns)).collect();
    let wanted = [
        (0, Some(500_000)),
        (1_000_000, Some(2_000_000)),
        (2_000_000, None),
    ];
    assert_eq!(weights, wanted);
    let thread = &draft.threads[0];
    assert_eq!((thread.samples_user, thread.samples_kernel), (2, 1));
}

/// What a line says wrong is told with the line's number.
#[test]
fn faults_name_their_line() {
    let start = "process 1 a\nthread 1.1\n";
    for (text, wanted) in [
        ("1.1: run 0..1s", "line 3: \"run\" is not a state"),
        (
            "\n1.2: cpu 0..1s",
            "line 4: neither a statement nor a declared thread",
        ),
        ("1.1: cpu 0..1", "line 3: \"1\" is not a time"),
        (
            "1.1: cpu 2s..1s",
            "line 3: \"2s..1s\" ends before it begins",
        ),
        (
            "1.1: cpu 5s",
            "line 3: \"5s\" is neither FROM..TO nor +LENGTH",
        ),
        (
            "1.1: wait 0..1s lock mutex by 1.9",
            "line 3: thread \"1.9\" is not declared",
        ),
        (
            "1.1: wait 0..1s lock mutex nonsense",
            "line 3: \"nonsense\" is not known of a span",
        ),
        ("thread 2.1 x", "line 3: process 2 is not declared"),
        ("thread 1.1 x", "line 3: thread 1.1 is declared twice"),
        (
            "1.1: cpu 0..1s on",
            "line 3: something is missing at the end",
        ),
    ] {
        let panic = std::panic::catch_unwind(|| draft(&format!("{start}{text}")))
            .expect_err("it is refused");
        let said = panic.downcast_ref::<String>().expect("a text");
        assert!(said.contains(wanted), "{said}");
    }
}
