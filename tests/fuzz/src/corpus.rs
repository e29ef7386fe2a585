//! What inputs are made from: small, real, and made anew each time, so that it cannot fall behind the formats.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::place;

/// Where it is.
pub fn path(name: &str) -> PathBuf {
    place().join("corpus").join(name)
}

/// One of its files.
pub fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap_or_else(|error| panic!("corpus {name}: {error}"))
}

/// The binary whose readers are tried, of the same build.
pub fn timesink() -> PathBuf {
    let own = std::env::current_exe().expect("where we are");
    own.with_file_name("timesink")
}

const SCRIPT: &str = "for i in $(seq 3000); do :; done; for i in 1 2 3; do /bin/true; done; cat /etc/passwd | sort | \
                      head -3; ls /nowhere; sleep 0.02 & wait";
const PROGRAM: &str = "#include <stdio.h>\nstatic inline int square(int a) { return a * a + printf(\"%d\", a); }\n\
                       int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += square(i); return s; }\n\
                       int main(int n, char **v) { return sum(n) + v[0][0]; }\n";

/// Programs, by how they are built: plain; older and packed debug information; C++; the tables of Go.
pub const PROGRAMS: [&str; 4] = ["program", "program-packed", "program-cc", "program-go"];
const PROGRAM_CC: &str = "#include <vector>\nnamespace space { template <class T> struct Sum { T sum = 0;\n\
                          __attribute__((noinline)) T add(const std::vector<T> &all) { for (auto &one : all)\n\
                          sum += [](T a) { return a * a; }(one); return sum; } }; }\n\
                          int main() { return space::Sum<int>().add({1, 2}) + space::Sum<long>().add({3}); }\n";
const PROGRAM_GO: &str = include_str!("../../../crates/capture/tests/unwind/go-table.s");

/// Builds them.
fn programs() {
    let sources = [
        ("program.c", PROGRAM),
        ("program.cc", PROGRAM_CC),
        ("program.s", PROGRAM_GO),
    ];
    for (name, text) in sources {
        fs::write(path(name), text).expect("a source");
    }
    for (to, from, flags) in [
        ("program", "program.c", "-g -O1"),
        ("program-packed", "program.c", "-g -gdwarf-4 -gz=zlib -O2"),
        ("program-cc", "program.cc", "-g -O1"),
        ("program-go", "program.s", "-shared -nostdlib"),
    ] {
        let mut compiler = Command::new(if from.ends_with(".cc") { "g++" } else { "gcc" });
        compiler.args(flags.split(' '));
        compiler.arg("-o").arg(path(to)).arg(path(from));
        run(&mut compiler, to);
    }
}

fn run(command: &mut Command, what: &str) {
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let ran = ran.unwrap_or_else(|error| panic!("{what}: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{what}: {}: {said}", ran.status);
}

/// Makes it: a recording, the same packed, a spool that a killed timesink left (for both, root is needed), and programs.
pub fn make() {
    let corpus = path("");
    let _ = fs::remove_dir_all(&corpus);
    fs::create_dir_all(&corpus).expect("a folder for the corpus");
    let record = |to: &str| {
        let mut command = Command::new(timesink());
        command.args(["run", "-q", "--rate", "2000", "--threshold", "1us", "-o"]);
        command.arg(path(to)).args(["--", "bash", "-c"]);
        command
    };
    run(
        record("real.timesink").arg(SCRIPT),
        "recording (as root, after make build)",
    );
    let packed = path("packed");
    let mut pack = Command::new(timesink());
    run(
        pack.arg("pack")
            .arg(path("real.timesink"))
            .arg("-o")
            .arg(packed),
        "pack",
    );
    let mut killed = record("killed.timesink")
        .arg(format!("{SCRIPT}; sleep 60"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it was started before");
    let start = Instant::now();
    let spool = path("killed.timesink/spool.bin");
    let length = || fs::metadata(&spool).map_or(0, |about| about.len());
    while length() < 4096 && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Another frame, in which more of it is told.
    std::thread::sleep(Duration::from_millis(700));
    killed.kill().expect("it is ours");
    killed.wait().expect("it is ours");
    assert!(length() >= 4096, "no spool came about");
    programs();
}
