//! Runs a command on processors that are taken away now and then: `disturb COMMAND [ARGUMENT]...`, as root. Tests that hang
//! by a thread fail under it; see `make live-disturbed`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use libbpf_rs::ObjectBuilder;

/// For how long a processor is taken away at most.
const MOST_NS: &str = "16000000";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().expect("disturb COMMAND [ARGUMENT]...");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let object = here.join("../../target/disturb.bpf.o");
    let clang = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-c"])
        .arg(format!("-DMOST_NS={MOST_NS}"))
        .arg(here.join("examples/disturb.bpf.c"))
        .arg("-o")
        .arg(&object)
        .status();
    assert!(clang.expect("clang").success(), "clang cannot compile it");
    let opened = ObjectBuilder::default().open_file(&object);
    let loaded = opened.and_then(|opened| opened.load()).expect("BPF");
    let links: Vec<_> = loaded.progs_mut().map(|program| program.attach()).collect();
    assert!(links.iter().all(Result::is_ok), "{links:?}");
    let ended = Command::new(program)
        .args(words)
        .env(timesink_live::TAKEN_AWAY, MOST_NS)
        .status();
    let ended = ended.expect("it runs");
    let code = ended.code().or(ended.signal().map(|signal| 128 + signal));
    ExitCode::from(code.unwrap_or(1) as u8)
}
