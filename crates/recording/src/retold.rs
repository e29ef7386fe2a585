//! Waits of which it shows later what they were for: they are read as what they were.
//!
//! The recorder sees that a thread waits at an address. That a runtime's lock is behind it, or a sleep, only its stack shows, and names of
//! functions are known when all is recorded.

use std::any::Any;
use std::collections::{HashMap, HashSet};

use crate::ids::{ObjectId, ThreadId};
use crate::tables::{Object, Span, Wait};
use crate::words::{Detail, State};
use crate::Nanos;

/// Waits for locks that were recorded as waits for conditions, and these locks; and sleeps that were recorded as waits.
#[derive(Clone, Debug, Default)]
pub struct Retold {
    /// By who waits, and since when.
    pub waits: HashMap<(ThreadId, Nanos), ObjectId>,
    /// By who waits, and at which address: shorter waits, which have no stack, for what this thread waits for there.
    pub addresses: HashMap<(ThreadId, ObjectId), ObjectId>,
    /// Waits at such addresses that were for something else.
    pub others: HashSet<(ThreadId, Nanos)>,
    /// They come after the objects that were recorded.
    pub locks: Vec<Object>,
    pub sleeps: HashSet<(ThreadId, Nanos)>,
}

impl Retold {
    /// Reads rows as what they are known to be now, of whichever table.
    pub(crate) fn tell(&self, rows: &mut dyn Any) {
        if let Some(rows) = rows.downcast_mut::<Vec<Span>>() {
            let waits = rows.iter_mut().filter(|row| row.state == State::Wait);
            for row in waits {
                self.tell_wait((row.thread, row.t0), &mut row.detail, &mut row.object);
            }
        } else if let Some(rows) = rows.downcast_mut::<Vec<Wait>>() {
            for row in rows {
                self.tell_wait((row.thread, row.t0), &mut row.detail, &mut row.object);
            }
        }
    }

    fn tell_wait(
        &self,
        wait: (ThreadId, Nanos),
        detail: &mut Detail,
        object: &mut Option<ObjectId>,
    ) {
        if self.sleeps.contains(&wait) {
            (*detail, *object) = (Detail::Sleep, None);
        }
        if *detail != Detail::Condition {
            return;
        }
        let at_address = || {
            let lock = self.addresses.get(&(wait.0, (*object)?))?;
            (!self.others.contains(&wait)).then_some(lock)
        };
        if let Some(&lock) = self.waits.get(&wait).or_else(at_address) {
            *detail = Detail::Lock;
            *object = Some(lock);
        }
    }

    /// What comes after the rows of a table.
    pub(crate) fn append(&self, rows: &mut dyn Any) {
        if let Some(rows) = rows.downcast_mut::<Vec<Object>>() {
            rows.extend_from_slice(&self.locks);
        }
    }
}
