//! The critical path of programs whose path is known by construction. That it tiles the wall time is checked on
//! every recording that any of these tests makes.

use serde_json::Value;
use timesink_live::{attempts, none_of, ns, text, Folder, Recorded};

fn recorded(script: &str) -> Recorded {
    let folder = Folder::new("path");
    Recorded::run(&folder.join("p.timesink"), &[], &["sh", "-c", script], 0)
}

fn segments(recorded: &Recorded) -> &[Value] {
    recorded.json["path"]["segments"]
        .as_array()
        .expect("segments")
}

/// The longest segment of a state and kind, with the name of its process.
fn longest<'a>(
    recorded: &'a Recorded,
    state: &str,
    detail: Option<&str>,
) -> Option<(&'a str, f64)> {
    let is_it =
        |segment: &&Value| segment["state"] == state && segment["detail"].as_str() == detail;
    let segment = segments(recorded).iter().find(is_it)?;
    let processes = recorded.json["processes"].as_array().expect("processes");
    let process = processes
        .iter()
        .find(|process| process["process"] == segment["process"])?;
    Some((text(process, "name"), ns(segment, "ns")))
}

/// Problems that any of these recordings may have: parts of the path that are not known, a replay that does not come
/// out as it was.
fn doubts(recorded: &Recorded, problems: &mut Vec<String>) {
    let path = &recorded.json["path"];
    let pct = |field: &str| path[field].as_f64().expect("a percentage");
    if pct("unknown_pct") > 2.0 {
        problems.push(format!("{} % of the path is not known", pct("unknown_pct")));
    }
    if pct("replay_error_pct").abs() > 5.0 {
        problems.push(format!("it replays {} % off", pct("replay_error_pct")));
    }
}

/// The shell waits for its child, and what the child waits for is what is on the path; without it there is little left.
#[test]
fn into_a_child_that_sleeps() {
    attempts(|| {
        let mut problems = Vec::new();
        let recorded = recorded("sleep 0.4; true");
        doubts(&recorded, &mut problems);
        match longest(&recorded, "wait", Some("sleep")) {
            Some(("sleep", ns)) if ns >= 0.4e9 => (),
            found => problems.push(format!("not the sleep of 0.4 s in sleep, but {found:?}")),
        }
        let first = &segments(&recorded)[0];
        if first["gain_ns"].as_f64().is_none_or(|gain| gain < 0.39e9) {
            problems.push(format!("too little is saved without it: {first}"));
        }
        none_of(&problems)
    });
}

/// Through a pipe: who reads waits for who writes, and that one works.
#[test]
fn through_a_pipe() {
    attempts(|| {
        let mut problems = Vec::new();
        let recorded = recorded("seq 100000 | sort -R | tail -1 >/dev/null");
        doubts(&recorded, &mut problems);
        match longest(&recorded, "cpu", None) {
            Some(("sort", ns)) if ns > 0.5 * self::ns(&recorded.json["path"], "wall_ns") => (),
            found => problems.push(format!("not mostly sort at work, but {found:?}")),
        }
        none_of(&problems)
    });
}

/// Children side by side: only the longest of them is on the path, and without it the next one is waited for.
#[test]
fn the_longest_of_two_children() {
    attempts(|| {
        let mut problems = Vec::new();
        let recorded = recorded("sleep 0.5 & sleep 0.3 & wait");
        doubts(&recorded, &mut problems);
        let sleeps = segments(&recorded)
            .iter()
            .filter(|s| s["detail"] == "sleep");
        let on_path: f64 = sleeps.map(|segment| ns(segment, "ns")).sum();
        if !(0.5e9..0.6e9).contains(&on_path) {
            problems.push(format!(
                "{on_path} ns of sleep on the path, not those of the longer one"
            ));
        }
        none_of(&problems)
    });
}

/// Over a terminal: two programs that talk through one wait for each other, not for "the terminal".
#[test]
fn over_a_terminal() {
    const TALK: &str = "
import os, pty, time
def work():
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
pid, terminal = pty.fork()
if pid == 0:
    while os.read(0, 100).strip() != b'end':
        work()
        os.write(1, b'done')
    os._exit(0)
for _ in range(15):
    work()
    os.write(terminal, b'do it\\n')
    while b'done' not in os.read(terminal, 100):
        pass
os.write(terminal, b'end\\n')
os.waitpid(pid, 0)
";
    attempts(|| {
        let mut problems = Vec::new();
        let folder = Folder::new("terminal");
        let path = folder.join("t.timesink");
        let recorded = Recorded::run(&path, &[], &["python3", "-c", TALK], 0);
        doubts(&recorded, &mut problems);
        let wall = ns(&recorded.json["path"], "wall_ns");
        if let Some((process, ns)) = longest(&recorded, "wait", Some("terminal")) {
            if ns > 0.1 * wall {
                problems.push(format!(
                    "{process} waits for the terminal for {ns} ns of {wall}"
                ));
            }
        }
        none_of(&problems)
    });
}
