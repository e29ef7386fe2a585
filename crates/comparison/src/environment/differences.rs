//! Which facts of two runs differ, those first that the run had to do with and that can explain where its time changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use timesink_recording::words::{Detail, FactKind};

use super::disks::DiskPairs;
use super::observed::ARGUMENTS;
use super::{resource_of, varies, Environment, KnownFact, Resource, Varies};
use crate::{Act, Comparison, Difference, Does, Thing};

/// A fact that differs; `None` where it is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct FactDifference {
    pub kind: FactKind,
    /// Which one, as in A if it is there.
    pub key: String,
    pub a: Option<String>,
    pub b: Option<String>,
    pub varies: Varies,
    pub resource: Resource,
    /// Whether one of the runs had to do with it.
    pub touched: bool,
    /// Of a file that only one run was seen to use: the other may have used it as well, while its calls were not timed.
    pub may_be_unseen: bool,
    /// It can explain where the time changed.
    pub explains: bool,
    /// Of a file, the share of what changed that is in the programs that it can have had an effect on.
    in_programs: f64,
    /// Of a file whose text was kept in both.
    pub lines: Vec<LineDifference>,
}

/// Lines of a text that the other does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDifference {
    pub a: Option<String>,
    pub b: Option<String>,
}

/// All that differs between two environments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvironmentDifferences {
    /// Kinds of which both sides have facts, or one has what the other could have had.
    pub compared: usize,
    /// What matters most first.
    pub facts: Vec<FactDifference>,
}

impl EnvironmentDifferences {
    /// Kinds that differ.
    pub fn kinds(&self) -> usize {
        let kinds: BTreeSet<FactKind> = self.facts.iter().map(|fact| fact.kind).collect();
        kinds.len()
    }

    pub fn touched(&self) -> usize {
        self.facts.iter().filter(|fact| fact.touched).count()
    }
}

/// By how much the time of the path changed that goes to each resource and to each program, whichever way.
#[derive(Clone, Debug, Default)]
struct ChangedTimes {
    resources: HashMap<Resource, u64>,
    programs: HashMap<String, u64>,
}

impl ChangedTimes {
    fn of(comparison: &Comparison) -> ChangedTimes {
        let mut changed = ChangedTimes::default();
        for row in &comparison.rows {
            let resource = match &row.about {
                Difference::Work(does) => of_work(does),
                Difference::Processes | Difference::OtherCode => Resource::Processor,
            };
            let ns = row.difference_ns().unsigned_abs();
            let sum = changed.resources.entry(resource).or_default();
            *sum = sum.saturating_add(ns);
            let names = [Some(&row.program), row.program_in_b.as_ref()];
            for program in names.into_iter().flatten() {
                let sum = changed.programs.entry(program.clone()).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
        changed
    }

    /// The share of all that changed that is in some programs; all of it where nothing is known.
    fn share_of_programs(&self, programs: &BTreeSet<String>) -> f64 {
        let all: u64 = self.resources.values().sum();
        if programs.is_empty() || all == 0 {
            return 1.0;
        }
        let ns = programs.iter().filter_map(|name| self.programs.get(name));
        (ns.sum::<u64>() as f64 / all as f64).min(1.0)
    }

    /// The share of all that changed; all of it where nothing is known.
    fn share(&self, resource: Resource) -> f64 {
        let all: u64 = self.resources.values().sum();
        match resource {
            Resource::None => 0.0,
            Resource::Any => 1.0,
            _ if all == 0 => 1.0,
            _ => self.resources.get(&resource).copied().unwrap_or(0) as f64 / all as f64,
        }
    }
}

fn of_work(does: &Does) -> Resource {
    match does {
        Does::Calls { act, thing } => match act {
            Act::Connect | Act::Accept | Act::Send | Act::Receive | Act::Poll => Resource::Network,
            Act::Open
            | Act::Close
            | Act::LookUp
            | Act::Read
            | Act::Write
            | Act::Flush
            | Act::Remove
            | Act::Rename
                if *thing != Thing::Nothing =>
            {
                Resource::Disk
            }
            Act::Map => Resource::Memory,
            _ => Resource::Processor,
        },
        Does::Waits { detail, .. } => match detail {
            Detail::DiskRead | Detail::DiskWrite | Detail::Flush => Resource::Disk,
            Detail::NetworkReceive | Detail::NetworkSend | Detail::NetworkConnect => {
                Resource::Network
            }
            _ => Resource::Any,
        },
        Does::PageFaults => Resource::Memory,
        Does::Code { .. } => Resource::Processor,
        Does::Ready | Does::Throttled => Resource::Scheduler,
        Does::Exit | Does::Unknown => Resource::None,
    }
}

/// A resource explains something if so much of what changed is its.
const EXPLAINS: f64 = 0.1;

impl Comparison {
    /// What differs between the places where its two sides ran.
    pub fn environments(&self) -> EnvironmentDifferences {
        let changed = ChangedTimes::of(self);
        self.a.environment.compare(&self.b.environment, &changed)
    }
}

impl Environment {
    /// What differs from A, which this is, to B.
    fn compare(&self, b: &Environment, changed: &ChangedTimes) -> EnvironmentDifferences {
        let mut pairs = self.pairs(b);
        let files = pairs.iter().filter(|pair| pair.at.0 == FactKind::File);
        let moved = files.filter_map(|pair| Some((pair.at.1.as_str(), pair.in_b?)));
        let disks = DiskPairs::of(self, b, moved);
        pairs.retain(|pair| {
            let one_lacks_it = pair.a.is_none() || pair.b.is_none();
            !(one_lacks_it && disks.tells(pair.at.0, &pair.at.1))
        });
        pairs.extend(disks.pairs.iter().map(|pair| Pair {
            at: (FactKind::Mount, pair.key.clone()),
            a: Some(&pair.a),
            b: Some(&pair.b),
            in_b: None,
        }));
        let mut compared: BTreeSet<FactKind> = BTreeSet::new();
        let mut facts: Vec<FactDifference> = Vec::new();
        for Pair {
            at: (kind, key),
            a: one,
            b: other,
            ..
        } in pairs
        {
            // What is seen of one is known of both; of what the live system tells, both must.
            if (self.only_observed || b.only_observed) && (one.is_none() || other.is_none()) {
                continue;
            }
            compared.insert(kind);
            if !differ(kind, one, other) {
                continue;
            }
            let sides = [(one, self), (other, b)];
            let unseen = |(fact, side): &(Option<&KnownFact>, &Environment)| {
                fact.is_none() && kind == FactKind::File && !side.saw_all_files
            };
            let may_be_unseen = sides.iter().any(unseen);
            facts.push(told(kind, key, (one, other), may_be_unseen, changed));
        }
        // A program that is the same has the same allocator: whose library it was is seen of one that began before by chance.
        let may_differ = |fact: &FactDifference| match fact.kind {
            FactKind::Executable | FactKind::Library | FactKind::Children => true,
            FactKind::Variable => fact.key == "LD_PRELOAD",
            _ => false,
        };
        if !facts.iter().any(may_differ) {
            facts.retain(|fact| fact.kind != FactKind::Allocator);
        }
        let rank = |fact: &FactDifference| {
            let share = (changed.share(fact.resource) * 1000.0) as u64;
            let there = fact.a.is_some() && fact.b.is_some();
            (
                !fact.explains,
                !fact.touched,
                fact.may_be_unseen,
                // In tenths: who did little of what changed is no reason to read a text later.
                std::cmp::Reverse((fact.in_programs * 10.0).round() as u64),
                fact.lines.is_empty(),
                matches!(fact.kind, FactKind::File | FactKind::Library),
                fact.varies == Varies::Moves,
                std::cmp::Reverse(share),
                !is_configuration(&fact.key),
                !there,
                fact.varies,
                fact.kind,
            )
        };
        facts.sort_by(|x, y| rank(x).cmp(&rank(y)).then_with(|| x.key.cmp(&y.key)));
        EnvironmentDifferences {
            compared: compared.len(),
            facts,
        }
    }

    /// The facts of both sides that are about the same: by kind and key; files in other folders by their names, if there is
    /// one of each name.
    fn pairs<'a>(&'a self, b: &'a Environment) -> Vec<Pair<'a>> {
        let (only_a, only_b) = (names(self, b), names(b, self));
        let mut taken: BTreeSet<&(FactKind, String)> = BTreeSet::new();
        let mut pairs = Vec::new();
        for (at, one) in &self.facts {
            let name = (at.0, name_of(at));
            let moved = only_a
                .get(&name)
                .filter(|own| own.len() == 1)
                .and_then(|_| only_b.get(&name))
                .filter(|theirs| theirs.len() == 1)
                .map(|theirs| theirs[0]);
            let there = b.facts.get_key_value(at).map(|(at, _)| at).or(moved);
            let other = there.and_then(|at| b.facts.get(at));
            taken.extend(there);
            pairs.push(Pair {
                at: at.clone(),
                a: Some(one),
                b: other,
                in_b: there.map(|(_, key)| key.as_str()),
            });
        }
        let rest = b.facts.iter().filter(|(at, _)| !taken.contains(at));
        pairs.extend(rest.map(|(at, other)| Pair {
            at: at.clone(),
            a: None,
            b: Some(other),
            in_b: Some(&at.1),
        }));
        pairs
    }
}

/// A fact that differs, with what it can explain of what changed.
fn told(
    kind: FactKind,
    key: String,
    (one, other): (Option<&KnownFact>, Option<&KnownFact>),
    may_be_unseen: bool,
    changed: &ChangedTimes,
) -> FactDifference {
    let touched = [one, other].into_iter().flatten().any(|fact| fact.touched);
    let resource = resource_of(kind);
    let programs = [one, other].into_iter().flatten();
    let programs = programs.flat_map(|fact| fact.programs.clone()).collect();
    let in_programs = changed.share_of_programs(&programs);
    let lines = match (one.and_then(text), other.and_then(text)) {
        (Some(one), Some(other)) => lines(one, other),
        _ => Vec::new(),
    };
    let value = |fact: Option<&KnownFact>| fact.map(|fact| fact.value().to_owned());
    // Whatever changed, other arguments may be why.
    let is_arguments = kind == FactKind::Invocation && key == ARGUMENTS;
    let explains = touched && (is_arguments || changed.share(resource) * in_programs >= EXPLAINS);
    FactDifference {
        kind,
        key,
        a: value(one),
        b: value(other),
        varies: varies(kind),
        resource,
        touched,
        may_be_unseen,
        explains,
        in_programs,
        lines,
    }
}

/// Facts of both sides that are about the same.
struct Pair<'a> {
    /// As in A if it is there.
    at: (FactKind, String),
    a: Option<&'a KnownFact>,
    b: Option<&'a KnownFact>,
    /// Its key in B.
    in_b: Option<&'a str>,
}

/// Paths that only one side has, by kind and file name.
fn names<'a>(
    own: &'a Environment,
    other: &Environment,
) -> BTreeMap<(FactKind, &'a str), Vec<&'a (FactKind, String)>> {
    let mut names: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let files = own.facts.keys().filter(|(_, key)| key.starts_with('/'));
    for at in files.filter(|at| !other.facts.contains_key(*at)) {
        names.entry((at.0, name_of(at))).or_default().push(at);
    }
    names
}

fn name_of(at: &(FactKind, String)) -> &str {
    at.1.rsplit('/').next().unwrap_or(&at.1)
}

fn text(fact: &KnownFact) -> Option<&str> {
    fact.text.as_deref()
}

fn differ(kind: FactKind, one: Option<&KnownFact>, other: Option<&KnownFact>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        // That one run looked for a path that does not exist, and the other did not, is no difference of where they ran.
        let there = one.or(other).map_or("", KnownFact::value);
        return there != "does not exist" && varies(kind) != Varies::Moves;
    };
    let (a, b) = (one.value(), other.value());
    match (kind, varies(kind)) {
        (FactKind::File | FactKind::Outcome | FactKind::Library, _) => files_differ(a, b),
        (FactKind::Executable | FactKind::Interpreter, _) => programs_differ(a, b),
        (_, Varies::Moves) | (FactKind::PageCache, _) => moved_far(kind, one, other),
        (FactKind::Children, _) => false,
        _ => a != b,
    }
}

/// `size=3553 changed=1763942400 crc32=9f86d081`: what is in it counts, not when it was written.
fn files_differ(a: &str, b: &str) -> bool {
    let part = |text: &str, name: &str| -> Option<String> {
        let found = text.split(' ').find_map(|word| word.strip_prefix(name));
        found.map(str::to_owned)
    };
    let both = |name: &str| part(a, name).zip(part(b, name));
    if part(a, "size=").is_none() || part(b, "size=").is_none() {
        return a != b;
    }
    // Of large ones the sum is that of parts: where these are alike, no difference is known.
    let sums = [both("crc32="), both("parts=")].into_iter().flatten();
    let size = both("size=").into_iter();
    size.chain(sums).any(|(a, b)| a != b)
}

/// Whether a file is one that tells a program what to do, by its name.
fn is_configuration(path: &str) -> bool {
    const ENDINGS: [&str; 12] = [
        ".conf",
        ".cnf",
        ".cfg",
        ".config",
        ".ini",
        ".toml",
        ".yaml",
        ".yml",
        ".json",
        ".xml",
        ".properties",
        ".env",
    ];
    path.starts_with("/etc/") || ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// A program with the same build id is the same, wherever it lies.
fn programs_differ(a: &str, b: &str) -> bool {
    match (a.split_once(" build="), b.split_once(" build=")) {
        (Some((_, a)), Some((_, b))) => a != b,
        _ => a != b,
    }
}

/// What moves by itself: only a large difference is one.
fn moved_far(kind: FactKind, one: &KnownFact, other: &KnownFact) -> bool {
    let number =
        |text: Option<&str>| -> Option<f64> { text?.split_whitespace().next()?.parse().ok() };
    let grown = |fact: &KnownFact| {
        let (begin, end) = (number(fact.begin.as_deref()), number(fact.end.as_deref()));
        Some((end? - begin?).max(0.0))
    };
    let of = |fact: &KnownFact| number(Some(fact.value()));
    let (low, high) = match (of(one), of(other)) {
        (Some(a), Some(b)) => (a.min(b), a.max(b)),
        _ => return one.value() != other.value(),
    };
    match kind {
        FactKind::Frequency => high > low * 1.1 && low > 0.0,
        FactKind::Load => high - low > 1.0,
        FactKind::Throttling | FactKind::Hypervisor => match (grown(one), grown(other)) {
            (Some(a), Some(b)) => (a - b).abs() > 5.0 && a.max(b) > 2.0 * a.min(b),
            _ => false,
        },
        FactKind::PageCache => high - low > 10.0 && high > low * 2.0,
        FactKind::Uptime => false,
        _ => high > low * 2.0 && high - low > 10.0,
    }
}

/// No more lines of a text are told.
const LINES: usize = 5;

/// Lines of each that the other does not have, put side by side where both begin with the same word.
fn lines(a: &str, b: &str) -> Vec<LineDifference> {
    fn filled(text: &str) -> impl Iterator<Item = &str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty())
    }
    let (in_a, in_b) = (filled(a).collect(), filled(b).collect());
    let only = |text: &str, other: &BTreeSet<&str>| -> Vec<String> {
        let new = filled(text).filter(|line| !other.contains(line));
        new.map(str::to_owned).collect()
    };
    let (only_a, mut only_b) = (only(a, &in_b), only(b, &in_a));
    let first_word = |line: &str| -> String {
        let end = line.find(|c: char| c.is_whitespace() || c == '=' || c == ':');
        line[..end.unwrap_or(line.len())].to_owned()
    };
    let mut found = Vec::new();
    for line in only_a {
        let same = only_b
            .iter()
            .position(|other| first_word(other) == first_word(&line));
        found.push(LineDifference {
            b: same.map(|at| only_b.remove(at)),
            a: Some(line),
        });
    }
    found.extend(only_b.into_iter().map(|line| LineDifference {
        a: None,
        b: Some(line),
    }));
    found.truncate(LINES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(facts: &[(FactKind, &str, &str, bool)]) -> Environment {
        let known = |value: &str, touched| KnownFact {
            begin: Some(value.to_owned()),
            touched,
            ..KnownFact::default()
        };
        let facts = facts
            .iter()
            .map(|&(kind, key, value, touched)| ((kind, key.to_owned()), known(value, touched)));
        Environment {
            facts: facts.collect(),
            ..Environment::default()
        }
    }

    fn compared(
        a: &[(FactKind, &str, &str, bool)],
        b: &[(FactKind, &str, &str, bool)],
        changed: &[(Resource, u64)],
    ) -> Vec<String> {
        let changed = ChangedTimes {
            resources: changed.iter().copied().collect(),
            ..ChangedTimes::default()
        };
        let found = environment(a).compare(&environment(b), &changed);
        let told = |fact: &FactDifference| format!("{} {}", fact.kind, fact.key);
        found.facts.iter().map(told).collect()
    }

    /// Of files that one program read, those come first whose program's time changed, however many others differ.
    #[test]
    fn a_file_of_the_program_that_changed_comes_first() {
        let side = |text: &str| {
            let file = |path: &str, program: &str| {
                let fact = KnownFact {
                    end: Some(format!("size=1 crc32={text}")),
                    touched: true,
                    programs: [program.to_owned()].into(),
                    ..KnownFact::default()
                };
                ((FactKind::File, path.to_owned()), fact)
            };
            let harmless = (1..=20).map(|at| file(&format!("/a/harmless{at}.txt"), "cat"));
            let server = ["/srv/a.txt", "/srv/server.conf"].map(|path| file(path, "server"));
            Environment {
                facts: harmless.chain(server).collect(),
                ..Environment::default()
            }
        };
        let changed = ChangedTimes {
            resources: [(Resource::Processor, 100)].into(),
            programs: [("server".to_owned(), 97), ("cat".to_owned(), 3)].into(),
        };
        let found = side("a").compare(&side("b"), &changed);
        let first: Vec<&str> = found.facts.iter().map(|fact| fact.key.as_str()).collect();
        assert_eq!(first[..2], ["/srv/server.conf", "/srv/a.txt"]);
        let explaining = found.facts.iter().filter(|fact| fact.explains);
        assert_eq!((found.facts.len(), explaining.count()), (22, 2));
    }

    /// An allocator differs only where something differs that chooses it: of a server that began before the recordings its library is
    /// seen by chance.
    #[test]
    fn an_allocator_differs_with_what_chooses_it() {
        use FactKind::*;
        let side = |allocator, preload| {
            let allocator = (Allocator, "in use", allocator, true);
            [allocator, (Variable, "LD_PRELOAD", preload, true)]
        };
        let changed = [(Resource::Processor, 100)];
        let alike = compared(
            &side("jemalloc", "x"),
            &side("the C library's", "x"),
            &changed,
        );
        assert_eq!(alike.len(), 0);
        let other = compared(
            &side("jemalloc", "x"),
            &side("the C library's", "y"),
            &changed,
        );
        assert_eq!(other.len(), 2);
    }

    /// What the run used and what its changed time goes to comes first; what it has nothing to do with last, but it comes.
    #[test]
    fn what_explains_comes_first() {
        use FactKind::*;
        let a = [
            (Network, "tcp_slow_start_after_idle", "1", true),
            (HugePages, "transparent, enabled", "always", true),
            (Variable, "HOME", "/root", false),
            (Kernel, "release", "6.1", true),
        ];
        let b = [
            (Network, "tcp_slow_start_after_idle", "0", true),
            (HugePages, "transparent, enabled", "never", true),
            (Variable, "HOME", "/home/ada", false),
            (Kernel, "release", "6.1", true),
        ];
        let network = [(Resource::Network, 900), (Resource::Processor, 10)];
        assert_eq!(
            compared(&a, &b, &network),
            [
                "network settings tcp_slow_start_after_idle",
                "huge pages transparent, enabled",
                "environment variable HOME"
            ]
        );
        let memory = [(Resource::Memory, 900)];
        assert_eq!(
            compared(&a, &b, &memory)[0],
            "huge pages transparent, enabled"
        );
    }

    /// Other arguments may be why, whatever changed; other settings of the same kind not.
    #[test]
    fn other_arguments_may_be_why() {
        use FactKind::*;
        let a = [
            (Invocation, "arguments", "-1 data", true),
            (Invocation, "length of the working directory", "9", true),
            (Affinity, "nice", "0", true),
        ];
        let b = [
            (Invocation, "arguments", "-9 data", true),
            (Invocation, "length of the working directory", "12", true),
            (Affinity, "nice", "5", true),
        ];
        let processor = [(Resource::Processor, 900)];
        assert_eq!(compared(&a, &b, &processor)[0], "invocation arguments");
    }

    /// A copy of a file is the same file, also in another folder; another content of the same size is not.
    #[test]
    fn files_are_what_is_in_them() {
        use FactKind::File;
        let a = [
            (File, "/a/x.conf", "size=10 changed=1 crc32=aa", true),
            (File, "/a/y.conf", "size=10 changed=1 crc32=aa", true),
            (File, "/a/large", "size=9000000 changed=1", true),
            (File, "/a/big", "size=9000000 changed=1 parts=aa", true),
            (File, "/a/same", "size=9000000 changed=1 parts=aa", true),
        ];
        let b = [
            (File, "/b/x.conf", "size=10 changed=2 crc32=aa", true),
            (File, "/b/y.conf", "size=10 changed=2 crc32=bb", true),
            (File, "/a/large", "size=9000000 changed=2", true),
            (File, "/a/big", "size=9000000 changed=1 parts=bb", true),
            (File, "/a/same", "size=9000000 changed=3 parts=aa", true),
        ];
        assert_eq!(compared(&a, &b, &[]), ["file /a/y.conf", "file /a/big"]);
    }

    /// What moves by itself differs only if it is far apart; counters by how much they grew.
    #[test]
    fn what_moves_differs_if_it_is_far_apart() {
        use FactKind::*;
        let a = [
            (Load, "load average", "0.10", true),
            (Frequency, "mean MHz", "2600", true),
            (MemoryUse, "MemFree", "9000000 kB", true),
            (Uptime, "seconds", "100", false),
        ];
        let b = [
            (Load, "load average", "6.00", true),
            (Frequency, "mean MHz", "2650", true),
            (MemoryUse, "MemFree", "8000000 kB", true),
            (Uptime, "seconds", "90000", false),
        ];
        assert_eq!(compared(&a, &b, &[]), ["load load average"]);
    }

    /// The line that differs is told, beside the one it stands for.
    #[test]
    fn lines_that_differ() {
        let a = "Listen 80\nKeepAlive On\nTimeout 5\n";
        let b = "Listen 80\n  KeepAlive Off\nTimeout 5\nUser www\n";
        let line = |text: &str| Some(text.to_owned());
        assert_eq!(
            lines(a, b),
            [
                LineDifference {
                    a: line("KeepAlive On"),
                    b: line("KeepAlive Off")
                },
                LineDifference {
                    a: None,
                    b: line("User www")
                }
            ]
        );
    }
}
