//! The program runs as it would without timesink: exit code, signals, streams, user, environment,
//! descriptors and terminal are its own.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use timesink_live::{number, output, timesink, Folder, Ran, Recorded, Running};

/// A quiet recording of a shell script.
fn run(folder: &Folder, script: &str) -> Command {
    let mut command = Command::new(timesink());
    command
        .args(["run", "-q", "-o"])
        .arg(folder.join("r.timesink"))
        .args(["--", "sh", "-c", script]);
    command
}

/// The recording that `run` made.
#[track_caller]
fn recorded(folder: &Folder, ran: Ran) -> Recorded {
    Recorded::open(&folder.join("r.timesink"), ran)
}

/// The exit code is the program's, and the recording has it too.
#[test]
fn exit_codes() {
    for code in [0, 3, 125, 255] {
        let folder = Folder::new("exit");
        let ran = output(&mut run(&folder, &format!("exit {code}"))).exits(code);
        assert_eq!(
            number(&recorded(&folder, ran).json, "exit_code"),
            i64::from(code)
        );
    }
}

/// A command that is not there is 127, one that is no program 126; both are said in one sentence, and
/// no recording is left behind.
#[test]
fn commands_that_cannot_be_run() {
    let folder = Folder::new("cannot");
    let plain = folder.join("plain");
    std::fs::write(&plain, "no program").expect("a file");
    for (command, code) in [
        ("timesink-no-such-command", 127),
        (plain.to_str().unwrap(), 126),
    ] {
        let recording = folder.join("r.timesink");
        let mut run = Command::new(timesink());
        let ran = output(
            run.args(["run", "-o"])
                .arg(&recording)
                .args(["--", command]),
        )
        .exits(code);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains(command), "{}", ran.err);
        assert!(!recording.exists(), "a recording of nothing");
    }
}

/// A program that a signal ends is 128 + the signal, and the recording is whole.
#[test]
fn deaths_by_signal() {
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV] {
        let folder = Folder::new("death");
        let ran = output(&mut run(
            &folder,
            &format!("ulimit -c 0; kill -{signal} $$"),
        ))
        .exits(128 + signal);
        let recorded = recorded(&folder, ran);
        assert_eq!(number(&recorded.json, "exit_signal"), i64::from(signal));
        assert_eq!(number(&recorded.json, "exit_code"), i64::from(128 + signal));
        assert_eq!(number(&recorded.json["ends"], "end_lost"), 0);
        assert!(recorded.json["mended"].is_null());
    }
}

/// What the program reads and writes passes untouched, byte by byte; the report goes to the errors.
#[test]
fn streams() {
    let folder = Folder::new("streams");
    let input: Vec<u8> = (0..300_000u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    std::fs::write(folder.join("in"), &input).expect("the input");
    let mut command = Command::new(timesink());
    command
        .args(["run", "-o"])
        .arg(folder.join("r.timesink"))
        .args(["--", "sh", "-c", "cat; echo only this >&2"]);
    command.stdin(std::fs::File::open(folder.join("in")).expect("the input"));
    let ran = Running::start(&mut command).end().exits(0);
    assert!(
        ran.out == input,
        "{} bytes came of {}",
        ran.out.len(),
        input.len()
    );
    assert!(ran.err.starts_with("only this\n"), "{}", ran.err);
    assert!(
        ran.err.contains("Checked: CPU"),
        "the report is there: {}",
        ran.err
    );

    let quiet = output(&mut run(&Folder::new("quiet"), "echo only this >&2")).exits(0);
    assert_eq!(quiet.err, "only this\n");
}

/// What a program says of itself: environment, folder, open descriptors, signal state, limits.
const SELF: &str = "env | grep -v -E '^(_|PWD|OLDPWD|SHLVL)=' | sort; pwd; ls /proc/self/fd | wc -l; \
                    grep -E '^(Sig|Shd|Cap|Seccomp|NoNew|Groups|Uid|Gid|Umask)' /proc/self/status | grep -v SigQ; \
                    ulimit -a; nice; ps -o pgid= -p $$ | wc -l";

/// Environment, folder, descriptors, signal masks, capabilities and limits are those without us, but for the
/// two variables that `runtimes.rs` is about.
#[test]
fn nothing_else_is_different() {
    let folder = Folder::new("same");
    let bare = output(
        Command::new("sh")
            .args(["-c", SELF])
            .env("A_WORD", "of ours"),
    );
    let ours = output(run(&folder, SELF).env("A_WORD", "of ours")).exits(0);
    let known = |line: &&str| !line.starts_with("JAVA_TOOL_OPTIONS=");
    let lines = |ran: &Ran| -> Vec<String> {
        let text = ran.text();
        text.lines().filter(known).map(str::to_string).collect()
    };
    assert_eq!(lines(&ours), lines(&bare));
    assert!(ours.text().contains("A_WORD=of ours"));
}

/// Under sudo the program runs as who called sudo, and the recording is theirs.
#[test]
fn the_user_behind_sudo() {
    let folder = Folder::of_plain_user("sudo");
    let mut command = run(&folder, "id -u; id -g; touch mine");
    command
        .env("SUDO_UID", "65534")
        .env("SUDO_GID", "65534")
        .env("SUDO_USER", "nobody");
    let ran = output(command.current_dir(folder.path())).exits(0);
    assert_eq!(ran.text(), "65534\n65534\n");
    let mut files = vec![folder.join("mine"), folder.join("r.timesink")];
    files.extend(
        std::fs::read_dir(folder.join("r.timesink"))
            .expect("it")
            .map(|e| e.expect("an entry").path()),
    );
    assert!(files.len() > 10);
    for file in &files {
        let about = std::fs::metadata(file).expect("about");
        assert_eq!(
            (about.uid(), about.gid()),
            (65534, 65534),
            "{}",
            file.display()
        );
    }
    assert_eq!(
        number(&recorded(&folder, ran).list("processes")[0], "uid"),
        65534
    );
}

/// SIGTERM, SIGINT and others sent to timesink reach the program, which decides; the recording is
/// finished and whole.
#[test]
fn signals_are_passed_on() {
    for (signal, name) in [
        (libc::SIGTERM, "TERM"),
        (libc::SIGINT, "INT"),
        (libc::SIGUSR1, "USR1"),
    ] {
        let folder = Folder::new("signal");
        let ready = folder.join("ready");
        // `wait` is interrupted by a signal with a trap; a sleep is not.
        let script = format!(
            "trap 'echo got {name}; kill $!; exit 7' {name}; sleep 20 & touch {}; wait",
            ready.display()
        );
        let mut command = run(&folder, &script);
        command.stdin(Stdio::null());
        let running = Running::start(&mut command);
        wait_for(|| ready.exists());
        running.signal(signal);
        let ran = running.end().exits(7);
        assert_eq!(ran.text(), format!("got {name}\n"));
        let recorded = recorded(&folder, ran);
        assert!(recorded.json["mended"].is_null());
        assert_eq!(number(&recorded.json, "exit_code"), 7);
    }
}

/// A program that does not care ends by the signal, as it would without us.
#[test]
fn a_signal_that_ends_the_program() {
    let folder = Folder::new("ends");
    let ready = folder.join("ready");
    let mut command = run(
        &folder,
        &format!("touch {}; exec sleep 20", ready.display()),
    );
    let running = Running::start(command.stdin(Stdio::null()));
    wait_for(|| ready.exists());
    running.signal(libc::SIGTERM);
    let ran = running.end().exits(128 + libc::SIGTERM);
    assert!(recorded(&folder, ran).json["mended"].is_null());
}

#[track_caller]
fn wait_for(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it did not come about within ten seconds");
}

/// On a terminal of its own: the program sees a terminal, and Ctrl-C reaches it once.
const TERMINAL: &str = r#"
import os, pty, sys, time, select
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said, sent, end = b"", False, time.time() + 30
while time.time() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    if b"ready" in said and not sent:
        time.sleep(0.2)
        os.write(fd, b"\x03")
        sent = True
status = os.waitpid(pid, 0)[1]
print(os.waitstatus_to_exitcode(status), said.count(b"INTERRUPTED"), said.count(b"terminal:yes"))
"#;

/// Ctrl-C at a terminal goes to the whole foreground: the program must get it from there or from
/// us, but once; and its streams are the terminal, of which it is in the foreground.
#[test]
fn control_c_at_a_terminal_comes_once() {
    let folder = Folder::new("terminal");
    let program = "import signal, sys, time, os\n\
                   seen = []\n\
                   signal.signal(signal.SIGINT, lambda *a: (seen.append(1), print('INTERRUPTED', flush=True)))\n\
                   print('terminal:yes' if os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp() else 'terminal:no', flush=True)\n\
                   print('ready', flush=True)\n\
                   end = time.time() + 1\n\
                   while time.time() < end: time.sleep(0.05)\n\
                   sys.exit(len(seen))\n";
    let recording = folder.join("r.timesink");
    let mut command = Command::new("python3");
    command
        .args(["-c", TERMINAL])
        .arg(timesink())
        .args(["run", "-q", "-o"])
        .arg(&recording)
        .args(["--", "python3", "-c", program]);
    let ran = output(&mut command).exits(0);
    assert_eq!(
        ran.text(),
        "1 1 1\n",
        "exit code, interruptions, a terminal in the foreground"
    );
    assert!(Recorded::open(&recording, ran).json["mended"].is_null());
}

/// Nobody of the recording's own is left behind, and no name of ours is among the processes of the
/// recording.
#[test]
fn only_the_program_is_recorded() {
    let folder = Folder::new("only");
    let ran = output(&mut run(&folder, "/bin/true; exec /bin/echo done")).exits(0);
    assert_eq!(ran.text(), "done\n");
    let recorded = recorded(&folder, ran);
    let names: BTreeSet<_> = recorded
        .list("processes")
        .iter()
        .map(|p| p["name"].to_string())
        .collect();
    assert_eq!(names, ["\"echo\"", "\"true\""].map(String::from).into());
}
