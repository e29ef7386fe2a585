//! Presentation: facts in, text out. Nothing here reads a recording or decides what is true.

pub mod bench;
pub mod charts;
pub mod compared;
pub mod history;
pub mod json;
pub mod names;
pub mod page;
pub mod rules;
pub mod sentences;
pub mod shell;
pub mod terminal;
mod trust;
pub mod words;

#[cfg(test)]
pub(crate) mod samples;

use timesink_analysis::anatomy::Anatomy;
use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::ThreadLedger;
use timesink_analysis::loops::Loop;
use timesink_analysis::operations::Told;
use timesink_analysis::outlook::Outlook;
use timesink_analysis::path::Cause;
use timesink_analysis::replay::Gain;
use timesink_analysis::stacks::Stacks;
use timesink_analysis::tags::Tags;
use timesink_analysis::tasks::Tasks;
use timesink_findings::engine::Findings;
use timesink_recording::about::About;
use timesink_story::{AllTouched, Loaded, Story};

use crate::settings::Settings;

/// A report: what to present, whichever way.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    pub recording: Shown<'a>,
    pub about: &'a About,
    pub loaded: &'a Loaded<'a>,
    pub facts: &'a Facts,
    /// All of them, whatever the facts are about.
    pub stacks: &'a Stacks,
    /// `None` if there is no main thread.
    pub outlook: Option<&'a Outlook>,
    /// Operations of servers, or those that were asked for.
    pub operations: &'a [Told],
    /// Loops of threads that have no such operations.
    pub loops: &'a [Loop],
    /// What is done again and again, and what one of it consists of.
    pub anatomies: &'a [Anatomy],
    /// Whose work threads did, where a runtime divides them among tasks.
    pub tasks: Option<&'a Tasks>,
    /// What threads were at work for by their tags.
    pub tags: Option<&'a Tags>,
    /// What rules made of it; `None` if they were not asked.
    pub findings: Option<&'a Findings>,
    /// The spans that the fix of each finding is about, if that was asked.
    pub touched: Option<&'a AllTouched>,
    /// What is set otherwise than the rules have it.
    pub settings: &'a Settings,
}

/// A recording as the user knows it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// As the user named it.
    pub path: &'a str,
    /// What a command needs to find it again: the name, or nothing for the one that was made last in this folder.
    pub argument: &'a str,
    /// Its size on disk.
    pub size_bytes: u64,
}

impl Shown<'_> {
    /// The command line of a subcommand about it, with what follows.
    pub fn command(&self, subcommand: &str, rest: &str) -> String {
        let words = ["timesink", subcommand, self.argument, rest];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What a change would buy, and what was asked.
#[derive(Clone, Copy)]
pub struct Prediction<'a> {
    /// In words.
    pub asked: &'a [String],
    /// The wall time as recorded, and by how much a replay of that misses it, in percent.
    pub recorded_ns: u64,
    pub replay_error_pct: f64,
    pub gain: Gain,
    /// The causes of the path that is left.
    pub path: &'a [Cause],
}

impl<'a> Report<'a> {
    /// The report of a story.
    pub fn of(story: &'a Story<'a>, recording: Shown<'a>, settings: &'a Settings) -> Report<'a> {
        Report {
            outlook: story.outlook.as_ref(),
            operations: &story.operations,
            loops: &story.loops,
            anatomies: &story.anatomies,
            tasks: story.tasks.as_ref(),
            tags: story.tags.as_ref(),
            findings: story.findings.as_ref(),
            touched: Some(&story.touched),
            ..Report::facts_only(story.loaded, recording, settings)
        }
    }

    /// The same of a recording that nothing was asked about.
    pub fn facts_only(
        loaded: &'a Loaded<'a>,
        recording: Shown<'a>,
        settings: &'a Settings,
    ) -> Report<'a> {
        Report {
            recording,
            about: loaded.recording.about(),
            loaded,
            facts: &loaded.facts,
            stacks: &loaded.stacks,
            outlook: None,
            operations: &[],
            loops: &[],
            anatomies: &[],
            tasks: None,
            tags: None,
            findings: None,
            touched: None,
            settings,
        }
    }

    /// The main thread.
    pub fn main(&self) -> Option<&'a ThreadLedger> {
        let ledger = &self.facts.ledger;
        ledger.threads.get(ledger.main?)
    }

    /// The exit code of the command as a shell would give it, if it was seen to end.
    pub fn exit_code(&self) -> Option<i32> {
        let by_signal = self
            .about
            .exit_signal
            .map(|signal| signal.saturating_add(128));
        self.about.exit_code.or(by_signal)
    }

    /// What recording cost in percent of wall time: as capture reckoned it, or else all time
    /// spent in timesink's programs, divided among the processors that were busy at once.
    pub fn cost_pct(&self) -> f64 {
        let reckoned = self.about.cost.pct_of_wall;
        if reckoned > 0.0 {
            return reckoned;
        }
        let whole = &self.facts.ledger.whole;
        let wall = self.about.wall_ns as f64;
        let busy = (whole.kernel_cpu_ns as f64 / wall.max(1.0)).max(1.0);
        whole.cost_ns() as f64 * 100.0 / wall.max(1.0) / busy
    }
}

/// The last part of a path; the whole of what has none.
pub fn file_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    trimmed
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(path)
}
