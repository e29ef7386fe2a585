//! Bad weather of the casebook, with small books of the test's own: a port in use, services that do not come up, packages
//! that cannot be had, cases that cannot be read, timesink ended in the middle. A case says what is wrong and fails by
//! itself, the others run, and nothing is left running or on disk outside of the case's own folder.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use timesink_live::{output, timesink, wait_for, Folder, Ran, Running, PLAIN_USER};

/// A case that has nothing wrong with it.
const SOUND: &str =
    "title = 'Nothing to do'\n[[form]]\nname = 'idle'\ncommand = ['true']\nhealthy = true\n";

/// A folder of cases.
struct Book(Folder);

impl Book {
    /// Cases by name and what their `case.toml` says.
    fn of(cases: &[(&str, &str)]) -> Book {
        let folder = Folder::new("book");
        for (name, says) in cases {
            fs::create_dir(folder.join(name)).expect("the case's folder");
            fs::write(folder.join(name).join("case.toml"), says).expect("the case");
        }
        Book(folder)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(timesink());
        command.args(["casebook", "--book"]).arg(self.0.path());
        command.args(words);
        command
    }

    fn does(&self, words: &[&str]) -> Ran {
        output(&mut self.command(words))
    }

    /// All that is below the folder.
    fn files(&self) -> BTreeSet<PathBuf> {
        fn below(folder: &Path, all: &mut BTreeSet<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    below(&entry.path(), all);
                }
                all.insert(entry.path());
            }
        }
        let mut all = BTreeSet::new();
        below(self.0.path(), &mut all);
        all
    }
}

/// A case with one form that is not reached, and these lines.
fn spoilt(lines: &str) -> String {
    format!("title = 'Spoilt'\n{lines}\n[[form]]\nname = 'idle'\ncommand = ['true']\n")
}

/// What is said of a case: its line, and those that belong to it.
#[track_caller]
fn said(ran: &Ran, case: &str) -> String {
    let mut lines = ran.err.lines().skip_while(|line| !line.starts_with(case));
    let first = lines.next();
    let first = first.unwrap_or_else(|| panic!("{case} is not spoken of:\n{}", ran.err));
    let rest = lines.take_while(|line| line.starts_with("    "));
    std::iter::once(first)
        .chain(rest)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The case failed, and these words are said of it.
#[track_caller]
fn fails(ran: &Ran, case: &str, words: &[&str]) {
    let said = said(ran, case);
    for word in words.iter().chain(&["FAILED"]) {
        assert!(said.contains(word), "{word:?} is not said:\n{said}");
    }
}

#[track_caller]
fn is_told(ran: &Ran, case: &str) {
    let said = said(ran, case);
    assert!(said.contains(" told ("), "{said}");
}

/// The command lines that have these words. A process that has ended has none.
fn running(words: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some(format!("{pid}: {line}"))
    });
    lines.filter(|line| line.contains(words)).collect()
}

/// A number of seconds to sleep that nobody else sleeps, long enough to outlive the test.
fn marker(number: usize) -> String {
    format!("{}.{number}", 100_000 + std::process::id())
}

/// A port that somebody has is named, with the case that needs it, whichever address it is taken at; and the next case of
/// the same book runs.
#[test]
fn a_port_in_use() {
    let ours = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let everywhere = TcpListener::bind(("0.0.0.0", 0)).expect("a port");
    let [here, there] = [&ours, &everywhere].map(|at| at.local_addr().expect("it").port());
    let book = Book::of(&[
        ("a-here", &spoilt(&format!("ports = [{here}]"))),
        ("b-there", &spoilt(&format!("ports = [{there}]"))),
        ("c-sound", SOUND),
    ]);
    let ran = book.does(&["verify"]).exits(1);
    fails(&ran, "a-here", &[&format!("port {here}"), "in use"]);
    fails(&ran, "b-there", &[&format!("port {there}"), "in use"]);
    is_told(&ran, "c-sound");
    let ran = book.does(&["run", "a-here"]).exits(1);
    assert!(
        ran.err.contains(&format!("a-here: port {here}")),
        "{}",
        ran.err
    );
}

/// A service that does not come up is named, with the last lines of what it printed, on either stream: one that ends, one
/// that is never ready, one of which the question whether it is ready has no answer, and one that does not exist.
#[test]
fn services_that_do_not_come_up() {
    let service = |limit: &str, command: &str, ready: &str| {
        let lines = format!("{limit}\n[[service]]\ncommand = '{command}'\nready = '{ready}'");
        spoilt(&lines)
    };
    let long = "seq 1000; echo it has no table >&2; exit 3";
    let book = Book::of(&[
        ("ends", &service("", long, "false")),
        (
            "hangs",
            &service(
                "longest_s = 1",
                "echo loading; exec sleep 1000",
                "sleep 1000",
            ),
        ),
        ("missing", &service("", "exec no-such-program", "false")),
        (
            "never",
            &service("longest_s = 1", "echo still loading; sleep 1000", "false"),
        ),
    ]);
    let ran = book.does(&["verify"]).exits(1);
    fails(
        &ran,
        "ends",
        &[
            "service: seq 1000",
            "exit status: 3",
            "\n    1000\n    it has no table",
        ],
    );
    assert!(!said(&ran, "ends").contains("\n    1\n"), "{}", ran.err);
    fails(
        &ran,
        "never",
        &[
            "service: echo still",
            "not ready after 1s",
            "\n    still loading",
        ],
    );
    fails(
        &ran,
        "hangs",
        &[
            "service: echo loading",
            "not ready after 1s",
            "\n    loading",
        ],
    );
    fails(
        &ran,
        "missing",
        &[
            "service: exec no-such-program",
            "no-such-program: not found",
        ],
    );
}

/// A package that cannot be had is named; a set-up that fails shows what it printed; one that hangs is ended, and so is one
/// that only leaves somebody behind who holds its streams open.
#[test]
fn set_up_that_fails() {
    let sleeps = marker(1);
    let left =
        format!("setup = ['sleep {sleeps} & setsid sleep {sleeps} &', 'echo done >&2; exit 7']");
    let book = Book::of(&[
        (
            "fails",
            &spoilt("setup = ['true', 'echo no compiler here >&2; exit 4']"),
        ),
        (
            "hangs",
            &spoilt("longest_s = 1\nsetup = ['echo asking >&2; sleep 1000']"),
        ),
        ("leaves", &spoilt(&left)),
        ("package", &spoilt("packages = ['no-such-package-as-this']")),
    ]);
    // No list of packages is fetched for this.
    let settings = book.0.join("apt.conf");
    fs::create_dir_all(book.0.join("lists/partial")).expect("a folder");
    let lines = format!(
        "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"/dev/null\";\nDir::State::lists \"{}\";\n",
        book.0.join("lists").display()
    );
    fs::write(&settings, lines).expect("settings of apt");
    let ran = output(book.command(&["verify"]).env("APT_CONFIG", settings)).exits(1);
    fails(
        &ran,
        "fails",
        &[
            "set-up: echo no compiler",
            "exit status: 4",
            "\n    no compiler here",
        ],
    );
    fails(
        &ran,
        "hangs",
        &[
            "set-up: echo asking",
            "did not end within 1s",
            "\n    asking",
        ],
    );
    fails(&ran, "leaves", &["set-up: echo done", "exit status: 7"]);
    fails(
        &ran,
        "package",
        &[
            "no-such-package-as-this cannot be installed",
            "Unable to locate",
        ],
    );
    assert_eq!(running(&sleeps), [""; 0]);
}

/// Whatever a case starts ends with it, in a session of its own or not; what programs leave for a while is in the case's
/// work folder, which is made anew and is gone afterwards; who called sudo does not matter.
#[test]
fn nothing_is_left() {
    let (service, form) = (marker(2), marker(3));
    let says = format!(
        "title = 'Leaves much behind'\nsetup = ['test ! -e stale']\n\
         [[service]]\ncommand = 'setsid sleep {service} & touch up; exec sleep {service}'\nready = 'test -e up'\n\
         [[form]]\nname = 'leaves'\nhealthy = true\ncommand = ['sh', '-c', '''\
         test \"$(pgrep -fc \"^sleep {form}\")\" = 0 && test \"$(pgrep -fc \"^sleep {service}\")\" = 2\n\
         mktemp > made && grep -q \"^$CASE/work/\" made\n\
         sleep {form} & setsid sh -c \"sleep {form} & sleep {form}\" & exit 0''']\n"
    );
    let book = Book::of(&[("leaves", &says)]);
    let before = book.files();
    let stale = book.0.join("leaves/work");
    fs::create_dir(&stale).expect("what an earlier run left");
    fs::write(stale.join("stale"), "").expect("what an earlier run left");
    let mut verify = book.command(&["verify"]);
    verify.env("SUDO_UID", PLAIN_USER.to_string());
    let ran = output(verify.env("SUDO_GID", PLAIN_USER.to_string())).exits(0);
    is_told(&ran, "leaves");
    assert_eq!(running(&service), [""; 0]);
    assert_eq!(running(&form), [""; 0]);
    assert_eq!(book.files(), before);
}

/// What disturbs a machine may last for longer than one case: where too few gains are as predicted, those that are not are
/// looked at once more in the end. A case that was disturbed at each of its tries failed the whole book.
#[test]
fn what_disturbed_is_over() {
    let says = "title = 'Naps'\nsetup = ['echo >> $CASE/tries']\n\
         [[form]]\nname = 'naps'\ncommand = ['perl', '-e', 'select(undef, undef, undef, 0.02) for 1..40']\n\
         told = { rule = 'fixed-delay', fixed = 'awake' }\n\
         [[form]]\nname = 'awake'\ncommand = ['sh', '-c', '''\
         test $(wc -l < $CASE/tries) -gt 3 || sleep 0.8; exec perl -e 1''']\n";
    let book = Book::of(&[("naps", says), ("sound", SOUND)]);
    let ran = book.does(&["verify"]).exits(0);
    let told = ran.err.matches("naps                     told (");
    assert_eq!(told.count(), 2, "{}", ran.err);
    assert!(
        ran.text().contains("1 of 1 measured gains"),
        "{}",
        ran.text()
    );
}

/// A case in the middle of which timesink is ended, by whatever signal, ends with it: its services, its forms, recorded or
/// not, and what they started. Its work folder goes, too. Meanwhile nobody else can run the same case.
#[test]
fn timesink_is_ended() {
    let ends = [
        (libc::SIGINT, 1),
        (libc::SIGTERM, 4),
        (libc::SIGHUP, 1),
        (libc::SIGKILL, 1),
        (libc::SIGKILL, 4),
    ];
    for (number, (signal, run)) in ends.into_iter().enumerate() {
        let sleeps = marker(10 + number);
        // The fourth run is the recorded one.
        let says = format!(
            "title = 'Long'\n\
             [[service]]\ncommand = 'setsid sleep {sleeps} & exec sleep {sleeps}'\nready = 'true'\n\
             [[form]]\nname = 'long'\ncommand = ['sh', '-c', '''\
             echo >> runs; test $(wc -l < runs) = {run} || exit 0\n\
             setsid sleep {sleeps} & echo > there; sleep {sleeps}''']\n"
        );
        let book = Book::of(&[("long", &says), ("next", SOUND)]);
        let before = book.files();
        let mut verify = book.command(&["verify"]);
        // As from a terminal, SIGINT is for the whole group.
        let running_it = Running::start(verify.process_group(0));
        wait_for("the form runs", || book.0.join("long/work/there").exists());
        if number == 0 {
            let second = book.does(&["run", "long"]).exits(1);
            assert!(
                second.err.contains("another timesink runs this case"),
                "{}",
                second.err
            );
        }
        match signal {
            // SAFETY: a plain system call; the group is that of our own child.
            libc::SIGINT => assert_eq!(unsafe { libc::kill(-running_it.pid(), signal) }, 0),
            _ => running_it.signal(signal),
        }
        let gone = || running(&sleeps).is_empty() && book.files() == before;
        if signal == libc::SIGKILL {
            // Nobody is left whom we could wait for.
            assert_eq!(running_it.end().code(), 1000 + signal);
            wait_for("all of the case is gone", gone);
        } else {
            let ran = running_it.end().exits(128 + signal);
            assert!(gone(), "{:?} {:?}", running(&sleeps), book.files());
            assert!(ran.err.contains("ended by a signal"), "{}", ran.err);
            assert!(!ran.err.contains("next"), "{}", ran.err);
        }
    }
}

/// Packages that are being installed when timesink is ended are not cut short: apt is told, and waited for. What it was to
/// install them for does not begin.
#[test]
fn an_installation_is_not_cut_short() {
    let book = Book::of(&[(
        "packages",
        &spoilt("packages = ['no-such-package-as-this']\nsetup = ['touch $CASE/begun']"),
    )]);
    let folder = book.0.path();
    // In the place of apt: it unpacks until it is told to stop, and then has something left to do.
    let apt = "#!/bin/sh\ntrap 'told=1' INT\ntouch \"$CASE/unpacking\"\n\
               while [ -z \"$told\" ]; do sleep 0.02; done\nsleep 0.3\ntouch \"$CASE/whole\"\n";
    let program = folder.join("apt-get");
    fs::write(&program, apt).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = std::env::var("PATH").expect("a path");
    let mut run = book.command(&["run", "packages"]);
    let run = Running::start(run.env("PATH", format!("{}:{path}", folder.display())));
    wait_for("it unpacks", || folder.join("packages/unpacking").exists());
    run.signal(libc::SIGTERM);
    run.end().exits(128 + libc::SIGTERM);
    assert!(folder.join("packages/whole").exists());
    assert!(!folder.join("packages/begun").exists());
}

/// Who is not root can list the cases; who wants to run one is told in one line that recording needs root, before anything
/// is made ready.
#[test]
fn without_root() {
    let folder = Folder::of_plain_user("casebook");
    let copy = folder.join("timesink");
    fs::copy(timesink(), &copy).expect("a copy that anybody may execute");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("its mode");
    let case = folder.join("book/sound");
    fs::create_dir_all(&case).expect("a book");
    fs::write(case.join("case.toml"), SOUND).expect("a case");
    let does = |words: &[&str]| {
        let mut command = Command::new(&copy);
        command.args(["casebook", "--book", "book"]).args(words);
        output(
            command
                .current_dir(folder.path())
                .uid(PLAIN_USER)
                .gid(PLAIN_USER),
        )
    };
    let listed = does(&["list"]).exits(0);
    assert_eq!(listed.text(), "sound  Nothing to do\n");
    for words in [&["run", "sound"][..], &["verify"]] {
        let ran = does(words).exits(2);
        assert!(
            ran.err.starts_with("timesink: recording needs root"),
            "{}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(!case.join("work").exists());
    }
}

/// A case that says what cannot be is named with its file and the field, when it is listed and when it is run; the others
/// run. A book without a case is no success.
#[test]
fn cases_that_cannot_be_read() {
    let form = |lines: &str| format!("title = 'Wrong'\n[[form]]\nname = 'slow'\n{lines}\n");
    let told = |told: &str| form(&format!("command = ['true']\ntold = {{ {told} }}"));
    let broken = [
        ("command", form("command = []"), "form slow: command"),
        (
            "fixed",
            told("rule = 'round-trips', fixed = 'quick'"),
            "form slow: told.fixed: there is no form quick",
        ),
        (
            "missing",
            "title = 'Wrong'\n".to_owned(),
            "missing field `form`",
        ),
        (
            "none",
            "title = 'Wrong'\nform = []\n".to_owned(),
            "form: there is none",
        ),
        (
            "rule",
            told("rule = 'no-such-rule'"),
            "form slow: told.rule: there is no rule no-such-rule",
        ),
        (
            "silent",
            form("command = ['true']\nsilent = ['nor-this']"),
            "form slow: silent: there is no rule nor-this",
        ),
        (
            "twice",
            form("command = ['true']\n[[form]]\nname = 'slow'\ncommand = ['true']"),
            "form slow: there are two",
        ),
        (
            "unknown",
            form("command = ['true']\ncolour = 'red'"),
            "unknown field `colour`",
        ),
    ];
    let mut cases: Vec<(&str, &str)> = vec![("sound", SOUND)];
    cases.extend(broken.iter().map(|(name, says, _)| (*name, says.as_str())));
    let book = Book::of(&cases);
    let listed = book.does(&["list"]).exits(0).text();
    assert!(listed.contains("sound    Nothing to do\n"), "{listed}");
    let ran = book.does(&["verify"]).exits(1);
    for (name, _, words) in &broken {
        let file = book.0.join(name).join("case.toml");
        let file = file.to_str().expect("a path");
        fails(&ran, name, &[file, words]);
        assert!(listed.contains(file) && listed.contains(words), "{listed}");
    }
    is_told(&ran, "sound");
    let empty = Book::of(&[]).does(&["verify"]).exits(1);
    assert!(
        empty.err.contains("there is no case in it"),
        "{}",
        empty.err
    );
}

/// What a case says of itself and what its programs print does nothing to a terminal but show.
#[test]
fn output_that_is_hostile() {
    let title = "title = \"\\u001b]0;owned\\u0007\"";
    let form = "[[form]]\nname = \"\\u001b[2J\"";
    let prints = r"printf '\033[31m\033]0;owned\007\rbad\n' >&2; exit 1";
    let book = Book::of(&[
        ("broken", &format!("{title}\n{form}\ncommand = ['true']\nsilent = [\"\\u001b[1m\"]\n")),
        ("form", &format!("{title}\n{form}\ncommand = ['sh', '-c', '''{prints}''']\n")),
        ("service", &format!("{title}\n[[service]]\ncommand = '''{prints}'''\nready = 'false'\n{form}\ncommand = ['true']\n")),
        ("setup", &format!("{title}\nsetup = ['''{prints}''']\n{form}\ncommand = ['true']\n")),
        ("sound", &format!("{title}\n{form}\ncommand = ['true']\nhealthy = true\n")),
        ("\u{1b}[5mname", SOUND),
    ]);
    let all: [(&[&str], i32); 4] = [
        (&["list"], 0),
        (&["run", "sound"], 0),
        (&["run", "form"], 1),
        (
            &[
                "verify",
                "broken",
                "form",
                "service",
                "setup",
                "\u{1b}[5mname",
            ],
            1,
        ),
    ];
    for (words, code) in all {
        let ran = book.does(words).exits(code);
        let text = format!("{}{}", ran.text(), ran.err);
        let raw = text.chars().find(|&c| c.is_control() && c != '\n');
        assert_eq!(raw, None, "{text:?}");
        assert!(text.contains("\\x1b"), "{text}");
    }
}
