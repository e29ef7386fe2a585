//! Small recordings written as text, for tests. A fault in the text panics with its line number.
//!
//! ```
//! let recording = timesink_recording::notation::recording("
//!     run wall 20ms threshold 50us              # the manifest; all of it optional
//!     process 1 pid 100 import                  # number, kernel's id, name
//!     thread 1.1 tid 100 main kernel_cpu 590us  # process.thread; sums are computed or given
//!     thread 1.2 tid 101 flusher parent 1.1
//!     object rows.db file /var/lib/rows.db      # only where the guess would not do
//!
//!     1.1: cpu 0..570us | wait 570us..13.65ms flush rows.db by block device call fsync
//!        | ready ..13.67ms on 1 occupant 1.2 20us | cpu +20us | cpu +10us exit tear-down
//!     1.2: wait 0..13ms condition by outsider 4242 | cpu +670us tracer 3us
//!     call 1.1 fsync rows.db count 1 ns 13.08ms
//!     outsider 4242 jbd2
//! ");
//! let spans = recording.rows::<timesink_recording::tables::Span>()?;
//! assert_eq!(spans.len(), 7);
//! # Ok::<(), timesink_recording::Error>(())
//! ```
//!
//! **Spans.** `P.T: SPAN | SPAN | ...`; a line that begins with `|` goes on with the thread before.
//! `STATE FROM..TO [DETAIL] [OBJECT] [ATTRIBUTE...]`, where `FROM` may be left out (the end of the
//! span before, or 0) and `+LENGTH` may stand for the pair. States and details are the words of
//! [`crate::words`]; without a detail it is `running`, `woken`, `other` or `unknown` by state.
//! Gaps and overlaps are allowed: some tests are about them. Attributes:
//!
//! | attribute | column |
//! |---|---|
//! | `on N` | processor (default 0) |
//! | `by P.T` | waker, with wake source `thread` |
//! | `by outsider TID` | waker_outsider, with wake source `thread` |
//! | `by timer`, `by block device`, ... | wake source alone; after another `by` it replaces its source |
//! | `tracer TIME` | tracer_ns |
//! | `taken TIME` | taken_ns |
//! | `occupant P.T TIME`, `occupant outsider TID TIME` | a row of `occupants`; may be repeated |
//! | `call NAME`, `function NAME`, `asked TIME`, `expired`, `not_expired`, `bytes N`, `flags N`, `result N`, `woken_fd N`, `woken_object OBJECT`, `sent_object OBJECT`, `owner P.T`, `stack STACK`, `waker_stack STACK` | the row of `waits` |
//!
//! A wait gets a row in `waits` if it is as long as the threshold (50 us unless `run` says
//! otherwise) or has one of its attributes. So does a time ready in `delays`, whose one attribute is `stack STACK`.
//!
//! **Threads and processes** must be declared before they are used. `thread P.T [NAME] [KEY VALUE]...`
//! with the columns of `threads` as keys (without `_ns`; times carry a unit) and the flags
//! `born_before`, `alive_at_end`, `end_lost`. Sums that are not given are those of the spans, and
//! the kernel's are equal to ours. `process N [NAME] [KEY VALUE]...` likewise.
//!
//! **Samples.** `sample P.T AT [weight TIME] [stack STACK] [kernel] [on N] [address N]`. They count into
//! `samples_user` and `samples_kernel` of the thread, unless those are given.
//!
//! **Stacks.** `"main;run;crc32"`: functions, the outermost first. `"...;run;crc32"` has lost its outer
//! frames, so it is not complete. Each name is one frame; what it is besides a name is said before by
//! `frame NAME [function NAME] [module PATH] [kind KIND] [file FILE] [line N] [offset N] [inlined]
//! [language LANGUAGE]`, with the words of [`crate::words`]. `function` is for two places in the
//! same function, and `function ""` for a place without a name. Modules come about as they are named.
//!
//! **Objects** come about when they are named, of a kind that suits the wait (`file` for a flush,
//! `tcp socket` for a network receive); `object NAME KIND [LABEL] [local ADDRESS] [remote ADDRESS]` before that says otherwise.
//! A socket's label is its peer's address unless said otherwise.
//!
//! **Numbers.** Threads, objects, frames, modules and stacks are numbered from 1 in the order in which they are named first,
//! processes as written; [`Draft::thread`] and [`Draft::object`] look them up. **Times** are `0`,
//! `20ns`, `3us`, `1.5ms`, `2s`. **Words** with spaces stand in double quotes. `#` begins a comment.
//!
//! **Calls.** `call P.T NAME [OBJECT] [count N] [ns TIME] [bytes N] [errors N] [seen N] [estimated]`; of these
//! `error P.T NAME ERROR [OBJECT] [count N]`, `histogram P.T NAME size|duration [OBJECT] bucket N count N`; and
//! `lookup PROCESS NAME PATH [ERROR] [count N]`. From where: `site P.T NAME [OBJECT] [path PATH] [error ERROR] [at TIME]
//! [occurrence N] [stack STACK]`.
//!
//! **Steps of processes.** `image PROCESS fork|vfork|exec|exit AT [by P.T] [cost TIME] [resident BYTES]
//! [executable PATH] [arguments "A B"]`.
//!
//! **Requests to disks.** `request P.T FROM..TO read|write|flush|discard|other SECTOR [bytes N] [device N]`.
//!
//! **Tasks.** `task N PROCESS [coroutine|future] [named NAME] [parent N] [stack STACK]`: a goroutine, its first function under where it was
//! started, or a coroutine, or a task of tokio;
//! `turn P.T FROM..TO [task N] [left STATE] [at STACK]`: when the thread was seen at work for it, or for none, and how it left it.
//!
//! **Tags.** `tag N PROCESS "PATH"`; `tagged P.T FROM..TO [tag N]`: when the thread was seen to have it, or none.
//!
//! **What went wrong.** `loss KIND COUNT [NOTE]`, and `run ... mended TEXT` of a recording that was cut short.
//!
//! **Lines again and again.** `for n in 1..30` up to `end`: the lines between, thirty times, in which `{n}`, `{12n}`
//! and `{12n+1}` are numbers. A line that begins with `|` still goes on with the thread before.
//!
//! **Other tables** are empty unless a test pushes rows into the [`Draft`], which has all of them.

mod code;
mod code_names;
mod kept;
mod parser;
mod repeat;
mod rows;
mod spans;
mod sums;

use crate::about::About;
use crate::error::Result;
use crate::ids::{ObjectId, ThreadId};
use crate::store::Recording;
use crate::tables;
use crate::writer::RecordingWriter;
pub use kept::compare_with_kept;
use parser::Parser;
pub use parser::{time_of, words_of};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// The recording that the text describes. It leaves nothing on disk.
pub fn recording(text: &str) -> Recording {
    draft(text).recording()
}

/// The rows that the text describes, to be added to or written.
pub fn draft(text: &str) -> Draft {
    let mut parser = Parser::default();
    parser.draft.about.threshold_ns = 50_000;
    for (number, line) in join_lines(text) {
        parser.line = number;
        parser.statement(&line);
    }
    parser.finish()
}

macro_rules! draft_of {
    ($($field:ident : $row:ident,)+) => {
        /// A recording in memory, as rows.
        #[derive(Debug, Clone, Default)]
        pub struct Draft {
            pub about: About,
            $( pub $field: Vec<tables::$row>, )+
            thread_names: BTreeMap<String, ThreadId>,
            object_names: BTreeMap<String, ObjectId>,
        }

        impl Draft {
            /// Writes it into a new folder.
            pub fn write(&self, folder: &Path) -> Result<About> {
                let mut writer = RecordingWriter::create(folder)?;
                $( for row in &self.$field {
                    writer.push(row.clone())?;
                } )+
                writer.finish(self.about.clone())
            }
        }
    };
}

draft_of! {
    call_errors: CallError,
    call_histograms: CallHistogram,
    call_sites: CallSite,
    call_windows: CallWindow,
    calls: Call,
    delays: Delay,
    facts: Fact,
    frames: Frame,
    images: Image,
    lookups: Lookup,
    losses: Loss,
    modules: Module,
    objects: Object,
    occupants: Occupant,
    outsiders: Outsider,
    probes: Probe,
    processes: Process,
    requests: Request,
    samples: Sample,
    spans: Span,
    stacks: Stack,
    tag_turns: TagTurn,
    tags: Tag,
    task_sights: TaskSight,
    task_turns: TaskTurn,
    tasks: Task,
    threads: Thread,
    waits: Wait,
}

impl Draft {
    /// The number of the thread written as `P.T`.
    #[track_caller]
    pub fn thread(&self, name: &str) -> ThreadId {
        match self.thread_names.get(name) {
            Some(&thread) => thread,
            None => panic!("notation: no thread {name}"),
        }
    }

    /// The number of the object with this name.
    #[track_caller]
    pub fn object(&self, name: &str) -> ObjectId {
        match self.object_names.get(name) {
            Some(&object) => object,
            None => panic!("notation: no object {name}"),
        }
    }

    /// Writes it, opens it, and removes it: what is open stays readable.
    pub fn recording(&self) -> Recording {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("timesink-notation-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let recording = self.write(&folder).and_then(|_| Recording::open(&folder));
        // Left behind it would be in nobody's way.
        let _ = std::fs::remove_dir_all(&folder);
        match recording {
            Ok(recording) => recording,
            Err(error) => panic!("notation: {error}"),
        }
    }
}

/// Takes comments and empty lines away and joins lines that begin with `|` to the one before.
fn join_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (number, line) in repeat::unrolled(text.lines()) {
        let line = match line.find('#') {
            Some(at) if at == 0 || line[..at].ends_with(char::is_whitespace) => &line[..at],
            _ => &line,
        };
        let line = line.trim();
        match lines.last_mut() {
            Some((_, before)) if line.starts_with('|') => before.push_str(line),
            _ if line.is_empty() => (),
            _ => lines.push((number, line.to_owned())),
        }
    }
    lines
}
