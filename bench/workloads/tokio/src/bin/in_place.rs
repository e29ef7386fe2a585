//! A task blocks where it is, with the runtime's knowledge, while another one computes.

use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn loads() {
    for _ in 0..10 {
        on_thread("loads", || tokio::task::block_in_place(|| std::thread::sleep(ms(12))));
        awaiting("loads", tokio::time::sleep(ms(3))).await;
    }
}

async fn computes() {
    for _ in 0..60 {
        on_thread("computes", || compute(ms(2)));
        tokio::task::yield_now().await;
    }
}

fn main() {
    run(2, async {
        let all = [tokio::spawn(loads()), tokio::spawn(computes())];
        for one in all {
            one.await.unwrap();
        }
    });
}
