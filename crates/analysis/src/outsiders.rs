//! Threads that are not recorded but woke or held up one that is, and the processes that they are part of.

use timesink_recording::tables::Outsider;

/// The outsiders of a recording, sorted by the kernel's thread id.
#[derive(Clone, Debug, Default)]
pub struct Outsiders(Vec<Outsider>);

impl Outsiders {
    pub fn new(mut rows: Vec<Outsider>) -> Outsiders {
        rows.sort_by_key(|row| row.tid);
        Outsiders(rows)
    }

    fn row(&self, tid: u32) -> Option<&Outsider> {
        let at = self.0.binary_search_by_key(&tid, |row| row.tid);
        self.0.get(at.ok()?)
    }

    /// The first thread of the process that a thread is part of; the thread itself where that is not known.
    pub fn process(&self, tid: u32) -> u32 {
        let pid = self.row(tid).and_then(|row| row.pid);
        pid.filter(|&pid| self.row(pid).is_some()).unwrap_or(tid)
    }

    /// The name of a thread; empty where it was not had.
    pub fn name(&self, tid: u32) -> &str {
        self.row(tid).map_or("", |row| &row.name)
    }
}
