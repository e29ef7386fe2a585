//! The shape of what the page asks for, and of what a file of it holds. web/CONTRACT.md says what is asked how.
//!
//! The page's own types are generated from these: `UPDATE=1 cargo test -p timesink-page` writes web/src/generated/model.ts. Long
//! lists are in columns, all of the same length, so that a list of a million is a few arrays and not a million objects.

mod answer;
mod code;
mod compare;
mod overview;
mod things;
mod tiles;
mod whatif;

pub use answer::*;
pub use code::*;
pub use compare::*;
pub use overview::*;
pub use things::*;
pub use tiles::*;
pub use whatif::*;

/// Raised when a page made for one shape could not read the other.
pub const CONTRACT: u32 = 1;

/// A type that the page knows, too.
macro_rules! model {
    ($($(#[$meta:meta])* pub $what:ident $name:ident $body:tt)+) => {
        $(
            #[derive(Clone, Debug, PartialEq, serde::Serialize)]
            #[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "model.ts"))]
            $(#[$meta])*
            pub $what $name $body
        )+
    };
}
pub(crate) use model;

#[cfg(test)]
mod tests;
