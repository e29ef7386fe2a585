//! The process that becomes the program: limits, variables, namespaces.

use std::fs;

use timesink_recording::words::FactKind::*;

use super::{field, Facts};
use crate::reader::Reader;
use crate::redact;

/// No environment is longer, as far as it is looked at.
const ENVIRONMENT: u64 = 256 << 10;
const TEXT: u64 = 64 << 10;

pub fn add(facts: &mut Facts, pid: u32, reader: &Reader) {
    let text = |name: &str, most: u64| {
        let bytes = reader.text(pid, name, most).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    add_texts(
        facts,
        &text("limits", TEXT),
        &text("status", TEXT),
        &text("stat", TEXT),
    );
    add_addresses(facts, &text("personality", TEXT));
    add_invocation(facts, pid);
    add_variables(facts, &text("environ", ENVIRONMENT));
    add_namespaces(facts, pid);
}

/// What the kernel says of a process in these files.
pub fn add_texts(facts: &mut Facts, limits: &str, status: &str, stat: &str) {
    add_limits(facts, limits);
    facts.add(
        Affinity,
        "processors",
        field(status, "Cpus_allowed_list").unwrap_or_default(),
    );
    facts.add(
        Affinity,
        "memory nodes",
        field(status, "Mems_allowed_list").unwrap_or_default(),
    );
    if let Some(enabled) = field(status, "THP_enabled") {
        let told = if enabled == "0" {
            "disabled"
        } else {
            "enabled"
        };
        facts.add(HugePages, "of the program", told);
    }
    // The name may have blanks and brackets; fields are counted from its end: nice is the 19th of all, policy the 41st.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields: Vec<&str> = fields.split_whitespace().collect();
    facts.add(Affinity, "nice", fields.get(16).unwrap_or(&""));
    facts.add(Affinity, "policy", fields.get(38).unwrap_or(&""));
}

/// Whether its addresses are random, which a process may refuse for what it starts (`setarch -R`).
fn add_addresses(facts: &mut Facts, personality: &str) {
    const NOT_RANDOM: u32 = 0x004_0000;
    if let Ok(flags) = u32::from_str_radix(personality.trim(), 16) {
        let told = if flags & NOT_RANDOM != 0 {
            "fixed"
        } else {
            "random"
        };
        facts.add(Security, "addresses of the program", told);
    }
}

fn add_limits(facts: &mut Facts, limits: &str) {
    // Name, soft limit, hard limit, unit; columns of fixed width.
    const NAME: usize = 26;
    for line in limits.lines().skip(1) {
        if let (Some(name), Some(rest)) = (line.get(..NAME), line.get(NAME..)) {
            let soft = rest.split_whitespace().next().unwrap_or_default();
            facts.add(Ulimits, name.trim(), soft);
        }
    }
}

fn add_invocation(facts: &mut Facts, pid: u32) {
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let length = folder.as_os_str().len();
    facts.add(
        Invocation,
        "length of the working directory",
        length.to_string(),
    );
    for (number, name) in [
        (0, "standard input"),
        (1, "standard output"),
        (2, "standard error"),
    ] {
        let target = fs::read_link(format!("/proc/{pid}/fd/{number}"));
        let target = target.unwrap_or_default();
        let target = target.to_string_lossy();
        let kind = match &*target {
            "" => "closed",
            "/dev/null" => "/dev/null",
            _ if target.starts_with("pipe:") => "a pipe",
            _ if target.starts_with("socket:") => "a socket",
            _ if target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") => "a terminal",
            _ => "a file",
        };
        facts.add(Invocation, name, kind);
    }
}

pub fn add_variables(facts: &mut Facts, environ: &str) {
    facts.add(EnvironmentSize, "bytes", environ.len().to_string());
    let mut variables: Vec<&str> = environ.split('\0').collect();
    variables.sort_unstable();
    let mut left_out = 0;
    for variable in variables {
        if let Some((name, value)) = variable.split_once('=') {
            if !facts.add(Variable, name, redact::variable(name, value)) && !value.is_empty() {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        facts.add_always(Variable, "(too many: not kept)", left_out.to_string());
    }
}

/// Whether its namespaces are ours: their numbers say nothing elsewhere.
fn add_namespaces(facts: &mut Facts, pid: u32) {
    for name in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
        let link = |of: &str| fs::read_link(format!("/proc/{of}/ns/{name}")).ok();
        let (theirs, ours) = (link(&pid.to_string()), link("self"));
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            let whose = if theirs == ours {
                "timesink's"
            } else {
                "its own"
            };
            facts.add(Namespaces, name, whose);
        }
    }
}
