//! What a finding says, as text: lengths and sizes as a person reads them, and names harmless to a terminal.

use timesink_findings::sentence::{Piece, Sentence};

use super::terminal::units;
use super::{names, Report};

/// A sentence as text, with a capital only where its first piece has one.
pub fn text(report: &Report, sentence: &Sentence) -> String {
    sentence.0.iter().map(|piece| word(report, piece)).collect()
}

fn word(report: &Report, piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Name(name) => names::harmless(name).into_owned(),
        Piece::Object(object) => names::object_in(report, *object),
        Piece::Process(process) => names::process_in(report, *process),
        Piece::Thread(thread) => names::thread(report.facts, *thread),
        Piece::Function(function) => names::function_told(&report.stacks.code, *function),
        Piece::Count(count) => units::count(*count),
        Piece::Bytes(bytes) => units::bytes(*bytes),
        Piece::Time(ns) => units::time(*ns),
        Piece::Percent(percent) => units::percent(*percent),
        Piece::Times(times) => units::times(*times),
    }
}
