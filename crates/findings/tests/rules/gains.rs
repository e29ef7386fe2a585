//! What the cases of `cases/` save: the gain of each is known from how it is drawn.

use timesink_findings::rule::Limits;
use timesink_findings::sentence::Piece;
use timesink_recording::notation::recording;

use crate::cases::{case, cases};
use crate::drawn::{findings_of, told_of_text};

/// Each rule's gain on the recording that it fires on, in milliseconds.
#[test]
fn gains_of_cases() {
    for (rule, ms) in [
        ("flush-per-record", 500),
        ("fixed-delay", 1000),
        // What it slept too long, not all that it slept.
        ("sleep-polling", 76),
        ("small-writes", 588),
        ("tiny-reads", 599),
        // All but the longest of thirty waits of 20 ms, by a factor of few digits.
        ("responses-one-by-one", 579),
        // All that it stood behind the real-time thread: with a share of its CPU it would be less.
        ("real-time", 900),
        // Half of the function's time.
        ("busy", 500),
    ] {
        let told = told_of_text(&case(&format!("{rule}.fires")));
        assert_eq!(told.first(), Some(&(rule, ms)), "{told:?}");
    }
}

/// A loop that is blocked once more when hardly anybody is left is blocked as before, and gains by that, too: a case's gain was
/// missed because the last of 21 times did not count.
#[test]
fn a_loop_is_blocked_to_the_end() {
    let text = case("event-loop-blocked.fires");
    let told = findings_of(&recording(&text), &Limits::default()).told;
    let first = told.first().expect("it is told");
    assert_eq!(first.rule.name, "event-loop-blocked");
    // Five times 140 ms.
    assert!(first.gain.hi_ns > 650_000_000, "{:?}", first.gain);
}

/// What makes an interval wide is told, all of it.
#[test]
fn doubts_add_up_to_the_interval() {
    let firing = cases()
        .into_iter()
        .filter(|(name, _)| name.contains(".fires"));
    let mut wrong = Vec::new();
    for (name, text) in firing {
        for told in findings_of(&recording(&text), &Limits::default()).told {
            let (gain, of) = (told.gain, told.gain.doubts);
            let doubts = of.replay_ns + of.processors_ns + of.caches_ns + of.change_ns;
            let between = gain.hi_ns.abs_diff(gain.lo_ns);
            if doubts < between / 10 * 9 {
                wrong.push(format!("{name}: {} with {gain:?}", told.rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Of two functions with as much time the name says which is told, not the order in which they were recorded.
#[test]
fn functions_of_the_same_time_are_told_by_name() {
    let told = |first: &str, second: &str| {
        let text = format!(
            "run wall 1s\nprocess 1 a\nthread 1.1 tid 1 a\nframe {first}\nframe {second}\n1.1: cpu 0..1s\n\
             sample 1.1 400ms weight 500ms stack \"main;beta\"\n\
             sample 1.1 900ms weight 500ms stack \"main;alpha\"\n"
        );
        let findings = findings_of(&recording(&text), &Limits::default());
        let signatures = findings.told.into_iter().map(|told| told.signature);
        signatures.collect::<Vec<_>>()
    };
    assert_eq!(told("alpha", "beta"), ["busy in alpha"]);
    assert_eq!(told("beta", "alpha"), ["busy in alpha"]);
}

/// Where more than half of the path is on a processor, but longest in a function that waits, it is not that one that is
/// said to be busy.
#[test]
fn who_waits_longest_is_not_busy() {
    let text = "run wall 1s\nprocess 1 a\nthread 1.1 tid 1 a\n\
        1.1: cpu 0..550ms | wait ..1s network receive db by network call recvfrom stack \"main;listen\"\n\
        sample 1.1 300ms weight 300ms stack \"main;crunch\"\n\
        sample 1.1 500ms weight 200ms stack \"main;parse\"\n";
    let findings = findings_of(&recording(text), &Limits::default());
    let told = findings.told.iter().map(|told| told.signature.as_str());
    assert_eq!(told.collect::<Vec<_>>(), ["busy in crunch"]);
}

/// A journal that is made anew under the same name for each row, and flushed once each time, goes with the rows.
#[test]
fn a_journal_goes_with_its_rows() {
    let text = "run wall 1s
process 1 import
thread 1.1 tid 1 import
for n in 1..30
object journal-{n} file /t.db-journal
end
1.1: cpu 0..1ms
for n in 1..30
  | cpu +1ms | wait +5ms flush journal-{n} by block device call fsync | wait +10ms flush t.db by block device call fsync
end
for n in 1..30
call 1.1 fsync journal-{n} count 1 ns 5ms
call 1.1 write journal-{n} count 1 bytes 512
end
call 1.1 fsync t.db count 30 ns 300ms
call 1.1 write t.db count 30 bytes 3000
";
    assert_eq!(told_of_text(text), [("flush-per-record", 450)]);
    // The flushes of both were made, and both are counted: those of the journal were left out.
    let findings = findings_of(&recording(text), &Limits::default());
    let counted = findings.told[0]
        .suspect
        .title
        .0
        .iter()
        .find_map(|piece| match piece {
            Piece::Count(count) => Some(*count),
            _ => None,
        });
    assert_eq!(counted, Some(60));
}

/// A program that loads a table each time it is started also gives its memory back each time: at most that goes, too.
/// The end of processes was left out, and what a fix bought was more than the most that was predicted.
#[test]
fn memory_that_was_loaded_is_given_back() {
    let told = |end_ms: u64| {
        let mut text = String::from(
            "run wall 1s\nprocess 1 sh\nthread 1.1 tid 1 sh\nframe ksys_read kind kernel language kernel\n\
             object table.dat file table.dat size 1000000\n",
        );
        let mut waits = String::from("1.1: cpu 0..1ms");
        for number in 0..25 {
            let (process, from) = (number + 2, number * (21 + end_ms) + 2);
            let end = from + 20 + end_ms;
            text += &format!(
                "process {process} cgi parent 1 executable /bin/cgi\nthread {process}.1 tid {process} cgi parent 1.1\n\
                 {process}.1: cpu {from}ms..{}ms | cpu ..{end}ms \"exit tear-down\"\n\
                 sample {process}.1 {}ms weight 5ms stack \"main;load_table;ksys_read\"\n\
                 sample {process}.1 {}ms weight 10ms stack \"main;load_table;parse\"\n\
                 sample {process}.1 {}ms weight 5ms stack \"main;answer\"\n\
                 sample {process}.1 {end}ms weight {end_ms}ms kernel stack \"exit_mmap\"\n\
                 call {process}.1 openat table.dat count 1 ns 1ms\n\
                 call {process}.1 read table.dat count 10 ns 4ms bytes 1000000\n",
                from + 20,
                from + 5,
                from + 15,
                from + 20,
            );
            waits += &format!(" | cpu +1ms | wait ..{end}ms child c by {process}.1");
        }
        text += &waits;
        let findings = findings_of(&recording(&text), &Limits::default());
        let mut told = findings.told.into_iter();
        let gain = told.find(|told| told.rule.name == "file-read-again");
        gain.expect("it is told").gain
    };
    let (without, with) = (told(1), told(11));
    assert!(
        with.ns.abs_diff(without.ns) < 10_000_000,
        "{with:?}, {without:?}"
    );
    // All go but one, with the tables.
    assert!(
        with.hi_ns >= without.hi_ns + 220_000_000,
        "{with:?}, {without:?}"
    );
}

/// What says how long something took saves that at most, and what it stood in a queue of its own for. Without the latter a web server
/// that compressed each answer was told to save at most 25 %, and saved 99 %.
#[test]
fn what_is_no_fault_saves_at_most_its_own_time_and_its_own_queue() {
    let mut text = String::from(
        "run wall 1s processors 1
         process 1 pack
         thread 1.1 tid 1 pack
         thread 1.2 tid 2 pack parent 1.1
         1.1: cpu 0..10ms",
    );
    for _ in 0..49 {
        text += " | ready +10ms preempted occupant 1.2 10ms | cpu +10ms";
    }
    text += " | ready ..1000ms preempted occupant 1.2 10ms | cpu +1us exit\n1.2: cpu 10ms..20ms";
    for _ in 0..49 {
        text += " | ready +10ms preempted occupant 1.1 10ms | cpu +10ms";
    }
    for n in 0..100 {
        text += &format!(
            "\nsample 1.{} {}ms weight 10ms stack \"main;deflate\"",
            1 + n % 2,
            10 * n + 5
        );
    }
    let findings = findings_of(&recording(&text), &Limits::default());
    let mut told = findings.told.iter();
    let busy = told
        .find(|told| told.rule.name == "busy")
        .expect("it is busy");
    assert!(
        (499_000_000..501_000_000).contains(&busy.on_path_ns),
        "{busy:?}"
    );
    let (gain, own) = (busy.gain, busy.on_path_ns as i64);
    assert!(gain.ns <= own * 11 / 10, "{gain:?} of {own}");
    assert!(
        (900_000_000..=1_001_000_000).contains(&gain.hi_ns),
        "{gain:?}"
    );
    assert!(gain.wall_lo_ns <= gain.wall_ns, "{gain:?}");
    // What is waited for is no part of it, though threads that wait for its CPU would go on earlier, too.
    let text = text.replacen(
        "cpu 0..10ms |",
        "cpu 0..10ms | wait ..210ms sleep by timer |",
        1,
    );
    let text = text
        .replace("..1000ms", "..1200ms")
        .replace("wall 1s", "wall 1200ms");
    let findings = findings_of(&recording(&text), &Limits::default());
    let mut told = findings.told.iter();
    let busy = told.find(|told| told.rule.name == "busy");
    let most = busy.map(|busy| busy.gain.hi_ns);
    assert!(most.is_some_and(|most| most <= 1_001_000_000), "{most:?}");
}

/// What a database does on a CPU to commit goes with the commits: it was told as explained by nothing, beside the finding that said
/// what it is for.
#[test]
fn what_a_finding_takes_away_is_explained() {
    let text = case("flush-per-record.fires");
    let text = text
        .replace("cpu +1ms", "cpu +8ms")
        .replace("run wall 1s", "run wall 1.1s");
    let mut with_work = text.clone();
    for n in 0..50 {
        with_work += &format!(
            "sample 1.1 {}ms weight 8ms stack \"_start;main;load_file;insert_row;checksum\"\n",
            18 * n + 6
        );
    }
    with_work +=
        "site 1.1 fsync rows.db at 11ms occurrence 32 stack \"_start;main;load_file;insert_row\"\n";
    let findings = findings_of(&recording(&with_work), &Limits::default());
    assert_eq!(findings.told[0].rule.name, "flush-per-record");
    assert_eq!(findings.cleared, [], "{:?}", findings.told[0].suspect.fix);
    // What is done elsewhere stays unexplained.
    let elsewhere = with_work.replace("load_file;insert_row;checksum", "index_all");
    let findings = findings_of(&recording(&elsewhere), &Limits::default());
    assert_eq!(findings.told[0].rule.name, "flush-per-record");
    assert_eq!(findings.cleared.len(), 1, "{:?}", findings.cleared);
}

/// The gain of the first finding, which must be this rule's, in milliseconds: the least, the likely and the most.
fn gain_of(rule: &str, name: &str) -> [i64; 3] {
    let told = findings_of(&recording(&case(name)), &Limits::default()).told;
    let first = told.first().expect("it is told");
    assert_eq!(first.rule.name, rule);
    let gain = &first.gain;
    [gain.lo_ns, gain.ns, gain.hi_ns].map(|ns| ns / 1_000_000)
}

/// The waits of an event loop come one after the other in a replay: of 1.8 s that a lock cost in transactions of Node.js 0.08 were told.
#[test]
fn an_event_loop_waits_at_the_same_time_without_a_lock() {
    let [_, likely, most] = gain_of("database-lock", "database-lock.fires-event-loop");
    // Of twelve waits of 20 ms three at a time are left.
    assert!((140..=180).contains(&likely), "{likely}");
    assert!(most >= 200, "{most}");
}

/// An index saves nothing of a sum over all rows, and the sorting as well where it has them in order.
#[test]
fn an_index_may_save_nothing_or_more() {
    let [least, likely, _] = gain_of("table-scan", "table-scan.fires-sums");
    assert!(least == 0 && likely > 0, "{least} {likely}");
    let [_, likely, most] = gain_of("table-scan", "table-scan.fires-sorted");
    assert!(most > likely + likely / 2, "{likely} {most}");
}

/// What processes sleep is not saved by starting them less often: 16 tests in Perl that held a lock for 120 ms each, one after the other, were
/// told to spend 1.89 s on their start, of which 0.3 s were.
#[test]
fn who_sleeps_does_not_start() {
    let text = case("repeated-start-up.fires-sleepers");
    let told = findings_of(&recording(&text), &Limits::default()).told;
    let mut told = told.iter();
    let found = told.find(|told| told.rule.name == "repeated-start-up");
    // Twenty starts of 34 ms, and all of what each does on a CPU, but for the first.
    let gain = found.expect("it is told").gain;
    assert!(
        gain.ns < 700_000_000 && gain.hi_ns < 1_500_000_000,
        "{gain:?}"
    );
}

/// Of two files that are opened again and again one is another each time: the one that stays was told twice, word for word.
#[test]
fn a_file_is_told_once() {
    let text = case("file-read-again.fires");
    let text = text + "object log.txt file log.txt size 900000\ncall 1.1 openat log.txt count 100 ns 1ms\ncall 1.1 read log.txt count 100 ns 1ms bytes 900000\n";
    let told = findings_of(&recording(&text), &Limits::default()).told;
    let again = told
        .iter()
        .filter(|told| told.rule.name == "file-read-again");
    assert_eq!(again.count(), 1, "{told:#?}");
}
