//! What an attacker tries. Each test is named for what is tried, and shows that it does not work. docs/security.md says
//! what is promised to whom.

mod environment;
mod files;
mod node;
mod privileges;
mod recordings;
mod runtimes;
mod settings;
mod unfinished;
