//! One task puts work into a short queue, two take it out.

use std::sync::Arc;
use tokio::sync::{mpsc, Mutex};
use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn producer(queue: mpsc::Sender<u32>) {
    for number in 0..60 {
        awaiting("producer", queue.send(number)).await.unwrap();
    }
}

async fn consumer(queue: Arc<Mutex<mpsc::Receiver<u32>>>) {
    loop {
        let item = queue.lock().await.recv().await;
        if item.is_none() {
            return;
        }
        on_thread("consumer", || compute(ms(4)));
        awaiting("consumer", tokio::time::sleep(ms(2))).await;
    }
}

fn main() {
    run(2, async {
        let (sender, receiver) = mpsc::channel(4);
        let receiver = Arc::new(Mutex::new(receiver));
        let all = [
            tokio::spawn(producer(sender)),
            tokio::spawn(consumer(receiver.clone())),
            tokio::spawn(consumer(receiver)),
        ];
        for one in all {
            one.await.unwrap();
        }
    });
}
