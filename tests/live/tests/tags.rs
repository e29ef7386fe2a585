//! What programs say that their threads are at work for, held against their own clocks.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use timesink_live::{
    attempts, build_go, build_python_tags, go_tools, none_of, number, output, program, python,
    root, taken_away_ns, timesink, Folder, Recorded, PYTHON, PYTHONS,
};
use timesink_recording::tables::Tag;

/// A time is right within this part, or within so many nanoseconds.
const PART: f64 = 0.02;
const SLACK_NS: f64 = 1e6;
/// Tasks that go on one behind another make no call in between: the samples decide, which are a millisecond or two apart (most in six
/// runs: 2.1 ms of 60). With another's tag each would be 6 ms off or more.
const SLACK_OF_TASKS_NS: f64 = 4e6;

/// A goroutine may be taken to another thread in the middle of its work.
const SLACK_OF_LABELS_NS: f64 = 8e6;

/// Until it begins, so that it is known by then what program it is.
const BEFORE_MS: &str = "200";

fn modules(recorded: &Recorded) -> &Vec<Value> {
    let modules = recorded.json["tags"]["modules"].as_array();
    modules.expect("the recording has tags")
}

/// What of `tag PATH NS` is told otherwise.
fn held_against_clocks(recorded: &Recorded, said: &str, slack_ns: f64) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = said.lines().filter_map(|line| line.strip_prefix("tag "));
    let mut count = 0;
    for line in lines {
        count += 1;
        let (path, ns) = line.split_once(' ').expect("a path and a time");
        let real: f64 = ns.parse().expect("a time");
        let module = modules(recorded).iter().find(|one| one["path"] == path);
        let told = module.map_or(0, |module| number(&module["own"], "total_ns")) as f64;
        if (told - real).abs() > slack_ns.max(real * PART) {
            problems.push(format!("{path}: {told} ns, by its own clock {real}"));
        }
    }
    if count == 0 {
        problems.push("the program said nothing".to_owned());
    }
    problems.extend(unbalanced(recorded));
    problems
}

/// All time of each thread is in one tag or in none.
fn unbalanced(recorded: &Recorded) -> Option<String> {
    let sum = |tree: &Value| {
        let modules = tree["modules"].as_array().expect("modules").iter();
        let tagged: i64 = modules.map(|one| number(&one["own"], "total_ns")).sum();
        tagged + number(&tree["untagged"], "total_ns")
    };
    let tags = &recorded.json["tags"];
    let threads = tags["threads"].as_array().expect("threads").iter();
    let threads: i64 = threads.map(sum).sum();
    let lives = recorded.list("threads").iter();
    let lives: i64 = lives
        .map(|thread| number(thread, "end_ns") - number(thread, "start_ns"))
        .sum();
    let whole = sum(tags);
    (whole != threads || whole != lives)
        .then(|| format!("{whole} ns in all, {threads} in the threads, which lived for {lives}"))
}

fn run(path: &Path) -> Vec<String> {
    let folder = Folder::new("tags");
    let command = [path.to_str().expect("its path"), BEFORE_MS];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    held_against_clocks(&recorded, &recorded.ran.text(), SLACK_NS)
}

/// CPU and waits in nested tags and in one that was handed over to another thread, in a plain and in a stripped program.
#[test]
fn tags_have_the_time_that_clocks_measure() {
    let plain = program("tags");
    let folder = Folder::new("tags-stripped");
    let stripped = folder.join("stripped");
    output(Command::new("strip").arg("-o").arg(&stripped).arg(&plain)).exits(0);
    for path in [&plain, &stripped] {
        attempts(|| none_of(&run(path)).map_err(|e| format!("{}: {e}", path.display())));
    }
}

/// The same tags in a library that is loaded with the program or later, by glibc and by musl, and tags of the program around them.
#[test]
fn tags_of_libraries() {
    let libraries = [("", "libtags.so"), ("-musl", "libtags-musl.so")];
    for (suffix, library) in libraries {
        let library = program(library);
        for loader in ["tags_loads", "tags_linked"] {
            let loader = program(&format!("{loader}{suffix}"));
            let command = [&loader, &library];
            let command = command.map(|path| path.to_str().expect("its path"));
            attempts(|| {
                let folder = Folder::new("tags-library");
                let command = [command[0], command[1], BEFORE_MS];
                let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
                let problems = held_against_clocks(&recorded, &recorded.ran.text(), SLACK_NS);
                none_of(&problems).map_err(|e| format!("{}: {e}", loader.display()))
            });
        }
    }
}

/// Tags of Python's threads, and of the tasks of asyncio, of which each has its own, with every version that is here and has headers.
#[test]
fn tags_of_python() {
    let script = root().join("tests/live/programs/tagged.py");
    for version in PYTHONS.into_iter().filter(|one| *one != "3.8") {
        let folder = Folder::new("tags-python");
        let python = python(version).filter(|python| build_python_tags(python, folder.path()));
        let Some(python) = python else {
            assert_ne!(version, PYTHON, "apt-get install python3-dev");
            continue;
        };
        attempts(|| {
            let place = Folder::new("tags-python-recorded");
            let command = [&*python, &*script, folder.path()];
            let command = command.map(|path| path.to_str().expect("its path"));
            let command = [command[0], command[1], command[2], BEFORE_MS];
            let recorded = Recorded::run(&place.join("r.timesink"), &["-q"], &command, 0);
            let problems = held_against_clocks(
                &recorded,
                &recorded.ran.text(),
                SLACK_OF_TASKS_NS + taken_away_ns(),
            );
            none_of(&problems).map_err(|e| format!("{}: {e}", python.display()))
        });
    }
}

/// The label `timesink` of goroutines, with every Go that is here.
#[test]
fn labels_of_goroutines() {
    for go in go_tools() {
        let folder = Folder::new("tags-go");
        let built = build_go(&go, "labelled.go", &folder, &[]);
        let command = [built.to_str().expect("its path"), BEFORE_MS];
        attempts(|| {
            let place = Folder::new("tags-go-recorded");
            let recorded = Recorded::run(&place.join("r.timesink"), &["-q"], &command, 0);
            let problems = held_against_clocks(
                &recorded,
                &recorded.ran.text(),
                SLACK_OF_LABELS_NS + taken_away_ns(),
            );
            none_of(&problems).map_err(|e| format!("{}: {e}", go.display()))
        });
    }
}

/// One that runs already.
#[test]
fn tags_of_a_program_that_is_attached_to() {
    attempts(|| {
        let folder = Folder::new("tags-attach");
        let file = folder.join("r.timesink");
        let child = Command::new(program("tags"))
            .arg("3000")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut attach = Command::new(timesink());
        attach.args(["attach", "-q", "-o"]).arg(&file);
        let ran = output(attach.arg(child.id().to_string())).exits(0);
        let said = child.wait_with_output().expect("its end").stdout;
        let recorded = Recorded::open(&file, ran);
        none_of(&held_against_clocks(
            &recorded,
            &String::from_utf8_lossy(&said),
            SLACK_NS,
        ))
    });
}

/// Tags of 64 kB, a thousand of them, lengths and marks of anything, and memory that changes while it is read; as of a library, also
/// places that lead anywhere: each text has at most its 256 bytes, the sums hold, and what comes afterwards is seen.
#[test]
fn odd_tags_are_bounded() {
    for odd in ["odd_tags", "odd_tags-library"] {
        let folder = Folder::new("odd-tags");
        let path = program(odd);
        let command = [path.to_str().expect("its path")];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let tags = recorded.rows::<Tag>();
        // What is no UTF-8 takes three bytes for one.
        assert!(tags.iter().all(|tag| tag.path.len() <= 3 * 256), "{odd}");
        let longest = "l".repeat(256);
        assert!(tags.iter().any(|tag| tag.path == longest), "{odd}");
        let after = modules(&recorded)
            .iter()
            .any(|one| one["path"] == "after/all");
        assert!(after, "{odd}");
        assert_eq!(unbalanced(&recorded), None, "{odd}");
    }
}
