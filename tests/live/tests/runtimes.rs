//! Code that Node.js and Java make while they run: its functions have names, on a processor and in waits,
//! and beside two variables of the environment, of which one is only set if that is asked for, nothing shows that timesink is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use timesink_live::{
    attempts, none_of, output, program, root, timesink, Chain, Folder, Peer, Recorded, Running,
};
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

fn script(name: &str) -> String {
    let path = root().join("tests/live/programs").join(name);
    path.canonicalize()
        .expect("the script")
        .display()
        .to_string()
}

/// The machine's own node, and those that nvm has put into the user's folder.
fn nodes() -> Vec<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let others = std::fs::read_dir(home.join(".nvm/versions/node"));
    let others = others.into_iter().flatten().flatten();
    let others = others.map(|version| version.path().join("bin/node"));
    std::iter::once("node".into()).chain(others).collect()
}

/// The files in a folder, but for the recording.
fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name != "r.timesink").collect()
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
    let slept = match language {
        // It has no sleep: its function waits for what nobody notifies.
        Language::JavaScript => Detail::Condition,
        _ => Detail::Sleep,
    };
    for (function, detail) in [("inPipe", Detail::PipeRead), ("inSleep", slept)] {
        let found = waits.iter().filter(|w| w.thread == busiest.thread);
        let found = found.filter(|w| w.detail == detail);
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

/// What is wrong with a recording of this node.
fn problems_of_node(node: &Path) -> Vec<String> {
    let folder = Folder::new("node");
    let path = script("runtimes.js");
    let node = fed(&format!("{} {path}", node.display()));
    let command = format!("cd {}; {node}", folder.path().display());
    let recording = folder.join("r.timesink");
    let recorded = Recorded::run(&recording, &["-q"], &["sh", "-c", &command], 0);
    let mut problems = problems(&recorded, Language::JavaScript, str::to_string);
    let frames = recorded.rows::<Frame>();
    for (function, line) in [("leaf", 5), ("inSleep", 18)] {
        let found = frames.iter().find(|f| f.function == function);
        if !found.is_some_and(|found| found.file == path && found.begins == Some(line)) {
            problems.push(format!("{function} is {found:?}"));
        }
    }
    // What is called once in a function is called in that line.
    for (function, line) in [("inPipe", 16), ("outer", 25)] {
        let mut own = frames.iter().filter(|f| f.function == function);
        let wrong = own
            .clone()
            .find(|f| ![Some(line), f.begins].contains(&f.line));
        if wrong.is_some() || !own.any(|f| f.line == Some(line)) {
            problems.push(format!("{function} calls in {line}: {wrong:?}"));
        }
    }
    if !recorded.ran.err.is_empty() {
        problems.push(format!("stderr: {}", recorded.ran.err));
    }
    let left = files_in(folder.path());
    if !left.is_empty() {
        problems.push(format!("{left:?} are left"));
    }
    problems
}

/// Functions of JavaScript are in the stacks, with file and line, as they call each other: those that run
/// often, which are compiled, and those that run once, which are interpreted.
#[test]
fn functions_of_node() {
    for node in nodes() {
        attempts(|| {
            let problems = problems_of_node(&node).into_iter();
            let problems = problems.map(|problem| format!("{}: {problem}", node.display()));
            none_of(&problems.collect::<Vec<_>>())
        });
    }
}

/// What is wrong with the waits of functions that only differ in their names, and in how long they sleep.
fn problems_of_shapes(recorded: &Recorded) -> Vec<String> {
    let chains = recorded.chains();
    let waits = recorded.rows::<Wait>();
    let mut problems = Vec::new();
    for (name, least_ns) in [("two", 1_000_000), ("five", 4_000_000), ("nine", 8_000_000)] {
        let own = |wait: &&Wait| {
            let chain = wait.stack.and_then(|stack| chains.get(&stack));
            let inside = chain.is_some_and(|c| calls(c, Language::JavaScript, &[name, "all"]));
            // Others are waits for the runtime itself.
            inside && wait.expired == Some(true)
        };
        let own = waits.iter().filter(own).map(|wait| wait.t1 - wait.t0);
        let own: Vec<_> = own.collect();
        let short: Vec<_> = own.iter().filter(|ns| **ns < least_ns).collect();
        if !short.is_empty() || own.len() < 31 || own.len() > 42 {
            problems.push(format!("{name}: {} waits, too short: {short:?}", own.len()));
        }
    }
    problems
}

/// Functions that call the same from the same depth differ in their names alone: none of them is taken for another,
/// although their registers are the same, neither while all are interpreted nor when they are compiled.
#[test]
fn interpreted_functions_are_told_apart() {
    let path = script("shapes.js");
    for (node, sparkplug) in nodes()
        .iter()
        .flat_map(|node| [(node, "--no-sparkplug"), (node, "--always-sparkplug")])
    {
        attempts(|| {
            let folder = Folder::new("shapes");
            let node = node.display().to_string();
            let command = [&node, "--no-opt", sparkplug, &path];
            let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
            none_of(&problems_of_shapes(&recorded))
        });
    }
}

/// What is wrong with a recording of a node with two workers: each thread is in its own function, in as many
/// samples as there are.
fn problems_of_workers(recorded: &Recorded, path: &str) -> Vec<String> {
    let chains = recorded.chains();
    let samples = recorded.rows::<Sample>();
    let mut problems = Vec::new();
    for (function, line) in [("inFirst", 11), ("inSecond", 14), ("outermost", 17)] {
        let inside = |sample: &&Sample| {
            let chain = sample.stack.and_then(|stack| chains.get(&stack));
            chain.is_some_and(|c| calls(c, Language::JavaScript, &["spin", function]))
        };
        let inside: Vec<_> = samples.iter().filter(inside).collect();
        let Some(thread) = inside.first().map(|sample| sample.thread) else {
            problems.push(format!("no sample is in {function}"));
            continue;
        };
        if inside.len() < 10 || inside.iter().any(|sample| sample.thread != thread) {
            let found = inside.len();
            problems.push(format!("{found} samples in {function}, not of one thread"));
        }
        let frames = recorded.rows::<Frame>();
        let found: Vec<_> = frames.iter().filter(|f| f.function == function).collect();
        // Where its script was being moved, there is no line for a moment.
        let right = |f: &&Frame| f.file == path && f.begins.is_none_or(|found| found == line);
        if !found.iter().all(right) || found.iter().all(|f| f.begins.is_none()) {
            problems.push(format!("{function} is {found:?}"));
        }
    }
    problems
}

/// Workers have heaps of their own: their functions have names like others, each in its thread.
#[test]
fn functions_of_workers() {
    let path = script("workers.js");
    for node in nodes() {
        attempts(|| {
            let folder = Folder::new("workers");
            let command = [&node.display().to_string(), &path, "1000"];
            let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
            none_of(&problems_of_workers(&recorded, &path))
        });
    }
}

/// A Node.js that runs already, and was asked for nothing, has the names of its functions too, also of those that it
/// was in before anybody looked.
#[test]
fn functions_of_a_node_that_runs() {
    let path = script("workers.js");
    for node in nodes() {
        attempts(|| {
            let folder = Folder::new("running");
            let running = Running::start(Command::new(&node).args([&path, "4000"]));
            // It has to be inside of its functions.
            std::thread::sleep(std::time::Duration::from_secs(1));
            let recording = folder.join("r.timesink");
            let mut attach = Command::new(timesink());
            attach
                .args(["attach", "-q", "--for", "2s", "-o"])
                .arg(&recording);
            let ran = output(attach.arg(running.pid().to_string())).exits(0);
            running.end();
            let recorded = Recorded::open(&recording, ran);
            none_of(&problems_of_workers(&recorded, &path))
        });
    }
}

/// The machine's own virtual machines, and those that SDKMAN has put into the user's folder.
fn javas() -> Vec<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let folders = ["/usr/lib/jvm".into(), home.join(".sdkman/candidates/java")];
    let entries = folders
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.flatten().flatten().map(|entry| entry.path());
    let found = entries.filter_map(|entry| entry.join("bin/java").canonicalize().ok());
    // Many names lead to the same.
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.dedup();
    assert!(!found.is_empty(), "no Java in /usr/lib/jvm");
    found
}

/// One of the programs in Java, compiled.
fn classes(name: &str) -> Folder {
    let classes = Folder::new("classes");
    let source = root().join("tests/live/programs").join(name);
    let mut javac = Command::new("javac");
    javac.args(["--release", "17", "-d"]).arg(classes.path());
    output(javac.arg(source)).exits(0);
    classes
}

/// Four threads of Java that ask a peer in a monitor or under a lock of `java.util.concurrent`, and each as it likes.
#[test]
fn locks_of_java() {
    let classes = classes("HotLock.java");
    let path = classes.path().display().to_string();
    let peer = Peer::at(10);
    for lock in ["monitor", "lock"] {
        peer.pair_of("hot-lock", &["java", "-cp", &path, "HotLock", lock]);
    }
}

/// What Java says of the variable is all that it says.
fn said_more(recorded: &Recorded) -> Option<String> {
    let said: Vec<_> = recorded.ran.err.lines().collect();
    let only = said.len() == 1 && said[0].starts_with("Picked up JAVA_TOOL_OPTIONS: -XX:");
    (!only).then(|| format!("stderr: {said:?}"))
}

/// All methods of the program are compiled, and nothing else; inlined ones would have no frames.
const COMPILED: &str =
    "-Xcomp -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,Runtimes::* \
                        -XX:CompileCommand=dontinline,Runtimes::*";

/// Methods of Java are in the stacks, as they call each other, compiled or interpreted, and so are the virtual machine's
/// own pieces of code that call them. Nothing is written for that.
#[test]
fn methods_of_java() {
    let classes = classes("Runtimes.java");
    for (java, flags) in javas()
        .iter()
        .flat_map(|java| [(java, COMPILED), (java, "-Xint")])
    {
        attempts(|| {
            let folder = Folder::new("java");
            let path = classes.path().display();
            let command = fed(&format!("{} {flags} -cp {path} Runtimes", java.display()));
            let recording = folder.join("r.timesink");
            let recorded = Recorded::run(&recording, &["-q"], &["sh", "-c", &command], 0);
            let mut problems =
                problems(&recorded, Language::Java, |name| format!("Runtimes.{name}"));
            problems.extend(said_more(&recorded));
            let frames = recorded.rows::<Frame>();
            let nameless = frames
                .iter()
                .filter(|f| f.function == "Interpreter")
                .count();
            if nameless > 2 {
                problems.push(format!(
                    "{nameless} frames of the interpreter have no method"
                ));
            }
            let named = frames.iter().find(|f| f.function == "Runtimes.main");
            if flags == "-Xint" && named.is_none_or(|named| named.file != "Runtimes.java") {
                problems.push(format!("main is {named:?}"));
            }
            let name = |problem| format!("{} {flags}: {problem}", java.display());
            none_of(&problems.into_iter().map(name).collect::<Vec<_>>())
        });
    }
}

/// The names of compiled methods do not wait for the end of a virtual machine: one that is killed has them, too.
#[test]
fn a_java_that_is_killed() {
    let classes = classes("Runtimes.java");
    let path = classes.path().display();
    for java in javas() {
        attempts(|| {
            let folder = Folder::new("killed");
            let java = java.display();
            let command = format!("timeout -s KILL 2 {java} {COMPILED} -cp {path} Runtimes");
            let command = format!("sleep 3 | {command}; true");
            let recording = folder.join("r.timesink");
            let recorded = Recorded::run(&recording, &["-q"], &["sh", "-c", &command], 0);
            let chains = recorded.chains();
            let called =
                ["leaf", "inCpu", "middle", "outer"].map(|name| format!("Runtimes.{name}"));
            let called: Vec<_> = called.iter().map(String::as_str).collect();
            let samples = recorded.rows::<Sample>().into_iter();
            let chains = samples.filter_map(|sample| chains.get(&sample.stack?));
            let named = chains
                .filter(|chain| calls(chain, Language::Java, &called))
                .count();
            let left = maps_left(&recorded);
            match named > 50 && left.is_empty() {
                true => Ok(()),
                false => Err(format!(
                    "{java}: {named} samples have names, {left:?} are left"
                )),
            }
        });
    }
}

/// What is wrong with the lines of `Lines.java`: of sleeps for two times in one method, and, if it was compiled, of a method that became part of
/// another.
fn problems_of_lines(recorded: &Recorded, is_compiled: bool) -> Vec<String> {
    let source = std::fs::read_to_string(script("Lines.java")).expect("the source");
    let line = |mark: &str| {
        let at = source.lines().position(|line| line.ends_with(mark));
        at.map(|at| at as u32 + 1)
    };
    let mut problems = Vec::new();
    let chains = recorded.chains();
    let waits = recorded.rows::<Wait>();
    for (mark, least_ns) in [("three", 2_000_000), ("twelve", 11_000_000)] {
        let line = line(mark);
        let is_here = |frame: &Frame| frame.function == "Lines.sleeps" && frame.line == line;
        let own = waits.iter().filter(|wait| {
            let chain = wait.stack.and_then(|stack| chains.get(&stack));
            // Others are waits for the machine itself.
            wait.expired == Some(true) && chain.is_some_and(|c| c.frames.iter().any(|f| is_here(f)))
        });
        let own: Vec<_> = own.map(|wait| wait.t1 - wait.t0).collect();
        let short = own.iter().filter(|ns| **ns < least_ns).count();
        if !(31..=42).contains(&own.len()) || short > 0 {
            problems.push(format!("{mark}: {short} of {} waits are short", own.len()));
        }
    }
    let samples = recorded.rows::<Sample>().into_iter();
    let samples = samples.filter_map(|sample| chains.get(&sample.stack?));
    let inside: Vec<_> = samples
        .filter(|chain| calls(chain, Language::Java, &["Lines.hot", "Lines.main"]))
        .collect();
    let is_at = |frame: &Frame, function: &str, mark: &str, inlined: bool| {
        frame.function == function && frame.line == line(mark) && frame.inlined == inlined
    };
    let inlined = inside.iter().filter(|chain| {
        chain.frames.windows(2).any(|pair| {
            is_at(&pair[0], "Lines.small", "in small", true)
                && is_at(&pair[1], "Lines.hot", "in hot", false)
        })
    });
    // Of copies of a loop's body the newest virtual machine describes one as inlined: 46 of 394 samples, where version 17 has most of them.
    let inlined = inlined.count();
    if is_compiled && inlined * 20 < inside.len() {
        problems.push(format!("{inlined} of {} are in small", inside.len()));
    }
    problems
}

/// Methods of Java have lines, compiled or interpreted, and those that became part of others are shown in them.
#[test]
fn lines_of_java() {
    let classes = classes("Lines.java");
    let compiled = "-Xcomp -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,Lines::* \
                    -XX:CompileCommand=inline,Lines::small";
    for (java, flags) in javas()
        .iter()
        .flat_map(|java| [(java, compiled), (java, "-Xint")])
    {
        attempts(|| {
            let folder = Folder::new("lines");
            let java = java.display().to_string();
            let path = classes.path().display().to_string();
            let mut command: Vec<&str> = vec![&java];
            command.extend(flags.split_whitespace());
            command.extend(["-cp", &path, "Lines"]);
            let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
            let problems = problems_of_lines(&recorded, flags == compiled).into_iter();
            none_of(
                &problems
                    .map(|problem| format!("{java} {flags}: {problem}"))
                    .collect::<Vec<_>>(),
            )
        });
    }
}

/// Interpreted methods that call the same from the same depth differ in their names alone: none of them is taken
/// for another, although their registers are the same. A sleep may be longer than asked for, and as much shorter as it
/// took from asking to being off the processor.
#[test]
fn interpreted_methods_are_told_apart() {
    let classes = classes("Shapes.java");
    let path = classes.path().display().to_string();
    let java = &javas()[0];
    let command = [&java.display().to_string(), "-Xint", "-cp", &path, "Shapes"];
    let folder = Folder::new("shapes");
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let chains = recorded.chains();
    let waits = recorded.rows::<Wait>();
    for (name, least_ns) in [("two", 1_000_000), ("five", 4_000_000), ("nine", 8_000_000)] {
        let function = format!("Shapes.{name}");
        let own = |wait: &&Wait| {
            let chain = wait.stack.and_then(|stack| chains.get(&stack));
            let inside = chain
                .is_some_and(|chain| calls(chain, Language::Java, &[&function, "Shapes.main"]));
            // Others are waits for the machine itself.
            inside && wait.expired == Some(true)
        };
        let own = waits.iter().filter(own).map(|wait| wait.t1 - wait.t0);
        let own: Vec<_> = own.collect();
        let short: Vec<_> = own.iter().filter(|ns| **ns < least_ns).collect();
        assert!(short.is_empty(), "{name} slept for {short:?}");
        assert!(
            own.len() > 30 && own.len() <= 42,
            "{name}: {} waits",
            own.len()
        );
    }
}

/// A program of Node.js leaves nothing that it does not leave otherwise, neither a map nor a log where it runs:
/// also if it has children and workers, goes elsewhere, and is killed. Flags that its user gave it are in force.
#[test]
fn node_leaves_nothing() {
    const KILLED: i32 = 128 + 9;
    for node in nodes() {
        let folder = Folder::new("leaves");
        let elsewhere = folder.join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("a folder");
        let mut run = Command::new(timesink());
        run.args(["run", "-q", "-o", "r.timesink", "--"])
            .args([&node, Path::new(&script("leaves.js")), &elsewhere])
            .env("NODE_OPTIONS", "--no-deprecation --trace-deprecation");
        let ran = output(run.current_dir(folder.path())).exits(KILLED);
        assert_eq!((&*ran.err, &*ran.text()), ("", "true true\n"));
        let recorded = Recorded::open(&folder.join("r.timesink"), ran);
        assert_eq!(recorded.rows::<Process>().len(), 3);
        assert_eq!(maps_left(&recorded), Vec::<PathBuf>::new());
        assert_eq!(files_in(folder.path()), ["elsewhere"], "{}", node.display());
        assert_eq!(files_in(&elsewhere), Vec::<String>::new());
    }
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
    let set = |command: &mut Command| {
        command
            .env("NODE_OPTIONS", "--no-warnings")
            .env_remove("JAVA_TOOL_OPTIONS");
    };
    let run = |option: &[&str]| {
        let name = format!("with{}", option.concat());
        let mut run = Command::new(timesink());
        run.args(["run", "-q", "-o"]).arg(folder.join(&name));
        run.args(option).args(["--", "sh", "-c", script]);
        set(&mut run);
        output(&mut run).exits(0).text()
    };
    let mut bare = Command::new("sh");
    bare.args(["-c", script]);
    set(&mut bare);
    let bare = output(&mut bare).exits(0).text();
    assert_eq!(run(&["--no-runtime-flags"]), bare);
    let changed = |with: &str| -> Vec<String> {
        let new = with
            .lines()
            .filter(|l| bare.lines().all(|known| known != *l));
        new.map(str::to_owned).collect()
    };
    let java = "JAVA_TOOL_OPTIONS=-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer \
        -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints";
    assert_eq!(changed(&run(&[])), [java]);
}

/// Code that takes the place of other code is told from it: each has the samples of its own time.
#[test]
fn code_that_is_reused() {
    attempts(|| {
        let folder = Folder::new("reused");
        let program = program("reused").display().to_string();
        let recording = folder.join("r.timesink");
        let recorded = Recorded::run(&recording, &["-q"], &[&program, "500"], 0);
        let maps = maps_left(&recorded);
        maps.iter()
            .for_each(|map| std::fs::remove_file(map).expect("a map"));
        let chains = recorded.chains();
        let mut samples = recorded.rows::<Sample>();
        samples.sort_by_key(|sample| sample.t);
        let innermost =
            |sample: &Sample| Some(chains.get(&sample.stack?)?.frames.first()?.function.clone());
        let names: Vec<_> = samples.iter().filter_map(innermost).collect();
        let count = |name: &str| names.iter().filter(|known| *known == name).count();
        let (first, second) = (count("first"), count("second"));
        let mut problems = Vec::new();
        if first < 100 || second < 100 {
            problems.push(format!(
                "{first} samples of the first and {second} of the second"
            ));
        }
        let last = names.iter().rposition(|name| name == "first");
        let from = names.iter().position(|name| name == "second");
        if last > from {
            problems.push(format!(
                "the first until {last:?}, the second from {from:?}"
            ));
        }
        none_of(&problems)
    });
}
