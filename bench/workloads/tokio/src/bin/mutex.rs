//! Four tasks take one lock in turn, and keep it over a sleep.

use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_clocks::{awaiting, ms, run};

async fn guarded(lock: Arc<Mutex<()>>) {
    for _ in 0..10 {
        awaiting("guarded", async {
            let _held = lock.lock().await;
            tokio::time::sleep(ms(5)).await;
        })
        .await;
    }
}

fn main() {
    run(2, async {
        let lock = Arc::new(Mutex::new(()));
        let all: Vec<_> = (0..4).map(|_| tokio::spawn(guarded(lock.clone()))).collect();
        for one in all {
            one.await.unwrap();
        }
    });
}
