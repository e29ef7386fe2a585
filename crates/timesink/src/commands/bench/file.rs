//! `bench.toml`: commands and options of a benchmark, for those who run it again and again. Each key is an option of the
//! command line with the same name; what is given on the command line takes precedence.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{bail, Context};
use clap::Parser;
use timesink_capture::trust::{OFlags, Trust};
use toml::{Table, Value};

use super::grid::in_place_of;
use super::Arguments;
use crate::commands::casebook::case::sudo_user;

/// Where it is, if nobody says so.
pub const NAME: &str = "bench.toml";
/// Longer ones are no benchmark.
const LONGEST: u64 = 1 << 20;

/// Options of bench without the rest of timesink's.
#[derive(Parser)]
#[command(name = "timesink bench", args_override_self = true)]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

/// The arguments that a file and the command line make together.
pub fn arguments(path: &Path) -> anyhow::Result<Arguments> {
    let trust = Trust::of(sudo_user()?.as_ref());
    let read = trust.read(path, OFlags::NOFOLLOW, LONGEST);
    let text = read.with_context(|| path.display().to_string())?;
    let Some(text) = text else {
        if path != Path::new(NAME) {
            bail!("{}: there is no such file", path.display());
        }
        bail!(
            "no commands: timesink bench 'CMD' 'CMD', or a {NAME} with commands = [...] ({})",
            path.display()
        );
    };
    let given = std::env::args_os().skip_while(|word| word != "bench");
    let text = String::from_utf8(text).with_context(|| path.display().to_string())?;
    together(&text, given.skip(1)).with_context(|| path.display().to_string())
}

fn together(text: &str, given: impl Iterator<Item = OsString>) -> anyhow::Result<Arguments> {
    let table: Table = text.parse()?;
    let mut words = vec![OsString::from("bench")];
    let mut commands = Vec::new();
    let mut of_file = 0;
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("commands", value) => commands = texts(key, value)?,
            ("parameters", Value::Table(parameters)) => {
                of_file = parameters.len();
                for (name, values) in parameters {
                    let values = texts(name, values)?.join(",");
                    words.push(format!("--parameter={name}={values}").into());
                }
            }
            (_, Value::Boolean(true)) => words.push(format!("--{key}").into()),
            (_, Value::Boolean(false)) => {}
            (_, value) => words.push(format!("--{key}={}", text_of(key, value)?).into()),
        }
    }
    words.extend(given);
    if !commands.is_empty() {
        words.push("--".into());
        words.extend(commands.into_iter().map(OsString::from));
    }
    let mut arguments = parsed(words)?;
    arguments.parameters = in_place_of(of_file, arguments.parameters);
    Ok(arguments)
}

/// The arguments that a command line makes, whose first word is `bench`.
pub fn parsed<T: Into<OsString> + Clone>(words: Vec<T>) -> anyhow::Result<Arguments> {
    Ok(Alone::try_parse_from(words)?.arguments)
}

/// A list, of which each item is one word.
fn texts(key: &str, value: &Value) -> anyhow::Result<Vec<String>> {
    let Value::Array(items) = value else {
        bail!("{key}: expected a list");
    };
    items.iter().map(|item| text_of(key, item)).collect()
}

fn text_of(key: &str, value: &Value) -> anyhow::Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => bail!("{key}: expected a text or a number"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_both(text: &str, given: &[&str]) -> anyhow::Result<Arguments> {
        together(text, given.iter().map(OsString::from))
    }

    const FILE: &str = r#"
        commands = ["./import {rows} old", "./import {rows} new"]
        rounds = 20
        prepare = "rm -f rows.db"
        gate = "5%"
        same-output = true
        shell = false
        [parameters]
        rows = [100, "1000"]
    "#;

    #[test]
    fn keys_are_options() {
        let arguments = from_both(FILE, &[]).expect("it is one");
        assert_eq!(
            arguments.commands,
            ["./import {rows} old", "./import {rows} new"]
        );
        assert_eq!((arguments.rounds, arguments.gate), (Some(20), Some(0.05)));
        assert_eq!(arguments.prepare.as_deref(), Some("rm -f rows.db"));
        assert!(arguments.same_output && !arguments.shell);
        assert_eq!(arguments.parameters.len(), 1);
    }

    #[test]
    fn the_command_line_counts_for_more() {
        let arguments = from_both(FILE, &["--rounds", "7", "--gate=1%"]).expect("it is one");
        assert_eq!((arguments.rounds, arguments.gate), (Some(7), Some(0.01)));
        let other = from_both(FILE, &["-p", "rows=5", "-p", "more=6"]).expect("it is one");
        let want =
            ["rows=5", "more=6"].map(|one| super::super::parse_parameter(one).expect("it is one"));
        assert_eq!(other.parameters, want);
    }

    #[test]
    fn what_is_no_option_is_said() {
        for (text, want) in [
            ("commands = ['a']\nround = 3", "--round"),
            ("commands = 'a'", "expected a list"),
            (
                "commands = ['a']\nrounds = [3]",
                "expected a text or a number",
            ),
            ("commands = ['a']\nrounds = 'many'", "many"),
            ("commands = [", "TOML"),
        ] {
            let error = from_both(text, &[]).err().map(|error| format!("{error:#}"));
            assert!(
                error.as_ref().is_some_and(|e| e.contains(want)),
                "{text}: {error:?}"
            );
        }
    }
}
