//! Recordings drawn for the tests of presentation.

use timesink_analysis::facts::Facts;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::{CallError, Image, Lookup, Loss, Probe, Wait};
use timesink_recording::words::{Detail, ImageEvent, LossKind};
use timesink_recording::{Nanos, ProcessId};

use super::Report;

/// One slow import that flushes for every row, and two helpers.
pub(super) fn import() -> Draft {
    let mut drawn = draft(
        "run wall 14.21s exit 0 command ./nightly-import data.txt
         process 1 pid 800 nightly-import executable /opt/etl/nightly-import
         thread 1.1 tid 800 nightly-import samples_user 812 samples_kernel 581 tracer_estimated 40ms kernel_cpu 983ms kernel_ready 91ms
         thread 1.2 tid 801 writer samples_user 3 samples_kernel 2
         thread 1.3 tid 802 stats
         object rows.db file rows.db
         1.1: cpu 0..980ms tracer 70ms | wait ..14.06s flush rows.db by block device
            | ready ..14.13s preempted occupant outsider 812 50ms occupant 1.2 12ms
            | ready ..14.15s | wait ..14.17s sleep | wait ..14.18s lock m by 1.2
            | wait ..14.183s disk read data.txt | wait ..14.209s other function do_renameat2
            | wait ..14.2095s pipe read p | cpu ..14.21s exit tear-down
         1.2: cpu 0..620ms | wait ..14.2s condition c | cpu ..14.21s
         1.3: wait 0..14.1s sleep | ready ..14.105s | cpu ..14.21s
         outsider 812 backup
         call 1.1 fdatasync rows.db count 1204332 ns 13.08s seen 1204332
         call 1.1 openat data.txt count 1204 ns 21ms
         call 1.1 read data.txt count 1204 ns 44ms bytes 120400000
         call 1.1 write rows.db count 1204332 ns 320ms bytes 120433200 errors 2
         call 1.2 futex count 32 ns 13.58s",
    );
    drawn.call_errors.push(CallError {
        thread: drawn.thread("1.1"),
        call: "write".to_owned(),
        object: Some(drawn.object("rows.db")),
        error: "EINTR".to_owned(),
        count: 2,
    });
    let (waiting, writer) = (drawn.thread("1.1"), drawn.thread("1.2"));
    drawn.waits.push(Wait {
        thread: waiting,
        t0: Nanos(14_170_000_000),
        t1: Nanos(14_180_000_000),
        detail: Detail::Lock,
        object: Some(drawn.object("m")),
        call: "futex".to_owned(),
        function: "futex_wait".to_owned(),
        asked_ns: None,
        expired: None,
        bytes: None,
        flags: None,
        result: None,
        woken_fd: None,
        woken_object: None,
        owner: Some(writer),
    });
    let data = drawn.object("data.txt");
    if let Some(object) = drawn
        .objects
        .iter_mut()
        .find(|object| object.object == data)
    {
        object.size = Some(100_000);
    }
    drawn.probes.push(probe("scheduling", true, "", ""));
    drawn
}

fn probe(name: &str, attached: bool, reason: &str, without: &str) -> Probe {
    Probe {
        probe: name.to_owned(),
        attached,
        reason: reason.to_owned(),
        without: without.to_owned(),
    }
}

/// A shell that starts a program for every line.
pub(super) fn forks() -> Draft {
    let mut text = String::from(
        "run wall 1.2s exit 1 call_timing_share 0.25 command /bin/sh count.sh
         process 1 pid 900 sh executable /usr/bin/dash
         thread 1.1 tid 900 sh samples_user 40 samples_kernel 160\n",
    );
    for n in 2..=120 {
        let (name, path) = if n % 40 == 0 {
            ("grep", "/usr/bin/grep")
        } else {
            ("true", "/usr/bin/true")
        };
        let tid = 900 + n;
        text += &format!(
            "process {n} pid {tid} parent 1 {name} executable {path}
             thread {n}.1 tid {tid} {name} parent 1.1
             object child{n} child child {tid}\n"
        );
    }
    text += "1.1: cpu 0..1us";
    let mut now = 1;
    for n in 2..=120 {
        text += &format!(
            " | cpu +{}us | wait +{}us child child{n} by {n}.1",
            1200 + n,
            8000 + n
        );
        now += 9200 + 2 * n;
    }
    text += &format!(" | cpu {now}us..1.2s\n");
    for n in 2..=120 {
        let from = 10_000 * n;
        text += &format!(
            "{n}.1: ready {from}us..{}us started | cpu ..{}us | cpu ..{}us exit tear-down\n",
            from + 90,
            from + 700,
            from + 810
        );
    }
    text += "call 1.1 clone count 119 ns 130ms estimated seen 30\n";
    text += "call 1.1 wait4 count 238 ns 960ms estimated seen 60 errors 119\n";
    let mut drawn = draft(&text);
    for n in 2..=120 {
        add_start(&mut drawn, n);
    }
    drawn
}

/// What process `n` cost to start, and the paths it looked for.
fn add_start(drawn: &mut Draft, n: u32) {
    let child = drawn.object(&format!("child{n}"));
    if let Some(object) = drawn
        .objects
        .iter_mut()
        .find(|object| object.object == child)
    {
        object.inode = Some(900 + u64::from(n));
    }
    let steps = [
        (ImageEvent::Fork, 210_000, 2_100_000_000),
        (ImageEvent::Exec, 440_000, 1_000_000),
        (ImageEvent::Exit, 110_000, 1_000_000),
    ];
    for (event, cost_ns, resident_bytes) in steps {
        drawn.images.push(Image {
            process: ProcessId(n),
            thread: None,
            event,
            t: Nanos(0),
            cost_ns: Some(cost_ns),
            resident_bytes,
            executable: String::new(),
            arguments: String::new(),
        });
    }
    drawn.lookups.push(Lookup {
        process: ProcessId(n),
        call: "openat".to_owned(),
        path: format!("/usr/local/lib/lib{}.so", n % 3),
        error: "ENOENT".to_owned(),
        count: 2,
    });
}

/// Everything that can go wrong with a recording, at once.
pub(super) fn weather() -> Draft {
    let mut drawn = draft(
        "run wall 10s signal 9 command ./server
         process 1 pid 700 server executable /srv/server
         thread 1.1 tid 700 server born_before alive_at_end cpu 3s wait 6s tracer 1s kernel_life 10.2s kernel_cpu 4.1s
         thread 1.2 tid 701 acceptor born_before end_lost kernel_life 0
         1.1: cpu 0..2s | lost ..5s | wait ..7s network receive 10.0.0.7:5432
            | wait 7.5s..8s other function skb_wait_for_more_packets | ready 7.9s..9s throttled | cpu ..10s
         1.2: wait 0..4s network accept 0.0.0.0:80",
    );
    drawn.about.mended = Some("its last second is missing".to_owned());
    let loss = |kind, count, note: &str| Loss {
        kind,
        count,
        note: note.to_owned(),
    };
    drawn.losses.push(loss(
        LossKind::Turns,
        1204,
        "a ring was full; some spans are not known",
    ));
    drawn.losses.push(loss(LossKind::CutShort, 1, ""));
    drawn.probes.push(probe(
        "block",
        false,
        "EPERM",
        "which device a wait was for",
    ));
    drawn
}

/// Names that try to take over the terminal.
pub(super) fn hostile() -> Draft {
    let mut drawn = draft(
        "run wall 1s exit 0 command x
         process 1 pid 1 x executable /x
         process 2 pid 2 x parent 1 executable /x
         thread 1.1 tid 1 x samples_user 30
         thread 1.2 tid 3 x
         thread 2.1 tid 2 x
         1.1: cpu 0..500ms | wait ..900ms flush f | wait ..950ms other function g
            | ready ..1s occupant outsider 9 40ms
         1.2: cpu 0..1s
         2.1: cpu 0..1s
         call 1.1 fsync f count 100 ns 400ms errors 1
         call 1.1 openat f count 100 ns 400ms
         outsider 9 x",
    );
    let evil = "\u{1b}[2J\r\n\u{9b}31m\u{202e}gpj.exe\u{7}";
    drawn.about.command = vec![format!("/{evil}")];
    drawn.about.exit_code = Some(3);
    drawn.about.mended = Some(evil.to_owned());
    drawn.processes.iter_mut().for_each(|row| {
        row.name = evil.to_owned();
        row.executable = format!("/bin/{evil}");
    });
    drawn
        .threads
        .iter_mut()
        .for_each(|row| row.name = evil.to_owned());
    drawn
        .objects
        .iter_mut()
        .for_each(|row| row.label = evil.to_owned());
    drawn
        .outsiders
        .iter_mut()
        .for_each(|row| row.name = evil.to_owned());
    drawn
        .waits
        .iter_mut()
        .filter(|row| !row.function.is_empty())
        .for_each(|row| {
            row.function = evil.to_owned();
        });
    drawn
        .calls
        .iter_mut()
        .for_each(|row| row.call = format!("{}{evil}", row.call));
    drawn.losses.push(Loss {
        kind: LossKind::Calls,
        count: 1,
        note: evil.to_owned(),
    });
    drawn.probes.push(probe(evil, false, evil, evil));
    drawn.call_errors.push(CallError {
        thread: drawn.thread("1.1"),
        call: drawn.calls[0].call.clone(),
        object: drawn.calls[0].object,
        error: evil.to_owned(),
        count: 1,
    });
    drawn.lookups.push(Lookup {
        process: ProcessId(1),
        call: "stat".to_owned(),
        path: evil.to_owned(),
        error: "ENOENT".to_owned(),
        count: 500,
    });
    drawn
}

/// Shows a drawn recording to whoever presents it.
pub(super) fn present<T>(drawn: &Draft, path: &str, show: impl FnOnce(&Report) -> T) -> T {
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    show(&Report {
        path,
        size_bytes: 1_803_112,
        about: recording.about(),
        facts: &facts,
    })
}
