//! `timesink floors`: what it prints and keeps, and that what is recorded afterwards has it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use timesink_live::{output, timesink, Folder, Ran, Running, PLAIN_USER};
use timesink_recording::floors::Floors;
use timesink_recording::Recording;

/// The command, in a folder and keeping below it.
fn floors(folder: &Folder) -> Command {
    let mut command = Command::new(timesink());
    command.arg("floors").current_dir(folder.path());
    command.env("XDG_STATE_HOME", folder.join("state"));
    command
}

fn parsed(ran: &Ran) -> Floors {
    serde_json::from_slice(&ran.out).expect("the figures are JSON")
}

fn kept(folder: &Folder) -> Floors {
    let text = std::fs::read(folder.join("state/timesink/floors.json"));
    serde_json::from_slice(&text.expect("the file is kept")).expect("it is JSON")
}

/// Records `true`, with what is kept below the folder.
fn record(folder: &Folder, name: &str) -> (Ran, Recording) {
    let recording = folder.join(name);
    let ran = output(
        Command::new(timesink())
            .args(["run", "-o"])
            .arg(&recording)
            .args(["--", "true"])
            .env("XDG_STATE_HOME", folder.join("state")),
    );
    (ran.exits(0), Recording::open(&recording).expect("it opens"))
}

/// Names of measurement files that were left behind.
fn left(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.contains("floors"))
        .collect()
}

/// Every figure is positive, the file is kept, and a recording made afterwards carries the same, in its report too. One made
/// with floors of another machine says so and has none.
#[test]
fn figures_are_kept_and_recorded() {
    let folder = Folder::new("floors");
    let ran = output(floors(&folder).args(["--json", "--dir", "/dev/shm"])).exits(0);
    let printed = parsed(&ran);
    assert!(printed.is_sound());
    let all: Vec<Value> = serde_json::from_slice(&ran.out).into_iter().collect();
    let mut figures = BTreeMap::new();
    for value in &all {
        gather(value, String::new(), &mut figures);
    }
    assert!(figures.len() > 30, "{figures:?}");
    assert!(figures.values().all(|ns| *ns > 0.0), "{figures:?}");
    assert_eq!(printed.disks.len(), 2, "this folder's and memory's");
    assert!(printed.peers[0].round_trip.is_some() && printed.switch.is_some());
    assert_eq!(left(folder.path()), [""; 0]);
    assert_eq!(kept(&folder), printed);

    let (_, recording) = record(&folder, "r.timesink");
    assert_eq!(recording.about().floors.as_ref(), Some(&printed));
    let report = Command::new(timesink())
        .args(["report", "--json"])
        .arg(recording.path())
        .output()
        .expect("a report");
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let told: Floors = serde_json::from_value(report["floors"].clone()).expect("the floors");
    assert_eq!(told, printed);

    let mut other = printed;
    other.machine.hostname += "-other";
    let text = serde_json::to_vec(&other).expect("JSON");
    std::fs::write(folder.join("state/timesink/floors.json"), text).expect("it is written");
    let (ran, recording) = record(&folder, "other.timesink");
    assert_eq!(recording.about().floors, None);
    assert!(ran.err.contains("a different name"), "{}", ran.err);
}

/// All figures in JSON, by where they stand.
fn gather(value: &Value, at: String, figures: &mut BTreeMap<String, f64>) {
    match value {
        Value::Object(fields) => {
            if let Some(ns) = fields.get("ns").and_then(Value::as_f64) {
                figures.insert(at.clone(), ns);
            }
            for (key, value) in fields {
                gather(value, format!("{at}.{key}"), figures);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                gather(item, format!("{at}[{number}]"), figures);
            }
        }
        _ => (),
    }
}

/// A plain user may measure; what is kept then is the user's.
#[test]
fn a_plain_user_may_measure() {
    let folder = Folder::of_plain_user("floors");
    let binary = folder.join("timesink");
    std::fs::copy(timesink(), &binary).expect("a copy where everybody may look");
    let mut plain = Command::new("setpriv");
    plain.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    plain.arg("--inh-caps=-all").arg(&binary).arg("floors");
    plain.current_dir(folder.path());
    plain.env("XDG_STATE_HOME", folder.join("state"));
    let ran = output(&mut plain).exits(0);
    for word in ["DISK", "NETWORK", "fork", "CRC-32", "The machine was"] {
        assert!(ran.text().contains(word), "{word}: {}", ran.text());
    }
    assert!(kept(&folder).is_sound());
    let file = std::fs::metadata(folder.join("state/timesink/floors.json")).expect("the file");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&file), PLAIN_USER);
}

/// Who is interrupted leaves no measurement file and keeps nothing.
#[test]
fn interrupted_leaves_nothing() {
    let folder = Folder::new("floors");
    let running = Running::start(floors(&folder).stdin(std::process::Stdio::null()));
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(libc::SIGINT);
    running.end().exits(130);
    assert_eq!(left(folder.path()), [""; 0]);
    assert!(!folder.join("state").exists());
}
