//! What timesink may do, less and less: it needs root to load and attach the probes, and little of that afterwards. Who parses
//! what strangers wrote has next to nothing. docs/security.md has the table of what is kept, and for what. Does nothing about the
//! recorded program, which is a process of its own by then, with the rights that it would have without us.
//!
//! Rights are those of a thread: all of this is to be called while there is one.

mod filter;

use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_keep_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets,
};

use crate::error::Error;
use crate::launch::Identity;
use filter::Filter;

/// What reads memory and files of recorded programs: `maps`, `mem` and `root` in `/proc`, files by the kernel's own links to what
/// is mapped, and programs in folders that others may not enter.
const READING: CapabilitySet = CapabilitySet::SYS_PTRACE
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::DAC_READ_SEARCH);
/// The iterators that track threads, and the probe that is attached again and again.
const PROBES: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::PERFMON);
/// Handing on signals to a program that has become another user; ending a helper that hangs.
const SIGNALS: CapabilitySet = CapabilitySet::KILL;
/// Files of whoever owns a recording, with that user's rights, and what is made of them; giving up more later.
const OPENING: CapabilitySet = CapabilitySet::DAC_READ_SEARCH
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETPCAP);

/// How many capabilities there may be. The kernel says of one that it does not know that there is none.
const MOST: u32 = 64;

fn fault(doing: &'static str) -> impl Fn(rustix::io::Errno) -> Error {
    move |error| Error::System {
        doing,
        source: error.into(),
    }
}

/// From now on: all probes are attached, and the program waits to be released. Under sudo we are the caller from here on, who is
/// whose the recording will be.
pub(crate) fn for_recording(caller: Option<&Identity>) -> Result<(), Error> {
    keep(PROBES | READING | SIGNALS, caller)
}

/// A helper that reads what belongs to recorded programs.
pub(crate) fn for_helping(caller: Option<&Identity>) -> Result<(), Error> {
    keep(READING, caller)
}

/// A thread that waits for signals and prints.
pub(crate) fn for_waiting() -> Result<(), Error> {
    keep(CapabilitySet::empty(), None)
}

/// Everything is recorded: what is left is to find names in programs, and to make the tables.
pub(crate) fn for_converting() -> Result<(), Error> {
    keep(CapabilitySet::DAC_READ_SEARCH, None)
}

/// A process that looks for names in programs and maps that anybody may have made.
pub(crate) fn for_naming() -> Result<(), Error> {
    keep(CapabilitySet::DAC_READ_SEARCH, None)?;
    Filter::Naming.set()
}

/// What this machine does at best is measured: under sudo as the caller, where the caller may write.
pub fn for_measuring(caller: Option<&Identity>) -> Result<(), Error> {
    match caller {
        Some(_) => keep(CapabilitySet::empty(), caller),
        None => Ok(()),
    }
}

/// A recording of anybody's is to be opened, and perhaps mended with its owner's rights.
pub fn for_opening() -> Result<(), Error> {
    keep(OPENING, None)
}

/// A recording is open, with all of its files: what is read of it now, nobody vouches for. Nothing is made any more.
pub fn for_reading() -> Result<(), Error> {
    keep(CapabilitySet::empty(), Identity::from_sudo()?.as_ref())?;
    Filter::Reading.set()
}

/// The same where a page of it is served: connections are taken from a socket that listens already.
pub fn for_serving() -> Result<(), Error> {
    keep(CapabilitySet::empty(), Identity::from_sudo()?.as_ref())?;
    Filter::Serving.set()
}

/// The same where something is made of it: under sudo as the caller, whose it is.
pub fn for_making() -> Result<(), Error> {
    let caller = Identity::from_sudo()?;
    let kept = match caller {
        Some(_) => CapabilitySet::empty(),
        None => CapabilitySet::DAC_OVERRIDE,
    };
    keep(kept, caller.as_ref())?;
    Filter::Making.set()
}

/// Gives up all capabilities but these, for good, in all sets, and so that no program that is executed gets any; and becomes
/// `user`, if it is given, for good.
fn keep(kept: CapabilitySet, user: Option<&Identity>) -> Result<(), Error> {
    let doing = "giving up rights that are not needed";
    let held = capabilities(None).map_err(fault(doing))?;
    let kept = kept & held.permitted;
    // Who acts with a user's rights to files goes on so.
    let effective = kept & held.effective;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..MOST {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if !kept.contains(one) && remove_capability_from_bounding_set(one).is_err() {
                break;
            }
        }
    }
    set_no_new_privs(true).map_err(fault(doing))?;
    clear_ambient_capability_set().map_err(fault(doing))?;
    if let Some(user) = user {
        set_keep_capabilities(true).map_err(fault(doing))?;
        user.become_for_good()?;
        set_keep_capabilities(false).map_err(fault(doing))?;
    }
    let kept = CapabilitySets {
        effective,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).map_err(fault(doing))
}
