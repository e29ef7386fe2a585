//! Rules about processors: who has them, and who has none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use timesink_live::{attempts, none_of, pair, pair_of, pair_of_go, program, root, Told};

/// A calculation beside others that nobody waits for, and after them.
#[test]
fn no_processor() {
    pair("no-processor");
}

/// A program that computes, and one that waits as long.
#[test]
fn busy() {
    pair("busy");
}

/// Goroutines that compute on one of Go's processors, and on all.
#[test]
fn few_go_processors() {
    pair_of_go("few-go-processors");
}

/// A calculation with a quarter of a processor, and the same in a group without a limit.
#[test]
fn throttled() {
    let script = root().join("tests/live/programs/rules/throttled.sh");
    let script = script.to_str().expect("its path");
    pair_of(
        "throttled",
        &[],
        &["sh", script, "fires"],
        &["sh", script, "silent"],
    );
}

/// Threads of the test itself, one for each processor, that compute until this ends.
struct Beside {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Beside {
    fn start() -> Beside {
        let over = Arc::new(AtomicBool::new(false));
        let processors = std::thread::available_parallelism().expect("processors");
        let threads = (0..processors.get()).map(|_| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        let threads = threads.collect();
        Beside { over, threads }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A calculation with nice 7 beside others, and the same without nice.
#[test]
fn niced() {
    let _beside = Beside::start();
    pair("niced");
}

/// Threads for three times the processors, and for as many as there are. What they compute may be told before it: to compute less saves
/// as much as more processors do, and what it waits for them goes as well.
#[test]
fn oversubscribed() {
    let path = program("rules/oversubscribed");
    let path = path.to_str().expect("its path");
    attempts(|| {
        let told = Told::of(&[], &[path, "fires"]);
        let rules = told.rules();
        let others = rules.iter().filter(|rule| **rule != "busy");
        let is_next = others.take(1).eq(&["oversubscribed"]);
        none_of(&match is_next {
            true => Vec::new(),
            false => vec![told.summary()],
        })
    });
    attempts(|| none_of(&Told::of(&[], &[path, "silent"]).silent("oversubscribed")));
}

/// Two threads that are bound to one processor, and to one each.
#[test]
fn pinned() {
    pair("pinned");
}

/// Two programs on one processor, one of them nice to the other, and each where it likes.
#[test]
fn pinned_beside_one_that_is_nice() {
    let path = program("rules/busy");
    let path = path.to_str().expect("its path");
    let both = |bind: &str| format!("{bind} {path} fires & {bind} nice -n 15 {path} fires; wait");
    pair_of(
        "pinned",
        &[],
        &["sh", "-c", &both("taskset -c 0")],
        &["sh", "-c", &both("")],
    );
}

/// A calculation beside a real-time thread on each processor, and beside the same of the usual policy.
#[test]
fn real_time() {
    pair("real-time");
}

/// A program that was started on one processor alone: nobody in it asked for that.
#[test]
fn pinned_by_who_started_it() {
    let path = program("rules/pinned");
    let path = path.to_str().expect("its path");
    attempts(|| {
        let told = Told::of(&[], &["taskset", "-c", "0", path, "fires"]);
        none_of(&match told.rules().first() {
            Some(&"pinned") => Vec::new(),
            _ => vec![told.summary()],
        })
    });
}
