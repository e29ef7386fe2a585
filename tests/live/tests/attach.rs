//! Recording what runs already.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use timesink_live::{
    ns, number, output, program, timesink, wait_for, Folder, Ran, Recorded, Running,
};
use timesink_recording::tables::{Object, Wait};
use timesink_recording::words::ObjectKind;
use timesink_recording::ObjectId;

/// A process with a thread that sleeps for long, one that waits for a lock, and one that computes;
/// it says when it is ready and ends when its input does.
const PROGRAM: &str = "import threading, sys, time\n\
                       held = threading.Lock(); held.acquire()\n\
                       def spin():\n while not held.acquire(blocking=False): pass\n\
                       threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n\
                       threading.Thread(target=held.acquire, daemon=True).start()\n\
                       threading.Thread(target=spin, daemon=True).start()\n\
                       print('ready', flush=True)\n\
                       sys.stdin.read()\n\
                       print('ended by itself')\n";

/// The running program; its input is what keeps it running.
struct Target {
    child: std::process::Child,
}

impl Target {
    fn start() -> Target {
        let mut command = Command::new("python3");
        command
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Target::of(command)
    }

    /// One that says when it is ready.
    fn of(mut command: Command) -> Target {
        let mut child = command.spawn().expect("the program");
        let mut said = [0; 6];
        let out = child.stdout.as_mut().expect("its output");
        std::io::Read::read_exact(out, &mut said).expect("it says that it is ready");
        Target { child }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// It went on undisturbed and ends when it is told.
    fn ends_by_itself(mut self) {
        drop(self.child.stdin.take());
        let end = self.child.wait_with_output().expect("its end");
        assert_eq!(end.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&end.stdout).contains("ended by itself"));
    }
}

fn attach(recording: &Path, pid: u32, more: &[&str]) -> Command {
    let mut command = Command::new(timesink());
    command
        .args(["attach", "-q", "-o"])
        .arg(recording)
        .args(more)
        .arg(pid.to_string());
    command.stdin(Stdio::null());
    command
}

/// All four threads are in the recording for as long as it lasted, each in what it did.
fn is_whole(recorded: &Recorded) {
    let wall = ns(&recorded.json, "wall_ns");
    let threads = recorded.list("threads");
    assert_eq!(threads.len(), 4, "{threads:?}");
    assert_eq!(number(&recorded.json["ends"], "born_before"), 4);
    assert_eq!(number(&recorded.json["ends"], "alive_at_end"), 4);
    assert!(recorded.json["exit_code"].is_null());
    for thread in threads {
        let life = ns(thread, "life_ns");
        assert!(
            (life - wall).abs() < wall * 0.05,
            "life {life} of {wall}: {thread}"
        );
        let sum: f64 = ["cpu_ns", "ready_ns", "wait_ns", "tracer_ns", "lost_ns"]
            .iter()
            .map(|f| ns(thread, f))
            .sum();
        assert!(
            (sum - life).abs() < life * 0.01,
            "{sum} ns of {life}: {thread}"
        );
    }
    let longest = |detail: &str| {
        let share = |t: &Value| recorded.cause(t, "wait", detail).1 / ns(t, "life_ns");
        threads.iter().map(share).fold(0.0, f64::max)
    };
    assert!(longest("sleep") > 0.95, "the one that sleeps: {threads:?}");
    assert!(
        longest("condition").max(longest("lock")) > 0.95,
        "the one that waits for the lock: {threads:?}"
    );
    assert!(
        longest("pipe read") > 0.9,
        "the one that reads its input: {threads:?}"
    );
    let busy = threads
        .iter()
        .map(|t| ns(t, "cpu_ns") + ns(t, "ready_ns"))
        .fold(0.0, f64::max);
    assert!(busy > 0.5 * wall, "the one that computes: {threads:?}");
}

/// For a second: the threads that were blocked all the time are accounted for, like those that ran.
#[test]
fn for_a_time() {
    let (folder, target) = (Folder::new("attach"), Target::start());
    let recording = folder.join("a.timesink");
    let asked = std::time::Instant::now();
    let ran = output(&mut attach(&recording, target.pid(), &["--for", "1s"])).exits(0);
    let most = asked.elapsed().as_nanos() as f64;
    let recorded = Recorded::open(&recording, ran);
    let wall = ns(&recorded.json, "wall_ns");
    assert!((0.95e9..most).contains(&wall), "{wall} of {most}");
    is_whole(&recorded);
    target.ends_by_itself();
}

/// A recording has begun when its spool has.
fn until_it_records(recording: &Path) {
    wait_for("it records", || recording.join("spool.bin").exists());
}

/// Until Ctrl-C, which ends the recording and nothing else.
#[test]
fn until_control_c() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let (folder, target) = (Folder::new("attach"), Target::start());
        let recording = folder.join("a.timesink");
        let running = Running::start(&mut attach(&recording, target.pid(), &[]));
        // Then some time to record.
        until_it_records(&recording);
        std::thread::sleep(Duration::from_millis(700));
        running.signal(signal);
        let ran: Ran = running.end().exits(0);
        is_whole(&Recorded::open(&recording, ran));
        target.ends_by_itself();
    }
}

/// Until what is recorded ends.
#[test]
fn until_the_process_ends() {
    let (folder, target) = (Folder::new("attach"), Target::start());
    let recording = folder.join("a.timesink");
    let running = Running::start(&mut attach(&recording, target.pid(), &[]));
    until_it_records(&recording);
    std::thread::sleep(Duration::from_millis(300));
    target.ends_by_itself();
    let recorded = Recorded::open(&recording, running.end().exits(0));
    assert_eq!(number(&recorded.json["ends"], "alive_at_end"), 0);
    assert_eq!(number(&recorded.json["ends"], "end_lost"), 0);
}

/// A process that is not there: one sentence, nothing is recorded.
#[test]
fn to_nobody() {
    let folder = Folder::new("nobody");
    let recording = folder.join("a.timesink");
    // Above the largest number that the kernel gives.
    let ran = output(&mut attach(&recording, 4_194_305, &[])).exits(2);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("4194305"), "{}", ran.err);
    assert!(!recording.exists());
}

/// How many waits in epoll are known to have ended with this many sockets.
fn known_to_end_with_a_socket(recorded: &Recorded) -> (usize, usize) {
    let objects: Vec<Object> = recorded.rows();
    let is_socket = |id: ObjectId| {
        let object = objects.iter().find(|object| object.object == id);
        object.is_some_and(|object| object.kind == ObjectKind::TcpSocket)
    };
    let waits: Vec<Wait> = recorded.rows();
    let ended = waits.iter().filter(|wait| wait.call == "epoll_wait");
    // It asks on the connection before each of its waits, and waits for nothing else.
    let asked = |wait: &&Wait| wait.woken_object.is_some() && wait.sent_object == wait.woken_object;
    assert!(ended.clone().filter(asked).count() >= 35);
    let sockets: Vec<ObjectId> = ended.filter_map(|wait| wait.woken_object).collect();
    let distinct: BTreeSet<ObjectId> = sockets.iter().copied().collect();
    assert!(sockets.iter().all(|&socket| is_socket(socket)));
    (sockets.len(), distinct.len())
}

/// A program may give epoll a word of its own for a descriptor, such as a pointer: which connection ended a wait is known
/// all the same, whether it gave the word during the recording or before.
#[test]
fn a_connection_that_a_word_stands_for_in_epoll() {
    let folder = Folder::new("attach-word");
    let recorded = Recorded::run(
        &folder.join("run.timesink"),
        &["--exact"],
        &[program("watched").to_str().expect("a name"), "40"],
        0,
    );
    let (waits, sockets) = known_to_end_with_a_socket(&recorded);
    assert!(
        waits >= 35 && sockets == 1,
        "{waits} waits, {sockets} sockets"
    );

    let mut command = Command::new(program("watched"));
    command
        .arg("40")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut target = Target::of(command);
    let recording = folder.join("attach.timesink");
    let running = Running::start(&mut attach(&recording, target.pid(), &["--exact"]));
    until_it_records(&recording);
    std::thread::sleep(Duration::from_millis(500));
    drop(target.child.stdin.take());
    target.child.wait().expect("its end");
    let recorded = Recorded::open(&recording, running.end().exits(0));
    let (waits, sockets) = known_to_end_with_a_socket(&recorded);
    assert!(
        waits >= 35 && sockets == 1,
        "{waits} waits, {sockets} sockets"
    );
}
