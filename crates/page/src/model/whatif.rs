//! `whatif`: what can be ticked, each with its prediction; `predict`: several of them together.

use super::{model, GainInterval, PathRow, StateGroup};

model! {
    pub struct WhatIf {
        pub wall_ns: u64,
        pub replay_error_pct: f64,
        /// Too large to believe a prediction.
        pub is_useless: bool,
        pub processors: Option<u32>,
        pub changes: Vec<ChangeRow>,
        /// The request whose answer is all findings together; null if there is none.
        pub all: Option<String>,
        /// Why there is nothing to ask, if there is not.
        pub why_not: Option<String>,
    }

    #[derive(Copy, Eq)]
    #[serde(rename_all = "snake_case")]
    pub enum ChangeKind {
        /// The fix of a finding.
        Finding,
        /// A kind of wait, or time on CPU or runnable, on the path.
        State,
        /// A function and all that it calls.
        Function,
    }

    pub struct ChangeRow {
        /// `predict?changes=ID:PERCENT`.
        pub id: u32,
        pub kind: ChangeKind,
        pub label: String,
        /// The rank of the finding that it is the fix of.
        pub finding: Option<u32>,
        pub on_path_ns: u64,
        /// Whether a slider may say how much of it is left; else it is all or nothing.
        pub is_scalable: bool,
        /// What it would save, as the terminal says it; empty where that was not asked.
        pub saves: String,
        /// Without it, nothing else changed.
        pub gain: Option<GainInterval>,
        pub group: Option<StateGroup>,
    }

    /// What several changes together come to.
    pub struct Predicted {
        /// As it was asked.
        pub request: String,
        pub gain: GainInterval,
        /// The critical path that is left, longest first: the next bottleneck.
        pub path: Vec<PathRow>,
        pub words: String,
    }
}
