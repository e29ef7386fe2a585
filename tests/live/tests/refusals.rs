//! Kernels that refuse a probe, or whose tracepoints lost an argument: what is left works, or the message says what to do. It is
//! the real kernel that refuses here, what it is asked for is made so (`TIMESINK_INJECT`).

use std::path::Path;
use std::process::Command;

use timesink_live::{ns, output, program, timesink, Folder, Ran, Recorded};

/// Programs without which nothing can be recorded.
const ESSENTIAL: [&str; 7] = [
    "on_switch",
    "on_waking",
    "on_fork",
    "on_exec",
    "on_exit",
    "seed",
    "finish",
];
/// Each other program that is loaded here, with the probe that it belongs to.
const OTHERS: [(&str, &str); 17] = [
    ("on_softirq", "interrupts"),
    ("on_handler", "interrupts"),
    ("on_handler_done", "interrupts"),
    ("on_timer", "interrupts"),
    ("on_timer_done", "interrupts"),
    ("on_contact", "follow"),
    ("on_page_cache", "faults"),
    ("find_work", "terminals"),
    ("on_work", "terminals"),
    ("on_work_begun", "terminals"),
    ("on_work_done", "terminals"),
    ("on_issue", "block"),
    ("on_complete", "block"),
    ("on_enter", "calls"),
    ("on_return", "calls"),
    ("symbol", "names"),
    ("on_sample", "sampler"),
];

fn run(folder: &Folder, inject: &str) -> (std::path::PathBuf, Ran) {
    let path = folder.join(&inject.replace(':', "-"));
    let mut command = Command::new(timesink());
    command.env("TIMESINK_INJECT", inject);
    command.args(["run", "--follow", "-o"]).arg(&path).arg("--");
    command
        .arg(program("switches"))
        .args(["1", "0-1", "pipe", "200"]);
    (path, output(&mut command))
}

/// Nothing was started, and one sentence says which program the kernel refused and how to go on.
#[track_caller]
fn says_what_to_do(ran: Ran, path: &Path, program: &str) {
    let ran = ran.exits(2);
    let said = &ran.err;
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains(program), "{program}: {said}");
    assert!(
        said.contains("timesink doctor --verbose"),
        "{program}: {said}"
    );
    assert!(!path.exists(), "{program}: something was left");
    assert!(ran.out.is_empty(), "{program}: it was started");
}

/// What is left is a recording whose books balance, and which says what it lacks, and why.
#[track_caller]
fn shrinks(ran: Ran, path: &Path, probe: &str) {
    let ran = ran.exits(0);
    let lacks = "Incomplete: 1 probe not attached";
    assert!(ran.err.contains(lacks), "{probe}: {}", ran.err);
    let full = output(
        Command::new(timesink())
            .args(["report", "--full"])
            .arg(path),
    )
    .exits(0);
    let lacks = format!("Probe not attached: {probe} (");
    assert!(full.text().contains(&lacks), "{probe}: {}", full.text());
    let recorded = Recorded::open(path, ran);
    let probes = recorded.json["probes"].as_array().expect("probes");
    for one in probes {
        let refused = one["probe"] == probe;
        assert_eq!(one["attached"] == true, !refused, "{probe}: {one}");
        let reason = one["reason"].as_str().unwrap_or_default();
        assert_eq!(!reason.is_empty(), refused, "{probe}: {one}");
    }
    let cpu = &recorded.json["books"]["cpu"];
    let (ours, kernel) = (ns(cpu, "ours_ns"), ns(cpu, "kernel_ns"));
    assert!(
        (ours - kernel).abs() <= (kernel * 0.02).max(2e6),
        "{probe}: {cpu}"
    );
}

/// With each program refused in turn, a recording lacks that probe alone; without an essential one there is none.
#[test]
fn each_program_is_refused_in_turn() {
    let folder = Folder::new("refused");
    for program in ESSENTIAL {
        let (path, ran) = run(&folder, &format!("refuse:{program}"));
        says_what_to_do(ran, &path, program);
    }
    for (program, probe) in OTHERS {
        let (path, ran) = run(&folder, &format!("refuse:{program}"));
        shrinks(ran, &path, probe);
    }
}

/// A program that reads an argument which its tracepoint does not have any more is refused, too.
#[test]
fn a_tracepoint_lost_an_argument() {
    let folder = Folder::new("lost-argument");
    for (program, probe) in [
        ("on_complete", "block"),
        ("find_work", "terminals"),
        ("on_work", "terminals"),
        ("on_return", "calls"),
    ] {
        let (path, ran) = run(&folder, &format!("lost-argument:{program}"));
        shrinks(ran, &path, probe);
    }
    for program in ["on_switch", "on_fork", "on_exec"] {
        let (path, ran) = run(&folder, &format!("lost-argument:{program}"));
        says_what_to_do(
            ran,
            &path,
            if program == "on_exec" {
                "sched_process_exec"
            } else {
                program
            },
        );
    }
}

/// `doctor --verbose` has the verifier's last lines, what programs took to verify, and no field that is other than expected.
#[test]
fn doctor_tells_what_the_verifier_said() {
    let mut command = Command::new(timesink());
    command
        .args(["doctor", "--verbose"])
        .env("TIMESINK_INJECT", "refuse:on_sample");
    let said = output(&mut command).exits(0).text();
    assert!(said.contains("sampler was refused"), "{said}");
    assert!(said.contains("invalid bpf_context access"), "{said}");
    assert!(said.contains("on_switch"), "{said}");
    assert!(said.contains(" as expected\n"), "{said}");
    assert!(!said.contains("please report this"), "{said}");
    command.env("TIMESINK_INJECT", "refuse:on_switch");
    let said = output(&mut command).exits(2).text();
    assert!(said.contains("the verifier's last lines"), "{said}");
}
