//! `timesink why`, mutes and settings, as somebody uses them: in a folder, beside a recording.

use std::fs;
use std::path::Path;
use std::process::Command;

use timesink_live::{output, program, timesink, Folder, Ran, PLAIN_USER};

/// A folder with a repository's root above it and a recording in it, of a program that flushes each row.
fn recorded(folder: &Folder) -> std::path::PathBuf {
    fs::create_dir_all(folder.join(".git")).expect("a root");
    let place = folder.join("work");
    fs::create_dir(&place).expect("a folder");
    let flushing = program("rules/flush-per-record");
    let mut run = Command::new(timesink());
    // How many flushes there are, 1,500 and one at the end, is known only where each call is timed.
    run.current_dir(&place).args(["run", "--exact", "--"]);
    let ran = output(run.arg(flushing).arg("fires")).exits(0);
    let named = "More: timesink why 1";
    assert!(ran.err.contains(named), "{}", ran.err);
    let told = "in insert_row() flush-per-record.c:";
    assert!(ran.err.contains(told), "{}", ran.err);
    place
}

fn timesink_in(place: &Path, words: &[&str]) -> Ran {
    output(Command::new(timesink()).current_dir(place).args(words))
}

/// `why 1` finds the recording made last and tells the finding in full; the commands that it names work.
#[test]
fn a_finding_in_full() {
    let folder = Folder::new("why");
    let place = recorded(&folder);
    let page = timesink_in(&place, &["why", "1"]).exits(0).text();
    for wanted in [
        "rows.db is flushed to disk 1,501 times",
        "fdatasync",
        "insert_row",
        "flush-per-record.c:",
        "[[mute]]",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let commands = page.lines().filter_map(|line| {
        let (_, command) = line.split_once("timesink ")?;
        let is_one = command.starts_with("report ") || command.starts_with("whatif ");
        is_one.then_some(command)
    });
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() >= 4, "{page}");
    for command in commands {
        let line = format!("{} {command}", timesink().display());
        let mut shell = Command::new("sh");
        output(shell.current_dir(&place).args(["-c", &line])).exits(0);
    }
    let none = timesink_in(&place, &["why", "99"]).exits(1);
    assert!(
        none.err.contains("there is no such finding"),
        "{}",
        none.err
    );
    let none = timesink_in(folder.path(), &["why", "1"]).exits(1);
    assert!(
        none.err.contains("this folder has no recording"),
        "{}",
        none.err
    );
}

/// A mute at the repository's root counts in the folders below it; a broken one is told with its line, and the report
/// is there all the same.
#[test]
fn mutes_and_settings() {
    let folder = Folder::new("mutes");
    let place = recorded(&folder);
    let page = timesink_in(&place, &["why", "1"]).exits(0).text();
    let mute: Vec<&str> = page
        .lines()
        .skip_while(|line| line.trim() != "[[mute]]")
        .take(3)
        .collect();
    let mute = mute.join("\n").replace("\"\"", "\"every row counts\"");
    let file = folder.join(".timesink-ignore.toml");
    fs::write(&file, &mute).expect("a file");
    let report =
        |place: &Path| timesink_in(place, &["report", "flush-per-record.timesink"]).exits(0);
    assert!(report(&place)
        .text()
        .contains("and 1 muted: timesink why --muted"));
    assert!(!report(&place).text().contains("rows.db is flushed"));
    let muted = timesink_in(&place, &["why", "--muted"]).exits(0).text();
    assert!(muted.contains("because: every row counts"), "{muted}");

    fs::write(&file, "[[mute]]\nsignature = \"\u{1b}[2J\nreason").expect("a file");
    let broken = report(&place);
    assert!(
        broken.text().contains("rows.db is flushed"),
        "{}",
        broken.text()
    );
    assert!(
        broken.err.contains(".timesink-ignore.toml:"),
        "{}",
        broken.err
    );
    assert!(!broken.err.contains('\u{1b}'), "{}", broken.err);

    fs::write(
        place.join("timesink.toml"),
        "[rules.flush-per-recrod]\nflushes = 1\n",
    )
    .expect("a file");
    let slip = report(&place);
    assert!(
        slip.err.contains("did you mean flush-per-record?"),
        "{}",
        slip.err
    );
    fs::write(
        place.join("timesink.toml"),
        "[rules.flush-per-record]\ndisabled = true\n",
    )
    .expect("a file");
    fs::remove_file(&file).expect("it was there");
    assert!(report(&place).text().contains("1 rule disabled"));
    let full = ["report", "--full", "flush-per-record.timesink"];
    let off = timesink_in(&place, &full).exits(0).text();
    assert!(
        off.contains("Skipped: flush-per-record (disabled in "),
        "{off}"
    );
    let rules = timesink_in(&place, &["rules", "flush-per-record"])
        .exits(0)
        .text();
    assert!(rules.contains("Disabled in "), "{rules}");
}

/// Where root runs it for somebody, their files are read as they could read them themselves: what is not theirs to
/// read is not shown, and a pipe holds nobody up.
#[test]
fn files_are_read_as_who_called_sudo() {
    let folder = Folder::of_plain_user("sudo-settings");
    fs::create_dir(folder.join(".git")).expect("a root");
    let secret = Folder::new("secret");
    fs::write(secret.join("secret"), "hunter2 = 'hunter2'\n").expect("a file");
    fs::set_permissions(
        secret.join("secret"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .expect("chmod");
    std::os::unix::fs::symlink(secret.join("secret"), folder.join("timesink.toml"))
        .expect("a link");
    let pipe = std::ffi::CString::new(
        folder
            .join(".timesink-ignore.toml")
            .to_str()
            .expect("a path"),
    )
    .expect("a path");
    // SAFETY: a path that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o644) }, 0);
    let id = PLAIN_USER.to_string();
    let mut rules = Command::new(timesink());
    rules.current_dir(folder.path()).arg("rules");
    rules.env("SUDO_UID", &id).env("SUDO_GID", &id);
    let ran = output(&mut rules).exits(0);
    assert!(
        ran.err
            .contains("timesink.toml: is not read: Permission denied"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains(".timesink-ignore.toml: is not read: it is no regular file"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("hunter2"), "{}", ran.err);
}
