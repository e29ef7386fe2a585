//! Names that only the live system knows: kernel symbols, and threads that are not recorded.

use rustc_hash::FxHashSet;

use crate::kernel::Kernel;
use crate::probes::text;
use crate::spool::{Note, Writer};

/// What has been named so far, and what has yet to be.
#[derive(Default)]
pub struct Names {
    known_tids: FxHashSet<u32>,
    /// Threads that are not yet looked up, and their names where an event told them.
    unknown_tids: Vec<(u32, Option<String>)>,
    known_addresses: FxHashSet<u64>,
    unknown_addresses: Vec<u64>,
}

impl Names {
    pub fn recorded(&mut self, tid: u32) {
        self.known_tids.insert(tid);
    }

    /// A thread whose name is not told: it is asked of /proc soon, while it may still be there.
    pub fn mention(&mut self, tid: u32) {
        if tid != 0 && self.known_tids.insert(tid) {
            self.unknown_tids.push((tid, None));
        }
    }

    /// A thread whose name an event told; its process is asked of /proc.
    pub fn named(&mut self, tid: u32, name: &[std::os::raw::c_char]) {
        if tid != 0 && self.known_tids.insert(tid) {
            self.unknown_tids.push((tid, Some(text(name))));
        }
    }

    pub fn frames(&mut self, addresses: &[u64]) {
        for &address in addresses {
            if address != 0 && self.known_addresses.insert(address) {
                self.unknown_addresses.push(address);
            }
        }
    }

    /// Find the names and processes of the threads that were mentioned, and write them down.
    pub fn resolve_threads(&mut self, spool: &mut Writer) {
        // The first thread of a process is looked up because another one is.
        while let Some((tid, named)) = self.unknown_tids.pop() {
            let (found, pid) = read_status(tid);
            spool.note(&Note::Outsider {
                tid,
                name: named.or(found).unwrap_or_default(),
                pid,
            });
            pid.into_iter().for_each(|pid| self.mention(pid));
        }
    }

    /// The same for the kernel functions.
    pub fn resolve_functions(&mut self, kernel: &mut Kernel, spool: &mut Writer) {
        for address in std::mem::take(&mut self.unknown_addresses) {
            let name = kernel.symbol(address).unwrap_or_default();
            spool.note(&Note::Symbol { address, name });
        }
    }
}

/// The name of a thread, and the number of its process. A name may be anything, but for line breaks, which /proc escapes.
fn read_status(tid: u32) -> (Option<String>, Option<u32>) {
    let status = std::fs::read(format!("/proc/{tid}/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
    let name = value("Name:\t").map(str::to_owned);
    (name, value("Tgid:\t").and_then(|pid| pid.parse().ok()))
}
