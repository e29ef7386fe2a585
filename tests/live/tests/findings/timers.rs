//! Rules about times that somebody set.

use timesink_live::{
    pair, pair_of_erlang, pair_of_go, pair_of_python, pair_of_ruby, pair_with_peer,
};

/// Time-outs that end waits, and such that do not.
#[test]
fn expired_timeouts() {
    pair_with_peer("expired-timeouts", 1);
}

/// Servers in threads that look twice a second whether they are to end, and such that look often.
#[test]
fn slow_shutdown() {
    pair_of_python("slow-shutdown");
}

/// Pauses of one length, and of many.
#[test]
fn fixed_delay() {
    pair("fixed-delay");
}

/// The same in Ruby, whose interpreter waits for a descriptor or on a condition variable: that was told as `eventfd`.
#[test]
fn fixed_delay_of_ruby() {
    pair_of_ruby("fixed-delay");
}

/// Goroutines that sleep at the same time, so that their runtime sleeps for a few milliseconds at a time; and goroutines that wait with
/// a timeout for one that computes.
#[test]
fn asleep_in_goroutines() {
    pair_of_go("asleep");
}

/// A process of Erlang that sleeps between rounds, and one that waits for another, which computes.
#[test]
fn asleep_in_erlang() {
    pair_of_erlang("asleep");
}

/// Rounds on a schedule, and rounds with a pause of one length between them.
#[test]
fn paced() {
    pair("paced");
}

/// A loop that looks whether a thread is done, and a thread that is joined.
#[test]
fn sleep_polling() {
    pair_with_peer("sleep-polling", 1);
}

/// Pauses that grow after failures, and after what does not fail.
#[test]
fn retry_back_off() {
    pair_with_peer("retry-back-off", 1);
}

/// A sleep as the last act, and one in the midst.
#[test]
fn linger_at_exit() {
    pair("linger-at-exit");
}
