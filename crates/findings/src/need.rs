//! What a recording must have for a rule to answer. Whether it has that is asked of the inquiry.

/// What a recording must have for a rule to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// System calls were timed.
    Calls,
    /// And none were lost, nor waits in them: the rule goes by what somebody did not do.
    WholeCalls,
    /// Stacks were taken.
    Stacks,
}

impl Need {
    pub fn word(self) -> &'static str {
        match self {
            Need::Calls => "system-call data",
            Need::WholeCalls => "complete system-call data",
            Need::Stacks => "stacks",
        }
    }
}
