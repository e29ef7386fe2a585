//! Runs the forms of a case: some times as they are, once recorded; and holds what is told against what has to be.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::{Case, Expected, Fact, Form};
use super::stage::Stage;

/// Each form is run so often by itself; the middle one counts.
const RUNS: usize = 3;

/// How a case went.
#[derive(Debug, Serialize)]
pub struct Outcome {
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
    pub told: Option<Told>,
    /// The causes as the report tells them.
    pub why: String,
    /// The gain of what was expected, against the form without it.
    pub gain: Option<GainOutcome>,
}

/// A finding, in the tool's own words.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Told {
    pub rule: String,
    pub title: String,
    pub told: Vec<String>,
    pub frames: Vec<String>,
    pub advice: String,
    pub main: bool,
    pub gain: ToldGain,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ToldGain {
    pub ns: i64,
    pub lo_ns: i64,
    pub hi_ns: i64,
}

/// What was predicted, and what a fix bought.
#[derive(Debug, Serialize)]
pub struct GainOutcome {
    pub fixed: String,
    pub predicted_s: f64,
    pub lo_s: f64,
    pub hi_s: f64,
    pub measured_s: f64,
    pub within: bool,
}

/// A figure of the source beside ours.
#[derive(Debug, Serialize)]
pub struct FactOutcome {
    pub says: String,
    pub source: String,
    pub ours: f64,
    pub unit: &'static str,
}

/// Runs a case from its set-up to its end. `say` is told what is being done.
pub fn of(case: &Case, say: &mut dyn FnMut(&str)) -> anyhow::Result<Outcome> {
    say("set-up");
    let stage = Stage::set(case)?;
    let mut seconds = vec![Vec::new(); case.forms.len()];
    // In turn, so that what else the machine does meets all of them.
    for run in 0..RUNS {
        for (form, seconds) in case.forms.iter().zip(&mut seconds) {
            say(&format!("{}, run {} of {RUNS}", form.name, run + 1));
            seconds.push(timed(&stage, form)?);
        }
    }
    let middles: Vec<f64> = seconds.into_iter().map(middle).collect();
    let mut outcome = Outcome {
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
    for (form, &seconds) in case.forms.iter().zip(&middles) {
        say(&format!("{}, recorded", form.name));
        let (findings, why) = recorded(&stage, form)?;
        outcome.problems.extend(problems(form, &findings));
        let gain = form.told.as_ref().and_then(|expected| {
            let fixed = expected.fixed.as_ref()?;
            gain(expected, fixed, &findings, seconds - took(fixed)?)
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
        });
    }
    let facts = case.facts.iter();
    outcome.facts = facts.filter_map(|fact| ours(case, fact, took)).collect();
    Ok(outcome)
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
        .with_context(|| format!("{}: no command", form.name))?;
    let took = stage.run(stage.command(program).args(arguments));
    let took = took.with_context(|| format!("{}: {program}", form.name))?;
    Ok(took.as_secs_f64())
}

/// What is told of a form: as values, and as a reader sees it.
fn recorded(stage: &Stage, form: &Form) -> anyhow::Result<(Vec<Told>, String)> {
    let ourselves = std::env::current_exe().context("where timesink itself is")?;
    let file: PathBuf = stage.work.join("case.timesink");
    let _ = std::fs::remove_dir_all(&file);
    let mut run = stage.command(&ourselves.to_string_lossy());
    run.args(["run", "-q", "-o"])
        .arg(&file)
        .args(&form.options)
        .arg("--")
        .args(stage.filled(&form.command));
    stage
        .run(&mut run)
        .with_context(|| format!("{}, recorded", form.name))?;
    // Where the project lies is nobody's concern.
    let work = stage.work.to_string_lossy();
    let shown = |page: String| page.replace(&*work, "work");
    let json = shown(report(&ourselves, &file, &["--json"])?);
    let mut json: Value = serde_json::from_str(&json).context("the report")?;
    let findings = serde_json::from_value(json["findings"].take()).context("the findings")?;
    let page = shown(report(&ourselves, &file, &[])?);
    let why = page.split_once("\nWHY\n").map_or("", |(_, why)| why);
    Ok((findings, why.to_owned()))
}

fn report(ourselves: &Path, file: &Path, options: &[&str]) -> anyhow::Result<String> {
    let asked = Command::new(ourselves)
        .arg("report")
        .args(options)
        .arg(file)
        .output()?;
    if !asked.status.success() {
        bail!("report: {}", String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
}

/// What is not told as it should be.
fn problems(form: &Form, findings: &[Told]) -> Vec<String> {
    let mut problems = Vec::new();
    let first = findings.first();
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
            Some(first) if !first.main => {
                problems.push(format!("{name}: {} is no main cause", first.rule))
            }
            Some(first) => {
                let text = format!(
                    "{} {} {}",
                    first.title,
                    first.told.join(" "),
                    first.frames.join(" ")
                );
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
        let innocent = |rule: &str| {
            let rules = timesink_findings::registry::RULES.iter();
            rules
                .filter(|known| known.name == rule)
                .any(|known| known.is_innocent)
        };
        let main = findings
            .iter()
            .filter(|finding| finding.main && !innocent(&finding.rule));
        problems.extend(main.map(|finding| {
            format!(
                "{name} is healthy, but: {}: {}",
                finding.rule, finding.title
            )
        }));
    }
    problems
}

fn gain(
    expected: &Expected,
    fixed: &str,
    findings: &[Told],
    measured_s: f64,
) -> Option<GainOutcome> {
    let finding = findings
        .iter()
        .find(|finding| finding.rule == expected.rule)?;
    let seconds = |ns: i64| ns as f64 / 1e9;
    let (lo_s, hi_s) = (seconds(finding.gain.lo_ns), seconds(finding.gain.hi_ns));
    Some(GainOutcome {
        fixed: fixed.to_owned(),
        predicted_s: seconds(finding.gain.ns),
        lo_s,
        hi_s,
        measured_s,
        within: (lo_s..=hi_s).contains(&measured_s),
    })
}
