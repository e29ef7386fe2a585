//! Code that Node.js and Java make while they run: its functions have names, on a processor and in waits,
//! and beside two variables of the environment nothing shows that timesink asked for them.

use std::path::PathBuf;
use std::process::Command;

use timesink_live::{attempts, none_of, output, root, timesink, Chain, Folder, Recorded};
use timesink_recording::tables::{Frame, Process, Sample, Thread, Wait};
use timesink_recording::words::{Detail, Language};

/// Whether these functions of a language call each other, if not always directly.
fn calls(chain: &Chain, language: Language, called: &[&str]) -> bool {
    let frames = &mut chain.frames.iter();
    let mut own = frames.filter(|frame| frame.language == language);
    called
        .iter()
        .all(|name| own.any(|frame| frame.function == *name))
}

/// The map that a process writes, as long as nobody removes it.
fn map_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{pid}.map"))
}

/// The maps that are left of what was recorded.
fn maps_left(recorded: &Recorded) -> Vec<PathBuf> {
    let processes = recorded.rows::<Process>().into_iter();
    let maps = processes.map(|process| map_of(process.pid));
    maps.filter(|map| map.symlink_metadata().is_ok()).collect()
}

fn script() -> String {
    let path = root().join("tests/live/programs/runtimes.js");
    path.canonicalize()
        .expect("the script")
        .display()
        .to_string()
}

/// What is wrong with the stacks of the thread that sampled most.
fn problems(recorded: &Recorded, language: Language, name: fn(&str) -> String) -> Vec<String> {
    let mut problems = Vec::new();
    let chains = recorded.chains();
    let threads = recorded.rows::<Thread>();
    let busiest = threads.iter().max_by_key(|t| t.cpu_ns).expect("a thread");
    let is = |names: &[&str]| names.iter().map(|n| name(n)).collect::<Vec<_>>();
    let has = |chain: &Chain, names: &[&str]| {
        let names = is(names);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        calls(chain, language, &names)
    };
    let samples = recorded.rows::<Sample>();
    let own = || samples.iter().filter(|s| s.thread == busiest.thread);
    let own_chains = || own().filter_map(|s| chains.get(&s.stack?));
    let all = own().count();
    let complete = own_chains().filter(|chain| chain.complete).count();
    if complete * 100 < all * 98 {
        problems.push(format!("{complete} of {all} samples are complete"));
    }
    let inside = own_chains().filter(|c| has(c, &["inCpu", "middle", "outer"]));
    let inside = inside.count();
    if inside * 10 < all * 6 {
        problems.push(format!("{inside} of {all} samples are in inCpu"));
    }
    if !own_chains().any(|c| has(c, &["leaf", "inCpu", "middle", "outer"])) {
        problems.push("no sample is in leaf".into());
    }
    let waits = recorded.rows::<Wait>();
    for (function, details) in [
        ("inPipe", [Detail::PipeRead, Detail::PipeRead]),
        ("inSleep", [Detail::Sleep, Detail::Condition]),
    ] {
        let found = waits.iter().filter(|w| w.thread == busiest.thread);
        let found = found.filter(|w| details.contains(&w.detail));
        let found: Vec<_> = found.filter_map(|w| chains.get(&w.stack?)).collect();
        let right = |c: &&&Chain| has(c, &[function, "middle", "outer"]);
        match found.iter().find(right) {
            Some(chain) if chain.complete => {}
            Some(chain) => {
                problems.push(format!("{function}: not complete: {:?}", chain.functions()))
            }
            None => {
                let all: Vec<_> = found.iter().map(|chain| chain.functions()).collect();
                problems.push(format!("{function} is not in {all:?}"));
            }
        }
    }
    let left = maps_left(recorded);
    if !left.is_empty() {
        problems.push(format!("{left:?} are left"));
    }
    problems
}

/// A shell that feeds a program's pipe a while after it asks, and becomes nothing else.
fn fed(command: &str) -> String {
    format!("(sleep 2.5; echo) | {command}")
}

/// Functions of JavaScript are in the stacks, with file and line, as they call each other, where node has
/// been asked for its map.
#[test]
fn functions_of_node() {
    attempts(|| {
        let folder = Folder::new("node");
        let path = script();
        // Its user asks for the map; functions that run once are interpreted, and have names by the second flag.
        let flags = "--perf-basic-prof --interpreted-frames-native-stack";
        let node = fed(&format!("node {flags} {path}"));
        let command = format!("cd {}; {node}", folder.path().display());
        let recording = folder.join("r.timesink");
        let recorded = Recorded::run(&recording, &["-q"], &["sh", "-c", &command], 0);
        // It stays, because its user has asked for it.
        let left = maps_left(&recorded);
        let mut problems = problems(&recorded, Language::JavaScript, str::to_string);
        problems.retain(|problem| !problem.ends_with("are left"));
        if left.len() != 1 {
            problems.push(format!("{left:?} are left of the one that was asked for"));
        }
        left.iter()
            .for_each(|map| std::fs::remove_file(map).expect("a map"));
        let frames = recorded.rows::<Frame>();
        let leaf = frames.iter().find(|f| f.function == "leaf");
        if !leaf.is_some_and(|leaf| leaf.file == path && leaf.line == Some(5)) {
            problems.push(format!("leaf is {leaf:?}"));
        }
        if !recorded.ran.err.is_empty() {
            problems.push(format!("stderr: {}", recorded.ran.err));
        }
        none_of(&problems)
    });
}

/// Methods of Java that are compiled are in the stacks, as they call each other. What Java says of the
/// variable is all that it says, and its map is gone.
#[test]
fn methods_of_java() {
    let classes = Folder::new("classes");
    let source = root().join("tests/live/programs/Runtimes.java");
    output(
        Command::new("javac")
            .arg("-d")
            .arg(classes.path())
            .arg(source),
    )
    .exits(0);
    attempts(|| {
        let folder = Folder::new("java");
        // Inlined methods have no frames, and interpreted ones no names.
        let command = fed(&format!(
            "java -Xcomp -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,Runtimes::* \
             -XX:CompileCommand=dontinline,Runtimes::* -cp {} Runtimes",
            classes.path().display()
        ));
        let recording = folder.join("r.timesink");
        let recorded = Recorded::run(&recording, &["-q"], &["sh", "-c", &command], 0);
        let mut problems = problems(&recorded, Language::Java, |name| format!("Runtimes.{name}"));
        let said: Vec<_> = recorded.ran.err.lines().collect();
        if said.len() != 1 || !said[0].starts_with("Picked up JAVA_TOOL_OPTIONS: -XX:") {
            problems.push(format!("stderr: {said:?}"));
        }
        none_of(&problems)
    });
}

/// A program of Node.js leaves nothing that it does not leave otherwise: no map, no log where it ran.
#[test]
fn node_leaves_nothing() {
    let folder = Folder::new("runtimes");
    let path = folder.join("runtimes.js");
    std::fs::copy(script(), &path).expect("a copy");
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o", "r.timesink", "--", "node"])
        .arg(&path);
    let ran = output(run.current_dir(folder.path())).exits(0);
    assert_eq!(ran.err, "");
    let recorded = Recorded::open(&folder.join("r.timesink"), ran);
    assert_eq!(maps_left(&recorded), Vec::<PathBuf>::new());
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    files.sort();
    assert_eq!(files, ["r.timesink", "runtimes.js"]);
}

/// A map that the user asked for stays.
#[test]
fn maps_of_others_stay() {
    let folder = Folder::new("own-map");
    let recording = folder.join("r.timesink");
    let script = format!(
        "cd {}; exec node --perf-basic-prof -e 0",
        folder.path().display()
    );
    let command = ["sh", "-c", &script];
    let recorded = Recorded::run(&recording, &["-q"], &command, 0);
    let left = maps_left(&recorded);
    left.iter()
        .for_each(|map| std::fs::remove_file(map).expect("a map"));
    assert_eq!(left.len(), 1);
}

/// The environment differs in one variable only, which keeps what is in it; with `--no-runtime-flags` in none.
#[test]
fn the_environment() {
    let folder = Folder::new("environment");
    let script = "env | grep -v ^_=";
    let run = |option: &[&str], name: &str| {
        let mut run = Command::new(timesink());
        run.args(["run", "-q", "-o"]).arg(folder.join(name));
        run.args(option).args(["--", "sh", "-c", script]);
        run.env("NODE_OPTIONS", "--no-warnings")
            .env_remove("JAVA_TOOL_OPTIONS");
        let ran = output(&mut run).exits(0);
        Recorded::open(&folder.join(name), ran)
    };
    let mut bare = Command::new("sh");
    bare.args(["-c", script]);
    bare.env("NODE_OPTIONS", "--no-warnings")
        .env_remove("JAVA_TOOL_OPTIONS");
    let bare = output(&mut bare).exits(0).text();
    let without = run(&["--no-runtime-flags"], "without");
    assert_eq!(without.ran.text(), bare);
    assert_eq!(maps_left(&without), Vec::<PathBuf>::new());
    let with = run(&[], "with").ran.text();
    let (ours, others): (Vec<_>, Vec<_>) = with
        .lines()
        .partition(|l| l.starts_with("JAVA_TOOL_OPTIONS="));
    let bare: Vec<_> = bare.lines().collect();
    assert_eq!(others, bare);
    assert_eq!(ours.len(), 1, "{ours:?}");
}
