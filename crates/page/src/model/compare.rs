//! `compare`: two recordings beside each other, as `timesink diff` has them.

use super::{model, StateSums};

model! {
    pub struct Compare {
        /// What the terminal says before the rows.
        pub head: Vec<String>,
        pub a: CompareSide,
        pub b: CompareSide,
        pub difference_ns: i64,
        pub is_within_spread: bool,
        /// What explains most of the difference first; with `not_attributed_ns` they add up to it.
        pub rows: Vec<DifferenceRow>,
        pub not_attributed_ns: i64,
        pub findings: Vec<FindingSides>,
        /// Whether what A predicted came true, in words.
        pub prediction: Option<String>,
        /// Facts of the environment that differ.
        pub facts: Vec<FactRow>,
        pub calls: Vec<CallDifferenceRow>,
        pub threads: Vec<RoleRow>,
        pub recurrences: Vec<RecurrenceRow>,
        /// As the terminal prints it into a pipe.
        pub text: String,
    }

    pub struct CompareSide {
        pub recordings: Vec<String>,
        pub command: Vec<String>,
        pub directory: String,
        pub wall_ns: u64,
        pub lo_ns: u64,
        pub hi_ns: u64,
        pub processes: u64,
        pub threads: u64,
        pub calls: u64,
        pub bytes: u64,
        pub page_faults: u64,
        pub switches: u64,
        pub unknown_ns: u64,
        pub lost: u64,
    }

    pub struct DifferenceRow {
        pub title: String,
        /// `new`, `gone`, `more often`, `slower each time`, ...
        pub change: String,
        /// What each takes, how often, and where it was seen.
        pub evidence: String,
        pub difference_ns: i64,
        pub by_count_ns: Option<i64>,
        pub by_each_ns: Option<i64>,
        pub is_within_spread: bool,
        pub program: String,
        /// What else is done for the same items.
        pub with: Vec<String>,
        pub a_ns: u64,
        pub b_ns: u64,
        pub a_count: Option<u64>,
        pub b_count: Option<u64>,
        pub is_estimated: bool,
    }

    pub struct FindingSides {
        /// `a`, `b` or `both`.
        pub side: String,
        pub rule: String,
        pub signature: String,
        pub gain_ns: i64,
    }

    pub struct FactRow {
        pub kind: String,
        pub what: String,
        pub a: String,
        pub b: String,
        /// Of a text file, the lines that differ: in A, in B.
        pub lines: Vec<[String; 2]>,
        /// It can explain where the time changed.
        pub explains: bool,
    }

    pub struct CallDifferenceRow {
        /// Who does what, and to what.
        pub title: String,
        pub a_count: u64,
        pub b_count: u64,
        pub a_ns: u64,
        pub b_ns: u64,
        pub a_bytes: u64,
        pub b_bytes: u64,
    }

    pub struct RoleRow {
        /// The part that the threads have in their program.
        pub title: String,
        pub a_threads: u64,
        pub b_threads: u64,
        pub a: StateSums,
        pub b: StateSums,
        pub a_path_ns: u64,
        pub b_path_ns: u64,
    }

    pub struct RecurrenceRow {
        pub title: String,
        pub a: Option<RecurrenceSide>,
        pub b: Option<RecurrenceSide>,
    }

    #[derive(Copy)]
    pub struct RecurrenceSide {
        pub count: u64,
        pub p50_ns: u64,
        pub p99_ns: Option<u64>,
        pub ns: u64,
    }
}
