//! Tags: a row for each stretch of time in which a thread was seen to have one.

use std::collections::HashMap;

use timesink_recording::tables::tag_turns::TagTurn;
use timesink_recording::tables::tags::Tag;
use timesink_recording::{Nanos, ProcessId, RecordingWriter, TagId, ThreadId};

use crate::convert::lives::Lives;
use crate::error::Error;
use crate::probes::{events as e, text};

/// The tag of a thread, and since when.
struct TagNow {
    tag: Option<TagId>,
    since: Nanos,
}

#[derive(Default)]
pub struct Tags {
    /// The process and the text of each.
    rows: Vec<(ProcessId, String)>,
    by_mark: HashMap<(ProcessId, u64), TagId>,
    by_text: HashMap<(ProcessId, String), TagId>,
    now: HashMap<ThreadId, TagNow>,
}

impl Tags {
    pub fn told(&mut self, event: &e::ts_tag_text, lives: &Lives) {
        let thread = lives.thread(event.head.thread);
        let Some(process) = thread.and_then(|thread| lives.process_of(thread)) else {
            return;
        };
        let text = text(&event.text).replace(char::is_control, "?");
        let text = (!text.is_empty()).then_some(text);
        let tag = self.known(process, text.unwrap_or_else(|| UNREADABLE.into()));
        self.by_mark.insert((process, event.tag), tag);
    }

    fn known(&mut self, process: ProcessId, text: String) -> TagId {
        let next = TagId(self.rows.len() as u32);
        let tag = *self.by_text.entry((process, text.clone())).or_insert(next);
        if tag == next {
            self.rows.push((process, text));
        }
        tag
    }

    /// Changes of one thread come in the order of time.
    pub fn take(
        &mut self,
        event: &e::ts_tag,
        lives: &Lives,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let thread = lives.thread(event.head.thread);
        let Some((thread, process)) = thread.and_then(|t| Some((t, lives.process_of(t)?))) else {
            return Ok(());
        };
        let known = self.by_mark.get(&(process, event.tag)).copied();
        let tag = match event.tag {
            0 => None,
            // Its text was lost.
            _ => Some(known.unwrap_or_else(|| self.known(process, UNREADABLE.into()))),
        };
        let since = lives.at(event.head.t);
        if let Some(before) = self.now.insert(thread, TagNow { tag, since }) {
            out.push(turn(thread, before, lives.at(event.seen_before)))?;
        }
        Ok(())
    }

    /// The program is another from here on: its threads have no tags yet.
    pub fn executed(
        &mut self,
        event: &e::ts_exec,
        lives: &Lives,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let now = lives.thread(event.head.thread);
        let now = now.and_then(|thread| Some((thread, self.now.remove(&thread)?)));
        if let Some((thread, now)) = now {
            let at = lives.at(event.head.t);
            let since = at.max(now.since);
            out.push(turn(thread, now, at))?;
            self.now.insert(thread, TagNow { tag: None, since });
        }
        Ok(())
    }

    /// What threads had at last they had until their end.
    pub fn write(mut self, lives: &Lives, out: &mut RecordingWriter) -> Result<(), Error> {
        let mut last: Vec<_> = self.now.drain().collect();
        last.sort_unstable_by_key(|(thread, _)| *thread);
        for (thread, now) in last {
            let end = lives.threads.get(thread.index()).map(|thread| thread.end);
            let end = end.unwrap_or(now.since);
            out.push(turn(thread, now, end))?;
        }
        for (number, (process, path)) in self.rows.into_iter().enumerate() {
            let tag = TagId(number as u32);
            out.push(Tag { tag, process, path })?;
        }
        Ok(())
    }
}

/// The path of a tag whose text is not known.
const UNREADABLE: &str = "?";

fn turn(thread: ThreadId, now: TagNow, until: Nanos) -> TagTurn {
    TagTurn {
        thread,
        tag: now.tag,
        t0: now.since,
        t1: until.max(now.since),
    }
}
