//! Tasks of tokio of several kinds, which measure themselves: on two threads, on the main thread (`LocalSet`), in the pool of threads
//! that may block, and in a thread that goes on with its task while another one takes its place.

use std::sync::Arc;
use tokio::sync::{mpsc, Semaphore};
use tokio::task::{block_in_place, spawn_blocking, spawn_local, yield_now, LocalSet};
use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn spinner() {
    for _ in 0..50 {
        on_thread("spinner", || compute(ms(3)));
        yield_now().await;
    }
}

async fn sleeper() {
    for _ in 0..30 {
        awaiting("sleeper", tokio::time::sleep(ms(5))).await;
    }
}

async fn limited(places: Arc<Semaphore>) {
    awaiting("limited", async {
        let _place = places.acquire().await.unwrap();
        tokio::time::sleep(ms(10)).await;
    })
    .await;
}

async fn producer(queue: mpsc::Sender<u32>) {
    for number in 0..40 {
        awaiting("producer", queue.send(number)).await.unwrap();
    }
}

async fn consumer(mut queue: mpsc::Receiver<u32>) {
    while queue.recv().await.is_some() {
        on_thread("consumer", || std::thread::sleep(ms(3)));
    }
}

async fn loads() {
    for _ in 0..10 {
        on_thread("loads", || block_in_place(|| std::thread::sleep(ms(8))));
        awaiting("loads", tokio::time::sleep(ms(2))).await;
    }
}

fn pooled() -> u64 {
    on_thread("pooled", || compute(ms(20)))
}

async fn local() {
    for _ in 0..10 {
        on_thread("local", || std::thread::sleep(ms(4)));
        awaiting("local", tokio::time::sleep(ms(6))).await;
    }
}

fn main() {
    run(2, async {
        let places = Arc::new(Semaphore::new(4));
        let (sender, receiver) = mpsc::channel(2);
        let mut all = vec![
            tokio::spawn(sleeper()),
            tokio::spawn(producer(sender)),
            tokio::spawn(consumer(receiver)),
            tokio::spawn(loads()),
        ];
        all.extend((0..3).map(|_| tokio::spawn(spinner())));
        all.extend((0..20).map(|_| tokio::spawn(limited(places.clone()))));
        let pool: Vec<_> = (0..4).map(|_| spawn_blocking(pooled)).collect();
        let set = LocalSet::new();
        set.run_until(async { spawn_local(local()).await.unwrap() }).await;
        for one in all {
            one.await.unwrap();
        }
        for one in pool {
            one.await.unwrap();
        }
    });
}
