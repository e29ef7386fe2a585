//! What is known of single waits beyond their spans: the call, whether a time-out ended it, which of several
//! things did. Only waits that were recorded one by one have that.

use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::{Call, CallSite, Wait};
use timesink_recording::words::Detail;
use timesink_recording::{Nanos, Recording};

use super::disk_reads::DiskReads;
use super::groups::{Grouping, WaitGroup};
use crate::facts::sockets::{plain, sends};
use crate::replay::CallsOfWaits;
use crate::timeline::Timeline;

/// What the row of one wait says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The index of its span, in [`crate::timeline::Spans::span`].
    span: u32,
    call: u16,
    /// The time that was asked for ran out.
    pub expired: bool,
    pub came: Came,
    /// Of a wait for any of several things, the one that came.
    pub woken: Option<ObjectId>,
    /// The socket that the thread last sent something on before it, and after its wait before.
    pub sent: Option<ObjectId>,
    /// It was for one thing alone: also a poll may be, of one descriptor.
    pub alone: bool,
    /// It was for many things, and several of them came at once.
    pub several: bool,
    /// The bytes that its call moved or was to write, as far as a number of this size holds them; 0 if that is not known.
    moved: u32,
}

/// What a call came back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    Something,
    /// The other side is gone, or the call failed.
    Nothing,
    /// Calls were not timed just then.
    Unknown,
}

/// What is known of all waits, and the sums of calls beside them.
#[derive(Clone, Debug, Default)]
pub struct KnownWaits {
    /// In the order of spans.
    known: Vec<Known>,
    names: Vec<String>,
    /// In which calls each kind of wait was.
    pub calls_of: CallsOfWaits,
    /// System calls, in the order of threads.
    pub calls: Vec<Call>,
    /// Waits that are alike, longest first.
    pub groups: Vec<WaitGroup>,
    /// Waits for files on disks, each with what was asked of the disk meanwhile.
    pub disk_reads: Vec<DiskReads>,
    /// Some of what was sent on sockets, in the order of threads and time.
    pub sent: Vec<Sent>,
}

/// Something that was sent on a socket: the moment is known of the 1st, 2nd, 4th, ... time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    pub thread: ThreadId,
    pub at: Nanos,
    pub socket: ObjectId,
}

impl KnownWaits {
    /// Reads what an open recording, whose timeline this is, knows.
    pub fn of(
        recording: &Recording,
        timeline: &Timeline,
        calls: Vec<Call>,
    ) -> timesink_recording::Result<KnownWaits> {
        let mut waited = KnownWaits {
            calls,
            disk_reads: DiskReads::all(timeline, recording.rows()?),
            ..KnownWaits::default()
        };
        let mut grouping = Grouping::default();
        // As soon as there is a row, the table is known to be allowed as many as it says.
        let mut room = usize::try_from(recording.row_count::<Wait>()?).unwrap_or(0);
        recording.scan(|rows: &[Wait]| {
            waited.known.reserve_exact(std::mem::take(&mut room));
            for row in rows {
                let (detail, object) = timeline.was_for(row);
                waited.calls_of.add(row, detail, object);
                waited.add(row, timeline);
                if let Some(slot) = timeline.slot(row.thread) {
                    grouping.add(row, timeline.threads[slot].process, detail, object);
                }
            }
        })?;
        recording.scan(|rows: &[CallSite]| {
            let sends = rows.iter().filter(|row| sends(plain(&row.call)));
            let sent = sends.filter(|row| row.error.is_empty());
            waited.sent.extend(sent.filter_map(|row| {
                Some(Sent {
                    thread: row.thread,
                    at: row.t,
                    socket: row.object?,
                })
            }));
        })?;
        waited.sent.sort_unstable();
        waited.groups = grouping.finish();
        waited.calls.sort_by_key(|row| row.thread);
        if !waited.known.is_sorted_by_key(|known| known.span) {
            waited.known.sort_by_key(|known| known.span);
        }
        Ok(waited)
    }

    fn add(&mut self, row: &Wait, timeline: &Timeline) {
        let span = timeline.slot(row.thread);
        let span = span.and_then(|slot| timeline.wait_at(slot, row.t0));
        let Some(span) = span.and_then(|span| u32::try_from(span).ok()) else {
            return;
        };
        let call = match self.names.iter().position(|name| *name == row.call) {
            Some(known) => known,
            None => {
                self.names.push(row.call.clone());
                self.names.len() - 1
            }
        };
        // To receive nothing is the end of a connection.
        let receives = matches!(row.detail, Detail::NetworkReceive | Detail::UnixReceive);
        let worst = if receives { 1 } else { 0 };
        self.known.push(Known {
            span,
            call: u16::try_from(call).unwrap_or(u16::MAX),
            expired: row.expired == Some(true),
            came: match row.result {
                None => Came::Unknown,
                Some(result) if result < worst => Came::Nothing,
                Some(_) => Came::Something,
            },
            woken: row.woken_object,
            sent: row.sent_object,
            alone: row.detail != Detail::Poll
                || matches!(row.call.as_str(), "poll" | "ppoll") && row.flags == Some(1),
            several: row.detail == Detail::Poll && row.result.is_some_and(|came| came > 1),
            moved: moved(row),
        });
    }

    /// What is known of the wait that a span is.
    pub fn known(&self, span: usize) -> Option<&Known> {
        let at = self
            .known
            .binary_search_by_key(&span, |known| known.span as usize);
        self.known.get(at.ok()?)
    }

    /// The bytes that the call moved in which the wait was that a span is, if that is known; of a call that writes and has
    /// not come back, those that it is to write.
    pub fn moved(&self, span: usize) -> Option<u64> {
        let moved = self.known(span)?.moved;
        (moved > 0).then_some(u64::from(moved))
    }

    /// Whether the wait that a span is was in this call: by its own row, else by others of its kind.
    pub fn was_in(&self, span: usize, kind: (Detail, Option<ObjectId>), call: &str) -> bool {
        match self.known(span) {
            Some(known) => self.name(known) == call,
            None => self
                .calls_of
                .of_kind(kind.0, kind.1)
                .iter()
                .any(|c| c == call),
        }
    }

    /// All waits of which more is known, each with the index of its span.
    pub fn each(&self) -> impl Iterator<Item = (usize, &Known)> {
        self.known.iter().map(|known| (known.span as usize, known))
    }

    /// Whether any wait was in this call.
    pub fn has_call(&self, call: &str) -> bool {
        self.names.iter().any(|name| name == call)
    }

    fn name(&self, known: &Known) -> &str {
        let name = self.names.get(usize::from(known.call));
        name.map_or("", String::as_str)
    }
}

/// What a call came back with is bytes only where bytes were asked for. Who reads asks for as many as there is room for, which says
/// nothing; who writes has so many.
fn moved(row: &Wait) -> u32 {
    let writes = matches!(
        row.detail,
        Detail::PipeWrite | Detail::NetworkSend | Detail::UnixSend
    );
    let bytes = match (row.bytes, row.result) {
        (Some(_), Some(result)) => u64::try_from(result).unwrap_or(0),
        (Some(asked), None) if writes => asked,
        _ => 0,
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
