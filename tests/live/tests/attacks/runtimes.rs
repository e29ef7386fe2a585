//! Recorded programs and their runtimes: maps in /tmp, memory that cannot be read, names that lie.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use timesink_live::{output, program, timesink, wait_for, Folder, Ran, Recorded, Running};
use timesink_recording::tables::Process;

/// A script in a mount namespace of its own, with a new `/tmp` that everybody may write to. `$T` is timesink, and
/// `plant` puts something under the names of the maps of all processes to come, as another user: what, as Perl says it of
/// the name in `$_`.
fn with_tmp_of_others(folder: &Folder, script: &str) -> Ran {
    const BEFORE: &str = r#"
        mount --make-rprivate /
        mount -t tmpfs -o mode=1777 tmpfs /tmp
        plant() {
            setpriv --reuid 12345 --regid 12345 --clear-groups perl -MPOSIX -e '
                umask 0;
                for my $pid ($$ .. $$ + 3000) { local $_ = "/tmp/perf-$pid.map"; '"$1"'; }'
        }
    "#;
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-ec"]);
    command.arg(format!("{BEFORE}\n{script}"));
    command.current_dir(folder.path()).env("T", timesink());
    output(&mut command)
}

/// What both runtimes do when they are recorded as root, and as another user who called sudo; each says so if it
/// ends well.
const BOTH: &str = r#"
    timeout -s KILL 60 $T run -q -o java -- java -version 2>/dev/null && echo java
    timeout -s KILL 60 $T run -q -o node -- node -e 'console.log("node")'
    chmod 777 . && export SUDO_UID=54321 SUDO_GID=54321
    timeout -s KILL 60 $T run -q -o java-of-user -- java -version 2>/dev/null && echo java
    timeout -s KILL 60 $T run -q -o node-of-user -- node -e 'console.log("node")'
"#;

/// Another user's links where root's runtimes would write maps lead nowhere: no file is overwritten.
#[test]
fn links_under_the_names_of_maps() {
    let folder = Folder::new("links");
    let victim = folder.join("victim");
    std::fs::write(&victim, "important").expect("a file");
    let link = format!("plant 'symlink(\"{}\", $_)'", victim.display());
    let ran = with_tmp_of_others(&folder, &format!("{link}\n{BOTH}")).exits(0);
    assert_eq!(ran.text(), "java\nnode\njava\nnode\n");
    assert_eq!(std::fs::read(&victim).expect("the file"), b"important");
}

/// Another user's pipes there stop nobody.
#[test]
fn pipes_under_the_names_of_maps() {
    let folder = Folder::new("pipes");
    let ran = with_tmp_of_others(&folder, &format!("plant 'mkfifo($_, 0666)'\n{BOTH}"));
    assert_eq!(ran.exits(0).text(), "java\nnode\njava\nnode\n");
}

/// Another user's files there, also when they come after timesink has looked, end nobody.
#[test]
fn files_under_the_names_of_maps() {
    let folder = Folder::new("planted");
    let plant = "plant 'sysopen(F, $_, O_CREAT | O_WRONLY, 0600)'";
    let ran = with_tmp_of_others(&folder, &format!("{plant}\n{BOTH}"));
    assert_eq!(ran.exits(0).text(), "java\nnode\njava\nnode\n");
    let late = r#"
        chmod 777 . && export SUDO_UID=54321 SUDO_GID=54321
        $T run -q -o late -- sh -c 'until [ -e planted ]; do sleep 0.1; done; node -e "console.log(7)"' &
        sleep 1
    "#;
    let script = format!("{late}\n{plant}\ntouch planted\nwait $!");
    let ran = with_tmp_of_others(&folder, &script);
    assert_eq!(ran.exits(0).text(), "7\n");
}

/// A Node.js without symbols of its own does not tell where its functions are: the report says so, and how to have their names.
#[test]
fn node_without_names_is_told() {
    let folder = Folder::new("told");
    let node = output(Command::new("sh").args(["-c", "readlink -f \"$(command -v node)\""]));
    let stripped = folder.join("node");
    std::fs::copy(node.exits(0).text().trim(), &stripped).expect("a copy of Node.js");
    output(Command::new("strip").arg(&stripped)).exits(0);
    let work =
        "const end = Date.now() + 1500; let n = 0; while (Date.now() < end) n += Math.sqrt(n);";
    let report = |options: &str| {
        let mut run = Command::new(timesink());
        run.args(["run", "-o"])
            .arg(folder.join(&format!("with-{}", options.len())));
        run.env("NODE_OPTIONS", options)
            .arg("--")
            .arg(&stripped)
            .args(["-e", work]);
        output(&mut run).exits(0).err
    };
    const FLAGS: &str = "--perf-basic-prof-only-functions --interpreted-frames-native-stack";
    let told = |text: &str| text.contains(&format!("NODE_OPTIONS='{FLAGS}'"));
    let without = report("");
    assert!(told(&without), "{without}");
    let with = report(FLAGS);
    assert!(!told(&with), "{with}");
}

/// A process with memory or files on a file system that it serves and never answers for; it and all that it started is
/// ended with this.
struct Served {
    child: Child,
    folder: Folder,
    pid: u32,
}

impl Served {
    fn start(what: &str) -> Served {
        let folder = Folder::new("served");
        let place = folder.join("place");
        std::fs::create_dir(&place).expect("a folder");
        let mut command = Command::new(program("served"));
        command.arg(what).arg(&place);
        command.arg(program("served-jvm/libjvm.so"));
        command.process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let pid = line.trim().parse().expect("its number");
        Served { child, folder, pid }
    }

    /// `timesink attach` for a moment, while nobody answers; its exit code is to be 0.
    #[track_caller]
    fn attach(&mut self) -> Recorded {
        let recording = self.folder.join("r.timesink");
        let mut attach = Command::new(timesink());
        attach.args(["attach", "-q", "--for", "1s", "-o"]);
        let ran = output(attach.arg(&recording).arg(self.pid.to_string())).exits(0);
        self.still_serves();
        Recorded::open(&recording, ran)
    }

    /// Only who ended before the server did has not waited for it.
    #[track_caller]
    fn still_serves(&mut self) {
        let status = self.child.try_wait().expect("our child");
        assert_eq!(status, None, "it was waited for until it was gone");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // SAFETY: the group of our own child, which we have not waited for.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

fn lost(recorded: &Recorded) -> String {
    let losses: Vec<timesink_recording::tables::Loss> = recorded.rows();
    let notes: Vec<_> = losses.into_iter().map(|loss| loss.note).collect();
    notes.join("; ")
}

/// Memory that nobody answers for: what seems to be Java is looked into, in vain, and told as lost.
#[test]
fn memory_that_cannot_be_read() {
    let mut served = Served::start("memory");
    let recorded = served.attach();
    let lost = lost(&recorded);
    assert!(lost.contains("did not answer"), "{lost}");
    assert!(recorded
        .list("threads")
        .iter()
        .any(|t| t["tid"] == served.pid));
}

/// Code that is mapped from a file that nobody answers for.
#[test]
fn code_that_cannot_be_read() {
    let mut served = Served::start("code");
    let lost = lost(&served.attach());
    assert!(lost.contains("did not answer"), "{lost}");
}

/// A root folder in which looking for `/tmp` never ends.
#[test]
fn a_root_that_cannot_be_looked_into() {
    let mut served = Served::start("root");
    let lost = lost(&served.attach());
    assert!(lost.contains("did not answer"), "{lost}");
}

/// A map of made code that nobody answers for: it is left out after a while, and that is told.
#[test]
fn a_map_that_cannot_be_read() {
    let mut served = Served::start("map");
    let lost = lost(&served.attach());
    assert!(lost.contains("maps of code"), "{lost}");
}

/// Records a shell that starts such a process, with a group of its own, and ends.
fn beside(folder: &Folder, program: &Path, what: &str) -> Running {
    let place = folder.join("place");
    std::fs::create_dir(&place).expect("a folder");
    let (program, place) = (program.display(), place.display());
    // Its group is its own, and it holds no stream of ours.
    let script = format!(
        "setsid {program} {what} {place} > pid 2>/dev/null < /dev/null & sleep 2; echo > over"
    );
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o", "r.timesink"]);
    run.args(["--", "sh", "-c", &script]);
    Running::start(run.stdin(Stdio::null()).current_dir(folder.path()))
}

/// The process that was started, which has to be there still: who ended after it may have waited for it.
#[track_caller]
fn started(folder: &Folder) -> i32 {
    let pid = std::fs::read_to_string(folder.join("pid")).expect("its number");
    let pid: i32 = pid.trim().parse().expect("a number");
    // SAFETY: no signal is sent.
    assert_eq!(unsafe { libc::kill(pid, 0) }, 0, "it was waited for");
    pid
}

fn end_group(pid: i32) {
    // SAFETY: the group of the process that the test started.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
}

/// Signals after the program's end, while names are looked for in vain. The map of this process takes longest.
fn while_names_are_looked_for(folder: &Folder, signals: &[i32]) -> (Ran, i32) {
    let mut running = beside(folder, &program("served"), "map");
    wait_for("the shell has ended", || folder.join("over").exists());
    // What the recording waits for then are a last round, and names.
    std::thread::sleep(Duration::from_millis(1500));
    signals.iter().for_each(|signal| running.signal(*signal));
    running.status();
    (running.end(), started(folder))
}

/// The first signal ends the search for names: the recording is whole, but for some of them.
#[test]
fn an_interrupt_while_names_are_looked_for() {
    let folder = Folder::new("interrupt");
    let (ran, pid) = while_names_are_looked_for(&folder, &[libc::SIGINT]);
    let ran = ran.exits(0);
    assert!(ran.err.contains("no more names"), "{}", ran.err);
    let recorded = Recorded::open(&folder.join("r.timesink"), ran);
    let lost = lost(&recorded);
    assert!(lost.contains("a signal ended the search"), "{lost}");
    end_group(pid);
}

/// The second one ends timesink: what was recorded is kept, and `report` makes the recording of it.
#[test]
fn two_interrupts_keep_what_was_recorded() {
    let folder = Folder::new("interrupts");
    let (ran, pid) = while_names_are_looked_for(&folder, &[libc::SIGINT, libc::SIGTERM]);
    let ran = ran.exits(128 + libc::SIGTERM);
    assert!(ran.err.contains("`timesink report"), "{}", ran.err);
    assert!(folder.join("r.timesink/spool.bin").exists());
    let recorded = Recorded::open(&folder.join("r.timesink"), ran);
    assert!(recorded.list("threads").len() > 1);
    end_group(pid);
}

/// While a process hangs who reads it, the user can still end the recording.
#[test]
fn an_interrupt_while_memory_cannot_be_read() {
    let mut served = Served::start("memory");
    let recording = served.folder.join("r.timesink");
    let mut attach = Command::new(timesink());
    attach.args(["attach", "-q", "-o"]).arg(&recording);
    let attach = Running::start(attach.arg(served.pid.to_string()).stdin(Stdio::null()));
    wait_for("it records", || recording.join("spool.bin").exists());
    attach.signal(libc::SIGINT);
    let ran = attach.end().exits(0);
    served.still_serves();
    Recorded::open(&recording, ran);
}

/// One of the odd programs, recorded to its end; where it may put files.
fn odd(what: &str) -> (Recorded, Folder) {
    let folder = Folder::new("odd");
    let place = folder.join("place");
    std::fs::create_dir(&place).expect("a folder");
    let program = program("odd").display().to_string();
    let command = [&program, what, place.to_str().expect("a path")];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    assert_eq!(recorded.rows::<Process>().len(), 1);
    (recorded, folder)
}

/// Maps of made code that are a pipe, a link to what only root may read, or gigabytes of nothing.
#[test]
fn odd_maps() {
    for what in ["pipe", "link", "sparse"] {
        let (recorded, _folder) = odd(what);
        let frames: Vec<timesink_recording::tables::Frame> = recorded.rows();
        let told: Vec<_> = frames.iter().map(|frame| &frame.function).collect();
        assert!(!told.iter().any(|name| name.contains("root:")), "{told:?}");
    }
}

/// A root folder that is gone.
#[test]
fn a_root_that_was_removed() {
    odd("root");
}

/// Thousands of files that are mapped as code and are none.
#[test]
fn thousands_of_mapped_files() {
    let (recorded, folder) = odd("files");
    let files = std::fs::read_dir(folder.join("place")).expect("its files");
    assert_eq!(files.count(), 5000);
    assert_eq!(
        recorded.json["wall_ns"].as_i64().map(|ns| ns > 0),
        Some(true)
    );
}

/// What a process calls itself does nothing to a terminal, neither in what is printed nor as the name of the recording.
#[test]
fn a_name_with_escapes() {
    let folder = Folder::new("escapes");
    let name = "\u{1b}]0;p\u{7}\u{1b}[2J";
    let script = "printf '%b' '\\033]0;p\\007\\033[2J' > /proc/$$/comm; sleep 20; true";
    let mut child = Command::new("sh");
    let mut child = child
        .args(["-c", script])
        .process_group(0)
        .spawn()
        .expect("a shell");
    let comm = PathBuf::from(format!("/proc/{}/comm", child.id()));
    wait_for("it has its name", || {
        std::fs::read_to_string(&comm).is_ok_and(|comm| comm.contains(name))
    });
    let mut attach = Command::new(timesink());
    attach
        .args(["attach", "--for", "300ms"])
        .arg(child.id().to_string());
    let ran = output(attach.current_dir(folder.path())).exits(0);
    // SAFETY: the group of our own child, which we have not waited for.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    child.wait().expect("it ends");
    assert!(
        !ran.text().contains('\u{1b}') && !ran.err.contains('\u{1b}'),
        "{ran:?}"
    );
    let entries = std::fs::read_dir(folder.path()).expect("the folder");
    let names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(
        names.iter().all(|name| !name.contains(char::is_control)),
        "{names:?}"
    );
    assert_eq!(names.len(), 1);
}

/// A process that ends while it is being attached to is recorded as far as it was there, or is told to be gone.
#[test]
fn a_process_that_ends_while_it_is_attached_to() {
    let folder = Folder::new("ends");
    for ms in [0, 20, 60, 150, 300] {
        let seconds = format!("{}", f64::from(ms) / 1000.0);
        let mut child = Command::new("sleep").arg(seconds).spawn().expect("sleep");
        let mut attach = Command::new(timesink());
        attach.args(["attach", "-q", "--for", "2s", "-o"]);
        attach
            .arg(folder.join(&format!("{ms}")))
            .arg(child.id().to_string());
        let attached = Running::start(attach.stdin(Stdio::null()));
        // Reaped at once, so that its number is nobody's.
        child.wait().expect("it ends");
        let ran = attached.end();
        assert!([0, 2].contains(&ran.code()), "{ms} ms: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}

/// A process that is stopped for the whole recording is told as having waited, and is still stopped after it.
#[test]
fn a_process_that_is_stopped() {
    let mut child = Command::new("sh");
    let mut child = child
        .args(["-c", "kill -STOP $$; exit 7"])
        .spawn()
        .expect("a shell");
    let pid = child.id();
    let stat = format!("/proc/{pid}/stat");
    let stopped = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "));
    wait_for("it is stopped", stopped);
    let folder = Folder::new("stopped");
    let recording = folder.join("r.timesink");
    let mut attach = Command::new(timesink());
    attach.args(["attach", "-q", "--for", "500ms", "-o"]);
    let ran = output(attach.arg(&recording).arg(pid.to_string())).exits(0);
    assert!(stopped(), "it runs");
    // SAFETY: our own child, which we have not waited for.
    unsafe { libc::kill(pid as i32, libc::SIGCONT) };
    assert_eq!(child.wait().expect("it ends").code(), Some(7));
    let recorded = Recorded::open(&recording, ran);
    let thread: &Value = recorded.thread(pid.into());
    let causes = thread["causes"].as_array().expect("causes");
    let waited: i64 = causes
        .iter()
        .filter(|cause| cause["state"] == "wait")
        .filter_map(|cause| cause["ns"].as_i64())
        .sum();
    assert!(waited > 300_000_000, "{thread}");
}
