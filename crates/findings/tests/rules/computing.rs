//! What a busy program is told: where in its code the time divides.

use timesink_analysis::facts::Facts;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_findings::rule::Limits;
use timesink_findings::sentence::Piece;
use timesink_recording::notation::recording;

use crate::cases::case;
use crate::drawn::{findings_of, told_of_text};

/// How the title of a busy program reads whose samples lie in these stacks, with so much of a second each.
fn title(stacks: &[(&str, u32)]) -> String {
    title_with("", stacks)
}

/// The same with these frames described.
fn title_with(frames: &str, stacks: &[(&str, u32)]) -> String {
    let mut text =
        format!("run wall 1s\nprocess 1 verify\nthread 1.1 tid 1 verify\n1.1: cpu 0..1s\n{frames}");
    let mut at = -5;
    for (stack, percent) in stacks {
        for _ in 0..*percent {
            at += 10;
            text += &format!("sample 1.1 {at}ms weight 10ms stack \"{stack}\"\n");
        }
    }
    let recording = recording(&text);
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let code = Stacks::of(&recording, &facts, &Filter::default())
        .expect("its stacks")
        .code;
    let findings = findings_of(&recording, &Limits::default());
    let busy = findings.told.iter().find(|told| told.rule.name == "busy");
    let pieces = busy.expect("it is busy").suspect.title.0.iter();
    let words = pieces.map(|piece| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Function(function) => code.function(*function).name.clone(),
        Piece::Percent(percent) => format!("{percent:.0}%"),
        Piece::Process(_) => "a process".to_owned(),
        other => format!("{other:?}"),
    });
    words.collect()
}

/// The deepest function through which nearly all passes is where somebody would look, and what it goes to from there.
#[test]
fn time_divides_where_it_goes_different_ways() {
    let verify = [
        ("main;verify_all;crc_block", 60),
        ("main;verify_all;read_block", 40),
    ];
    assert_eq!(
        title(&verify),
        "busy on CPU in verify_all: crc_block 60%, read_block 40%"
    );
    let server = [
        ("main;serve;handler;config;parse", 31),
        ("main;serve;handler;pbkdf2", 48),
        ("main;serve;handler", 11),
        ("main;serve;log", 10),
    ];
    assert_eq!(
        title(&server),
        "busy on CPU in handler: pbkdf2 48%, parse in config 31%, itself 11%"
    );
}

/// A function that does all the work itself has no parts.
#[test]
fn one_function_does_it_all() {
    assert_eq!(
        title(&[("main;crc_block", 90), ("main;report", 10)]),
        "busy on CPU in crc_block"
    );
}

/// Where a function calls itself, its time is that of what it does, not of its own depth.
#[test]
fn recursion_is_one_step() {
    let walk = [("main;walk;walk;walk;hash", 50), ("main;walk;stat", 50)];
    assert_eq!(title(&walk), "busy on CPU in walk: hash 50%, stat 50%");
}

/// Small parts, each below the limit, are no words.
#[test]
fn many_small_functions() {
    let stacks: Vec<String> = (0..20).map(|n| format!("main;run;work_{n}")).collect();
    let stacks: Vec<(&str, u32)> = stacks.iter().map(|stack| (stack.as_str(), 5)).collect();
    assert_eq!(title(&stacks), "busy on CPU in run, in many functions");
}

/// In a library that others made, it is said from where the program calls it.
#[test]
fn a_library_is_told_with_its_caller() {
    let frames = "frame decode_block file \"/root/.cargo/registry/src/x/zip-1.0/src/lib.rs\"\n\
        frame inflate file \"/root/.cargo/registry/src/x/zip-1.0/src/lib.rs\"\n";
    let stacks = [("main;load;inflate;decode_block", 95), ("main;draw", 5)];
    assert_eq!(
        title_with(frames, &stacks),
        "busy on CPU in decode_block, called from load"
    );
}

/// What a script's runtime does beside the script is no part of its functions, and a function of Java that ran interpreted
/// and compiled is one.
#[test]
fn a_runtime_beside_its_script() {
    let frames = "frame Main.work language java\nframe Main.load language java\nframe Main.save language java\n";
    let stacks = [
        ("thread_start;Main.work;Main.load", 30),
        ("Main.work;Main.save", 20),
        ("thread_start;VM_Thread::run;collect", 50),
    ];
    assert_eq!(
        title_with(frames, &stacks),
        "busy on CPU in Main.work: Main.load 30%, Main.save 20%"
    );
}

/// A program that is a part of its language: it was told by the interpreter's functions.
#[test]
fn a_program_of_the_standard_library() {
    let frames = "frame <module> file \"/usr/lib/python3.11/pydoc.py\" language python\n\
        frame cli file \"/usr/lib/python3.11/pydoc.py\" language python\n\
        frame page file \"/usr/lib/python3.11/pydoc.py\" language python\n";
    let stacks = [
        ("main;Py_BytesMain;<module>;cli;page", 60),
        ("main;Py_BytesMain;<module>;cli", 30),
        ("main;Py_BytesMain;Py_Initialize", 10),
    ];
    assert_eq!(
        title_with(frames, &stacks),
        "busy on CPU in cli: page 60%, itself 30%"
    );
}

/// Larger pages that may save next to nothing do not stand before where nearly all of the time goes.
#[test]
fn what_may_save_nothing_does_not_stand_first() {
    let text = case("page-fault-storm.fires");
    // The same faults in a tenth of the time, and work beside them.
    let text = text
        .replace("weight 11ms", "weight 1.2ms")
        .replace("weight 4ms", "weight 0.1ms");
    let text = text
        .replace("weight 5ms", "weight 18.7ms")
        .replace("ns 200ms", "ns 5ms");
    let told = told_of_text(&text);
    let rules: Vec<&str> = told.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, ["busy", "page-fault-storm"], "{told:?}");
}

/// A sleep of 6 % was told before 93 % of computing; one that is a tenth stands before it, and so does one that may be all.
#[test]
fn much_work_stands_before_a_little_cause() {
    let told = |ms: u32| {
        let mut text =
            String::from("run wall 1s\nprocess 1 import\nthread 1.1 tid 1 import\n1.1: cpu 0..1ms");
        for _ in 0..20 {
            text += &format!(
                " | cpu +{}ms | wait +{ms}ms sleep by timer call clock_nanosleep asked {ms}ms expired stack \"main;pause_ms\"",
                50 - ms
            );
        }
        text += &format!("\ncall 1.1 clock_nanosleep count 20 ns {}ms", 20 * ms);
        for n in 0..20 {
            text += &format!(
                "\nsample 1.1 {}ms weight {}ms stack \"main;crunch\"",
                50 * n + 10,
                50 - ms
            );
        }
        let told = told_of_text(&text);
        told.iter().map(|(rule, _)| *rule).collect::<Vec<_>>()
    };
    assert_eq!(told(3), ["busy", "fixed-delay"]);
    assert_eq!(told(10), ["fixed-delay", "busy"]);
}

/// Four clients keep a server of two threads busy on two CPUs: half of the path waited for a CPU behind the server's own
/// other thread, and what the server computes was told only from half of the path on; it was said to wait for others.
#[test]
fn a_server_that_fills_the_processors_is_busy_itself() {
    let mut text = String::from(
        "run wall 1s processors 1
         process 1 client
         thread 1.1 tid 1 client
         object s \"tcp socket\" remote 127.0.0.1:80
         process 2 server
         thread 2.1 tid 2 server born_before alive_at_end
         thread 2.2 tid 3 server parent 2.1 born_before alive_at_end
         1.1: ",
    );
    let rounds = |round: &str| vec![round; 50].join(" | ");
    text += &rounds("wait +20ms network receive s by 2.1");
    text += " | cpu ..1s exit\n2.1: ";
    text += &rounds("ready +11ms preempted occupant 2.2 11ms | cpu +9ms");
    text += "\n2.2: ";
    text += &rounds("cpu +11ms | ready +9ms preempted occupant 2.1 9ms");
    for n in 0..50 {
        text += &format!(
            "\nsample 2.1 {}ms weight 9ms stack \"main;serve;encode\"\nsample 2.2 {}ms weight 11ms stack \"main;serve;encode\"",
            20 * n + 15,
            20 * n + 5
        );
    }
    let told = told_of_text(&text);
    let rules: Vec<&str> = told.iter().map(|(rule, _)| *rule).collect();
    assert!(rules.contains(&"busy"), "{told:?}");
    assert!(!rules.contains(&"no-processor"), "{told:?}");
    let place = |rule: &str| rules.iter().position(|told| *told == rule);
    assert!(place("busy") < place("oversubscribed"), "{told:?}");
}

/// `tar` of 20,000 small files was told as busy in a program whose functions have no names: it is its system calls.
#[test]
fn a_program_without_names_is_known_by_its_calls() {
    let mut text = String::from(
        "run wall 1s
         process 1 tar
         thread 1.1 tid 1 tar
         frame do_syscall_64 language kernel
         frame vfs_open language kernel
         1.1: cpu 0..1s
         call 1.1 openat count 20000 ns 300ms
         call 1.1 newfstatat count 48000 ns 300ms
         call 1.1 close count 5 ns 1ms",
    );
    for n in 0..100 {
        let stack = if n % 5 == 0 {
            "_start"
        } else {
            "_start;do_syscall_64;vfs_open"
        };
        text += &format!(
            "\nsample 1.1 {}ms weight 10ms stack \"{stack}\"",
            10 * n + 5
        );
    }
    let findings = findings_of(&recording(&text), &Limits::default());
    let busy = findings.told.iter().find(|told| told.rule.name == "busy");
    let title = format!("{:?}", busy.expect("it is busy").suspect.title);
    let calls = "Percent(80.0), Text(\" of it in the kernel\"), Text(\" (\"), Text(\"\"), Text(\"\"), Count(48000), Text(\" x \"), Name(\"newfstatat\")";
    assert!(title.contains(calls), "{title}");
}

/// What Node.js loads of npm before anything is installed is more than a third of it, in hundreds of functions.
#[test]
fn loading_modules_is_a_part_of_its_own() {
    let module =
        "main;node::LoadEnvironment(node::Environment*);Module._load;main;require;Module._load";
    let stacks = [
        (&*format!("{module};one"), 20),
        (&*format!("{module};two"), 20),
        ("main;uv_run;install;unpack", 60),
    ];
    assert_eq!(
        title(&stacks),
        "busy on CPU in main, 40% of it starting and loading modules: unpack in uv_run 60%, require in node::LoadEnvironment(node::Environment*) 40%"
    );
}
