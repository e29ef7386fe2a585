//! What the programs of this folder tell of their own tasks: seconds on the thread and seconds awaiting, by function.

use std::collections::BTreeMap;
use std::future::Future;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

type Sums = BTreeMap<&'static str, Duration>;

static ON_THREAD: Mutex<Sums> = Mutex::new(Sums::new());
static AWAITING: Mutex<Sums> = Mutex::new(Sums::new());

fn add(sums: &Mutex<Sums>, name: &'static str, began: Instant) {
    let took = began.elapsed();
    *sums.lock().unwrap().entry(name).or_default() += took;
}

/// A part of a task in which it does not await.
pub fn on_thread<T>(name: &'static str, part: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let value = part();
    add(&ON_THREAD, name, began);
    value
}

/// A part of a task in which it does nothing but await. A task is seen by its calls and by samples.
pub async fn awaiting<T>(name: &'static str, part: impl Future<Output = T>) -> T {
    let _ = std::os::unix::process::parent_id();
    let began = Instant::now();
    let value = part.await;
    add(&AWAITING, name, began);
    let _ = std::os::unix::process::parent_id();
    value
}

/// On CPU for that long by the clock.
pub fn compute(time: Duration) -> u64 {
    let began = Instant::now();
    let mut value = 0u64;
    while began.elapsed() < time {
        value = (0..200).fold(value, |sum, n| black_box(sum.wrapping_mul(31) + n));
    }
    value
}

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Until the recorder has seen that the program has tokio; it looks at a new program every 20 ms.
const SEEN: Duration = ms(100);

/// Runs a program on a runtime with two threads for tasks, or with the program's own one.
pub fn run(threads: usize, main: impl Future<Output = ()>) {
    use tokio::runtime::Builder;
    std::thread::sleep(SEEN);
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(main);
    drop(runtime);
    let told = |sums: &Mutex<Sums>| {
        let sums = sums.lock().unwrap();
        let lines = sums.iter().map(|(name, sum)| format!("\"{name}\": {}", sum.as_secs_f64()));
        lines.collect::<Vec<_>>().join(", ")
    };
    println!(
        "{{\"on_thread\": {{{}}}, \"awaiting\": {{{}}}}}",
        told(&ON_THREAD),
        told(&AWAITING)
    );
}
