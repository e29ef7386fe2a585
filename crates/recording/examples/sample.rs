//! Writes a small recording with stacks, for `tests/interop/check_recording.py` and for looking at one.
//!
//!     cargo run -p timesink-recording --example sample FOLDER

use timesink_recording::notation;
use timesink_recording::tables::Loss;
use timesink_recording::words::LossKind;

const TEXT: &str = r#"
    run wall 20ms threshold 50us exit 0 command import rows.csv
    process 1 pid 100 import arguments "import rows.csv"
    thread 1.1 tid 100 main kernel_cpu 640us
    thread 1.2 tid 101 flusher parent 1.1
    frame main module /opt/import file import.c line 120
    frame import_row module /opt/import file import.c line 80
    frame fsync module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame parse module /opt/import file parse.c line 14 inlined
    frame ?1 function "" module /opt/import offset 0x1200
    object rows.db file "/var/lib/Größe/rows.db"
    1.1: cpu 0..570us | wait 570us..13.65ms flush rows.db by block device call fsync stack "main;import_row;fsync"
       | ready ..13.67ms on 1 occupant 1.2 20us | cpu +20us tracer 400ns | cpu +50us exit tear-down
    1.2: wait 0..13ms condition by outsider 4242 asked 13ms not_expired stack "start;flusher;wait" | cpu +670us tracer 3us
    call 1.1 fsync rows.db count 1 ns 13.08ms
    outsider 4242 jbd2
    sample 1.1 100us weight 300us kernel address 0xffffffff81000000 stack "main;import_row;parse"
    sample 1.1 500us weight 300us stack "main;import_row;parse;?1"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: sample FOLDER")?;
    let mut draft = notation::draft(TEXT);
    draft.losses.push(Loss {
        kind: LossKind::CutShort,
        count: 1,
        note: "an example".to_owned(),
    });
    draft.write(folder.as_ref())?;
    Ok(())
}
