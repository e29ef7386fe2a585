//! A case as its `case.toml` says it: what to run, what must be told of it, and what the source measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use serde::Deserialize;

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
    /// The form that has not this cause, to measure the gain by; none: it has other differences, too.
    pub fixed: Option<String>,
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
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let mut case: Case = toml::from_str(&text).with_context(|| file.display().to_string())?;
        case.folder = fs::canonicalize(folder)?;
        case.name = name(folder);
        case.check().with_context(|| file.display().to_string())?;
        Ok(case)
    }

    /// Forms that others name exist, and rules, too.
    fn check(&self) -> anyhow::Result<()> {
        let fixed = self
            .forms
            .iter()
            .filter_map(|form| form.told.as_ref()?.fixed.as_ref());
        let compared = self
            .facts
            .iter()
            .filter_map(Fact::forms)
            .flat_map(|(slow, fast)| [slow, fast]);
        if let Some(unknown) = fixed.chain(compared).find(|name| self.form(name).is_none()) {
            bail!("there is no form {unknown}");
        }
        let unclear = |fact: &&Fact| fact.ratio.is_some() == fact.longer.is_some();
        if let Some(fact) = self.facts.iter().find(unclear) {
            bail!("{}: a fact has either ratio or longer", fact.says);
        }
        let told = self
            .forms
            .iter()
            .filter_map(|form| Some(&form.told.as_ref()?.rule));
        let silent = self.forms.iter().flat_map(|form| &form.silent);
        let rules = timesink_findings::registry::RULES;
        if let Some(unknown) = told
            .chain(silent)
            .find(|name| !rules.iter().any(|rule| rule.name == *name))
        {
            bail!("there is no rule {unknown}");
        }
        Ok(())
    }
}

/// The folders of all cases of a book, by name.
pub fn book(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| {
        format!(
            "{}: no casebook (--book says where it is)",
            folder.display()
        )
    })?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("case.toml").exists())
        .collect();
    folders.sort();
    Ok(folders)
}

/// What a case is called.
pub fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
