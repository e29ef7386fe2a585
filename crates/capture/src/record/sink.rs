//! Where the ring's events go: into the spool as they are, with a look at those that tell the loop
//! something.

use crate::environment::files::UsedFiles;
use crate::environment::Groups;
use crate::probes::{self, events};
use crate::record::names::Names;
use crate::record::stacks::LiveStacks;
use crate::redact;
use crate::spool::{Note, Writer};

pub struct Sink {
    pub spool: Writer,
    pub names: Names,
    pub stacks: LiveStacks,
    /// The processes that only measured what recording costs; none of their events is kept.
    calibrators: Vec<u32>,
    calibrator_threads: Vec<u32>,
    /// The first thread of the program, whose end is awaited.
    root: Option<u32>,
    root_thread: Option<u32>,
    pub root_ended: bool,
    pub samples: u64,
    pub files: UsedFiles,
    /// The control groups of processes are kept.
    pub keeps_groups: bool,
    /// Arguments of programs are kept without what looks like a secret.
    redact: bool,
    /// The event that is about to be kept.
    kept: Vec<u8>,
}

impl Sink {
    pub fn new(spool: Writer, stacks: LiveStacks, redact: bool) -> Sink {
        Sink {
            redact,
            keeps_groups: false,
            kept: Vec::new(),
            spool,
            names: Names::default(),
            stacks,
            calibrators: Vec::new(),
            calibrator_threads: Vec::new(),
            root: None,
            root_thread: None,
            root_ended: false,
            samples: 0,
            files: UsedFiles::default(),
        }
    }

    pub fn leave_out(&mut self, pids: &[u32]) {
        self.calibrators.extend_from_slice(pids);
    }

    pub fn await_end_of(&mut self, pid: u32) {
        self.root = Some(pid);
        self.stacks.holds(pid);
    }

    pub fn take(&mut self, bytes: &[u8]) {
        let Some(head) = probes::head(bytes) else {
            return;
        };
        if u32::from(head.kind) == events::TS_TURNS {
            return probes::turns(bytes).for_each(|turn| self.take(turn));
        }
        if self.calibrator_threads.contains(&head.thread) {
            return;
        }
        match u32::from(head.kind) {
            // Switches are the bulk; the rest is decoded at leisure.
            events::TS_CALLS | events::TS_LOOKUP | events::TS_SITE => {}
            events::TS_OBJECT => {
                if let Some(probes::Event::Object(object)) = probes::decode(bytes) {
                    self.files.note(&object);
                }
            }
            events::TS_STACK => return self.stack(bytes),
            events::TS_INTERPRETED
            | events::TS_CODE
            | events::TS_FUNCTION
            | events::TS_SCRIPT
            | events::TS_LEFT
            | events::TS_TASK => return self.stacks.take(bytes),
            events::TS_TURN => {
                self.look(bytes);
                return self.spool.event(bytes);
            }
            _ => {
                if !self.look(bytes) {
                    return;
                }
            }
        }
        self.keep(bytes);
    }

    /// Nothing gets into the spool that was not set, or is not to be kept: who kills timesink in the next moment finds it there.
    fn keep(&mut self, bytes: &[u8]) {
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
        probes::clear_leftovers(&mut self.kept);
        if let (true, Some(probes::Event::Exec(exec))) = (self.redact, probes::decode(bytes)) {
            let is_whole = exec.arguments_length < events::TS_ARGUMENTS;
            let redacted = redacted(&probes::arguments(&exec), is_whole);
            probes::set_arguments(&mut self.kept, redacted.as_bytes());
        }
        self.spool.event(&self.kept);
    }

    /// What a process runs that nobody saw execute it.
    pub fn note_program(&mut self, pid: u32, executable: String, line: &[u8], is_whole: bool) {
        let arguments = match self.redact {
            true => redacted(line, is_whole),
            false => String::from_utf8_lossy(line).into_owned(),
        };
        self.spool.note(&Note::Program {
            pid,
            executable,
            arguments: arguments.trim_end_matches('\0').to_owned(),
        });
    }

    /// Which control group a process is in, where that is kept.
    pub fn note_group(&mut self, pid: u32) {
        let group = self.keeps_groups.then(|| Groups::name(pid)).flatten();
        if let Some(group) = group {
            self.spool.note(&Note::Group { pid, group });
        }
    }

    /// Stacks are unwound before they are kept.
    fn stack(&mut self, bytes: &[u8]) {
        if let Some(stack) = probes::stack(bytes) {
            self.samples += u64::from(u32::from(stack.what) == events::TS_OF_SAMPLE);
            let count = usize::from(stack.frames);
            self.names
                .frames(&stack.frame[..count.min(stack.frame.len())]);
            self.stacks.take(bytes);
        }
    }

    /// False if the event is not to be kept.
    fn look(&mut self, bytes: &[u8]) -> bool {
        match probes::decode(bytes) {
            Some(probes::Event::Turn(turn)) => {
                self.names.mention(turn.waker);
                self.names.mention(turn.occupant);
            }
            Some(probes::Event::Wait(wait)) => {
                self.names.named(wait.turn.waker, &wait.waker_name);
                self.names.mention(wait.turn.occupant);
                let count = (wait.frames as usize).min(wait.frame.len());
                self.names.frames(&wait.frame[..count]);
            }
            Some(probes::Event::Queue(queue)) => {
                for who in queue.who.iter().filter(|who| who.ns > 0) {
                    self.names.named(who.tid, &who.name);
                }
            }
            Some(probes::Event::Start(start)) => {
                if self.calibrators.contains(&start.pid) {
                    self.calibrator_threads.push(start.head.thread);
                    return false;
                }
                if Some(start.tid) == self.root && self.root_thread.is_none() {
                    self.root_thread = Some(start.head.thread);
                }
                self.names.recorded(start.tid);
            }
            Some(probes::Event::End(end)) if Some(end.head.thread) == self.root_thread => {
                self.root_ended = true;
            }
            Some(probes::Event::Exec(exec)) => {
                self.stacks.executed(&exec);
                // Who starts a unit or a container moves itself, and then executes it. Another thread than the first is the first by now.
                self.note_group(exec.tid);
            }
            _ => {}
        }
        true
    }
}

/// A command line without secrets. What was cut may be one that can no longer be told.
fn redacted(line: &[u8], is_whole: bool) -> String {
    let line = String::from_utf8_lossy(line);
    let mut redacted = redact::arguments(&line.split('\0').collect::<Vec<_>>()).join("\0");
    if !is_whole {
        redacted.truncate(redacted.rfind('\0').unwrap_or(0));
    }
    redacted
}
