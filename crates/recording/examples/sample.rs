//! Writes a small recording, for `tests/interop/check_recording.py` and for looking at one.
//!
//!     cargo run -p timesink-recording --example sample FOLDER

use timesink_recording::notation;
use timesink_recording::tables::{Loss, Sample};
use timesink_recording::words::LossKind;
use timesink_recording::Nanos;

const TEXT: &str = r#"
    run wall 20ms threshold 50us exit 0 command import rows.csv
    process 1 pid 100 import arguments "import rows.csv"
    thread 1.1 tid 100 main kernel_cpu 640us
    thread 1.2 tid 101 flusher parent 1.1
    object rows.db file "/var/lib/Größe/rows.db"
    1.1: cpu 0..570us | wait 570us..13.65ms flush rows.db by block device call fsync result 0
       | ready ..13.67ms on 1 occupant 1.2 20us | cpu +20us tracer 400ns | cpu +50us exit tear-down
    1.2: wait 0..13ms condition by outsider 4242 asked 13ms not_expired | cpu +670us tracer 3us
    call 1.1 fsync rows.db count 1 ns 13.08ms
    outsider 4242 jbd2
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: sample FOLDER")?;
    let mut draft = notation::draft(TEXT);
    draft.samples.push(Sample {
        thread: draft.thread("1.1"),
        t: Nanos(100_000),
        processor: 0,
        kernel: true,
        address: 0xffff_ffff_8100_0000,
    });
    draft.losses.push(Loss {
        kind: LossKind::CutShort,
        count: 1,
        note: "an example".to_owned(),
    });
    draft.write(folder.as_ref())?;
    Ok(())
}
