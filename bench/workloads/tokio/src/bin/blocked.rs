//! A task sleeps and computes on the one thread while others answer every 10 ms.

use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn handle_upload() {
    for _ in 0..6 {
        on_thread("handle_upload", || {
            std::thread::sleep(ms(30));
            compute(ms(30))
        });
        awaiting("handle_upload", tokio::time::sleep(ms(50))).await;
    }
}

async fn answer() {
    for _ in 0..40 {
        on_thread("answer", || compute(std::time::Duration::from_micros(500)));
        awaiting("answer", tokio::time::sleep(ms(10))).await;
    }
}

fn main() {
    run(1, async {
        let all = [
            tokio::spawn(handle_upload()),
            tokio::spawn(answer()),
            tokio::spawn(answer()),
            tokio::spawn(answer()),
        ];
        for one in all {
            one.await.unwrap();
        }
    });
}
