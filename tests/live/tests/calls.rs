//! Timing calls adapts to what it costs, and says so.

use timesink_live::{number, root, Folder, Recorded};
use timesink_recording::tables::Object;
use timesink_recording::words::ObjectKind;

/// dd that reads and writes so many single bytes: reads + writes, and a few at its start.
fn dd(folder: &Folder, options: &[&str], count: i64) -> Recorded {
    let count = format!("count={count}");
    let command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", &count];
    let mut all = vec!["-q"];
    all.extend(options);
    Recorded::run(&folder.join("dd.timesink"), &all, &command, 0)
}

/// Count of a call of dd on a device, and whether it is an estimate.
fn count(recorded: &Recorded, call: &str, device: &str) -> (i64, bool) {
    let found = recorded
        .list("calls")
        .iter()
        .find(|c| c["call"] == call && c["object"] == device);
    let found = found.unwrap_or_else(|| panic!("no {call} of {device}"));
    (number(found, "count"), found["estimated"] == true)
}

/// A program that does nothing but calls is timed for part of the time only. What is scaled up from that is marked,
/// and reads and writes come to what the kernel counted; what was done once at the start stays once.
#[test]
fn a_sample_is_marked_and_near_the_truth() {
    let folder = Folder::new("dd");
    let recorded = dd(&folder, &[], 4_000_000);
    let share = recorded.json["cost"]["calls_timed_share"]
        .as_f64()
        .expect("a share");
    assert!(share > 0.0 && share < 1.0, "{share}");
    for (call, device) in [("read", "/dev/zero"), ("write", "/dev/null")] {
        let (count, estimated) = count(&recorded, call, device);
        assert!(
            estimated,
            "{call}: 4 million calls in this time cannot all have been timed"
        );
        assert!(
            (count - 4_000_000).abs() <= 40_000,
            "{call}: {count}, in truth 4,000,000"
        );
    }
    let executed = recorded.list("calls").iter();
    let executed = executed.filter(|c| c["call"] == "execve");
    let succeeded = executed.map(|c| number(c, "count") - number(c, "errors"));
    assert_eq!(succeeded.sum::<i64>(), 1);
}

/// With --exact every call is counted and nothing is an estimate.
#[test]
fn exact_is_exact() {
    let folder = Folder::new("exact");
    let recorded = dd(&folder, &["--exact"], 500_000);
    assert_eq!(recorded.json["lost"], serde_json::json!({}));
    assert_eq!(count(&recorded, "read", "/dev/zero"), (500_000, false));
    assert_eq!(count(&recorded, "write", "/dev/null"), (500_000, false));
    assert!(recorded
        .list("calls")
        .iter()
        .all(|c| c["estimated"] == false));
    assert!(recorded.json["cost"]["calls_timed_share"].as_f64() > Some(0.99));
    let read = |c: &&serde_json::Value| c["call"] == "read" && c["object"] == "/dev/zero";
    let bytes = recorded
        .list("calls")
        .iter()
        .find(read)
        .map(|c| number(c, "bytes"));
    assert_eq!(bytes, Some(500_000));
}

/// A socket that is not connected has the peer that all is sent to: not the server's, which answers, and not one that is
/// used for two.
#[test]
fn a_socket_that_is_not_connected_has_the_peer_it_sends_to() {
    let folder = Folder::new("datagrams");
    let script = root().join("tests/live/programs/datagrams.py");
    let first = 20_000 + std::process::id() % 5_000 * 2;
    let ports = [first, first + 1].map(|port| port.to_string());
    let command = [
        "/usr/bin/python3",
        script.to_str().unwrap(),
        &ports[0],
        &ports[1],
    ];
    let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
    let objects: Vec<Object> = recorded.rows();
    let sockets = objects
        .iter()
        .filter(|object| object.kind == ObjectKind::UdpSocket);
    let mut peers: Vec<Option<&str>> = sockets.map(|socket| socket.remote.as_deref()).collect();
    peers.sort_unstable();
    let asked = format!("127.0.0.1:{first}");
    assert_eq!(
        peers,
        [None, None, None, Some(asked.as_str())],
        "{objects:?}"
    );
}
