//! The history of benchmarks: what was measured at which commit on which day, where its level may have changed, and which of
//! these changes were confirmed by measuring both sides again. Pure but for `store`, which keeps it in a file.

pub mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use timesink_comparison::is_known_variable;
use timesink_recording::words::FactKind;
use timesink_trials::{changes, Summary};

use crate::bench::{Figure, Metric, Sample};

/// Facts about where something was measured, by kind and key.
pub type Facts = BTreeMap<(String, String), String>;

const VARIABLE: &str = FactKind::Variable.as_str();

/// No more results of a benchmark are looked at: what was before them is past.
const MOST_RESULTS: usize = 500;

/// All that is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    pub series: Vec<Series>,
    pub places: BTreeMap<i64, Facts>,
}

/// One command, measured in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub id: i64,
    pub what: What,
    /// What makes the command from its source, run by sh: that of the last time.
    pub setup: Option<String>,
    /// What takes that down again, likewise.
    pub cleanup: Option<String>,
    /// In the order of their commits, and of time where these are the same.
    pub results: Vec<Measured>,
    pub confirmations: Vec<Confirmation>,
}

/// What is measured, and how: results of which this is the same can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct What {
    pub command: String,
    /// Where, from the project's folder.
    pub directory: String,
    pub shell: bool,
    pub prepare: Option<String>,
    pub input: Option<String>,
    pub metric: Option<String>,
    pub higher_is_better: bool,
    pub ignore_failure: bool,
}

/// What was measured at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub measured_unix_s: u64,
    pub commit: Option<Commit>,
    /// The number of the facts about where it was.
    pub place: i64,
    pub runs: Vec<Run>,
}

/// The state of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub unix_s: u64,
    /// Something was not committed, so that it cannot be had again.
    pub is_changed: bool,
}

/// What is kept of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub wall_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub memory_bytes: Option<u64>,
    pub metric: Option<f64>,
}

impl From<&Sample> for Run {
    fn from(sample: &Sample) -> Run {
        Run {
            wall_ns: sample.wall_ns,
            user_ns: sample.user_ns,
            system_ns: sample.system_ns,
            memory_bytes: sample.memory_bytes,
            metric: sample.metric,
        }
    }
}

impl Run {
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        figure.of(&Sample {
            wall_ns: self.wall_ns,
            user_ns: self.user_ns,
            system_ns: self.system_ns,
            memory_bytes: self.memory_bytes,
            metric: self.metric,
            ..Sample::default()
        })
    }
}

/// Both sides of a change, measured again in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    pub confirmed_unix_s: u64,
    /// The word of the figure.
    pub figure: String,
    pub old: String,
    pub new: String,
    /// How many commits lead from one to the other.
    pub commits: Option<u64>,
    pub verdict: Verdict,
    /// The new one as a multiple of the old, and from where to where.
    pub ratio: f64,
    pub interval: Option<(f64, f64)>,
    /// Figures of both in each round: old, new.
    pub pairs: Vec<(f64, f64)>,
}

/// What pairs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Changed,
    /// Within the margin of `timesink bench`.
    Same,
    Undecided,
}

impl Verdict {
    pub const ALL: [Verdict; 3] = [Verdict::Changed, Verdict::Same, Verdict::Undecided];

    pub fn word(self) -> &'static str {
        match self {
            Verdict::Changed => "changed",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        }
    }
}

/// A place where the level changed, perhaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The first result of the new level.
    pub at: usize,
    pub ratio: f64,
    pub p: f64,
    /// The last commit of the old level and the first of the new that can be had again. Without them it cannot be confirmed.
    pub ends: Option<(String, String)>,
    /// Facts about where it was measured that changed just there.
    pub facts: Vec<FactChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactChange {
    pub kind: String,
    pub key: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl Candidate {
    /// Whether the same commits are measured for both: between them are only results of what was not committed.
    fn is_between_the_same(&self, other: &Candidate) -> bool {
        self.ends.is_some() && self.ends == other.ends
    }

    /// Both are one, at the larger step; what was there between them cannot be had again.
    fn take_in(&mut self, next: Candidate) {
        if next.ratio.ln().abs() > self.ratio.ln().abs() {
            self.at = next.at;
        }
        self.ratio *= next.ratio;
        self.p = self.p.min(next.p);
        let known = |fact: &FactChange| self.facts.contains(fact);
        let more: Vec<FactChange> = next.facts.into_iter().filter(|one| !known(one)).collect();
        self.facts.extend(more);
    }
}

impl Measured {
    pub fn median(&self, figure: Figure) -> Option<f64> {
        let figures: Option<Vec<f64>> = self.runs.iter().map(|run| run.figure(figure)).collect();
        Some(Summary::of(&figures?)?.median)
    }

    fn again(&self) -> Option<&str> {
        let commit = self.commit.as_ref().filter(|commit| !commit.is_changed);
        commit.map(|commit| commit.id.as_str())
    }
}

impl Series {
    /// The figure that decides, unless another is asked for.
    pub fn own_figure(&self) -> Figure {
        match self.what.metric {
            Some(_) => Figure::Metric,
            None => Figure::Wall,
        }
    }

    pub fn name_of(&self, figure: Figure) -> String {
        match (&self.what.metric, figure) {
            (Some(metric), Figure::Metric) => Metric::name_in(metric),
            _ => figure.name().to_owned(),
        }
    }

    /// The last results.
    pub fn recent(&self) -> &[Measured] {
        &self.results[self.results.len().saturating_sub(MOST_RESULTS)..]
    }

    /// Where the level of a figure may have changed; places are those in `recent`.
    pub fn candidates(&self, figure: Figure, places: &BTreeMap<i64, Facts>) -> Vec<Candidate> {
        let recent = self.recent();
        let medians: Option<Vec<f64>> = recent.iter().map(|one| one.median(figure)).collect();
        let found = changes(&medians.unwrap_or_default());
        let candidate = |one: &timesink_trials::Change| {
            let (before, after) = recent.split_at(one.at);
            let old = before.iter().rev().find_map(Measured::again);
            let new = after.iter().find_map(Measured::again);
            Candidate {
                at: one.at,
                ratio: one.ratio,
                p: one.p,
                ends: old
                    .zip(new)
                    .filter(|(old, new)| old != new)
                    .map(|(old, new)| (old.to_owned(), new.to_owned())),
                facts: facts_that_changed(recent, one.at, places),
            }
        };
        let mut told: Vec<Candidate> = Vec::new();
        for one in found.iter().map(candidate) {
            match told.last_mut() {
                Some(last) if last.is_between_the_same(&one) => last.take_in(one),
                _ => told.push(one),
            }
        }
        told
    }

    /// Changes that pairs have shown, without those of which later ones said more: of a part of the stretch, or of all of it.
    pub fn confirmed(&self) -> Vec<&Confirmation> {
        let place = |commit: &str| {
            let mut places = self.results.iter();
            places.position(|one| one.again() == Some(commit))
        };
        let is_within = |one: &Confirmation, other: &Confirmation| {
            let old = place(&other.old).zip(place(&one.old));
            let new = place(&one.new).zip(place(&other.new));
            old.zip(new)
                .is_some_and(|(old, new)| old.0 <= old.1 && new.0 <= new.1)
        };
        let says_more = |later: &Confirmation, one: &Confirmation| {
            let is_same = later.old == one.old && later.new == one.new;
            let is_part = later.verdict == Verdict::Changed && is_within(later, one);
            later.figure == one.figure && (is_same || is_part)
        };
        let all = self.confirmations.iter().enumerate();
        let standing = all.filter(|(at, one)| {
            let mut later = self.confirmations[at + 1..].iter();
            one.verdict == Verdict::Changed && !later.any(|later| says_more(later, one))
        });
        standing.map(|(_, one)| one).collect()
    }

    /// What pairs said of a candidate: the last time, if one side or the other was measured where it is now. With more
    /// results a place may move by one.
    pub fn confirmation(&self, candidate: &Candidate, figure: Figure) -> Option<&Confirmation> {
        let recent = self.recent();
        let is_at = |result: Option<&Measured>, commit: &str| {
            result.and_then(Measured::again) == Some(commit)
        };
        let near = candidate.at.saturating_sub(1)..=candidate.at + 1;
        let is_near = |one: &Confirmation| {
            near.clone().any(|at| {
                is_at(recent.get(at), &one.new)
                    && at > 0
                    && recent[..at].iter().rev().find_map(Measured::again) == Some(&one.old)
            })
        };
        let ends = candidate.ends.as_ref();
        // What was not committed lies between a place and the commits that were measured for it.
        let is_the_same =
            |one: &Confirmation| ends.is_some_and(|(old, new)| (old, new) == (&one.old, &one.new));
        let is_of =
            |one: &&Confirmation| one.figure == figure.word() && (is_the_same(one) || is_near(one));
        let all = self.confirmations.iter().filter(is_of);
        all.max_by_key(|one| one.confirmed_unix_s)
    }
}

/// Facts that are others on the two sides of a place, and did not change at the results next to it: a number of a job, which is
/// another one each time, explains nothing.
fn facts_that_changed(
    results: &[Measured],
    at: usize,
    places: &BTreeMap<i64, Facts>,
) -> Vec<FactChange> {
    let facts = |number: usize| places.get(&results.get(number)?.place);
    let (Some(old), Some(new)) = (facts(at - 1), facts(at)) else {
        return Vec::new();
    };
    // Where no fact is known nothing is known of what changed.
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let before = at.checked_sub(2).and_then(facts).unwrap_or(old);
    let after = facts(at + 1).unwrap_or(new);
    let mut keys: Vec<_> = old.keys().chain(new.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let changed = keys.into_iter().filter(|key| {
        let (one, other) = (old.get(key), new.get(key));
        one != other && before.get(key) == one && after.get(key) == other
    });
    let change = |key: &(String, String)| FactChange {
        kind: key.0.clone(),
        key: key.1.clone(),
        old: old.get(key).cloned(),
        new: new.get(key).cloned(),
    };
    let mut changed: Vec<FactChange> = changed.map(change).collect();
    // What only some program may know comes last.
    changed.sort_by_key(|fact| fact.kind == VARIABLE && !is_known_variable(&fact.key));
    changed
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn measured(number: usize, ms: f64) -> Measured {
        let run = |more: u64| Run {
            wall_ns: (ms * 1e6) as u64 + more * 10_000,
            user_ns: (ms * 5e5) as u64,
            system_ns: (ms * 1e5) as u64,
            memory_bytes: Some(10_000_000),
            metric: None,
        };
        Measured {
            measured_unix_s: 1_795_500_000 + 86_400 * number as u64,
            commit: Some(Commit {
                id: format!("{number:040x}"),
                unix_s: 1_795_400_000 + 86_400 * number as u64,
                is_changed: false,
            }),
            place: 1,
            runs: (0..5).map(run).collect(),
        }
    }

    /// Thirty results of a command that takes a tenth more from the twentieth on.
    pub fn slower() -> History {
        let ms = |number: usize| if number < 20 { 100.0 } else { 110.0 };
        let scatter = |number: usize| (number * 7 % 11) as f64 * 0.2;
        let results = (0..30).map(|number| measured(number, ms(number) + scatter(number)));
        let series = Series {
            id: 1,
            what: What {
                command: "./import rows.txt".to_owned(),
                ..What::default()
            },
            setup: Some("make".to_owned()),
            cleanup: Some("make stop".to_owned()),
            results: results.collect(),
            confirmations: Vec::new(),
        };
        let key = |key: &str| ("kernel".to_owned(), key.to_owned());
        let facts = |release: &str, job: &str| {
            let all = [("release", release), ("job", job)];
            Facts::from(all.map(|(name, value)| (key(name), value.to_owned())))
        };
        History {
            series: vec![series],
            places: BTreeMap::from([(1, facts("6.1", "1")), (2, facts("6.12", "2"))]),
        }
    }

    /// The same, confirmed.
    pub fn confirmed() -> History {
        let mut history = slower();
        let series = &mut history.series[0];
        series.confirmations.push(Confirmation {
            confirmed_unix_s: 1_798_200_000,
            figure: "wall".to_owned(),
            old: format!("{:040x}", 19),
            new: format!("{:040x}", 20),
            commits: Some(3),
            verdict: Verdict::Changed,
            ratio: 1.1,
            interval: Some((1.08, 1.12)),
            pairs: vec![(1e8, 1.1e8); 20],
        });
        history
    }

    #[test]
    fn a_change_lies_between_two_commits() {
        let mut history = slower();
        history.series[0].results[19]
            .commit
            .as_mut()
            .expect("one")
            .is_changed = true;
        let series = &history.series[0];
        let found = series.candidates(Figure::Wall, &history.places);
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(one.at, 20);
        let ends = one.ends.clone().expect("two commits");
        assert_eq!(ends, (format!("{:040x}", 18), format!("{:040x}", 20)));
        assert!(one.facts.is_empty() && series.confirmation(one, Figure::Wall).is_none());
    }

    /// Two steps among results of what was not committed lie between the same two commits: they are one candidate, and measured
    /// once.
    #[test]
    fn two_candidates_between_the_same_commits_are_one() {
        let mut history = slower();
        let series = &mut history.series[0];
        for (number, result) in series.results.iter_mut().enumerate() {
            let is_between = (10..15).contains(&number);
            result.commit.as_mut().expect("one").is_changed = is_between;
            let factor = match number {
                0..10 => 1.0,
                10..15 => 3.0,
                _ => 5.0,
            };
            for run in &mut result.runs {
                run.wall_ns = (100e6 * factor) as u64 + run.wall_ns % 1_000_000;
            }
        }
        let steps: Vec<f64> = series
            .results
            .iter()
            .filter_map(|one| one.median(Figure::Wall))
            .collect();
        assert_eq!(changes(&steps).len(), 2, "{steps:?}");
        let found = series.candidates(Figure::Wall, &history.places);
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        let ends = (format!("{:040x}", 9), format!("{:040x}", 15));
        assert_eq!((one.at, one.ends.as_ref()), (10, Some(&ends)));
        assert!((one.ratio - 5.0).abs() < 0.1, "{one:?}");
        let mut confirmed = confirmed().series[0].confirmations.remove(0);
        (confirmed.old, confirmed.new) = ends;
        let one = one.clone();
        let series = &mut history.series[0];
        series.confirmations.push(confirmed);
        assert!(
            series.confirmation(&one, Figure::Wall).is_some(),
            "measured again each time"
        );
    }

    /// What is another one on each side is told; what is another one each time is not.
    #[test]
    fn facts_that_changed_there_are_told() {
        let mut history = slower();
        let facts = history.places[&2].clone();
        let series = &mut history.series[0];
        for (number, result) in series.results.iter_mut().enumerate().skip(20) {
            result.place = number as i64;
            let mut facts = facts.clone();
            facts.insert(("kernel".to_owned(), "job".to_owned()), number.to_string());
            history.places.insert(number as i64, facts);
        }
        let found = history.series[0].candidates(Figure::Wall, &history.places);
        let keys: Vec<&str> = found[0].facts.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["release"]);
    }

    /// A confirmation is of the place that it was made for, also when that moves by one, and of its figure.
    #[test]
    fn a_confirmation_finds_its_candidate() {
        let history = confirmed();
        let series = &history.series[0];
        let mut one = series.candidates(Figure::Wall, &history.places).remove(0);
        assert!(series.confirmation(&one, Figure::Wall).is_some());
        assert!(series.confirmation(&one, Figure::Cpu).is_none());
        one.at = 21;
        one.ends = Some((format!("{:040x}", 20), format!("{:040x}", 21)));
        assert!(series.confirmation(&one, Figure::Wall).is_some());
        one.at = 25;
        one.ends = Some((format!("{:040x}", 24), format!("{:040x}", 25)));
        assert!(series.confirmation(&one, Figure::Wall).is_none());
    }

    /// Once a part of the stretch is known to have the change, the stretch is no news; a part without it says nothing of the rest.
    #[test]
    fn a_narrower_confirmation_takes_the_place_of_a_wider_one() {
        let mut history = confirmed();
        let series = &mut history.series[0];
        let wide = Confirmation {
            old: format!("{:040x}", 15),
            new: format!("{:040x}", 24),
            ..series.confirmations[0].clone()
        };
        let narrow = series.confirmations.remove(0);
        let same = Confirmation {
            verdict: Verdict::Same,
            ..narrow.clone()
        };
        let mut standing = |all: &[&Confirmation]| {
            series.confirmations = all.iter().map(|one| (*one).clone()).collect();
            let standing = series.confirmed().into_iter();
            standing.map(|one| one.old.clone()).collect::<Vec<_>>()
        };
        assert_eq!(standing(&[&wide, &narrow]), [&*narrow.old]);
        assert_eq!(standing(&[&wide, &same]), [&*wide.old]);
        assert_eq!(standing(&[&narrow, &wide]), [&*narrow.old, &*wide.old]);
        assert!(standing(&[&narrow, &same]).is_empty());
    }

    #[test]
    fn without_commits_nothing_can_be_had_again() {
        let mut history = slower();
        for result in &mut history.series[0].results {
            result.commit = None;
        }
        let found = history.series[0].candidates(Figure::Wall, &history.places);
        assert_eq!(found[0].ends, None);
        let none = Series {
            results: Vec::new(),
            ..history.series[0].clone()
        };
        assert!(none.candidates(Figure::Wall, &history.places).is_empty());
    }
}
