//! How far from the floor a cause is, sentence by sentence, on drawn recordings that carry floors.

use timesink_findings::engine::Findings;
use timesink_findings::rule::Limits;
use timesink_findings::sentence::{Piece, Sentence};
use timesink_recording::floors::{
    DiskFloors, Figure, Floors, FlushFloors, Load, Machine, PeerFloors, StartFloors,
};
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::Image;
use timesink_recording::words::ImageEvent;
use timesink_recording::Nanos;

use super::drawn::findings_of;

const DISK: u64 = 254 << 20;

fn figure(us: f64) -> Figure {
    Figure::of(vec![us * 1e3]).expect("a figure")
}

/// A disk that flushes in 50 us, and 64 KiB in as much or in ten times that; a MiB in 500 us.
fn floors(many_us: f64) -> Floors {
    let size = |bytes, flush_us| FlushFloors {
        bytes,
        write: figure(1.0),
        flush: figure(flush_us),
        flush_longer: figure(flush_us * 2.0),
    };
    let peer = |name: &str, address: &str, us| PeerFloors {
        name: name.to_owned(),
        address: address.to_owned(),
        connect: Some(figure(us)),
        round_trip: None,
        echo: None,
    };
    Floors {
        machine: Machine {
            processors: 2,
            ..Machine::default()
        },
        load: Load::default(),
        disks: vec![DiskFloors {
            folder: "/".to_owned(),
            mounted_on: "/".to_owned(),
            filesystem: "ext4".to_owned(),
            device: DISK,
            sizes: vec![size(512, 50.0), size(65536, many_us), size(1 << 20, 500.0)],
        }],
        peers: vec![
            peer("loopback", "127.0.0.1", 20.0),
            peer("db:5432", "10.0.0.1", 4000.0),
        ],
        starts: [(10, 100.0), (500, 200.0)]
            .map(|(megabytes, us)| StartFloors {
                resident_bytes: megabytes * 1_000_000,
                fork: None,
                vfork: None,
                posix_spawn: Some(figure(us)),
            })
            .to_vec(),
        ..Floors::default()
    }
}

fn words(sentence: &Sentence) -> String {
    let pieces = sentence.0.iter().map(|piece| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Time(ns) => format!("{} us", ns / 1000),
        Piece::Times(times) => format!("{times:.1} times"),
        Piece::Bytes(bytes) | Piece::Count(bytes) => bytes.to_string(),
        other => format!("{other:?}"),
    });
    pieces.collect()
}

/// The sentences of the first finding, which is of this rule, and its figures that are floors.
fn told(findings: &Findings, rule: &str) -> (Vec<String>, Vec<(&'static str, f64)>) {
    let first = findings.told.first().expect("a finding");
    assert_eq!(first.rule.name, rule);
    let figures = first.suspect.figures.iter();
    let figures = figures.filter(|figure| {
        figure.what.starts_with("minimum time") || figure.what == "network round trip"
    });
    (
        first.suspect.told.iter().map(words).collect(),
        figures.map(|figure| (figure.what, figure.value)).collect(),
    )
}

/// An import that flushes 50 times, for so long each, after so many bytes in all.
fn flushing(each_us: u64, bytes: u64, floors: Option<Floors>) -> Findings {
    let round = format!("cpu +1ms | wait +{each_us}us flush rows.db by block device call fsync");
    let rounds = vec![round; 50].join(" | ");
    let ns = each_us * 50;
    let mut drawn = draft(&format!(
        "run wall 1s\nprocess 1 import\nthread 1.1 tid 1 import\nobject rows.db file /rows.db\n1.1: cpu 0..1ms | {rounds}\n\
         call 1.1 fsync rows.db count 50 ns {ns}us\ncall 1.1 write rows.db count 50 bytes {bytes}\n"
    ));
    on_disk(&mut drawn);
    drawn.about.floors = floors;
    findings_of(&drawn.recording(), &Limits::default())
}

fn on_disk(drawn: &mut Draft) {
    for object in &mut drawn.objects {
        object.device = Some(DISK);
    }
}

/// A flush for each row is held against one at best, and against one of many rows.
#[test]
fn a_flush_is_held_against_the_disks_best() {
    let (sentences, figures) = told(
        &flushing(1000, 5000, Some(floors(60.0))),
        "flush-per-record",
    );
    assert_eq!(
        sentences[2],
        "a flush call takes 1000 us, 20.0 times the minimum of this disk: 50 us, or 60 us with 65536"
    );
    assert_eq!(figures, [("minimum time of a flush", 50_000.0)]);
    let (sentences, _) = told(
        &flushing(1000, 5000, Some(floors(400.0))),
        "flush-per-record",
    );
    assert!(
        sentences[2].ends_with("50 us, or 400 us with 65536"),
        "{sentences:?}"
    );
    // Without floors, and with those of another disk, nothing is said.
    assert_eq!(
        told(&flushing(1000, 5000, None), "flush-per-record")
            .0
            .len(),
        2
    );
    let mut other = floors(60.0);
    other.disks[0].device += 1;
    assert_eq!(
        told(&flushing(1000, 5000, Some(other)), "flush-per-record")
            .0
            .len(),
        2
    );
}

/// Where each flush is as quick as the disk is, only their number can be changed.
#[test]
fn a_flush_at_its_floor_is_said_to_be_there() {
    let mut slow = floors(60.0);
    slow.disks[0].sizes[0].flush = figure(950.0);
    slow.disks[0].sizes[1].flush = figure(960.0);
    let (sentences, _) = told(&flushing(1000, 5000, Some(slow)), "flush-per-record");
    assert_eq!(
        sentences[2],
        "only fewer flushes will help: the minimum of this disk is 950 us, or 960 us with 65536"
    );
}

/// Floors that were measured beside others' work are said to be so.
#[test]
fn floors_of_a_busy_machine_are_doubted() {
    let mut busy = floors(60.0);
    busy.load.others_pct = 40.0;
    let (sentences, _) = told(&flushing(1000, 5000, Some(busy)), "flush-per-record");
    assert!(
        sentences[2].ends_with("or 60 us with 65536 (measured on a busy machine)"),
        "{sentences:?}"
    );
}

/// Flushes that take what the disk takes for so many bytes are no cause, but the floor; not so on a machine that was busy
/// when that was measured, nor where the disk could do it in half the time.
#[test]
fn what_takes_what_the_disk_takes_is_the_floor() {
    let at_floor = |each_us, floors| {
        let findings = flushing(each_us, 50 << 20, floors);
        let accused = findings.told.iter().any(|told| told.rule.accuses());
        assert!(!accused, "a MiB for each flush is not little");
        let cleared: Vec<bool> = findings
            .cleared
            .iter()
            .map(|cause| cause.at_floor)
            .collect();
        // The other one is what it ran.
        cleared.contains(&true)
    };
    assert!(at_floor(550, Some(floors(60.0))));
    assert!(!at_floor(1000, Some(floors(60.0))));
    assert!(!at_floor(550, None));
    let mut busy = floors(60.0);
    busy.load.others_pct = 40.0;
    assert!(!at_floor(550, Some(busy)));
    // A disk that is so slow that little takes long: it is not accused of flushing too often.
    let mut slow = floors(60.0);
    for size in &mut slow.disks[0].sizes {
        size.flush = figure(size.bytes as f64 * 2.0);
    }
    let findings = flushing(1000, 50 * 512, Some(slow));
    assert!(findings.told.iter().all(|told| !told.rule.accuses()));
    assert!(findings.cleared.iter().any(|cause| cause.at_floor));
}

/// Forty questions to a peer, each answered after so long.
fn asking(remote: &str, each_us: u64) -> Findings {
    let round = format!("cpu +1ms | wait +{each_us}us network receive db by network call recvfrom");
    let rounds = vec![round; 40].join(" | ");
    let mut drawn = draft(&format!(
        "run wall 1s\nprocess 1 import\nthread 1.1 tid 1 import\nobject db \"tcp socket\" {remote}\n\
         1.1: cpu 0..1ms | {rounds}\ncall 1.1 sendto db count 40 bytes 2000\ncall 1.1 recvfrom db count 40 bytes 4000\n"
    ));
    drawn.objects[0].local = Some("10.0.0.9:40000".to_owned());
    drawn.objects[0].remote = Some(remote.to_owned());
    drawn.about.floors = Some(floors(60.0));
    findings_of(&drawn.recording(), &Limits::default())
}

/// An answer is held against the way to that peer; over loopback, by whatever address, against loopback's.
#[test]
fn an_answer_is_held_against_the_way() {
    let last = |findings: &Findings| told(findings, "round-trips").0.pop();
    assert_eq!(
        last(&asking("10.0.0.1:5432", 10_000)).as_deref(),
        Some("a response takes 2.5 times the network round trip of 4000 us")
    );
    assert_eq!(
        last(&asking("10.0.0.1:5432", 5000)).as_deref(),
        Some("the network round trip alone takes 4000 us: only fewer requests will help")
    );
    for here in [
        "127.0.0.1:5432",
        "[::1]:5432",
        "10.0.0.9:5432",
        "[::ffff:127.0.0.1]:80",
    ] {
        assert_eq!(
            last(&asking(here, 5000)).as_deref(),
            Some("a response takes 250.0 times the network round trip of 20 us"),
            "{here}"
        );
    }
    let elsewhere = told(&asking("10.0.0.2:5432", 5000), "round-trips");
    assert_eq!((elsewhere.0.len(), elsewhere.1.len()), (2, 0));
}

/// A start is held against posix_spawn from a parent of about that size; one that costs no more than that is not.
#[test]
fn a_start_is_held_against_posix_spawn() {
    let script = |cost_us: u64, resident_bytes| {
        let mut text = "run wall 1s\nprocess 1 sh\nthread 1.1 tid 1 sh\n".to_owned();
        let (mut waits, mut lives) = (String::new(), String::new());
        for pid in 2..32 {
            let from = (pid - 2) * 12 + 3;
            text += &format!("process {pid} awk parent 1 executable /usr/bin/awk\nthread {pid}.{pid} tid {pid} awk parent 1.1\n");
            waits += &format!(" | cpu +2ms | wait +10ms child c{pid} by {pid}.{pid} call wait4");
            lives += &format!("{pid}.{pid}: cpu {from}ms..{}ms\n", from + 10);
            // All of it before the main function: it hardly does anything.
            lives += &format!(
                "sample {pid}.{pid} {}ms weight 10ms stack \"_dl_start\"\n",
                from + 5
            );
        }
        let mut drawn = draft(&format!("{text}1.1: cpu 0..1ms{waits}\n{lives}"));
        let children: Vec<_> = drawn
            .processes
            .iter()
            .skip(1)
            .map(|row| row.process)
            .collect();
        for process in children {
            for (event, cost_us) in [(ImageEvent::Fork, 100), (ImageEvent::Exec, cost_us - 100)] {
                drawn.images.push(Image {
                    process,
                    t: Nanos(0),
                    thread: None,
                    event,
                    executable: "/usr/bin/awk".to_owned(),
                    arguments: String::new(),
                    cost_ns: Some(cost_us * 1000),
                    resident_bytes,
                });
            }
        }
        drawn.about.floors = Some(floors(60.0));
        told(
            &findings_of(&drawn.recording(), &Limits::default()),
            "child-per-item",
        )
    };
    let (sentences, figures) = script(450, 8_000_000);
    assert_eq!(
        sentences[1],
        "a start takes 4.5 times as long as posix_spawn of an empty program from a process of 10000000, 100 us"
    );
    assert_eq!(figures, [("minimum time of posix_spawn", 100_000.0)]);
    let (sentences, _) = script(450, 300_000_000);
    assert!(
        sentences[1].ends_with("from a process of 500000000, 200 us"),
        "{sentences:?}"
    );
    assert_eq!(script(150, 300_000_000).0.len(), 1);
}
