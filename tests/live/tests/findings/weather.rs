//! Findings in bad weather: recordings that lack something, in which calls were timed now and then only, of which events
//! were lost, or that were cut short. What could not be asked, and what nobody can know, is said.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use timesink_live::{
    attempts, none_of, output, program, timesink, Folder, Ran, Recorded, Running, Told,
};
use timesink_recording::notation::Draft;
use timesink_recording::Recording;

fn flushing() -> String {
    let path = program("rules/flush-per-record");
    path.to_str().expect("its path").to_owned()
}

/// Calls are timed for a hundredth of the time or less: the rule goes by what was counted all the same, and does not
/// take the innocent for guilty.
#[test]
fn calls_that_are_timed_now_and_then() {
    let options = ["--budget", "0.001%"];
    let flushing = flushing();
    attempts(|| {
        let fires = Told::of(&options, &[&flushing, "fires"]);
        let asked = fires.recorded.list("not_asked");
        let mut wrong = Vec::new();
        if !fires.rules().contains(&"flush-per-record") && asked.is_empty() {
            wrong.push(format!("neither told nor not asked: {}", fires.summary()));
        }
        none_of(&wrong)
    });
    attempts(|| none_of(&Told::of(&options, &[&flushing, "silent"]).silent("flush-per-record")));
}

/// All of a recording, to be written again without some of it.
fn rows(recording: &Recording) -> Draft {
    let mut draft = Draft::default();
    draft.about = recording.about().clone();
    macro_rules! read {
        ($($table:ident)+) => { $( draft.$table = recording.rows().expect("a table"); )+ };
    }
    read!(call_errors call_histograms call_windows calls delays frames images lookups losses modules objects);
    read!(occupants outsiders probes processes requests samples spans stacks threads waits);
    draft
}

#[track_caller]
fn report(path: &std::path::Path) -> Ran {
    output(
        Command::new(timesink())
            .args(["report", "--full"])
            .arg(path),
    )
    .exits(0)
}

/// A recording without system calls, and one without stacks: rules that go by them say that they were not asked.
#[test]
fn what_a_recording_lacks() {
    let told = Folder::new("lacks");
    let whole = told.join("whole.timesink");
    // It writes where it runs.
    let place = format!("cd {} && exec \"$0\" fires", told.path().display());
    Recorded::run(&whole, &["-q"], &["sh", "-c", &place, &flushing()], 0);
    let whole = Recording::open(&whole).expect("it opens");
    for (lacks, without, rule) in [
        ("system-call data", "calls", "flush-per-record"),
        ("stacks", "stacks", "small-writes"),
    ] {
        let mut draft = rows(&whole);
        match without {
            "calls" => {
                draft.calls.clear();
                draft.call_windows.clear();
                draft.call_errors.clear();
                draft.call_histograms.clear();
            }
            _ => {
                draft.stacks.clear();
                draft.samples.iter_mut().for_each(|row| row.stack = None);
                draft.delays.iter_mut().for_each(|row| row.stack = None);
                draft.waits.iter_mut().for_each(|row| {
                    (row.stack, row.waker_stack) = (None, None);
                });
            }
        }
        let path = told.join(&format!("without-{without}.timesink"));
        draft.write(&path).expect("it can be written");
        let page = report(&path).text();
        let said = format!("Skipped, needs {lacks}: ");
        let line = page.lines().find(|line| line.contains(&said));
        let line = line.unwrap_or_else(|| panic!("{said} is not said: {page}"));
        assert!(line.contains(rule), "{line}");
        let recorded = Recorded::open(&path, report(&path));
        let not_asked = recorded.list("not_asked");
        let it = not_asked.iter().find(|not| not["rule"] == rule);
        assert_eq!(it.expect("it is not asked")["lacks"], lacks);
        let findings = recorded.list("findings");
        assert!(
            findings.iter().all(|told| told["rule"] != rule),
            "{findings:?}"
        );
    }
}

/// What a report says of itself where events were lost or its end is missing: how much of the path nobody can tell
/// anything about, if that is much.
#[track_caller]
fn says_what_is_not_known(path: &std::path::Path) {
    let page = report(path).text();
    let recorded = Recorded::open(path, report(path));
    assert!(
        recorded.json["lost"]
            .as_object()
            .is_some_and(|lost| !lost.is_empty()),
        "nothing was lost: {page}"
    );
    let unknown = recorded.json["path"]["unknown_pct"]
        .as_f64()
        .expect("a share");
    let said = page.contains("of the path is unknown; no rule covers it");
    assert_eq!(said, unknown >= 10.0, "{unknown} % is not known: {page}");
    let why = page.split("\nWHY").nth(1).expect("WHY");
    assert!(why.lines().count() > 1, "{page}");
}

/// timesink is killed in the middle of it: what is there is asked, and the rest is said to be missing.
#[test]
fn a_recording_that_was_cut_short() {
    let folder = Folder::new("cut");
    let path = folder.join("cut.timesink");
    let script = format!(
        "cd {} && for n in 1 2 3 4 5 6; do {} fires; done",
        folder.path().display(),
        flushing()
    );
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o"]).arg(&path);
    run.args(["--", "sh", "-c", &script]).stdin(Stdio::null());
    let mut running = Running::start(&mut run);
    let start = Instant::now();
    while !folder.join("rows.db").exists() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it does not start"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(600));
    running.signal(libc::SIGKILL);
    running.status();
    running.end();
    says_what_is_not_known(&path);
}

/// A ring overflows while timesink is stopped: what was lost in the meantime accuses nobody.
#[test]
fn a_recording_of_which_events_were_lost() {
    let folder = Folder::new("lost");
    let path = folder.join("lost.timesink");
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o"]).arg(&path).arg("--");
    run.arg(program("switches")).args(["3", "0,1", "pipe"]);
    let running = Running::start(run.stdin(Stdio::null()));
    std::thread::sleep(Duration::from_millis(700));
    running.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(libc::SIGCONT);
    running.end().exits(0);
    says_what_is_not_known(&path);
}
