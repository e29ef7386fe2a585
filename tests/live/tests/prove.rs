//! Which of the facts that differ makes the difference: the command is run with one of them at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use timesink_live::{output, timesink, Folder, PLAIN_USER};

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
        "--rounds",
        "8",
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
