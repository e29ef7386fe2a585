//! What `timesink prove` came to.

/// What came of one fact.
pub struct Tried {
    pub name: String,
    pub verdict: FactVerdict,
}

/// B's value instead of A's: what it does to the time.
pub enum FactVerdict {
    /// It changes the time by so much, between these.
    Confirmed {
        ns: f64,
        lo_ns: f64,
        hi_ns: f64,
    },
    /// What it changes is smaller than this.
    Excluded {
        ns: f64,
    },
    /// About so many more rounds would tell.
    Undecided {
        more: Option<usize>,
    },
    NotTested {
        why: String,
    },
}

/// All that is to be shown.
pub struct Proof {
    /// B minus A, as recorded.
    pub difference_ns: i64,
    /// A, as recorded.
    pub recorded_ns: u64,
    /// It is the recorded command that was run, and no other.
    pub is_recorded: bool,
    pub rounds: usize,
    pub run_ns: f64,
    pub facts: Vec<Tried>,
}
