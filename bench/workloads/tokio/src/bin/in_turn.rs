//! Three tasks compute in slices of different lengths, in turn, on one thread.

use tokio_clocks::{compute, ms, on_thread, run};

async fn small() {
    for _ in 0..60 {
        on_thread("small", || compute(ms(2)));
        tokio::task::yield_now().await;
    }
}

async fn middle() {
    for _ in 0..60 {
        on_thread("middle", || compute(ms(4)));
        tokio::task::yield_now().await;
    }
}

async fn large() {
    for _ in 0..60 {
        on_thread("large", || compute(ms(8)));
        tokio::task::yield_now().await;
    }
}

fn main() {
    run(1, async {
        let all = [
            tokio::spawn(small()),
            tokio::spawn(middle()),
            tokio::spawn(large()),
        ];
        for one in all {
            one.await.unwrap();
        }
    });
}
