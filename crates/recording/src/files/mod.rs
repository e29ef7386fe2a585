//! All that timesink does to files: the one room that makes, replaces and removes them. timesink runs as root in folders
//! that other users can write to. So it works relative to open folders, not by path; it never goes through a link inside
//! of them, never writes over something that is there already, and removes only what it made.
//!
//! With whose rights that is done is the caller's business. `make lint` keeps such calls out of the other rooms.

mod folder;
mod new_file;
mod place;
mod regular;
mod slice;

pub use folder::{remove_same, About, Folder};
pub use new_file::NewFile;
pub use place::place;
pub use regular::open_regular;
pub(crate) use slice::Slice;
#[doc(hidden)]
pub use slice::TableFile;

#[cfg(test)]
mod tests;
