//! Where in the code a finding is seen: in which functions, and at which of their lines.

use timesink_recording::notation::recording;

use crate::cases::case;
use crate::drawn::{seen_of, Seen};

/// Functions of the program with their lines, the innermost first, and the signature, of what is told first.
fn first(name: &str) -> Seen {
    let seen = seen_of(&recording(&case(name)));
    seen.into_iter().next().expect("something is told")
}

fn at<const N: usize>(lines: [(&str, Option<u32>); N]) -> Vec<(String, Option<u32>)> {
    let lines = lines.into_iter();
    lines
        .map(|(function, line)| (function.to_owned(), line))
        .collect()
}

/// Each child is waited for once: it is the line that most of them were started in, not that of the first.
#[test]
fn most_children_are_started_in_this_line() {
    let seen = first("child-per-item.fires");
    assert_eq!(seen.lines, at([("sum_up", Some(10)), ("main", Some(37))]));
    // What the interpreter did there is not the same each time; the function of the script is.
    assert_eq!(seen.signature, "child-per-item in sum_up by bash");
}

/// An idle thread of Go's waits for the network since before the request is sent: the goroutine that awaits the response was left
/// meanwhile. Told was whatever was left before, of the library or of one that sleeps.
#[test]
fn an_idle_thread_waits_for_who_is_left_meanwhile() {
    let seen = first("round-trips.fires-goroutines");
    assert_eq!(
        seen.lines,
        at([("main.fetch", Some(23)), ("main.oneByOne", Some(36))])
    );
}

/// Two ways through the same functions are one, and the heavier tells the line; what called `main` is left out.
#[test]
fn the_heavier_of_two_lines() {
    let deflate = first("known-slow-function.fires");
    assert_eq!(deflate.lines, at([("pack", Some(33)), ("main", Some(70))]));
    let flushes = first("flush-per-record.fires");
    assert_eq!(
        flushes.lines,
        at([
            ("insert_row", Some(41)),
            ("load_file", Some(88)),
            ("main", None)
        ])
    );
}
