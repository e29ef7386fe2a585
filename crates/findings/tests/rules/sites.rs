//! What the stacks of calls tell of a finding: where it is, and how much goes with the calls.

use timesink_findings::rule::Limits;
use timesink_recording::notation::recording;

use crate::cases::case;
use crate::drawn::{findings_of, seen_of, told_of_text};

/// The least, the likely and the most of the first finding's gain, in milliseconds.
fn gain(case: &str) -> [i64; 3] {
    let findings = findings_of(&recording(case), &Limits::default());
    let gain = findings.told.first().expect("a finding").gain;
    [gain.lo_ns, gain.ns, gain.hi_ns].map(|ns| ns / 1_000_000)
}

/// Whom the calls of a load have in common is told, and goes with all that it does, though no sample hit a call.
#[test]
fn a_load_is_the_function_around_its_calls() {
    let text = case("file-read-again.fires-call-sites");
    let seen = seen_of(&recording(&text)).remove(0);
    assert_eq!(seen.lines[0].0, "load_zones");
    let [least, likely, most] = gain(&text);
    // 600 ms, less one of 300 loads.
    assert!(
        least <= 598 && likely >= 550 && most >= 598,
        "{least} {likely} {most}"
    );
    // Without the stacks of the calls nobody knows what goes with the file.
    let without = text.lines().filter(|line| !line.starts_with("site "));
    let without: Vec<&str> = without.collect();
    let told = told_of_text(&without.join("\n"));
    let mut loads = told.iter().filter(|(rule, _)| *rule == "file-read-again");
    assert!(loads.all(|(_, ms)| *ms < 100), "{told:?}");
}

/// A function that reads a table and connects to a peer was taken away as a whole, with the connections (Perl's IO::Socket::IP,
/// which asks for the number of a protocol each time).
#[test]
fn what_a_loader_does_with_others_is_not_for_the_file() {
    let text = case("file-read-again.fires-call-sites");
    let sample =
        "sample 1.1 {100n+50}ms weight 60ms stack \"main;local_time;load_zones;parse_line\"";
    let (parsing, asking) = (
        sample.replace("60ms", "20ms"),
        sample.replace("{100n+50}ms weight 60ms", "{100n+80}ms weight 40ms"),
    );
    let asking = asking.replace("parse_line", "ask_server;connect");
    let mut text = text.replace(sample, &format!("{parsing}\n{asking}"));
    text.push_str("object server \"tcp socket\" remote 10.0.0.1:80\n");
    text.push_str("call 1.1 connect server count 300 ns 300ms\n");
    text.push_str("site 1.1 connect server occurrence 256 at 906ms stack \"main;local_time;load_zones;ask_server;connect\"\n");
    let told = told_of_text(&text);
    let load = told.iter().find(|(rule, _)| *rule == "file-read-again");
    let (_, saved_ms) = load.expect("the load is told");
    assert!((150..=210).contains(saved_ms), "{told:?}");
}

/// The same calls, seen at other occurrences and in another order, tell the same.
#[test]
fn which_occurrences_were_seen_does_not_matter() {
    let text = case("file-read-again.fires-call-sites");
    let fewer = text.replace("occurrence 256", "occurrence 128");
    let mut lines: Vec<&str> = fewer.lines().collect();
    let sites = lines
        .iter()
        .position(|line| line.starts_with("site "))
        .expect("sites");
    lines[sites..].reverse();
    assert_eq!(gain(&text), gain(&lines.join("\n")));
}

/// A log and its lock are one finding, which takes away what opening and closing both of them does, and not the rest.
#[test]
fn a_lock_file_goes_with_its_log() {
    let text = case("open-per-record.fires-lock-file");
    let told = told_of_text(&text);
    assert_eq!(
        told.iter()
            .filter(|(rule, _)| *rule == "open-per-record")
            .count(),
        1,
        "{told:?}"
    );
    let [least, likely, most] = gain(&text);
    assert!(least <= 60, "the calls alone: {least}");
    assert!(
        (560..=640).contains(&likely),
        "the functions that do it: {likely}"
    );
    assert!(most >= 600, "{most}");
}

/// A flush of a Go program is placed in the program, not in what came with its language.
#[test]
fn a_place_is_not_of_the_language() {
    let go = "runtime.main;main.main;main.load;go.etcd.io/bbolt.(*Tx).Commit;syscall.Fdatasync;syscall.Syscall";
    let text = case("flush-per-record.fires").replace("_start;main;load_file;insert_row", go);
    let seen = seen_of(&recording(&text)).remove(0);
    assert_eq!(seen.lines[0].0, "go.etcd.io/bbolt.(*Tx).Commit");
}

/// Requests of an event loop were placed in the line that starts the loop: their stacks have the loop's functions and that line alone.
#[test]
fn a_place_is_not_where_a_loop_was_started() {
    let asyncio = |name: &str, function: &str, file: &str| {
        format!("frame {name} function {function} file /usr/lib/python3.13/asyncio/{file} line 9 language python\n")
    };
    let mut text = String::from(
        "run wall 700ms
         process 1 python3
         thread 1.1 tid 1 python3
         frame consume file /srv/queue.py line 11 language python
         frame module function <module> file /srv/queue.py line 18 language python
         task 1 1 coroutine stack \"consume\"
         object loop epoll \"[eventpoll]\"
         object s \"tcp socket\" remote 10.0.0.1:80\n",
    );
    text += &asyncio("runs", "Runner.run", "runners.py");
    text += &asyncio("once", "BaseEventLoop._run_once", "base_events.py");
    text += &asyncio("handle", "Handle._run", "events.py");
    text += &asyncio("waits", "StreamReader._wait_for_data", "streams.py");
    text += "1.1: cpu 0..10ms\n";
    let wait = "| cpu +100us | wait +3ms poll loop by network call epoll_wait result 1 woken_object s sent_object s";
    text += &format!("{wait} stack \"module;runs;once;handle\"\n").repeat(200);
    text += "| cpu ..700ms\n";
    for n in 0..200 {
        let from = 10_000 + 3_100 * n;
        let (left, until) = (from + 50, from + 3_100);
        let at = "task 1 left waiting at \"consume;waits\"";
        text += &format!("turn 1.1 {from}us..{left}us {at}\nturn 1.1 {left}us..{until}us\n");
    }
    text += "call 1.1 connect s count 1\ncall 1.1 sendto s count 200 bytes 2000\n";
    text +=
        "call 1.1 recvfrom s count 200 bytes 2000\ncall 1.1 epoll_wait loop count 200 ns 600ms\n";
    let told = told_of_text(&text);
    assert_eq!(told[0].0, "round-trips", "{told:?}");
    let seen = seen_of(&recording(&text)).remove(0);
    assert_eq!(seen.lines[0].0, "consume");
}

/// Two programs that a script starts in two places were both told in the place of the first: where it waits for children at all.
#[test]
fn what_is_started_is_seen_where_it_is_started() {
    let mut text = String::from(
        "run wall 800ms
         process 1 bash executable /usr/bin/bash
         thread 1.1 tid 1 bash
         frame first function first module /srv/x.sh language shell file /srv/x.sh line 5
         frame second function second module /srv/x.sh language shell file /srv/x.sh line 9\n",
    );
    for n in 2..62 {
        let program = if n < 32 { "awk" } else { "cut" };
        text += &format!("process {n} {program} parent 1 executable /usr/bin/{program}\n");
        text += &format!("thread {n}.{n} tid {n} {program} parent 1.1\n");
    }
    text += "1.1: cpu 0..1ms\n";
    for n in 2..62 {
        let place = if n < 32 { "first" } else { "second" };
        text += &format!(
            " | cpu +1ms | wait +10ms child c{n} by {n}.{n} call wait4 stack \"{place};waitpid\"\n"
        );
    }
    for n in 2..62 {
        let (from, until) = (2 + (n - 2) * 11, 12 + (n - 2) * 11);
        text += &format!(
            "{n}.{n}: cpu {from}ms..{until}ms
             image {n} fork {from}ms by 1.1 cost 60us
             image {n} exec {from}ms cost 300us executable /usr/bin/x
             sample {n}.{n} {until}ms weight 9ms stack \"__x64_sys_execve\"
             image {n} exit {until}ms cost 1ms\n"
        );
    }
    let text = text.replace(" executable /usr/bin/x\n", "\n");
    let seen = seen_of(&recording(&text));
    let lines: Vec<Option<u32>> = seen.iter().map(|seen| seen.lines[0].1).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines.contains(&Some(5)) && lines.contains(&Some(9)),
        "{lines:?}"
    );
}

/// A program that sleeps, started by a shell without a script: told was no place at all, where the one who starts the shell is what can be
/// changed.
#[test]
fn what_a_shell_starts_is_seen_where_the_shell_is_started() {
    let mut text = String::from(
        "run wall 700ms
         process 1 php executable /usr/bin/php
         thread 1.1 tid 1 php
         frame convert function convert module /srv/x.php language php file /srv/x.php line 5\n",
    );
    for n in 2..12 {
        let m = n + 20;
        text += &format!("process {n} sh parent 1 executable /usr/bin/dash\n");
        text += &format!("thread {n}.{n} tid {n} sh parent 1.1\n");
        text += &format!("process {m} sleep parent {n} executable /usr/bin/sleep\n");
        text += &format!("thread {m}.{m} tid {m} sleep parent {n}.{n}\n");
    }
    text += "1.1: cpu 0..1ms\n";
    for n in 2..12 {
        text += &format!(
            " | cpu +1ms | wait +60ms pipe read p{n} by {n}.{n} call read stack \"convert;read\"\n"
        );
    }
    for n in 2..12 {
        let (m, from) = (n + 20, 2 + (n - 2) * 61);
        text += &format!(
            "{n}.{n}: cpu {from}ms..{}ms | wait +57ms child c{n} by {m}.{m} call wait4 | cpu +1ms
             {m}.{m}: cpu {}ms..{}ms | wait +52ms sleep by timer call clock_nanosleep asked 52ms expired | cpu +1ms
             image {n} fork {from}ms by 1.1 cost 60us
             image {m} fork {}ms by {n}.{n} cost 60us\n",
            from + 2,
            from + 2,
            from + 6,
            from + 2,
        );
    }
    let recording = recording(&text);
    let seen = seen_of(&recording);
    assert_eq!(seen.first().map(|seen| seen.lines[0].1), Some(Some(5)));
}

/// A module of the language reads a file as a whole, and gives it to the function that makes something of it: that one goes with each
/// load (a fixture of pytest which loads a catalogue for each test was to save the reading alone, a tenth of it). Where it was never left
/// in between, it may well be the one that loads in a loop.
#[test]
fn what_a_library_reads_is_made_something_of_by_its_caller() {
    let text = |left: &str| {
        let mut text = String::from(
            "run wall 1s\nprocess 1 tests\nthread 1.1 tid 1 tests\n\
             frame read_text function Path.read_text module /usr/lib/python3.11/pathlib.py file /usr/lib/python3.11/pathlib.py language python\n\
             frame session function session module /srv/run.py file /srv/run.py language python\n\
             frame load function load module /srv/tests.py file /srv/tests.py language python\n\
             frame check function check module /srv/tests.py file /srv/tests.py language python\n\
             object catalogue file /srv/catalogue.json size 300000\n\n1.1: cpu 0..1s\n\
             call 1.1 openat catalogue count 30 ns 1ms\n\
             call 1.1 read catalogue count 60 ns 30ms bytes 9000000\n\
             call 1.1 close catalogue count 30 ns 1ms\n",
        );
        for call in ["openat", "read", "close"] {
            let stack = "session;load;read_text;open";
            text +=
                &format!("site 1.1 {call} catalogue occurrence 16 at 500ms stack \"{stack}\"\n");
        }
        for n in 0..30 {
            let (read, parsed, checked) = (33 * n + 4, 33 * n + 25, 33 * n + 33);
            text +=
                &format!("sample 1.1 {read}ms weight 4ms stack \"session;load;read_text;read\"\n");
            text += &format!("sample 1.1 {parsed}ms weight 21ms stack \"session;load\"\n");
            text += &format!("sample 1.1 {checked}ms weight 8ms stack \"{left}\"\n");
        }
        text
    };
    let [_, likely, _] = gain(&text("session;check"));
    assert!((650..=780).contains(&likely), "{likely}");
    let told = told_of_text(&text("session;load;check"));
    let loads = told.iter().find(|(rule, _)| *rule == "file-read-again");
    assert!(
        loads.is_none_or(|(_, saved_ms)| *saved_ms <= 150),
        "{told:?}"
    );
}

/// Forty runs of grep over the same list: of what each does with the list half, perhaps, is done once for all; the reading alone is a tenth
/// of it.
#[test]
fn who_reads_nothing_else_works_on_that() {
    let text = case("file-read-again.fires-by-greps");
    let load = |text: &str| {
        let findings = findings_of(&recording(text), &Limits::default());
        let mut told = findings.told.iter();
        let load = told.find(|finding| finding.rule.name == "file-read-again");
        load.map(|load| load.gain.ns / 1_000_000)
    };
    assert!((300..=420).contains(&load(&text).expect("the load")));
    // Where most of what is read is something else, that is what the rest is for.
    let others = "object other file other.txt size 90000000\nfor n in 2..41\n\
                  call {n}.{n} read other count 92 ns 1ms bytes 90000000\nend\n";
    let with_others = load(&(text + others));
    assert!(
        with_others.is_none_or(|saved_ms| saved_ms < 100),
        "{with_others:?}"
    );
}
