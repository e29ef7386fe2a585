//! Names that only the live system knows: kernel symbols, and threads that are not recorded.

use rustc_hash::FxHashSet;

use crate::kernel::Kernel;
use crate::probes::text;
use crate::spool::{Note, Writer};

/// What has been named so far, and what has yet to be.
#[derive(Default)]
pub struct Names {
    known_tids: FxHashSet<u32>,
    unknown_tids: Vec<u32>,
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
            self.unknown_tids.push(tid);
        }
    }

    pub fn named(&mut self, spool: &mut Writer, tid: u32, name: &[std::os::raw::c_char]) {
        if tid != 0 && self.known_tids.insert(tid) {
            spool.note(&Note::Outsider {
                tid,
                name: text(name),
            });
        }
    }

    pub fn frames(&mut self, addresses: &[u64]) {
        for &address in addresses {
            if address != 0 && self.known_addresses.insert(address) {
                self.unknown_addresses.push(address);
            }
        }
    }

    /// Find the names of the threads that were mentioned, and write them down.
    pub fn resolve_threads(&mut self, spool: &mut Writer) {
        for tid in std::mem::take(&mut self.unknown_tids) {
            let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
            spool.note(&Note::Outsider {
                tid,
                name: name.trim_end().to_string(),
            });
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
