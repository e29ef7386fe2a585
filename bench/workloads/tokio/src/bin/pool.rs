//! Sums are made in a pool of threads, and awaited one after the other.

use tokio_clocks::{awaiting, compute, ms, on_thread, run};

fn summed() -> u64 {
    on_thread("summed", || compute(ms(15)))
}

async fn login() {
    for _ in 0..10 {
        awaiting("login", tokio::task::spawn_blocking(summed)).await.unwrap();
    }
}

fn main() {
    run(2, async {
        tokio::spawn(login()).await.unwrap();
    });
}
