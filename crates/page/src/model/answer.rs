//! `answer`: what the terminal says on one screen, in the same words and figures.

use super::{model, StateGroup};

model! {
    /// The answer on one screen.
    pub struct Answer {
        /// How long, how many; and what was wrong with it, as warnings.
        pub head: String,
        pub warnings: Vec<String>,
        /// `WHY IT TOOK 1.2 s`.
        pub title: String,
        /// All of them, what saves most first.
        pub findings: Vec<FindingCard>,
        pub muted: Vec<MutedFinding>,
        /// What it is bound by where nothing is accused, what happened again and again, what is not explained, which rules
        /// could not be asked: a sentence each.
        pub notes: Vec<String>,
        /// The critical path by state, longest first; they add up to the wall time.
        pub path: Vec<PathRow>,
        /// The line of checks.
        pub checks: Vec<String>,
        /// The whole screen as the terminal prints it into a pipe, to be copied.
        pub text: String,
        pub markdown: String,
    }

    /// A finding.
    pub struct FindingCard {
        pub rank: u32,
        pub rule: String,
        pub title: String,
        /// What makes most of the wall time.
        pub is_main: bool,
        /// Whether it says that something is wrong, and not only what the program does.
        pub accuses: bool,
        /// `saves 0.50 s (0.47-1.34)`.
        pub saves: String,
        pub gain: GainInterval,
        /// Why the interval is wide, if it is.
        pub doubts: Option<String>,
        /// How much of the critical path it is, in words.
        pub on_path: String,
        pub on_path_ns: u64,
        pub share: f64,
        /// Where in the program, in one line.
        pub place: Option<String>,
        /// Innermost first.
        pub frames: Vec<PlacedFrame>,
        pub advice: String,
        pub looks_for: String,
        pub why: String,
        pub wrong_if: String,
        /// The evidence, sentence by sentence.
        pub evidence: Vec<String>,
        pub figures: Vec<FigureRow>,
        pub about: About,
        pub signature: String,
        /// The id of the same change in `whatif`.
        pub change: Option<u32>,
    }

    /// A function of a finding, with the line, and what stands there where the source can be read.
    pub struct PlacedFrame {
        pub function: String,
        /// As an index into `functions` of `code`.
        pub function_at: Option<u32>,
        pub module: String,
        pub file: String,
        pub line: Option<u32>,
        pub is_own: bool,
        /// The lines around it, if they could be read and are wanted.
        pub source: Vec<SourceLine>,
        /// The file was changed after the recording.
        pub is_changed: bool,
    }

    /// A line of a source file.
    pub struct SourceLine {
        pub number: u32,
        pub text: String,
    }

    /// What would be saved, at least and at most, and the wall time that is left then.
    #[derive(Copy)]
    pub struct GainInterval {
        pub ns: i64,
        pub lo_ns: i64,
        pub hi_ns: i64,
        pub wall_ns: u64,
        pub wall_lo_ns: u64,
        pub wall_hi_ns: u64,
    }

    /// A figure of the evidence, and the limit that it was held against.
    pub struct FigureRow {
        pub what: String,
        pub value: String,
        pub limit: Option<String>,
        pub means: String,
    }

    /// What a finding is about: for 'show me'.
    pub struct About {
        /// As indexes into `processes` and `threads` of the overview.
        pub processes: Vec<u32>,
        pub threads: Vec<u32>,
        /// As indexes into `functions` of `code`.
        pub functions: Vec<u32>,
        /// By their ids in `things`.
        pub things: Vec<u32>,
        /// Where it can be seen: waits and stretches of work, the longest or the clearest first.
        pub moments: Vec<Moment>,
    }

    #[derive(Copy)]
    pub struct Moment {
        /// As an index into `threads`.
        pub thread: u32,
        pub at_ns: i64,
        /// How long it is there; 0 if that is not known.
        pub ns: u64,
    }

    pub struct MutedFinding {
        pub rule: String,
        pub title: String,
        pub reason: String,
        pub until: Option<String>,
        pub gain_ns: i64,
    }

    /// The path in one state, as the terminal names it.
    pub struct PathRow {
        pub label: String,
        pub group: StateGroup,
        /// As indexes into `states`.
        pub states: Vec<u32>,
        pub ns: u64,
        /// The same as the terminal writes it: beside the wall time, in its unit.
        pub time: String,
        pub share: f64,
        /// What it was about, the most first.
        pub about: Vec<String>,
    }
}
