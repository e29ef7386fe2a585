//! `timesink why FILE N`: a finding in full, with all that it rests on.

use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use timesink_analysis::operations::Recorded;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::programs::Programs;
use timesink_analysis::replay::Gains;
use timesink_analysis::touched::{touched, Touched};
use timesink_findings::engine::{Finding, Findings};
use timesink_findings::rule::Fix;

use super::last;
use super::read::{open, Read};
use super::report::why;
use crate::out;
use crate::present::terminal;
use crate::present::{AllTouched, Full, Report};
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording [default: the one made last in this folder]
    #[arg(value_name = "FILE")]
    first: Option<String>,

    /// Which finding, by its number in the report's WHY [default: all]
    #[arg(value_name = "N")]
    number: Option<usize>,

    /// Those that a .timesink-ignore.toml mutes
    #[arg(long)]
    muted: bool,
}

impl Arguments {
    /// The recording, and which of its findings.
    fn wanted(&self) -> anyhow::Result<(PathBuf, Option<usize>)> {
        let named = self.first.as_deref().filter(|first| {
            self.number.is_some() || first.parse::<usize>().is_err() || Path::new(first).exists()
        });
        if let Some(named) = named {
            return Ok((named.into(), self.number));
        }
        let last = last::last(Path::new("."));
        let last = last.context("there is no recording in this folder: say which file it is")?;
        let number = self.first.as_ref().and_then(|first| first.parse().ok());
        Ok((last, number))
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (path, number) = arguments.wanted()?;
    let settings = Settings::told();
    let read = Read::of(open(&path)?)?;
    let programs = Programs::of(&read.facts);
    let recorded = read.recorded(&programs);
    let about = read.recording.about();
    let ask = |outlook: &Outlook, gains: &Gains<'_>| {
        let findings = why(&recorded, &read.stacks, outlook, gains, (about, &settings));
        let touched = all_touched(&findings, &recorded, gains);
        (findings, touched)
    };
    let outlook = Outlook::and(
        &read.recording,
        &read.timeline,
        &read.facts,
        &read.stacks,
        &read.waited.calls_of,
        Patience::SHORT,
        ask,
    )?;
    let Some((outlook, (findings, touched))) = outlook else {
        bail!("this recording has no thread to ask about");
    };
    let there = match arguments.muted {
        true => findings.muted.len(),
        false => findings.told.len(),
    };
    if number.is_some_and(|number| number == 0 || number > there) {
        bail!("there is no such finding: it has {there}");
    }
    let shown = path.to_string_lossy();
    let report = Report {
        path: &shown,
        size_bytes: 0,
        about,
        facts: &read.facts,
        stacks: &read.stacks,
        outlook: Some(&outlook),
        findings: Some(&findings),
        operations: &[],
        loops: &[],
        settings: &settings,
        again: &last::again(&path),
    };
    let full = Full {
        report: &report,
        recorded: &recorded,
        touched: &touched,
    };
    let style = out::style();
    let page = terminal::findings(&full, number, arguments.muted, &style);
    out::page(&page, &style)
}

/// For each finding, the spans that its fix is about.
pub(crate) fn all_touched(
    findings: &Findings,
    recorded: &Recorded<'_>,
    gains: &Gains<'_>,
) -> AllTouched {
    let of = |finding: &Finding| touched_by(&finding.suspect.fix, recorded, gains);
    AllTouched {
        told: findings.told.iter().map(of).collect(),
        muted: findings.muted.iter().map(|m| of(&m.finding)).collect(),
    }
}

/// The spans that a fix makes shorter in the replay.
fn touched_by(fix: &Fix, recorded: &Recorded<'_>, gains: &Gains<'_>) -> Vec<Touched> {
    let changes = fix.changes();
    let (factors, _) = gains.factors(&changes);
    touched(recorded.timeline, &factors, |process| {
        recorded.programs.first(process)
    })
}
