//! A Perfetto trace: a track for each thread with a slice for each span (what it did, and for what
//! it waited), and the stacks of samples and waits at their moments.
//!
//! Of the threads and the stretch of time that a filter chooses, the trace has all spans: it is about
//! when, not about how much. Weights and the rest of the filter choose which stacks are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use prost::Message;
use timesink_analysis::ledger::Account;
use timesink_recording::tables::Span;
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::{Nanos, Recording, ThreadId};

use super::messages::perfetto::{
    sequence_flags, Callstack, CpuMode, Frame, InternedData, InternedString, Mapping, PerfSample,
    ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
    TrackEventType,
};
use super::{waiting, Export};

/// Slices and stacks are two sequences of packets: what is interned belongs to the second.
const SLICES: u32 = 1;
const STACKS: u32 = 2;

pub(super) fn write(
    export: &Export,
    recording: &Recording,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut threads: BTreeSet<ThreadId> = BTreeSet::new();
    for thread in export.threads() {
        threads.insert(thread.row.thread);
        let (process, pid) = export.process(thread);
        put(out, process_track(process, pid))?;
        put(
            out,
            thread_track(thread.row.thread, pid, thread.row.tid, &thread.row.name),
        )?;
    }
    let mut failed = None;
    recording.scan(|spans: &[Span]| {
        for span in spans.iter().filter(|span| threads.contains(&span.thread)) {
            if failed.is_none() {
                failed = slice(export, span, out).err();
            }
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(stacks(export, out)?),
    }
}

/// A packet as a part of the trace: traces put behind each other are one.
fn put(out: &mut impl Write, packet: TracePacket) -> std::io::Result<()> {
    let packet = vec![packet];
    out.write_all(&Trace { packet }.encode_to_vec())
}

/// Tracks are named by numbers of our own: processes by their ids, threads above all of those.
fn process_uuid(pid: u32) -> u64 {
    u64::from(pid) + 1
}

fn thread_uuid(thread: ThreadId) -> u64 {
    (1 << 40) + u64::from(thread.0)
}

fn process_track(name: &str, pid: u32) -> TracePacket {
    track(TrackDescriptor {
        uuid: Some(process_uuid(pid)),
        process: Some(ProcessDescriptor {
            pid: Some(pid),
            process_name: Some(name.to_owned()),
        }),
        ..TrackDescriptor::default()
    })
}

fn thread_track(thread: ThreadId, pid: u32, tid: u32, name: &str) -> TracePacket {
    track(TrackDescriptor {
        uuid: Some(thread_uuid(thread)),
        parent_uuid: Some(process_uuid(pid)),
        thread: Some(ThreadDescriptor {
            pid: Some(pid),
            tid: Some(tid),
            thread_name: Some(name.to_owned()),
        }),
        ..TrackDescriptor::default()
    })
}

fn track(descriptor: TrackDescriptor) -> TracePacket {
    TracePacket {
        track_descriptor: Some(descriptor),
        trusted_packet_sequence_id: Some(SLICES),
        ..TracePacket::default()
    }
}

/// The two ends of a span, or of the part of it that the filter's stretch of time lets pass.
fn slice(export: &Export, span: &Span, out: &mut impl Write) -> std::io::Result<()> {
    let (t0, t1) = export.filter.clip(span.t0, span.t1);
    if t1 <= t0 {
        return Ok(());
    }
    let event = |kind: TrackEventType| TrackEvent {
        r#type: Some(kind.into()),
        track_uuid: Some(thread_uuid(span.thread)),
        ..TrackEvent::default()
    };
    let begin = TrackEvent {
        categories: vec![span.state.as_str().to_owned()],
        name: Some(name(export, span)),
        ..event(TrackEventType::SliceBegin)
    };
    for (event, at) in [(begin, t0), (event(TrackEventType::SliceEnd), t1)] {
        let packet = TracePacket {
            timestamp: Some(moment(at)),
            track_event: Some(event),
            trusted_packet_sequence_id: Some(SLICES),
            ..TracePacket::default()
        };
        put(out, packet)?;
    }
    Ok(())
}

/// A moment before the recording has no place in a trace, whose times are not negative.
fn moment(at: Nanos) -> u64 {
    u64::try_from(at.0).unwrap_or(0)
}

/// What a thread did, and for what it waited.
fn name(export: &Export, span: &Span) -> String {
    let doing = match (span.state, span.detail) {
        (State::Cpu, Detail::Running) => "on a processor".to_owned(),
        (State::Wait, detail) => format!("waiting: {detail}"),
        (state, detail) => format!("{state}: {detail}"),
    };
    let object = span.object.and_then(|id| export.facts.object(id));
    match object.filter(|object| !object.label.is_empty()) {
        Some(object) => format!("{doing} · {}", object.label),
        None => doing,
    }
}

fn interned(id: u64, text: &str) -> InternedString {
    InternedString {
        iid: Some(id),
        str: Some(text.as_bytes().to_vec()),
    }
}

/// What was interned so far. Numbers begin at 1.
#[derive(Default)]
struct Interned {
    functions: BTreeMap<String, u64>,
    mappings: BTreeMap<String, u64>,
    /// By function, mapping and address.
    frames: BTreeMap<(u64, u64, u64), u64>,
    stacks: BTreeMap<Vec<u64>, u64>,
    /// What is new since the last packet.
    new: InternedData,
}

impl Interned {
    fn function(&mut self, name: &str) -> u64 {
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.new.function_names.push(interned(id, name));
        }
        id
    }

    /// Where code is from. Readers drop frames that are from nowhere, so that what has no module is from a
    /// mapping without a name.
    fn mapping(&mut self, path: &str) -> u64 {
        let next = self.mappings.len() as u64 + 1;
        let id = *self.mappings.entry(path.to_owned()).or_insert(next);
        if id == next {
            self.new.mapping_paths.push(interned(id, path));
            self.new.mappings.push(Mapping {
                iid: Some(id),
                path_string_ids: vec![id],
            });
        }
        id
    }

    fn frame(&mut self, name: &str, path: &str, address: u64) -> u64 {
        let key = (self.function(name), self.mapping(path), address);
        let next = self.frames.len() as u64 + 1;
        let id = *self.frames.entry(key).or_insert(next);
        if id == next {
            self.new.frames.push(Frame {
                iid: Some(id),
                function_name_id: Some(key.0),
                mapping_id: Some(key.1),
                rel_pc: Some(address),
            });
        }
        id
    }

    /// A stack, the outermost frame first.
    fn stack(&mut self, frames: Vec<u64>) -> u64 {
        if let Some(&known) = self.stacks.get(&frames) {
            return known;
        }
        let id = self.stacks.len() as u64 + 1;
        self.new.callstacks.push(Callstack {
            iid: Some(id),
            frame_ids: frames.clone(),
        });
        self.stacks.insert(frames, id);
        id
    }
}

fn stacks(export: &Export, out: &mut impl Write) -> std::io::Result<()> {
    let mut interned = Interned::default();
    let mut flags =
        sequence_flags::INCREMENTAL_STATE_CLEARED | sequence_flags::NEEDS_INCREMENTAL_STATE;
    for thread in export.threads() {
        let (_, pid) = export.process(thread);
        for event in export.events(thread.row.thread) {
            let code = &export.stacks.code;
            let mut frames = Vec::new();
            // It is in the kernel if it waits there, or has frames there.
            let mut kernel = event.account == Account::Wait;
            for (frame, function) in code.frames_of(event.stack) {
                kernel |= code.function(function).language == Language::Kernel;
                let path = code.module_of(function).map_or("", |module| &module.path);
                let address = frame.map_or(0, |(_, frame)| frame.offset);
                frames.push(interned.frame(&export.function(function), path, address));
            }
            frames.reverse();
            frames.extend(waiting(event).map(|name| interned.frame(&name, "", 0)));
            let stack = interned.stack(frames);
            let mode = if kernel {
                CpuMode::Kernel
            } else {
                CpuMode::User
            };
            let sample = PerfSample {
                pid: Some(pid),
                tid: Some(thread.row.tid),
                callstack_iid: Some(stack),
                cpu_mode: Some(mode.into()),
            };
            let packet = TracePacket {
                timestamp: Some(moment(event.at)),
                trusted_packet_sequence_id: Some(STACKS),
                sequence_flags: Some(flags),
                interned_data: Some(std::mem::take(&mut interned.new)),
                perf_sample: Some(sample),
                ..TracePacket::default()
            };
            put(out, packet)?;
            flags = sequence_flags::NEEDS_INCREMENTAL_STATE;
        }
    }
    Ok(())
}
