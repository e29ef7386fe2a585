//! The words of states and names, which the page's data refer to.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::path::Unknown;
use timesink_analysis::stacks::Missing;
use timesink_page::Wording;
use timesink_recording::ids::ObjectId;
use timesink_recording::words::Detail;
use timesink_story::Loaded;

use crate::present::{names, terminal, words};

/// The words of one recording.
pub struct Words<'a>(pub &'a Loaded<'a>);

impl Wording for Words<'_> {
    fn state(&self, account: Account, kind: Kind) -> String {
        match (account, kind) {
            (Account::Ready, Kind::As(Detail::Throttled)) | (Account::Ready, Kind::Missing) => {
                words::cause(account, kind, "")
            }
            (Account::Ready, kind) => format!("runnable: {}", words::ready(kind)),
            (Account::Wait, Kind::Missing) => words::account(account).to_owned(),
            (account, kind) => words::cause(account, kind, ""),
        }
    }

    fn unknown(&self, why: Unknown) -> String {
        words::unknown(why).to_owned()
    }

    fn missing(&self, missing: Missing) -> String {
        terminal::missing(missing).to_owned()
    }

    fn thing(&self, object: ObjectId) -> String {
        let directory = &self.0.recording.about().directory;
        names::object_below(&self.0.facts, directory, object)
    }

    fn name(&self, name: &str) -> String {
        names::harmless(name).into_owned()
    }
}
