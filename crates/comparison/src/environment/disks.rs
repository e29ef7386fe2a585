//! The disks of a run by what they were used for: the same work on two disks differs in that, and not in a mount that one side lacks.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::Facts;
use timesink_recording::tables::Fact;
use timesink_recording::words::FactKind::{self, *};

use super::{Environment, KnownFact};

/// What stands behind a mount point in the key of its device's number, which is another one each time.
pub const NUMBER: &str = ", number";
/// Files of the same name on two disks are told one by one no more often than this.
const FILES: usize = 3;

/// What a disk is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    WorkingFolder,
    Read,
    Written,
}

impl Role {
    fn words(self) -> &'static str {
        match self {
            Role::WorkingFolder => "the working folder",
            Role::Read => "most of what was read",
            Role::Written => "most of what was written",
        }
    }
}

/// Where the files of a run lie.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    /// Mount points by what they were used for.
    roles: BTreeMap<Role, String>,
    /// Mount points of files, by path.
    files: BTreeMap<String, String>,
}

impl Disks {
    pub fn of(directory: &str, noted: &[Fact], facts: &Facts) -> Disks {
        let points: BTreeMap<u64, &str> = noted
            .iter()
            .filter(|fact| fact.kind == Mount)
            .filter_map(|fact| {
                let point = fact.key.strip_suffix(NUMBER)?;
                Some((fact.value.parse().ok()?, point))
            })
            .collect();
        let mut bytes: BTreeMap<Role, BTreeMap<&str, u64>> = BTreeMap::new();
        let mut files = BTreeMap::new();
        for file in &facts.files {
            let object = facts.object(file.object);
            let at = object.and_then(|object| Some((object.path.as_deref()?, object.device?)));
            let Some((path, point)) = at.and_then(|(path, device)| {
                let point = points.get(&device)?;
                Some((path, *point))
            }) else {
                continue;
            };
            files.insert(path.to_owned(), point.to_owned());
            let mut add = |role, count| {
                let of_role = bytes.entry(role).or_default();
                *of_role.entry(point).or_default() += count;
            };
            if file.bytes_written > 0 {
                add(Role::Written, file.bytes_written);
            }
            // Programs and their libraries lie where the system is.
            if file.bytes_read > 0 && !is_installed(path) {
                add(Role::Read, file.bytes_read);
            }
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            if !directory.is_empty() && folder == directory.trim_end_matches('/') {
                add(Role::WorkingFolder, 1);
            }
        }
        let most = |points: BTreeMap<&str, u64>| {
            let most = points.into_iter().max_by_key(|(_, bytes)| *bytes);
            most.map(|(point, _)| point.to_owned())
        };
        let roles = bytes
            .into_iter()
            .filter_map(|(role, points)| Some((role, most(points)?)));
        Disks {
            roles: roles.collect(),
            files,
        }
    }
}

fn is_installed(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/etc/", "/proc/",
    ];
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// One that both runs used for the same, each another.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPair {
    /// What for.
    pub key: String,
    pub a: KnownFact,
    pub b: KnownFact,
}

/// The disks that differ, and the mount points that are told by them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskPairs {
    pub pairs: Vec<DiskPair>,
    told: BTreeSet<String>,
}

impl DiskPairs {
    /// `moved`: files that have another path in B, by both paths.
    pub fn of<'p>(
        a: &Environment,
        b: &Environment,
        moved: impl Iterator<Item = (&'p str, &'p str)>,
    ) -> DiskPairs {
        let mut uses: Vec<((&str, &str), Vec<String>)> = Vec::new();
        for (role, first) in &a.disks.roles {
            let Some(second) = b.disks.roles.get(role) else {
                continue;
            };
            let words = role.words().to_owned();
            let at = (first.as_str(), second.as_str());
            match uses.iter_mut().find(|(points, _)| *points == at) {
                Some((_, known)) => known.push(words),
                None => uses.push((at, vec![words])),
            }
        }
        let mut files = 0;
        for (first, second) in moved {
            let at = (a.disks.files.get(first), b.disks.files.get(second));
            let (Some(one), Some(other)) = at else {
                continue;
            };
            let at = (one.as_str(), other.as_str());
            if files < FILES && !uses.iter().any(|(points, _)| *points == at) {
                files += 1;
                uses.push((at, vec![format!("file {first}")]));
            }
        }
        let mut found = DiskPairs::default();
        for ((first, second), words) in uses.into_iter().filter(|((a, b), _)| a != b) {
            found
                .told
                .extend([first, second].iter().map(|point| (*point).to_owned()));
            let (one, other) = (described(a, first), described(b, second));
            if one == other {
                continue;
            }
            let known = |what: &str, point: &str| KnownFact {
                end: Some(format!("{what}, mounted at {point}")),
                touched: true,
                ..KnownFact::default()
            };
            found.pairs.push(DiskPair {
                key: format!("of {}", listed(&words)),
                a: known(&one, first),
                b: known(&other, second),
            });
        }
        found
    }

    /// Whether a fact that only one side has is about a disk that is told.
    pub fn tells(&self, kind: FactKind, key: &str) -> bool {
        let point = match kind {
            Mount | Disk | DiskQueue | FreeSpace => key.rsplit_once(", ").map(|(point, _)| point),
            Layers => Some(key.strip_suffix(", device mapper").unwrap_or(key)),
            _ => None,
        };
        point.is_some_and(|point| self.told.contains(point))
    }
}

/// Kind, device and options of what is mounted there.
fn described(environment: &Environment, point: &str) -> String {
    let value = |kind: FactKind, key: String| {
        let fact = environment.facts.get(&(kind, key))?;
        Some(fact.value()).filter(|value| !value.is_empty())
    };
    let of = |kind: FactKind, name: &str| value(kind, format!("{point}, {name}"));
    let mut told = of(Mount, "type").unwrap_or("unknown").to_owned();
    if let Some(device) = of(Disk, "device") {
        let rotational = of(Disk, "rotational").map(|is| match is {
            "0" => "rotational no".to_owned(),
            _ => "rotational yes".to_owned(),
        });
        let scheduler = of(Disk, "scheduler").map(|name| format!("scheduler {name}"));
        let ahead = of(Disk, "read_ahead_kb").map(|kb| format!("read-ahead {kb} kB"));
        let parts: Vec<String> = [rotational, scheduler, ahead]
            .into_iter()
            .flatten()
            .collect();
        told += &format!(" on {device}");
        if !parts.is_empty() {
            told += &format!(" ({})", parts.join(", "));
        }
    }
    if let Some(layer) = value(Layers, point.to_owned()).filter(|layer| *layer != "overlay") {
        told += &format!(", {layer}");
    }
    if let Some(options) = of(Mount, "options") {
        told += &format!(", options {options}");
    }
    told
}

fn listed(words: &[String]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.join(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;
    use timesink_recording::words::Moment;

    /// A device, where it is mounted, and what is known of it.
    type Mounted<'a> = (u64, &'a str, &'a [(FactKind, &'a str, &'a str)]);

    /// A run that reads and writes on a device, with what is known of where that is mounted.
    fn side(device: u64, mounted: &[Mounted<'_>]) -> Environment {
        let mut drawn = draft(
            "object rows file /w/rows
             object out file /w/out
             object libc file /usr/lib/libc.so.6
             process 1 load
             thread 1.1 load
             call 1.1 read libc count 1 bytes 900000
             call 1.1 read rows count 1 bytes 6000
             call 1.1 write out count 1 bytes 5000
             1.1: cpu 0..10ms",
        );
        for object in &mut drawn.objects {
            let is_installed = object.path.as_deref().is_some_and(is_installed);
            object.device = Some(if is_installed { 1 } else { device });
        }
        let facts = Facts::of(&drawn.recording()).expect("it reads");
        let mut noted = Vec::new();
        let mut environment = Environment::default();
        let mut note = |kind, key: String, value: &str| {
            noted.push(Fact {
                kind,
                key,
                value: value.to_owned(),
                moment: Moment::End,
            });
        };
        for (number, point, all) in mounted {
            note(Mount, format!("{point}{NUMBER}"), &number.to_string());
            for (kind, name, value) in *all {
                note(*kind, format!("{point}, {name}"), value);
            }
        }
        environment.disks = Disks::of("/w", &noted, &facts);
        for fact in noted.iter().filter(|fact| !fact.key.ends_with(NUMBER)) {
            let known = KnownFact {
                end: Some(fact.value.clone()),
                ..KnownFact::default()
            };
            environment
                .facts
                .insert((fact.kind, fact.key.clone()), known);
        }
        environment
    }

    const ROOT: &[(FactKind, &str, &str)] = &[
        (Mount, "type", "ext4"),
        (Mount, "options", "rw"),
        (Disk, "device", "vda"),
        (Disk, "rotational", "1"),
        (Disk, "scheduler", "none"),
    ];
    const MEMORY: &[(FactKind, &str, &str)] = &[(Mount, "type", "tmpfs"), (Mount, "options", "rw")];

    /// The same files on two disks are one fact, with kind, device and options of both; what is told by it is told once.
    #[test]
    fn two_disks_are_one_fact() {
        let a = side(1, &[(1, "/", ROOT)]);
        let b = side(2, &[(1, "/", ROOT), (2, "/w", MEMORY)]);
        let found = DiskPairs::of(&a, &b, std::iter::empty());
        let [pair] = found.pairs.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            pair.key,
            "of the working folder, most of what was read and most of what was written"
        );
        assert_eq!(
            pair.a.value(),
            "ext4 on vda (rotational yes, scheduler none), options rw, mounted at /"
        );
        assert_eq!(pair.b.value(), "tmpfs, options rw, mounted at /w");
        assert!(found.tells(Mount, "/w, type") && found.tells(Layers, "/w"));
        assert!(!found.tells(Mount, "/other, type") && !found.tells(Kernel, "/w"));
    }

    /// One disk at two places, and files of another name, are no difference.
    #[test]
    fn the_same_disk_elsewhere_is_no_difference() {
        let a = side(1, &[(1, "/", ROOT)]);
        let same = DiskPairs::of(&a, &side(1, &[(1, "/mnt", ROOT)]), std::iter::empty());
        assert_eq!(same.pairs.len(), 0);
        let unknown = DiskPairs::of(&a, &Environment::default(), std::iter::empty());
        assert_eq!(unknown, DiskPairs::default());
    }

    /// A file that is not most of what is read has its disk, too.
    #[test]
    fn the_disk_of_a_file() {
        let mut a = side(1, &[(1, "/", ROOT)]);
        let mut b = side(1, &[(1, "/", ROOT), (3, "/mnt", MEMORY)]);
        a.disks.files.insert("/w/x.conf".to_owned(), "/".to_owned());
        b.disks
            .files
            .insert("/mnt/x.conf".to_owned(), "/mnt".to_owned());
        let moved = [("/w/x.conf", "/mnt/x.conf")];
        let found = DiskPairs::of(&a, &b, moved.into_iter());
        let keys: Vec<&str> = found.pairs.iter().map(|pair| pair.key.as_str()).collect();
        assert_eq!(keys, ["of file /w/x.conf"]);
    }
}
