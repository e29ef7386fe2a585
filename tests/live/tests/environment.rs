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

fn differences(page: &Value) -> &Vec<Value> {
    let found = page["environment"]["differences"].as_array();
    found.unwrap_or_else(|| panic!("{page:#}"))
}

/// The same work on a disk and in memory: the place is one fact that differs, with kind and options of both, and not mounts that one of
/// the recordings lacks.
#[test]
fn two_disks_are_one_fact() {
    let folder = Folder::new("two-disks");
    let memory = Path::new("/dev/shm").join(format!("timesink-live-{}", std::process::id()));
    fs::create_dir(&memory).expect("a folder in memory");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let disk = target.join(format!("two-disks-{}", std::process::id()));
    fs::create_dir(&disk).expect("a folder on a disk");
    for (name, place) in [("a", &disk), ("b", &memory)] {
        fs::write(place.join("rows"), vec![b'x'; 300_000]).expect("a file");
        let mut run = Command::new(timesink());
        run.current_dir(place).args(["run", "-q", "-o"]);
        run.arg(folder.join(&format!("{name}.timesink")));
        let copy = ["--", "dd", "if=rows", "of=copy", "bs=64k", "status=none"];
        output(run.args(copy)).exits(0);
    }
    let page = compared(&folder.join("a.timesink"), &folder.join("b.timesink"));
    fs::remove_dir_all(&memory).expect("it goes");
    fs::remove_dir_all(&disk).expect("it goes");
    let of_disks = differences(&page).iter().filter(|one| {
        let kinds = ["mount", "disk", "disk queue", "layers", "free space"];
        kinds.contains(&text(one, "kind"))
    });
    let of_disks: Vec<&Value> = of_disks.collect();
    let [one] = of_disks.as_slice() else {
        panic!("{of_disks:#?}");
    };
    assert!(
        text(one, "key").starts_with("of the working folder, most of what was read"),
        "{one:#}"
    );
    assert!(text(one, "b").starts_with("tmpfs, options "), "{one:#}");
    assert!(!text(one, "a").starts_with("tmpfs"), "{one:#}");
    assert_eq!(one["touched"], true);
}

/// A file is what is in it, also if it is long; and what came of a run is looked at, also if its name is no text.
#[test]
fn long_files_and_names_that_are_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("long-files");
    let data = folder.join("data");
    for (name, byte) in [("a", b'x'), ("b", b'y')] {
        let mut bytes = vec![b'x'; 3 << 20];
        bytes[1_600_000] = byte;
        fs::write(&data, bytes).expect("a file");
        let touched = Command::new("touch")
            .args(["-d", "2020-01-01"])
            .arg(&data)
            .status();
        assert!(touched.is_ok_and(|ended| ended.success()));
        let mut run = Command::new(timesink());
        run.args(["run", "-q", "-o"]);
        run.arg(folder.join(&format!("{name}.timesink")));
        run.current_dir(folder.path()).args(["--", "dd", "if=data"]);
        run.arg(OsStr::from_bytes(b"of=out-\xff"));
        output(run.args(["bs=64k", "status=none"])).exits(0);
    }
    let page = compared(&folder.join("a.timesink"), &folder.join("b.timesink"));
    let about = |kind: &str| {
        let has_sum = |one: &Value| one["a"].as_str().is_some_and(|a| a.contains("parts="));
        let is = |one: &&Value| text(one, "kind") == kind && has_sum(one);
        let found = differences(&page).iter().find(is);
        found.unwrap_or_else(|| panic!("{page:#}"))
    };
    assert!(text(about("file"), "key").ends_with("/data"));
    let outcome = about("outcome");
    assert!(
        text(outcome, "a").starts_with("size=3145728 "),
        "{outcome:#}"
    );
}

/// What the configuration includes of a server that began before the recording is a fact, too.
#[test]
fn included_configuration_of_a_server() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let folder = Folder::new("included");
    fs::create_dir(folder.join("extra")).expect("a folder");
    fs::write(folder.join("server.py"), "import sys, time\nopen(sys.argv[1]).read()\nprint('ready', flush=True)\ntime.sleep(1000)\n")
        .expect("the server");
    fs::write(
        folder.join("main.conf"),
        "listen 80;\ninclude extra/*.conf;\n",
    )
    .expect("a file");
    fs::write(folder.join("extra/on.conf"), "keepalive on;\n").expect("a file");
    fs::write(folder.join("extra/note.txt"), "x").expect("a file");
    let mut server = Command::new("python3")
        .args(["server.py", "main.conf"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("its output"));
    said.read_line(&mut line).expect("it is ready");
    let path = folder.join("a.timesink");
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "--with", &server.id().to_string(), "-o"]);
    let ran = output(run.arg(&path).args(["--", "true"]));
    server.kill().expect("it ends");
    server.wait().expect("it ends");
    let recorded = Recorded::open(&path, ran.exits(0));
    let facts: Vec<Fact> = recorded.rows();
    let told = |name: &str| {
        let is = |fact: &&Fact| fact.kind == FactKind::File && fact.key.ends_with(name);
        facts.iter().find(is)
    };
    let included = told("/extra/on.conf").expect("it is included");
    assert!(included.value.contains("crc32="), "{included:?}");
    assert!(told("/main.conf").is_some() && told("/extra/note.txt").is_none());
}
