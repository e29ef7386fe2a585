//! How far the tables of recordings unpack: rows and bytes of rows for each byte on disk, the most that any of the given
//! recordings has. The limits in `src/limits.rs` come from this.

use std::collections::BTreeMap;
use timesink_recording::tables::*;
use timesink_recording::{Recording, TableRow};

/// Bytes on disk, rows, and bytes of rows in memory.
type Sizes = (u64, u64, u64);

fn sizes<R: TableRow>(recording: &Recording) -> timesink_recording::Result<Sizes> {
    let entries = &recording.about().tables;
    let entry = entries.iter().find(|entry| entry.name == R::NAME);
    let mut unpacked = 0;
    recording.scan::<R>(|rows| {
        let heap: usize = rows.iter().map(R::heap_bytes).sum();
        unpacked += (heap + std::mem::size_of_val(rows)) as u64;
    })?;
    Ok(entry.map_or((0, 0, 0), |entry| (entry.bytes, entry.rows, unpacked)))
}

macro_rules! for_each {
    ($visit:ident) => {
        for_each!($visit: CallError CallHistogram CallSite CallWindow Call Delay Fact Frame Image Lookup Loss Module Object Occupant
            Outsider Probe Process Request Sample Span Stack Tag TagTurn Task TaskSight TaskTurn Thread Wait);
    };
    ($visit:ident: $($row:ident)+) => { $( $visit!($row); )+ };
}

fn main() {
    let mut most: BTreeMap<&str, (f64, f64, u64)> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let read = Recording::open(&path).and_then(|recording| {
            let mut all: Sizes = (0, 0, 0);
            macro_rules! add {
                ($row:ident) => {
                    let (bytes, rows, unpacked) = sizes::<$row>(&recording)?;
                    all = (all.0 + bytes, all.1 + rows, all.2 + unpacked);
                    let ratios = (rows as f64 / bytes as f64, unpacked as f64 / bytes as f64);
                    let entry = most.entry($row::NAME).or_default();
                    *entry = (
                        entry.0.max(ratios.0),
                        entry.1.max(ratios.1),
                        entry.2.max(rows),
                    );
                };
            }
            for_each!(add);
            Ok(all)
        });
        match read {
            Ok((bytes, rows, unpacked)) => println!(
                "{path}: {bytes} bytes, {rows} rows, unpacked {unpacked} bytes, {:.1} times",
                unpacked as f64 / bytes as f64
            ),
            Err(error) => println!("{path}: {error}"),
        }
    }
    println!("table                rows/byte  bytes/byte   most rows");
    for (name, (rows, bytes, count)) in most {
        println!("{name:20} {rows:>9.2} {bytes:>11.1} {count:>11}");
    }
}
