//! Starting the program that is to be recorded, or finding those that already run.
//!
//! The order is: [`Signals::block`] first thing in `main`, while there is one thread; then
//! [`Command::hold`], which forks a child that waits; then the probes are loaded and told the
//! child's pid; then [`Held::release`], which lets the child execute the program; then
//! [`Running`], which forwards signals until the program ends.
//!
//! What must hold is that the program cannot tell: exit code, signals, terminal, process group,
//! standard streams, open descriptors, directory, limits, user and environment are as without us.
//! There are two exceptions: under sudo, the program gets the identity of the user who called it; and
//! with [`Command::runtime_flags`] two variables of the environment ask runtimes to let their code be named.
//!
//! This room does not know about probes, recordings or what to print: its errors are sentences
//! with a kind, and who shows them is the binary's business.

mod attach;
mod child;
mod command;
mod ending;
mod error;
mod identity;
mod inherited;
mod lookup;
mod named;
mod running;
mod runtime_flags;
mod signals;
mod stat;
mod status;
mod system;

pub use attach::Attached;
pub use command::{Command, Held};
pub use ending::Ending;
pub use error::{Error, Kind};
pub use identity::{FsIdentity, Identity};
pub use named::{lineage, named};
pub use running::Running;
pub(crate) use signals::parent_of;
pub use signals::{Received, Signals};
pub use stat::stat_field;
pub use status::Status;
