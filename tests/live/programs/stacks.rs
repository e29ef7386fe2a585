//! Known chains in Rust: main -> outer -> middle -> in_KIND, on a processor and in several kinds of wait, through
//! generics, closures and a trait object; in the first thread and in another.
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(30);

trait Kind {
    fn run(&self);
}

struct InCpu;
struct InSleep;
struct InSocket;
struct InCondition;
struct InFlush(String);

impl Kind for InCpu {
    #[inline(never)]
    fn run(&self) {
        let start = Instant::now();
        let mut sum = 0u64;
        while start.elapsed() < Duration::from_millis(300) {
            for i in 0..100_000u64 {
                sum = black_box(sum.wrapping_mul(31) + i);
            }
        }
        black_box(sum);
    }
}

impl Kind for InSleep {
    #[inline(never)]
    fn run(&self) {
        sleep(SHORT);
        black_box(());
    }
}

impl Kind for InSocket {
    #[inline(never)]
    fn run(&self) {
        let (mut own, mut other) = UnixStream::pair().unwrap();
        let writer = spawn(move || {
            sleep(SHORT);
            other.write_all(b"x").unwrap();
        });
        own.read_exact(&mut [0]).unwrap();
        writer.join().unwrap();
    }
}

impl Kind for InCondition {
    #[inline(never)]
    fn run(&self) {
        let (lock, never) = (Mutex::new(()), Condvar::new());
        let held = lock.lock().unwrap();
        drop(black_box(never.wait_timeout(held, SHORT).unwrap()));
    }
}

impl Kind for InFlush {
    #[inline(never)]
    fn run(&self) {
        let mut file = File::create(&self.0).unwrap();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_all().unwrap();
        black_box(file);
    }
}

#[inline(never)]
fn middle<T>(kind: &dyn Kind, after: impl Fn() -> T) -> T {
    kind.run();
    after()
}

#[inline(never)]
fn outer(folder: &str) {
    let kinds: [&dyn Kind; 5] = [
        &InCpu,
        &InSleep,
        &InSocket,
        &InCondition,
        &InFlush(format!("{folder}/flushed")),
    ];
    for kind in kinds {
        black_box(middle(kind, || black_box(1)));
    }
}

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    outer(&folder);
    spawn(move || outer(&folder)).join().unwrap();
}
