//! `timesink bench`: what it runs, what its exit status says, and what it leaves behind. Verdicts are on figures that the commands
//! print themselves, so that no test hangs by a time.

use std::process::Command;

use serde_json::Value;
use timesink_live::{output, timesink, wait_for, Folder, Ran, Running};

const METRIC: &str = "rate ([0-9]+)";

fn bench(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(timesink());
    command
        .arg("bench")
        .args(arguments)
        .current_dir(folder.path());
    command
}

fn ran(folder: &Folder, arguments: &[&str]) -> Ran {
    output(&mut bench(folder, arguments))
}

fn text(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// A proven loss is 1, its proven absence 0, and what is not proven 3; which way is better is the user's to say.
#[test]
fn the_gate_says_what_is_proven() {
    let folder = Folder::new("bench-gate");
    let gate = |rounds: &str, more: &[&str]| {
        let common = [
            "--gate",
            "5%",
            "--metric",
            METRIC,
            "--rounds",
            rounds,
            "echo rate 100",
            "echo rate 50",
        ];
        ran(&folder, &[&common, more].concat())
    };
    let lost = gate("10", &["--higher-is-better"]).exits(1);
    assert!(
        lost.text().contains("Gate: B loses more than 5.0 %"),
        "{}",
        lost.text()
    );
    assert!(
        lost.text().contains("B has 1/2.00 of the rate of A"),
        "{}",
        lost.text()
    );
    gate("10", &[]).exits(0);
    let few = gate("3", &[]).exits(3);
    assert!(few.text().contains("Gate: not decided"), "{}", few.text());
    let decided = gate("80", &["--until-decided", "--json"]).exits(0);
    let json: Value = serde_json::from_slice(&decided.out).expect("it is JSON");
    assert_eq!(json["rounds"], 10, "the first look is enough");
    ran(&folder, &["--gate", "5%", "true"]).exits(2);
}

/// A command that fails, hangs, or prints something else stops it with 2, and what it printed is told.
#[test]
fn what_goes_wrong_stops_it() {
    let folder = Folder::new("bench-wrong");
    let failed = ran(&folder, &["--shell", "true", "echo no disk; exit 3"]).exits(2);
    assert!(
        failed.err.contains("exit code 3") && failed.err.contains("no disk"),
        "{}",
        failed.err
    );
    let ignored = ran(
        &folder,
        &["--shell", "--ignore-failure", "--rounds", "3", "exit 3"],
    )
    .exits(0);
    assert!(
        ignored.text().contains("A failed in 3 of 3 runs"),
        "{}",
        ignored.text()
    );
    let late = ran(&folder, &["--timeout", "50ms", "sleep 1000"]).exits(2);
    assert!(late.err.contains("took longer than 0.05 s"), "{}", late.err);
    let other = ran(&folder, &["--same-output", "echo 1", "echo 2"]).exits(2);
    assert!(
        other
            .err
            .contains("printed something else than the first run, from line 1 on"),
        "{}",
        other.err
    );
    let missing = ran(&folder, &["no-such-program"]).exits(2);
    assert!(
        missing.err.contains("no-such-program cannot be started"),
        "{}",
        missing.err
    );
}

/// Set-up comes before all, preparation before each run, cleaning at the end; warm-up runs are runs, and parameters are
/// filled in everywhere.
#[test]
fn what_is_run_when() {
    let folder = Folder::new("bench-order");
    let rounds = ran(
        &folder,
        &[
            "-p",
            "n=1,2",
            "--rounds",
            "3",
            "--warmup",
            "1",
            "--shell",
            "--setup",
            "echo setup {n} >> log",
            "--prepare",
            "echo prepare {n} >> log",
            "--cleanup",
            "echo cleanup {n} >> log",
            "echo run {n} >> log",
        ],
    );
    rounds.exits(0);
    let log = text(&folder, "log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..2], ["setup 1", "setup 2"], "{log}");
    assert_eq!(
        lines[lines.len() - 2..],
        ["cleanup 1", "cleanup 2"],
        "{log}"
    );
    let between = &lines[2..lines.len() - 2];
    assert_eq!(between.len(), 2 * 2 * 4, "{log}");
    for run in between.chunks(2) {
        assert_eq!(run[0].replace("prepare", "run"), run[1], "{log}");
    }
    for round in between.chunks(4) {
        assert_ne!(round[1], round[3], "{log}");
    }
}

/// One command in two directories is held against itself in the first, and recorded in both.
#[test]
fn a_command_runs_in_each_directory() {
    let folder = Folder::new("bench-in");
    for (name, rate) in [("old", "100"), ("new", "50")] {
        std::fs::create_dir(folder.join(name)).expect("a folder");
        std::fs::write(folder.join(name).join("rate"), format!("rate {rate}")).expect("a file");
    }
    let metric = ["--metric", METRIC, "--higher-is-better"];
    let both = ["--in", "old", "--in", "new", "--rounds", "10", "cat rate"];
    let page = ran(&folder, &[&metric[..], &both].concat()).exits(0).text();
    assert!(page.contains("B has 1/2.00 of the rate of A"), "{page}");
    assert!(page.contains("cat rate (in new)"), "{page}");
    let page = ran(&folder, &[&["--record"][..], &both].concat()).exits(0);
    let page = page.text();
    let recorded = folder.join("bench-b.timesink");
    assert!(
        recorded.is_dir(),
        "recordings are where timesink was called: {page}"
    );
    let gone = ran(&folder, &["--in", "gone", "true"]).exits(2);
    assert!(gone.err.contains("no such directory"), "{}", gone.err);
}

/// Ctrl-C keeps whole rounds, cleans up, and leaves nothing that runs.
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let folder = Folder::new("bench-interrupted");
    let arguments = [
        "--rounds",
        "2000",
        "--prepare",
        "echo x >> log",
        "--cleanup",
        "echo >> cleaned",
        "sleep 0.05",
        "sleep 0.051",
    ];
    let running = Running::start(&mut bench(&folder, &arguments));
    wait_for("some rounds", || text(&folder, "log").len() >= 12);
    running.signal(libc::SIGINT);
    let ran = running.end().exits(130);
    assert!(
        ran.text().contains("Stopped before all rounds had run"),
        "{}",
        ran.text()
    );
    assert_eq!(text(&folder, "cleaned"), "\n\n");
}

/// What fails after all rounds have run, cleaning or a recording, takes no figures with it: they are printed, then the failure.
#[test]
fn a_failure_after_all_rounds_keeps_what_was_measured() {
    let folder = Folder::new("bench-cleanup");
    let arguments = ["--rounds", "3", "--json", "--cleanup", "exit 7"];
    let ran = ran(&folder, &[&arguments[..], &["true", "true"]].concat()).exits(2);
    assert!(ran.err.contains("--cleanup exit 7 failed"), "{}", ran.err);
    let json: Value = serde_json::from_slice(&ran.out).expect("it is JSON");
    assert_eq!(json["rounds"], 3);
    assert_eq!(json["was_interrupted"], false);
}

/// What cannot be written, on a full disk, does not take the report with it; also after Ctrl-C, which stays 130.
#[test]
fn a_full_disk_does_not_take_the_report() {
    let folder = Folder::new("bench-full");
    let script = r#"
        mkdir disk && mount -t tmpfs -o size=64k none disk || exit 99
        head -c 1000000 /dev/zero > disk/rest
        "$0" bench --rounds 3 --json=disk/json 'echo all' 'echo rounds'; echo "bench $?"
        timeout --preserve-status -s INT 2 "$0" bench --rounds 2000 --json=disk/json 'sleep 0.01' 'sleep 0.011'; echo "stopped $?""#;
    let mut full = Command::new("unshare");
    full.args(["-m", "sh", "-c", script]).arg(timesink());
    let ran = output(full.current_dir(folder.path()));
    let text = ran.text();
    for part in [
        "echo rounds",
        "\nbench 2\n",
        "Stopped before all",
        "\nstopped 130\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}\n{}", ran.err);
    }
    let told = ran
        .err
        .matches("cannot write disk/json: No space left on device");
    assert_eq!(told.count(), 2, "{}", ran.err);
}

/// A gate counts for results of hyperfine, and what says how to measure or to write is refused.
#[test]
fn the_gate_counts_for_imported_results() {
    let folder = Folder::new("bench-imported");
    let times = |factor: f64| {
        let times = (0..10).map(|run| (factor * (100.0 + f64::from(run) / 10.0)).to_string());
        times.collect::<Vec<_>>().join(", ")
    };
    let results = [("a", 1.0), ("b", 2.0)]
        .map(|(name, factor)| format!(r#"{{"command": "{name}", "times": [{}]}}"#, times(factor)));
    let text = format!(r#"{{"results": [{}]}}"#, results.join(", "));
    std::fs::write(folder.join("both"), &text).expect("a file");
    std::fs::write(
        folder.join("one"),
        text.replace(&format!(", {}", results[1]), ""),
    )
    .expect("a file");
    let lost = ran(&folder, &["--import", "both", "--gate", "5%"]).exits(1);
    assert!(
        lost.text().starts_with("Gate: B loses more than 5.0 %"),
        "{}",
        lost.text()
    );
    ran(&folder, &["--import", "one", "one", "--gate", "5%"]).exits(0);
    ran(&folder, &["--import", "both"]).exits(0);
    for refused in [
        &["both", "--json"][..],
        &["both", "--markdown=m"],
        &["one", "--gate", "5%"],
    ] {
        ran(&folder, &[&["--import"], refused].concat()).exits(2);
    }
}

/// Two that overlap both say so: the first cannot know when it begins.
#[test]
fn both_of_two_benches_say_that_they_overlap() {
    let folder = Folder::new("bench-two");
    let first = Running::start(&mut bench(
        &folder,
        &[
            "--rounds",
            "2000",
            "--prepare",
            "echo x >> log",
            "sleep 0.01",
        ],
    ));
    // Stopped before anything is measured it has nothing to print.
    wait_for("the first", || text(&folder, "log").lines().count() > 20);
    let other = "Another timesink bench was running";
    let second = ran(&folder, &["--rounds", "3", "true"]).exits(0).text();
    assert!(second.contains(other), "{second}");
    first.signal(libc::SIGINT);
    let first = first.end().exits(130).text();
    assert!(first.contains(other), "{first}");
}

/// The time limit is for all that is run, also in recordings; a command that fails only there is not passed over.
#[test]
fn a_time_limit_is_for_all_that_is_run() {
    let folder = Folder::new("bench-limit");
    for what in ["setup", "prepare", "cleanup"] {
        let option = format!("--{what}=sleep 1000");
        let late = ran(
            &folder,
            &["--rounds", "2", "--timeout", "200ms", &option, "true"],
        )
        .exits(2);
        let want = format!("--{what} sleep 1000 took longer than 0.2 s");
        assert!(late.err.contains(&want), "{}", late.err);
    }
    // Three runs are measured; the fourth is recorded.
    let fourth = |then: &str| format!("sh -c 'echo >> runs; [ $(wc -l < runs) -le 3 ] || {then}'");
    let record = ["--record", "--rounds", "3", "--timeout", "5s"];
    let late = ran(
        &folder,
        &[&record[..], &[&fourth("sleep 1000"), "true"]].concat(),
    )
    .exits(2);
    assert!(
        late.err
            .contains("while it was recorded, took longer than 5 s"),
        "{}",
        late.err
    );
    assert!(late.text().contains("3 rounds"), "{}", late.text());
    std::fs::remove_file(folder.join("runs")).expect("it is there");
    let failed = ran(
        &folder,
        &[&record[..], &[&fourth("exit 3"), "true"]].concat(),
    )
    .exits(2);
    let want = "while it was recorded, failed with exit code 3";
    assert!(failed.err.contains(want), "{}", failed.err);
}

/// Formats go where they are wanted, say the same, and overwrite nothing.
#[test]
fn formats_go_where_they_are_wanted() {
    let folder = Folder::new("bench-formats");
    let arguments = [
        "--rounds",
        "4",
        "--json=j",
        "--csv=c",
        "--markdown=m",
        "--hyperfine",
        "true",
        "echo",
    ];
    let hyperfine = ran(&folder, &arguments).exits(0);
    let theirs: Value = serde_json::from_slice(&hyperfine.out).expect("it is JSON");
    let ours: Value = serde_json::from_str(&text(&folder, "j")).expect("it is JSON");
    let wall = ours["commands"][1]["runs"][3]["wall_ns"]
        .as_f64()
        .expect("a figure");
    let seconds = theirs["results"][1]["times"][3].as_f64().expect("a figure");
    assert!((wall / 1e9 - seconds).abs() < 1e-9, "{wall} {seconds}");
    assert_eq!(text(&folder, "c").lines().count(), 1 + 2 * 4);
    assert!(text(&folder, "m").contains("| B | `echo` |"));
    let again = ran(&folder, &arguments).exits(2);
    assert!(
        again
            .err
            .contains("already exists and will not be overwritten"),
        "{}",
        again.err
    );
    ran(&folder, &["--json", "--csv", "true"]).exits(2);
}

/// Both sides are recorded three times, and what differs is told: here the only thing that either does.
#[test]
fn recordings_say_why() {
    let folder = Folder::new("bench-record");
    let ran = ran(
        &folder,
        &["--record", "--rounds", "3", "sleep 0.4", "sleep 0.01"],
    )
    .exits(0);
    let page = ran.text();
    assert!(
        page.contains("faster each time: sleep sleeps, once in both"),
        "{page}"
    );
    let sides = [
        "bench-a",
        "bench-a-2",
        "bench-a-3",
        "bench-b",
        "bench-b-2",
        "bench-b-3",
    ];
    for name in sides {
        assert!(folder.join(&format!("{name}.timesink")).is_dir(), "{name}");
    }
}

/// The memory of a program is its own, however much smaller it is than timesink; what it is the peak of is said, in the report as well.
#[test]
fn memory_is_that_of_the_program() {
    let folder = Folder::new("bench-memory");
    let large = "head -c 40000000 /dev/zero | tail -n 1 | wc -c";
    let told = ran(
        &folder,
        &["--rounds", "3", "--shell", "--json", "true", large],
    )
    .exits(0);
    let json: Value = serde_json::from_slice(&told.out).expect("it is JSON");
    let bytes = |command: usize| {
        let runs = json["commands"][command]["runs"].as_array().expect("runs");
        let of = runs.iter().map(|run| run["memory_bytes"].as_u64());
        of.max().flatten().expect("it is known")
    };
    assert!((50_000..8_000_000).contains(&bytes(0)), "{}", bytes(0));
    assert!(
        (38_000_000..120_000_000).contains(&bytes(1)),
        "{}",
        bytes(1)
    );
    let of = json["commands"][0]["runs"][0]["memory_of"].as_str();
    let report = ran(&folder, &["--rounds", "3", "true"]).exits(0).text();
    let said = match of {
        Some("group") => "memory: peak of all processes together",
        Some("process") => "memory: peak of the largest process",
        other => panic!("{other:?}"),
    };
    assert!(report.replace('\n', " ").contains(said), "{report}");
}
