//! A whole machine, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::machine::{DiskTime, MachineTime, Scheduling};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::draft;
use timesink_recording::words::{Detail, SchedulingPolicy};

const MACHINE: &str = "
    process 1 pid 2 kthreadd
    process 2 pid 40 kworker/0:1-events parent_pid 2
    process 3 pid 41 kworker/1:0 parent_pid 2
    process 4 pid 100 scrub executable /usr/bin/scrub
    process 5 pid 200 serve executable /usr/bin/serve
    process 6 pid 201 serve executable /usr/bin/serve
    thread 1.1 tid 2 kthreadd
    thread 2.1 tid 40 kworker/0:1
    thread 3.1 tid 41 kworker/1:0
    thread 4.1 tid 100 scrub
    thread 5.1 tid 200 serve
    thread 6.1 tid 201 serve
    outsider 900 other
    1.1: wait 0..100ms other
    2.1: cpu 0..1ms on 0 | wait ..100ms other
    3.1: cpu 0..2ms on 1 | wait ..100ms other
    4.1: ready 0..1ms on 0 | cpu ..81ms on 0 | wait ..100ms flush log call fsync
    5.1: wait 0..10ms network receive s | ready +40ms on 0 occupant 4.1 30ms occupant outsider 900 10ms | cpu +10ms on 0 | wait ..100ms network receive s
    6.1: wait 0..50ms flush data call fsync | cpu +20ms on 1 | wait +10ms kernel lock | wait ..100ms poll";

fn machine(check: impl FnOnce(&MachineTime, &Facts)) {
    let recording = draft(MACHINE).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    check(
        &MachineTime::of(&timeline, &facts, Vec::new(), 100_000_000, 4),
        &facts,
    );
}

/// Processes of one name are one program, and so are the kernel's threads of one kind; what each had of each CPU adds up.
#[test]
fn programs_and_cpus() {
    machine(|machine, _| {
        let programs = machine.programs.iter();
        let programs =
            programs.map(|one| (&*one.name, one.processes.len(), one.cpu_ns / 1_000_000));
        let programs: Vec<_> = programs.collect();
        let expected = [
            ("scrub", 1, 80),
            ("serve", 2, 30),
            ("kworker", 2, 3),
            ("kthreadd", 1, 0),
        ];
        assert_eq!(programs, expected);
        let name = |at: &usize| &*machine.programs[*at].name;
        let of = |of: &[(usize, u64)]| -> Vec<(String, u64)> {
            let each = of.iter();
            each.map(|(at, ns)| (name(at).to_owned(), ns / 1_000_000))
                .collect()
        };
        let [first, second] = machine.processors.as_slice() else {
            panic!("{:?}", machine.processors);
        };
        let ran = [("scrub", 80), ("serve", 10), ("kworker", 1)];
        assert_eq!(of(&first.ran), ran.map(|(name, ms)| (name.to_owned(), ms)));
        assert_eq!(of(&first.ready)[0], ("serve".to_owned(), 40));
        assert_eq!(second.busy_ns(), 22_000_000);
        // Two more had nothing to do.
        assert_eq!(machine.processors_in_all, 4);
        assert!(machine.programs[2].is_kernel && !machine.programs[0].is_kernel);
    });
}

/// Who had the CPU while somebody was runnable, whether it was recorded or not.
#[test]
fn behind_whom() {
    machine(|machine, _| {
        let serve = &machine.programs[1];
        assert_eq!(serve.ready_ns, 40_000_000);
        let behind = [
            ("scrub".to_owned(), 30_000_000),
            ("other".to_owned(), 10_000_000),
        ];
        assert_eq!(serve.behind, behind);
    });
}

/// Who waits for work is idle; who waits for the disk lacks something.
#[test]
fn waits_that_lack_something() {
    machine(|machine, _| {
        let waits = machine.waits.iter();
        let waits = waits.map(|wait| (&*machine.programs[wait.program].name, wait.detail, wait.ns));
        let expected = [
            ("serve", Detail::Flush, 50_000_000),
            ("scrub", Detail::Flush, 19_000_000),
            ("serve", Detail::KernelLock, 10_000_000),
        ];
        assert_eq!(waits.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn processes_are_named_by_number_or_name() {
    machine(|_, facts| {
        assert_eq!(facts.processes_called("serve").len(), 2);
        assert_eq!(facts.processes_called("201").len(), 1);
        assert_eq!(facts.processes_called("nobody").len(), 0);
    });
}

/// An interpreter is told apart by the script that it runs: three indexers, the service that they slowed down and an idle backend were
/// one line. What a quota held back stood behind nobody.
#[test]
fn scripts_and_quotas_are_told_apart() {
    let text = "
        process 1 pid 10 python3 executable /usr/bin/python3.11 arguments \"python3\0/srv/web.py\"
        process 2 pid 11 python3 executable /usr/bin/python3.11 arguments \"python3\0-u\0/srv/indexer.py\"
        process 3 pid 12 python3 executable /usr/bin/python3.11 arguments \"python3\0-u\0/srv/indexer.py\"
        thread 1.1 tid 10 python3
        thread 2.1 tid 11 python3
        thread 3.1 tid 12 python3
        1.1: cpu 0..10ms on 0 | ready +60ms throttled on 0 | ready +10ms preempted on 0 occupant 2.1 10ms | cpu ..100ms on 0
        2.1: wait 0..70ms other | cpu ..80ms on 0 | wait ..100ms other
        3.1: cpu 0..50ms on 1 | wait ..100ms other";
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let machine = MachineTime::of(&timeline, &facts, Vec::new(), 100_000_000, 2);
    let told = machine.programs.iter();
    let told: Vec<_> = told
        .map(|program| (program.name.as_str(), program.processes.len()))
        .collect();
    assert_eq!(told, [("python3 indexer.py", 2), ("python3 web.py", 1)]);
    let web = &machine.programs[1];
    assert_eq!((web.ready_ns, web.throttled_ns), (70_000_000, 60_000_000));
    assert_eq!(web.behind, [("python3 indexer.py".to_owned(), 10_000_000)]);
    assert_eq!(facts.processes_called("web.py").len(), 1);
    assert_eq!(facts.processes_called("indexer.py").len(), 2);
    assert_eq!(facts.processes_called("python3").len(), 3);
}

/// Units and containers: what their processes took together. Who has a group of its own is not told with the kernel's threads.
#[test]
fn control_groups_are_told_apart() {
    let text = "
        process 1 pid 2 kthreadd group /
        process 2 pid 10 web executable /usr/bin/web group /system.slice/web.service
        process 3 pid 11 web executable /usr/bin/web group /system.slice/web.service
        process 4 pid 12 logger executable /usr/bin/logger group /system.slice/web.service
        process 5 pid 20 backup executable /usr/bin/backup group /system.slice/backup.service
        process 6 pid 30 sh executable /bin/sh
        thread 1.1 tid 2 kthreadd
        thread 2.1 tid 10 web
        thread 3.1 tid 11 web
        thread 4.1 tid 12 logger
        thread 5.1 tid 20 backup nice 10
        thread 6.1 tid 30 sh
        1.1: cpu 0..1ms on 0 | wait ..100ms other
        2.1: wait 0..100ms other
        3.1: cpu 0..10ms on 0 | ready +60ms throttled on 0 | ready +10ms preempted on 0 | cpu ..100ms on 0
        4.1: wait 0..70ms other | cpu ..75ms on 0 | wait ..100ms other
        5.1: cpu 0..50ms on 1 | wait ..100ms other
        6.1: cpu 0..40ms on 1 | wait ..100ms other";
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let machine = MachineTime::of(&timeline, &facts, Vec::new(), 100_000_000, 2);
    let ms = |ns: u64| ns / 1_000_000;
    let groups = machine.groups.iter().map(|group| {
        let times = [group.cpu_ns, group.ready_ns, group.throttled_ns].map(ms);
        (group.name(), group.processes.len(), times)
    });
    let expected = [
        ("backup.service".to_owned(), 1, [50, 0, 0]),
        ("web.service".to_owned(), 3, [35, 70, 60]),
    ];
    assert_eq!(groups.collect::<Vec<_>>(), expected);
    let named = |&(at, ns): &(usize, u64)| (machine.programs[at].name.as_str(), ms(ns));
    let web: Vec<_> = machine.groups[1].programs.iter().map(named).collect();
    assert_eq!(web, [("web", 30), ("logger", 5)]);
    let nice = machine.programs.iter().find(|one| one.name == "backup");
    assert_eq!(
        nice.map(|one| one.nice.iter().copied().collect()),
        Some(vec![10])
    );
    // Of a unit the process that runs is asked about, not the one that only watches the others.
    let pids = |text: &str| -> Vec<u32> {
        let found = facts.processes_in_group(text).into_iter();
        found
            .filter_map(|id| facts.ledger.process(id))
            .map(|one| one.row.pid)
            .collect()
    };
    assert_eq!(pids("web.service"), [11, 12, 10]);
    assert_eq!(pids("/system.slice/backup.service"), [20]);
    assert!(pids("web").is_empty());
}

/// Real-time threads, nice values below others' and affinities: who was runnable because of them. Threads of the kernel are left out, and
/// so is who waits on a CPU of its own choice while all others are busy.
#[test]
fn priorities_and_affinities() {
    let text = "
        process 1 pid 2 kthreadd
        process 2 pid 10 mixer executable /usr/bin/mixer
        process 3 pid 11 web executable /usr/bin/web
        process 4 pid 12 importer executable /usr/bin/importer
        process 5 pid 13 bound executable /usr/bin/bound
        process 6 pid 14 free executable /usr/bin/free
        thread 1.1 tid 2 kthreadd policy FIFO priority 99 allowed 0
        thread 2.1 tid 10 mixer policy FIFO priority 50 nice 0 allowed 0-1
        thread 3.1 tid 11 web policy other nice 0 allowed 0-1
        thread 4.1 tid 12 importer policy other nice -5 allowed 0-1
        thread 5.1 tid 13 bound policy other nice 0 allowed 0
        thread 6.1 tid 14 free policy other nice 0 allowed 0-63
        1.1: wait 0..90ms other | cpu ..100ms on 0
        2.1: cpu 0..20ms on 0 | wait ..100ms sleep
        3.1: ready 0..20ms woken on 0 occupant 2.1 20ms | cpu ..30ms on 0 | wait ..100ms other
        4.1: wait 0..30ms other | cpu ..60ms on 0 | wait ..100ms other
        5.1: wait 0..30ms other | ready ..60ms woken on 0 occupant 4.1 30ms | cpu ..90ms on 0
            | ready ..100ms preempted on 0 occupant 1.1 10ms
        6.1: cpu 0..50ms on 1 | wait ..95ms other | cpu ..100ms on 1";
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let machine = MachineTime::of(&timeline, &facts, Vec::new(), 100_000_000, 2);
    let ms = |ns: u64| ns / 1_000_000;
    let named = |at: usize| machine.programs[at].name.as_str();
    let told = machine.scheduling.iter().map(|effect| {
        let waiting = effect.kept_waiting.iter();
        let waiting: Vec<_> = waiting.map(|&(at, ns)| (named(at), ms(ns))).collect();
        (
            named(effect.program),
            &effect.scheduling,
            ms(effect.ready_ns),
            waiting,
        )
    });
    let real_time = Scheduling::RealTime {
        policy: SchedulingPolicy::Fifo,
        priority: 50,
    };
    let bound = Scheduling::Bound {
        allowed: "0".to_owned(),
    };
    let expected = [
        (
            "importer",
            &Scheduling::Nice { nice: -5 },
            30,
            vec![("bound", 30)],
        ),
        ("mixer", &real_time, 20, vec![("web", 20)]),
        // CPU 1 was idle from 50 to 95 ms.
        ("bound", &bound, 15, vec![]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// A disk is busy while any request is under way; each program has the time of its own.
#[test]
fn disks() {
    let text = "
        process 1 pid 10 dd executable /usr/bin/dd
        process 2 pid 11 grep executable /usr/bin/grep
        thread 1.1 tid 10 dd
        thread 2.1 tid 11 grep
        outsider 99 jbd2
        1.1: wait 0..100ms other
        2.1: wait 0..100ms other
        request 1.1 10ms..30ms write 8 device 7 bytes 4096
        request 1.1 40ms..50ms flush 8 device 7
        request 2.1 20ms..35ms read 80 device 7 bytes 1024
        request 2.1 60ms..61ms read 80 device 9 bytes 512";
    let mut drawn = draft(text);
    drawn.requests[3].thread = None;
    drawn.requests[3].tid = 99;
    let requests = drawn.requests.clone();
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let machine = MachineTime::of(&timeline, &facts, requests, 100_000_000, 2);
    let disk =
        |device, busy_ms: u64, count, sum_ms: u64, bytes: (u64, u64), issuers: &[(&str, u64)]| {
            let issuers = issuers.iter();
            DiskTime {
                device,
                busy_ns: busy_ms * 1_000_000,
                requests: count,
                requests_ns: sum_ms * 1_000_000,
                read_bytes: bytes.0,
                written_bytes: bytes.1,
                issuers: issuers
                    .map(|(name, ms)| ((*name).to_owned(), ms * 1_000_000))
                    .collect(),
            }
        };
    let expected = [
        disk(7, 35, 3, 45, (1024, 4096), &[("dd", 30), ("grep", 15)]),
        disk(9, 1, 1, 1, (512, 0), &[("jbd2", 1)]),
    ];
    assert_eq!(machine.disks, expected);
}
