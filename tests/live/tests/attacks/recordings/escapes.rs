//! What draws on the terminal: whatever a name, a path, an argument or a file holds, it is seen and does nothing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use timesink_live::{output, timesink, Folder, Ran};

use super::{edit, recorded};

/// It ends a line, clears the screen, sets the title, turns the direction of text and hides.
const HOSTILE: &str = "x\r\x1b[2J\x1b]0;owned\x07\u{202e}\u{9b}31m\u{200b}y";

/// No character of either stream acts on a terminal; what was hostile is seen.
#[track_caller]
fn is_harmless(ran: &Ran) {
    let seen = does_nothing(ran);
    assert!(
        seen.contains("\\x1b[2J") || seen.contains("\\u{1b}[2J"),
        "{seen}"
    );
}

/// The same of what may have left out what was hostile; all that was printed.
#[track_caller]
fn does_nothing(ran: &Ran) -> String {
    let out = String::from_utf8(ran.out.clone()).expect("text");
    for text in [&out, &ran.err] {
        let acts =
            |c: char| (c.is_control() && c != '\n') || ('\u{200b}'..='\u{206f}').contains(&c);
        assert!(!text.chars().any(acts), "{text:?}");
    }
    format!("{out}{}", ran.err)
}

/// serde quotes values of the manifest that it did not expect.
#[test]
fn escapes_in_a_manifest_are_shown() {
    let folder = Folder::new("attack-manifest");
    let path = recorded(&folder);
    for field in ["mode", "wall_ns", "command", "tables"] {
        let whole = fs::read(path.join("recording.json")).expect("a manifest");
        edit(&path, |manifest| manifest[field] = HOSTILE.into());
        let ran = output(Command::new(timesink()).arg("report").arg(&path)).exits(1);
        is_harmless(&ran);
        fs::write(path.join("recording.json"), whole).expect("as it was");
    }
}

/// So do errors about names of columns, which the file has in plain.
#[test]
fn escapes_in_names_of_columns_are_shown() {
    let folder = Folder::new("attack-column");
    let path = recorded(&folder);
    let table = path.join("calls.parquet");
    let mut bytes = fs::read(&table).expect("a table");
    let column = b"thread";
    let mut changed = 0;
    for at in 0..bytes.len() - column.len() {
        if bytes[at..].starts_with(column) {
            bytes[at..at + 6].copy_from_slice(b"\x1b[2J\x1b7");
            changed += 1;
        }
    }
    assert!(changed > 0);
    let rows = timesink_recording::Recording::open(&path).expect("it opens");
    let rows = rows.row_count::<timesink_recording::tables::Call>();
    super::forge(&path, "calls", &bytes, rows.expect("rows"));
    for words in [
        &["report"][..],
        &["why"],
        &["export", "--to", "folded"],
        &["symbolize"],
    ] {
        let ran = output(Command::new(timesink()).args(words).arg(&path));
        let acts = ran.err.chars().any(|c| c.is_control() && c != '\n');
        assert!(!acts, "{:?}", ran.err);
    }
}

/// A process that calls itself something hostile is attached to: its name becomes that of a folder.
#[test]
fn escapes_in_a_name_do_not_get_into_the_name_of_a_folder() {
    let folder = Folder::new("attack-comm");
    let named = Command::new("bash")
        .arg("-c")
        .arg("printf -- '-\\033[2J\\r\\342\\200\\256x' > /proc/self/comm; while :; do read -t 0.1 < <(:); done")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut named = named.expect("it starts");
    let comm = format!("/proc/{}/comm", named.id());
    timesink_live::wait_for("it has its name", || {
        fs::read(&comm).is_ok_and(|name| name.starts_with(b"-\x1b"))
    });
    let mut attach = Command::new(timesink());
    attach
        .args(["attach", "--for", "300ms"])
        .arg(named.id().to_string());
    let ran = output(attach.current_dir(folder.path()));
    named.kill().expect("it is killed");
    named.wait().expect("it ends");
    is_harmless(&ran.exits(0));
    let made: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let name = made[0].to_str().expect("text");
    assert!(
        name.starts_with('_') && name.ends_with(".timesink"),
        "{name:?}"
    );
    assert!(
        !name.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{name:?}"
    );
}

/// `pack` says what it made, in a folder that somebody else named.
#[test]
fn escapes_in_a_path_are_shown() {
    let folder = Folder::new("attack-path");
    let path = recorded(&folder);
    let hostile = folder.join(HOSTILE);
    fs::rename(path, &hostile).expect("it is renamed");
    is_harmless(&output(Command::new(timesink()).arg("pack").arg(&hostile)).exits(0));
    is_harmless(&output(Command::new(timesink()).arg("report").arg(&hostile)).exits(0));
    let gone = hostile.join("gone");
    is_harmless(&output(Command::new(timesink()).arg("report").arg(gone)).exits(1));
    is_harmless(
        &output(
            Command::new(timesink())
                .arg("symbolize")
                .arg(&hostile)
                .arg("--debug-dir")
                .arg(folder.join(HOSTILE).join("gone")),
        )
        .exits(1),
    );
}

/// clap quotes arguments that it does not know (but for colours, which it leaves out), and a shell's completion or a script may have put them there.
#[test]
fn escapes_in_arguments_are_shown() {
    for words in [
        &["report", "x", HOSTILE][..],
        &[HOSTILE],
        &["run", "--threshold", HOSTILE, "true"],
        &["completions", HOSTILE],
        &["rules", "--", HOSTILE, HOSTILE],
    ] {
        does_nothing(&output(Command::new(timesink()).args(words)).exits(2));
    }
    let torn = OsStr::from_bytes(b"--x\xff\x1b[2J");
    does_nothing(&output(Command::new(timesink()).arg("report").arg(torn)).exits(2));
}
