//! The history of benchmarks: kept at commits, shown, and measured again where its level changed. Levels are figures that the command
//! prints itself, so that no test hangs by a time.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use timesink_live::{output, timesink, wait_for, Folder, Ran, Running, PLAIN_USER};

/// A folder of the plain user's, who calls sudo, or one in it.
struct Project {
    folder: Folder,
    part: &'static str,
}

impl Project {
    fn new(name: &str) -> Project {
        Project {
            folder: Folder::of_plain_user(name),
            part: "",
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(self.part)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// With a repository, whose first commits have a program that costs 100, and whose last ones one that costs `later`. At each of
    /// them it is measured.
    fn with_a_change(name: &str, later: &str, options: &[&str]) -> Project {
        let project = Project::new(name);
        project.git(&["init", "-q", "."]);
        project.change(later, options);
        project
    }

    fn change(&self, later: &str, options: &[&str]) {
        for number in 0..12 {
            let cost = if number < 6 { "echo cost 100" } else { later };
            self.commit(&format!("#!/bin/sh\n# {number}\n{cost}\n"));
            self.measure(options).exits(0);
        }
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = self.plain("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        output(git.args(words)).exits(0).text()
    }

    /// A program of the plain user's.
    fn plain(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut plain = Command::new("setpriv");
        plain.args([
            format!("--reuid={PLAIN_USER}"),
            format!("--regid={PLAIN_USER}"),
            "--clear-groups".to_owned(),
        ]);
        plain.arg(program).current_dir(self.path());
        plain.env("HOME", self.path());
        plain.env_remove("SUDO_UID").env_remove("SUDO_GID");
        plain
    }

    fn commit(&self, script: &str) {
        fs::write(self.join("work.sh"), script).expect("a file");
        self.git(&["add", "work.sh"]);
        self.git(&["commit", "-q", "-m", "more"]);
    }

    fn by_sudo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(timesink());
        command
            .args(words)
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("SUDO_UID", PLAIN_USER.to_string())
            .env("SUDO_GID", PLAIN_USER.to_string());
        command
    }

    fn measure(&self, options: &[&str]) -> Ran {
        let mut bench = self.by_sudo(&["bench", "--history", "--rounds", "3"]);
        bench.args(["--metric", "cost ([0-9]+)"]).args(options);
        output(bench.arg("sh work.sh"))
    }

    fn history(&self, words: &[&str]) -> Ran {
        output(self.by_sudo(&["history"]).args(words))
    }

    fn json(&self) -> Value {
        let said = self.history(&["--json"]).exits(0);
        serde_json::from_slice(&said.out).expect("it is JSON")
    }

    /// What is in the file, changed as somebody else's program would.
    fn changed_by_hand(&self, sql: &str) {
        let script = "import sqlite3, sys\n\
                      to = sqlite3.connect('.timesink/history')\nto.executescript(sys.argv[1])\nto.commit()";
        output(self.python(script).arg(sql)).exits(0);
    }

    fn python(&self, script: &str) -> Command {
        let mut python = Command::new("python3");
        python.args(["-c", script]).current_dir(self.path());
        python
    }

    fn names(&self) -> Vec<String> {
        let all = fs::read_dir(self.join(".timesink")).expect("it is there");
        let names = all.map(|one| one.expect("a name").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// No work tree is left, neither its folder nor what git knows of it.
    fn has_no_work_trees(&self) {
        assert_eq!(self.names(), ["history"]);
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
    }
}

fn owner(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").uid()
}

/// A change of the level is a candidate first; measured again in pairs it is told with its interval and the commit; and all of it
/// is the user's.
#[test]
fn a_change_is_confirmed() {
    let project = Project::with_a_change("history", "echo cost 110", &[]);
    let page = project.history(&[]).exits(0).text();
    for part in [
        "12 results",
        "candidate: perhaps worse by 10.0 %",
        "--confirm",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let none = project.history(&["--markdown"]).exits(0).text();
    assert_eq!(none, "No change was confirmed.\n");
    let confirmed = project.history(&["--confirm"]).exits(0);
    let page = confirmed.text();
    let first = project.git(&["rev-parse", "HEAD~5"]);
    let want = format!(
        "worse by 10.0 % (10.0 to 10.0 %) since {}; confirmed on",
        &first[..10]
    );
    assert!(page.contains(&want), "{want} in {page}\n{}", confirmed.err);
    let json = project.json();
    let one = &json["benchmarks"][0]["confirmations"][0];
    assert_eq!(one["verdict"], "changed");
    assert_eq!(one["commits"], 1);
    assert_eq!(one["pairs"].as_array().map(Vec::len), Some(10));
    for (format, part) in [("--markdown", "| `sh work.sh` |"), ("--atom", "<entry>")] {
        let text = project.history(&[format]).exits(0).text();
        assert!(
            text.contains(part) && text.contains("worse by 10.0 %"),
            "{text}"
        );
    }
    for path in [".timesink", ".timesink/history"] {
        assert_eq!(owner(&project.join(path)), PLAIN_USER, "{path}");
    }
    project.has_no_work_trees();
    let again = project.history(&["--confirm"]).exits(0);
    assert!(again.err.contains("nothing to confirm"), "{}", again.err);
    assert_eq!(
        project.git(&["status", "--porcelain", "--untracked-files=no"]),
        ""
    );
}

/// A project may be a part of a repository: it is that part of a work tree that is measured.
#[test]
fn a_part_of_a_repository() {
    let whole = Project::new("history-part");
    whole.git(&["init", "-q", "."]);
    let part = whole.join("part");
    for folder in [part.clone(), part.join(".timesink")] {
        fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::chown(&folder, Some(PLAIN_USER), Some(PLAIN_USER)).expect("given");
    }
    let project = Project {
        part: "part",
        ..whole
    };
    project.change("echo cost 110", &[]);
    let page = project.history(&["--confirm"]).exits(0).text();
    assert!(page.contains("worse by 10.0 %"), "{page}");
    project.has_no_work_trees();
}

/// What looked different and is the same when measured again was not the source.
#[test]
fn a_candidate_that_is_no_change_is_said() {
    // What it prints is in a file that git does not know, as if the machine had changed.
    let project = Project::new("history-same");
    project.git(&["init", "-q", "."]);
    let cost = project.join("cost");
    for number in 0..12 {
        fs::write(&cost, if number < 6 { "cost 100" } else { "cost 90" }).expect("a file");
        let script = format!("# {number}\ncat {}\n", cost.display());
        project.commit(&script);
        project.measure(&[]).exits(0);
    }
    let page = project.history(&["--confirm"]).exits(0).text();
    assert!(page.contains("not the source:"), "{page}");
    assert!(page.contains("the same within 2 %"), "{page}");
}

/// A commit that cannot be built, or whose program fails, is said by its name, and nothing of it is counted.
#[test]
fn a_commit_that_fails_is_said() {
    let project = Project::with_a_change("history-fails", "echo cost 110", &[]);
    let old = project.git(&["rev-parse", "HEAD~6"]);
    let new = project.git(&["rev-parse", "HEAD~5"]);
    // As if what it needs was there on the day.
    for (setup, command) in [("grep -q 110 work.sh", old), ("! grep -q 110 work.sh", new)] {
        let sql = format!("UPDATE series SET setup = '{setup}'");
        project.changed_by_hand(&sql);
        let failed = project.history(&["--confirm"]).exits(2);
        for part in ["--setup", "exit code 1", &command[..10]] {
            assert!(failed.err.contains(part), "{part} in {}", failed.err);
        }
        let json = project.json();
        assert_eq!(
            json["benchmarks"][0]["confirmations"],
            Value::Array(Vec::new())
        );
        project.has_no_work_trees();
    }
}

/// Ctrl-C keeps the pairs that were measured, says that they decide nothing, and leaves no work tree; another time goes on.
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let project = Project::with_a_change("history-interrupted", "echo cost 110", &[]);
    let log = project.join("log");
    let command = format!("echo >> {}; sleep 0.05; sh work.sh", log.display());
    let sql = format!(
        "UPDATE series SET what = json_set(what, '$.command', '{command}', '$.shell', json('true'))"
    );
    project.changed_by_hand(&sql);
    let running = Running::start(&mut project.by_sudo(&["history", "--confirm"]));
    wait_for("some pairs", || {
        fs::read(&log).is_ok_and(|log| log.len() >= 8)
    });
    running.signal(libc::SIGINT);
    let ended = running.end().exits(130);
    assert!(ended.text().contains("not decided by"), "{}", ended.text());
    let json = project.json();
    let one = &json["benchmarks"][0]["confirmations"][0];
    assert_eq!(one["verdict"], "undecided");
    let pairs = one["pairs"].as_array().map_or(0, Vec::len);
    assert!((1..10).contains(&pairs), "{pairs} pairs");
    project.has_no_work_trees();
    let page = project.history(&["--confirm"]).exits(0).text();
    assert!(page.contains("confirmed on"), "{page}");
}

/// Who ends timesink the hard way leaves work trees behind; the next time takes them away.
#[test]
fn what_a_killed_one_left_goes() {
    let project = Project::with_a_change("history-killed", "echo cost 110", &["--setup", "true"]);
    project.changed_by_hand("UPDATE series SET setup = 'echo > ready; sleep 60'");
    let running = Running::start(&mut project.by_sudo(&["history", "--confirm"]));
    let is_ready = || {
        let trees = project.names();
        let mut ready = trees.iter().map(|name| format!(".timesink/{name}/ready"));
        ready.any(|path| project.join(&path).exists())
    };
    wait_for("a work tree is set up", is_ready);
    running.signal(libc::SIGKILL);
    running.end();
    project.changed_by_hand("UPDATE series SET setup = 'true'");
    project.history(&["--confirm"]).exits(0);
    project.has_no_work_trees();
}

/// Two that measure at once both find their results kept.
#[test]
fn two_at_once_are_both_kept() {
    let project = Project::new("history-two");
    let both = ["echo cost 1", "echo cost 2"].map(|command| {
        let mut bench = project.by_sudo(&["bench", "--history", "--rounds", "3", command]);
        Running::start(&mut bench)
    });
    for one in both {
        one.end().exits(0);
    }
    let json = project.json();
    assert_eq!(
        json["benchmarks"].as_array().map(Vec::len),
        Some(2),
        "{json:#}"
    );
}

/// Without git results are kept by their day, and what cannot be measured again is said.
#[test]
fn without_git_there_are_days() {
    let project = Project::new("history-days");
    for number in 0..12 {
        let cost = if number < 6 {
            "echo cost 100"
        } else {
            "echo cost 110"
        };
        fs::write(project.join("work.sh"), cost).expect("a file");
        project.measure(&[]).exits(0);
    }
    let page = project.history(&["--confirm"]).exits(0);
    assert!(
        page.text().contains("cannot be measured again"),
        "{}",
        page.text()
    );
    assert!(page.err.contains("nothing to confirm"), "{}", page.err);
    assert_eq!(
        project.json()["benchmarks"][0]["results"][0]["commit"],
        Value::Null
    );
    let none = Project::new("history-none");
    let said = none.history(&[]).exits(1);
    assert!(said.err.contains("bench --history"), "{}", said.err);
}

/// A full disk takes neither the figures nor what was kept before.
#[test]
fn the_disk_is_full() {
    let project = Project::new("history-full");
    let script = r#"
        mkdir disk && mount -t tmpfs -o mode=777,size=$1 none disk && cd disk || exit 99
        "$0" bench --history --rounds 3 'echo 1' || exit 98
        before=$(sha256sum .timesink/history)
        head -c 10000000 /dev/zero > rest
        "$0" bench --history --rounds 3 'echo figures'; echo "bench $?"
        [ "$before" = "$(sha256sum .timesink/history)" ] && echo whole
        "$0" history > page && echo unreachable
        ls -A .timesink"#;
    let mut full = Command::new("unshare");
    full.args(["-m", "sh", "-c", script]).arg(timesink());
    full.arg("200k").current_dir(project.path());
    full.env("HOME", project.path());
    full.env("SUDO_UID", PLAIN_USER.to_string());
    full.env("SUDO_GID", PLAIN_USER.to_string());
    let ran = output(&mut full);
    let text = ran.text();
    for part in ["echo figures", "\nbench 2\n", "\nwhole\n", "\nhistory\n"] {
        assert!(text.contains(part), "{part:?} in {text}\n{}", ran.err);
    }
    assert!(!text.contains("history.partial"), "{text}");
    assert!(ran.err.contains("which is as it was"), "{}", ran.err);
}

/// A history of a newer version, a damaged one and something else are refused in plain words, before anything is measured, and
/// stay as they are.
#[test]
fn what_is_no_history_is_said() {
    let project = Project::new("history-newer");
    output(&mut project.by_sudo(&["bench", "--history", "--rounds", "3", "echo 1"])).exits(0);
    let file = project.join(".timesink/history");
    let whole = fs::read(&file).expect("it is kept");
    let mut newer = whole.clone();
    newer[63] = 99;
    let mut damaged = whole.clone();
    let half = damaged.len() / 2;
    damaged[half..].fill(0x5a);
    let cut = whole[..whole.len() / 2].to_vec();
    for (bytes, want) in [
        (newer, "newer timesink (version 99"),
        (damaged, "take it back from git"),
        (cut, "take it back from git"),
        (b"hello".to_vec(), "not a history of timesink's"),
    ] {
        fs::write(&file, &bytes).expect("written");
        for words in [&["history"][..], &["bench", "--history", "touch measured"]] {
            let said = output(&mut project.by_sudo(words));
            assert!(said.code() == 1 || said.code() == 2, "{said:?}");
            assert!(said.err.contains(want), "{want} in {}", said.err);
            assert!(said.err.contains(".timesink/history"), "{}", said.err);
        }
        assert!(!project.join("measured").exists());
        assert_eq!(fs::read(&file).expect("it is there"), bytes);
    }
}

/// A repository that somebody else made has a history, too: names in it act on no terminal and are no marks, and it leads neither
/// git nor a command out of the project.
#[test]
fn a_history_of_somebody_else() {
    let project = Project::with_a_change("history-hostile", "echo cost 110", &[]);
    project.history(&["--confirm"]).exits(0);
    let command =
        "char(27) || '[2J | <b>&' || char(65534) || char(8238) || '`x` [a](javascript:b)'";
    project.changed_by_hand(&format!(
        "UPDATE series SET what = json_set(what, '$.command', {command}, '$.metric', {command})"
    ));
    for words in [&[][..], &["--markdown"], &["--atom"], &["--json"]] {
        let said = project.history(words).exits(0);
        let text = said.text();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{words:?}: {text}");
        fs::write(project.join("page"), &text).expect("a file");
    }
    let feed = project.history(&["--atom"]).exits(0).text();
    fs::write(project.join("feed"), feed).expect("a file");
    let parse = "import xml.etree.ElementTree as e; e.parse('feed')";
    output(&mut project.python(parse)).exits(0);
    let page = project.history(&["--markdown"]).exits(0).text();
    assert!(page.contains("``\\x1b[2J \\| <b>&"), "{page}");

    project.changed_by_hand("DELETE FROM confirmations; DELETE FROM pairs");
    for directory in ["../..", "/"] {
        let sql = format!("UPDATE series SET what = json_set(what, '$.directory', '{directory}')");
        project.changed_by_hand(&sql);
        let said = project.history(&["--confirm"]).exits(2);
        assert!(said.err.contains("outside of the project"), "{}", said.err);
    }
    project.has_no_work_trees();
    for (sql, want) in [
        (
            "UPDATE results SET commit_id = '--output=x'",
            "is no commit",
        ),
        (
            "CREATE TRIGGER x AFTER INSERT ON runs BEGIN DELETE FROM results; END",
            "not the tables",
        ),
    ] {
        project.changed_by_hand(sql);
        let said = project.history(&["--confirm"]).exits(1);
        assert!(said.err.contains(want), "{want} in {}", said.err);
    }
}

/// Where the folder or the file is a link, nothing is written through it, and nothing is read.
#[test]
fn links_lead_nowhere() {
    let elsewhere = Folder::of_plain_user("history-elsewhere");
    let secret = elsewhere.join("secret");
    fs::write(&secret, "of somebody").expect("a file");
    let linked = |of_folder: bool| {
        let project = Project::new("history-links");
        let kept = project.join(".timesink");
        if of_folder {
            symlink(elsewhere.path(), &kept).expect("a link");
        } else {
            fs::create_dir(&kept).expect("a folder");
            symlink(&secret, kept.join("history")).expect("a link");
            std::os::unix::fs::chown(&kept, Some(PLAIN_USER), Some(PLAIN_USER)).expect("given");
        }
        for words in [&["history"][..], &["bench", "--history", "touch measured"]] {
            let said = output(&mut project.by_sudo(words));
            assert!(said.code() == 1 || said.code() == 2, "{said:?}");
            assert!(!said.err.contains("of somebody"), "{}", said.err);
        }
        assert!(!project.join("measured").exists());
    };
    linked(true);
    linked(false);
    assert_eq!(
        fs::read_to_string(&secret).expect("it is there"),
        "of somebody"
    );
    let names = fs::read_dir(elsewhere.path()).expect("it is there");
    assert_eq!(names.count(), 1);
}

/// A program that is none of the project's and became another where the level changed is told beside the candidate.
#[test]
fn a_changed_interpreter_is_told() {
    let project = Project::new("history-interpreter");
    project.git(&["init", "-q", "."]);
    let tools = Folder::of_plain_user("history-tools");
    let tool = tools.join("tool");
    for number in 0..12 {
        let cost = if number < 6 { "100" } else { "110" };
        fs::write(&tool, format!("#!/bin/sh\necho cost {cost}\n")).expect("a file");
        fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("set");
        project.commit(&format!("# {number}\n"));
        let mut bench = project.by_sudo(&["bench", "--history", "--rounds", "3"]);
        bench.args(["--metric", "cost ([0-9]+)"]).arg(&tool);
        output(&mut bench).exits(0);
    }
    let page = project.history(&[]).exits(0).text();
    let told = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("where it was measured changed there, too:"),
        "{page}"
    );
    assert!(told.contains("executable"), "{page}");
}
