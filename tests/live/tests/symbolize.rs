//! `timesink symbolize`: names that come later, for a recording that stays whole whatever happens.

use std::os::unix::fs::chown;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use timesink_live::{output, program, timesink, Folder, Ran, Recorded, Running, PLAIN_USER};
use timesink_recording::tables::{Frame, Sample, Stack, Wait};
use timesink_recording::Recording;

/// A stripped copy of the program of known functions, its debug file in a folder of its own, and a recording of it. All of
/// it is the plain user's, and the program is gone.
struct Stripped {
    folder: Folder,
    recording: PathBuf,
    timesink: PathBuf,
}

impl Stripped {
    fn record(name: &str) -> Stripped {
        let folder = Folder::of_plain_user(name);
        let (copy, debug) = (folder.join("copy"), folder.join("debug"));
        std::fs::copy(program("stacks"), &copy).expect("a copy");
        std::fs::create_dir(&debug).expect("a folder");
        let run = |tool: &str, arguments: &[&Path]| {
            output(Command::new(tool).args(arguments)).exits(0);
        };
        let file = debug.join("names.debug");
        run("objcopy", &[Path::new("--only-keep-debug"), &copy, &file]);
        run("strip", &[&copy]);
        let recording = folder.join("r.timesink");
        let command = [copy.to_str().unwrap(), folder.path().to_str().unwrap()];
        let recorded = Recorded::run(&recording, &["-q"], &command, 0);
        assert!(!has_names(&recorded), "it is stripped");
        std::fs::remove_file(&copy).expect("the program");
        let own = std::fs::read_dir(&recording).expect("the recording");
        let own = own.map(|entry| entry.expect("a file").path());
        for path in own.chain([recording.clone()]) {
            chown(path, Some(PLAIN_USER), Some(PLAIN_USER)).expect("chown");
        }
        let binary = folder.join("timesink");
        std::fs::copy(timesink(), &binary).expect("a copy where everybody may look");
        Stripped {
            folder,
            recording,
            timesink: binary,
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.timesink);
        command.arg("symbolize").arg(&self.recording);
        command.arg("--debug-dir").arg(self.folder.join("debug"));
        command
    }

    /// As a user who may do nothing but what is his.
    fn as_plain_user(&self) -> Command {
        let mut plain = Command::new("setpriv");
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        plain.args(user).arg("--inh-caps=-all").env_remove("HOME");
        plain.arg(&self.timesink).arg("symbolize");
        plain.arg(&self.recording).arg("--debug-dir");
        plain.arg(self.folder.join("debug"));
        plain
    }

    fn opened(&self, ran: Ran) -> Recorded {
        Recorded::open(&self.recording, ran)
    }
}

fn has_names(recorded: &Recorded) -> bool {
    let chains = recorded.chains();
    chains
        .values()
        .any(|c| c.has(&["in_sleep", "middle", "outer", "main"]))
}

/// The user whose recording it is, and nobody else's rights, names the functions of a program that is gone by its debug
/// file: samples and waits have the known chains, and the report tells of fewer nameless frames.
#[test]
fn a_stripped_program_gets_its_names() {
    let stripped = Stripped::record("symbolize");
    let ran = output(&mut stripped.as_plain_user()).exits(0);
    assert!(ran.text().contains("debug information"), "{}", ran.text());
    let recorded = stripped.opened(ran);
    let chains = recorded.chains();
    let known = |name: &str| [name, "middle", "outer", "main"].map(str::to_owned);
    let has = |stack, name| {
        chains
            .get(&stack)
            .is_some_and(|c| c.has(&known(name).each_ref().map(String::as_str)))
    };
    let waits = recorded.rows::<Wait>();
    for name in ["in_sleep", "in_pipe", "in_flush"] {
        assert!(
            waits.iter().filter_map(|w| w.stack).any(|s| has(s, name)),
            "{name}"
        );
    }
    let samples = recorded.rows::<Sample>();
    assert!(samples
        .iter()
        .filter_map(|s| s.stack)
        .any(|s| has(s, "in_cpu")));
    let frames = recorded.rows::<Frame>();
    let lines = frames
        .iter()
        .filter(|f| f.file.ends_with("stacks.c") && f.line.is_some());
    assert!(lines.count() > 10);
}

/// Killed at whatever moment, it leaves a recording that is whole, the old one or the new one, and does not keep the next
/// from its work.
#[test]
fn killed_at_any_moment() {
    let stripped = Stripped::record("symbolize-killed");
    let kept = stripped.folder.join("kept");
    let copy = |from: &Path, to: &Path| {
        output(Command::new("cp").arg("-a").arg(from).arg(to)).exits(0);
    };
    copy(&stripped.recording, &kept);
    let mut leftovers = 0;
    for step in 0..60 {
        std::fs::remove_dir_all(&stripped.recording).expect("the last one");
        copy(&kept, &stripped.recording);
        let running = Running::start(&mut stripped.command());
        std::thread::sleep(Duration::from_micros(500 * step));
        running.signal(libc::SIGKILL);
        running.end();
        leftovers += u32::from(stripped.folder.join("r.timesink.new").exists());
        let recording = Recording::open(&stripped.recording).expect("a whole recording");
        recording.rows::<Stack>().expect("its stacks");
        recording.rows::<Wait>().expect("its waits");
    }
    assert!(leftovers > 0, "it was never killed at its work");
    let ran = output(&mut stripped.command()).exits(0);
    assert!(has_names(&stripped.opened(ran)));
    assert!(!stripped.folder.join("r.timesink.new").exists());
}

/// Where nothing can be written, because the folder is not the user's to write to or the disk is full, it is said in a
/// sentence, and nothing changes.
#[test]
fn where_nothing_can_be_written() {
    let stripped = Stripped::record("symbolize-full");
    let sums = || {
        let mut sums = Command::new("sh");
        let script = format!("cd {} && sha256sum *", stripped.recording.display());
        output(sums.args(["-c", &script])).exits(0).text()
    };
    let before = sums();
    let rights = |mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(stripped.folder.path(), rights).expect("rights");
    };
    rights(0o555);
    let refused = output(&mut stripped.as_plain_user()).exits(1);
    rights(0o755);
    assert!(refused.err.contains("r.timesink.new"), "{}", refused.err);
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);

    let mut full = Command::new("sh");
    let script = r#"trap "" XFSZ; ulimit -f 1; exec "$0" symbolize "$1" --debug-dir "$2""#;
    full.args(["-c", script]).arg(&stripped.timesink);
    full.arg(&stripped.recording)
        .arg(stripped.folder.join("debug"));
    // Its cache cannot be written either, and that is no reason to fail.
    let full = output(full.env_remove("HOME")).exits(1);
    assert_eq!(full.err.lines().count(), 1, "{}", full.err);
    assert_eq!(sums(), before);
    assert!(!stripped.folder.join("r.timesink.new").exists());
}
