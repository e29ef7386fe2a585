//! Runs the forms of a case: some times as they are, once recorded; and holds what is told against what has to be.

use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::{Case, Fact, Form};
use super::difference::DifferenceOutcome;
use super::stage::Stage;
use crate::commands::ourselves;
use crate::present::{file_name, names};

/// Each form is run so often by itself; the middle one counts.
const RUNS: usize = 3;

/// How a case went.
#[derive(Debug, Serialize)]
pub struct TrialOutcome {
    pub case: String,
    pub title: String,
    pub source: String,
    pub forms: Vec<FormOutcome>,
    pub facts: Vec<FactOutcome>,
    /// What is not as it should be.
    pub problems: Vec<String>,
}

/// How one form went.
#[derive(Debug, Serialize)]
pub struct FormOutcome {
    pub name: String,
    /// By itself, the middle of some runs.
    pub seconds: f64,
    /// Work done in a second, and its unit.
    pub rate: Option<(f64, String)>,
    /// What was told first.
    pub told: Option<TrialAnswer>,
    /// The causes as the report tells them.
    pub why: String,
    /// The gain of what was expected, against the form without it.
    pub gain: Option<GainOutcome>,
    /// The same two, recorded and held beside each other.
    pub difference: Option<DifferenceOutcome>,
}

/// A finding, in the tool's own words.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TrialAnswer {
    pub rule: String,
    pub title: String,
    pub told: Vec<String>,
    pub frames: Vec<String>,
    pub places: Vec<FramePlace>,
    pub advice: String,
    pub main: bool,
    pub gain: ToldGain,
}

/// Where in the code: one for each of the frames.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FramePlace {
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ToldGain {
    pub ns: i64,
    pub lo_ns: i64,
    pub hi_ns: i64,
}

impl TrialAnswer {
    /// All of it as one text: what the words that a case expects are looked for in.
    fn text(&self) -> String {
        let mut text = format!("{} {}", self.title, self.told.join(" "));
        for (function, place) in self.frames.iter().zip(&self.places) {
            text.push(' ');
            text.push_str(function);
            // Where the project lies is nobody's concern.
            let file = place.file.as_deref().map(file_name);
            if let Some(place) = file.and_then(|file| names::place(file, place.line)) {
                text.push(' ');
                text.push_str(&place);
            }
        }
        text
    }
}

/// What was predicted, and what a fix bought: as shares of the time of the slow form, because the recorded run is another
/// run than those that are measured, on a machine that is not always as fast.
#[derive(Debug, Serialize)]
pub struct GainOutcome {
    pub fixed: String,
    pub predicted: f64,
    pub lo: f64,
    pub hi: f64,
    pub measured: f64,
    pub within: bool,
}

/// A figure of the source beside ours.
#[derive(Debug, Serialize)]
pub struct FactOutcome {
    pub says: String,
    pub source: String,
    pub ours: f64,
    pub unit: &'static str,
    /// What makes it, where that is asked.
    pub difference: Option<DifferenceOutcome>,
}

/// Runs a case that is made ready to its end. `say` is told what is being done.
pub fn of(case: &Case, stage: &Stage, say: &mut dyn FnMut(&str)) -> anyhow::Result<TrialOutcome> {
    let mut seconds = vec![Vec::new(); case.forms.len()];
    // In turn, so that what else the machine does meets all of them.
    for run in 0..RUNS {
        for (form, seconds) in case.forms.iter().zip(&mut seconds) {
            say(&format!("{}, run {} of {RUNS}", form.name, run + 1));
            seconds.push(timed(stage, form)?);
        }
    }
    let middles: Vec<f64> = seconds.into_iter().map(middle).collect();
    let mut outcome = TrialOutcome {
        case: case.name.clone(),
        title: case.title.clone(),
        source: case.source.clone(),
        forms: Vec::new(),
        facts: Vec::new(),
        problems: Vec::new(),
    };
    let took = |name: &str| {
        let at = case.forms.iter().position(|form| form.name == name)?;
        middles.get(at).copied()
    };
    for (at, (form, &seconds)) in case.forms.iter().zip(&middles).enumerate() {
        say(&format!("{}, recorded", form.name));
        let RecordedTrial {
            findings,
            wall_ns,
            why,
            tags,
        } = recorded(stage, form, &recording(stage, at))?;
        outcome.problems.extend(problems(form, &findings));
        let expected = form.tags.iter();
        let wrong = expected.filter_map(|tag| tag.problem(&form.name, &tags));
        outcome.problems.extend(wrong);
        let gain = form.told.as_ref().and_then(|expected| {
            let fixed = expected.fixed.as_ref()?;
            let rule = &expected.rule;
            let finding = findings.iter().find(|finding| finding.rule == *rule)?;
            let measured = 1.0 - took(fixed)? / seconds;
            Some(gain(fixed, &finding.gain, wall_ns, measured))
        });
        outcome.forms.push(FormOutcome {
            name: form.name.clone(),
            seconds,
            rate: form
                .work
                .as_ref()
                .map(|work| (work.count / seconds, work.unit.clone())),
            told: findings.first().cloned(),
            why,
            gain,
            difference: None,
        });
    }
    hold_differences(case, stage, &mut outcome)?;
    for fact in &case.facts {
        if let Some(mut ours) = ours(case, fact, took) {
            ours.difference = explained(case, stage, fact, &mut outcome.problems)?;
            outcome.facts.push(ours);
        }
    }
    Ok(outcome)
}

/// Where the recording of a form goes, by its place in the case.
fn recording(stage: &Stage, form: usize) -> PathBuf {
    stage.work.join(format!("form-{form}.timesink"))
}

/// Holds each form that has a cause against the one without it.
fn hold_differences(case: &Case, stage: &Stage, outcome: &mut TrialOutcome) -> anyhow::Result<()> {
    for (at, form) in case.forms.iter().enumerate() {
        let Some(expected) = &form.told else {
            continue;
        };
        if let Some(fixed) = &expected.fixed {
            let difference = difference(case, stage, &form.name, fixed)?;
            let problems = difference.problems(&form.name, &expected.differs);
            outcome.problems.extend(problems);
            outcome.forms[at].difference = Some(difference);
        }
    }
    Ok(())
}

/// What makes the figure of a fact, where the case wants to know that.
fn explained(
    case: &Case,
    stage: &Stage,
    fact: &Fact,
    problems: &mut Vec<String>,
) -> anyhow::Result<Option<DifferenceOutcome>> {
    let asked = fact.forms().filter(|_| !fact.differs.is_empty());
    let Some((slow, fast)) = asked else {
        return Ok(None);
    };
    let difference = difference(case, stage, slow, fast)?;
    problems.extend(difference.problems(slow, &fact.differs));
    Ok(Some(difference))
}

/// What `diff` says of two forms.
fn difference(
    case: &Case,
    stage: &Stage,
    form: &str,
    other: &str,
) -> anyhow::Result<DifferenceOutcome> {
    let place = |name: &str| {
        let place = case.forms.iter().position(|form| form.name == name);
        place.with_context(|| format!("there is no form {name}"))
    };
    let sides = [
        recording(stage, place(form)?),
        recording(stage, place(other)?),
    ];
    let json = read(stage, "diff", &["--json"], &[&sides[0], &sides[1]])?;
    let json = json.replace(&*stage.work.to_string_lossy(), "work");
    DifferenceOutcome::read(other, &json)
}

/// What a fact is here. `took` says how many seconds a form takes.
fn ours(case: &Case, fact: &Fact, took: impl Fn(&str) -> Option<f64>) -> Option<FactOutcome> {
    let (slow, fast) = fact.forms()?;
    let (slow_s, fast_s) = (took(slow)?, took(fast)?);
    let work = |name: &str| Some(case.form(name)?.work.as_ref()?.count);
    let (ours, unit) = match (&fact.ratio, work(slow).zip(work(fast))) {
        (None, _) => (slow_s - fast_s, "s"),
        (Some(_), None) => (slow_s / fast_s, "times"),
        (Some(_), Some((slow, fast))) => (slow_s / slow / (fast_s / fast), "times"),
    };
    Some(FactOutcome {
        says: fact.says.clone(),
        source: fact.source.clone(),
        ours,
        unit,
        difference: None,
    })
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The seconds that a form takes.
fn timed(stage: &Stage, form: &Form) -> anyhow::Result<f64> {
    let whole = stage.filled(&form.command);
    let (program, arguments) = whole
        .split_first()
        .with_context(|| format!("form {}: no command", form.name))?;
    let took = stage.run(stage.command(program).args(arguments));
    let took = took.with_context(|| format!("form {}: {program}", form.name))?;
    Ok(took.as_secs_f64())
}

/// What is told of a form: as values, and as a reader sees it.
struct RecordedTrial {
    findings: Vec<TrialAnswer>,
    wall_ns: u64,
    why: String,
    tags: Value,
}

fn recorded(stage: &Stage, form: &Form, file: &Path) -> anyhow::Result<RecordedTrial> {
    let ourselves = std::env::current_exe().context("where timesink itself is")?;
    let _ = stage.with_files(|| std::fs::remove_dir_all(file));
    let mut run = stage.command_of_ours(&ourselves.to_string_lossy());
    run.args(["run", "-q", "-o"])
        .arg(file)
        .args(&form.options)
        .arg("--")
        .args(stage.filled(&form.command));
    stage
        .run(&mut run)
        .with_context(|| format!("form {}, recorded", form.name))?;
    // Where the project lies is nobody's concern.
    let work = stage.work.to_string_lossy();
    let shown = |page: String| page.replace(&*work, "work");
    let json = shown(read(stage, "report", &["--json"], &[file])?);
    let mut json: Value = serde_json::from_str(&json).context("the report")?;
    let mut findings: Vec<TrialAnswer> =
        serde_json::from_value(json["findings"].take()).context("the findings")?;
    for place in findings.iter_mut().flat_map(|told| &mut told.places) {
        place.file = place.file.as_deref().map(|file| file_name(file).to_owned());
    }
    let page = shown(read(stage, "report", &[], &[file])?);
    let why = page.split_once("\nWHY ").map_or("", |(_, why)| why);
    let findings_alone = why.split_once("\n\n").map_or(why, |(why, _)| why);
    let why = findings_alone.split_once('\n').map_or("", |(_, why)| why);
    Ok(RecordedTrial {
        findings,
        wall_ns: json["path"]["wall_ns"].as_u64().unwrap_or(0),
        why: why.to_owned(),
        tags: json["tags"].take(),
    })
}

/// What the files say was written by the case's program, and is read with no more rights than that had.
fn read(stage: &Stage, command: &str, options: &[&str], files: &[&Path]) -> anyhow::Result<String> {
    let mut asked = ourselves()?;
    if let Some(user) = stage.user() {
        user.runs(&mut asked);
    }
    let asked = asked.arg(command).args(options).args(files).output()?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        bail!("{command}: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
}

/// What is not told as it should be.
fn problems(form: &Form, findings: &[TrialAnswer]) -> Vec<String> {
    let mut problems = Vec::new();
    let not_main = form.told.as_ref().is_some_and(|told| !told.main);
    // A minor cause ranks before or after "busy", depending on the machine.
    let first = findings
        .iter()
        .find(|told| !not_main || accuses(&told.rule));
    let name = &form.name;
    let said = first.map_or("nothing".to_owned(), |first| {
        format!("{}: {}", first.rule, first.title)
    });
    if let Some(expected) = &form.told {
        match first.filter(|first| first.rule == expected.rule) {
            None => problems.push(format!(
                "{name}: {} is not told first, but {said}",
                expected.rule
            )),
            Some(first) if expected.main && !first.main => {
                problems.push(format!("{name}: {} is no main cause", first.rule))
            }
            Some(first) => {
                let text = first.text();
                let missing = expected
                    .words
                    .iter()
                    .filter(|word| !text.contains(word.as_str()));
                problems.extend(
                    missing.map(|word| format!("{name}: {word:?} is not in what is told: {text}")),
                );
            }
        }
    }
    let told = |rule: &String| findings.iter().any(|finding| finding.rule == *rule);
    let wrong = form.silent.iter().filter(|rule| told(rule));
    problems.extend(wrong.map(|rule| format!("{name}: {rule} is told")));
    if form.healthy {
        let main = findings
            .iter()
            .filter(|finding| finding.main && accuses(&finding.rule));
        problems.extend(main.map(|finding| {
            format!(
                "{name} is healthy, but: {}: {}",
                finding.rule, finding.title
            )
        }));
    }
    problems
}

fn accuses(rule: &str) -> bool {
    let mut rules = timesink_findings::registry::RULES.iter();
    rules
        .find(|known| known.name == rule)
        .is_none_or(|known| known.accuses())
}

fn gain(fixed: &str, told: &ToldGain, wall_ns: u64, measured: f64) -> GainOutcome {
    let share = |ns: i64| ns as f64 / wall_ns.max(1) as f64;
    let (lo, hi) = (share(told.lo_ns), share(told.hi_ns));
    GainOutcome {
        fixed: fixed.to_owned(),
        predicted: share(told.ns),
        lo,
        hi,
        measured,
        within: (lo..=hi).contains(&measured),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that a case expects may be those of a line of code, wherever the project lies.
    #[test]
    fn what_is_told_has_its_lines() {
        let answer = told("child-per-item", "bash starts awk 30 times");
        assert_eq!(
            answer.text(),
            "bash starts awk 30 times each lives for 1.00 ms waitpid count_slowly report.sh:10"
        );
    }

    /// A cause that saves about a tenth was ranked before "busy" on one machine, and after it on another.
    #[test]
    fn where_the_time_goes_may_be_told_before_what_is_no_main_cause() {
        let busy = || told("busy", "busy on CPU in sieve");
        let faults = || told("page-fault-storm", "sieve touches 400 MB of new memory");
        let form = |main: bool| -> Form {
            toml::from_str(&format!(
                "name = \"ints\"\ncommand = [\"sieve\"]\ntold = {{ rule = \"page-fault-storm\", main = {main} }}\n"
            ))
            .expect("a form of a case")
        };
        for findings in [[busy(), faults()], [faults(), busy()]] {
            assert_eq!(problems(&form(false), &findings), [""; 0]);
        }
        assert_eq!(problems(&form(true), &[busy(), faults()]).len(), 1);
        assert_eq!(problems(&form(false), &[busy()]).len(), 1);
        let another = told("child-per-item", "bash starts awk 30 times");
        assert_eq!(problems(&form(false), &[another, faults()]).len(), 1);
    }

    fn told(rule: &str, title: &str) -> TrialAnswer {
        serde_json::from_value(serde_json::json!({
            "rule": rule,
            "title": title,
            "told": ["each lives for 1.00 ms"],
            "frames": ["waitpid", "count_slowly"],
            "places": [
                { "file": null, "line": null },
                { "file": "/srv/casebook/report.sh", "line": 10 },
            ],
            "advice": "do it within the program",
            "main": true,
            "gain": { "ns": 1, "lo_ns": 0, "hi_ns": 2 },
        }))
        .expect("a finding in the report's format")
    }
}
