//! Answers to what the page asks. Those that are data are there as soon as a recording is read; those that say why take until its
//! rules were asked.

use std::cell::OnceCell;
use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use timesink_analysis::operations::Wanted;
use timesink_analysis::replay::Replay;
use timesink_comparison::{Comparison, Digest};
use timesink_page::model::Predicted;
use timesink_page::{Known, Page, Part};
use timesink_recording::Recording;
use timesink_story::{Loaded, Predictor, Story};

use super::sides::Recordings;
use super::source;
use crate::commands::diff;
use crate::commands::read::{question, Named};
use crate::present::compared::Compared;
use crate::present::page::{self, Changes, Words};
use crate::present::Report;
use crate::settings::Settings;

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// There is nothing of that name.
    Nothing,
    Failed(String),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refusal::Nothing => "there is nothing of that name",
            Refusal::Failed(fault) => fault,
        })
    }
}

impl Refusal {
    pub fn failed(fault: impl Display) -> Refusal {
        Refusal::Failed(format!("{fault:#}"))
    }
}

/// An answer as JSON.
pub type Answer = Result<Vec<u8>, Refusal>;

fn json(answer: &impl Serialize) -> Answer {
    serde_json::to_vec(answer).map_err(Refusal::failed)
}

/// How recordings are asked.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub settings: &'a Settings,
    /// The folder that source may be shown from.
    pub sources: Option<&'a Path>,
}

/// A recording that is asked.
pub struct Recorded<'a> {
    pub loaded: &'a Loaded<'a>,
    pub page: Page<'a>,
    pub named: &'a Named,
    pub settings: &'a Settings,
    pub has_b: bool,
    /// Recordings of the same side, which it is compared by as well.
    others: &'a [Recording],
    /// Where source is looked for, if it may be shown.
    pub sources: Option<&'a Path>,
}

/// The same when its rules were asked.
pub struct Told<'a> {
    recorded: &'a Recorded<'a>,
    pub story: Story<'a>,
    pub changes: Changes,
    replay: &'a ReplayOnce<'a>,
    predictor: OnceCell<Option<Predictor<'a>>>,
}

/// The recording as it can be run again, once somebody asks for a prediction; `None` if there is nothing to ask about.
pub type ReplayOnce<'a> = OnceCell<Option<Replay<'a>>>;

impl<'a> Recorded<'a> {
    pub fn of(
        loaded: &'a Loaded<'a>,
        words: &'a Words<'a>,
        named: &'a Named,
        asked: &'a Asked<'a>,
        has_b: bool,
        others: &'a [Recording],
    ) -> timesink_recording::Result<Recorded<'a>> {
        Ok(Recorded {
            page: Page::of(loaded, words)?,
            loaded,
            named,
            settings: asked.settings,
            has_b,
            others,
            sources: asked.sources,
        })
    }

    /// What the data say.
    pub fn data(&self, part: &Part) -> Answer {
        let page = &self.page;
        match part {
            Part::Overview => json(&self.overview(Vec::new(), true)),
            Part::Path(tile) => json(&page.path(*tile)),
            Part::Lanes { by, chunk, tile } => {
                json(&page.lanes(*by, *chunk, *tile).ok_or(Refusal::Nothing)?)
            }
            Part::Code => json(&page.code()),
            Part::Flame(tile) => json(&page.flame(*tile)),
            Part::Things => json(&page.things()),
            Part::Thing(id) => json(&page.thing(*id).ok_or(Refusal::Nothing)?),
            Part::Calls => json(&page.calls()),
            Part::Checks => json(&page::checks(&self.report())),
            Part::Answer | Part::Bands | Part::WhatIf | Part::Predict(_) | Part::Compare => {
                Err(Refusal::Nothing)
            }
        }
    }

    pub fn overview(
        &self,
        thinned: Vec<String>,
        any_prediction: bool,
    ) -> timesink_page::model::Overview {
        let report = self.report();
        self.page.overview(&Known {
            name: self.named.path(),
            size_bytes: report.recording.size_bytes,
            exit_code: report.exit_code(),
            has_b: self.has_b,
            any_prediction,
            thinned,
        })
    }

    fn report(&self) -> Report<'_> {
        Report::facts_only(self.loaded, self.named.shown(), self.settings)
    }
}

impl<'a> Told<'a> {
    /// Asks all rules.
    pub fn of(
        recorded: &'a Recorded<'a>,
        replay: &'a ReplayOnce<'a>,
    ) -> timesink_recording::Result<Told<'a>> {
        recorded.loaded.read_waits()?;
        let question = question(recorded.settings, Wanted::Served, true);
        let story = Story::of(recorded.loaded, &question)?;
        let report = Report::of(&story, recorded.named.shown(), recorded.settings);
        let changes = Changes::of(&report, &recorded.page);
        Ok(Told {
            recorded,
            changes,
            story,
            replay,
            predictor: OnceCell::new(),
        })
    }

    pub fn recorded(&self) -> &'a Recorded<'a> {
        self.recorded
    }

    /// What one replay costs.
    pub fn steps(&self) -> usize {
        self.predictor().map_or(1, Predictor::steps)
    }

    fn predictor(&self) -> Option<&Predictor<'a>> {
        let loaded = self.recorded.loaded;
        let made = self.predictor.get_or_init(|| {
            let replay = self.replay;
            // What cannot be replayed is not asked about.
            let replay = replay.get_or_init(|| Predictor::replay(loaded).unwrap_or_default());
            replay.as_ref().map(|replay| Predictor::of(loaded, replay))
        });
        made.as_ref()
    }

    pub fn report(&self) -> Report<'_> {
        let recorded = self.recorded;
        Report::of(&self.story, recorded.named.shown(), recorded.settings)
    }

    /// What the rules say, and what was told before that.
    pub fn answer(&self, part: &Part) -> Answer {
        let page = &self.recorded.page;
        match part {
            Part::Answer => {
                let report = self.report();
                let mut answer = page::answer(&report, page);
                if let Some(folder) = self.recorded.sources {
                    source::add(&mut answer, folder, report.about.started_unix_ns);
                }
                json(&answer)
            }
            Part::Bands => json(&page::bands(&self.report(), page)),
            Part::WhatIf => json(&self.changes.whatif(&self.report())),
            Part::Predict(parts) => json(&self.predict(parts)?),
            part => self.recorded.data(part),
        }
    }

    pub fn predict(&self, parts: &[(u32, u32)]) -> Result<Predicted, Refusal> {
        let (changes, on) = self.changes.asked(parts).ok_or(Refusal::Nothing)?;
        let predictor = self.predictor().ok_or(Refusal::Nothing)?;
        let predicted = predictor.predict(&changes, on);
        let gain = self.changes.told(parts).unwrap_or(predicted.gain);
        Ok(page::predicted(
            &self.report(),
            &self.recorded.page,
            &self.changes,
            parts,
            &gain,
            &predicted.path,
        ))
    }

    /// What its side is compared by, and what that is called.
    fn digests(&self) -> anyhow::Result<(Vec<Digest>, Vec<String>)> {
        let recorded = self.recorded;
        let mut digests = vec![diff::digest(recorded.loaded, &self.story)?];
        let mut names = vec![recorded.named.path().to_owned()];
        let question = diff::question(recorded.settings);
        for other in recorded.others {
            digests.push(diff::told(other, &question, |_| ())?.0);
            names.push(Named::of(other).path().to_owned());
        }
        Ok((digests, names))
    }
}

/// Two sides beside each other.
pub fn compare(a: &Told<'_>, b: &Told<'_>) -> Answer {
    let sides = a.digests().and_then(|a| Ok((a, b.digests()?)));
    let ((a, a_names), (b, b_names)) = sides.map_err(Refusal::failed)?;
    let comparison = Comparison::of(a, b);
    let comparison = comparison.ok_or_else(|| Refusal::failed("there is nothing to compare"))?;
    json(&page::compare(&Compared {
        comparison: &comparison,
        environment: &comparison.environments(),
        a: &a_names,
        b: &b_names,
    }))
}

/// A recording that was read, with what has to live as long as it is asked.
pub fn read<T>(
    recordings: &Recordings,
    asked: &Asked<'_>,
    has_b: bool,
    ask: impl FnOnce(&Recorded<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let loaded = Loaded::to_look_at(&recordings.shown)?;
    let words = Words(&loaded);
    let named = Named::of(&recordings.shown);
    let others = &recordings.others;
    ask(&Recorded::of(
        &loaded, &words, &named, asked, has_b, others,
    )?)
}
