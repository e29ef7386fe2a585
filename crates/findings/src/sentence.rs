//! What a finding says, in pieces: text of ours, and the things and figures in it. Who shows it knows how to write a
//! length of time, and makes names that others chose harmless.

use timesink_analysis::stacks::FunctionIx;
use timesink_analysis::waits::quantile;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};

/// One piece.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text(&'static str),
    /// A word that others chose: a program's or a call's name.
    Name(String),
    Object(ObjectId),
    Process(ProcessId),
    Thread(ThreadId),
    Function(FunctionIx),
    Count(u64),
    Bytes(u64),
    Time(u64),
    Percent(f64),
    /// So many times something.
    Times(f64),
}

/// Pieces in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence(pub Vec<Piece>);

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Piece {
        Piece::Text(text)
    }
}

impl From<ObjectId> for Piece {
    fn from(object: ObjectId) -> Piece {
        Piece::Object(object)
    }
}

impl From<FunctionIx> for Piece {
    fn from(function: FunctionIx) -> Piece {
        Piece::Function(function)
    }
}

impl From<ProcessId> for Piece {
    fn from(process: ProcessId) -> Piece {
        Piece::Process(process)
    }
}

impl From<ThreadId> for Piece {
    fn from(thread: ThreadId) -> Piece {
        Piece::Thread(thread)
    }
}

/// A sentence of pieces: `say!["", object, " is flushed ", Piece::Count(12), " times"]`.
#[macro_export]
macro_rules! say {
    ($($piece:expr),* $(,)?) => {
        $crate::sentence::Sentence(vec![$($crate::sentence::Piece::from($piece)),*])
    };
}

/// `12 waits, median 21.2 ms, max 24.1 ms`; the lengths in order.
pub fn waits_told(lengths: &[u64]) -> Sentence {
    say![
        Piece::Count(lengths.len() as u64),
        " waits, median ",
        Piece::Time(quantile(lengths, 0.5)),
        ", max ",
        Piece::Time(quantile(lengths, 1.0))
    ]
}
