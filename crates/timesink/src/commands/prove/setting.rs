//! What sets one fact for one process and those that it starts.

use super::groups::{none, Limit, MadeGroups, LIMITS as LIMITS_OF_GROUPS};
use super::texts::Texts;
use super::Differing;

/// B's value of a fact, and A's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// One, or several that are set together.
    Variables(Vec<Variable>),
    Processors {
        a: String,
        b: String,
    },
    Nice {
        a: i32,
        b: i32,
    },
    Limit {
        name: String,
        a: String,
        b: String,
    },
    /// B has no random addresses.
    FixedAddresses,
    /// B has no transparent huge pages.
    NoHugePages,
    /// In A's file stands what stood in A's or B's; nothing for A where it is still the same.
    File {
        path: String,
        a: Option<String>,
        b: String,
    },
    /// A library that is loaded first.
    Preload {
        path: String,
    },
    /// A limit of the control group.
    Group {
        name: &'static str,
        a: String,
        b: String,
    },
}

/// An environment variable; `None` where it is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub a: Option<String>,
    pub b: Option<String>,
}

/// Limits that a process may set for itself.
pub const LIMITS: [&str; 8] = [
    "Max cpu time",
    "Max file size",
    "Max data size",
    "Max stack size",
    "Max core file size",
    "Max open files",
    "Max locked memory",
    "Max address space",
];

/// Why a file is not tried that only one run was seen to use.
const UNSEEN: &str =
    "the other run may have used it too: its system calls were timed for only part of the run (record both with --exact)";

/// The variable that loads a library before all others.
pub const PRELOAD: &str = "LD_PRELOAD";

impl Setting {
    /// Why not, if nothing sets it.
    pub fn of(fact: &Differing, texts: &Texts) -> Result<Setting, String> {
        let both = || match (&fact.a, &fact.b) {
            (Some(a), Some(b)) => Ok((a.clone(), b.clone())),
            _ if fact.may_be_unseen => Err(UNSEEN.to_owned()),
            _ => Err("only one of the two has it".to_owned()),
        };
        match (fact.kind.as_str(), fact.key.as_str()) {
            ("environment variable", name) => {
                let is_secret = |value: &Option<String>| {
                    let value = value.as_deref().unwrap_or_default();
                    value.contains(timesink_capture::REDACTED)
                };
                if is_secret(&fact.a) || is_secret(&fact.b) {
                    return Err("its value was not kept".to_owned());
                }
                Ok(Setting::Variables(vec![Variable {
                    name: name.to_owned(),
                    a: fact.a.clone(),
                    b: fact.b.clone(),
                }]))
            }
            ("invocation", "arguments") => {
                Err("the command of A is run: timesink bench runs several commands".to_owned())
            }
            ("affinity", "processors") => both().map(|(a, b)| Setting::Processors { a, b }),
            ("affinity", "nice") => {
                let (a, b) = both()?;
                match (a.parse(), b.parse()) {
                    (Ok(a), Ok(b)) => Ok(Setting::Nice { a, b }),
                    _ => Err("its values are no numbers".to_owned()),
                }
            }
            ("ulimits", name) if LIMITS.contains(&name) => {
                let (a, b) = both()?;
                Ok(Setting::Limit {
                    name: name.to_owned(),
                    a,
                    b,
                })
            }
            ("security", "randomize_va_space" | "addresses of the program") => match &*both()?.1 {
                "0" | "fixed" => Ok(Setting::FixedAddresses),
                _ => Err(
                    "address randomization can be disabled for one process, not enabled".to_owned(),
                ),
            },
            ("huge pages", "transparent, enabled" | "of the program") => match &*both()?.1 {
                "never" | "disabled" => Ok(Setting::NoHugePages),
                _ => Err("huge pages can be disabled for one process, not enabled".to_owned()),
            },
            ("allocator", "in use") => Setting::preload(&both()?.1),
            ("file", path) => {
                let (a, b) = both()?;
                Ok(Setting::File {
                    path: path.to_owned(),
                    a: texts.placed_a(path, &a)?,
                    b: texts.placed_b(path, &b)?,
                })
            }
            ("CPU limits" | "memory limits", name) => Setting::group(fact, name),
            _ => Err("it cannot be set for a single process".to_owned()),
        }
    }

    /// A's value of what the run used, or may have used, but is not tried: without it a run would not be as in A.
    pub fn kept(fact: &Differing, texts: &Texts) -> Option<Setting> {
        match (fact.kind.as_str(), &fact.a) {
            // Who reads a variable is not seen.
            ("environment variable", _) => Setting::of(fact, texts).ok(),
            ("file", Some(known)) if fact.touched => {
                let changed = texts.placed_a(&fact.key, known).ok()?;
                changed.map(|source| Setting::File {
                    path: fact.key.clone(),
                    a: Some(source.clone()),
                    b: source,
                })
            }
            _ => None,
        }
    }

    /// Made once to see whether it can be.
    fn group(fact: &Differing, name: &str) -> Result<Setting, String> {
        let known = LIMITS_OF_GROUPS.iter().find(|known| **known == name);
        let name = *known.ok_or_else(|| "it cannot be set for a single process".to_owned())?;
        let value = |value: &Option<String>| {
            let value = value.as_deref().filter(|value| !value.is_empty());
            value.unwrap_or(none(name)).to_owned()
        };
        let (a, b) = (value(&fact.a), value(&fact.b));
        for value in [&a, &b] {
            let made = MadeGroups::default().make(&[(name, value.clone())]);
            made.map_err(|error| format!("{error:#}"))?;
        }
        Ok(Setting::Group { name, a, b })
    }

    fn preload(name: &str) -> Result<Setting, String> {
        const FOLDERS: [&str; 3] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
        let library = format!("lib{name}.so");
        for folder in FOLDERS {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.path());
            let found = names.find(|path| {
                let name = path
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                name.is_some_and(|name| name.starts_with(&library))
            });
            if let Some(path) = found {
                return Ok(Setting::Preload {
                    path: path.to_string_lossy().into_owned(),
                });
            }
        }
        Err(format!("{library} is not here"))
    }
}

/// All that is set for one run: A's values, but for one of B's.
#[derive(Clone, Debug, Default)]
pub struct Settings(Vec<(Setting, bool)>);

impl Settings {
    pub fn baseline(tried: &[(Differing, Setting)], kept: Vec<Setting>) -> Settings {
        let tried = tried.iter().map(|(_, setting)| setting.clone());
        Settings(tried.chain(kept).map(|setting| (setting, false)).collect())
    }

    pub fn with(&self, flipped: Option<&(Differing, Setting)>) -> Settings {
        let flipped = flipped.map(|(_, setting)| setting);
        let set = self.0.iter().map(|(setting, _)| {
            let is_flipped = Some(setting) == flipped;
            (setting.clone(), is_flipped)
        });
        Settings(set.collect())
    }

    /// Limits of control groups.
    pub fn limits(&self) -> Vec<Limit> {
        let limits = self.0.iter().filter_map(|(setting, of_b)| match setting {
            Setting::Group { name, a, b } => {
                Some((*name, if *of_b { b.clone() } else { a.clone() }))
            }
            _ => None,
        });
        limits.collect()
    }

    /// As the arguments of `timesink under`.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        // An allocator that is tried is loaded by this, whatever A had there.
        let preloads =
            |(setting, of_b): &(Setting, bool)| *of_b && matches!(setting, Setting::Preload { .. });
        let is_preloaded = self.0.iter().any(preloads);
        let mut add = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        for (setting, of_b) in &self.0 {
            let of = |a: &String, b: &String| if *of_b { b.clone() } else { a.clone() };
            match setting {
                Setting::Variables(all) => {
                    let given = all.iter();
                    given
                        .filter(|one| !is_preloaded || one.name != PRELOAD)
                        .for_each(|one| match if *of_b { &one.b } else { &one.a } {
                            Some(value) => add("set", format!("{}={value}", one.name)),
                            None => add("unset", one.name.clone()),
                        })
                }
                Setting::Processors { a, b } => add("processors", of(a, b)),
                Setting::Nice { a, b } => {
                    add("nice", if *of_b { *b } else { *a }.to_string());
                }
                Setting::Limit { name, a, b } => add("limit", format!("{name}={}", of(a, b))),
                Setting::FixedAddresses if *of_b => add("only", "fixed-addresses".to_owned()),
                Setting::NoHugePages if *of_b => add("only", "no-huge-pages".to_owned()),
                Setting::Preload { path } if *of_b => add("set", format!("{PRELOAD}={path}")),
                Setting::File { path, a, b } => {
                    let source = if *of_b { Some(b) } else { a.as_ref() };
                    source.into_iter().for_each(|source| {
                        add("file", format!("{path}={source}"));
                    });
                }
                Setting::Group { .. }
                | Setting::FixedAddresses
                | Setting::NoHugePages
                | Setting::Preload { .. } => {}
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator that is tried is not unloaded by A's variables: it was told to have no effect where it was the cause.
    #[test]
    fn an_allocator_is_loaded_whatever_a_had() {
        let fact = |kind: &str| Differing {
            kind: kind.to_owned(),
            ..Differing::default()
        };
        let variables = ["LD_PRELOAD", "LANG"].map(|name| Variable {
            name: name.to_owned(),
            a: None,
            b: Some("b".to_owned()),
        });
        let tried = [
            (fact("variables"), Setting::Variables(variables.to_vec())),
            (
                fact("allocator"),
                Setting::Preload {
                    path: "/lib/x.so".to_owned(),
                },
            ),
        ];
        let baseline = Settings::baseline(&tried, Vec::new());
        let words = |at: Option<usize>| baseline.with(at.and_then(|at| tried.get(at))).words();
        assert_eq!(words(None), ["--unset", "LD_PRELOAD", "--unset", "LANG"]);
        assert_eq!(
            words(Some(1)),
            ["--unset", "LANG", "--set", "LD_PRELOAD=/lib/x.so"]
        );
        assert_eq!(words(Some(0)), ["--set", "LD_PRELOAD=b", "--set", "LANG=b"]);
    }
}
