//! What coding assistants may do, in the user's own settings: `[assistants]` with `may_run = true`.

use super::entries::{Complaint, Complaints};

/// The table's name, which rules' settings pass over.
pub const TABLE: &str = "assistants";

/// Whether they may run programs, if the file says so. Errors of other tables are reported by who reads those.
pub fn may_run(text: &str, found: &mut Vec<Complaint>) -> Option<bool> {
    const WANTED: &str = "[assistants] has one key: may_run = true or false";
    // A file that is not whole consents to nothing.
    text.parse::<toml::Table>().ok()?;
    let mut unread = Vec::new();
    let table = Complaints::about(text, &mut unread).table();
    let mut complaints = Complaints::about(text, found);
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == TABLE)?;
    let mut may = None;
    for (key, value) in complaints.table_of(value, WANTED)? {
        match (key.get_ref().as_ref(), value.get_ref().as_bool()) {
            ("may_run", Some(said)) => may = Some(said),
            _ => complaints.add(key.span(), WANTED),
        }
    }
    may
}
