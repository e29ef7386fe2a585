//! Ten thousand short tasks.

use std::time::Duration;
use tokio_clocks::{compute, on_thread, run};

async fn short() {
    on_thread("short", || compute(Duration::from_micros(50)));
}

fn main() {
    run(2, async {
        let all: Vec<_> = (0..10_000).map(|_| tokio::spawn(short())).collect();
        for one in all {
            one.await.unwrap();
        }
    });
}
