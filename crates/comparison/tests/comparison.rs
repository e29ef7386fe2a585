//! Recordings drawn in the notation, two beside each other.

mod drawn;

use drawn::{added_up, compared, digest, first, story};
use timesink_analysis::operations::Kind;
use timesink_comparison::{
    Act, Branch, Change, Comparison, Difference, Digest, Does, RecurrenceKind, Side, Thing,
    Verdict, Weights,
};
use timesink_recording::notation::recording;

/// A program that flushes a file so often, each time for so many milliseconds.
fn flushes(count: u64, each_ms: u64) -> String {
    format!(
        "process 1 import executable /srv/import
         thread 1.1 import
         frame main module /srv/import
         frame insert_row module /srv/import
         object rows.db file rows.db
         call 1.1 fdatasync rows.db count {count} ns {}ms
         call 1.1 write rows.db count {count} bytes {}
         1.1: cpu 0..10ms
         for n in 1..{count}
         | wait +{each_ms}ms flush rows.db by block device call fdatasync stack \"main;insert_row\"
         | cpu +1ms
         end",
        count * each_ms,
        count * 100,
    )
}

fn flush_of(thing: &str) -> Difference {
    Difference::Work(Does::Calls {
        act: Act::Flush,
        thing: Thing::Path(thing.to_owned()),
    })
}

/// The same work done more often: the count says so, and explains the time.
#[test]
fn more_often() {
    let found = compared(&flushes(2, 5), &flushes(40, 5));
    let row = first(&found);
    assert_eq!(row.about, flush_of("rows.db"));
    assert_eq!(row.effect.change, Change::MoreOften);
    assert_eq!((row.a.count, row.b.count), (Some(2), Some(40)));
    assert_eq!(row.effect.count_ns, Some(38 * 5_000_000));
    assert_eq!(row.effect.each_ns, Some(0));
    let back = compared(&flushes(40, 5), &flushes(2, 5));
    assert_eq!(first(&back).effect.change, Change::LessOften);
}

/// What most of the further calls do is said beside their number, also where none of it is on the path: to one thing, or to several.
/// Nothing is said where several calls share it.
#[test]
fn most_of_the_calls() {
    let made = |calls: &[(&str, u64)]| {
        let calls = calls.iter();
        let calls = calls.map(|(call, count)| format!("call 1.1 {call} count {count} ns 1us\n"));
        format!(
            "process 1 git
             thread 1.1 git
             object a directory /a
             object b directory /b
             {}
             1.1: cpu 0..10ms",
            calls.collect::<String>()
        )
    };
    let most = |a: &[(&str, u64)], b: &[(&str, u64)]| {
        let most = compared(&made(a), &made(b)).most_of_calls();
        most.map(|most| (most.work.does, most.a.count, most.b.count))
    };
    let (few, many) = (
        [("lstat a", 30), ("read a", 5)],
        [("lstat a", 900), ("read a", 50)],
    );
    let looked_up = |thing| Does::Calls {
        act: Act::LookUp,
        thing,
    };
    let of_a = looked_up(Thing::Path("/a".into()));
    assert_eq!(most(&few, &many), Some((of_a.clone(), 30, 900)));
    assert_eq!(most(&many, &few), Some((of_a, 900, 30)));
    let several = [("lstat a", 400), ("lstat b", 500), ("read a", 50)];
    let told = Some((looked_up(Thing::Several), 30, 900));
    assert_eq!(most(&few, &several), told);
    assert_eq!(most(&few, &[("lstat a", 300), ("read a", 275)]), None);
    assert_eq!(most(&few, &few), None);
}

/// As often, and each time it takes longer.
#[test]
fn slower_each_time() {
    let found = compared(&flushes(20, 2), &flushes(20, 7));
    let row = first(&found);
    assert_eq!(row.about, flush_of("rows.db"));
    assert_eq!(row.effect.change, Change::Slower);
    assert_eq!(row.effect.each_ns, Some(100_000_000));
    let back = compared(&flushes(20, 7), &flushes(20, 2));
    assert_eq!(first(&back).effect.change, Change::Faster);
}

const SLEEPER: &str = "process 1 job executable /opt/job
     thread 1.1 job
     call 1.1 clock_nanosleep count 1 ns 3s
     1.1: cpu 0..10ms | wait +3s sleep by timer call clock_nanosleep | cpu +5ms";
const AWAKE: &str = "process 1 job executable /opt/job
     thread 1.1 job
     call 1.1 getpid count 1 ns 1us
     1.1: cpu 0..15ms";

/// A wait of three seconds that the other side has not is new; the other way around it is gone.
#[test]
fn new_and_gone() {
    let found = compared(AWAKE, SLEEPER);
    let row = first(&found);
    assert_eq!(row.effect.change, Change::New);
    assert_eq!(row.difference_ns(), 3_000_000_000);
    let sleep = Difference::Work(Does::Calls {
        act: Act::Sleep,
        thing: Thing::Nothing,
    });
    assert_eq!(row.about, sleep);
    assert_eq!(first(&compared(SLEEPER, AWAKE)).effect.change, Change::Gone);
}

/// A against A: nothing differs, and all of it is aligned.
#[test]
fn nothing_differs_from_itself() {
    for text in [&flushes(20, 2), SLEEPER, FORKS, CODED] {
        let found = compared(text, text);
        assert!(found.rows.iter().all(|row| row.difference_ns() == 0));
        assert!(found
            .rows
            .iter()
            .all(|row| row.effect.change == Change::Same || row.difference_ns() == 0));
        assert_eq!(found.wall.difference_ns(), 0);
        assert!(found.aligned.a_share > 0.9, "{:?}", found.aligned);
        assert!(found.findings.iter().all(|(side, _)| *side == Side::Both));
        assert_eq!(found.prediction, None);
    }
}

const FORKS: &str = "process 1 sh executable /bin/sh
     thread 1.1 sh
     1.1: cpu 0..1ms
     for n in 2..21
     process {n} md5sum executable /usr/bin/md5sum parent 1
     thread {n}.1 md5sum parent 1.1
     {n}.1: cpu {12n}ms..{12n+8}ms
     1.1: wait {12n}ms..{12n+8}ms child by {n}.1 call wait4 | cpu +4ms
     end";

/// Where there are more processes of a program, all that they do is one difference, counted by processes.
#[test]
fn processes_are_counted() {
    let one = "process 1 sh executable /bin/sh
     thread 1.1 sh
     process 2 md5sum executable /usr/bin/md5sum parent 1
     thread 2.1 md5sum parent 1.1
     1.1: cpu 0..1ms | wait ..9ms child by 2.1 call wait4 | cpu +4ms
     2.1: cpu 1ms..9ms";
    let found = compared(FORKS, one);
    let row = first(&found);
    assert_eq!(
        (row.program.as_str(), &row.about),
        ("md5sum", &Difference::Processes)
    );
    assert_eq!((row.a.count, row.b.count), (Some(20), Some(1)));
    assert_eq!(row.effect.change, Change::LessOften);
}

const CODED: &str = "process 1 job executable /opt/job
     thread 1.1 job
     1.1: cpu 0..100ms
     for n in 1..50
     sample 1.1 {2n}ms weight 2ms stack \"main;load;parse\"
     end";

/// Time on a processor is told where the difference divides, by the functions on the way there.
#[test]
fn code_is_told_where_it_divides() {
    let slow = "process 1 job executable /opt/job
     thread 1.1 job
     1.1: cpu 0..400ms
     for n in 1..50
     sample 1.1 {2n}ms weight 2ms stack \"main;load;parse\"
     end
     for n in 51..200
     sample 1.1 {2n}ms weight 2ms stack \"main;load;check;is_known\"
     end";
    let found = compared(slow, CODED);
    let row = first(&found);
    let Difference::Work(Does::Code { chain }) = &row.about else {
        panic!("{row:?}");
    };
    assert_eq!(chain, &["main", "load", "check", "is_known"]);
    assert_eq!(row.effect.change, Change::Gone);
    // Samples say how the time divides: the last of them here stands for time that nobody sampled.
    assert!(row.difference_ns().abs_diff(-300_000_000) < 2_000_000);
}

/// Stacks stand beside each other by names, each with its own time on both sides; the first program may have another name.
#[test]
fn stacks_stand_beside_each_other() {
    let other = CODED
        .replace("/opt/job", "/opt/job2")
        .replace("load;parse", "load;scan");
    let tree = |text: &str| story(&recording(text), |story| Branch::of(story, Weights::Cpu));
    let aligned = compared(CODED, &other).aligned;
    let both = tree(CODED).beside(tree(&other), &aligned);
    let told: Vec<_> = both.stacks();
    let names: Vec<String> = told.iter().map(|(names, ..)| names.join(";")).collect();
    assert_eq!(names, ["job;main;load;parse", "job;main;load;scan"]);
    assert_eq!((told[0].1 > 0, told[0].2), (true, 0));
    assert_eq!((told[1].1, told[1].2), (0, told[0].1));
    let waits = story(&recording(CODED), |story| Branch::of(story, Weights::Waits));
    assert!(waits.stacks().is_empty());
}

/// A recording without stacks says which program was on a processor, and no more.
#[test]
fn without_stacks() {
    let found = compared(AWAKE, &AWAKE.replace("15ms", "40ms"));
    let row = first(&found);
    let silent = Difference::Work(Does::Code { chain: Vec::new() });
    assert_eq!((row.program.as_str(), &row.about), ("job", &silent));
    assert_eq!(row.effect.change, Change::Longer);
    assert!(!found.a.weather.has_stacks);
}

/// Where one side alone has stacks, its functions are not new, and the other's code is not gone.
#[test]
fn stacks_on_one_side_only() {
    let with =
        format!("{AWAKE}\nframe main module /bin/job\nsample 1.1 5ms weight 5ms stack \"main\"");
    for (a, b) in [(AWAKE, with.as_str()), (with.as_str(), AWAKE)] {
        let found = compared(a, &b.replace("15ms", "40ms"));
        assert_ne!(found.a.weather.has_stacks, found.b.weather.has_stacks);
        let code = found.rows.iter().filter(|row| {
            matches!(
                row.about,
                Difference::OtherCode | Difference::Work(Does::Code { .. })
            )
        });
        let changes: Vec<Change> = code.map(|row| row.effect.change).collect();
        assert_eq!(changes, [Change::Longer]);
    }
}

/// Where events were lost the path is not known: that is a part of its own, and no row.
#[test]
fn losses_are_not_attributed() {
    let lossy = "process 1 job executable /opt/job
     thread 1.1 job
     1.1: cpu 0..15ms | lost ..115ms | cpu +1ms";
    let found = compared(AWAKE, lossy);
    assert_eq!(found.not_attributed.difference_ns(), 100_000_000);
    assert_eq!(found.b.weather.unknown_ns, 100_000_000);
    assert!(found.rows.iter().all(|row| row.b.ns < 20_000_000));
}

/// Recordings of unlike work are known by how little of either is aligned; a slow and a fixed form are not.
#[test]
fn unlike_work() {
    let other = "process 1 server executable /opt/server
     thread 1.1 server
     object s \"tcp socket\" remote 10.0.0.7:443
     1.1: wait 0..300ms network receive s by network | cpu +1ms";
    let found = compared(&flushes(20, 20), other);
    assert!(found.aligned.is_unlike(), "{:?}", found.aligned);
    let found = compared(&flushes(40, 5), &flushes(2, 5));
    assert!(!found.aligned.is_unlike(), "{:?}", found.aligned);
}

/// The one peer of one side is that of the other, wherever it is.
#[test]
fn peers_are_aligned() {
    let asks = |address: &str, count: u64| {
        let mut text = format!(
            "process 1 client executable /opt/client
             thread 1.1 client
             object s \"tcp socket\" remote {address}
             call 1.1 recvfrom s count {count} ns {count}ms
             1.1: cpu 0..1ms"
        );
        for _ in 0..count {
            text.push_str("\n| wait +1ms network receive s by network call recvfrom | cpu +10us");
        }
        text
    };
    let found = compared(&asks("127.0.0.1:5432", 20), &asks("10.1.2.3:5433", 500));
    let row = first(&found);
    assert_eq!(row.effect.change, Change::MoreOften);
    assert_eq!((row.a.count, row.b.count), (Some(20), Some(500)));
    let renamed = found.aligned.renamed.get("127.0.0.1:5432");
    assert_eq!(renamed.map(String::as_str), Some("10.1.2.3:5433"));
}

/// The program that was started is the same work under another name; what it starts keeps its own.
#[test]
fn the_first_program_may_have_another_name() {
    let other = SLEEPER.replace("job", "job-in-python3.11");
    let found = compared(AWAKE, &other);
    assert_eq!(first(&found).program, "job");
    let other = first(&found).program_in_b.as_deref();
    assert_eq!(other, Some("job-in-python"));
    assert_eq!(found.aligned.renamed.len(), 1);
}

/// Requests of a client stand beside each other though its server listens elsewhere in B: how many, and how long one takes. So do
/// rounds of a loop.
#[test]
fn operations_are_aligned() {
    let asks = |port: u32, wait: &str| {
        format!(
            "run wall 2s
             process 1 client
             thread 1.1 tid 1 client
             object e epoll
             object s tcp socket local 10.0.0.1:41000 remote 10.0.0.1:{port}
             1.1: cpu 0..1ms
             for n in 1..20
             | cpu +500us | wait +{wait} poll e by network call epoll_wait result 1 woken_object s
             end
             call 1.1 connect s
             call 1.1 write s count 20 bytes 1280
             call 1.1 read s count 20 bytes 120000"
        )
    };
    let found = compared(&asks(8123, "400us"), &asks(9123, "42.9ms"));
    let asked = found.recurrences.iter().find(|one| {
        let what = &one.recurrence.what;
        matches!(what, RecurrenceKind::Operations { kind, .. } if *kind == Kind::Asked)
    });
    let asked = asked.expect("requests");
    let (a, b) = (asked.a.expect("in A"), asked.b.expect("in B"));
    assert_eq!((a.count, b.count), (20, 20));
    assert_eq!((a.p50_ns, b.p50_ns), (400_000, 42_900_000));
    assert_eq!(found.recurrences.first(), Some(asked));
    let itself = compared(&asks(8123, "400us"), &asks(8123, "400us"));
    assert!(
        itself.recurrences.iter().all(|one| one.a == one.b),
        "{:?}",
        itself.recurrences
    );
}

/// Several recordings a side: what lies within their spread is not called different.
#[test]
fn several_recordings_a_side() {
    let of =
        |each: &[u64]| -> Vec<Digest> { each.iter().map(|&ms| digest(&flushes(20, ms))).collect() };
    let found = Comparison::of(of(&[2, 3, 5]), of(&[3, 4, 6])).expect("both are there");
    assert!(found.wall.is_within_spread());
    assert!(first(&found).is_within_spread());
    assert_eq!(found.wall.a.recordings, 3);
    // Those in the middle stand for their sides.
    assert_eq!(first(&found).difference_ns(), 20_000_000);
    let found = Comparison::of(of(&[2, 3, 3]), of(&[7, 8, 9])).expect("both are there");
    assert!(!found.wall.is_within_spread() && !first(&found).is_within_spread());
    assert!(Comparison::of(of(&[2]), Vec::new()).is_none());
}

/// Findings that only the slower side has, with what they were predicted to save beside what was saved.
#[test]
fn predictions_are_held_against_what_came() {
    let fixed = flushes(2, 5).replace("0..10ms", "0..260ms");
    let found = compared(&flushes(400, 5), &fixed);
    let (side, flush) = found.findings.first().expect("the slow one has a finding");
    assert_eq!((*side, flush.rule), (Side::OnlyA, "flush-per-record"));
    let prediction = found.prediction.expect("it is gone");
    assert_eq!(prediction.measured_ns, 398 * 6_000_000 - 250_000_000);
    assert_eq!(prediction.verdict, Verdict::Inside, "{prediction:?}");
    // All that was done for the items may be gone. More is saved only where something else is gone, too; and of one that takes
    // as long all the same nothing is saved.
    let verdict = |slow: &str, fixed: &str| {
        let found = compared(slow, fixed);
        found.prediction.map(|prediction| prediction.verdict)
    };
    let slow = flushes(400, 5);
    assert_eq!(verdict(&slow, &flushes(2, 5)), Some(Verdict::Inside));
    let slow_to_start = slow.replace("0..10ms", "0..600ms");
    assert_eq!(verdict(&slow_to_start, &flushes(2, 5)), Some(Verdict::More));
    let busy = fixed.replace("0..260ms", "0..2s");
    assert_eq!(verdict(&slow, &busy), Some(Verdict::Less));
}

/// Calls that are made as often as each other on both sides are one difference: what is done for one item.
#[test]
fn what_is_done_together_is_told_together() {
    let asks = |count: u64| {
        format!(
            "process 1 client executable /opt/client
             thread 1.1 client
             object s \"tcp socket\" remote 127.0.0.1:8080
             call 1.1 connect s count {count} ns {count}ms
             call 1.1 shutdown s count {count} ns {count}ms
             call 1.1 recvfrom s count 900 ns 900us
             1.1: cpu 0..1ms
             for n in 1..{count}
             | wait +1ms network connect s by network call connect | cpu +10us
             | wait +400us network send s by network call shutdown | cpu +10us
             end
             | wait +1ms network receive s by network call recvfrom"
        )
    };
    let found = compared(&asks(900), &asks(1));
    let row = first(&found);
    assert_eq!(row.effect.change, Change::LessOften);
    assert_eq!((row.a.count, row.b.count), (Some(900), Some(1)));
}

/// Whatever was recorded, the parts add up to the difference to the nanosecond: each drawn pair of a set, both ways.
#[test]
fn parts_always_add_up() {
    let mut all = vec![
        AWAKE.to_owned(),
        SLEEPER.to_owned(),
        FORKS.to_owned(),
        CODED.to_owned(),
        flushes(3, 7),
        flushes(50, 1),
    ];
    // Lengths that no part divides evenly, from a simple generator: what rounding leaves over must not be lost.
    let mut seed = 20_261_123u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % most + 1
    };
    for _ in 0..12 {
        let mut text = String::from(
            "process 1 job executable /opt/job
             thread 1.1 job
             thread 1.2 worker parent 1.1
             call 1.1 write a.log count 7 ns 3us
             call 1.1 write b.log count 3 ns 1us
             frame __x64_sys_write kind kernel language kernel",
        );
        let mut at = 0;
        for _ in 0..8 {
            let (run, wait) = (next(9_999_999), next(9_999_999));
            let end = at + run;
            text.push_str(&format!(
                "\n1.1: cpu {at}ns..{end}ns | wait ..{}ns flush a.log by block device",
                end + wait
            ));
            for part in 0..next(6) {
                let moment = at + run * part / 7;
                let stack = ["main;f;g", "main;h", "main;f;__x64_sys_write"][next(3) as usize - 1];
                text.push_str(&format!(
                    "\nsample 1.1 {moment}ns weight {}ns stack \"{stack}\"",
                    next(2_999_999)
                ));
            }
            at = end + wait;
        }
        text.push_str(&format!("\n1.2: cpu 0..{}ns", next(at)));
        all.push(text);
    }
    let all: Vec<Digest> = all.iter().map(|text| digest(text)).collect();
    for a in &all {
        for b in &all {
            added_up(vec![a.clone()], vec![b.clone()]);
        }
    }
}
