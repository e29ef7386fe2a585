//! Findings of both sides, and whether what was predicted for those that are gone came true.

use std::collections::BTreeSet;

use timesink_findings::engine::Finding;
use timesink_findings::rule::Blames;

use crate::Work;

/// A finding of one recording, by what identifies it in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub rule: &'static str,
    pub signature: String,
    /// Whether it says what somebody could change, and not only what the time was spent on.
    pub accuses: bool,
    /// What it was predicted to save.
    pub gain_ns: i64,
    pub lo_ns: i64,
    pub hi_ns: i64,
    pub accused: Accused,
}

impl Found {
    pub(crate) fn of(finding: &Finding, accused: Accused) -> Found {
        Found {
            rule: finding.rule.name,
            signature: finding.signature.clone(),
            accuses: matches!(finding.rule.blames, Blames::Program),
            gain_ns: finding.gain.ns,
            lo_ns: finding.gain.lo_ns,
            hi_ns: finding.gain.hi_ns,
            accused,
        }
    }
}

/// What of the path a finding stands for, of what is not code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accused {
    /// What is done to the thing that it names.
    pub chief: Option<Work>,
    pub works: BTreeSet<Work>,
}

impl Accused {
    /// The same by other names.
    pub(crate) fn renamed(self, named: impl Fn(Work) -> Work) -> Accused {
        Accused {
            chief: self.chief.map(&named),
            works: self.works.into_iter().map(named).collect(),
        }
    }
}

/// Which recordings have a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    OnlyA,
    OnlyB,
    Both,
}

impl Side {
    /// The word for it, as in the JSON comparison.
    pub fn word(self) -> &'static str {
        match self {
            Side::OnlyA => "A",
            Side::OnlyB => "B",
            Side::Both => "both",
        }
    }
}

/// Findings of both, each once: what only one has first.
pub(crate) fn sides(a: &[Found], b: &[Found]) -> Vec<(Side, Found)> {
    let mut left: Vec<Option<&Found>> = b.iter().map(Some).collect();
    let mut found = Vec::new();
    let mut only_a = Vec::new();
    let mut take = |is: &dyn Fn(&Found) -> bool| {
        let at = left.iter().position(|other| other.is_some_and(is))?;
        left[at].take()
    };
    for one in a {
        match take(&|other| other.signature == one.signature) {
            Some(_) => found.push((Side::Both, one.clone())),
            None => only_a.push(one),
        }
    }
    // Another version may do the same in a function of another name.
    for one in only_a {
        match take(&|other| other.rule == one.rule && one.accuses) {
            Some(_) => found.push((Side::Both, one.clone())),
            None => found.push((Side::OnlyA, one.clone())),
        }
    }
    let only_b = left.into_iter().flatten();
    found.extend(only_b.map(|one| (Side::OnlyB, one.clone())));
    found.sort_by_key(|(side, one)| (*side == Side::Both, std::cmp::Reverse(one.gain_ns)));
    found
}

/// What was predicted to be saved by all that the faster recording does not have any more, beside what was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Findings that only the slower one has.
    pub gone: usize,
    /// The largest of them at least; all together at most.
    pub lo_ns: i64,
    pub hi_ns: i64,
    pub measured_ns: i64,
    pub verdict: Verdict,
}

/// Whether a prediction came true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Inside,
    /// Less was saved than the least that was predicted.
    Less,
    /// More was saved than the most that was predicted.
    More,
}

impl Verdict {
    /// The word for it, as in the JSON comparison.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Inside => "inside",
            Verdict::Less => "less",
            Verdict::More => "more",
        }
    }
}

impl Prediction {
    /// `None` where the slower recording has no finding that the other one lacks.
    pub(crate) fn of(found: &[(Side, Found)], a_ns: u64, b_ns: u64) -> Option<Prediction> {
        let slower = if a_ns >= b_ns {
            Side::OnlyA
        } else {
            Side::OnlyB
        };
        let gone = found
            .iter()
            .filter(|(side, one)| *side == slower && one.accuses);
        let gone: Vec<&Found> = gone.map(|(_, one)| one).collect();
        let lo_ns = gone.iter().map(|one| one.lo_ns).max()?;
        let all = gone.iter().map(|one| one.hi_ns);
        let hi_ns = all.fold(0, i64::saturating_add);
        let hi_ns = hi_ns.min(i64::try_from(a_ns.max(b_ns)).unwrap_or(i64::MAX));
        let measured_ns = i64::try_from(a_ns.abs_diff(b_ns)).unwrap_or(i64::MAX);
        Some(Prediction {
            gone: gone.len(),
            lo_ns,
            hi_ns,
            measured_ns,
            verdict: match measured_ns {
                measured if measured < lo_ns => Verdict::Less,
                measured if measured > hi_ns => Verdict::More,
                _ => Verdict::Inside,
            },
        })
    }
}
