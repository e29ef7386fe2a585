//! The words that a page is told in, which are chosen where the terminal's are.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::path::Unknown;
use timesink_analysis::stacks::Missing;
use timesink_recording::ids::ObjectId;

pub trait Wording: Sync {
    /// A state of a thread.
    fn state(&self, account: Account, kind: Kind) -> String;
    /// Why the path is not known.
    fn unknown(&self, why: Unknown) -> String;
    /// Why time has no stack.
    fn missing(&self, missing: Missing) -> String;
    /// A file, a socket, a lock, a child.
    fn thing(&self, object: ObjectId) -> String;
    /// A name that somebody else chose, without what would act on a reader.
    fn name(&self, name: &str) -> String;
}
