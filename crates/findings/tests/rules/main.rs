//! The rules on drawn recordings: each on its cases in `cases/`, and some on what needs more than one recording.
//!
//! What needs more than a text in `cases/` has a file of its own here, one for each family of rules.

mod cases;
mod computing;
mod drawn;
mod floors;
mod threads;

use timesink_recording::notation::recording;

use drawn::told_of;

/// The rules that accuse something, what saves most first, and by how many milliseconds.
fn told(text: &str) -> Vec<(&'static str, i64)> {
    let mut told = all_told(text);
    told.retain(|(rule, _)| *rule != "busy");
    told
}

/// The same, and what accuses nobody.
fn all_told(text: &str) -> Vec<(&'static str, i64)> {
    told_of(&recording(text))
}

fn rules(text: &str) -> Vec<&'static str> {
    told(text).into_iter().map(|(rule, _)| rule).collect()
}

/// So many rounds of these spans, one after the other, after a first millisecond.
fn rounds(thread: &str, many: usize, round: &str) -> String {
    let round = vec![round; many].join(" | ");
    format!("{thread}: cpu 0..1ms | {round}\n")
}

const ONE: &str = "run wall 1s\nprocess 1 import\nthread 1.1 tid 1 import\n";

/// Fifty rows, each flushed.
#[test]
fn flush_per_record() {
    let spans = rounds(
        "1.1",
        50,
        "cpu +1ms | wait +10ms flush rows.db by block device call fsync",
    );
    let text = |bytes: &str| {
        format!("{ONE}{spans}call 1.1 fsync rows.db count 50 ns 500ms\ncall 1.1 write rows.db count 50 bytes {bytes}\n")
    };
    assert_eq!(told(&text("5000")), [("flush-per-record", 500)]);
    // Who flushes each 10 MB does not flush too often.
    assert_eq!(rules(&text("500000000")), [""; 0]);
    // And who flushed three times, however long that took.
    let few = rounds(
        "1.1",
        3,
        "cpu +1ms | wait +100ms flush rows.db by block device call fsync",
    );
    let few = format!("{ONE}{few}call 1.1 fsync rows.db count 3 ns 300ms\ncall 1.1 write rows.db count 3 bytes 300\n");
    assert_eq!(rules(&few), [""; 0]);
}

/// Twenty sleeps of the same length; and sleeps of many lengths, which somebody reckoned.
#[test]
fn fixed_delay() {
    let same = rounds(
        "1.1",
        20,
        "cpu +30ms | wait +50ms sleep by timer call clock_nanosleep asked 50ms expired",
    );
    assert_eq!(told(&format!("{ONE}{same}")), [("fixed-delay", 1000)]);
    let unlike: Vec<String> = (0..20)
        .map(|n| {
            format!(
                "cpu +30ms | wait +{}ms sleep by timer call clock_nanosleep asked {}ms expired",
                20 + n * 3,
                20 + n * 3
            )
        })
        .collect();
    let unlike = format!("{ONE}1.1: cpu 0..1ms | {}\n", unlike.join(" | "));
    assert_eq!(rules(&unlike), [""; 0]);
}

/// Two lengths in turn are two causes, and each saves what it is itself, whatever else sleeps.
#[test]
fn fixed_delays_of_two_lengths() {
    let sleep = |ms: u32| {
        format!("cpu +9ms | wait +{ms}ms sleep by timer call nanosleep asked {ms}ms expired")
    };
    let both = format!("{} | {}", sleep(50), sleep(30));
    let text = format!("{ONE}{}", rounds("1.1", 12, &both));
    assert_eq!(told(&text), [("fixed-delay", 600), ("fixed-delay", 360)]);
    let others: Vec<String> = (0..5).map(|n| sleep(100 + n * 50)).collect();
    let text = format!("{} | {} | cpu +9ms\n", text.trim_end(), others.join(" | "));
    assert_eq!(told(&text), [("fixed-delay", 600), ("fixed-delay", 360)]);
}

/// Who sleeps until another thread is done loses what it slept too long, not all that it slept.
#[test]
fn sleep_polling() {
    let polling = |done: &str| {
        let sleeps = ["wait +100ms sleep by timer call nanosleep asked 100ms expired"; 6]
            .join(" | cpu +1ms | ");
        format!(
            "{ONE}thread 1.2 tid 2 worker parent 1.1\n1.1: cpu 0..1ms | {sleeps} | cpu +5ms\n1.2: cpu 1ms..{done} | wait ..611ms condition more\n"
        )
    };
    assert_eq!(told(&polling("530ms")), [("sleep-polling", 76)]);
    // Nothing was done in the last round: that is a delay, if it is anything.
    assert_eq!(rules(&polling("200ms")), [""; 0]);
}

/// Forty questions to a database, and one long answer of it.
#[test]
fn round_trips() {
    let spans = rounds(
        "1.1",
        40,
        "cpu +1ms | wait +5ms network receive db by network call recvfrom",
    );
    let text = |sends: u32, bytes: &str| {
        format!("{ONE}object db \"tcp socket\" 10.0.0.1:5432\n{spans}call 1.1 sendto db count {sends} bytes 2000\ncall 1.1 recvfrom db count 40 bytes {bytes}\n")
    };
    assert_eq!(rules(&text(40, "4000")), ["round-trips"]);
    // A large file that comes in pieces; a peer that is only listened to.
    assert_eq!(rules(&text(40, "400000000")), [""; 0]);
    assert_eq!(rules(&text(1, "4000")), [""; 0]);
    // A server that waits for its client's next question.
    let served = text(40, "4000") + "call 1.1 accept4 db count 1\n";
    assert_eq!(rules(&served), [""; 0]);
}

/// A time-out that runs out five times, and one that mostly does not.
#[test]
fn expired_timeouts() {
    let expired = "cpu +1ms | wait +100ms poll peer by timer call poll asked 100ms expired";
    let came = "cpu +1ms | wait +90ms poll peer by network call poll asked 100ms not_expired";
    let object = "object peer \"tcp socket\" 10.0.0.1:53\n";
    let text = |round: &str, many| format!("{ONE}{object}{}", rounds("1.1", many, round));
    assert_eq!(rules(&text(expired, 5)), ["expired-timeouts"]);
    assert_eq!(rules(&text(came, 5)), [""; 0]);
}

/// A lock waited for again and again; and once for long.
#[test]
fn hot_lock() {
    let text = |many: usize| {
        let mut waits = String::new();
        let mut holds = String::new();
        for _ in 0..many {
            waits += " | cpu +1ms | wait +9ms lock l by 1.2 call futex";
            holds += " | cpu +10ms";
        }
        format!("{ONE}thread 1.2 tid 2 other parent 1.1\n1.1: cpu 0..1ms{waits}\n1.2: cpu 0..1ms{holds}\n")
    };
    assert_eq!(rules(&text(30))[..1], ["hot-lock"]);
    assert!(!rules(&text(5)).contains(&"hot-lock"));
}

/// A program that computes is told to be busy, and is accused of nothing.
#[test]
fn busy() {
    let mut text = format!("{ONE}1.1: cpu 0..1s\n");
    for at in 0..10 {
        text += &format!(
            "sample 1.1 {}ms weight 100ms stack \"main;crunch\"\n",
            at * 100 + 50
        );
    }
    assert_eq!(all_told(&text), [("busy", 500)]);
    assert_eq!(rules(&text), [""; 0]);
}

/// Half of the time behind another program, and a moment now and then.
#[test]
fn no_processor() {
    let text = |ready: &str| {
        let spans = rounds(
            "1.1",
            10,
            &format!("cpu +50ms | ready +{ready} preempted on 0 occupant outsider 99 {ready}"),
        );
        format!("{ONE}outsider 99 backup\n{spans}")
    };
    assert_eq!(rules(&text("50ms")), ["no-processor"]);
    assert_eq!(rules(&text("2ms")), [""; 0]);
}
