//! What a finding would save, in words: the same wherever it is told.

use timesink_analysis::replay::Gain;
use timesink_findings::engine::Finding;

use super::{units, Report};

/// A replay that misses the wall time by more, in percent: what it says of gains is marked, or not said at all.
pub(super) const DOUBTFUL_PCT: f64 = 5.0;
const USELESS_PCT: f64 = 20.0;

const UNKNOWN: &str = "gain unknown";

/// The same beside the wall time.
pub(super) fn of_wall(report: &Report, finding: &Finding) -> String {
    let wall = report.outlook.map_or(0, |outlook| outlook.wall_ns);
    match is_useless(report) {
        true => format!("{UNKNOWN}: the replay misses the recorded wall time by too much"),
        false => {
            let span = units::Span::within(report.about.wall_ns);
            let wall = span.one(i64::try_from(wall).unwrap_or(i64::MAX));
            format!("{} of {wall}", of_finding(report, finding))
        }
    }
}

/// Whether the replay misses what was recorded by too much to say what a fix would save.
pub(in crate::present) fn is_useless(report: &Report) -> bool {
    error_pct(report) > USELESS_PCT
}

fn error_pct(report: &Report) -> f64 {
    let outlook = report.outlook;
    outlook.map_or(0.0, |outlook| outlook.replay_error_pct.abs())
}

/// `saves 0.50 s (0.47-1.34)`; `at most 0.50 s` where nothing is accused.
pub(in crate::present) fn of_finding(report: &Report, finding: &Finding) -> String {
    let error = error_pct(report);
    if error > USELESS_PCT {
        return UNKNOWN.to_owned();
    }
    let about = if error > DOUBTFUL_PCT { "~" } else { "" };
    let Gain {
        ns, lo_ns, hi_ns, ..
    } = finding.gain;
    let span = units::Span::within(report.about.wall_ns);
    if !finding.rule.accuses() {
        return format!("at most {about}{}", span.one(hi_ns));
    }
    format!(
        "saves {about}{} ({})",
        span.one(ns),
        span.range(lo_ns, hi_ns)
    )
}
