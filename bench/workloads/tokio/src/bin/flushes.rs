//! A task flushes each record to disk, on a thread of the runtime; another one ticks.

use std::fs::{remove_file, File};
use std::io::Write;
use tokio_clocks::{awaiting, ms, on_thread, run};

async fn writer(mut log: File) {
    for number in 0..100 {
        on_thread("writer", || {
            writeln!(log, "record {number}").unwrap();
            log.sync_all().unwrap();
        });
        awaiting("writer", tokio::time::sleep(ms(2))).await;
    }
}

async fn ticker() {
    for _ in 0..50 {
        awaiting("ticker", tokio::time::sleep(ms(5))).await;
    }
}

fn main() {
    let log = File::create("log").unwrap();
    remove_file("log").unwrap();
    run(1, async {
        let all = [tokio::spawn(writer(log)), tokio::spawn(ticker())];
        for one in all {
            one.await.unwrap();
        }
    });
}
