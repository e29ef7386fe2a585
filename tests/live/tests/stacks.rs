//! Stacks: the functions that a program is in, by their names, on a processor and in every kind of wait.

use std::collections::HashMap;

use std::path::Path;
use std::process::Command;

use timesink_live::{
    attempts, none_of, number, output, program, timesink, Chain, Folder, Recorded,
};
use timesink_recording::tables::{Delay, Frame, Module, Sample, Span, Thread, Wait};
use timesink_recording::words::{Detail, SymbolSource};
use timesink_recording::{Nanos, StackId, ThreadId};

/// The kinds of wait, each with the function that waits.
const WAITS: [(Detail, &str); 7] = [
    (Detail::Sleep, "in_sleep"),
    (Detail::PipeRead, "in_pipe"),
    (Detail::UnixReceive, "in_socket"),
    (Detail::Poll, "in_poll"),
    (Detail::Child, "in_child"),
    (Detail::Condition, "in_condition"),
    (Detail::Flush, "in_flush"),
];

/// What is wrong with the stacks of one thread that ran `outer`, called by this function.
fn problems_of(
    thread: ThreadId,
    name: &str,
    recorded: &Recorded,
    chains: &HashMap<StackId, Chain>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let waits = recorded.rows::<Wait>();
    for (detail, function) in WAITS {
        // Sleep is slept by sleep_ms, which the compiler may have inlined.
        let expected = [function, "middle", "outer", name];
        let found = waits
            .iter()
            .filter(|w| w.thread == thread && w.detail == detail)
            .filter_map(|w| chains.get(&w.stack?))
            .collect::<Vec<_>>();
        match found.iter().find(|chain| chain.has(&expected)) {
            Some(chain) if chain.complete => {}
            Some(chain) => {
                problems.push(format!("{detail}: not complete: {:?}", chain.functions()))
            }
            None => {
                let all: Vec<_> = found.iter().map(|chain| chain.functions()).collect();
                problems.push(format!("{detail}: {expected:?} is not in {all:?}"));
            }
        }
    }
    let samples = recorded.rows::<Sample>();
    let own: Vec<_> = samples.iter().filter(|s| s.thread == thread).collect();
    let in_cpu = own
        .iter()
        .filter_map(|s| chains.get(&s.stack?))
        .filter(|chain| chain.complete && chain.has(&["in_cpu", "middle", "outer", name]))
        .count();
    if in_cpu * 10 < own.len() * 9 || in_cpu < 50 {
        problems.push(format!("{in_cpu} of {} samples are in in_cpu", own.len()));
    }
    problems
}

/// A leaf called through known functions, on a processor and blocked in each kind of wait, without
/// frame pointers, in the first thread and in another.
#[test]
fn of_known_functions() {
    attempts(|| {
        let folder = Folder::new("stacks");
        let path = program("stacks");
        let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = recorded.chains();
        let threads = recorded.rows::<Thread>();
        let first = threads[0].thread;
        let other = threads
            .iter()
            .find(|t| t.process == threads[0].process && t.thread != first)
            .map(|t| t.thread);
        let mut problems = problems_of(first, "main", &recorded, &chains);
        match other {
            Some(other) => {
                problems.extend(problems_of(other, "thread_main", &recorded, &chains));
            }
            None => problems.push("there is no other thread".into()),
        }
        none_of(&problems)
    });
}

/// Whole stacks with these functions, the innermost first, among those; the problem if there are too few.
fn enough<'a>(
    what: &str,
    of: impl Iterator<Item = Option<&'a Chain>>,
    functions: &[&str],
    least: usize,
) -> Option<String> {
    let all: Vec<_> = of.collect();
    let whole = |chain: &&Chain| chain.complete && chain.has(functions);
    let found = all.iter().flatten().filter(|chain| whole(chain)).count();
    let names: Vec<_> = all.iter().flatten().map(|c| c.functions()).collect();
    let few = found < least || found * 100 < all.len() * 90;
    few.then(|| {
        let some = &names[..names.len().min(3)];
        format!(
            "{what}: {found} of {} with {functions:?}: {some:?}",
            all.len()
        )
    })
}

/// Outside of calls, where pages are read from the disk and where others take the processor; over a frame of hundreds of
/// kilobytes; from a signal's stack to that of the thread: each in the first thread and in another.
#[test]
fn where_they_are_hard_to_come_by() {
    attempts(|| {
        let folder = Folder::new("outside");
        let path = program("outside");
        let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
        // A page may be there sooner than a wait is long.
        let options = ["-q", "--threshold", "5us"];
        let recorded = Recorded::run(&folder.join("r.timesink"), &options, &command, 0);
        let chains = recorded.chains();
        let threads = recorded.rows::<Thread>();
        let own = threads[0].process;
        let own = threads.iter().filter(|t| t.process == own);
        let (waits, delays) = (recorded.rows::<Wait>(), recorded.rows::<Delay>());
        let mut problems = Vec::new();
        for (thread, name) in own.zip(["main", "thread_main"]) {
            let chain = |stack: Option<StackId>| stack.and_then(|stack| chains.get(&stack));
            let waited = |detail| {
                let own = waits
                    .iter()
                    .filter(move |w| w.thread == thread.thread && w.detail == detail);
                own.map(|w| chain(w.stack))
            };
            let preempted = delays
                .iter()
                .filter(|d| d.thread == thread.thread && d.detail == Detail::Preempted)
                .filter(|d| d.t1.since(d.t0) >= 1_000_000)
                .map(|d| chain(d.stack));
            let expected = ["in_fault", "outer", name];
            problems.extend(enough("fault", waited(Detail::PageFault), &expected, 10));
            let expected = ["in_crowd", "outer", name];
            problems.extend(enough("crowd", preempted, &expected, 10));
            let slept: Vec<_> = waited(Detail::Sleep).collect();
            for expected in [
                &["in_wide", "wide", "outer", name][..],
                &["in_signal", "outer", name],
            ] {
                let of = slept
                    .iter()
                    .filter(|c| c.is_some_and(|c| c.has(&expected[..1])));
                problems.extend(enough("sleep", of.copied(), expected, 1));
            }
        }
        none_of(&problems)
    });
}

/// Who asks for the time does so in the kernel's library, which is in no file: its functions have names, too, and what
/// called them is whole.
#[test]
fn in_the_kernels_library() {
    attempts(|| {
        let folder = Folder::new("clock");
        let path = program("clock");
        let command = [path.to_str().unwrap()];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = recorded.chains();
        let samples = recorded.rows::<Sample>();
        let of = samples.iter().map(|s| chains.get(&s.stack?));
        let in_it = of.filter(|c| c.is_some_and(|c| c.has(&["__vdso_clock_gettime"])));
        // Between them is the C library's function, which has other names where its debug file is installed.
        let few = enough("the time", in_it, &["clock_ns", "now", "asks", "main"], 50);
        none_of(&few.into_iter().collect::<Vec<_>>())
    });
}

/// `report --tree --state ready` shows where a thread was that others kept from running.
#[test]
fn of_time_ready() {
    attempts(|| {
        let folder = Folder::new("crowded");
        let path = program("outside");
        let place = folder.join("r.timesink");
        let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
        Recorded::run(&place, &["-q"], &command, 0);
        let mut report = Command::new(timesink());
        report
            .arg("report")
            .arg(&place)
            .args(["--tree", "--state", "ready"]);
        let tree = output(&mut report).exits(0).text();
        match tree.contains("in_crowd") {
            true => Ok(()),
            false => Err(tree),
        }
    });
}

/// The samples of a thread weigh what it ran: no time on a processor is left out or told twice.
#[test]
fn samples_weigh_what_threads_ran() {
    let folder = Folder::new("weights");
    let path = program("stacks");
    let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let samples = recorded.rows::<Sample>();
    for thread in recorded.rows::<Thread>() {
        let weights: Vec<u64> = samples
            .iter()
            .filter(|s| s.thread == thread.thread)
            .filter_map(|s| s.weight_ns)
            .collect();
        let sum: u64 = weights.iter().sum();
        assert!(
            weights.is_empty() || sum.abs_diff(thread.cpu_ns) < 1_000 + thread.cpu_ns / 1000,
            "{sum} of {} ns",
            thread.cpu_ns
        );
    }
}

/// How many percent of all stacks of this command reach the place where their thread began. The wait for the program to
/// be let go is timesink's, and never does.
fn complete_pct(name: &str, command: &[&str]) -> f64 {
    let folder = Folder::new(name);
    let within = folder.path().to_str().unwrap();
    let command: Vec<String> = command.iter().map(|a| a.replace("{}", within)).collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let stacks = &recorded.json["stacks"];
    let waits = recorded.rows::<Wait>();
    let held = waits.iter().filter(|wait| wait.t0 == Nanos(0));
    let held = held.filter(|wait| wait.stack.is_some()).count() as i64;
    let (taken, complete) = (number(stacks, "taken") - held, number(stacks, "complete"));
    assert!(
        taken >= 30,
        "{taken} stacks of {name} are too few to judge by"
    );
    complete as f64 * 100.0 / taken as f64
}

fn is_whole(name: &str, command: &[&str], percent: f64) {
    attempts(|| match complete_pct(name, command) {
        share if share >= percent => Ok(()),
        share => Err(format!("{share:.1} % of the stacks are complete")),
    });
}

/// A database that flushes for each row.
#[test]
fn whole_in_a_database() {
    let script = "(echo 'create table t(a);'; for i in $(seq 300); do echo \"insert into t values($i);\"; done) | sqlite3 {}/t.db";
    is_whole("whole-sqlite", &["sh", "-c", script], 98.0);
}

/// A flush waits several times, now for longer than expected and now not. A wait that was expected to be short is owed
/// its stack as the call returns, also where one of the same call that followed has got its own: one in ten had none.
#[test]
fn each_wait_of_a_call_has_its_stack() {
    attempts(|| {
        let folder = Folder::new("whole-flushes");
        let path = folder.join("t.db");
        let script = format!(
            "(echo 'create table t(a);'; for i in $(seq 600); do echo \"insert into t values($i);\"; done) | sqlite3 {}",
            path.display()
        );
        let command = ["sh", "-c", &script];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = recorded.chains();
        let waits = recorded.rows::<Wait>();
        let flushes = waits.iter().filter(|wait| wait.detail == Detail::Flush);
        let stacks: Vec<_> = flushes.map(|wait| chains.get(&wait.stack?)).collect();
        let whole = stacks.iter().flatten().filter(|chain| chain.complete);
        match (whole.count(), stacks.len()) {
            (_, 0..20) => Err(format!("only {} flushes were waited for", stacks.len())),
            (whole, all) if whole == all => Ok(()),
            (whole, all) => Err(format!("{whole} of {all} waits have a whole stack")),
        }
    });
}

/// Where in the kernel a thread sleeps is told with the first of its waits in a call, not with each: those that follow have it all the
/// same, and that of their own call.
#[test]
fn waits_in_a_row_are_where_the_kernel_sleeps() {
    attempts(|| {
        let folder = Folder::new("places");
        let script = "import select, time
nothing = select.poll()
for _ in range(3):
    for _ in range(40): time.sleep(0.0005)
    for _ in range(40): nothing.poll(1)";
        let recorded = Recorded::run(
            &folder.join("r.timesink"),
            &["-q"],
            &["python3", "-c", script],
            0,
        );
        let chains = recorded.chains();
        let waits = recorded.rows::<Wait>();
        let mut problems = Vec::new();
        for (call, function) in [
            ("clock_nanosleep", "hrtimer_nanosleep"),
            ("poll", "do_sys_poll"),
        ] {
            let waits = waits.iter().filter(|wait| wait.call == call);
            let stacks: Vec<_> = waits.filter_map(|wait| chains.get(&wait.stack?)).collect();
            let in_kernel = |chain: &&&Chain| {
                let mut functions = chain.functions().into_iter();
                functions.any(|name| name.starts_with(function))
            };
            let there = stacks.iter().filter(in_kernel).count();
            if there < 100 || there < stacks.len() {
                let other = stacks.iter().find(|chain| !in_kernel(chain));
                let other = other.map(|chain| chain.functions());
                problems.push(format!(
                    "{there} of {} in {function}: {other:?}",
                    stacks.len()
                ));
            }
        }
        none_of(&problems)
    });
}

/// A program with several threads.
#[test]
fn whole_in_sort() {
    let script = "seq 2000000 | sort --parallel=2 -rn > {}/sorted";
    is_whole("whole-sort", &["sh", "-c", script], 98.0);
}

/// A shell whose children live for a millisecond.
#[test]
fn whole_in_short_children() {
    let script = "for i in $(seq 300); do /bin/true; done";
    is_whole("whole-forks", &["bash", "-c", script], 95.0);
}

/// A compiler with its passes, each a process.
#[test]
fn whole_in_a_compiler() {
    let script = "printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return puts(\"x\") < 0; }\n' > {}/a.c && for i in 1 2 3; do gcc -O2 -o {}/a {}/a.c; done";
    is_whole("whole-gcc", &["sh", "-c", script], 95.0);
}

/// rustc, which has half a megabyte of variables in one function near the beginning of its stacks.
#[test]
fn whole_in_rustc() {
    let script = "echo 'fn main() { println!(\"{:?}\", (0..9).map(|n| n.to_string()).collect::<Vec<_>>()); }' > {}/a.rs && for i in 1 2; do rustc -o {}/a {}/a.rs; done";
    is_whole("whole-rustc", &["sh", "-c", script], 95.0);
}

/// A copy of the program of known functions, changed by a command, and recorded.
fn changed(name: &str, change: &[&str], run: &str) -> (Folder, Recorded) {
    let folder = Folder::new(name);
    let copy = folder.join("copy");
    std::fs::copy(program("stacks"), &copy).expect("a copy");
    if let [tool, options @ ..] = change {
        output(Command::new(tool).args(options).arg(&copy)).exits(0);
    }
    let within = folder.path().to_str().unwrap().to_string();
    let script = run.replace("{}", &within);
    let recorded = Recorded::run(
        &folder.join("r.timesink"),
        &["-q"],
        &["sh", "-c", &script],
        0,
    );
    (folder, recorded)
}

/// The module that the copy became.
fn copy_in(recorded: &Recorded) -> Module {
    let modules = recorded.rows::<Module>();
    let copy = modules.into_iter().find(|m| {
        Path::new(&m.path)
            .file_name()
            .is_some_and(|name| name == "copy")
    });
    copy.expect("the copy is a module")
}

/// A stripped program unwinds all the same; its frames have module and offset, and are counted.
#[test]
fn of_a_stripped_program() {
    let (_folder, recorded) = changed("stripped", &["strip"], "{}/copy {}");
    let module = copy_in(&recorded);
    assert_eq!(module.symbols, SymbolSource::None);
    assert!(module.build_id.len() >= 16, "{:?}", module.build_id);
    let frames = recorded.rows::<Frame>();
    let own: Vec<_> = frames
        .iter()
        .filter(|f| f.module == Some(module.module))
        .collect();
    assert!(own.len() > 10, "{} frames", own.len());
    assert!(own.iter().all(|f| f.function.is_empty() && f.offset > 0));
    let stacks = &recorded.json["stacks"];
    assert!(
        number(stacks, "nameless_frames") >= own.len() as i64,
        "{stacks}"
    );
    let (taken, complete) = (number(stacks, "taken"), number(stacks, "complete"));
    assert!(complete * 100 >= taken * 95, "{stacks}");
}

/// A program that is deleted as it runs, and replaced by another: it is unwound by what it was, and not
/// named by what it is now. Without a build id, which would tell the two apart.
#[test]
fn of_a_replaced_program() {
    let change = ["objcopy", "--remove-section=.note.gnu.build-id"];
    let run = "{}/copy {} & sleep 0.1; rm {}/copy; cp /bin/true {}/copy; wait $!";
    let (_folder, recorded) = changed("replaced", &change, run);
    let module = copy_in(&recorded);
    assert_eq!(module.symbols, SymbolSource::None, "{module:?}");
    let stacks = &recorded.json["stacks"];
    let (taken, complete) = (number(stacks, "taken"), number(stacks, "complete"));
    assert!(complete * 100 >= taken * 95, "{stacks}");
}

/// A recursion 100,000 deep: the stack is cut, what is there is right, and it is not called whole.
#[test]
fn of_a_deep_recursion() {
    let folder = Folder::new("deep");
    let path = program("deep");
    let command = [
        "sh",
        "-c",
        "ulimit -s unlimited; exec $0",
        path.to_str().unwrap(),
    ];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let chains = recorded.chains();
    let waits = recorded.rows::<Wait>();
    let sleeps: Vec<_> = waits
        .iter()
        .filter(|w| w.detail == Detail::Sleep)
        .filter_map(|w| chains.get(&w.stack?))
        .collect();
    assert!(sleeps.len() >= 30, "{} sleeps", sleeps.len());
    for chain in sleeps {
        let functions = chain.functions();
        assert!(!chain.complete, "called whole: {functions:?}");
        let depth = functions.iter().filter(|f| **f == "down").count();
        assert!(depth >= 100, "{depth} frames");
    }
    let stacks = &recorded.json["stacks"];
    assert!(
        number(stacks, "complete") < number(stacks, "taken"),
        "{stacks}"
    );
}

/// Until the program is executed it is timesink that runs in its process: of that no functions are told, and timesink's
/// own file is not read for their names. The wait for the program to be let go is one, and has only its kernel side.
#[test]
fn of_the_program_only() {
    let folder = Folder::new("stacks-held");
    // It takes no longer than the default threshold by much: each wait is to be kept.
    let options = ["-q", "--threshold", "1us"];
    let recorded = Recorded::run(&folder.join("r.timesink"), &options, &["true"], 0);
    let modules = recorded.rows::<Module>();
    let paths: Vec<&str> = modules.iter().map(|module| module.path.as_str()).collect();
    let own = paths.iter().any(|path| path.ends_with("/timesink"));
    assert!(!own, "timesink's own file is among {paths:?}");
    let waits = recorded.rows::<Wait>();
    let held = waits
        .iter()
        .any(|wait| wait.detail == Detail::PipeRead && wait.stack.is_some());
    let spans = recorded.rows::<Span>();
    assert!(
        held,
        "the wait for the start has no stack: {waits:?}, {spans:?}"
    );
}
