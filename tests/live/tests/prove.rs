//! Which of the facts that differ makes the difference: the command is run with one of them at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use timesink_live::{output, timesink, Folder, Group, PLAIN_USER};

/// timesink as root, or as the plain user who called sudo.
fn command(folder: &Folder, by_sudo: bool) -> Command {
    let mut command = Command::new(timesink());
    command
        .current_dir(folder.path())
        .env("HOME", folder.path());
    command.env_remove("SUDO_UID").env_remove("SUDO_GID");
    if by_sudo {
        command.env("SUDO_UID", PLAIN_USER.to_string());
        command.env("SUDO_GID", PLAIN_USER.to_string());
    }
    command
}

/// Sleeps as long as its configuration says, in a folder of its own, with a variable that nobody looks at.
fn record(folder: &Folder, by_sudo: bool, name: &str, seconds: &str) {
    let own = folder.join(name);
    fs::create_dir(&own).expect("a folder");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("chmod");
    let file = own.join("pace.conf");
    fs::write(&file, format!("{seconds}\n")).expect("a file");
    let mut run = command(folder, by_sudo);
    run.env("LC_PAPER", name);
    run.args([
        "run",
        "-q",
        "--keep-files",
        "-o",
        &format!("{name}.timesink"),
        "--",
    ]);
    let script = "read -r pace < \"$0\"; sleep \"$pace\"";
    output(run.args(["sh", "-c", script]).arg(&file)).exits(0);
}

#[track_caller]
fn proven(folder: &Folder, by_sudo: bool) -> String {
    let mut prove = command(folder, by_sudo);
    prove.args([
        "prove",
        "--yes",
        "--margin",
        "50%",
        "a.timesink",
        "b.timesink",
    ]);
    output(&mut prove).exits(0).text()
}

fn left_over(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names = entries.map(|entry| entry.expect("an entry").file_name());
    names.any(|name| name.to_string_lossy().starts_with("timesink-prove"))
}

/// The line of the file is what makes the difference, and the variable is not; both as root and for who called sudo, in a
/// namespace of its own: the file itself stays as it is.
#[test]
fn the_file_that_makes_the_difference() {
    for by_sudo in [false, true] {
        let folder = Folder::of_plain_user("prove");
        record(&folder, by_sudo, "a", "0.05");
        record(&folder, by_sudo, "b", "0.25");
        let text = proven(&folder, by_sudo);
        let line = |word: &str| text.lines().find(|line| line.contains(word));
        let file = line("pace.conf").unwrap_or_else(|| panic!("{text}"));
        assert!(file.trim_start().starts_with("confirmed"), "{text}");
        let variable = line("LC_PAPER").unwrap_or_else(|| panic!("{text}"));
        assert!(variable.trim_start().starts_with("excluded"), "{text}");
        let there = fs::read_to_string(folder.join("a/pace.conf")).expect("the file");
        assert_eq!(there, "0.05\n");
        assert!(!left_over(&std::env::temp_dir()));
    }
}

/// Both recordings are of the same path, which was edited in between: what stands there now is B's. The runs as in A were those of B
/// then, and the file that makes all the difference was excluded.
#[test]
fn the_file_was_edited_in_place() {
    let folder = Folder::of_plain_user("prove-edited");
    let file = folder.join("pace.conf");
    for (name, seconds) in [("a", "0.05"), ("b", "0.25")] {
        fs::write(&file, format!("{seconds}\n")).expect("a file");
        let mut run = command(&folder, false);
        run.args(["run", "-q", "--keep-files", "-o"]);
        run.args([&format!("{name}.timesink"), "--", "sh", "-c"]);
        let script = "read -r pace < pace.conf; sleep \"$pace\"";
        output(run.arg(script)).exits(0);
    }
    let text = proven(&folder, false);
    let line = text.lines().find(|line| line.contains("pace.conf"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.trim_start().starts_with("confirmed"), "{text}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "0.25\n");
}

/// A server that keeps a connection for half a second after its answer if one line of its configuration says so.
const SERVER: &str = r#"
import os, socket
keeps = "KeepAlive On" in open("server.conf").read().splitlines()
listening = socket.socket(socket.AF_UNIX)
listening.bind("socket")
listening.listen()
print("ready", flush=True)
connection, _ = listening.accept()
connection.recv(100)
connection.sendall(b"an answer")
if keeps:
    connection.settimeout(0.5)
    try:
        connection.recv(100)
    except TimeoutError:
        pass
connection.close()
"#;
/// Starts it, and reads what it answers until it closes.
const CLIENT: &str = r#"
import os, socket, subprocess, sys
server = subprocess.Popen([sys.executable, "server.py"], stdout=subprocess.PIPE)
server.stdout.readline()
asked = socket.socket(socket.AF_UNIX)
asked.connect("socket")
os.unlink("socket")
asked.sendall(b"a question")
while asked.recv(100):
    pass
server.wait()
"#;

/// Two servers differ in one line of their configuration, and in twenty facts that change nothing: the line is told first of what
/// differs, and is confirmed; none of the others is.
#[test]
fn one_line_among_twenty_harmless_facts() {
    let folder = Folder::of_plain_user("prove-servers");
    fs::write(folder.join("server.py"), SERVER).expect("the server");
    fs::write(folder.join("client.py"), CLIENT).expect("the client");
    for (name, keeps) in [("a", "Off"), ("b", "On")] {
        let lines = format!("Listen 80\nKeepAlive {keeps}\nTimeout 60\n");
        fs::write(folder.join("server.conf"), lines).expect("its configuration");
        let mut run = command(&folder, false);
        for n in 0..18 {
            run.env(format!("HARMLESS_{n}"), format!("{name}{n}"));
        }
        run.env("LC_PAPER", name).env("PYTHONHARMLESS", name);
        // A loaded machine would have calls left out, and with them files that are opened meanwhile.
        run.args(["run", "-q", "--exact", "--keep-files", "-o"]);
        run.arg(format!("{name}.timesink"));
        output(run.args(["--", "python3", "client.py"])).exits(0);
    }
    let mut env = command(&folder, false);
    let told = output(env.args(["env", "--json", "a.timesink", "b.timesink"])).exits(0);
    let told: Value = serde_json::from_str(&told.text()).expect("JSON");
    let first = told["environment"]["differences"]
        .as_array()
        .expect("what differs");
    let first = first.iter().take(3);
    let mut names = first.map(|fact| fact["key"].as_str().expect("its key"));
    assert!(
        names.any(|name| name.ends_with("server.conf")),
        "{:#}",
        told["environment"]["differences"]
    );
    let text = proven(&folder, false);
    let confirmed = text.lines().filter(|line| line.contains("confirmed"));
    let confirmed: Vec<&str> = confirmed.collect();
    assert_eq!(confirmed.len(), 1, "{text}");
    assert!(confirmed[0].contains("server.conf"), "{text}");
}

/// A file that is opened while calls are not timed is seen all the same where the kernel has kprobes. Where it has none, nobody says
/// that it was not used: that only one of two runs has it was told of a busy server's configuration.
#[test]
fn a_file_that_is_opened_while_calls_are_not_timed() {
    let folder = Folder::of_plain_user("prove-unseen");
    let many = "dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null";
    let script = format!("{many}; cat pace.conf; {many}");
    for (name, pace, timed) in [("a", "1", "--budget=0.1"), ("b", "2", "--exact")] {
        fs::write(folder.join("pace.conf"), format!("{pace}\n")).expect("a file");
        let mut run = command(&folder, false);
        run.args(["run", "-q", timed, "--keep-files", "-o"]);
        run.args([&format!("{name}.timesink"), "--", "sh", "-c", &script]);
        output(&mut run).exits(0);
    }
    let mut report = command(&folder, false);
    let told = output(report.args(["report", "--json", "a.timesink"])).exits(0);
    let told: Value = serde_json::from_str(&told.text()).expect("JSON");
    let timed = told["cost"]["calls_timed_ns"].as_u64().expect("a time");
    assert!(timed < told["wall_ns"].as_u64().expect("a time"));
    let mut env = command(&folder, false);
    let told = output(env.args(["env", "--json", "a.timesink", "b.timesink"])).exits(0);
    let told: Value = serde_json::from_str(&told.text()).expect("JSON");
    let differences = &told["environment"]["differences"];
    let differences = differences.as_array().expect("what differs").iter();
    let is_file = |fact: &&Value| {
        fact["key"]
            .as_str()
            .is_some_and(|key| key.ends_with("pace.conf"))
    };
    let file = differences.clone().find(is_file).expect("the file");
    let is_seen = file["a"].is_string();
    assert_eq!(file["may_be_unseen"], !is_seen, "{file:#}");
    let others = differences.filter(|fact| fact["a"].is_string() && fact["b"].is_string());
    assert!(others.clone().all(|fact| fact["may_be_unseen"] == false));
    if !is_seen {
        let text = proven(&folder, false);
        let line = text.lines().find(|line| line.contains("pace.conf"));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("may have used it too"), "{text}");
    }
}

/// Variables that only the program knows are as in A in all runs, but in those in which B's are tried, together.
#[test]
fn variables_that_only_the_program_knows() {
    let folder = Folder::of_plain_user("prove-variables");
    let script = "sleep 0.0${WORKERS:-9}; echo \"$WORKERS $OTHER\" >> seen";
    for (name, workers) in [("a", "1"), ("b", "6")] {
        let mut run = command(&folder, false);
        run.env("WORKERS", workers).env("OTHER", name);
        run.args(["run", "-q", "-o"])
            .arg(format!("{name}.timesink"));
        output(run.args(["--", "sh", "-c", script])).exits(0);
    }
    fs::remove_file(folder.join("seen")).expect("it ran");
    let text = proven(&folder, false);
    let confirmed = |line: &str| line.contains("confirmed") && line.contains("OTHER, WORKERS");
    assert!(text.lines().any(confirmed), "{text}");
    let seen = fs::read_to_string(folder.join("seen")).expect("it ran");
    let strange = seen.lines().find(|line| !["1 a", "6 b"].contains(line));
    assert_eq!(strange, None, "{seen}");
}

/// Longer than a minute is not run unasked, and a packed recording, which may come from somebody else, neither.
#[test]
fn what_is_not_run_unasked() {
    let folder = Folder::of_plain_user("prove-unasked");
    record(&folder, false, "a", "0.05");
    record(&folder, false, "b", "0.06");
    let mut prove = command(&folder, false);
    prove.args(["prove", "--rounds", "2000", "a.timesink", "b.timesink"]);
    let refused = output(&mut prove).exits(1).err;
    assert!(refused.contains("more than a minute"), "{refused}");
    output(command(&folder, false).args(["pack", "b.timesink"])).exits(0);
    let mut prove = command(&folder, false);
    let refused = output(prove.args(["prove", "a.timesink", "b.timesink.tar"])).exits(1);
    let refused = refused.err;
    assert!(refused.contains("may come from somebody else"), "{refused}");
}

/// Counts, in a control group or not.
fn record_counting(folder: &Folder, group: Option<&Group>, name: &str) {
    let mut run = command(folder, false);
    if let Some(group) = group {
        run.arg("under").args(group.options());
        run.arg("--").arg(timesink());
    }
    run.args(["run", "-q", "-o", &format!("{name}.timesink"), "--"]);
    output(run.args(COUNTS)).exits(0);
}

const COUNTS: [&str; 3] = ["bash", "-c", "for ((i = 0; i < 60000; i++)); do :; done"];

/// The quota of B's control group makes the difference, and its limit of memory does not; the groups that they were tried in
/// are gone. Others have no part in it: who called sudo may not join a group, and is told so.
#[test]
fn the_quota_of_a_control_group() {
    let folder = Folder::of_plain_user("prove-group");
    record_counting(&folder, None, "a");
    let group = Group::with(10_000, 256 << 20);
    record_counting(&folder, Some(&group), "b");
    drop(group);
    let proven = |by_sudo: bool| {
        let mut prove = command(&folder, by_sudo);
        prove.args(["prove", "--rounds", "80", "--margin", "40%", "--yes"]);
        prove.args(["--fact", "cpu.max", "--fact", "memory.max"]);
        let ran = output(prove.args(["a.timesink", "b.timesink"]));
        ran.exits(0).text()
    };
    let text = proven(false);
    let line = |word: &str| {
        let line = text.lines().find(|line| line.contains(word));
        line.unwrap_or_else(|| panic!("{word}: {text}"))
            .trim_start()
    };
    assert!(line("cpu.max").starts_with("confirmed"), "{text}");
    assert!(line("memory.max").starts_with("excluded"), "{text}");
    for of in ["", "cpu", "memory", "unified"] {
        let around = Path::new("/sys/fs/cgroup").join(of);
        assert!(!around.is_dir() || !left_over(&around), "{around:?}");
    }
    assert!(proven(true).contains("run prove as root"));
}

/// Two programs are not held against each other, unless somebody says what to run; what they printed as JSON can be read.
#[test]
fn two_programs_are_refused() {
    let folder = Folder::of_plain_user("prove-two");
    for (name, program) in [("a", "true"), ("b", "false")] {
        let mut run = command(&folder, false);
        run.env("LC_PAPER", name);
        run.args([
            "run",
            "-q",
            "-o",
            &format!("{name}.timesink"),
            "--",
            program,
        ]);
        output(&mut run);
    }
    let mut prove = command(&folder, false);
    let refused = output(prove.args(["prove", "a.timesink", "b.timesink"])).exits(1);
    assert!(
        refused.err.contains("a recording of true and B of false"),
        "{}",
        refused.err
    );
    let mut prove = command(&folder, false);
    prove.args(["prove", "--json", "--rounds", "6", "--fact", "LC_PAPER"]);
    prove.args(["a.timesink", "b.timesink", "--", "true"]);
    let told = output(&mut prove).exits(0);
    let page: serde_json::Value = serde_json::from_slice(&told.out).expect("JSON");
    assert_eq!(page["rounds"], 6, "{page}");
    assert_eq!(page["facts"][0]["name"], "environment variable LC_PAPER");
}
