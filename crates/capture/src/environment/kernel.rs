//! The kernel and what is set of it.

use timesink_recording::words::FactKind::*;

use super::{chosen, read, Facts};
use crate::redact;

/// Settings of memory.
const MEMORY: &str = "/proc/sys/vm";

pub fn add(facts: &mut Facts) {
    const SETTINGS: &str = "/proc/sys/kernel";
    facts.add_file(Kernel, "release", format!("{SETTINGS}/osrelease"));
    facts.add_file(Kernel, "build", format!("{SETTINGS}/version"));
    let options = read("/proc/cmdline");
    let options: Vec<&str> = options.split(' ').collect();
    facts.add(
        CommandLine,
        "options",
        redact::arguments(&options).join(" "),
    );
    let preemption = read("/sys/kernel/debug/sched/preempt");
    facts.add(Scheduling, "preemption", preemption.replace(['(', ')'], ""));
    facts.add_files(
        Scheduling,
        SETTINGS,
        &[
            "sched_rt_runtime_us",
            "sched_autogroup_enabled",
            "sched_schedstats",
        ],
    );
    for name in ["enabled", "defrag", "shmem_enabled"] {
        let text = read(format!("/sys/kernel/mm/transparent_hugepage/{name}"));
        facts.add(HugePages, format!("transparent, {name}"), chosen(&text));
    }
    facts.add_file(HugePages, "reserved", format!("{MEMORY}/nr_hugepages"));
    facts.add_file(HugePages, "merging (KSM)", "/sys/kernel/mm/ksm/run");
    add_memory_and_network(facts);
    facts.add_files(
        Security,
        SETTINGS,
        &["randomize_va_space", "perf_event_paranoid", "kptr_restrict"],
    );
    facts.add_files(Security, "/sys/kernel/security", &["lsm", "lockdown"]);
    facts.add_file(
        Security,
        "ptrace_scope",
        "/proc/sys/kernel/yama/ptrace_scope",
    );
    for name in ["current_tracer", "set_event"] {
        facts.add_file(Tracers, name, format!("/sys/kernel/tracing/{name}"));
    }
}

fn add_memory_and_network(facts: &mut Facts) {
    const TCP: &str = "/proc/sys/net/ipv4";
    facts.add_files(
        Writeback,
        MEMORY,
        &[
            "swappiness",
            "dirty_ratio",
            "dirty_background_ratio",
            "dirty_bytes",
            "dirty_background_bytes",
            "dirty_expire_centisecs",
            "dirty_writeback_centisecs",
            "overcommit_memory",
            "vfs_cache_pressure",
        ],
    );
    facts.add_files(
        Network,
        TCP,
        &[
            "tcp_congestion_control",
            "tcp_rmem",
            "tcp_wmem",
            "tcp_slow_start_after_idle",
            "tcp_tw_reuse",
            "tcp_fastopen",
            "tcp_timestamps",
            "tcp_max_syn_backlog",
            "ip_local_port_range",
        ],
    );
    facts.add_files(
        Network,
        "/proc/sys/net/core",
        &[
            "default_qdisc",
            "somaxconn",
            "rmem_max",
            "wmem_max",
            "netdev_max_backlog",
        ],
    );
}
