//! What is exported is read back: by the readers that the formats have where there is one here, by
//! the messages that the formats define, and by each format's rules. (`make interop` and `make readers` read exports with code
//! that is not ours.)

use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use timesink_analysis::facts::Facts;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_recording::notation::{draft, Draft};
use timesink_recording::Nanos;

use super::messages::{perfetto, pprof};
use super::{write, Export, Format, Weights};
use crate::present::names::is_hostile;
use crate::present::samples;

fn export_of(drawn: &Draft, filter: &Filter, format: Format, weights: Weights) -> Vec<u8> {
    samples::present_stacks(drawn, filter, |recording, facts, stacks| {
        let export = Export {
            about: recording.about(),
            facts,
            stacks,
            filter,
            weights,
        };
        let mut out = Vec::new();
        write(&export, recording, format, &mut out).expect("memory takes it");
        out
    })
}

fn export(format: Format, weights: Weights) -> Vec<u8> {
    export_of(&samples::coded(), &Filter::default(), format, weights)
}

/// The sums of time that exports must have: cpu, wait, all.
fn sums(drawn: &Draft) -> (u64, u64, u64) {
    samples::present_stacks(
        drawn,
        &Filter::default(),
        |_, _: &Facts, stacks: &Stacks| {
            let total = stacks.view().total;
            (total.cpu_ns, total.wait_ns, total.ns())
        },
    )
}

/// The sum of all lines of folded text.
fn folded_sum(text: &str) -> u64 {
    let lines = text
        .lines()
        .map(|line| line.rsplit_once(' ').expect("a weight"));
    lines
        .map(|(_, ns)| ns.parse::<u64>().expect("a number"))
        .sum()
}

/// Folded stacks have all the time that their weights choose, and are what inferno reads.
#[test]
fn folded_stacks_are_read_by_inferno() {
    let (cpu, wait, all) = sums(&samples::coded());
    for (weights, wanted) in [
        (Weights::Cpu, cpu),
        (Weights::Wait, wait),
        (Weights::Both, all),
    ] {
        let text = String::from_utf8(export(Format::Folded, weights)).expect("text");
        assert_eq!(folded_sum(&text), wanted, "{text}");
        let mut options = inferno::flamegraph::Options::default();
        options.count_name = "ns".to_owned();
        let mut svg = Vec::new();
        inferno::flamegraph::from_reader(&mut options, text.as_bytes(), &mut svg)
            .expect("inferno draws it");
        let svg = String::from_utf8(svg).expect("text");
        assert!(svg.contains("import_row"), "{svg}");
    }
    let text = String::from_utf8(export(Format::Folded, Weights::Both)).expect("text");
    let line = "nightly-import(800);nightly-import(800);main;import_row;fdatasync;ext4_sync_file;\
                (waiting: flush) 5000000000";
    assert!(text.lines().any(|found| found == line), "{text}");
}

/// A name can part neither frames nor lines of folded stacks.
#[test]
fn hostile_names_stay_in_their_frames() {
    let drawn = samples::hostile();
    let text = export_of(&drawn, &Filter::default(), Format::Folded, Weights::Both);
    let text = String::from_utf8(text).expect("text");
    assert!(!text.chars().any(|c| c != '\n' && is_hostile(c)));
    assert_eq!(folded_sum(&text), sums(&drawn).2);
    let m = text
        .lines()
        .find(|line| line.contains(";m\\x1b"))
        .expect("a stack");
    assert_eq!(m.matches(';').count(), 4, "{m}");
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
    plain
}

/// A pprof profile holds to pprof's rules: numbers lead somewhere, and values are as many as types.
#[test]
fn pprof_holds_to_its_rules() {
    let bytes = unzipped(&export(Format::Pprof, Weights::Both));
    let profile = pprof::Profile::decode(bytes.as_slice()).expect("a profile");
    let text = |id: i64| profile.string_table[usize::try_from(id).expect("an index")].as_str();
    assert_eq!(text(0), "");
    let types: Vec<_> = profile
        .sample_type
        .iter()
        .map(|t| (text(t.r#type), text(t.unit)))
        .collect();
    let (ns, count) = ("nanoseconds", "count");
    assert_eq!(
        types,
        [("time", ns), ("cpu", ns), ("wait", ns), ("count", count)]
    );
    let sum = |at: usize| {
        profile
            .sample
            .iter()
            .map(|s| s.value[at] as u64)
            .sum::<u64>()
    };
    let (cpu, wait, all) = sums(&samples::coded());
    assert_eq!((sum(0), sum(1), sum(2), sum(3)), (all, cpu, wait, 10));
    assert_eq!(profile.duration_nanos, 10_000_000_000);
    assert_eq!(text(profile.default_sample_type), "time");
    for (at, location) in profile.location.iter().enumerate() {
        assert_eq!(location.id, at as u64 + 1);
        let mapping = location.mapping_id;
        assert!(
            mapping == 0
                || profile
                    .mapping
                    .iter()
                    .any(|m| m.id == mapping && m.has_functions)
        );
        let function = location.line[0].function_id;
        assert!(profile.function.iter().any(|f| f.id == function));
    }
    let name = |location: &u64| {
        let location = &profile.location[*location as usize - 1];
        let function = &profile.function[location.line[0].function_id as usize - 1];
        (text(function.name), location.line[0].line)
    };
    let flush = profile
        .sample
        .iter()
        .find(|s| s.value[0] == 5_000_000_000)
        .expect("the flush");
    let stack: Vec<_> = flush.location_id.iter().map(name).collect();
    let wanted = [
        ("ext4_sync_file", 0),
        ("fdatasync", 0),
        ("import_row", 80),
        ("main", 120),
    ];
    assert_eq!(stack, wanted);
    let labels: Vec<_> = flush
        .label
        .iter()
        .map(|l| (text(l.key), text(l.str), l.num))
        .collect();
    assert!(labels.contains(&("detail", "flush", 0)) && labels.contains(&("tid", "", 800)));
}

/// `go tool pprof` takes the first mapping for the program, also where the dynamic linker was seen before.
#[test]
fn the_program_is_the_first_mapping_of_pprof() {
    let drawn = "run wall 1s exit 0 command ./p\n\
        process 1 pid 9 p executable ./p\n\
        thread 1.1 tid 9 p\n\
        frame _start module /lib/ld.so\n\
        frame main module /opt/p\n\
        1.1: cpu 0..1s exit\n\
        sample 1.1 500ms weight 500ms stack \"_start\"\n\
        sample 1.1 1s weight 500ms stack \"main\"\n";
    let drawn = draft(drawn);
    let bytes = export_of(&drawn, &Filter::default(), Format::Pprof, Weights::Both);
    let profile = pprof::Profile::decode(unzipped(&bytes).as_slice()).expect("a profile");
    let file = |m: &pprof::Mapping| profile.string_table[m.filename as usize].clone();
    let files: Vec<_> = profile.mapping.iter().map(file).collect();
    assert_eq!(files, ["/opt/p", "/lib/ld.so"]);
    let main = profile
        .location
        .iter()
        .find(|l| l.mapping_id == profile.mapping[0].id);
    let line = &main.expect("the program's").line[0];
    let function = profile.function.iter().find(|f| f.id == line.function_id);
    let name = function.expect("a function").name;
    assert_eq!(profile.string_table[name as usize], "main");
}

/// speedscope's rules: as many weights as samples, and indices that lead to frames.
#[test]
fn speedscope_holds_to_its_rules() {
    let bytes = export(Format::Speedscope, Weights::Both);
    let file: Value = serde_json::from_slice(&bytes).expect("JSON");
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(file["$schema"], schema);
    let frames = file["shared"]["frames"].as_array().expect("frames");
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    let profiles = file["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), 2);
    let mut all = 0;
    for profile in profiles {
        assert_eq!(
            (&profile["type"], &profile["unit"]),
            (&"sampled".into(), &"nanoseconds".into())
        );
        let samples = profile["samples"].as_array().expect("samples");
        let weights = profile["weights"].as_array().expect("weights");
        assert_eq!(samples.len(), weights.len());
        let indices = samples
            .iter()
            .flat_map(|sample| sample.as_array().expect("a stack"));
        for index in indices {
            assert!(index
                .as_u64()
                .is_some_and(|at| (at as usize) < frames.len()));
        }
        let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
        assert_eq!(profile["endValue"], sum);
        all += sum;
    }
    assert_eq!(all, sums(&samples::coded()).2);
    let first = &profiles[0]["samples"][0];
    let names = first.as_array().expect("a stack").iter().map(|at| {
        frames[at.as_u64().expect("an index") as usize]["name"]
            .as_str()
            .expect("a name")
    });
    let names: Vec<_> = names.collect();
    assert_eq!(names, ["main", "import_row", "price_of", "parse"]);
}

/// The Firefox Profiler's tables have columns of equal length, and indices that lead somewhere.
#[test]
fn firefox_holds_to_its_rules() {
    let bytes = export(Format::Firefox, Weights::Both);
    let profile: Value = serde_json::from_slice(&bytes).expect("JSON");
    let categories = profile["meta"]["categories"]
        .as_array()
        .expect("categories")
        .len();
    let (mut sum, mut on_cpu) = (0.0, 0);
    for thread in profile["threads"].as_array().expect("threads") {
        let length = |table: &str| thread[table]["length"].as_u64().expect("a length");
        let tables = [
            "samples",
            "stackTable",
            "frameTable",
            "funcTable",
            "markers",
            "resourceTable",
        ];
        for table in tables {
            for (name, column) in thread[table].as_object().expect("a table") {
                if let Some(cells) = column.as_array() {
                    assert_eq!(cells.len() as u64, length(table), "{table}.{name}");
                }
            }
        }
        let below = |table: &str, column: &str, most: u64| {
            let cells = thread[table][column].as_array().expect("a column").iter();
            cells.filter_map(Value::as_u64).all(|cell| cell < most)
        };
        let strings = thread["stringArray"].as_array().expect("strings").len() as u64;
        assert!(below("samples", "stack", length("stackTable")));
        assert!(below("stackTable", "frame", length("frameTable")));
        assert!(below("stackTable", "category", categories as u64));
        assert!(below("frameTable", "func", length("funcTable")));
        assert!(below("funcTable", "name", strings) && below("funcTable", "fileName", strings));
        let prefixes = thread["stackTable"]["prefix"]
            .as_array()
            .expect("a column")
            .iter();
        for (at, prefix) in prefixes.enumerate() {
            assert!(prefix.as_u64().is_none_or(|prefix| prefix < at as u64));
        }
        let times = thread["samples"]["time"].as_array().expect("times");
        let times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
        assert!(times.is_sorted());
        let weights = thread["samples"]["weight"]
            .as_array()
            .expect("weights")
            .iter();
        sum += weights.filter_map(Value::as_f64).sum::<f64>();
        let cpu = thread["samples"]["threadCPUDelta"].as_array();
        on_cpu += cpu
            .expect("times")
            .iter()
            .filter_map(Value::as_u64)
            .sum::<u64>();
    }
    assert!((sum * 1e6 - sums(&samples::coded()).2 as f64).abs() < 10.0);
    assert_eq!(on_cpu, 3_380_000_000, "what the samples stand for");
}

/// A Perfetto trace has a track for each thread, slices that open and close in order, and stacks
/// whose frames have names.
#[test]
fn perfetto_slices_and_stacks_are_whole() {
    let bytes = export(Format::Perfetto, Weights::Both);
    let trace = perfetto::Trace::decode(bytes.as_slice()).expect("a trace");
    let tracks: Vec<_> = trace
        .packet
        .iter()
        .filter_map(|p| p.track_descriptor.clone())
        .collect();
    let of_threads = tracks.iter().filter(|track| track.parent_uuid.is_some());
    assert_eq!(of_threads.count(), 2);
    let mut open: Option<(u64, String)> = None;
    let mut slices = Vec::new();
    let (mut names, mut frames, mut stacks) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
    let (mut samples, mut in_kernel) = (0, 0);
    for packet in &trace.packet {
        match &packet.track_event {
            Some(event) if event.r#type() == perfetto::TrackEventType::SliceBegin => {
                assert!(
                    open.is_none() && tracks.iter().any(|track| track.uuid == event.track_uuid)
                );
                open = Some((packet.timestamp(), event.name().to_owned()));
            }
            Some(_) => {
                let (from, name) = open.take().expect("it was opened");
                slices.push((name, packet.timestamp() - from));
            }
            None => (),
        }
        if let Some(interned) = &packet.interned_data {
            names.extend(interned.function_names.iter().map(|row| row.iid));
            frames.extend(interned.frames.clone());
            stacks.extend(interned.callstacks.clone());
        }
        if let Some(sample) = &packet.perf_sample {
            samples += 1;
            in_kernel += usize::from(sample.cpu_mode() == perfetto::CpuMode::Kernel);
            let is_its = |stack: &&perfetto::Callstack| stack.iid == sample.callstack_iid;
            let stack = stacks.iter().find(is_its).expect("a stack");
            for id in &stack.frame_ids {
                let frame = frames.iter().find(|frame| frame.iid == Some(*id));
                let function = frame.expect("a frame").function_name_id;
                assert!(names.contains(&function));
            }
        }
    }
    assert!(open.is_none());
    assert!(slices.contains(&("waiting: flush · rows.db".to_owned(), 5_000_000_000)));
    assert_eq!((samples, in_kernel), (10, 4), "three waits and a sample");
}

/// A filter chooses what is exported.
#[test]
fn exports_are_filtered() {
    let filter = Filter {
        thread: Some("statistics".to_owned()),
        ..Filter::default()
    };
    let text = export_of(&samples::coded(), &filter, Format::Folded, Weights::Cpu);
    let text = String::from_utf8(text).expect("text");
    assert_eq!(folded_sum(&text), 1_000_000_000);
    assert!(
        text.lines().all(|line| line.contains("statistics(801)")),
        "{text}"
    );
    let filter = Filter {
        from: Some(Nanos(1_000_000_000)),
        to: Some(Nanos(2_000_000_000)),
        ..filter
    };
    let bytes = export_of(&samples::coded(), &filter, Format::Perfetto, Weights::Both);
    let trace = perfetto::Trace::decode(bytes.as_slice()).expect("a trace");
    let events = trace
        .packet
        .iter()
        .filter(|packet| packet.track_event.is_some());
    let times: Vec<u64> = events.map(|packet| packet.timestamp()).collect();
    assert_eq!(times, [1_000_000_000, 2_000_000_000]);
}

/// A recording without stacks exports its sums, and one of nothing exports nothing.
#[test]
fn without_stacks_there_are_sums() {
    let text = export_of(
        &samples::import(),
        &Filter::default(),
        Format::Folded,
        Weights::Both,
    );
    let text = String::from_utf8(text).expect("text");
    assert_eq!(folded_sum(&text), sums(&samples::import()).2);
    for format in [
        Format::Folded,
        Format::Pprof,
        Format::Speedscope,
        Format::Firefox,
        Format::Perfetto,
    ] {
        export_of(&Draft::default(), &Filter::default(), format, Weights::Both);
    }
}
