//! The control groups of a process and their limits, in both versions of the hierarchy, by version 2's names.

use std::fs;
use std::path::{Path, PathBuf};

use timesink_recording::words::FactKind::{self, *};

use super::{field, read, Facts};

const ROOT: &str = "/sys/fs/cgroup";

/// The folders of its groups. In version 1 each controller has a hierarchy of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    pub unified: PathBuf,
    /// Where the hierarchy of version 2 begins.
    pub root: PathBuf,
    pub cpu: Option<PathBuf>,
    pub memory: Option<PathBuf>,
}

impl Groups {
    pub fn of(pid: u32) -> Groups {
        Groups::told(&read(format!("/proc/{pid}/cgroup")), Path::new(ROOT))
    }

    /// As `/proc/PID/cgroup` tells it, of hierarchies below this folder.
    fn told(groups: &str, root: &Path) -> Groups {
        let own = |path: &str| path.trim_start_matches('/').to_owned();
        let unified = path_in(groups, "");
        let both = root.join("unified");
        let root_of_unified = if both.is_dir() { &both } else { root };
        let of_version_1 = |controller: &str| {
            let path = path_in(groups, controller)?;
            Some(root.join(controller).join(own(path)))
        };
        Groups {
            unified: root_of_unified.join(own(unified.unwrap_or_default())),
            root: root_of_unified.to_owned(),
            cpu: of_version_1("cpu"),
            memory: of_version_1("memory"),
        }
    }

    /// The name of the group of a process, by which others know it: a unit of systemd or a container. Of version 1 it is that of the first
    /// hierarchy in which it is not in the root.
    pub fn name(pid: u32) -> Option<String> {
        named(&read(format!("/proc/{pid}/cgroup")))
    }

    /// Limits: those of the group, else those of the nearest one around it that has any.
    pub(super) fn add(&self, facts: &mut Facts) {
        const LIMITS: [(FactKind, &str); 6] = [
            (CpuLimits, "cpu.max"),
            (CpuLimits, "cpu.weight"),
            (CpuLimits, "cpuset.cpus.effective"),
            (MemoryLimits, "memory.max"),
            (MemoryLimits, "memory.high"),
            (MemoryLimits, "io.max"),
        ];
        for (kind, name) in LIMITS {
            let limit = nearest(&self.unified, |group| {
                let text = read(group.join(name));
                (!text.is_empty() && !text.starts_with("max")).then_some(text)
            });
            let limit = limit.or_else(|| match name {
                "cpu.max" => nearest(self.cpu.as_deref()?, quota),
                "memory.max" => nearest(self.memory.as_deref()?, most),
                _ => None,
            });
            facts.add(kind, name, limit.unwrap_or_default());
        }
    }

    /// What moves by itself.
    pub(super) fn add_moving(&self, facts: &mut Facts) {
        let cpu = read(self.unified.join("cpu.stat"));
        for name in ["nr_throttled", "throttled_usec"] {
            facts.add(Throttling, name, field(&cpu, name).unwrap_or_default());
        }
        if let Some(group) = &self.cpu {
            let cpu = read(group.join("cpu.stat"));
            let times = field(&cpu, "nr_throttled").unwrap_or_default();
            facts.add(Throttling, "nr_throttled", times);
        }
        let memory = read(self.unified.join("memory.events"));
        for name in ["max", "oom_kill"] {
            let value = field(&memory, name).unwrap_or_default();
            facts.add(Throttling, format!("memory {name}"), value);
        }
    }
}

/// What the group says, or the nearest one around it that says anything.
fn nearest(group: &Path, says: impl Fn(&Path) -> Option<String>) -> Option<String> {
    let mut around = group
        .ancestors()
        .take_while(|folder| folder.starts_with(ROOT));
    around.find_map(says)
}

/// Version 1's quota as version 2 writes it: of a period, both in microseconds.
fn quota(group: &Path) -> Option<String> {
    let number = |name: &str| read(group.join(name)).parse::<u64>().ok();
    // Without a quota it is -1.
    let quota = number("cpu.cfs_quota_us")?;
    Some(format!("{quota} {}", number("cpu.cfs_period_us")?))
}

/// Without a limit it is the largest number of whole pages.
fn most(group: &Path) -> Option<String> {
    const NONE: u64 = 1 << 62;
    let text = read(group.join("memory.limit_in_bytes"));
    let limit = text.parse::<u64>().ok()?;
    (limit < NONE).then_some(text)
}

/// Writes a value to a file of a control group, which is there already.
pub fn write(file: &Path, value: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(file)?;
    std::io::Write::write_all(&mut file, value.as_bytes())
}

/// The group in the hierarchy of a controller, as `/proc/PID/cgroup` tells it; that of version 2 has no controller's name.
fn path_in<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let mut named = controllers.split(',');
        named.any(|name| name == controller).then_some(path)
    })
}

fn named(groups: &str) -> Option<String> {
    let all = ["", "name=systemd", "cpu", "memory"].map(|controller| path_in(groups, controller));
    let mut known = all.into_iter().flatten();
    let root = known.clone().next();
    let own = known.find(|path| *path != "/").or(root);
    own.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is in a group of one hierarchy alone is known by that one.
    #[test]
    fn a_group_has_a_name() {
        let name = |groups: &str| named(groups);
        assert_eq!(
            name("0::/system.slice/a.service\n").as_deref(),
            Some("/system.slice/a.service")
        );
        let one = "9:name=systemd:/\n4:memory:/jobs/7\n2:cpu,cpuacct:/jobs/a:b\n0::/\n";
        assert_eq!(name(one).as_deref(), Some("/jobs/a:b"));
        assert_eq!(name("1:name=systemd:/\n0::/\n").as_deref(), Some("/"));
        // A process that is gone.
        assert_eq!(name(""), None);
    }

    /// One hierarchy, or one for each controller: the folders are those that the kernel names.
    #[test]
    fn both_versions_are_read() {
        let root = Path::new("/nowhere");
        let two = Groups::told("0::/user.slice/a.scope\n", root);
        assert_eq!(two.unified, root.join("user.slice/a.scope"));
        assert_eq!((two.cpu, two.memory), (None, None));
        let one = Groups::told("5:memory:/jobs/7\n2:cpu,cpuacct:/\n0::/\n", root);
        assert_eq!(one.cpu, Some(root.join("cpu")));
        assert_eq!(one.memory, Some(root.join("memory/jobs/7")));
        assert_eq!(one.unified, root.join(""));
    }
}
