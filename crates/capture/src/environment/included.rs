//! What a server's configuration includes in turn: which files a text names, and how that is followed. Texts and names are asked for, so that
//! who answers decides what may be read.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};

/// So many files are followed from all configurations together, and so deep.
const MOST_FILES: usize = 128;
const DEEPEST: u32 = 4;
/// So many patterns of one text are looked at, and so many names of a folder.
const MOST_PATTERNS: usize = 64;
pub const MOST_NAMES: usize = 512;

/// What answers.
pub trait Answers {
    /// What stands in a file, if what it says may be followed.
    fn text(&self, path: &Path) -> Option<String>;
    /// The names in a folder, no more than `MOST_NAMES`.
    fn names(&self, folder: &Path) -> Vec<String>;
    fn is_file(&self, path: &Path) -> bool;
}

/// A configuration, and where the server that reads it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    pub path: PathBuf,
    pub folder: Option<PathBuf>,
    /// A folder is all of its files that end in `.cfg`.
    pub is_haproxy: bool,
}

/// What a line includes.
#[derive(Debug, PartialEq, Eq)]
enum Included<'t> {
    /// Files, by a path that may have `*`, `?` and `[...]` in it; all of a folder, if it is one.
    Files(&'t str),
    /// The files of a folder whose names end so.
    Folder(&'t str, &'static [&'static str]),
}

/// The files that are included by these, directly or not, without these themselves.
pub fn followed(named: &BTreeSet<Configuration>, answers: &impl Answers) -> BTreeSet<PathBuf> {
    let mut known: BTreeSet<PathBuf> = named.iter().map(|one| one.path.clone()).collect();
    let mut found = BTreeSet::new();
    let mut left: VecDeque<(PathBuf, u32, &Configuration)> = VecDeque::new();
    left.extend(named.iter().map(|one| (one.path.clone(), 0, one)));
    for one in named.iter().filter(|one| one.is_haproxy) {
        let files = within(&one.path, answers, |name| name.ends_with(".cfg"));
        found.extend(files.into_iter().take(MOST_FILES));
    }
    while let Some((path, depth, main)) = left.pop_front() {
        let Some(text) = answers.text(&path) else {
            continue;
        };
        for included in text.lines().filter_map(included).take(MOST_PATTERNS) {
            for file in files(&included, &bases(&text, &path, main), answers) {
                if found.len() >= MOST_FILES {
                    return found;
                }
                if known.insert(file.clone()) {
                    found.insert(file.clone());
                    if depth + 1 < DEEPEST {
                        left.push_back((file, depth + 1, main));
                    }
                }
            }
        }
    }
    found
}

/// What a line of nginx, Apache, PostgreSQL, MySQL, redis and others of their kind includes.
fn included(line: &str) -> Option<Included<'_>> {
    let line = line.trim();
    let line = line.strip_prefix('!').unwrap_or(line);
    let end = line.find(|c: char| c.is_whitespace() || c == '=')?;
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim();
    // What comes behind it on the line is a remark.
    let rest = match rest.chars().next()? {
        quote @ ('\'' | '"') => rest[1..].split(quote).next()?,
        _ => rest.split(char::is_whitespace).next()?,
    };
    let rest = rest.strip_suffix(';').unwrap_or(rest);
    // Variables are known to the server alone.
    if rest.is_empty() || rest.contains(['$', '{', '<', '%', ' ']) {
        return None;
    }
    match word.to_ascii_lowercase().as_str() {
        "include" | "includeoptional" | "include_if_exists" | "include_try" => {
            Some(Included::Files(rest))
        }
        "include_dir" => Some(Included::Folder(rest, &[".conf"])),
        "includedir" => Some(Included::Folder(rest, &[".cnf", ".ini", ".conf"])),
        _ => None,
    }
}

/// From where a path that is not whole may be meant, the likeliest first.
fn bases(text: &str, path: &Path, main: &Configuration) -> Vec<PathBuf> {
    let root = text.lines().find_map(|line| {
        let (word, rest) = line.trim().split_once(char::is_whitespace)?;
        let is_root = word.eq_ignore_ascii_case("ServerRoot");
        is_root.then(|| PathBuf::from(rest.trim().trim_matches('"')))
    });
    let own = path.parent().map(Path::to_owned);
    let of_main = main.path.parent().map(Path::to_owned);
    [root, of_main, own, main.folder.clone()]
        .into_iter()
        .flatten()
        .filter(|base| base.is_absolute())
        .collect()
}

fn files(included: &Included<'_>, bases: &[PathBuf], answers: &impl Answers) -> Vec<PathBuf> {
    let (named, endings) = match included {
        Included::Files(named) => (*named, None),
        Included::Folder(named, endings) => (*named, Some(*endings)),
    };
    let named = Path::new(named);
    let candidates: Vec<PathBuf> = match named.is_absolute() {
        true => vec![named.to_owned()],
        false => bases.iter().map(|base| base.join(named)).collect(),
    };
    let found = candidates.iter().map(|path| match endings {
        Some(endings) => within(path, answers, |name| {
            endings.iter().any(|ending| name.ends_with(ending))
        }),
        None => matching(path, answers),
    });
    // The first of these places that has any is what is meant.
    let mut found = found.filter(|files| !files.is_empty());
    found.next().unwrap_or_default()
}

/// The files of a folder that a server would take.
fn within(folder: &Path, answers: &impl Answers, is_taken: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut names = answers.names(folder);
    names.sort();
    let taken = names
        .iter()
        .filter(|name| !name.starts_with('.') && is_taken(name));
    let paths = taken.map(|name| folder.join(name));
    paths.filter(|path| answers.is_file(path)).collect()
}

/// The files that a pattern names.
fn matching(pattern: &Path, answers: &impl Answers) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(part) = component else {
            found.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let part = part.to_string_lossy();
        if !part.contains(['*', '?', '[']) {
            found.iter_mut().for_each(|path| path.push(&*part));
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            let mut names = answers.names(folder);
            names.sort();
            let fitting = names.iter().filter(|name| {
                name.starts_with('.') == part.starts_with('.')
                    && fits(part.as_bytes(), name.as_bytes())
            });
            next.extend(fitting.map(|name| folder.join(name)));
        }
        next.truncate(MOST_NAMES);
        found = next;
    }
    let is_plain = |path: &PathBuf| answers.is_file(path);
    match found.as_slice() {
        // Apache takes all files of a folder.
        [one] if !is_plain(one) => within(one, answers, |_| true),
        _ => found.into_iter().filter(is_plain).collect(),
    }
}

/// Whether a name fits a pattern of a shell's.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    // Where the last star stood, and what it was held against.
    let mut star: Option<(usize, usize)> = None;
    while of < name.len() {
        let step = match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of));
                at += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => class(&pattern[at..], name[of]),
            Some(byte) if *byte == name[of] => Some(1),
            _ => None,
        };
        match (step, &mut star) {
            (Some(length), _) => {
                at += length;
                of += 1;
            }
            (None, Some((from, held))) => {
                *held += 1;
                (at, of) = (*from + 1, *held);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// How long a class such as `[a-z]` or `[!0]` is, if it holds the byte.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let end = 2 + pattern.get(2..)?.iter().position(|byte| *byte == b']')?;
    let within = &pattern[1..end];
    let (is_not, within) = match within.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, within),
    };
    let mut left = within;
    let mut holds = false;
    while let Some((first, rest)) = left.split_first() {
        left = match rest {
            [b'-', last, rest @ ..] => {
                holds |= (*first..=*last).contains(&byte);
                rest
            }
            _ => {
                holds |= *first == byte;
                rest
            }
        };
    }
    (holds != is_not).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Files with their texts; all others are not there.
    struct Drawn(BTreeMap<&'static str, String>);

    impl Answers for Drawn {
        fn text(&self, path: &Path) -> Option<String> {
            self.0.get(path.to_str()?).cloned()
        }

        fn names(&self, folder: &Path) -> Vec<String> {
            let within = self.0.keys().filter_map(|path| {
                let rest = Path::new(path).strip_prefix(folder).ok()?;
                let name = rest.components().next()?.as_os_str();
                Some(name.to_string_lossy().into_owned())
            });
            within.collect::<BTreeSet<_>>().into_iter().collect()
        }

        fn is_file(&self, path: &Path) -> bool {
            path.to_str().is_some_and(|path| self.0.contains_key(path))
        }
    }

    fn found(main: &str, folder: &str, files: &[(&'static str, &str)]) -> Vec<String> {
        let drawn = files.iter().map(|(path, text)| (*path, (*text).to_owned()));
        let main = Configuration {
            path: main.into(),
            folder: Some(folder.into()),
            is_haproxy: main.contains("haproxy"),
        };
        let found = followed(&BTreeSet::from([main]), &Drawn(drawn.collect()));
        let texts = found.iter().map(|path| path.to_string_lossy().into_owned());
        texts.collect()
    }

    /// Each server's own way to include, from where each looks.
    #[test]
    fn what_servers_include() {
        let nginx = found(
            "/etc/nginx/nginx.conf",
            "/",
            &[
                ("/etc/nginx/nginx.conf", "http {\n  include mime.types;\n include /etc/nginx/sites-enabled/*;\n # include no.conf;\n}"),
                ("/etc/nginx/mime.types", "types {}"),
                ("/etc/nginx/no.conf", ""),
                ("/etc/nginx/sites-enabled/a", "include snippets/x.conf;"),
                ("/etc/nginx/snippets/x.conf", ""),
            ],
        );
        assert_eq!(
            nginx,
            [
                "/etc/nginx/mime.types",
                "/etc/nginx/sites-enabled/a",
                "/etc/nginx/snippets/x.conf"
            ]
        );
        let apache = found(
            "/etc/apache2/conf/apache2.conf",
            "/",
            &[
                ("/etc/apache2/conf/apache2.conf", "ServerRoot \"/etc/apache2\"\nIncludeOptional mods-enabled/*.load\nInclude ports.conf\nInclude ${HERE}/x.conf\nInclude sites"),
                ("/etc/apache2/mods-enabled/a.load", ""),
                ("/etc/apache2/mods-enabled/a.conf", ""),
                ("/etc/apache2/ports.conf", ""),
                ("/etc/apache2/sites/one", ""),
            ],
        );
        assert_eq!(
            apache,
            [
                "/etc/apache2/mods-enabled/a.load",
                "/etc/apache2/ports.conf",
                "/etc/apache2/sites/one"
            ]
        );
    }

    #[test]
    fn what_databases_and_others_include() {
        let postgres = found(
            "/var/lib/pg/postgresql.conf",
            "/var/lib/pg",
            &[
                ("/var/lib/pg/postgresql.conf", "include_dir = 'conf.d'\t# more\ninclude 'own.conf'\ninclude_if_exists 'none.conf'"),
                ("/var/lib/pg/conf.d/a.conf", ""),
                ("/var/lib/pg/conf.d/a.txt", ""),
                ("/var/lib/pg/own.conf", ""),
            ],
        );
        assert_eq!(
            postgres,
            ["/var/lib/pg/conf.d/a.conf", "/var/lib/pg/own.conf"]
        );
        let mysql = found(
            "/etc/mysql/my.cnf",
            "/",
            &[
                (
                    "/etc/mysql/my.cnf",
                    "!includedir /etc/mysql/conf.d/\n!include /etc/x.cnf",
                ),
                ("/etc/mysql/conf.d/a.cnf", ""),
                ("/etc/mysql/conf.d/README", ""),
                ("/etc/x.cnf", ""),
            ],
        );
        assert_eq!(mysql, ["/etc/mysql/conf.d/a.cnf", "/etc/x.cnf"]);
        let redis = found(
            "/etc/redis/redis.conf",
            "/var/lib/redis",
            &[
                ("/etc/redis/redis.conf", "include local.conf"),
                ("/var/lib/redis/local.conf", "include /etc/redis/redis.conf"),
            ],
        );
        assert_eq!(redis, ["/var/lib/redis/local.conf"]);
        let haproxy = found(
            "/etc/haproxy/conf.d",
            "/",
            &[
                ("/etc/haproxy/conf.d/a.cfg", ""),
                ("/etc/haproxy/conf.d/a.txt", ""),
            ],
        );
        assert_eq!(haproxy, ["/etc/haproxy/conf.d/a.cfg"]);
    }

    /// Circles, long ways and many files come to an end.
    #[test]
    fn what_is_followed_is_bounded() {
        let deep: Vec<(&'static str, String)> = ["/0", "/1", "/2", "/3", "/4", "/5", "/6"]
            .iter()
            .enumerate()
            .map(|(at, path)| (*path, format!("include /{};", at + 1)))
            .collect();
        let files: Vec<(&'static str, &str)> = deep
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        assert_eq!(found("/0", "/", &files).len(), DEEPEST as usize);
        struct Endless;
        impl Answers for Endless {
            fn text(&self, _: &Path) -> Option<String> {
                Some("include /*/*;\n".repeat(1000))
            }
            fn names(&self, _: &Path) -> Vec<String> {
                (0..MOST_NAMES).map(|at| at.to_string()).collect()
            }
            fn is_file(&self, _: &Path) -> bool {
                true
            }
        }
        let main = Configuration {
            path: "/a".into(),
            folder: None,
            is_haproxy: false,
        };
        assert_eq!(
            followed(&BTreeSet::from([main]), &Endless).len(),
            MOST_FILES
        );
    }

    #[test]
    fn patterns() {
        let is = |pattern: &str, name: &str| fits(pattern.as_bytes(), name.as_bytes());
        assert!(is("*.conf", "a.conf") && is("*", "") && is("a*b*c", "aXbXbc"));
        assert!(is("[0-9][!a]?.x", "4b_.x") && is("**", "x"));
        assert!(!is("*.conf", "a.conf~") && !is("?", "") && !is("[0-9]", "a") && !is("[", "["));
    }
}
