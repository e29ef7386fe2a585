//! What people write: settings, mutes, cases, and the notation of tests.

use std::fs;

use timesink_analysis::facts::Facts;
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation;

use super::ask;
use crate::coverage::reading_begins;
use crate::draws::Random;
use crate::mutate;

const LIMITS: &str =
    "[rules.flush-per-record]\nflushes = 50\nbytes = 1e3\n[rules.hot-lock]\ndisabled = true\n\
                      rules.busy.cpu = 0.25\n[rules.busy]\ncpu = 0x10\n";
const MUTES: &str =
    "[[mute]]\nsignature = \"busy in crunch\"\nreason = \"it computes\"\n\n[[mute]]\n\
                     signature = 'hot-lock*'\nreason = 'known'\nuntil = 2026-12-31\n";
const CASE: &str = "title = 'A case'\nsource = 'x'\npackages = ['a']\nsetup = ['true', 'false']\nports = [18411]\n\
                    longest_s = 5\n[[service]]\ncommand = 'sleep 1'\nready = 'true'\n[[form]]\nname = 'slow'\n\
                    command = ['sh', '-c', 'sleep 1']\ntold = { rule = 'round-trips', words = ['a'], fixed = 'fast' }\n\
                    work = { count = 10.0, unit = 'rows' }\n[[form]]\nname = 'fast'\ncommand = ['true']\nhealthy = true\n\
                    silent = ['busy']\n[[fact]]\nsays = 'a'\nsource = 'b'\nratio = ['slow', 'fast']\n";
const DRAWN: &str = r#"run wall 20ms threshold 50us exit 0 command import rows.csv
process 1 pid 100 import
process 2 pid 102 child
thread 1.1 tid 100 main kernel_cpu 640us
thread 1.2 tid 101 flusher parent 1.1
thread 2.1 tid 102 child
frame main module /opt/import file import.c line 120
object rows.db file /var/lib/rows.db
1.1: cpu 0..570us | wait 570us..13.65ms flush rows.db by block device call fsync stack "main;row;fsync"
   | ready ..13.67ms on 1 occupant 1.2 20us | cpu +20us tracer 400ns | cpu +50us exit tear-down
1.2: wait 0..13ms condition by outsider 4242 asked 13ms not_expired stack "start;wait" | cpu +670us tracer 3us
call 1.1 fsync rows.db count 1 ns 13.08ms
error 1.1 openat ENOENT count 3
histogram 1.1 fsync duration rows.db bucket 10 count 1
lookup 1 openat /etc/x ENOENT count 3
image 2 fork 1ms by 1.1 cost 200us
request 1.1 1ms..2ms write 4096 bytes 4096 device 8
outsider 4242 jbd2
for n in 1..30
2.1: cpu {n}ms..+10us | wait +900us sleep by timer
end
sample 1.1 100us weight 300us kernel address 18446744071578845184 stack "main;row;parse"
"#;

/// `timesink.toml` and `.timesink-ignore.toml`.
pub fn settings(random: &mut Random) {
    for (file, text) in [("timesink.toml", LIMITS), (".timesink-ignore.toml", MUTES)] {
        fs::write(file, changed(text, random)).expect("written");
    }
    ask(&["rules", "busy"]);
}

/// Some cases of a book, which are read and not run.
pub fn case(random: &mut Random) {
    let _ = fs::remove_dir_all("book");
    for number in 0..8 {
        let folder = format!("book/case-{number}");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(format!("{folder}/case.toml"), changed(CASE, random)).expect("written");
    }
    ask(&["casebook", "--book", "book", "list"]);
}

fn changed(text: &str, random: &mut Random) -> Vec<u8> {
    let mut changed = mutate::text(text, random).into_bytes();
    if random.once_in(3) {
        mutate::bytes(&mut changed, random);
    }
    changed
}

/// The notation may say with a panic that it does not understand; what it understands is analysed.
pub fn notation(random: &mut Random) {
    let text = mutate::text(DRAWN, random);
    fs::write("input.txt", &text).expect("written");
    reading_begins();
    let recording = match timesink_recording::caught(|| notation::recording(&text)) {
        Ok(recording) => recording,
        Err(told) if told.starts_with("notation") => return,
        Err(other) => panic!("{other}"),
    };
    if let Ok(facts) = Facts::of(&recording) {
        assert!(facts.ledger.threads.len() < 1000);
    }
    let _ = Timeline::of(&recording);
}
