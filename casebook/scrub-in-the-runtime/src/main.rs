//! A service of tokio: it answers requests, and a scrub looks meanwhile whether old blocks are still whole.
//!
//!     service runtime|blocking REQUESTS
//!
//! runtime: the scrub is a task like the others, and checks a block a byte at a time without giving way. blocking: the pool for
//! what blocks does it, with the processor's instruction.

use std::sync::Arc;
use std::time::{Duration, Instant};

const BLOCKS: usize = 4;
const LENGTH: usize = 16 << 20;
const CLIENTS: usize = 8;

/// The polynomial of CRC-32, and each byte's part of it.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

struct Store {
    blocks: Vec<Vec<u8>>,
    sums: Vec<u32>,
}

impl Store {
    fn new() -> Store {
        let block = |seed: usize| (0..LENGTH).map(|at| (at * (seed + 3) >> 5) as u8).collect();
        let blocks: Vec<Vec<u8>> = (0..BLOCKS).map(block).collect();
        let sums = blocks.iter().map(|block| crc32fast::hash(block)).collect();
        Store { blocks, sums }
    }
}

#[inline(never)]
fn crc_by_table(block: &[u8]) -> u32 {
    let add = |crc: u32, byte: &u8| crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize];
    !block.iter().fold(!0, add)
}

async fn scrub(store: Arc<Store>, blocking: bool) {
    for number in (0..BLOCKS).cycle() {
        let crc = if blocking {
            let store = store.clone();
            let checking = tokio::task::spawn_blocking(move || crc32fast::hash(&store.blocks[number]));
            checking.await.expect("the check ends")
        } else {
            crc_by_table(&store.blocks[number])
        };
        assert_eq!(crc, store.sums[number], "a block is damaged");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn answer(store: &Store, number: usize) -> u32 {
    tokio::time::sleep(Duration::from_millis(1)).await; // another service is asked
    let row = number % 1000 * 64;
    crc32fast::hash(&store.blocks[number % BLOCKS][row..row + 64])
}

async fn client(store: Arc<Store>, requests: usize) -> Vec<Duration> {
    let mut took = Vec::with_capacity(requests);
    for number in 0..requests {
        let began = Instant::now();
        answer(&store, number).await;
        took.push(began.elapsed());
    }
    took
}

async fn serve(blocking: bool, requests: usize) {
    let store = Arc::new(Store::new());
    let scrubbing = tokio::spawn(scrub(store.clone(), blocking));
    let start = |_| tokio::spawn(client(store.clone(), requests / CLIENTS));
    let clients: Vec<_> = (0..CLIENTS).map(start).collect();
    let mut took = Vec::with_capacity(requests);
    for client in clients {
        took.extend(client.await.expect("a client ends"));
    }
    scrubbing.abort();
    took.sort();
    let (p50, p99) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!("{} requests, p50 {p50:?}, p99 {p99:?}", took.len());
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let form = arguments.next();
    let requests = arguments.next().and_then(|requests| requests.parse().ok());
    let (Some(form @ ("runtime" | "blocking")), Some(requests @ CLIENTS..)) = (form.as_deref(), requests) else {
        eprintln!("usage: service runtime|blocking REQUESTS");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(serve(form == "blocking", requests));
}
