//! Fifty tasks share ten places, and keep them for 20 ms each, on one thread.

use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_clocks::{awaiting, ms, run};

async fn limited(places: Arc<Semaphore>) {
    awaiting("limited", async {
        let _place = places.acquire().await.unwrap();
        tokio::time::sleep(ms(20)).await;
    })
    .await;
}

fn main() {
    run(1, async {
        let places = Arc::new(Semaphore::new(10));
        let all: Vec<_> = (0..50).map(|_| tokio::spawn(limited(places.clone()))).collect();
        for one in all {
            one.await.unwrap();
        }
    });
}
