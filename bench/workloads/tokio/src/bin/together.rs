//! The same, all together.

use tokio::task::JoinSet;
use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn fetch() {
    awaiting("fetch", tokio::time::sleep(ms(20))).await;
    on_thread("fetch", || compute(ms(2)));
}

fn main() {
    run(2, async {
        let mut all = JoinSet::new();
        for _ in 0..20 {
            all.spawn(fetch());
        }
        while let Some(one) = all.join_next().await {
            one.unwrap();
        }
    });
}
