//! What a recording says in; out come the pieces of data that its page shows, by the names that the page asks for.
//!
//! Nothing here opens or writes anything, and nothing here chooses words: who asks brings them along ([`Wording`]).

#![forbid(unsafe_code)]

mod calls;
mod code;
mod flame;
mod lanes;
pub mod model;
mod overview;
mod page;
mod path;
mod places;
mod request;
mod states;
mod strip;
mod things;
mod tile;
mod wording;

#[cfg(test)]
mod tests;

pub use flame::FLAME_BUCKETS;
pub use lanes::LANE_BUCKETS;
pub use overview::Known;
pub use page::Page;
pub use request::{LanesBy, Part, Request, Side};
pub use states::States;
pub use tile::{deepest_level, Tile};
pub use wording::Wording;
