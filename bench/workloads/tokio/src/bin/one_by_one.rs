//! Pages are fetched one after the other, which could be fetched together.

use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn fetch() {
    awaiting("fetch", tokio::time::sleep(ms(20))).await;
    on_thread("fetch", || compute(ms(2)));
}

fn main() {
    run(2, async {
        for _ in 0..20 {
            tokio::spawn(fetch()).await.unwrap();
        }
    });
}
