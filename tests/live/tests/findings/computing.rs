//! Rules about what a program does on a processor.

use std::process::Command;

use timesink_live::{output, pair, pair_of, pair_of_go, pair_of_python, root, Folder};

/// Dates read by a function in Python, and by one in C.
#[test]
fn known_slow_function() {
    pair_of_python("known-slow-function");
}

/// A program in Python with its profiler left on, and without.
#[test]
fn left_on() {
    let script = root().join("tests/live/programs/rules/left-on.py");
    let script = script.to_str().expect("its path");
    let profiled = [
        "/usr/bin/python3",
        "-m",
        "cProfile",
        "-o",
        "/dev/null",
        script,
    ];
    pair_of("left-on", &[], &profiled, &["/usr/bin/python3", script]);
}

/// The CPU time of a thread read for each item, and once.
#[test]
fn clock_calls() {
    pair("clock-calls");
}

/// A queue whose first is taken by moving all others, and a ring of things that are copied on their way.
#[test]
fn copying() {
    pair("copying");
}

/// A table in Go that is appended to row by row, and one that is built in a buffer.
#[test]
fn concatenation() {
    pair_of_go("concatenation");
}

/// A table of things that point to each other, and one of numbers, both in Go.
#[test]
fn garbage_collection() {
    pair_of_go("garbage-collection");
}

/// A cache in Java in a heap that it nearly fills, and in one with room, with two of HotSpot's collectors: one that the program waits for, and
/// one that also works beside it.
#[test]
fn garbage_collection_of_java() {
    let folder = Folder::new("collector-of-java");
    let classes = folder.path().to_str().expect("its path").to_owned();
    let source = root().join("tests/live/programs/rules/GarbageCollection.java");
    let mut compiler = Command::new("javac");
    output(compiler.args(["-d", &classes]).arg(source)).exits(0);
    for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
        let with = |heap| {
            [
                "java",
                collector,
                heap,
                "-cp",
                &classes,
                "GarbageCollection",
            ]
        };
        pair_of(
            "garbage-collection",
            &[],
            &with("-Xmx60m"),
            &with("-Xmx600m"),
        );
    }
}

/// Modules in Python that nobody keeps compiled, and the same that were compiled before.
#[test]
fn compiled_at_each_start() {
    let script = root().join("tests/live/programs/rules/compiled-at-each-start.py");
    let script = script.to_str().expect("its path");
    let (source, compiled) = (Folder::new("source"), Folder::new("compiled"));
    let python = |arguments: &[&str]| {
        let mut python = Command::new("/usr/bin/python3");
        output(python.args(arguments)).exits(0);
    };
    let path = |folder: &Folder| folder.path().to_str().expect("its path").to_owned();
    python(&[script, "make", &path(&source)]);
    python(&[script, "make", &path(&compiled)]);
    python(&["-m", "compileall", "-q", &path(&compiled)]);
    let using = |folder: String| {
        let variable = "PYTHONDONTWRITEBYTECODE=1";
        ["env", variable, "/usr/bin/python3", script, "use", &folder].map(str::to_owned)
    };
    let (fires, silent) = (using(path(&source)), using(path(&compiled)));
    let fires: Vec<&str> = fires.iter().map(String::as_str).collect();
    let silent: Vec<&str> = silent.iter().map(String::as_str).collect();
    pair_of("compiled-at-each-start", &[], &fires, &silent);
}

/// Names that come in through a pipe, looked for among all before them, and in a table by their hash.
#[test]
fn growing_search() {
    pair("growing-search");
}

/// An archive of which all is unpacked before one entry is asked for, and one of which each is when it is asked for.
#[test]
fn eager_start_up() {
    let script = root().join("tests/live/programs/rules/eager-start-up.py");
    let script = script.to_str().expect("its path");
    let folder = Folder::new("archive");
    let archive = folder.join("archive.zip");
    let archive = archive.to_str().expect("its path");
    let python = "/usr/bin/python3";
    output(Command::new(python).args([script, "make", archive])).exits(0);
    let form = |form| [python, script, form, archive];
    pair_of("eager-start-up", &[], &form("fires"), &form("silent"));
}
