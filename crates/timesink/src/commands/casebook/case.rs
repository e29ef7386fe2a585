//! A case as its `case.toml` says it: what to run, what must be told of it, and what the source measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, Context};
use serde::Deserialize;
use timesink_capture::launch::Identity;
use timesink_capture::trust::{OFlags, Trust};

use super::tagged::ExpectedTag;

/// The folder in a case's own where it plays. It is made anew each time.
pub const WORK: &str = "work";
/// The longest case has 4 kB.
const LONGEST: u64 = 1 << 20;

/// A story with programs that still run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    #[serde(skip)]
    pub name: String,
    /// Where its files are.
    #[serde(skip)]
    pub folder: PathBuf,
    /// In one line.
    pub title: String,
    /// Where the story is from; empty: it is ours.
    #[serde(default)]
    pub source: String,
    /// What has to be installed, by Debian's names.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Commands of a shell that make ready what the forms need, in the case's work folder.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Ports that nobody else may have.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// No command of it takes so long, in seconds; what does is ended. Nothing: what is right for most.
    pub longest_s: Option<u64>,
    /// What runs beside the forms.
    #[serde(default, rename = "service")]
    pub services: Vec<Service>,
    #[serde(rename = "form")]
    pub forms: Vec<Form>,
    #[serde(default, rename = "fact")]
    pub facts: Vec<Fact>,
}

/// A program that runs in the foreground while the forms do, and is ended after them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub command: String,
    /// Succeeds as soon as the service does its work.
    pub ready: String,
}

/// One form of the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    pub name: String,
    pub command: Vec<String>,
    /// Options of `timesink run` for it.
    #[serde(default)]
    pub options: Vec<String>,
    /// What must be told first.
    pub told: Option<Expected>,
    /// Rules that must not be told.
    #[serde(default)]
    pub silent: Vec<String>,
    /// Nothing is wrong with it: no main cause may be told.
    #[serde(default)]
    pub healthy: bool,
    /// How much of its time tags have.
    #[serde(default)]
    pub tags: Vec<ExpectedTag>,
    /// So much is done in a run, to tell a rate by.
    pub work: Option<Work>,
}

/// What the tool has to say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub rule: String,
    /// Words in its title, its evidence or its stack.
    #[serde(default)]
    pub words: Vec<String>,
    /// A tenth of the time or more can be saved by it. If not, "busy" may be told before it.
    #[serde(default = "yes")]
    pub main: bool,
    /// The form that has not this cause, to measure the gain by; none: it has other differences, too.
    pub fixed: Option<String>,
    /// Words in the first row of `diff` between the two; none: it may be any.
    #[serde(default)]
    pub differs: Vec<String>,
}

fn yes() -> bool {
    true
}

/// How much is done in a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    pub count: f64,
    pub unit: String,
}

/// Something that the source measured, as two forms compared: by one of the two ways.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub says: String,
    /// The source's figure, in its own words.
    pub source: String,
    /// The slower and the faster form: how many times as long the one takes, for the same work if both say how much they do.
    pub ratio: Option<(String, String)>,
    /// The slower and the faster form: how much longer the one takes.
    pub longer: Option<(String, String)>,
    /// Words in the first row of `diff` between the two, which tells what makes the figure; none: it is not asked.
    #[serde(default)]
    pub differs: Vec<String>,
}

impl Fact {
    /// The slower and the faster form.
    pub fn forms(&self) -> Option<&(String, String)> {
        self.ratio.as_ref().or(self.longer.as_ref())
    }
}

impl Case {
    /// The form with this name.
    pub fn form(&self, name: &str) -> Option<&Form> {
        self.forms.iter().find(|form| form.name == name)
    }

    /// Reads the case in this folder.
    pub fn read(folder: &Path) -> anyhow::Result<Case> {
        let file = folder.join("case.toml");
        let read = Trust::of(sudo_user()?.as_ref()).read(&file, OFlags::NOFOLLOW, LONGEST);
        let bytes = read.with_context(|| file.display().to_string())?;
        let bytes = bytes.with_context(|| format!("{}: there is none", file.display()))?;
        let text = String::from_utf8(bytes).with_context(|| file.display().to_string())?;
        let mut case: Case = toml::from_str(&text).with_context(|| file.display().to_string())?;
        case.folder = fs::canonicalize(folder)?;
        case.name = name(folder);
        case.check().with_context(|| file.display().to_string())?;
        Ok(case)
    }

    /// Each form can be run, and forms and rules that are named exist.
    fn check(&self) -> anyhow::Result<()> {
        if self.forms.is_empty() {
            bail!("form: there is none");
        }
        for (at, form) in self.forms.iter().enumerate() {
            if self.forms[..at].iter().any(|other| other.name == form.name) {
                bail!("form {}: there are two of this name", form.name);
            }
            self.check_form(form)
                .with_context(|| format!("form {}", form.name))?;
        }
        for fact in &self.facts {
            if fact.ratio.is_some() == fact.longer.is_some() {
                bail!("fact {}: it has either ratio or longer", fact.says);
            }
            let compared = fact
                .forms()
                .into_iter()
                .flat_map(|(slow, fast)| [slow, fast]);
            for name in compared {
                self.known(name)
                    .with_context(|| format!("fact {}", fact.says))?;
            }
        }
        Ok(())
    }

    fn check_form(&self, form: &Form) -> anyhow::Result<()> {
        if form.command.is_empty() {
            bail!("command: it is empty");
        }
        if let Some(told) = &form.told {
            rule(&told.rule).context("told.rule")?;
            match &told.fixed {
                Some(fixed) => self.known(fixed).context("told.fixed")?,
                None if told.differs.is_empty() => {}
                None => bail!("told.differs: told.fixed says from what"),
            }
        }
        for silent in &form.silent {
            rule(silent).context("silent")?;
        }
        Ok(())
    }

    fn known(&self, form: &str) -> anyhow::Result<()> {
        match self.form(form) {
            Some(_) => Ok(()),
            None => bail!("there is no form {form}"),
        }
    }
}

/// Whether there is such a rule.
fn rule(name: &str) -> anyhow::Result<()> {
    let rules = timesink_findings::registry::RULES;
    match rules.iter().any(|rule| rule.name == name) {
        true => Ok(()),
        false => bail!("there is no rule {name}"),
    }
}

/// The folders of all cases of a book, by name. What a book says is executed, partly by root, so nobody but root and the
/// caller may have had a hand in it, and nobody else may be able to put another in its place.
pub fn book(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        let shown = folder.display();
        bail!("{shown}: no casebook (--book says where it is)");
    }
    let trust = Trust::of(sudo_user()?.as_ref());
    let refused = |why: String| anyhow!("a book that others could have written is not run: {why}");
    let folder = trust.way_to(folder).map_err(refused)?;
    trust.all_in(&folder, WORK).map_err(refused)?;
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("case.toml").exists())
        .collect();
    if folders.is_empty() {
        bail!("{}: there is no case in it", folder.display());
    }
    folders.sort();
    Ok(folders)
}

/// Who called sudo, if somebody did: as whom forms run, and whose book is run.
pub fn sudo_user() -> anyhow::Result<Option<Identity>> {
    Ok(Identity::from_sudo()?)
}

/// What a case is called.
pub fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
