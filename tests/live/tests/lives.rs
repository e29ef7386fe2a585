//! Every way in which processes and threads begin, change and end.

use std::path::Path;

use serde_json::Value;
use timesink_live::{
    attempts, json_lines, none_of, ns, number, output, program, text, Folder, Recorded,
};
use timesink_recording::tables::images::Image;
use timesink_recording::tables::{Span, Thread, Wait};
use timesink_recording::words::{Detail, ImageEvent, State};

fn record(name: &str, command: &[&str], code: i32) -> (Folder, Recorded) {
    let folder = Folder::new(name);
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], command, code);
    (folder, recorded)
}

fn path(program: &Path) -> &str {
    program.to_str().expect("a path")
}

#[track_caller]
fn process(recorded: &Recorded, pid: i64) -> &Value {
    let found = recorded
        .list("processes")
        .iter()
        .find(|p| p["pid"].as_i64() == Some(pid));
    found.unwrap_or_else(|| panic!("no process {pid} was recorded"))
}

fn start_of<'a>(recorded: &'a Recorded, process: &Value) -> &'a Value {
    let found = recorded
        .list("starts")
        .iter()
        .find(|s| s["process"] == process["process"]);
    found.unwrap_or_else(|| panic!("no start of {process}"))
}

/// What a program told of one of its phases.
fn told(recorded: &Recorded, phase: &str) -> Value {
    let lines = json_lines(&recorded.ran.err);
    let found = lines.iter().find(|l| l["phase"] == phase);
    found
        .unwrap_or_else(|| panic!("nothing told of {phase}: {}", recorded.ran.err))
        .clone()
}

/// fork, vfork, and exec by a thread that is not the first of its process and takes over its id.
#[test]
fn fork_vfork_and_exec_by_another_thread() {
    let (_folder, recorded) = record("births", &[path(&program("births"))], 0);
    let forked = process(&recorded, number(&told(&recorded, "fork"), "tid"));
    let vforked = process(&recorded, number(&told(&recorded, "vfork"), "tid"));
    assert_eq!(start_of(&recorded, forked)["by_vfork"], false);
    assert_eq!(start_of(&recorded, vforked)["by_vfork"], true);
    assert_eq!(recorded.list("processes").len(), 3);

    let executes = told(&recorded, "executes");
    let main = process(&recorded, number(&executes, "pid"));
    assert!(text(main, "executable").ends_with("/sleep"), "{main}");
    assert_eq!(start_of(&recorded, main)["execs"], 2);
    let threads: Vec<_> = recorded
        .list("threads")
        .iter()
        .filter(|t| t["process"] == main["process"])
        .collect();
    assert_eq!(threads.len(), 2, "the leader and the one that executed");
    let sleeper = threads
        .iter()
        .max_by_key(|t| number(t, "end_ns"))
        .expect("two");
    assert_eq!(
        sleeper["tid"], executes["pid"],
        "it took over the leader's id"
    );
    let problems = recorded.sleeps(sleeper, 1, 50e6);
    assert!(problems.is_empty(), "as `sleep 0.05`: {problems:?}");
    assert_eq!(number(&recorded.json["ends"], "end_lost"), 0);
}

/// What Python starts, with whatever call it prefers, is followed through its exec.
#[test]
fn a_subprocess_of_python() {
    let script = "import subprocess; subprocess.run(['sleep', '0.02'])";
    let (_folder, recorded) = record("subprocess", &["python3", "-c", script], 0);
    let sleeps = |p: &&Value| text(p, "executable").ends_with("/sleep");
    let child = recorded
        .list("processes")
        .iter()
        .find(sleeps)
        .expect("the child");
    assert!(number(start_of(&recorded, child), "execs") >= 1);
    let thread = recorded.thread(number(child, "pid"));
    assert_eq!(recorded.sleeps(thread, 1, 20e6), Vec::<String>::new());
}

/// 2,000 threads one after another are 2,000 threads and the first one.
#[test]
fn two_thousand_threads() {
    let (_folder, recorded) = record("threads", &[path(&program("threads")), "2000"], 0);
    assert_eq!(recorded.list("threads").len(), 2001);
    assert_eq!(recorded.list("processes").len(), 1);
    assert_eq!(number(&recorded.json["ends"], "end_lost"), 0);
    assert!(recorded
        .list("threads")
        .iter()
        .all(|t| number(t, "kernel_cpu_ns") > 0));
}

/// 20,000 processes, none of which lives long, are all there, from birth to end, and nothing is lost.
#[test]
fn twenty_thousand_short_processes() {
    let (_folder, recorded) = record("forks", &[path(&program("forks")), "20000"], 0);
    assert_eq!(number(&told(&recorded, "forks"), "count"), 20000);
    assert_eq!(recorded.list("processes").len(), 20001);
    assert_eq!(recorded.list("threads").len(), 20001);
    assert_eq!(recorded.json["lost"], serde_json::json!({}));
    assert_eq!(number(&recorded.json["ends"], "end_lost"), 0);
    assert_eq!(number(&recorded.json["ends"], "alive_at_end"), 0);
}

/// A program without shared libraries, and so without a loader.
#[test]
fn a_static_program() {
    let (_folder, recorded) = record("static", &[path(&program("static"))], 0);
    let truth = told(&recorded, "sleep");
    let thread = recorded.thread(number(&truth, "tid"));
    assert_eq!(recorded.sleeps(thread, 5, 100e6), Vec::<String>::new());
    let by_its_clock = recorded.waits_by_its_clock(thread, "sleep", ns(&truth, "ns"));
    assert_eq!(by_its_clock, None);
}

/// The calls of a 32-bit program have other numbers: they are named by their own table, and marked.
#[test]
fn a_32_bit_program() {
    attempts(|| {
        let (_folder, recorded) = record("compat32", &[path(&program("compat32"))], 0);
        let truth = told(&recorded, "sleep");
        let tid = number(&truth, "tid");
        let calls: Vec<_> = recorded
            .list("calls")
            .iter()
            .filter(|c| c["pid"].as_i64() == Some(tid))
            .collect();
        let mut problems = Vec::new();
        for (call, count) in [
            ("nanosleep (32-bit)", 5),
            ("read (32-bit)", 5),
            ("pipe (32-bit)", 1),
        ] {
            let seen: i64 = calls
                .iter()
                .filter(|c| c["call"] == call)
                .map(|c| number(c, "count"))
                .sum();
            if seen != count {
                problems.push(format!("{seen} times {call}, in truth {count}"));
            }
        }
        // 162 is sync, 3 is close and 42 is connect where the numbers are those of 64 bit.
        let misnamed = |c: &&&Value| {
            ["sync", "close", "connect"]
                .iter()
                .any(|n| text(c, "call").starts_with(n))
        };
        problems.extend(
            calls
                .iter()
                .find(misnamed)
                .map(|c| format!("misnamed: {c}")),
        );
        let thread = recorded.thread(tid);
        for (phase, detail) in [("sleep", "sleep"), ("pipe", "pipe read")] {
            let real = ns(&told(&recorded, phase), "ns");
            problems.extend(recorded.waits_by_its_clock(thread, detail, real));
        }
        none_of(&problems)
    });
}

/// A program that gives up root and then executes another is recorded to its end, as who it became.
#[test]
fn a_program_that_changes_its_user() {
    attempts(|| {
        let (_folder, recorded) = record(
            "setuid",
            &[path(&program("setuid")), "/bin/sleep", "0.03"],
            0,
        );
        let after = told(&recorded, "after");
        assert_eq!(after["changed"], true);
        let tid = number(&after, "tid");
        assert_eq!(number(process(&recorded, tid), "uid"), 65534);
        none_of(&recorded.sleeps(recorded.thread(tid), 11, 180e6))
    });
}

/// A fork by a process that holds 2 GB costs what copying its page tables costs, and its end what
/// tearing them down costs: both are told, with its size.
#[test]
fn a_fork_with_two_gigabytes() {
    let (_folder, recorded) = record("forkmem", &[path(&program("forkmem")), "2048"], 0);
    let truth = told(&recorded, "forkmem");
    let images: Vec<Image> = recorded.rows();
    let fork = images
        .iter()
        .find(|i| i.event == ImageEvent::Fork)
        .expect("a fork");
    let resident = ns(&truth, "resident_kb") * 1024.0;
    assert!(
        (fork.resident_bytes as f64 - resident).abs() < resident * 0.01,
        "{fork:?}, in truth {resident}"
    );
    let cost = fork.cost_ns.expect("its cost") as f64;
    let told_cost = ns(&truth, "fork_ns");
    assert!(
        cost > 1e6 && cost <= told_cost * 1.05,
        "{cost} ns, as the program saw it {told_cost}"
    );

    let parent = process(&recorded, number(&truth, "tid"));
    let exit = &start_of(&recorded, parent)["exit"];
    assert!(ns(exit, "resident_bytes") > resident * 0.99, "{exit}");
    assert!(
        ns(exit, "cost_ns") > 1e6,
        "tear-down of 2 GB takes more than that: {exit}"
    );
    let torn = recorded.cause(
        recorded.thread(number(&truth, "tid")),
        "cpu",
        "exit tear-down",
    );
    assert!(torn.1 > 1e6, "{torn:?}");
}

/// A program that is held back by its cgroup's quota is ready, and the detail says why it is not
/// running: nobody else has its processor.
#[test]
fn a_quota() {
    let group = Quota::make();
    let tasks = group.0.join("cgroup.procs");
    let script = format!(
        "echo $$ > {} && exec timeout 1 sh -c 'while :; do :; done'",
        tasks.display()
    );
    let (_folder, recorded) = record("quota", &["sh", "-c", &script], 124);
    let busiest = |t: &&Value| number(t, "cpu_ns");
    let thread = recorded
        .list("threads")
        .iter()
        .max_by_key(busiest)
        .expect("a thread");
    let (count, held) = recorded.cause(thread, "ready", "throttled");
    assert!(
        count >= 5 && held > 0.6e9,
        "20 ms in 100 for a second: {count} times, {held} ns: {thread}"
    );
    assert!(ns(thread, "cpu_ns") < 0.4e9, "{thread}");
}

/// A group that gets 20 ms of every 100.
struct Quota(std::path::PathBuf);

impl Quota {
    /// By the older kind of hierarchy or the newer one, whichever has the processor.
    fn make() -> Quota {
        let name = format!("timesink-live-{}", std::process::id());
        let old = Path::new("/sys/fs/cgroup/cpu");
        let (parent, file, text) = if old.join("cpu.cfs_quota_us").exists() {
            (old, "cpu.cfs_quota_us", "20000")
        } else {
            (Path::new("/sys/fs/cgroup"), "cpu.max", "20000 100000")
        };
        if file == "cpu.max" {
            let _ = std::fs::write(parent.join("cgroup.subtree_control"), "+cpu");
        }
        let group = Quota(parent.join(name));
        let made =
            std::fs::create_dir(&group.0).and_then(|()| std::fs::write(group.0.join(file), text));
        assert!(
            made.is_ok(),
            "this test needs a cgroup with a processor quota at {}: {made:?}",
            parent.display()
        );
        group
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A group cannot go before the last of its threads has.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// Names that would clear a terminal's screen or set its title are shown, and harmless.
#[test]
fn hostile_names() {
    let folder = Folder::new("hostile");
    let recording = folder.join("h.timesink");
    let mut run = std::process::Command::new(timesink_live::timesink());
    run.current_dir(folder.path())
        .args(["run", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(program("hostile"));
    let ran = output(&mut run).exits(0);
    let report = |more: &[&str]| {
        let mut command = std::process::Command::new(timesink_live::timesink());
        output(command.arg("report").arg(&recording).args(more))
            .exits(0)
            .text()
    };
    for (what, shown) in [
        ("at the end", &ran.err),
        ("by report", &report(&["--full"])),
        ("as JSON", &report(&["--json"])),
    ] {
        let harmful =
            |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!shown.chars().any(harmful), "{what}: {shown:?}");
        assert!(
            shown.contains("evil"),
            "{what} the name is still to be known: {shown}"
        );
    }
}

/// What a thread waited for last before its end is told as what it was, also where the kernel did not tell of the switch
/// back to it, so that the wait was made up for as the thread ended: one in a thousand was told as its tear-down.
#[test]
fn the_last_wait_of_a_thread_is_not_its_tear_down() {
    const THREADS: usize = 2000;
    let folder = Folder::new("last-waits");
    let (server, threads) = (program("server"), THREADS.to_string());
    let command = [path(&server), "threads", &threads];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let waits = recorded.rows::<Wait>();
    let reads = waits.iter().filter(|wait| wait.call == "read");
    let (wrong, right): (Vec<&Wait>, Vec<&Wait>) =
        reads.partition(|wait| wait.detail == Detail::Exit);
    assert!(wrong.is_empty(), "{} such as {:?}", wrong.len(), wrong[0]);
    // Each waits for its client to close the connection, which takes two milliseconds.
    assert!(right.len() >= THREADS, "only {} waits", right.len());
}

/// A thread that is in its first run as the recording ends has run until then; it was told to have waited for a processor. It is a real-time
/// thread, so that hardly anything takes the processor before.
#[test]
fn a_first_run_outlasts_the_recording() {
    const SPINS: &str = "import os, signal, time\n\
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\n\
        if not os.fork():\n    signal.setitimer(signal.ITIMER_REAL, 0.5)\n    while True: pass\n\
        time.sleep(0.001)\nos._exit(0)";
    let mut seen = 0;
    for _ in 0..10 {
        let (_folder, recorded) = record("first-run", &["/usr/bin/python3", "-c", SPINS], 0);
        let spans = recorded.rows::<Span>();
        let last = |thread: &Thread| {
            let own = spans.iter().filter(|span| span.thread == thread.thread);
            own.max_by_key(|span| span.t1).map(|span| span.state)
        };
        let threads = recorded.rows::<Thread>();
        let first_runs = threads.iter().filter(|thread| {
            let switches = thread.switches_voluntary + thread.switches_involuntary;
            thread.alive_at_end && switches == 0 && thread.cpu_ns > 0
        });
        for thread in first_runs {
            assert_eq!(last(thread), Some(State::Cpu), "{thread:?}");
            seen += 1;
        }
    }
    assert!(seen > 0, "no thread was in its first run");
}
