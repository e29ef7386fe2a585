//! What is not whole yet, or will never be: halves of files, recordings that are still being made; and with whose rights
//! disks are measured.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use timesink_live::{output, wait_for, Folder, Running, PLAIN_USER};

use crate::files::{names, record, root, sudo};

/// timesink is ended, as by KILL, when it has written 512 bytes of something: nothing of it is there, and the next one is made whole.
#[test]
fn what_is_half_made_is_not_there() {
    let folder = Folder::new("attack-half");
    record(folder.path(), "x.timesink");
    let before = names(folder.path());
    let make = [
        ["pack", "x.timesink", "-o", "made"].as_slice(),
        &["export", "x.timesink", "--to", "perfetto", "-o", "made"],
    ];
    for words in make {
        let mut command = root(folder.path());
        command.args(words);
        // SAFETY: a plain system call; the signal that comes with the limit is one that ends.
        unsafe {
            command.pre_exec(|| {
                let most = libc::rlimit {
                    rlim_cur: 512,
                    rlim_max: 512,
                };
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
                libc::setrlimit(libc::RLIMIT_FSIZE, &most);
                Ok(())
            });
        }
        output(&mut command).exits(1000 + libc::SIGXFSZ);
        assert_eq!(names(folder.path()), before, "{words:?}");
        output(root(folder.path()).args(words)).exits(0);
        assert!(fs::metadata(folder.join("made")).expect("it").len() > 512);
        fs::remove_file(folder.join("made")).expect("it goes");
        assert_eq!(names(folder.path()), before, "{words:?}");
    }
}

/// Somebody looks at a recording that is still being made: nothing happens to it, and it is finished as ever.
#[test]
fn what_is_being_recorded_is_not_mended() {
    let folder = Folder::new("attack-early");
    let mut command = root(folder.path());
    command.args(["run", "-q", "-o", "x.timesink", "--", "sleep", "1000"]);
    let running = Running::start(command.stdin(Stdio::null()));
    let spool = folder.join("x.timesink/spool.bin");
    let length = || fs::metadata(&spool).map_or(0, |about| about.len());
    wait_for("something is written", || length() > 8);
    for words in [["report", "x.timesink"], ["symbolize", "x.timesink"]] {
        let ran = output(root(folder.path()).args(words)).exits(1);
        assert!(ran.err.contains("still being recorded"), "{}", ran.err);
    }
    assert_eq!(names(&folder.join("x.timesink")), ["spool.bin"]);
    running.signal(libc::SIGTERM);
    running.end().exits(128 + libc::SIGTERM);
    output(root(folder.path()).args(["report", "x.timesink"])).exits(0);
}

/// Under sudo, what a disk is measured with is the caller's, and so is who measures.
#[test]
fn floors_are_measured_as_the_caller() {
    let folder = Folder::of_plain_user("attack-floors");
    let mut command = sudo(folder.path());
    command.env("XDG_STATE_HOME", folder.join("state"));
    let running = Running::start(command.arg("floors").stdin(Stdio::null()));
    wait_for("a file is there", || !names(folder.path()).is_empty());
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).expect("it");
    let user = format!("Uid:\t{PLAIN_USER}\t{PLAIN_USER}\t{PLAIN_USER}\t{PLAIN_USER}\n");
    assert!(status.contains(&user), "{status}");
    for name in names(folder.path()) {
        // It may be gone by now.
        let about = fs::symlink_metadata(folder.join(&name));
        assert!(
            about.map_or(true, |about| about.uid() == PLAIN_USER),
            "{name}"
        );
    }
    running.signal(libc::SIGINT);
    running.end().exits(130);
    assert!(names(folder.path()).is_empty());
}
