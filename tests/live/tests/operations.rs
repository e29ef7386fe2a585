//! Operations of servers whose slow requests are known by construction, and loops whose rounds are. That the path of
//! each operation tiles its time is checked on every recording that any of these tests makes.

use std::process::Command;

use serde_json::Value;
use timesink_live::{
    attempts, none_of, ns, number, output, program, text, timesink, Folder, Recorded,
};

const REQUESTS: i64 = 200;
/// Each tenth request sleeps so long.
const SLOW_NS: f64 = 20e6;

fn served(folder: &Folder, mode: &str) -> Recorded {
    let server = program("server");
    let server = server.to_str().expect("a path in UTF-8");
    let command = [server, mode, &REQUESTS.to_string()];
    Recorded::run(&folder.join("s.timesink"), &[], &command, 0)
}

/// The only set of operations that a server did; its clients' view of them stands beside it.
fn only(recorded: &Recorded) -> Result<&Value, String> {
    let operations = recorded.list("operations").iter();
    let served: Vec<&Value> = operations.filter(|set| set["kind"] != "asked").collect();
    match served.as_slice() {
        [one] => Ok(one),
        several => Err(format!("not one set of operations, but {several:?}")),
    }
}

/// What is wrong with what is said of slow requests: they sleep, and the others do not.
fn faults(set: &Value, slow: i64, problems: &mut Vec<String>) {
    let mut must = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    must(
        ns(set, "max_ns") >= SLOW_NS,
        format!("the slowest is not slow: {set}"),
    );
    must(
        ns(set, "p50_ns") < SLOW_NS / 4.0,
        format!("the one in the middle is slow: {set}"),
    );
    let slowest = &set["slowest"]["causes"][0];
    must(
        slowest["detail"] == "sleep",
        format!("the slowest does not sleep: {slowest}"),
    );
    let unlike = &set["unlike"];
    if unlike.is_null() {
        return must(false, format!("nothing is said of slow ones: {set}"));
    }
    // A busy machine makes some others slow too; those that sleep are all among them.
    let found = number(unlike, "slow");
    must(
        found >= slow,
        format!("{found} slow ones instead of {slow}"),
    );
    let first = &unlike["causes"][0];
    let frames: Vec<&str> = first["frames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    must(
        first["detail"] == "sleep",
        format!("not for the sleep, but {first}"),
    );
    must(
        frames.contains(&"slow_request"),
        format!("not in slow_request, but {frames:?}"),
    );
    must(
        first["slow_share"]
            .as_f64()
            .map(|share| (share * found as f64).round())
            == Some(slow as f64),
        format!("not {slow} of {found} sleep: {first}"),
    );
    must(
        first["others_share"] == 0.0,
        format!("others sleep too: {first}"),
    );
}

/// Requests on one connection are told one by one, and those that sleep are the slow ones.
#[test]
fn requests_on_one_connection() {
    attempts(|| {
        let folder = Folder::new("operations");
        let recorded = served(&folder, "one");
        let (mut problems, set) = (Vec::new(), only(&recorded)?);
        // One that was there already when the one before was answered is part of that.
        if !(REQUESTS - 5..=REQUESTS).contains(&number(set, "count")) {
            problems.push(format!("{} operations", number(set, "count")));
        }
        assert_eq!(
            (text(set, "kind"), number(set, "connections")),
            ("request", 1)
        );
        assert_eq!(set["sends"], REQUESTS);
        faults(set, REQUESTS / 10, &mut problems);
        none_of(&problems)
    });
}

/// A connection and a thread for each request: each thread is one operation.
#[test]
fn a_thread_for_each_request() {
    attempts(|| {
        let folder = Folder::new("operations");
        let recorded = served(&folder, "threads");
        let (mut problems, set) = (Vec::new(), only(&recorded)?);
        if !(REQUESTS - 5..=REQUESTS + 5).contains(&number(set, "count")) {
            problems.push(format!("{} operations", number(set, "count")));
        }
        assert_eq!(
            (text(set, "kind"), number(set, "connections")),
            ("request", REQUESTS)
        );
        faults(set, REQUESTS / 10, &mut problems);
        none_of(&problems)
    });
}

/// A loop over two connections has rounds, which hold one or two requests.
#[test]
fn rounds_of_a_loop() {
    attempts(|| {
        let folder = Folder::new("operations");
        let recorded = served(&folder, "loop");
        let (mut problems, set) = (Vec::new(), only(&recorded)?);
        if !(REQUESTS / 2..=REQUESTS + 2).contains(&number(set, "count")) {
            problems.push(format!("{} operations", number(set, "count")));
        }
        assert_eq!(
            (text(set, "kind"), number(set, "connections")),
            ("round", 2)
        );
        faults(set, REQUESTS / 10, &mut problems);
        none_of(&problems)
    });
}

/// The report names operations by itself and tells them in full when asked; what is not there is an error that says
/// what is.
#[test]
fn operations_on_the_command_line() {
    let folder = Folder::new("operations");
    let recorded = served(&folder, "one");
    let report = |arguments: &[&str], code: i32| {
        let mut command = Command::new(timesink());
        command.arg("report").arg(&recorded.path).args(arguments);
        output(&mut command).exits(code)
    };
    let page = report(&["--full"], 0).text();
    assert!(page.contains("requests handled by server("), "{page}");
    let page = report(&["--op", "auto"], 0).text();
    for wanted in [
        "THE ONE IN THE MIDDLE",
        "THE SLOWEST",
        "HOW SLOW ONES DIFFER",
        "slow_request",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let page = report(&["--op", "recv..send"], 0).text();
    assert!(
        page.matches("THE SLOWEST").count() == 1,
        "server and client run the same program: {page}"
    );
    let page = report(&["--op", "clock_nanosleep..sleep"], 0).text();
    assert!(page.contains("OPERATIONS"), "{page}");
    let refused = report(&["--op", "flush..flush"], 1).err;
    assert!(
        refused.contains("network receive ("),
        "it does not say what is there: {refused}"
    );
    let refused = report(&["--op", "everything"], 1).err;
    assert!(
        refused.contains("recv..send"),
        "it does not say what to ask: {refused}"
    );
}

/// Rounds of a shell script are counted, with the time of one.
#[test]
fn rounds_of_a_script() {
    attempts(|| {
        let folder = Folder::new("operations");
        let script = "i=0; while [ $i -lt 30 ]; do sleep 0.02; i=$((i+1)); done";
        let recorded = Recorded::run(&folder.join("l.timesink"), &[], &["sh", "-c", script], 0);
        let main = &recorded.json["main_thread"];
        let mut loops = recorded.list("loops").iter();
        let Some(found) = loops.find(|found| &found["thread"] == main) else {
            return Err(format!("no loop: {}", recorded.json["loops"]));
        };
        let mut problems = Vec::new();
        if !(25..=30).contains(&number(found, "rounds")) {
            problems.push(format!("not 30 rounds: {found}"));
        }
        if !(0.02e9..0.06e9).contains(&ns(found, "median_ns")) {
            problems.push(format!("not 0.02 s and the start of a process: {found}"));
        }
        none_of(&problems)
    });
}
