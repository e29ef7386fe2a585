//! Recordings drawn for the tests of presentation.

use std::collections::BTreeSet;
use std::path::Path;

use timesink_analysis::facts::Facts;
use timesink_analysis::operations::Wanted;
use timesink_analysis::outlook::Patience;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_findings::engine::NotAsked;
use timesink_recording::floors::{
    DiskFloors, Figure, Floors, FlushFloors, ForBytes, Load, Machine, PeerFloors, StartFloors,
    FLOORS_VERSION,
};
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::{CallError, Fact, Image, Lookup, Loss, Module, Probe, Wait};
use timesink_recording::words::{
    Detail, FactKind, ImageEvent, LossKind, ModuleKind, Moment, SymbolSource,
};
use timesink_recording::{ModuleId, Nanos, ProcessId, Recording};

use timesink_comparison::{Branch, Comparison, Digest, Weights};
use timesink_story::{Loaded, Question, Story};

use super::compared::Compared;
use super::{Report, Shown};
use crate::commands::env;
use crate::commands::read::question;
use crate::settings::Settings;

/// One slow import that flushes for every row, and two helpers.
pub(crate) fn import() -> Draft {
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
        sent_object: None,
        owner: Some(writer),
        stack: None,
        waker_stack: None,
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
    drawn.about.floors = Some(floors());
    drawn
}

/// What a small machine does at best.
pub(crate) fn floors() -> Floors {
    let figure = |ns: f64| Figure::of(vec![ns * 0.97, ns, ns * 1.04]);
    let sized = |bytes, ns| figure(ns).map(|takes| ForBytes { bytes, takes });
    let flushes = |bytes, write, flush, flush_longer| {
        Some(FlushFloors {
            bytes,
            write: figure(write)?,
            flush: figure(flush)?,
            flush_longer: figure(flush_longer)?,
        })
    };
    let small = flushes(512, 610.0, 35_100.0, 59_800.0);
    let large = flushes(1 << 20, 96_000.0, 412_000.0, 470_000.0);
    let peer = |name: &str, address: &str, connect, round_trip, echo: Option<f64>| PeerFloors {
        name: name.to_owned(),
        address: address.to_owned(),
        connect: figure(connect),
        round_trip,
        echo: echo.and_then(figure),
    };
    Floors {
        version: FLOORS_VERSION,
        tool_version: "0.1.0".to_owned(),
        machine: Machine {
            hostname: "etl-1\u{1b}[2J".to_owned(),
            kernel: "6.1.0-18-amd64".to_owned(),
            processor: "AMD EPYC".to_owned(),
            processors: 2,
        },
        measured_unix_ns: 1_780_000_000_000_000_000,
        took_ns: 17_300_000_000,
        load: Load {
            others_pct: 0.8,
            stolen_pct: 0.0,
            short_pct: Some(1.5),
        },
        disks: vec![DiskFloors {
            folder: "/opt/etl".to_owned(),
            mounted_on: "/".to_owned(),
            filesystem: "ext4".to_owned(),
            device: 266_338_304,
            sizes: small.into_iter().chain(large).collect(),
        }],
        peers: vec![
            peer("loopback", "127.0.0.1", 21_000.0, figure(9_400.0), None),
            peer("db:5432", "10.0.0.1", 310_000.0, None, Some(240_000.0)),
        ],
        starts: vec![StartFloors {
            resident_bytes: 10_000_000,
            fork: figure(141_000.0),
            vfork: figure(38_000.0),
            posix_spawn: Figure::of(vec![90_000.0, 130_000.0, 210_000.0]),
        }],
        switch: figure(1_240.0),
        hand_over: figure(11_800.0),
        copies: sized(1 << 20, 40_000.0).into_iter().collect(),
        zeroing: sized(4096, 270.0),
        crc32: sized(64 << 10, 2_800.0),
        hash: sized(64 << 10, 33_000.0),
        left_out: vec!["ICMP echo, loopback: not allowed here".to_owned()],
    }
}

/// The same import, with stacks.
pub(crate) fn coded() -> Draft {
    let mut drawn = draft(CODED);
    drawn.probes.push(probe("scheduling", true, "", ""));
    drawn
}

const CODED: &str = r#"
    run wall 10s exit 0 command ./nightly-import data.txt
    process 1 pid 800 nightly-import executable /opt/etl/nightly-import
    thread 1.1 tid 800 nightly-import
    thread 1.2 tid 801 statistics taken 120ms
    frame main module /opt/etl/nightly-import file import.c line 120
    frame import_row module /opt/etl/nightly-import file import.c line 80
    frame price_of module /opt/etl/nightly-import file prices.c line 14
    frame price_of@21 function price_of module /opt/etl/nightly-import file prices.c line 21
    frame parse module /opt/etl/nightly-import file prices.c line 33 inlined
    frame statistics module /opt/etl/nightly-import file statistics.c
    frame ?1 function "" module /opt/etl/nightly-import offset 0x1200
    frame fdatasync module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame nanosleep module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame pthread_mutex_lock module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame read module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame start_thread module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame ext4_sync_file language kernel module kernel kind kernel
    frame copy_page_to_iter language kernel module kernel kind kernel
    1.1: cpu 0..2s tracer 20ms
       | wait ..7s flush rows.db by block device call fdatasync stack "main;import_row;fdatasync;ext4_sync_file"
       | wait ..8s lock m owner 1.2 stack "main;import_row;?1;pthread_mutex_lock" waker_stack "start_thread;statistics"
       | wait +20us sleep | ready ..8.1s | cpu ..9s | wait ..9.9s pipe read p | cpu ..10s exit tear-down
    1.2: cpu 0..500ms | wait ..9.5s sleep stack "start_thread;statistics;nanosleep" | cpu ..10s
    sample 1.1 500ms weight 500ms stack "main;import_row;price_of;parse"
    sample 1.1 1s weight 500ms stack "main;import_row;price_of@21;parse"
    sample 1.1 1.5s weight 500ms kernel stack "main;import_row;price_of;read;copy_page_to_iter"
    sample 1.1 2s weight 480ms stack "main;import_row;price_of;parse"
    sample 1.1 8.5s weight 500ms stack "main;import_row"
    sample 1.1 9s weight 400ms stack "...;import_row;price_of@21"
    sample 1.2 400ms weight 500ms stack "start_thread;statistics"
"#;

/// A server each tenth of whose requests sleeps, and a thread of it that goes round and round.
pub(crate) fn served() -> Draft {
    let mut text = String::from(
        "run wall 400ms exit 0 command ./server
         process 1 pid 600 server executable /srv/server
         thread 1.1 tid 600 server
         thread 1.2 tid 601 logger
         frame nanosleep module /usr/lib/x86_64-linux-gnu/libc.so.6
         object c tcp socket
         1.1: cpu 0..1ms",
    );
    for number in 0..60 {
        text += "| wait +1ms network receive c by network result 9 | cpu +500us";
        if number % 10 == 3 {
            text += "| wait +9ms sleep by timer stack \"main;slow;nanosleep\" | cpu +100us";
        }
    }
    text += "| wait +1ms network receive c result 0 | cpu ..400ms
        1.2: cpu 0..1ms";
    for _ in 0..40 {
        text += "| cpu +1ms | wait +4ms sleep stack \"logger;nanosleep\" | cpu +1ms
            | wait +3ms flush log stack \"logger;nanosleep\"";
    }
    text += "
        call 1.1 accept4 c
        call 1.1 recvfrom c count 61 bytes 900
        call 1.1 sendto c count 60 bytes 900";
    let mut drawn = draft(&text);
    if let Some(connection) = drawn.objects.iter_mut().find(|object| object.label == "c") {
        connection.local = Some("127.0.0.1:8080".to_owned());
        connection.remote = Some("127.0.0.1:40000".to_owned());
    }
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
pub(crate) fn forks() -> Draft {
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
pub(crate) fn weather() -> Draft {
    let mut drawn = draft(
        "run wall 10s signal 9 mended \"its last second is missing\" command ./server
         loss turns 1204 \"a ring was full; some spans are not known\"
         loss \"cut short\" 1
         process 1 pid 700 server executable /srv/server
         thread 1.1 tid 700 server born_before alive_at_end cpu 3s wait 6s tracer 1s kernel_life 10.2s kernel_cpu 4.1s
         thread 1.2 tid 701 acceptor born_before end_lost kernel_life 0
         1.1: cpu 0..2s | lost ..5s | wait ..7s network receive 10.0.0.7:5432
            | wait 7.5s..8s other function skb_wait_for_more_packets | ready 7.9s..9s throttled | cpu ..10s
         1.2: wait 0..4s network accept 0.0.0.0:80",
    );
    drawn.probes.push(probe(
        "block",
        false,
        "EPERM",
        "which device a wait was for",
    ));
    drawn
}

/// Moves the cursor, rings the bell, and turns text around.
const EVIL: &str = "\u{1b}[2J\r\n\u{9b}31m\u{202e}gpj.exe\u{7}";

/// Names that try to take over the terminal.
pub(crate) fn hostile() -> Draft {
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
         sample 1.1 400ms weight 500ms stack \"m;f;m\"
         sample 2.1 400ms weight 500ms stack \"...;g\"
         call 1.1 fsync f count 100 ns 400ms errors 1
         call 1.1 openat f count 100 ns 400ms
         outsider 9 x",
    );
    let evil = EVIL;
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
    name_code(&mut drawn, evil);
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

/// Adds a name to all code, and a module to it.
fn name_code(drawn: &mut Draft, evil: &str) {
    drawn.frames.iter_mut().for_each(|row| {
        row.function = format!("{}{evil}", row.function);
        row.file = evil.to_owned();
        row.module = Some(ModuleId(1));
    });
    drawn.modules.push(Module {
        module: ModuleId(1),
        kind: ModuleKind::File,
        path: format!("/{evil}"),
        build_id: String::new(),
        symbols: SymbolSource::Table,
    });
}

/// The stacks of a drawn recording.
pub(crate) fn stacks(recording: &Recording, facts: &Facts, filter: &Filter) -> Stacks {
    Stacks::of(recording, facts, filter).expect("a drawn recording reads")
}

/// Shows the part of a drawn recording's stacks that a filter lets pass.
pub(crate) fn present_stacks<T>(
    drawn: &Draft,
    filter: &Filter,
    show: impl FnOnce(&Recording, &Facts, &Stacks) -> T,
) -> T {
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let stacks = stacks(&recording, &facts, filter);
    show(&recording, &facts, &stacks)
}

/// Shows a drawn recording to whoever presents it.
pub(crate) fn present<T>(drawn: &Draft, path: &str, show: impl FnOnce(&Report) -> T) -> T {
    present_opened(&drawn.recording(), path, show)
}

/// Shows an open recording to whoever presents it.
pub(crate) fn present_opened<T>(
    recording: &Recording,
    path: &str,
    show: impl FnOnce(&Report) -> T,
) -> T {
    present_with(recording, path, &Settings::default(), show)
}

/// Of the rules that were skipped, the first for each thing that a recording lacks: a sample that lists or counts all of
/// them changes with each new rule, and shows nothing more.
fn keep_one_of_each(skipped: &mut Vec<NotAsked>) {
    let mut known = BTreeSet::new();
    skipped.retain(|rule| known.insert(rule.lacks));
}

/// The same where something is set otherwise.
pub(crate) fn present_with<T>(
    recording: &Recording,
    path: &str,
    settings: &Settings,
    show: impl FnOnce(&Report) -> T,
) -> T {
    let loaded = Loaded::of(recording).expect("a kept or drawn recording reads");
    let question = Question {
        patience: Patience::LONG,
        tasks: true,
        tags: true,
        ..question(settings, Wanted::Served, true)
    };
    let mut story = Story::of(&loaded, &question).expect("a story");
    if let Some(findings) = &mut story.findings {
        keep_one_of_each(&mut findings.not_asked);
    }
    let shown = Shown {
        path,
        argument: "",
        size_bytes: 1_803_112,
    };
    show(&Report::of(&story, shown, settings))
}

/// Shows what differs between recordings of two sides.
pub(crate) fn compare<T>(a: &[Draft], b: &[Draft], show: impl FnOnce(&Compared<'_>) -> T) -> T {
    let settings = Settings::default();
    let digest = |drawn: &Draft| {
        let recording = drawn.recording();
        let loaded = Loaded::of(&recording).expect("a drawn recording reads");
        let question = question(&settings, Wanted::Served, false);
        let environment = env::of(&recording, &loaded.facts).expect("facts");
        let story = Story::of(&loaded, &question).expect("a story");
        let mut digest = Digest::of(&story).expect("it has a main thread");
        digest.environment = environment;
        digest
    };
    let digests = |side: &[Draft]| side.iter().map(digest).collect::<Vec<_>>();
    let names = |side: &[Draft], name: &str| -> Vec<String> {
        let numbers = 1..=side.len();
        numbers.map(|n| format!("{name}{n}.timesink")).collect()
    };
    let comparison = Comparison::of(digests(a), digests(b)).expect("both sides have one");
    show(&Compared {
        comparison: &comparison,
        environment: &comparison.environments(),
        a: &names(a, "a"),
        b: &names(b, "b"),
    })
}

/// Who called whom in both.
pub(crate) fn beside<T>(
    a: &Draft,
    b: &Draft,
    weights: Weights,
    show: impl FnOnce(&Branch) -> T,
) -> T {
    let settings = Settings::default();
    let told = |drawn: &Draft| {
        let recording = drawn.recording();
        let loaded = Loaded::of(&recording).expect("a drawn recording reads");
        let question = question(&settings, Wanted::Served, false);
        let story = Story::of(&loaded, &question).expect("a story");
        let digest = Digest::of(&story).expect("it has a main thread");
        (digest, Branch::of(&story, weights))
    };
    let ((a, tree), (b, other)) = (told(a), told(b));
    let comparison = Comparison::of(vec![a], vec![b]).expect("both sides have one");
    show(&tree.beside(other, &comparison.aligned))
}

/// Two runs in other places, of a program that reads its configuration.
pub(crate) fn in_two_places() -> [Draft; 2] {
    let facts = |keep_alive: &str, swappiness: &str, checksum: &str| {
        let fact = |kind, key: &str, value: &str, moment| Fact {
            kind,
            key: key.to_owned(),
            value: value.to_owned(),
            moment,
        };
        let text = format!("Listen 80\nKeepAlive {keep_alive}\n");
        let known = format!("size=27 changed=1763942400 crc32={checksum}");
        vec![
            fact(FactKind::CpuModel, "model", "EPYC", Moment::Begin),
            fact(FactKind::Writeback, "swappiness", swappiness, Moment::Begin),
            fact(FactKind::Load, "load average", "0.10", Moment::Begin),
            fact(FactKind::Load, "load average", "0.30", Moment::End),
            fact(FactKind::File, "/etc/server.conf", &known, Moment::End),
            fact(
                FactKind::File,
                "/etc/server.conf (text)",
                &text,
                Moment::End,
            ),
        ]
    };
    let one = flushes(602, 97, 31);
    let other = flushes(602, 3100, 31);
    let (mut one, mut other) = (one, other);
    one.facts = facts("On", "60", "9f86d081");
    other.facts = facts("Off", "10", "31a5c0de");
    [one, other]
}

/// An import that flushes so many rows one by one, each flush taking so long, and looks each up in so long.
pub(crate) fn flushes(count: u64, each_us: u64, search_us: u64) -> Draft {
    draft(&format!(
        "run wall 1s exit 0 command ./import data.txt
         process 1 pid 800 import executable /srv/import
         thread 1.1 tid 800 import
         frame main module /srv/import file import.c line 70
         frame insert_row module /srv/import file import.c line 41
         frame find_row module /srv/import file import.c line 23
         object rows.db file rows.db
         call 1.1 fdatasync rows.db count {count} ns {}us
         call 1.1 write rows.db count {count} ns {count}us bytes {}
         1.1: cpu 0..10ms
         for n in 1..{count}
         | wait +{each_us}us flush rows.db by block device call fdatasync stack \"main;insert_row\"
         | cpu +{search_us}us
         end
         for n in 1..{count}
         sample 1.1 {{n}}ms weight {search_us}us stack \"main;insert_row;find_row\"
         end",
        count * each_us,
        count * 100,
    ))
}

/// A server whose goroutines flush a log and compress, each started at a place of its own, and leave ever more that wait to be read.
pub(crate) fn goroutines() -> Draft {
    draft(
        "run wall 1s exit 0 command ./server
         process 1 pid 700 server executable /srv/server
         thread 1.1 tid 700 server
         thread 1.2 tid 701 server parent 1.1
         frame main.serve.gowrap1 module /srv/server file server.go line 30
         frame main.serve module /srv/server file server.go line 31
         frame main.handle module /srv/server file server.go line 12
         frame main.audit module /srv/server file server.go line 22
         frame main.main module /srv/server file server.go line 50
         frame runtime.main module /srv/server file proc.go line 283
         frame runtime.newproc module /srv/server file proc.go line 5000
         task 1 1 stack \"runtime.newproc;runtime.main\"
         task 2 1 parent 1 stack \"main.main;main.audit\"
         for n in 3..10
         task {n} 1 parent 1 stack \"main.serve;main.serve.gowrap1\"
         end
         frame main.reply module /srv/server file server.go line 18
         for n in 11..25
         task {n} 1 parent 3 stack \"main.handle;main.reply\"
         end
         object audit.log file audit.log
         1.1: cpu 0..300ms | wait ..700ms flush audit.log by block device call fsync | cpu ..1s
         1.2: wait 0..20ms condition idle | ready ..50ms | cpu ..900ms | wait ..950ms condition idle | cpu ..1s
         frame runtime.chanrecv module /srv/server file chan.go line 600
         frame runtime.gopark module /srv/server file proc.go line 400
         frame runtime.chansend module /srv/server file chan.go line 283
         sight 3 50ms running
         for n in 11..25
         sight {n} {25n-200}ms waiting at \"main.reply;runtime.chansend;runtime.gopark\"
         end
         turn 1.1 10ms..290ms task 1 left waiting at \"main.main;runtime.chanrecv;runtime.gopark\"
         turn 1.1 299ms..710ms task 2
         turn 1.1 720ms..1s task 3
         turn 1.2 60ms..400ms task 4
         turn 1.2 401ms..900ms task 5
         turn 1.2 900ms..955ms
         turn 1.2 956ms..1s task 1
         sample 1.1 100ms weight 300ms stack \"runtime.main;main.main\"
         sample 1.1 900ms weight 300ms stack \"main.serve.gowrap1;main.handle\"
         sample 1.2 300ms weight 450ms stack \"main.serve.gowrap1;main.handle\"
         sample 1.2 800ms weight 400ms stack \"main.serve.gowrap1;main.handle\"
         sample 1.2 980ms weight 50ms stack \"main.serve.gowrap1;main.handle\"",
    )
}

/// A service of asyncio: two handlers share a semaphore, and one task flushes a log in the loop's own thread.
pub(crate) fn coroutines() -> Draft {
    draft(
        "run wall 1s exit 0 command python3 service.py
         process 1 pid 700 python3 executable /usr/bin/python3
         thread 1.1 tid 700 python3
         frame handle file /srv/service.py line 12 language python
         frame audit file /srv/service.py line 30 language python
         frame Semaphore.acquire file /usr/lib/python3.11/asyncio/locks.py line 380 language python
         task 1 1 coroutine stack \"handle\"
         task 2 1 coroutine named \"the second\" stack \"handle\"
         task 3 1 coroutine stack \"audit\"
         object audit.log file audit.log
         1.1: cpu 0..300ms | wait ..400ms poll \"[eventpoll]\" by timer call epoll_wait | cpu ..500ms | wait ..900ms flush audit.log by block device call fsync | cpu ..1s
         turn 1.1 10ms..200ms task 1 left waiting at \"handle;Semaphore.acquire\"
         turn 1.1 210ms..290ms task 2 left waiting at \"handle\"
         turn 1.1 300ms..400ms
         turn 1.1 410ms..910ms task 3
         turn 1.1 930ms..1s task 1
         sample 1.1 100ms weight 300ms stack \"handle\"
         sample 1.1 450ms weight 200ms stack \"audit\"",
    )
}

/// A service of Node.js: a handler that computes, and a function that goes on after each timer and flushes a log.
pub(crate) fn callbacks() -> Draft {
    draft(
        "run wall 1s exit 0 command node service.js
         process 1 pid 700 node executable /usr/bin/node
         thread 1.1 tid 700 node
         frame tasks function processTicksAndRejections language javascript file node:internal/process/task_queues
         frame handler language javascript file /srv/service.js line 12
         frame flusher language javascript file /srv/service.js line 30
         object log file /srv/log
         1.1: cpu 0..300ms | wait ..400ms poll \"[eventpoll]\" by network call epoll_wait | cpu ..500ms | wait ..900ms flush log by block device call fsync stack \"uv_run;uv__run_timers;tasks;flusher\" | cpu ..1s
         sample 1.1 100ms weight 300ms stack \"uv_run;uv__io_poll;handler\"
         sample 1.1 450ms weight 200ms stack \"uv_run;uv__run_timers;tasks;flusher\"",
    )
}

/// A storage engine whose two threads say what they are at work for: the scrub of old blocks, and the log.
pub(crate) fn tagged() -> Draft {
    draft(
        "run wall 20ms exit 0 command ./engine
         process 1 pid 700 engine executable /srv/engine
         thread 1.1 tid 700 engine
         thread 1.2 tid 701 worker parent 1.1
         tag 0 1 \"storage/scrub/crc\"
         tag 1 1 \"storage/log\"
         object log file /srv/log
         1.1: cpu 0..10ms | wait ..14ms flush log by block device call fsync | cpu ..20ms
         1.2: wait 0..5ms condition idle | ready ..6ms | cpu ..16ms | wait ..20ms condition idle
         tagged 1.1 1ms..6ms tag 0
         tagged 1.1 9ms..14ms tag 1
         tagged 1.1 15ms..20ms
         tagged 1.2 5ms..20ms tag 0
         sample 1.1 500us weight 4ms stack \"main\"
         sample 1.1 3ms weight 4ms stack \"main;crc\"
         sample 1.1 9ms weight 4ms stack \"main;append\"
         sample 1.1 18ms weight 4ms stack \"main\"
         sample 1.2 10ms weight 10ms stack \"main;crc\"",
    )
}

/// One of each kind.
pub(crate) fn all() -> [Draft; 10] {
    [
        import(),
        coded(),
        forks(),
        weather(),
        hostile(),
        served(),
        goroutines(),
        coroutines(),
        callbacks(),
        tagged(),
    ]
}

/// A recording that is drawn for a rule, such as `flush-per-record.fires`.
pub(crate) fn rule_case(name: &str) -> Draft {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../findings/cases");
    let text = std::fs::read_to_string(folder.join(format!("{name}.txt")));
    draft(&text.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A database that commits so many times: for each it makes a journal, flushes that twice and the database once. Beside it
/// threads that have a name, a function or neither.
pub(crate) fn commits(count: u64) -> Draft {
    let twice = count * 2;
    draft(&format!(
        "run wall 1s exit 0 command ./base
         process 1 pid 800 base executable /srv/base
         thread 1.1 tid 800 base
         thread 1.2 tid 801 reader-{count} parent 1.1
         thread 1.3 tid 802 base parent 1.1
         thread 1.4 tid 803 base parent 1.1
         frame main module /srv/base
         frame commit module /srv/base
         frame make_journal module /srv/base
         frame check module /srv/base
         frame start_thread module /usr/lib/x86_64-linux-gnu/libc.so.6
         frame nanosleep module /usr/lib/x86_64-linux-gnu/libc.so.6
         object t.db file t.db
         object t.db-journal file t.db-journal
         call 1.1 openat t.db-journal count {count} ns {count}ms
         call 1.1 fdatasync t.db-journal count {twice} ns {twice}ms
         call 1.1 fdatasync t.db count {count} ns {count}ms
         call 1.1 write t.db count {count} ns {count}us bytes {}
         1.1: cpu 0..2ms
         for n in 1..{count}
         | wait +1ms disk read t.db-journal by block device call openat stack \"main;make_journal\"
         | cpu +5us | wait +1ms flush t.db-journal by block device call fdatasync stack \"main;commit\"
         | cpu +5us | wait +1ms flush t.db-journal by block device call fdatasync stack \"main;commit\"
         | cpu +5us | wait +1ms flush t.db by block device call fdatasync stack \"main;commit\"
         | cpu +5us
         end
         sample 1.1 1ms weight 1ms stack \"main;check\"
         1.2: wait 0..2ms sleep by timer | cpu +1ms
         1.3: cpu 0..1ms | wait ..2ms sleep by timer stack \"start_thread;check;nanosleep\" | cpu +1ms
         1.4: cpu 0..1ms",
        count * 100,
    ))
}
