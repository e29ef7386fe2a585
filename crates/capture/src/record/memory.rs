//! The memory of a recorded process, read by whole pages and kept for a round: Java's methods and the functions of Node.js
//! are found in it.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::java::Memory;
use crate::reader::Theirs;

/// What is read and kept at once of a process's memory, and of how much.
const PAGE: u64 = 4096;
const MOST_PAGES: u64 = 4096;

/// The memory of a process, as it was when it was first read in this round.
pub(super) struct Opened {
    memory: Theirs,
    pages: RefCell<HashMap<u64, Page>>,
}

/// As much of it as there is.
type Page = Box<[u8]>;

impl Opened {
    pub(super) fn of(memory: Theirs) -> Opened {
        Opened {
            memory,
            pages: RefCell::default(),
        }
    }

    /// What was read may be something else by now.
    pub(super) fn forget(&self) {
        self.pages.borrow_mut().clear();
    }

    /// Reads pages that are missing, all at once: each time somebody else has to be asked.
    fn fetch(&self, pages: &mut HashMap<u64, Page>, first: u64, last: u64) {
        if pages.len() as u64 + (last - first) >= MOST_PAGES {
            pages.clear();
        }
        let length = (last - first + 1) * PAGE;
        let mut bytes = vec![0; length as usize];
        let read = self.memory.read_at(&mut bytes, first * PAGE).unwrap_or(0);
        for (page, bytes) in (first..=last).zip(bytes.chunks(PAGE as usize)) {
            let there = read.saturating_sub(((page - first) * PAGE) as usize);
            pages.insert(page, bytes[..there.min(bytes.len())].into());
        }
    }
}

impl Memory for Opened {
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let Some(end) = address
            .checked_add(bytes.len() as u64)
            .filter(|_| !bytes.is_empty())
        else {
            return 0;
        };
        let (first, last) = (address / PAGE, (end - 1) / PAGE);
        let mut pages = self.pages.borrow_mut();
        if (first..=last).any(|page| !pages.contains_key(&page)) {
            self.fetch(&mut pages, first, last);
        }
        let mut read = 0;
        for page in first..=last {
            let from = (address + read as u64) - page * PAGE;
            let there = pages.get(&page).and_then(|page| page.get(from as usize..));
            let there = there.unwrap_or_default();
            let count = there.len().min(bytes.len() - read);
            bytes[read..read + count].copy_from_slice(&there[..count]);
            read += count;
            if from + count as u64 != PAGE {
                break;
            }
        }
        read
    }
}
