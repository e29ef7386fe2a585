//! Rules about threads that wait for each other.

use timesink_live::{pair, pair_in, pair_of_go, pair_of_python, pair_of_ruby, root, Peer};

/// A lock that is held while its holder waits for a device, and one that is let go of before.
#[test]
fn hot_lock() {
    pair("hot-lock");
}

/// Threads that spin for one lock, and such that each have their own.
#[test]
fn spinning_lock() {
    pair("spinning-lock");
}

/// A lock that four threads take for each word, and once for all of them; in C and in Go.
#[test]
fn lock_per_item() {
    pair("lock-per-item");
}

#[test]
fn lock_per_item_of_go() {
    pair_of_go("lock-per-item");
}

/// Jobs given to a pool one at a time, and all at once.
#[test]
fn jobs_one_at_a_time() {
    pair("jobs-one-at-a-time");
}

/// A read-write lock that keeps a writer out as long as others read, and one that lets it in.
#[test]
fn starved_writer() {
    pair("starved-writer");
}

/// Two threads that meet after each round, one with much more to do, and with as much each.
#[test]
fn uneven_rounds() {
    pair("uneven-rounds");
}

/// Three processes of OpenMP, each with as many threads as there are CPUs, and with one.
#[test]
fn oversubscribed_pool() {
    pair("oversubscribed-pool");
}

/// Four threads of Python or Ruby that ask a peer under a lock, which is a condition to the kernel, and each as it likes.
#[test]
fn hot_lock_of_scripts() {
    let peer = Peer::at(10);
    for (interpreter, script) in [("/usr/bin/python3", "hot-lock.py"), ("ruby", "hot-lock.rb")] {
        let script = root().join("tests/live/programs/rules").join(script);
        let script = script.to_str().expect("its path");
        peer.pair_of("hot-lock", &[interpreter, script]);
    }
}

/// A lock that is held while a service responds, which sleeps in the same recording: the lock is why one waits for the other.
#[test]
fn hot_lock_over_a_service_that_sleeps() {
    pair_in("hot-lock", "hot-lock-service");
}

/// A lock on a file that four processes want, held while its holder waits for a device, and let go of before.
#[test]
fn file_lock() {
    pair("file-lock");
}

/// A lock that is held for long now and then, and the same long work after it is let go of.
#[test]
fn long_holder() {
    pair("long-holder");
}

/// A lock that is handed to whoever waits longest, and one that whoever comes first may have.
#[test]
fn lock_convoy() {
    pair("lock-convoy");
}

/// Four threads under one lock, and each under its own.
#[test]
fn false_pool() {
    pair("false-pool");
}

/// Four threads that compute in Python, and four that let go of Python's lock.
#[test]
fn false_pool_of_python() {
    pair_of_python("false-pool");
}

/// Four threads that compute in Ruby, and four processes.
#[test]
fn false_pool_of_ruby() {
    pair_of_ruby("false-pool");
}

/// One thread that prepares what others wait for, and one that they cannot keep up with.
#[test]
fn one_thread_bound() {
    pair("one-thread-bound");
}

/// A work that is shared unevenly, and one that is shared evenly.
#[test]
fn imbalance() {
    pair("imbalance");
}

/// The same shared by two processes of Python.
#[test]
fn imbalance_of_processes() {
    pair_of_python("imbalance");
}

/// The same shared by two goroutines.
#[test]
fn imbalance_of_goroutines() {
    pair_of_go("imbalance");
}

/// Threads that are joined before the next is started, and threads that are joined in the end.
#[test]
fn one_after_another() {
    pair("one-after-another");
}

/// Runs of a program that computes, one at a time and two at a time.
#[test]
fn one_after_another_of_programs() {
    pair_in("one-after-another", "one-after-another-programs");
}

/// Two threads that hand each other an item at a time, and a thousand.
#[test]
fn ping_pong() {
    pair("ping-pong");
}

/// A thread for each of 4,000 small pieces of work, or four for all of them.
#[test]
fn thread_per_item() {
    pair("thread-per-item");
}

/// Sixteen threads that are woken for each item, and one of them for each.
#[test]
fn thundering_herd() {
    pair("thundering-herd");
}

/// A server that handles one request at a time, and one with a thread for each.
#[test]
fn one_request_at_a_time() {
    let script = root().join("tests/live/programs/rules/one-request-at-a-time.py");
    let script = script.to_str().expect("its path");
    Peer::at(10).pair_of("one-request-at-a-time", &["/usr/bin/python3", script]);
}
