//! `timesink under`: becomes a command, with some facts set for it alone. `timesink prove` runs what it measures by it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{bail, Context};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{mount_bind, mount_change, MountPropagationFlags};
use rustix::process::{getegid, geteuid, setpriority_process, setrlimit, Resource, Rlimit};
#[allow(deprecated)]
use rustix::thread::{
    disable_transparent_huge_pages, sched_setaffinity, unshare, CpuSet, UnshareFlags,
};
use timesink_capture::control_groups::write;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where it runs
    #[arg(long)]
    directory: Option<PathBuf>,
    /// A variable
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A variable that is not there
    #[arg(long, value_name = "NAME")]
    unset: Vec<String>,
    /// Processors that it may use
    #[arg(long, value_name = "LIST")]
    processors: Option<String>,
    #[arg(long, allow_negative_numbers = true)]
    nice: Option<i32>,
    /// A soft limit, as /proc names it
    #[arg(long, value_name = "NAME=VALUE")]
    limit: Vec<String>,
    #[arg(long)]
    only: Vec<Only>,
    /// A file that has the bytes of another one
    #[arg(long, value_name = "PATH=SOURCE")]
    file: Vec<String>,
    /// A control group, by its folder
    #[arg(long, value_name = "FOLDER")]
    group: Vec<PathBuf>,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// What can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    FixedAddresses,
    NoHugePages,
}

/// Does not return if the command can be run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    for group in &arguments.group {
        // That is who writes it.
        write(&group.join("cgroup.procs"), "0")
            .with_context(|| format!("control group {}", group.display()))?;
    }
    if let Some(list) = &arguments.processors {
        let set = processors(list).with_context(|| format!("{list} is no list of processors"))?;
        sched_setaffinity(None, &set).with_context(|| format!("processors {list}"))?;
    }
    if let Some(nice) = arguments.nice {
        setpriority_process(None, nice).with_context(|| format!("nice {nice}"))?;
    }
    for limit in &arguments.limit {
        set_limit(limit).with_context(|| format!("limit {limit}"))?;
    }
    if arguments.only.contains(&Only::NoHugePages) {
        disable_transparent_huge_pages(true).context("huge pages")?;
    }
    place_files(&arguments.file)?;
    let mut words = arguments.command.iter();
    let program = words.next().context("no command")?;
    // Only a program that is started gets other addresses: setarch starts it.
    let mut command = match arguments.only.contains(&Only::FixedAddresses) {
        false => Command::new(program),
        true => {
            let mut setarch = Command::new("setarch");
            setarch.arg("--addr-no-randomize").arg(program);
            setarch
        }
    };
    command.args(words);
    if let Some(directory) = &arguments.directory {
        command.current_dir(directory);
    }
    for variable in &arguments.set {
        let (name, value) = variable.split_once('=').context("NAME=VALUE is meant")?;
        command.env(name, value);
    }
    for name in &arguments.unset {
        command.env_remove(name);
    }
    let error = command.exec();
    Err(error).with_context(|| format!("{} cannot be started", program.to_string_lossy()))
}

/// `0-3,8`.
fn processors(list: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let most = CpuSet::MAX_CPU;
        (first..=last)
            .take_while(|at| *at < most)
            .for_each(|at: usize| set.set(at));
    }
    Some(set)
}

fn set_limit(limit: &str) -> anyhow::Result<()> {
    let (name, value) = limit.split_once('=').context("NAME=VALUE is meant")?;
    let resource = match name {
        "Max cpu time" => Resource::Cpu,
        "Max file size" => Resource::Fsize,
        "Max data size" => Resource::Data,
        "Max stack size" => Resource::Stack,
        "Max core file size" => Resource::Core,
        "Max open files" => Resource::Nofile,
        "Max locked memory" => Resource::Memlock,
        "Max address space" => Resource::As,
        _ => bail!("a process cannot set this limit"),
    };
    let current = match value {
        "unlimited" => None,
        number => Some(number.parse()?),
    };
    let had = rustix::process::getrlimit(resource);
    let is_more = match (current, had.maximum) {
        (Some(wanted), Some(most)) => wanted > most,
        (None, Some(_)) => true,
        _ => false,
    };
    let maximum = if is_more { current } else { had.maximum };
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}

/// Puts files in the place of others, for us alone: in a namespace of our own.
fn place_files(files: &[String]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    let mut flags = UnshareFlags::NEWNS;
    if !user.is_root() {
        flags |= UnshareFlags::NEWUSER;
    }
    own_namespaces(flags).context("a namespace of its own")?;
    if !user.is_root() {
        let (user, group) = (user.as_raw(), group.as_raw());
        tell_kernel("/proc/self/setgroups", "deny")?;
        tell_kernel("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        tell_kernel("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("mounts of its own")?;
    for file in files {
        let (path, source) = file.split_once('=').context("PATH=SOURCE is meant")?;
        mount_bind(source, path).with_context(|| format!("{path}: another file in its place"))?;
    }
    Ok(())
}

fn tell_kernel(path: &str, text: &str) -> rustix::io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(|_| ())
}

/// We have one thread, and hold no descriptor that another shares.
#[allow(deprecated)]
fn own_namespaces(flags: UnshareFlags) -> rustix::io::Result<()> {
    unshare(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of processors as the kernel writes them.
    #[test]
    fn lists_of_processors() {
        let set = processors("0-2,5").expect("a list");
        let found: Vec<usize> = (0..8).filter(|at| set.is_set(*at)).collect();
        assert_eq!(found, [0, 1, 2, 5]);
        assert!(processors("0-x").is_none());
    }

    /// A limit that no process can set, and one that is no number, are refused; a lower one can be set.
    #[test]
    fn limits() {
        assert!(set_limit("Max processes=10").is_err());
        assert!(set_limit("Max open files=many").is_err());
        let had = rustix::process::getrlimit(Resource::Core);
        set_limit("Max core file size=0").expect("a lower limit");
        setrlimit(Resource::Core, had).expect("as it was");
    }
}
