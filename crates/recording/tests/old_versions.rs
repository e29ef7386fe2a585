//! Recordings of older versions of the format still open, and what came later is empty in them.

// Of what the others need, only a place is needed here.
#[allow(dead_code)]
mod common;

use common::Place;
use std::path::PathBuf;
use timesink_recording::tables::*;
use timesink_recording::words::{Language, TaskKind};
use timesink_recording::{ErrorKind, Recording, TableRow, FORMAT_VERSION};

fn fixture(name: &str) -> Recording {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    Recording::open(folder.join(name)).expect("it opens")
}

/// A recording of version 1 (a shell that slept and listed a folder) has its rows, and no stacks.
#[test]
fn version_1_opens() {
    let recording = fixture("version-1.tar");
    assert_eq!(recording.about().format_version, 1);
    macro_rules! absent {
        ($($row:ident),+) => { $(
            assert_eq!(recording.rows::<$row>().map(|rows| rows.len()), Ok(0), "{}", $row::NAME);
            assert_eq!(recording.row_count::<$row>(), Ok(0), "{}", $row::NAME);
        )+ };
    }
    absent!(Module, Frame, Stack, Delay);
    let waits = recording.rows::<Wait>().expect("waits");
    assert!(!waits.is_empty());
    assert!(waits
        .iter()
        .all(|wait| wait.stack.is_none() && wait.waker_stack.is_none()));
    let samples = recording.rows::<Sample>().expect("samples");
    assert!(!samples.is_empty());
    assert!(samples
        .iter()
        .all(|sample| sample.stack.is_none() && sample.weight_ns.is_none()));
    let threads = recording.rows::<Thread>().expect("threads");
    assert_eq!(threads.len(), 3);
    let spans = recording.rows::<Span>().expect("spans");
    let slept = spans.iter().map(|span| span.t1.since(span.t0)).max();
    assert!(slept.is_some_and(|ns| ns >= 10_000_000));
}

/// A recording of version 2 (a shell that slept, listed a folder and counted) has its stacks, and no delays.
#[test]
fn version_2_opens() {
    let recording = fixture("version-2.tar");
    assert_eq!(recording.about().format_version, 2);
    assert_eq!(recording.rows::<Delay>().map(|rows| rows.len()), Ok(0));
    assert_eq!(recording.row_count::<Delay>(), Ok(0));
    let waits = recording.rows::<Wait>().expect("waits");
    assert!(waits.iter().any(|wait| wait.stack.is_some()));
    let samples = recording.rows::<Sample>().expect("samples");
    assert!(samples.iter().any(|sample| sample.weight_ns.is_some()));
    assert!(!recording.rows::<Stack>().expect("stacks").is_empty());
}

/// A recording of version 3 (a shell with three others that slept, listed a folder and counted) has its delays, and no floors.
#[test]
fn version_3_opens() {
    let recording = fixture("version-3.tar");
    assert_eq!(recording.about().format_version, 3);
    assert_eq!(recording.about().floors, None);
    let delays = recording.rows::<Delay>().expect("delays");
    assert!(delays.iter().any(|delay| delay.stack.is_some()));
    assert!(!recording.rows::<Wait>().expect("waits").is_empty());
}

/// A recording of version 4 (the same on a machine with floors) has them, and does not tell how nice threads are.
#[test]
fn version_4_opens() {
    let recording = fixture("version-4.tar");
    assert_eq!(recording.about().format_version, 4);
    assert!(recording.about().floors.is_some());
    let threads = recording.rows::<Thread>().expect("threads");
    assert!(threads.len() > 3 && threads.iter().all(|thread| thread.nice.is_none()));
}

/// A recording of version 5 (a shell that slept, listed a folder and counted) tells how nice threads are, and not from where calls
/// were made.
#[test]
fn version_5_opens() {
    let recording = fixture("version-5.tar");
    assert_eq!(recording.about().format_version, 5);
    assert_eq!(recording.rows::<CallSite>().map(|rows| rows.len()), Ok(0));
    let threads = recording.rows::<Thread>().expect("threads");
    assert!(threads.len() > 3 && threads.iter().all(|thread| thread.nice.is_some()));
    assert!(!recording.rows::<Call>().expect("calls").is_empty());
}

/// A recording of version 6 (the same) tells from where calls were made, and not what was sent before waits.
#[test]
fn version_6_opens() {
    let recording = fixture("version-6.tar");
    assert_eq!(recording.about().format_version, 6);
    assert!(!recording.rows::<CallSite>().expect("sites").is_empty());
    let waits = recording.rows::<Wait>().expect("waits");
    assert!(!waits.is_empty() && waits.iter().all(|wait| wait.sent_object.is_none()));
}

/// A recording of version 7 (the same) tells what was sent before waits, and has no facts about where it was made.
#[test]
fn version_7_opens() {
    let recording = fixture("version-7.tar");
    assert_eq!(recording.about().format_version, 7);
    assert_eq!(recording.rows::<Fact>().map(|rows| rows.len()), Ok(0));
    assert!(!recording.rows::<CallSite>().expect("sites").is_empty());
}

/// A recording of version 8 (the same) tells where it was made, and knows of no tasks.
#[test]
fn version_8_opens() {
    let recording = fixture("version-8.tar");
    assert_eq!(recording.about().format_version, 8);
    assert!(!recording.rows::<Fact>().expect("facts").is_empty());
    assert_eq!(recording.rows::<Task>().map(|rows| rows.len()), Ok(0));
    assert_eq!(recording.rows::<TaskTurn>().map(|rows| rows.len()), Ok(0));
}

/// A recording of version 9 (the same) knows of tasks, and of no tags.
#[test]
fn version_9_opens() {
    let recording = fixture("version-9.tar");
    assert_eq!(recording.about().format_version, 9);
    assert!(!recording.rows::<Span>().expect("spans").is_empty());
    assert_eq!(recording.rows::<Tag>().map(|rows| rows.len()), Ok(0));
    assert_eq!(recording.rows::<TagTurn>().map(|rows| rows.len()), Ok(0));
}

/// A recording of version 10 (a program in Go with workers that sleep in calls) has its tasks, and does not tell how they were left.
#[test]
fn version_10_opens() {
    let recording = fixture("version-10.tar");
    assert_eq!(recording.about().format_version, 10);
    assert!(recording.rows::<Task>().expect("tasks").len() > 1);
    let turns = recording.rows::<TaskTurn>().expect("turns");
    let told = |turn: &TaskTurn| turn.left.is_some() || turn.left_at.is_some();
    assert!(turns.len() > 3 && !turns.iter().any(told));
}

/// A recording of version 11 (the same) tells how its tasks were left, and gives them no names.
#[test]
fn version_11_opens() {
    let recording = fixture("version-11.tar");
    assert_eq!(recording.about().format_version, 11);
    let tasks = recording.rows::<Task>().expect("tasks");
    assert!(tasks.len() > 1 && tasks.iter().all(|task| task.name.is_none()));
    let turns = recording.rows::<TaskTurn>().expect("turns");
    assert!(turns.iter().any(|turn| turn.left.is_some()));
}

/// A recording of version 12 (a program with asyncio) has its coroutines, and no tasks of tokio.
#[test]
fn version_12_opens() {
    let recording = fixture("version-12.tar");
    assert_eq!(recording.about().format_version, 12);
    let tasks = recording.rows::<Task>().expect("tasks");
    let is_one = |task: &Task| task.kind == TaskKind::Coroutine;
    assert!(tasks.len() > 1 && tasks.iter().all(is_one));
}

/// A recording of version 13 (a program in Go whose goroutines wait for each other) has what was seen of them, and does not tell how threads
/// are scheduled.
#[test]
fn version_13_opens() {
    let recording = fixture("version-13.tar");
    assert_eq!(recording.about().format_version, 13);
    assert!(!recording.rows::<TaskSight>().expect("sights").is_empty());
    let threads = recording.rows::<Thread>().expect("threads");
    let told = |thread: &Thread| thread.policy.is_some() || thread.allowed_processors.is_some();
    assert!(threads.len() > 3 && !threads.iter().any(told));
}

/// A recording of version 14 (a script in PHP that pauses and computes) has its functions, each in a language that was known then.
#[test]
fn version_14_opens() {
    let recording = fixture("version-14.tar");
    assert_eq!(recording.about().format_version, 14);
    let frames = recording.rows::<Frame>().expect("frames");
    let is_script = |frame: &&Frame| frame.language == Language::Php;
    assert!(frames
        .iter()
        .any(|frame| is_script(&frame) && frame.function == "pause"));
    let later = [Language::DotNet, Language::Erlang];
    assert!(!frames.iter().any(|frame| later.contains(&frame.language)));
}

/// What packs an old recording packs it as it is.
#[test]
fn version_1_packs_as_it_is() {
    let place = Place::new();
    let old = fixture("version-1.tar");
    old.pack(place.path("packed")).expect("it packs");
    let again = Recording::open(place.path("packed")).expect("it opens");
    assert_eq!(old.about(), again.about());
    assert_eq!(old.rows::<Span>(), again.rows::<Span>());
}

/// Only an old recording may lack what came later: one that says it is new is damaged without it.
#[test]
fn a_new_recording_must_be_complete() {
    let place = Place::new();
    let file = fixture("version-1.tar").path().to_owned();
    let mut packed = tar::Archive::new(std::fs::File::open(file).expect("a file"));
    packed.unpack(place.path("unpacked")).expect("it unpacks");
    let mut folders = std::fs::read_dir(place.path("unpacked")).expect("a folder");
    let folder = folders
        .next()
        .expect("one entry")
        .expect("it is read")
        .path();
    let manifest = folder.join("recording.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(Recording::open(&folder).is_ok_and(|old| old.rows::<Wait>().is_ok()));
    json["format_version"] = FORMAT_VERSION.into();
    std::fs::write(&manifest, json.to_string()).expect("a manifest");
    let forged = Recording::open(&folder).expect("it opens");
    let kind = |error: timesink_recording::Error| error.kind();
    assert_eq!(forged.rows::<Wait>().map_err(kind), Err(ErrorKind::Damaged));
    assert_eq!(
        forged.rows::<Stack>().map_err(kind),
        Err(ErrorKind::NoSuchTable)
    );
    assert!(
        forged.rows::<Occupant>().is_ok(),
        "what did not change still reads"
    );
}
