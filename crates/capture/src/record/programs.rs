//! What the processes of a machine that ran before it was recorded are executions of, and their control groups: no event tells of
//! that. Not asked of the servers of one program: who is of the same executable as its client is told as one with it.

use std::cell::RefCell;

use super::sink::Sink;
use crate::reader::Reader;

/// As much of a command line as an event of an execution has.
const MOST: u64 = crate::probes::events::TS_ARGUMENTS as u64;

/// Writes it down. Of a process that has ended by now, or is a thread of the kernel, there is nothing.
pub(super) fn note(pids: &[u32], reader: &Reader, sink: &RefCell<Sink>) {
    for &pid in pids {
        sink.borrow_mut().note_group(pid);
        let Ok(executable) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
            continue;
        };
        let line = reader.text(pid, "cmdline", MOST).unwrap_or_default();
        let whole = (line.len() as u64) < MOST;
        let executable = executable.to_string_lossy().into_owned();
        sink.borrow_mut()
            .note_program(pid, executable, &line, whole);
    }
}
