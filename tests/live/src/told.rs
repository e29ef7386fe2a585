//! What the rules say of a program that is recorded for real: a pair for each, one where the rule speaks first and
//! one that only looks like it.

use serde_json::Value;

use crate::{attempts, none_of, program, root, text, Folder, Recorded};

/// The findings of a command that is recorded, and what it did; its last argument says which form it takes.
pub struct Told {
    pub findings: Vec<Value>,
    pub recorded: Recorded,
}

impl Told {
    /// Records a command in a folder of its own, which is also where it runs.
    #[track_caller]
    pub fn of(options: &[&str], command: &[&str]) -> Told {
        let folder = Folder::new("told");
        let path = folder.join("told.timesink");
        let place = format!("cd {} && exec \"$0\" \"$@\"", folder.path().display());
        let mut whole = vec!["sh", "-c", &place];
        whole.extend(command);
        let recorded = Recorded::run(&path, options, &whole, 0);
        let findings = recorded.json["findings"]
            .as_array()
            .expect("findings")
            .clone();
        Told { findings, recorded }
    }

    pub fn rules(&self) -> Vec<&str> {
        self.findings
            .iter()
            .map(|finding| text(finding, "rule"))
            .collect()
    }

    /// The finding of this rule comes first and is a main cause; what is not as it should be.
    pub fn first(&self, rule: &str) -> Vec<String> {
        let first = self.findings.first();
        println!("{}", self.summary());
        match first.filter(|first| first["rule"] == rule) {
            None => vec![format!("{rule} is not told first: {}", self.summary())],
            Some(first) if first["main"] != true => {
                vec![format!("{rule} is no main cause: {}", self.summary())]
            }
            Some(_) => Vec::new(),
        }
    }

    /// Nothing is told of this rule; what is not as it should be.
    pub fn silent(&self, rule: &str) -> Vec<String> {
        match self.rules().contains(&rule) {
            true => vec![format!("{rule} is told: {}", self.summary())],
            false => Vec::new(),
        }
    }

    /// What was told, in short.
    pub fn summary(&self) -> String {
        let told = self.findings.iter().map(|finding| {
            let gain = finding["gain"]["ns"].as_i64().unwrap_or(0) / 1_000_000;
            let share = 100.0 * finding["share"].as_f64().unwrap_or(0.0);
            format!(
                "{} ({}, {gain} ms, {share:.0} %)",
                text(finding, "rule"),
                text(finding, "title")
            )
        });
        let told = told.collect::<Vec<_>>().join("; ");
        let (not_asked, lost) = (
            &self.recorded.json["not_asked"],
            &self.recorded.json["lost"],
        );
        format!("{told}; not asked: {not_asked}; lost: {lost}")
    }
}

/// The program of a rule in `programs/rules`, which is called with `fires` and with `silent`.
#[track_caller]
pub fn pair(rule: &str) {
    pair_in(rule, rule);
}

/// The same of a program with a name of its own.
#[track_caller]
pub fn pair_in(rule: &str, name: &str) {
    let path = program(&format!("rules/{name}"));
    let path = path.to_str().expect("its path");
    pair_of(rule, &[], &[path, "fires"], &[path, "silent"]);
}

/// The two forms of a rule's script, which has this ending.
#[track_caller]
fn pair_of_script(interpreter: &str, rule: &str, ending: &str) {
    let script = root().join(format!("tests/live/programs/rules/{rule}.{ending}"));
    let script = script.to_str().expect("its path");
    let run = |form| [interpreter, script, form];
    pair_of(rule, &[], &run("fires"), &run("silent"));
}

/// The same in Ruby.
#[track_caller]
pub fn pair_of_ruby(rule: &str) {
    pair_of_script("ruby", rule, "rb");
}

/// The same in Erlang.
#[track_caller]
pub fn pair_of_erlang(rule: &str) {
    pair_of_script("escript", rule, "erl");
}

/// The same in the system's Python.
#[track_caller]
pub fn pair_of_python(rule: &str) {
    pair_of_script("/usr/bin/python3", rule, "py");
}

/// Two commands, of which the first has the cause and the second only looks like it.
#[track_caller]
pub fn pair_of(rule: &str, options: &[&str], fires: &[&str], silent: &[&str]) {
    attempts(|| none_of(&Told::of(options, fires).first(rule)));
    attempts(|| none_of(&Told::of(options, silent).silent(rule)));
}
