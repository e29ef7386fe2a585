//! Settings, books and working directories that somebody else prepared.

use std::ffi::CString;
use std::fs;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, lchown, symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use timesink_live::{output, timesink, Folder, Ran, PLAIN_USER};

/// Somebody who is neither root nor `PLAIN_USER`.
const CALLER: u32 = 3_999_999_001;

fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).expect("it is given away");
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

/// A folder with the case `trap`, which makes a file `sprung` beside the book where it is run at all.
struct Trap(Folder);

impl Trap {
    /// Of this user, with the folder above it.
    fn of(user: u32) -> Trap {
        let folder = Folder::of_plain_user("attack-book");
        let case = folder.join("casebook/trap");
        fs::create_dir_all(&case).expect("the case's folder");
        let sprung = folder.join("sprung");
        let says = format!(
            "title = 'A trap'\nsetup = ['id -u > {0}']\n[[form]]\nname = 'trap'\ncommand = ['sh', '-c', 'id -u >> {0}']\n",
            sprung.display()
        );
        fs::write(case.join("case.toml"), says).expect("the case");
        for path in [
            folder.path().to_owned(),
            folder.join("casebook"),
            case.clone(),
            case.join("case.toml"),
        ] {
            give(&path, user);
        }
        Trap(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// As root in the trap's folder, perhaps called by sudo.
    fn casebook(&self, words: &[&str], sudo: Option<u32>) -> Ran {
        let mut command = Command::new(timesink());
        command
            .arg("casebook")
            .args(words)
            .current_dir(self.0.path());
        called_by(&mut command, sudo);
        output(&mut command)
    }

    /// Nothing of the case was executed, and it is said why.
    #[track_caller]
    fn is_refused(&self, ran: Ran, why: &str) {
        assert!(!self.path("sprung").exists(), "the case ran: {}", ran.err);
        let ran = ran.exits(1);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

fn called_by(command: &mut Command, sudo: Option<u32>) {
    for name in ["SUDO_UID", "SUDO_GID"] {
        match sudo {
            Some(user) => command.env(name, user.to_string()),
            None => command.env_remove(name),
        };
    }
}

/// Root runs `timesink casebook` in a folder of somebody who put a book there.
#[test]
fn a_book_of_another_user_in_the_working_directory_is_not_run() {
    let trap = Trap::of(PLAIN_USER);
    let ran = trap.casebook(&["run", "trap"], None);
    trap.is_refused(ran, "only what root's or your own is believed");
    let ran = trap.casebook(&["--book", "casebook", "verify"], None);
    trap.is_refused(ran, "only what root's or your own is believed");
}

/// The same where another user called sudo: whose the book is, is neither root nor who called.
#[test]
fn a_book_of_another_user_is_not_run_under_sudo() {
    let trap = Trap::of(PLAIN_USER);
    let ran = trap.casebook(&["run", "trap"], Some(CALLER));
    trap.is_refused(ran, "only what root's or your own is believed");
}

/// A book of root's lies in a folder of somebody else, who can put another in its place at any time.
#[test]
fn a_book_below_a_folder_of_another_user_is_not_run() {
    let trap = Trap::of(0);
    give(trap.0.path(), PLAIN_USER);
    let ran = trap.casebook(&["run", "trap"], None);
    trap.is_refused(ran, "attack-book");
}

/// All of a book is root's, but a script in it can be written to by anybody.
#[test]
fn a_book_with_a_file_that_anybody_can_write_to_is_not_run() {
    let trap = Trap::of(0);
    let script = trap.path("casebook/trap/script");
    fs::write(&script, "").expect("a script");
    mode(&script, 0o666);
    let ran = trap.casebook(&["run", "trap"], None);
    trap.is_refused(ran, "script: others than its owner can write to it");
    mode(&script, 0o644);
    mode(&trap.path("casebook"), 0o777);
    let ran = trap.casebook(&["run", "trap"], None);
    trap.is_refused(ran, "casebook: others than its owner can write to it");
}

/// A link stands where a book should be, in a folder that anybody can write to: where it leads counts, and the way there.
#[test]
fn a_link_to_a_book_of_another_user_is_not_followed() {
    let trap = Trap::of(PLAIN_USER);
    let folder = Folder::new("attack-link");
    symlink(trap.path("casebook"), folder.join("casebook")).expect("a link");
    let mut command = Command::new(timesink());
    command.args(["casebook", "run", "trap"]);
    called_by(&mut command, None);
    let ran = output(command.current_dir(folder.path()));
    trap.is_refused(ran, "only what root's or your own is believed");
}

/// What a book says is run with the rights of who called sudo, recorded or not, and never with root's.
#[test]
fn a_book_of_the_callers_does_not_get_root() {
    let trap = Trap::of(PLAIN_USER);
    let ran = trap.casebook(&["run", "trap"], Some(PLAIN_USER)).exits(0);
    assert!(ran.text().contains("A trap"), "{}", ran.text());
    let ids = fs::read_to_string(trap.path("sprung")).expect("it ran");
    assert!(
        ids.lines().count() >= 3,
        "set-up, runs and a recorded run: {ids}"
    );
    assert!(ids.lines().all(|id| id == PLAIN_USER.to_string()), "{ids}");
    assert_eq!(
        fs::metadata(trap.path("sprung"))
            .expect("it is there")
            .uid(),
        PLAIN_USER
    );
    assert!(!trap.path("casebook/trap/work").exists());
}

/// A case of the caller's puts links to a file of root's where timesink keeps what programs print.
#[test]
fn links_in_a_work_folder_do_not_reach_files_of_root() {
    let trap = Trap::of(PLAIN_USER);
    let victim = trap.path("victim");
    fs::write(&victim, "precious").expect("a file of root's");
    mode(&victim, 0o600);
    let says = format!(
        "title = 'Links'\nsetup = ['ln -sf {0} command.err', 'ln -sf {0} service-1.out']\n\
         [[form]]\nname = 'idle'\ncommand = ['true']\n",
        victim.display()
    );
    fs::write(trap.path("casebook/trap/case.toml"), says).expect("the case");
    let ran = trap.casebook(&["run", "trap"], Some(PLAIN_USER));
    assert_eq!(
        fs::read_to_string(&victim).expect("it is there"),
        "precious"
    );
    assert!(ran.exits(1).err.contains("ermission denied"));
}

/// What `timesink rules` says with this file of settings, in a folder where only that is.
fn rules_with(folder: &Folder) -> Ran {
    let mut command = Command::new(timesink());
    command.args(["rules", "busy"]).current_dir(folder.path());
    command
        .env("HOME", folder.path())
        .env_remove("XDG_CONFIG_HOME");
    called_by(&mut command, None);
    output(&mut command)
}

/// In a folder of anybody's, somebody else's file switches a rule off, and another silences all findings.
#[test]
fn settings_of_another_user_are_not_believed() {
    let folder = Folder::new("attack-settings");
    for (name, says) in [
        ("timesink.toml", "rules.busy.cpu = 0.123\n"),
        (
            ".timesink-ignore.toml",
            "[[mute]]\nsignature = '*'\nreason = 'x'\nresaon = 'x'\n",
        ),
    ] {
        let file = folder.join(name);
        fs::write(&file, says).expect("settings");
        mode(&file, 0o644);
        give(&file, PLAIN_USER);
    }
    let ran = rules_with(&folder).exits(0);
    assert!(!ran.text().contains("timesink.toml"), "{}", ran.text());
    assert!(!ran.err.contains("did you mean reason"), "{}", ran.err);
    for name in [
        "/timesink.toml: is not read",
        "/.timesink-ignore.toml: is not read",
    ] {
        assert!(ran.err.contains(name), "{}", ran.err);
    }
    // One's own are, until others can write to them.
    let file = folder.join("timesink.toml");
    give(&file, 0);
    let ran = rules_with(&folder).exits(0);
    assert!(ran.text().contains("timesink.toml"), "{}", ran.text());
    mode(&file, 0o666);
    let ran = rules_with(&folder).exits(0);
    assert!(!ran.text().contains("timesink.toml"), "{}", ran.text());
}

/// Settings with 80,000 wrong lines, which took 20 s to complain of.
#[test]
fn settings_with_many_faults_are_complained_of_a_few_times() {
    for (name, line) in [
        ("timesink.toml", "[rules.bussy-NUMBER]\nx = 1\n"),
        ("timesink.toml", "x-NUMBER = 1\n"),
        ("timesink.toml", "= NUMBER\n"),
        (".timesink-ignore.toml", "[[mute]]\nsignatuer = 'NUMBER'\n"),
    ] {
        let folder = Folder::new("attack-faults");
        let lines = (0..40_000).map(|number| line.replace("NUMBER", &number.to_string()));
        let mut says: String = lines.collect();
        says.truncate(1 << 20);
        fs::write(folder.join(name), &says).expect("settings");
        let start = Instant::now();
        let ran = rules_with(&folder).exits(0);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{line:?} took {took:?}");
        let told = ran.err.lines().count();
        assert!((2..=21).contains(&told), "{told} complaints of {line:?}");
        assert!(ran.err.contains("only the first 20 are"), "{}", ran.err);
    }
}

/// A file whose opening is noticed from now on.
struct Watched(OwnedFd);

impl Watched {
    fn opening(path: &Path) -> Watched {
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path");
        // SAFETY: the name ends, and the descriptor is nobody else's.
        unsafe {
            let fd = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
            assert!(fd >= 0, "inotify");
            assert!(libc::inotify_add_watch(fd, name.as_ptr(), libc::IN_OPEN) >= 0);
            Watched(OwnedFd::from_raw_fd(fd))
        }
    }

    fn was_opened(&self) -> bool {
        let mut events = fs::File::from(self.0.try_clone().expect("a descriptor"));
        events.read(&mut [0; 4096]).is_ok_and(|length| length > 0)
    }
}

/// To open some devices is to act: a tape rewinds, a watchdog starts. One that stands where settings are looked for is not
/// touched; neither is a pipe.
#[test]
fn devices_and_pipes_in_place_of_settings_are_not_opened() {
    let folder = Folder::new("attack-device");
    let device = folder.join("timesink.toml");
    let pipe = folder.join(".timesink-ignore.toml");
    let made = |path: &Path, kind: u32, device| {
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path");
        // SAFETY: the name ends.
        let made = unsafe { libc::mknod(name.as_ptr(), kind | 0o644, device) };
        assert_eq!(made, 0, "{}", path.display());
    };
    made(&device, libc::S_IFCHR, libc::makedev(1, 5));
    made(&pipe, libc::S_IFIFO, 0);
    let watched = [&device, &pipe].map(|path| Watched::opening(path));
    let ran = rules_with(&folder).exits(0);
    for (watched, path) in watched.iter().zip([&device, &pipe]) {
        assert!(!watched.was_opened(), "{} was opened", path.display());
        let told = format!("{}: is not read: it is no regular file", path.display());
        assert!(ran.err.contains(&told), "{}", ran.err);
    }
}

/// Floors that somebody else put into the state folder would be told as this machine's.
#[test]
fn floors_of_another_user_are_not_believed() {
    let folder = Folder::new("attack-floors");
    let state = folder.join("timesink");
    fs::create_dir(&state).expect("a folder");
    let file = state.join("floors.json");
    fs::write(&file, "{\"version\": 1, \"x\": 2}").expect("floors");
    chown(&file, Some(PLAIN_USER), Some(PLAIN_USER)).expect("given away");
    let mut command = Command::new(timesink());
    command.args(["run", "-o"]).arg(folder.join("r.timesink"));
    command
        .args(["--", "true"])
        .env("XDG_STATE_HOME", folder.path());
    called_by(&mut command, None);
    let ran = output(&mut command).exits(0);
    assert!(
        ran.err.contains("the saved floors are not used") && ran.err.contains("it belongs to user"),
        "{}",
        ran.err
    );
}
