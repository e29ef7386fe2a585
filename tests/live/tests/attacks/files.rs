//! Files and folders that another user can write to: links, races, owners, pipes, full disks. And who may read what
//! timesink makes, and what stands in it.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use timesink_live::{output, program, timesink, wait_for, Folder, Ran, Running, PLAIN_USER};
use timesink_recording::tables::{Image, Stack};
use timesink_recording::Recording;

/// Another user than the plain one, whom no database knows.
const ATTACKER: u32 = 12345;

/// Who owns something that may be a link, and the rights to it.
fn owner(path: &Path) -> (u32, u32) {
    let about = fs::symlink_metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    (about.uid(), about.gid())
}

fn mode(path: &Path) -> u32 {
    let about = fs::symlink_metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    about.permissions().mode() & 0o7777
}

fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("lchown");
}

fn rights(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// A thing and all that is in it become a user's.
fn give_all(path: &Path, user: u32) {
    output(
        Command::new("chown")
            .arg("-hR")
            .arg(format!("{user}:{user}"))
            .arg(path),
    )
    .exits(0);
}

fn fifo(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
    // SAFETY: a path that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<_> = entries
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// timesink as root, in this folder.
pub(crate) fn root(folder: &Path) -> Command {
    let mut command = Command::new(timesink());
    command
        .current_dir(folder)
        .env_remove("SUDO_UID")
        .env_remove("SUDO_GID");
    command.env("HOME", folder).env_remove("XDG_CACHE_HOME");
    command
}

/// timesink as the plain user who called sudo runs it.
pub(crate) fn sudo(folder: &Path) -> Command {
    let mut command = root(folder);
    command.env("SUDO_UID", PLAIN_USER.to_string());
    command.env("SUDO_GID", PLAIN_USER.to_string());
    command
}

/// As this user, who may do nothing but what is theirs.
fn plain(user: u32, command: &[&str]) -> Ran {
    let mut plain = Command::new("setpriv");
    plain.args([format!("--reuid={user}"), format!("--regid={user}")]);
    plain
        .args(["--clear-groups", "--inh-caps=-all"])
        .args(command);
    output(&mut plain)
}

/// Records `true` as root into this folder of ours.
pub(crate) fn record(folder: &Path, name: &str) -> PathBuf {
    output(root(folder).args(["run", "-q", "-o", name, "--", "true"])).exits(0);
    folder.join(name)
}

/// A folder in which this user has a recording of a stripped program, with its debug file in `debug`.
fn recorded_of(user: u32, name: &str) -> (Folder, PathBuf) {
    let folder = Folder::of_plain_user(name);
    let (copy, debug) = (folder.join("copy"), folder.join("debug"));
    fs::copy(program("stacks"), &copy).expect("a copy");
    fs::create_dir(&debug).expect("a folder");
    let keep = ["--only-keep-debug".as_ref(), copy.as_os_str()];
    output(Command::new("objcopy").args(keep).arg(debug.join("names"))).exits(0);
    output(Command::new("strip").arg(&copy)).exits(0);
    let ran = output(
        root(folder.path())
            .args(["run", "-q", "-o", "x.timesink", "--"])
            .arg(&copy)
            .arg(folder.path()),
    );
    ran.exits(0);
    give_all(folder.path(), user);
    let recording = folder.join("x.timesink");
    (folder, recording)
}

/// The same, but never finished: the spool that a killed timesink leaves.
fn unfinished_of(user: u32, name: &str) -> (Folder, PathBuf) {
    let folder = Folder::of_plain_user(name);
    killed(
        &mut root(folder.path()),
        &["sleep", "30"],
        folder.path(),
        &[],
    );
    give_all(folder.path(), user);
    let recording = folder.join("x.timesink");
    (folder, recording)
}

/// Records this into `x.timesink`, and kills timesink with KILL once something was written.
fn killed(timesink: &mut Command, command: &[&str], folder: &Path, options: &[&str]) {
    timesink
        .args(["run", "-q", "-o", "x.timesink"])
        .args(options)
        .arg("--")
        .args(command);
    let running = Running::start(timesink);
    let spool = folder.join("x.timesink/spool.bin");
    let length = || fs::metadata(&spool).map_or(0, |about| about.len());
    wait_for("something is written", || length() > 0);
    std::thread::sleep(Duration::from_millis(1500));
    let pid = running.pid();
    let children =
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    running.signal(libc::SIGKILL);
    for child in children.split_whitespace() {
        output(Command::new("kill").args(["-KILL", child]));
    }
    drop(running.end());
    assert!(length() > 8, "nothing was written");
}

/// Files of root's whose owner and content must stay.
struct Victims(Folder);

impl Victims {
    fn new() -> Victims {
        let folder = Folder::within_tmp("victims");
        for name in ["shadow", "plain"] {
            fs::write(folder.join(name), "root's own").expect("a file");
            rights(&folder.join(name), 0o600);
        }
        fs::create_dir(folder.join("empty")).expect("a folder");
        Victims(folder)
    }

    #[track_caller]
    fn are_whole(&self) {
        assert_eq!(names(self.0.path()), ["empty", "plain", "shadow"]);
        for name in ["shadow", "plain"] {
            let path = self.0.join(name);
            assert_eq!((owner(&path), mode(&path)), ((0, 0), 0o600), "{name}");
            assert_eq!(fs::read(&path).expect("it"), b"root's own");
        }
        assert!(names(&self.0.join("empty")).is_empty());
        assert_eq!(owner(&self.0.join("empty")), (0, 0));
    }
}

trait Tmp {
    fn within_tmp(name: &str) -> Folder;
}

impl Tmp for Folder {
    /// A folder of root's, where everybody may look.
    fn within_tmp(name: &str) -> Folder {
        let folder = Folder::of_plain_user(name);
        chown(folder.path(), Some(0), Some(0)).expect("chown");
        rights(folder.path(), 0o755);
        folder
    }
}

/// The owner of a recording swaps the folder in which root makes the new one for one full of links to files of root's, at
/// as many moments as it takes.
#[test]
fn the_new_folder_of_symbolize_is_swapped_for_links() {
    let victims = Victims::new();
    let (folder, recording) = recorded_of(ATTACKER, "attack-swap");
    let entries = names(&recording);
    let kept = folder.join("kept");
    output(Command::new("cp").arg("-a").args([&recording, &kept])).exits(0);
    let (new, over) = (folder.join("x.timesink.new"), AtomicBool::new(false));
    let mut swapped = 0;
    for round in 0..12u64 {
        let mine = folder.join(&format!("mine-{round}"));
        fs::create_dir_all(mine.join("folder")).expect("folders");
        for name in &entries {
            symlink(victims.0.join("shadow"), mine.join("folder").join(name)).expect("a link");
        }
        give_all(&mine, ATTACKER);
        over.store(false, Ordering::Relaxed);
        let swap = || {
            while !over.load(Ordering::Relaxed) {
                if fs::symlink_metadata(&new).is_ok_and(|about| about.nlink() >= 3) {
                    std::thread::sleep(Duration::from_micros(150 * round));
                    let away = folder.join(&format!("away-{round}"));
                    return fs::rename(&new, away).is_ok() && fs::rename(&mine, &new).is_ok();
                }
            }
            false
        };
        std::thread::scope(|scope| {
            let swapping = scope.spawn(swap);
            let mut command = root(folder.path());
            command.args(["symbolize", "x.timesink", "--debug-dir", "debug"]);
            // Whether it gets through does not matter.
            let ran = output(&mut command);
            assert!(!ran.err.contains("panicked"), "{}", ran.err);
            over.store(true, Ordering::Relaxed);
            swapped += u32::from(swapping.join().expect("the swap"));
        });
        victims.are_whole();
        let _ = fs::remove_dir_all(&new);
        fs::remove_dir_all(&recording).expect("the recording");
        output(Command::new("cp").arg("-a").args([&kept, &recording])).exits(0);
    }
    assert!(swapped > 0, "it was never swapped");
}

/// A link, a file of somebody else's and a folder that is not the owner's stand where root would make the new recording.
#[test]
fn the_new_folder_of_symbolize_is_there_already() {
    let victims = Victims::new();
    let (folder, recording) = recorded_of(ATTACKER, "attack-planted");
    let new = folder.join("x.timesink.new");
    let symbolize = || {
        let mut command = root(folder.path());
        output(command.args(["symbolize", "x.timesink", "--debug-dir", "debug"]))
    };
    symlink(victims.0.path(), &new).expect("a link");
    symbolize().exits(1);
    fs::remove_file(&new).expect("the link");
    fs::create_dir_all(new.join("theirs")).expect("folders");
    fs::write(new.join("theirs/file"), "x").expect("a file");
    let ran = symbolize().exits(1);
    assert!(ran.err.contains("x.timesink.new"), "{}", ran.err);
    assert!(
        new.join("theirs/file").exists(),
        "it was not the owner's to remove"
    );
    victims.are_whole();
    Recording::open(&recording).expect("it is whole");
}

/// What root names belongs to the same user as before, and to nobody else's group, with the same rights.
#[test]
fn symbolize_by_root_makes_files_of_root_or_of_others() {
    let (folder, recording) = recorded_of(ATTACKER, "attack-owner");
    rights(&recording, 0o2750);
    rights(&recording.join("frames.parquet"), 0o6644);
    let before = names(&recording);
    let mut command = root(folder.path());
    let ran = output(command.args(["symbolize", "x.timesink", "--debug-dir", "debug"])).exits(0);
    assert!(ran.text().contains("debug information"), "{}", ran.text());
    assert_eq!(names(&recording), before);
    for name in before {
        assert_eq!(owner(&recording.join(&name)).0, ATTACKER, "{name}");
        assert_eq!(mode(&recording.join(&name)) & 0o7133, 0, "{name}");
    }
    assert_eq!(owner(&recording).0, ATTACKER);
    assert_eq!(mode(&recording) & 0o7007, 0);
}

/// A recording of root's lies where another user may rename: nothing is exchanged there with root's rights.
#[test]
fn a_recording_of_root_lies_in_a_folder_of_the_attacker() {
    let (folder, recording) = recorded_of(0, "attack-parent");
    give(folder.path(), ATTACKER);
    let mut command = root(folder.path());
    let ran = output(command.args(["symbolize", "x.timesink", "--debug-dir", "debug"])).exits(1);
    assert!(ran.err.contains("root's"), "{}", ran.err);
    Recording::open(&recording).expect("it is whole");
    assert!(!names(folder.path()).contains(&"x.timesink.new".to_owned()));
}

/// An unfinished recording of another user is mended by root: what is made is that user's, made with that user's rights.
#[test]
fn a_recording_of_the_attacker_is_mended_by_root() {
    let (folder, recording) = unfinished_of(ATTACKER, "attack-mend");
    output(root(folder.path()).args(["report", "x.timesink"])).exits(0);
    for name in names(&recording) {
        let path = recording.join(&name);
        assert_eq!((owner(&path).0, mode(&path)), (ATTACKER, 0o600), "{name}");
    }
    assert_eq!(names(folder.path()), ["x.timesink"], "no cache of root's");
}

/// The tables and the manifest of an unfinished recording are links to files of root's.
#[test]
fn the_files_of_an_unfinished_recording_are_links() {
    let victims = Victims::new();
    let (folder, recording) = unfinished_of(ATTACKER, "attack-links");
    for name in ["spans.parquet", "recording.json.new", "frames.parquet"] {
        symlink(victims.0.join("shadow"), recording.join(name)).expect("a link");
    }
    symlink(
        victims.0.join("new-file"),
        recording.join("threads.parquet"),
    )
    .expect("a link");
    output(root(folder.path()).args(["report", "x.timesink"]));
    victims.are_whole();
    assert_eq!(owner(&recording).0, ATTACKER);
    // The spool itself is one.
    let (folder, recording) = unfinished_of(ATTACKER, "attack-spool-link");
    fs::remove_file(recording.join("spool.bin")).expect("the spool");
    symlink(victims.0.join("shadow"), recording.join("spool.bin")).expect("a link");
    let ran = output(root(folder.path()).args(["report", "x.timesink"])).exits(1);
    assert!(ran.err.contains("not a regular file"), "{}", ran.err);
    victims.are_whole();
}

/// A recording that somebody may not write to is no way to have root write there: the folder is a link to one of root's.
#[test]
fn an_unfinished_recording_is_a_link_to_a_folder_of_root() {
    let (_theirs, victim) = unfinished_of(0, "attack-victim");
    let folder = Folder::of_plain_user("attack-link");
    symlink(&victim, folder.join("x.timesink")).expect("a link");
    give(&folder.join("x.timesink"), ATTACKER);
    output(root(folder.path()).args(["report", "x.timesink"])).exits(0);
    for name in names(&victim) {
        assert_eq!(
            (owner(&victim.join(&name)), mode(&victim.join(&name))),
            ((0, 0), 0o600)
        );
    }
}

/// A pipe stands where the spool, the manifest or a table should be, or the recording itself is one: root does not wait for
/// whoever may write to it.
#[test]
fn pipes_stand_where_files_should_be() {
    let start = Instant::now();
    let folder = Folder::of_plain_user("attack-pipes");
    let pipe = |name: &str, file: &str| {
        let recording = folder.join(name);
        fs::create_dir(&recording).expect("a folder");
        fifo(&recording.join(file));
        recording
    };
    pipe("spool", "spool.bin");
    pipe("manifest", "recording.json");
    let mut table = record(folder.path(), "table");
    table.push("spans.parquet");
    fs::remove_file(&table).expect("a table");
    fifo(&table);
    fifo(&folder.join("itself"));
    for name in ["spool", "manifest", "table", "itself"] {
        for command in ["report", "symbolize", "pack"] {
            let mut limited = Command::new("timeout");
            limited.args(["-s", "KILL", "20"]).arg(timesink());
            limited.current_dir(folder.path()).args([command, name]);
            let ran = output(&mut limited);
            let code = ran.code();
            assert_eq!(code, 1, "{command} {name}: {}", ran.err);
            assert_eq!(
                ran.err
                    .trim_end()
                    .lines()
                    .last()
                    .map(|l| l.contains("regular file") || l.contains("never finished")),
                Some(true),
                "{}",
                ran.err
            );
        }
    }
    assert!(start.elapsed() < Duration::from_secs(100));
}

/// Who may not read what programs of others did does not find it in recordings, packed ones, exports or spools.
#[test]
fn another_user_reads_recordings() {
    let folder = Folder::within_tmp("attack-read");
    let recording = record(folder.path(), "x.timesink");
    output(root(folder.path()).args(["pack", "x.timesink"])).exits(0);
    let export = ["export", "x.timesink", "--to", "folded", "-o", "x.folded"];
    output(root(folder.path()).args(export)).exits(0);
    assert_eq!(mode(&recording), 0o700);
    for name in names(&recording) {
        assert_eq!(mode(&recording.join(&name)), 0o600, "{name}");
    }
    for name in ["x.timesink.tar", "x.folded"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        let path = folder.join(name);
        assert_ne!(
            plain(ATTACKER, &["cat", path.to_str().expect("a path")]).code(),
            0
        );
    }
    let listing = output(
        Command::new("tar")
            .arg("tvf")
            .arg(folder.join("x.timesink.tar")),
    )
    .exits(0);
    assert!(
        listing
            .text()
            .lines()
            .all(|line| line.starts_with("-rw-------")),
        "{}",
        listing.text()
    );
    let (_folder, unfinished) = unfinished_of(0, "attack-read-spool");
    assert_eq!(
        (mode(&unfinished), mode(&unfinished.join("spool.bin"))),
        (0o700, 0o600)
    );
}

/// What is made under sudo is the caller's: recordings, what mending makes, exports, packed files, caches.
#[test]
fn what_sudo_makes_is_left_to_root() {
    let folder = Folder::of_plain_user("attack-sudo");
    let run = |arguments: &[&str]| output(sudo(folder.path()).args(arguments)).exits(0);
    run(&["run", "-q", "-o", "r.timesink", "--", "true"]);
    run(&["pack", "r.timesink"]);
    run(&["export", "r.timesink", "--to", "folded", "-o", "r.folded"]);
    killed(
        &mut sudo(folder.path()),
        &["sleep", "30"],
        folder.path(),
        &[],
    );
    run(&["report", "x.timesink"]);
    run(&["symbolize", "r.timesink"]);
    run(&["symbolize", "r.timesink.tar"]);
    let found = output(
        Command::new("find")
            .arg(folder.path())
            .args(["!", "-uid", "65534"]),
    )
    .exits(0);
    assert_eq!(found.text(), "", "not the caller's");
    let found = output(
        Command::new("find")
            .arg(folder.path())
            .args(["!", "-gid", "65534"]),
    )
    .exits(0);
    assert_eq!(found.text(), "", "not of the caller's group");
}

/// The caller of sudo may not write somewhere: nor does timesink there for them.
#[test]
fn sudo_writes_where_the_caller_may_not() {
    let folder = Folder::within_tmp("attack-sudo-place");
    let recording = record(folder.path(), "x.timesink");
    let place = Folder::within_tmp("attack-sudo-root");
    let file = |name: &str| place.join(name).display().to_string();
    let recording = recording.to_str().expect("a path");
    let here = Folder::of_plain_user("attack-sudo-here");
    for arguments in [
        vec!["pack", recording, "-o", &file("a.tar")],
        vec![
            "export",
            recording,
            "--to",
            "folded",
            "-o",
            &file("a.folded"),
        ],
        vec!["run", "-q", "-o", &file("a.timesink"), "--", "true"],
    ] {
        let ran = output(sudo(here.path()).args(&arguments));
        assert_ne!(ran.code(), 0, "{arguments:?}");
        assert!(ran.err.contains("ermission denied"), "{}", ran.err);
    }
    assert!(names(place.path()).is_empty());
}

/// A link of another user's on the way to an output would have root write where that user cannot.
#[test]
fn an_output_path_leads_through_a_link_of_the_attacker() {
    let victims = Victims::new();
    let folder = Folder::of_plain_user("attack-way");
    let recording = record(folder.path(), "x.timesink");
    let recording = recording.to_str().expect("a path");
    symlink(victims.0.join("empty"), folder.join("way")).expect("a link");
    give(&folder.join("way"), ATTACKER);
    fs::create_dir(folder.join("below")).expect("a folder");
    symlink("../way", folder.join("below/again")).expect("a link");
    for way in ["way", "below/../way", "below/again"] {
        let at = |name: &str| format!("{way}/{name}");
        for arguments in [
            vec!["pack", recording, "-o", &at("a.tar")],
            vec!["export", recording, "--to", "folded", "-o", &at("a.folded")],
            vec!["run", "-q", "-o", &at("a.timesink"), "--", "true"],
            vec![
                "attach",
                "--for",
                "0.1s",
                "-q",
                "-o",
                &at("b.timesink"),
                "1",
            ],
        ] {
            let ran = output(root(folder.path()).args(&arguments));
            assert_ne!(ran.code(), 0, "{arguments:?}");
            assert!(ran.err.contains("link of another user"), "{}", ran.err);
        }
    }
    victims.are_whole();
    // Root's own links are root's business.
    give(&folder.join("way"), 0);
    output(root(folder.path()).args(["pack", recording, "-o", "way/a.tar"])).exits(0);
    assert_eq!(names(&victims.0.join("empty")), ["a.tar"]);
}

/// The output is there already, as a file of somebody else's, a link to one, a link to nowhere, a pipe, a device, another name of
/// a file of root's: nothing is written over, and nobody is waited for.
#[test]
fn an_output_is_something_of_somebody_else() {
    let victims = Victims::new();
    let folder = Folder::of_plain_user("attack-over");
    let recording = record(folder.path(), "x.timesink");
    let recording = recording.to_str().expect("a path");
    fs::write(folder.join("file"), "theirs").expect("a file");
    give(&folder.join("file"), ATTACKER);
    symlink(victims.0.join("shadow"), folder.join("link")).expect("a link");
    symlink(victims.0.join("new"), folder.join("nowhere")).expect("a link");
    fifo(&folder.join("pipe"));
    fs::hard_link(victims.0.join("plain"), folder.join("hard")).expect("a second name");
    for name in ["file", "link", "nowhere", "pipe", "hard", "/dev/null", "."] {
        for arguments in [
            vec!["pack", recording, "-o", name],
            vec!["export", recording, "--to", "folded", "-o", name],
            vec!["run", "-q", "-o", name, "--", "true"],
        ] {
            let mut limited = Command::new("timeout");
            limited
                .args(["-s", "KILL", "60"])
                .arg(timesink())
                .args(&arguments);
            let ran = output(limited.current_dir(folder.path()));
            assert!(
                [1, 2].contains(&ran.code()),
                "{arguments:?}: {} {}",
                ran.code(),
                ran.err
            );
        }
    }
    assert_eq!(fs::read(folder.join("file")).expect("it"), b"theirs");
    fs::remove_file(folder.join("hard")).expect("the second name");
    victims.are_whole();
    assert!(fs::metadata("/dev/null").expect("it").mode() & libc::S_IFMT == libc::S_IFCHR);
}

/// While root records into a folder of the attacker's, the recording is renamed and a link to an empty folder of root's is put
/// in its place: what follows happens in the folder that was made.
#[test]
fn the_recording_is_swapped_for_a_link_while_it_is_made() {
    let victims = Victims::new();
    let folder = Folder::of_plain_user("attack-while");
    give(folder.path(), ATTACKER);
    let mut command = root(folder.path());
    command.args(["run", "-o", "x.timesink", "--", "sleep", "2"]);
    let running = Running::start(&mut command);
    let recording = folder.join("x.timesink");
    wait_for("it records", || recording.join("spool.bin").exists());
    fs::rename(&recording, folder.join("away")).expect("renamed");
    symlink(victims.0.join("empty"), &recording).expect("a link");
    give(&recording, ATTACKER);
    let ran = running.end().exits(0);
    assert!(ran.err.contains("sleep"), "its report: {}", ran.err);
    Recording::open(folder.join("away")).expect("it was finished where it is");
    victims.are_whole();
}

/// The disk is full in the midst of it: the old recording is whole, and what is half is gone.
#[test]
fn the_disk_is_full_in_the_midst_of_replacing() {
    let (folder, recording) = recorded_of(0, "attack-full");
    let disk = folder.join("disk");
    fs::create_dir(&disk).expect("a place to mount at");
    let used: u64 = names(&recording)
        .iter()
        .map(|name| {
            fs::metadata(recording.join(name))
                .expect("it")
                .len()
                .next_multiple_of(4096)
        })
        .sum();
    // Room for the recording, and for a part of another.
    let script = r#"
        mount -t tmpfs -o mode=755,size=$1 none disk && cp -a x.timesink disk/ && cd disk || exit 99
        before=$(cat x.timesink/* | sha256sum)
        "$0" symbolize x.timesink --debug-dir ../debug; echo "symbolize $?"
        "$0" pack x.timesink -o x.tar; echo "pack $?"
        "$0" export x.timesink --to perfetto -o x.export; echo "export $?"
        [ "$before" = "$(cat x.timesink/* | sha256sum)" ] && echo whole
        ls -A"#;
    let mut full = Command::new("unshare");
    full.args(["-m", "sh", "-c", script]).arg(timesink());
    full.arg(format!("{}", used + used / 4));
    full.env_remove("HOME").env_remove("SUDO_UID");
    let ran = output(full.current_dir(folder.path())).exits(0);
    let text = ran.text();
    for line in ["symbolize 1", "pack 1", "whole"] {
        assert!(
            text.lines().any(|l| l == line),
            "{line}: {text}\n{}",
            ran.err
        );
    }
    let left: Vec<&str> = text.lines().filter(|l| l.starts_with("x.")).collect();
    let exported = text.contains("export 0");
    let expected: &[&str] = if exported {
        &["x.export", "x.timesink"]
    } else {
        &["x.timesink"]
    };
    assert_eq!(left, expected, "{}", ran.err);
}

/// Root is killed in the midst of naming the functions of the attacker's packed recording: it is whole, the old or the new
/// one, and the attacker's.
#[test]
fn symbolize_by_root_is_killed() {
    let (folder, recording) = recorded_of(ATTACKER, "attack-killed");
    let packed = folder.join("x.tar");
    timesink_recording::pack(&recording, &packed).expect("packed");
    give(&packed, ATTACKER);
    for step in 0..40 {
        let mut command = root(folder.path());
        command.args(["symbolize", "x.tar", "--debug-dir", "debug"]);
        let running = Running::start(&mut command);
        std::thread::sleep(Duration::from_micros(800 * step));
        running.signal(libc::SIGKILL);
        running.end();
        let recording = Recording::open(&packed).expect("a whole recording");
        recording.rows::<Stack>().expect("its stacks");
        assert_eq!(owner(&packed).0, ATTACKER);
    }
    let mut command = root(folder.path());
    output(command.args(["symbolize", "x.tar", "--debug-dir", "debug"])).exits(0);
    assert!(!names(folder.path()).contains(&"x.tar.new".to_owned()));
}

/// In a folder in which all may write but nobody may rename what is others' (/tmp), the attacker takes the names that root would
/// use: root says so and follows nothing.
#[test]
fn names_are_taken_in_a_sticky_folder() {
    let victims = Victims::new();
    let folder = Folder::within_tmp("attack-sticky");
    rights(folder.path(), 0o1777);
    record(folder.path(), "x.timesink");
    for (name, to) in [
        ("true.timesink", "empty"),
        ("x.timesink.tar", "shadow"),
        ("x.timesink.new", "empty"),
    ] {
        symlink(victims.0.join(to), folder.join(name)).expect("a link");
        give(&folder.join(name), ATTACKER);
    }
    output(root(folder.path()).args(["run", "-q", "--", "true"])).exits(0);
    Recording::open(folder.join("true-2.timesink")).expect("under a name that was free");
    output(root(folder.path()).args(["pack", "x.timesink"])).exits(1);
    output(root(folder.path()).args(["symbolize", "x.timesink"])).exits(1);
    victims.are_whole();
}

/// The home folder that root's environment names under `sudo -E` is the caller's, whose cache is a link to a folder of root's.
#[test]
fn the_cache_of_the_caller_is_a_link() {
    let victims = Victims::new();
    let folder = Folder::of_plain_user("attack-cache");
    fs::create_dir(folder.join(".cache")).expect("a folder");
    symlink(victims.0.join("empty"), folder.join(".cache/timesink")).expect("a link");
    give_all(&folder.join(".cache"), PLAIN_USER);
    let run = |arguments: &[&str]| output(sudo(folder.path()).args(arguments)).exits(0);
    run(&["run", "-q", "-o", "r.timesink", "--", "true"]);
    run(&["symbolize", "r.timesink"]);
    killed(
        &mut sudo(folder.path()),
        &["sleep", "30"],
        folder.path(),
        &[],
    );
    run(&["report", "x.timesink"]);
    victims.are_whole();
}

/// Everything in a spool, unpacked.
fn unpacked(spool: &Path) -> Vec<u8> {
    let bytes = fs::read(spool).expect("the spool");
    let mut rest = &bytes[8..];
    let mut all = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<12>() {
        let packed = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some(frame) = after.get(..packed) else {
            break;
        };
        let raw = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        all.extend(zstd::bulk::decompress(frame, raw).expect("a frame"));
        rest = &after[packed..];
    }
    all
}

fn holds(bytes: &[u8], what: &str) -> bool {
    bytes
        .windows(what.len())
        .any(|window| window == what.as_bytes())
}

/// A command line with secrets of many kinds, all of which have `hunter2` in them, and children with more.
const SECRETS: &str = "/bin/true --password=hunter2-1; /bin/true --api-token hunter2-2; \
    /bin/true mysql://ada:hunter2-3@db/x; env MY_SECRET=hunter2-4 /bin/true; /bin/true -phunter2-5; \
    /bin/true 'Authorization: Bearer hunter2-6'; /bin/true --known=fine; sleep $1";

/// Secrets on command lines are looked for in a recording made with --redact: in the tables, in the report, in the spool of a
/// timesink that was killed.
#[test]
fn secrets_are_looked_for_in_a_redacted_recording() {
    let folder = Folder::of_plain_user("attack-secrets");
    let command = |seconds| ["sh", "-c", SECRETS, "--token=hunter2-0", seconds];
    let mut run = root(folder.path());
    run.args(["run", "--redact", "-q", "-o", "r.timesink", "--"])
        .args(command("0"));
    output(&mut run).exits(0);
    let recording = Recording::open(folder.join("r.timesink")).expect("it");
    let images = recording.rows::<Image>().expect("its images");
    let all: String = images
        .iter()
        .map(|image| image.arguments.as_str())
        .collect();
    for told in [
        "--password=[redacted]",
        "mysql://ada:[redacted]@db/x",
        "--known=fine",
    ] {
        assert!(all.contains(told), "{told}: {all}");
    }
    let json = output(root(folder.path()).args(["report", "--json", "r.timesink"])).exits(0);
    assert!(!holds(&json.out, "hunter2"), "{}", json.text());
    assert!(!all.contains("hunter2"), "{all}");
    output(root(folder.path()).args(["pack", "r.timesink"])).exits(0);
    let folded =
        output(root(folder.path()).args(["export", "r.timesink", "--to", "perfetto"])).exits(0);
    assert!(!holds(&folded.out, "hunter2"));
    killed(
        &mut root(folder.path()),
        &command("30"),
        folder.path(),
        &["--redact"],
    );
    let spool = unpacked(&folder.join("x.timesink/spool.bin"));
    assert!(
        holds(&spool, "--known=fine"),
        "its children are in the spool"
    );
    let at = spool.windows(7).position(|window| window == b"hunter2");
    let around =
        at.map(|at| String::from_utf8_lossy(&spool[at.saturating_sub(100)..at + 50]).into_owned());
    assert_eq!(around, None);
}
