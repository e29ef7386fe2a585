//! Each rule on programs that are recorded for real: one that has the cause, which must be told first, and one that
//! only looks like it, of which the rule must not speak. One file for each family of rules.

mod children;
mod computing;
mod databases;
mod durability;
mod files;
mod memory;
mod peers;
mod placement;
mod processes;
mod threads;
mod timers;
mod weather;
mod why;
