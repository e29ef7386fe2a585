//! The page of a recording, or of two beside each other: asked by a browser ([`serve`]) or kept in one file ([`file`]).
//!
//! What is asked, and what is answered, web/CONTRACT.md says. The page itself is made from `web/` and is part of the binary.

mod answers;
mod file;
mod html;
mod serve;
mod sides;
mod source;

pub use answers::Asked;
pub use file::write;
pub use serve::{serve, Server};
pub use sides::Sides;
