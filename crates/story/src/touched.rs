//! The spans that the fix of each finding makes shorter in the replay.

use timesink_analysis::replay::Gains;
use timesink_analysis::timeline::touched::{touched, Touched};
use timesink_findings::engine::{Finding, Findings};

use crate::Loaded;

/// For each finding, in their order, the spans that its fix is about.
#[derive(Debug, Default)]
pub struct AllTouched {
    pub told: Vec<Vec<Touched>>,
    pub muted: Vec<Vec<Touched>>,
}

impl AllTouched {
    pub(crate) fn of(findings: &Findings, loaded: &Loaded<'_>, gains: &Gains<'_>) -> AllTouched {
        let touched_by = |finding: &Finding| {
            let (factors, _) = gains.factors(&finding.suspect.fix.changes());
            touched(&loaded.timeline, &factors, |process| {
                loaded.programs.first(process)
            })
        };
        let muted = findings.muted.iter().map(|muted| &muted.finding);
        AllTouched {
            told: findings.told.iter().map(touched_by).collect(),
            muted: muted.map(touched_by).collect(),
        }
    }
}
