//! Control groups that a command is run in: each with limits of its own, beside the one that timesink is in, and gone when we end.
//!
//! Nothing else of the machine is changed: where no group around ours passes a controller on, the limit is not tried.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context};
use timesink_capture::control_groups::{write, Groups};
use timesink_capture::launch::Identity;
use timesink_recording::files::Folder;

use crate::commands::bench::memory_groups::remove_leftovers;

/// A limit with its value, by the name that version 2 has for it.
pub type Limit = (&'static str, String);

/// Limits of control groups that can be set.
pub const LIMITS: [&str; 4] = ["cpu.max", "cpu.weight", "memory.max", "memory.high"];

/// What stands for no limit.
pub fn none(name: &str) -> &'static str {
    match name {
        "cpu.weight" => "100",
        _ => "max",
    }
}

const NAME: &str = "timesink-prove-";

/// Groups that were made.
#[derive(Default)]
pub struct MadeGroups {
    made: RefCell<Vec<(Folder, String)>>,
}

impl MadeGroups {
    /// Makes a group with these limits, and says what must be joined for it: a folder of version 2, or one for each controller.
    pub fn make(&self, limits: &[Limit]) -> anyhow::Result<Vec<PathBuf>> {
        if limits.is_empty() {
            return Ok(Vec::new());
        }
        if Identity::from_sudo()?.is_some() {
            bail!("with sudo the command runs as you, who may not join a control group: run prove as root itself");
        }
        let own = Groups::of(std::process::id());
        let mut join: Vec<PathBuf> = Vec::new();
        for controller in ["cpu", "memory"] {
            let of_this = |limit: &&Limit| limit.0.split('.').next() == Some(controller);
            let limits: Vec<&Limit> = limits.iter().filter(of_this).collect();
            if limits.is_empty() {
                continue;
            }
            let version_1 = match controller {
                "cpu" => own.cpu.as_deref(),
                _ => own.memory.as_deref(),
            };
            let group = match version_1 {
                Some(group) => self.within(group)?,
                None => match join.iter().find(|made| has(made, controller)) {
                    Some(made) => made.clone(),
                    None => self.within(passing_on(&own.unified, controller)?)?,
                },
            };
            for (name, value) in limits {
                set(&group, name, value, version_1.is_some())
                    .with_context(|| format!("{name} cannot be {value}"))?;
            }
            if !join.contains(&group) {
                join.push(group);
            }
        }
        Ok(join)
    }

    /// Makes an empty group within this one.
    fn within(&self, around: &Path) -> anyhow::Result<PathBuf> {
        let mut made = self.made.borrow_mut();
        let name = format!("{NAME}{}-{}", std::process::id(), made.len());
        let folder = Folder::open(around)?;
        remove_leftovers(&folder, NAME);
        folder
            .make_group_within(&name)
            .context("no control group can be made here")?;
        let group = around.join(&name);
        made.push((folder, name));
        Ok(group)
    }
}

impl Drop for MadeGroups {
    fn drop(&mut self) {
        for (around, name) in self.made.borrow().iter().rev() {
            // One in which something still runs stays, until that ends and somebody removes it.
            let _ = around.remove_folder(name);
        }
    }
}

/// The group of version 2 beside which one with this controller can be made: the nearest one around ours that passes it on.
fn passing_on<'g>(own: &'g Path, controller: &str) -> anyhow::Result<&'g Path> {
    let passes_on = |group: &&Path| {
        let passed = std::fs::read_to_string(group.join("cgroup.subtree_control"));
        let passed = passed.unwrap_or_default();
        passed.split_whitespace().any(|name| name == controller)
    };
    let found = own.ancestors().find(passes_on);
    found.with_context(|| format!("no control group around timesink's passes {controller} on"))
}

/// Whether a group of version 2 has a controller.
fn has(group: &Path, controller: &str) -> bool {
    let controllers = std::fs::read_to_string(group.join("cgroup.controllers"));
    let controllers = controllers.unwrap_or_default();
    controllers
        .split_whitespace()
        .any(|name| name == controller)
}

fn set(group: &Path, name: &str, value: &str, is_version_1: bool) -> anyhow::Result<()> {
    for (file, value) in files(name, value, is_version_1)? {
        write(&group.join(file), &value).with_context(|| file.to_owned())?;
    }
    Ok(())
}

/// The files of a limit, with what is written to them.
fn files(
    name: &str,
    value: &str,
    is_version_1: bool,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    if !is_version_1 {
        let name = LIMITS.iter().find(|known| **known == name);
        return Ok(vec![(name.context("not known")?, value.to_owned())]);
    }
    Ok(match name {
        "cpu.max" => {
            let (quota, period) = value.split_once(' ').unwrap_or((value, "100000"));
            let quota = if quota == "max" { "-1" } else { quota };
            vec![
                ("cpu.cfs_period_us", period.to_owned()),
                ("cpu.cfs_quota_us", quota.to_owned()),
            ]
        }
        "memory.max" => {
            let limit = if value == "max" { "-1" } else { value };
            vec![("memory.limit_in_bytes", limit.to_owned())]
        }
        _ => bail!("this machine has version 1 of control groups, which lacks {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits by the names and values of both versions.
    #[test]
    fn limits_of_both_versions() {
        let told = |name, value, is_version_1| {
            let files = files(name, value, is_version_1).expect("it can be set");
            let files = files
                .into_iter()
                .map(|(file, value)| format!("{file}={value}"));
            files.collect::<Vec<_>>()
        };
        assert_eq!(
            told("cpu.max", "50000 100000", false),
            ["cpu.max=50000 100000"]
        );
        assert_eq!(
            told("cpu.max", "50000 100000", true),
            ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=50000"]
        );
        assert_eq!(
            told("cpu.max", "max", true),
            ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=-1"]
        );
        assert_eq!(told("memory.high", "4096", false), ["memory.high=4096"]);
        assert_eq!(
            told("memory.max", "max", true),
            ["memory.limit_in_bytes=-1"]
        );
        assert!(files("memory.high", "4096", true).is_err());
        assert!(files("pids.max", "1", false).is_err());
    }
}
