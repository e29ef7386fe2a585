//! Known chains in C++, Rust and Go: a leaf that is called through known functions, on a processor and blocked, in the
//! first thread and in others.

use std::path::Path;

use timesink_live::{
    attempts, build_go, go_tools, none_of, number, program, Chain, Folder, Recorded,
};
use timesink_recording::tables::{Sample, Wait};
use timesink_recording::words::Detail;

/// Whether functions with these words in their names call each other without any between them, the innermost first.
fn calls(chain: &Chain, words: &[&str]) -> bool {
    let functions = chain.functions();
    let mut windows = functions.windows(words.len());
    windows.any(|window| window.iter().zip(words).all(|(is, word)| is.contains(word)))
}

/// What a program does: a kind of wait, or none, and the chain that must be there.
type Part<'a> = (Option<Detail>, &'a [&'a str]);

/// A program with its arguments, recorded; what is wrong with its stacks. Each part must be seen, whole, in stacks that
/// begin in each of these functions.
fn problems(path: &Path, parts: &[Part], began: &[&str]) -> Vec<String> {
    let folder = Folder::new("native");
    let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let mut problems = Vec::new();
    let chains = recorded.chains();
    let (samples, waits) = (recorded.rows::<Sample>(), recorded.rows::<Wait>());
    for (detail, words) in parts {
        let stacks: Vec<_> = match detail {
            Some(detail) => {
                let own = waits.iter().filter(|w| w.detail == *detail);
                own.filter_map(|w| w.stack).collect()
            }
            None => samples.iter().filter_map(|s| s.stack).collect(),
        };
        let found = stacks.iter().filter_map(|stack| chains.get(stack));
        let found: Vec<_> = found.filter(|chain| calls(chain, words)).collect();
        if found.is_empty() {
            problems.push(format!("{words:?} is in no stack"));
        }
        for name in began {
            let begins = |c: &&&Chain| c.complete && c.functions().iter().any(|f| f == name);
            if !found.iter().any(|chain| begins(&chain)) {
                problems.push(format!("no whole stack with {words:?} begins in {name}"));
            }
        }
    }
    let stacks = &recorded.json["stacks"];
    let (taken, complete) = (number(stacks, "taken"), number(stacks, "complete"));
    if complete * 100 < taken * 98 || taken < 100 {
        problems.push(format!("{complete} of {taken} stacks are whole"));
    }
    problems
}

/// Through a template, a virtual function, and a function object.
#[test]
fn of_cpp() {
    attempts(|| {
        let parts: [Part; 5] = [
            (None, &["InCpu::run", "middle<", "known::outer"]),
            (
                Some(Detail::Sleep),
                &["InSleep::run", "middle<", "known::outer"],
            ),
            (
                Some(Detail::UnixReceive),
                &["InSocket::run", "middle<", "known::outer"],
            ),
            (
                Some(Detail::Condition),
                &["InCondition::run", "middle<", "known::outer"],
            ),
            (
                Some(Detail::Flush),
                &["InFlush::run", "middle<", "known::outer"],
            ),
        ];
        let began = ["main", "start_thread"];
        none_of(&problems(&program("stacks-cpp"), &parts, &began))
    });
}

/// Through generics and a trait object.
#[test]
fn of_rust() {
    attempts(|| {
        let parts: [Part; 5] = [
            (
                None,
                &[
                    "InCpu as stacks::Kind>::run",
                    "stacks::middle",
                    "stacks::outer",
                ],
            ),
            (
                Some(Detail::Sleep),
                &[
                    "InSleep as stacks::Kind>::run",
                    "stacks::middle",
                    "stacks::outer",
                ],
            ),
            (
                Some(Detail::UnixReceive),
                &[
                    "InSocket as stacks::Kind>::run",
                    "stacks::middle",
                    "stacks::outer",
                ],
            ),
            (
                Some(Detail::Condition),
                &[
                    "InCondition as stacks::Kind>::run",
                    "stacks::middle",
                    "stacks::outer",
                ],
            ),
            (
                Some(Detail::Flush),
                &[
                    "InFlush as stacks::Kind>::run",
                    "stacks::middle",
                    "stacks::outer",
                ],
            ),
        ];
        let began = ["stacks::main", "stacks::main::{{closure}}"];
        none_of(&problems(&program("stacks-rust"), &parts, &began))
    });
}

/// One file that the kernel puts wherever it likes.
#[test]
fn of_a_static_program() {
    attempts(|| {
        let parts: [Part; 3] = [
            (None, &["in_cpu", "middle", "outer"]),
            (Some(Detail::Sleep), &["in_sleep", "middle", "outer"]),
            (Some(Detail::PipeRead), &["in_pipe", "middle", "outer"]),
        ];
        let began = ["main", "thread_main"];
        none_of(&problems(&program("stacks-static-pie"), &parts, &began))
    });
}

/// The library musl has no tables, so what waits in it has no callers; but what it calls is whole, in the first thread and
/// in others, and nothing in it has a wrong name.
#[test]
fn of_musl() {
    for name in ["stacks-musl", "stacks-musl-static"] {
        attempts(|| {
            let folder = Folder::new("musl");
            let path = program(name);
            let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
            let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
            let chains = recorded.chains();
            let samples = recorded.rows::<Sample>();
            let all: Vec<&Chain> = samples
                .iter()
                .filter_map(|s| chains.get(&s.stack?))
                .collect();
            let mut problems = Vec::new();
            for began in ["main", "thread_main"] {
                let words = ["in_cpu", "middle", "outer", began];
                let count = all.iter().filter(|c| c.complete && c.has(&words)).count();
                if count < 50 {
                    problems.push(format!("{name}: {count} whole samples of {words:?}"));
                }
            }
            let whole = all.iter().filter(|c| c.complete).count();
            if whole * 100 < all.len() * 95 {
                problems.push(format!(
                    "{name}: {whole} of {} samples are whole",
                    all.len()
                ));
            }
            // It calls this, but never waits in it.
            let waits = recorded.rows::<Wait>();
            let mut waits = waits.iter().filter_map(|w| chains.get(&w.stack?));
            if waits.any(|c| c.functions().contains(&"memset")) {
                problems.push(format!("{name}: a wait in memset"));
            }
            none_of(&problems)
        });
    }
}

/// On goroutines' stacks to where they began; what the runtime does for a goroutine on a stack of its own leads back to
/// it; threads of the scheduler are whole, too.
#[test]
fn of_go() {
    for go in go_tools() {
        let folder = Folder::new("go");
        let built = build_go(&go, "stacks.go", &folder, &[]);
        attempts(|| {
            let parts: [Part; 4] = [
                (None, &["main.inCPU", "main.middle", "main.outer"]),
                (
                    Some(Detail::Sleep),
                    &["main.inSleep", "main.middle", "main.outer"],
                ),
                (
                    Some(Detail::PipeRead),
                    &["main.inPipe", "main.middle", "main.outer"],
                ),
                (
                    Some(Detail::Flush),
                    &["main.inFlush", "main.middle", "main.outer"],
                ),
            ];
            let began = ["runtime.main", "main.main.func1"];
            let mut problems = problems(&built, &parts, &began);
            problems.extend(of_its_runtime(&built));
            none_of(&problems).map_err(|e| format!("{}: {e}", go.display()))
        });
    }
}

/// What is wrong with stacks of the collector, which works on a stack of the thread's.
fn of_its_runtime(path: &Path) -> Vec<String> {
    let folder = Folder::new("go-runtime");
    let command = [path.to_str().unwrap(), folder.path().to_str().unwrap()];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let chains = recorded.chains();
    let samples = recorded.rows::<Sample>();
    let own = samples.iter().filter_map(|s| chains.get(&s.stack?));
    let own: Vec<Vec<&str>> = own.map(Chain::functions).collect();
    let place = |chain: &[&str], name: &str| chain.iter().position(|f| *f == name);
    let mut problems = Vec::new();
    for (inner, outer) in [
        // A goroutine of the collector's, and one that has to help it.
        ("runtime.systemstack", "runtime.gcBgMarkWorker"),
        ("runtime.systemstack", "main.grow"),
    ] {
        let leads = |chain: &&Vec<&str>| match (place(chain, inner), place(chain, outer)) {
            (Some(inner), Some(outer)) => inner < outer && chain.last() == Some(&"runtime.goexit"),
            _ => false,
        };
        if !own.iter().any(|chain| leads(&chain)) {
            problems.push(format!("nothing leads from {inner} to {outer}"));
        }
    }
    // Goroutines begin in one place, and threads in few.
    let ends = [
        "runtime.goexit",
        "runtime.mstart",
        "runtime.mcall",
        "runtime.rt0_go",
    ];
    let more = [
        "runtime.morestack",
        "runtime.systemstack",
        "_rt0_amd64_linux",
    ];
    let odd = own.iter().filter(|chain| {
        let outermost = chain.last().copied().unwrap_or_default();
        !ends.contains(&outermost) && !more.contains(&outermost)
    });
    if odd.count() * 50 > own.len() {
        problems.push("more than 2 % begin somewhere else".into());
    }
    problems
}

/// Stripped, and where it may be loaded anywhere: as whole as ever, with the same number of functions in a stack.
#[test]
fn of_other_builds_of_go() {
    for go in go_tools() {
        for options in [&["-ldflags=-s -w"][..], &["-buildmode=pie"]] {
            let folder = Folder::new("go-builds");
            let built = build_go(&go, "stacks.go", &folder, options);
            attempts(|| {
                none_of(&problems(&built, &[], &[])).map_err(|e| format!("{options:?}: {e}"))
            });
        }
    }
}
