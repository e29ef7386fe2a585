//! Where a recording was made: facts of the live system, and what of them differs from another's.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use timesink_live::{output, text, timesink, Folder, Recorded};
use timesink_recording::tables::Fact;
use timesink_recording::words::{FactKind, Moment};

/// Reads a configuration of three lines.
fn record(folder: &Folder, name: &str, keep_alive: &str, variables: &[(&str, &str)]) -> Recorded {
    let own = folder.join(name);
    fs::create_dir(&own).expect("a folder");
    let file = own.join("server.conf");
    let lines = format!("Listen 80\nKeepAlive {keep_alive}\nPassword=S3cret\n");
    fs::write(&file, lines).expect("a file");
    let mut run = Command::new(timesink());
    run.envs(variables.iter().copied());
    run.args(["run", "-q", "--keep-files", "-o"]);
    let path = folder.join(&format!("{name}.timesink"));
    run.arg(&path).arg("--").arg("cat").arg(&file);
    let ran = output(&mut run).exits(0);
    Recorded::open(&path, ran)
}

fn compared(a: &Path, b: &Path) -> Value {
    let mut env = Command::new(timesink());
    let told = output(env.arg("env").arg(a).arg(b).arg("--json")).exits(0);
    serde_json::from_slice(&told.out).expect("JSON")
}

/// The line of a file and the variable that differ are told, a secret is not, and what is the same is not told either.
#[test]
fn what_differs_between_two_places() {
    let folder = Folder::new("places");
    let a = record(
        &folder,
        "a",
        "On",
        &[("LANG", "C"), ("API_TOKEN", "S3cret")],
    );
    let b = record(
        &folder,
        "b",
        "Off",
        &[("LANG", "C.UTF-8"), ("API_TOKEN", "S3cret")],
    );
    let page = compared(&folder.join("a.timesink"), &folder.join("b.timesink"));
    let found = page["environment"]["differences"]
        .as_array()
        .expect("differences");
    let about = |kind: &str, key: &str| {
        let is = |one: &&Value| text(one, "kind") == kind && text(one, "key").ends_with(key);
        found.iter().find(is)
    };
    let file = about("file", "/server.conf").unwrap_or_else(|| panic!("{page:#}"));
    let lines = file["lines"].as_array().expect("lines");
    let lines: Vec<_> = lines
        .iter()
        .map(|line| (text(line, "a"), text(line, "b")))
        .collect();
    assert_eq!(lines, [("KeepAlive On", "KeepAlive Off")]);
    let language = about("environment variable", "LANG").unwrap_or_else(|| panic!("{page:#}"));
    assert_eq!((text(language, "a"), text(language, "b")), ("C", "C.UTF-8"));
    assert!(
        about("environment variable", "API_TOKEN").is_none(),
        "{page:#}"
    );
    assert!(about("library", "libc").is_none(), "{page:#}");
    for recorded in [&a, &b] {
        let facts: Vec<Fact> = recorded.rows();
        assert!(
            facts.iter().all(|fact| !fact.value.contains("S3cret")),
            "{facts:?}"
        );
    }
}

/// What moves by itself is taken before and after; what is set once.
#[test]
fn facts_have_moments() {
    let folder = Folder::new("moments");
    let recorded = record(&folder, "a", "On", &[]);
    let facts: Vec<Fact> = recorded.rows();
    let moments = |kind: FactKind, key: &str| -> Vec<Moment> {
        let of = facts
            .iter()
            .filter(|fact| fact.kind == kind && fact.key == key);
        of.map(|fact| fact.moment).collect()
    };
    assert_eq!(
        moments(FactKind::MemoryUse, "MemFree"),
        [Moment::Begin, Moment::End]
    );
    assert_eq!(moments(FactKind::Writeback, "swappiness"), [Moment::Begin]);
    assert_eq!(
        moments(FactKind::Ulimits, "Max open files"),
        [Moment::Begin]
    );
    let kinds: std::collections::BTreeSet<FactKind> = facts.iter().map(|fact| fact.kind).collect();
    assert!(kinds.len() >= 20, "{kinds:?}");
}
