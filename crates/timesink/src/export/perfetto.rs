//! A Perfetto trace: a track for each thread with a slice for each span (what it did, and for what
//! it waited), and the stacks of samples and waits at their moments.
//!
//! Of the threads and the stretch of time that a filter chooses, the trace has all spans: it is about
//! when, not about how much. Weights and the rest of the filter choose which stacks are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use timesink_analysis::ledger::Account;
use timesink_recording::tables::Span;
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::{Recording, ThreadId};

use super::protobuf::Message;
use super::{waiting, Export};

// The numbers of fields, as Perfetto's protos have them.
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const FLAGS: u32 = 13;
    pub const TRACK: u32 = 60;
    pub const SAMPLE: u32 = 66;
    /// The flag that all that was interned before is void.
    pub const CLEARED: u64 = 1;
    /// The flag that what was interned before is needed.
    pub const NEEDED: u64 = 2;
}
mod mode {
    pub const KERNEL: u64 = 1;
    pub const USER: u64 = 2;
}
const BEGIN: u64 = 1;
const END: u64 = 2;
/// Slices and stacks are two sequences of packets: what is interned belongs to the second.
const SLICES: u64 = 1;
const STACKS: u64 = 2;

pub(super) fn write(
    export: &Export,
    recording: &Recording,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    // A moment before the recording has no place in a trace, whose times are not negative.
    let mut threads: BTreeSet<ThreadId> = BTreeSet::new();
    for thread in export.threads() {
        threads.insert(thread.row.thread);
        let (process, pid) = export.process(thread);
        put(out, &process_track(process, pid))?;
        put(
            out,
            &thread_track(thread.row.thread, pid, thread.row.tid, &thread.row.name),
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

/// A packet as a part of the trace.
fn put(out: &mut impl Write, packet: &Message) -> std::io::Result<()> {
    let mut trace = Message::default();
    trace.message(1, packet);
    out.write_all(trace.as_bytes())
}

/// Tracks are named by numbers of our own: processes by their ids, threads above all of those.
fn process_uuid(pid: u32) -> u64 {
    u64::from(pid) + 1
}

fn thread_uuid(thread: ThreadId) -> u64 {
    (1 << 40) + u64::from(thread.0)
}

fn process_track(name: &str, pid: u32) -> Message {
    let (mut process, mut track, mut packet) = <(Message, Message, Message)>::default();
    process.number(1, u64::from(pid)).text(6, name);
    track.number(1, process_uuid(pid)).message(3, &process);
    packet.message(packet::TRACK, &track);
    packet.number(packet::SEQUENCE, SLICES);
    packet
}

fn thread_track(thread: ThreadId, pid: u32, tid: u32, name: &str) -> Message {
    let (mut row, mut track, mut packet) = <(Message, Message, Message)>::default();
    row.number(1, u64::from(pid)).number(2, u64::from(tid));
    row.text(5, name);
    track
        .number(1, thread_uuid(thread))
        .number(5, process_uuid(pid));
    track.message(4, &row);
    packet.message(packet::TRACK, &track);
    packet.number(packet::SEQUENCE, SLICES);
    packet
}

/// The two ends of a span, or of the part of it that the filter's stretch of time lets pass.
fn slice(export: &Export, span: &Span, out: &mut impl Write) -> std::io::Result<()> {
    let (t0, t1) = export.filter.clip(span.t0, span.t1);
    if t1 <= t0 {
        return Ok(());
    }
    let moment = |t: i64| u64::try_from(t).unwrap_or(0);
    let mut begin = Message::default();
    begin.number(9, BEGIN).number(11, thread_uuid(span.thread));
    begin
        .text(22, span.state.as_str())
        .text(23, &name(export, span));
    let mut end = Message::default();
    end.number(9, END).number(11, thread_uuid(span.thread));
    for (event, at) in [(&begin, t0), (&end, t1)] {
        let mut packet = Message::default();
        packet.number(packet::TIMESTAMP, moment(at.0));
        packet.message(packet::TRACK_EVENT, event);
        packet.number(packet::SEQUENCE, SLICES);
        put(out, &packet)?;
    }
    Ok(())
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

/// What was interned so far. Numbers begin at 1.
#[derive(Default)]
struct Interned {
    functions: BTreeMap<String, u64>,
    mappings: BTreeMap<String, u64>,
    /// By function, mapping and address.
    frames: BTreeMap<(u64, u64, u64), u64>,
    stacks: BTreeMap<Vec<u64>, u64>,
    /// What is new since the last packet.
    new: Message,
}

impl Interned {
    fn function(&mut self, name: &str) -> u64 {
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry(name.to_owned()).or_insert(next);
        if id == next {
            let mut function = Message::default();
            function.number(1, id).text(2, name);
            self.new.message(5, &function);
        }
        id
    }

    /// Where code is from. Readers drop frames that are from nowhere, so that what has no module is from a
    /// mapping without a name.
    fn mapping(&mut self, path: &str) -> u64 {
        let next = self.mappings.len() as u64 + 1;
        let id = *self.mappings.entry(path.to_owned()).or_insert(next);
        if id == next {
            let (mut name, mut mapping) = <(Message, Message)>::default();
            name.number(1, id).text(2, path);
            mapping.number(1, id).number(7, id);
            self.new.message(17, &name).message(19, &mapping);
        }
        id
    }

    fn frame(&mut self, name: &str, path: &str, address: u64) -> u64 {
        let key = (self.function(name), self.mapping(path), address);
        let next = self.frames.len() as u64 + 1;
        let id = *self.frames.entry(key).or_insert(next);
        if id == next {
            let mut frame = Message::default();
            frame.number(1, id).number(2, key.0);
            frame.number(3, key.1).number(4, address);
            self.new.message(6, &frame);
        }
        id
    }

    /// A stack, the outermost frame first.
    fn stack(&mut self, frames: Vec<u64>) -> u64 {
        if let Some(&known) = self.stacks.get(&frames) {
            return known;
        }
        let id = self.stacks.len() as u64 + 1;
        let mut stack = Message::default();
        stack.number(1, id);
        for frame in &frames {
            stack.number(2, *frame);
        }
        self.new.message(7, &stack);
        self.stacks.insert(frames, id);
        id
    }
}

fn stacks(export: &Export, out: &mut impl Write) -> std::io::Result<()> {
    let mut interned = Interned::default();
    let mut flags = packet::CLEARED | packet::NEEDED;
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
            let (mut sample, mut packet) = <(Message, Message)>::default();
            sample.number(2, u64::from(pid));
            sample.number(3, u64::from(thread.row.tid)).number(4, stack);
            sample.number(5, if kernel { mode::KERNEL } else { mode::USER });
            packet.number(packet::TIMESTAMP, u64::try_from(event.at.0).unwrap_or(0));
            packet.number(packet::SEQUENCE, STACKS);
            packet.number(packet::FLAGS, flags);
            packet.message(packet::INTERNED, &std::mem::take(&mut interned.new));
            packet.message(packet::SAMPLE, &sample);
            put(out, &packet)?;
            flags = packet::NEEDED;
        }
    }
    Ok(())
}
