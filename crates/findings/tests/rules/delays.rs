//! Sleeps: what each length of them saves, and what is lost by sleeping on.

use crate::cases::case;
use crate::drawn::told_of_text;

const ONE: &str = "run wall 1s\nprocess 1 import\nthread 1.1 tid 1 import\n";

/// Two lengths in turn are two causes, and each saves what it is itself, whatever else sleeps.
#[test]
fn fixed_delays_of_two_lengths() {
    let sleep = |ms: u32| {
        format!("cpu +9ms | wait +{ms}ms sleep by timer call nanosleep asked {ms}ms expired")
    };
    let both = format!("{} | {}", sleep(50), sleep(30));
    let text = format!(
        "{ONE}1.1: cpu 0..1ms | {}\n",
        [both.as_str(); 12].join(" | ")
    );
    assert_eq!(
        told_of_text(&text),
        [("fixed-delay", 600), ("fixed-delay", 360)]
    );
    let others: Vec<String> = (0..5).map(|n| sleep(100 + n * 50)).collect();
    let text = format!("{} | {} | cpu +9ms\n", text.trim_end(), others.join(" | "));
    assert_eq!(
        told_of_text(&text),
        [("fixed-delay", 600), ("fixed-delay", 360), ("asleep", 1000)]
    );
}

/// The longest of the sleeps are as much a delay as the others: the last twentieth of them was left out.
#[test]
fn the_latest_sleeps_count() {
    let sleep = |ms: u32| {
        format!(" | cpu +9ms | wait +{ms}ms sleep by timer call nanosleep asked 50ms expired")
    };
    let text = format!(
        "{ONE}1.1: cpu 0..1ms{}{}{}\n",
        sleep(50).repeat(18),
        sleep(53),
        sleep(56)
    );
    assert_eq!(told_of_text(&text), [("fixed-delay", 1009)]);
}

/// Who looks for the end of one thread, then starts another one and looks for the end of that, has two loops, not one
/// that is too long for either.
#[test]
fn two_workers_are_awaited_in_turn() {
    let sleeps = ["wait +100ms sleep by timer call nanosleep asked 100ms expired"; 6];
    let sleeps = sleeps.join(" | cpu +1ms | ");
    let text = format!(
        "{ONE}thread 1.2 tid 2 worker parent 1.1\nthread 1.3 tid 3 worker parent 1.1\n\
         1.1: cpu 0..1ms | {sleeps} | cpu +5ms | {sleeps} | cpu +5ms\n\
         1.2: cpu 1ms..530ms\n1.3: cpu 610ms..1140ms\n"
    );
    let told = told_of_text(&text);
    assert_eq!(told.first(), Some(&("sleep-polling", 152)), "{told:?}");
}

/// Two copies of a program that sleep alike were two causes, each with half of what not sleeping saves.
#[test]
fn copies_that_sleep_alike_are_one_cause() {
    let told = told_of_text(&case("asleep.fires-workers"));
    let asleep: Vec<_> = told.iter().filter(|(rule, _)| *rule == "asleep").collect();
    assert_eq!(asleep.len(), 1, "{told:?}");
    assert!(asleep[0].1 >= 1190, "{told:?}");
}

/// Who tries a lock each millisecond until it is free waits for the lock, not for the sleeps: half of the last one is lost each
/// time. All sleeps together were told as a delay, by this rule or the other, of programs that had been mended.
#[test]
fn looking_often_costs_little() {
    let told = told_of_text(&case("fixed-delay.silent-looks-often"));
    assert!(told.iter().all(|(rule, _)| *rule == "busy"), "{told:?}");
}

/// The same with long sleeps, in rows of different lengths: half of the last of each. In one row they may all be a delay.
#[test]
fn looking_seldom_costs_half_a_sleep_each_time() {
    let sleep = " | wait +30ms sleep by timer call nanosleep asked 30ms expired | cpu +1ms";
    let rows = |lengths: [usize; 7]| {
        let rows = lengths.map(|many| sleep.repeat(many) + " | cpu +15ms");
        format!("{ONE}1.1: cpu 0..1ms{}\n", rows.concat())
    };
    assert_eq!(
        told_of_text(&rows([2, 4, 3, 2, 5, 3, 4])),
        [("fixed-delay", 105)]
    );
    let one_row = format!("{ONE}1.1: cpu 0..1ms{}\n", sleep.repeat(23));
    assert_eq!(told_of_text(&one_row), [("fixed-delay", 690)]);
}

/// A short sleep after each line that is written is a delay, though little is done between two of them.
#[test]
fn short_sleeps_between_lines_are_delays() {
    let sleep = " | wait +2ms sleep by timer call nanosleep asked 2ms expired | cpu +50us";
    let sleeps = format!("{ONE}1.1: cpu 0..1ms{}\n", sleep.repeat(200));
    assert_eq!(told_of_text(&sleeps), []);
    let written = sleeps + "object log file /app.log\ncall 1.1 write log count 200 bytes 8000\n";
    assert_eq!(told_of_text(&written), [("fixed-delay", 400)]);
}
