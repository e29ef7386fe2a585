//! The rules on drawn recordings: each on its cases in `cases/`, and some on what needs more than one recording.
//!
//! What needs more than a text in `cases/` has a file of its own here, one for each family of rules.

mod cases;
mod code;
mod computing;
mod conversations;
mod delays;
mod drawn;
mod floors;
mod gains;
mod items;
mod mixtures;
mod properties;
mod sites;
mod threads;
