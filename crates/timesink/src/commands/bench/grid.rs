//! From the commands as they were given, and values for their parameters, to the commands that are measured.

use std::path::PathBuf;

use anyhow::{bail, Context};

use crate::bench::Job;

/// `name=a,b,c`: a parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    values: Vec<String>,
}

pub fn parse_parameter(text: &str) -> Result<Parameter, String> {
    let (name, values) = text
        .split_once('=')
        .ok_or("expected NAME=VALUES, such as size=64,4k,1M")?;
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err("a name has letters, digits, - and _".to_owned());
    }
    let values = values.split(',').map(str::to_owned).collect();
    Ok(Parameter {
        name: name.to_owned(),
        values,
    })
}

/// Those of a file, without those that the command line gives anew, and those of the command line.
pub fn in_place_of(of_file: usize, mut all: Vec<Parameter>) -> Vec<Parameter> {
    let given = all.split_off(of_file.min(all.len()));
    all.retain(|one| given.iter().all(|other| other.name != one.name));
    all.extend(given);
    all
}

/// One choice of values for all parameters.
type Point = Vec<(String, String)>;

/// All choices; the last parameter changes first.
fn points(parameters: &[Parameter]) -> Vec<Point> {
    let mut points: Vec<Point> = vec![Vec::new()];
    for parameter in parameters {
        let longer = points.iter().flat_map(|point| {
            parameter.values.iter().map(|value| {
                let mut longer = point.clone();
                longer.push((parameter.name.clone(), value.clone()));
                longer
            })
        });
        points = longer.collect();
    }
    points
}

/// A text with `{name}` replaced by the value.
pub fn filled(text: &str, point: &[(String, String)]) -> String {
    point.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// The commands that are measured. Several are held against the first one at the same values; a single one at other
/// values against itself at the first. In several directories each is held against itself in the first of them.
pub fn jobs(
    texts: &[String],
    parameters: &[Parameter],
    directories: &[PathBuf],
    shell: bool,
) -> anyhow::Result<Vec<Job>> {
    let jobs = everywhere(texts, parameters, shell)?;
    let Some(first) = directories.first() else {
        return Ok(jobs);
    };
    for directory in directories {
        if !directory.is_dir() {
            bail!("--in {}: no such directory", directory.display());
        }
    }
    if let [_] = directories {
        let within = jobs.into_iter().map(|job| Job {
            directory: Some(first.clone()),
            ..job
        });
        return Ok(within.collect());
    }
    let in_each = jobs.into_iter().enumerate().flat_map(|(at, job)| {
        let each = directories.iter().enumerate();
        each.map(move |(place, directory)| Job {
            text: format!("{} (in {})", job.text, directory.display()),
            directory: Some(directory.clone()),
            reference: (place > 0).then_some(at * directories.len()),
            ..job.clone()
        })
    });
    Ok(in_each.collect())
}

/// The same, wherever they run.
fn everywhere(texts: &[String], parameters: &[Parameter], shell: bool) -> anyhow::Result<Vec<Job>> {
    for (at, parameter) in parameters.iter().enumerate() {
        if parameters[..at]
            .iter()
            .any(|one| one.name == parameter.name)
        {
            let name = &parameter.name;
            bail!("-p {name} is given twice: all values of it go into one, as -p {name}=A,B");
        }
        let place = format!("{{{}}}", parameter.name);
        if !texts.iter().any(|text| text.contains(&place)) {
            bail!(
                "no command has {place}, where the values of -p {} would go",
                parameter.name
            );
        }
    }
    let mut jobs = Vec::new();
    for point in points(parameters) {
        let first = jobs.len();
        for (at, text) in texts.iter().enumerate() {
            let text = filled(text, &point);
            let reference = match texts.len() {
                1 => (first > 0).then_some(0),
                _ => (at > 0).then_some(first),
            };
            jobs.push(Job {
                words: words(&text, shell)?,
                text,
                parameters: point.clone(),
                directory: None,
                reference,
            });
        }
    }
    Ok(jobs)
}

fn words(text: &str, shell: bool) -> anyhow::Result<Vec<String>> {
    if shell {
        return Ok(["sh", "-c", text].map(str::to_owned).to_vec());
    }
    let words = shlex::split(text).with_context(|| format!("a quote is not closed: {text}"))?;
    if words.is_empty() {
        bail!("a command is empty");
    }
    let is_of_shell = |word: &&String| {
        let operators = [
            "|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "2>&1", "&>",
        ];
        operators.contains(&word.as_str())
            && text.split_whitespace().any(|raw| raw == word.as_str())
    };
    if let Some(operator) = words.iter().find(is_of_shell) {
        bail!("{operator} needs a shell: --shell runs commands by sh -c, and its start is measured then, too");
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// A grid of one command is held against its first values, two commands against each other at each.
    #[test]
    fn a_grid() {
        let sizes = [parse_parameter("size=64,4k").expect("it is one")];
        let one = jobs(&texts(&["dd bs={size}"]), &sizes, &[], false).expect("they are commands");
        let shown: Vec<_> = one
            .iter()
            .map(|job| (job.text.as_str(), job.reference))
            .collect();
        assert_eq!(shown, [("dd bs=64", None), ("dd bs=4k", Some(0))]);
        let two = jobs(&texts(&["a {size}", "b"]), &sizes, &[], false).expect("they are commands");
        let references: Vec<_> = two.iter().map(|job| job.reference).collect();
        assert_eq!(references, [None, Some(0), None, Some(2)]);
        assert!(jobs(&texts(&["a"]), &sizes, &[], false).is_err());
        let twice = ["size=1", "size=2"].map(|one| parse_parameter(one).expect("it is one"));
        let error =
            jobs(&texts(&["a {size}"]), &twice, &[], false).expect_err("values would be lost");
        assert!(error.to_string().contains("given twice"), "{error}");
        assert!(parse_parameter("size").is_err() && parse_parameter("a b=1").is_err());
    }

    /// Commands are words as a shell has them; what only a shell can do is refused, but not where it is quoted.
    #[test]
    fn words_of_commands() {
        assert_eq!(
            words("a 'b c' \"d\"", false).expect("words"),
            ["a", "b c", "d"]
        );
        assert_eq!(words("a | b", true).expect("words"), ["sh", "-c", "a | b"]);
        for wrong in ["a | b", "a > f", "a 'b", " "] {
            assert!(words(wrong, false).is_err(), "{wrong}");
        }
        for right in ["grep '|' f", "awk '$1 > 2' f"] {
            assert!(words(right, false).is_ok(), "{right}");
        }
    }

    /// Each command is held against itself in the first directory.
    #[test]
    fn directories() {
        let both = [PathBuf::from("/"), PathBuf::from("/proc")];
        let all = jobs(&texts(&["a", "b"]), &[], &both, false).expect("they are commands");
        let references: Vec<_> = all.iter().map(|job| job.reference).collect();
        assert_eq!(references, [None, Some(0), None, Some(2)]);
        assert_eq!(all[3].text, "b (in /proc)");
        assert_eq!(all[3].directory.as_deref(), Some(both[1].as_path()));
        let one = jobs(&texts(&["a"]), &[], &both[..1], false).expect("it is one");
        assert_eq!((one[0].text.as_str(), one[0].reference), ("a", None));
        let none = jobs(&texts(&["a"]), &[], &[PathBuf::from("/no/such")], false);
        assert!(none.is_err());
    }
}
