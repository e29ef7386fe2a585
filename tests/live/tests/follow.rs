//! Servers that timesink did not start: named (`--with`), or met (`--follow`). The programs are `serving.c`'s, whose work
//! is known by construction: 200 ms asleep and 100 ms on a processor a request, in functions of known names.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use timesink_live::{
    attempts, none_of, ns, number, output, program, text, timesink, Folder, Recorded, Running,
};
use timesink_recording::tables::{Process, Span, Thread, Wait};
use timesink_recording::words::Detail;

/// A server that runs until the test is over.
struct Server(Child);

impl Server {
    fn start(kind: &str, place: &str, work: &str) -> Server {
        Server::of(&program("serving"), kind, place, work)
    }

    fn of(program: &Path, kind: &str, place: &str, work: &str) -> Server {
        let mut command = Command::new(program);
        command.args(["server", kind, place, work]);
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server starts");
        let mut said = String::new();
        let out = child.stdout.as_mut().expect("its output");
        BufReader::new(out)
            .read_line(&mut said)
            .expect("it says that it is ready");
        assert_eq!(said, "ready\n");
        Server(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A place to talk at, of this kind.
fn place(folder: &Folder, kind: &str, name: &str) -> String {
    match kind {
        // One that is free now.
        "tcp" => std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port()
            .to_string(),
        _ => folder.join(name).to_str().expect("plain").to_string(),
    }
}

/// The client of these places, recorded.
fn asked(folder: &Folder, options: &[&str], kind: &str, places: &[&str]) -> Recorded {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let client = program("serving");
    let mut command = vec![client.to_str().expect("plain"), "client", kind];
    command.extend(places);
    let options = [&["-q"], options].concat();
    let path = folder.join(&format!("r{number}.timesink"));
    Recorded::run(&path, &options, &command, 0)
}

fn processes(recorded: &Recorded) -> Vec<u32> {
    recorded.rows::<Process>().iter().map(|p| p.pid).collect()
}

/// The time on the path of a state and kind with this function among its innermost, in any process but the client's.
fn on_path(recorded: &Recorded, state: &str, detail: Option<&str>, function: &str) -> f64 {
    let segments = recorded.json["path"]["segments"].as_array();
    let segments = segments.expect("segments of the path").iter();
    let is_it = |segment: &&Value| {
        segment["state"] == state
            && segment["detail"].as_str() == detail
            && number(segment, "process") != 0
            && segment["frames"]
                .as_array()
                .is_some_and(|frames| frames.iter().any(|frame| frame == function))
    };
    segments.filter(is_it).map(|s| ns(s, "ns")).sum()
}

/// What is wrong with the path through a request's work in functions of these names.
fn path_problems(recorded: &Recorded, nap: &str, work: &str) -> Vec<String> {
    let mut problems = recorded.unsound();
    let asleep = on_path(recorded, "wait", Some("sleep"), nap);
    if !(0.199e9..0.25e9).contains(&asleep) {
        problems.push(format!("{asleep} ns asleep in {nap} on the path"));
    }
    let busy = on_path(recorded, "cpu", None, work);
    if !(0.095e9..0.2e9).contains(&busy) {
        problems.push(format!("{busy} ns at work in {work} on the path"));
    }
    let unknown = recorded.json["path"]["unknown_pct"].as_f64();
    if unknown.is_none_or(|unknown| unknown > 1.0) {
        problems.push(format!("{unknown:?} % of the path is not known"));
    }
    let replay = recorded.json["path"]["replay_error_pct"].as_f64();
    if replay.is_none_or(|off| off.abs() > 5.0) {
        problems.push(format!("it replays {replay:?} % off"));
    }
    if !problems.is_empty() {
        problems.push(recorded.json["path"].to_string());
    }
    problems
}

/// The path of a client goes through the server that it asks, whatever they talk over: its sleep and its work are there by
/// function, although it ran before and nobody named it.
#[test]
fn a_server_that_is_asked_comes_in() {
    for kind in ["tcp", "unix", "pipe", "futex"] {
        attempts(|| {
            let folder = Folder::new("follow");
            let place = place(&folder, kind, "server");
            let server = Server::start(kind, &place, "here");
            let recorded = asked(&folder, &["--follow"], kind, &[&place]);
            let mut problems = path_problems(&recorded, "nap_in_server", "work_in_server");
            if !processes(&recorded).contains(&server.pid()) {
                problems.push("the server is not recorded".into());
            }
            none_of(&problems).map_err(|why| format!("{kind}: {why}"))
        });
    }
}

/// One client can wake many that wait for it, at a moment when the kernel has memory for few: all of them come in as they
/// are woken, and so the one that serves it does.
#[test]
fn all_that_wait_for_a_client_come_in_at_once() {
    attempts(|| {
        let folder = Folder::new("follow");
        let place = place(&folder, "tcp", "server");
        let _server = Server::start("tcp", &place, "herd");
        let recorded = asked(&folder, &["--follow"], "tcp", &[&place]);
        let mut problems = path_problems(&recorded, "nap_in_server", "work_in_server");
        let spans = recorded.rows::<Span>();
        let first = |thread: &Thread| spans.iter().find(|span| span.thread == thread.thread);
        let threads = recorded.rows::<Thread>();
        let (client, herd) = threads.split_first().expect("a client");
        let woken = |span: &Span| span.detail == Detail::Poll && span.waker == Some(client.thread);
        let late: Vec<_> = herd
            .iter()
            .filter_map(first)
            .filter(|s| !woken(s))
            .collect();
        if herd.len() != 8 || !late.is_empty() {
            problems.push(format!("of {} these are late: {late:?}", herd.len()));
        }
        none_of(&problems)
    });
}

/// A server that is named is recorded from the beginning, by its number and by its name.
#[test]
fn a_server_that_is_named_is_recorded() {
    for by_name in [true, false] {
        attempts(|| {
            let folder = Folder::new("with");
            let copy = folder.join("answers-for-test");
            std::fs::copy(program("serving"), &copy).expect("a copy");
            let place = place(&folder, "unix", "server");
            let server = Server::of(&copy, "unix", &place, "here");
            let number = server.pid().to_string();
            let name = if by_name { "answers-for-test" } else { &number };
            let recorded = asked(&folder, &["--with", name], "unix", &[&place]);
            let mut problems = path_problems(&recorded, "nap_in_server", "work_in_server");
            let rows = recorded.rows::<Process>();
            let row = rows.iter().find(|row| row.pid == server.pid());
            // It comes in before the program is released, and does not hold up the end.
            let life = ns(&recorded.json["path"], "wall_ns");
            match row {
                Some(row) if row.start.0 < 20_000_000 && row.parent.is_none() => {}
                row => problems.push(format!("not recorded from the beginning: {row:?}")),
            }
            if life > 0.9e9 {
                problems.push(format!("the program's life is {life} ns"));
            }
            none_of(&problems)
        });
    }
}

/// Without the options nobody comes in.
#[test]
fn nobody_comes_in_unasked() {
    let folder = Folder::new("follow");
    let place = place(&folder, "unix", "server");
    let _server = Server::start("unix", &place, "here");
    let recorded = asked(&folder, &[], "unix", &[&place]);
    assert_eq!(processes(&recorded).len(), 1);
}

/// What a server hands to a thread that was there before, or to a child, is on the path as well.
#[test]
fn threads_and_children_come_in_with_their_server() {
    for (work, nap, busy) in [
        ("thread", "nap_in_server", "work_in_server"),
        ("fork", "nap_in_child", "work_in_child"),
    ] {
        for options in [["--follow"].as_slice(), &["--with", "PID"]] {
            attempts(|| {
                let folder = Folder::new("follow");
                let place = place(&folder, "tcp", "server");
                let server = Server::start("tcp", &place, work);
                let number = server.pid().to_string();
                let options: Vec<&str> = options
                    .iter()
                    .map(|&option| if option == "PID" { &number } else { option })
                    .collect();
                let recorded = asked(&folder, &options, "tcp", &[&place]);
                let problems = path_problems(&recorded, nap, busy);
                none_of(&problems).map_err(|why| format!("{work} {options:?}: {why}"))
            });
        }
    }
}

/// A server that looks by itself whether there is work is seen at the latest as it answers; from then on all that it does
/// is known.
#[test]
fn a_server_that_nobody_wakes_comes_in_as_it_answers() {
    attempts(|| {
        let folder = Folder::new("follow");
        // (Who reads from a unix socket wakes the writer.)
        let place = place(&folder, "tcp", "server");
        let server = Server::start("tcp", &place, "polls");
        let recorded = asked(&folder, &["--follow"], "tcp", &[&place, &place]);
        let mut problems = recorded.unsound();
        let rows = recorded.rows::<Process>();
        let row = rows.iter().find(|row| row.pid == server.pid());
        if row.is_none_or(|row| row.start.0 < 290_000_000) {
            problems.push(format!(
                "it comes in with its answer, 0.3 s later, not as {row:?}"
            ));
        }
        let asleep = on_path(&recorded, "wait", Some("sleep"), "nap_in_server");
        if !(0.199e9..0.25e9).contains(&asleep) {
            problems.push(format!("{asleep} ns asleep in the second answer"));
        }
        // The first answer is waited for as it would be without the server: that is known.
        let unknown = recorded.json["path"]["unknown_pct"].as_f64();
        if unknown.is_none_or(|unknown| unknown > 1.0) {
            problems.push(format!("{}", recorded.json["path"]));
        }
        none_of(&problems)
    });
}

/// A server that is asked by one that came in comes in too; another client of theirs does not.
#[test]
fn servers_of_servers_come_in_and_their_other_clients_do_not() {
    for kind in ["tcp", "unix"] {
        attempts(|| {
            let folder = Folder::new("follow");
            let (first, second) = (
                place(&folder, kind, "first"),
                place(&folder, "unix", "second"),
            );
            let behind = Server::start("unix", &second, "here");
            let before = Server::start(kind, &first, &format!("ask={second}"));
            // It is in the queue before the recorded one, and after it.
            let script = format!(
                "while {0} client {kind} {first}; do :; done",
                program("serving").display()
            );
            let other = Running::start(Command::new("sh").args(["-c", &script]));
            let recorded = asked(&folder, &["--follow"], kind, &[&first, &first]);
            other.signal(libc::SIGKILL);
            let mut problems = recorded.unsound();
            let found: HashSet<u32> = processes(&recorded).into_iter().skip(1).collect();
            let expected = HashSet::from([before.pid(), behind.pid()]);
            if found != expected {
                problems.push(format!(
                    "recorded are {found:?} and not {expected:?}, of the servers"
                ));
            }
            // The other client's request is waited for, too.
            let asleep = on_path(&recorded, "wait", Some("sleep"), "nap_in_server");
            if asleep < 0.35e9 {
                problems.push(format!("{asleep} ns asleep: {}", recorded.json["path"]));
            }
            drop((before, behind));
            other.end();
            none_of(&problems)
        });
    }
}

/// A server may end in the midst of a request: its life is in the recording up to there.
#[test]
fn a_server_that_ends_before_it_answers() {
    for kind in ["tcp", "unix"] {
        let folder = Folder::new("follow");
        let place = place(&folder, kind, "server");
        let server = Server::start(kind, &place, "die");
        let recorded = asked(&folder, &["--follow"], kind, &[&place]);
        assert_eq!(recorded.unsound(), Vec::<String>::new());
        let threads = recorded.rows::<Thread>();
        let thread = threads.iter().find(|t| t.tid == server.pid());
        let thread = thread.expect("the server is recorded");
        assert!(!thread.alive_at_end && !thread.end_lost, "{thread:?}");
    }
}

/// Fifty servers come in, each with its own sleep.
#[test]
fn fifty_servers() {
    attempts(|| {
        let folder = Folder::new("follow");
        let places: Vec<String> = (0..50)
            .map(|n| folder.join(&format!("s{n}")))
            .map(|path: PathBuf| path.to_str().expect("plain").to_string())
            .collect();
        let servers: Vec<Server> = places
            .iter()
            .map(|place| Server::start("unix", place, "here"))
            .collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let recorded = asked(&folder, &["--follow"], "unix", &places);
        let mut problems = recorded.unsound();
        let found: HashSet<u32> = processes(&recorded).into_iter().collect();
        let missing = servers.iter().filter(|s| !found.contains(&s.pid())).count();
        if missing > 0 || found.len() != 51 {
            problems.push(format!("{missing} missing, {} recorded", found.len()));
        }
        let chains = recorded.chains();
        let naps = recorded
            .rows::<Wait>()
            .iter()
            .filter(|wait| wait.detail == Detail::Sleep)
            .filter_map(|wait| chains.get(&wait.stack?))
            .filter(|chain| chain.has(&["nap_in_server", "serve"]))
            .count();
        if naps != 50 {
            problems.push(format!("{naps} naps by function, not 50"));
        }
        none_of(&problems)
    });
}

/// Who reads what the program prints does not come in, nor does the shell that started all; who writes what it reads does.
#[test]
fn readers_of_the_output_stay_out() {
    let folder = Folder::new("follow");
    let recording = folder.join("r.timesink");
    let script = format!(
        "(sleep 1; echo x; sleep 0.1) | {} run -q --follow -o {} -- sh -c 'cat; cat /dev/zero | head -c 1000000' | \
         (sleep 0.2; cat >/dev/null)",
        timesink().display(),
        recording.display()
    );
    let ran = output(Command::new("sh").args(["-c", &script])).exits(0);
    let recorded = Recorded::open(&recording, ran);
    let rows = recorded.rows::<Process>();
    let outside: Vec<_> = rows.iter().filter(|p| p.parent.is_none()).collect();
    assert_eq!(outside.len(), 2, "the program, and who writes: {outside:?}");
    // The shell that wrote has become its last command.
    assert_eq!(outside[1].executable, "/usr/bin/sleep", "{outside:?}");
}

/// `attach` lets in who is asked by whom it is attached to.
#[test]
fn attached_processes_let_others_in() {
    attempts(|| {
        let folder = Folder::new("follow");
        let place = place(&folder, "unix", "server");
        let server = Server::start("unix", &place, "here");
        let script = format!(
            "while {} client unix {place}; do :; done",
            program("serving").display()
        );
        let client = Running::start(Command::new("sh").args(["-c", &script]));
        let recording = folder.join("r.timesink");
        let mut attach = Command::new(timesink());
        attach
            .args(["attach", "-q", "--follow", "--for", "1s", "-o"])
            .arg(&recording)
            .arg(client.pid().to_string());
        let ran = output(&mut attach).exits(0);
        client.signal(libc::SIGKILL);
        let recorded = Recorded::open(&recording, ran);
        let mut problems = recorded.unsound();
        if !processes(&recorded).contains(&server.pid()) {
            problems.push("the server is not recorded".into());
        }
        drop(server);
        client.end();
        none_of(&problems)
    });
}

/// Who is named but not there: one sentence, nothing is started, nothing is left behind.
#[test]
fn with_nobody() {
    for name in ["nobody-is-called-so", "4194305"] {
        let folder = Folder::new("nobody");
        let (recording, mark) = (folder.join("a.timesink"), folder.join("mark"));
        let mut run = Command::new(timesink());
        run.args(["run", "--with", name, "-o"])
            .arg(&recording)
            .args(["--", "touch"])
            .arg(&mark);
        let ran = output(&mut run).exits(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains(name), "{}", ran.err);
        assert!(!recording.exists() && !mark.exists());
    }
}

/// No more processes come in than may, and the report says how many did not.
#[test]
fn too_many_servers() {
    const MOST: usize = 256;
    let folder = Folder::new("follow");
    let places: Vec<String> = (0..MOST + 4)
        .map(|n| {
            folder
                .join(&format!("s{n}"))
                .to_str()
                .expect("plain")
                .to_string()
        })
        .collect();
    let servers: Vec<Server> = places
        .iter()
        .map(|place| Server::start("unix", place, "die"))
        .collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    let recorded = asked(&folder, &["--follow"], "unix", &places);
    assert_eq!(processes(&recorded).len(), MOST + 1);
    assert_eq!(
        recorded.json["lost"]["threads"]["count"], 4,
        "{}",
        recorded.json["lost"]
    );
    assert!(text(&recorded.json["lost"]["threads"], "note").contains("--follow"));
    drop(servers);
}
