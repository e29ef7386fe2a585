//! Processors and memory.

use std::fs;
use std::path::Path;

use timesink_recording::tables::facts::{ALL_TICKS, IDLE_TICKS};
use timesink_recording::words::FactKind::*;

use super::{field, read, Facts};
use crate::floors::ticks;

const PROCESSORS: &str = "/sys/devices/system/cpu";

pub fn add(facts: &mut Facts) {
    let cpuinfo = read("/proc/cpuinfo");
    let first = cpuinfo.split("\n\n").next().unwrap_or_default();
    let said = |name: &str| field(first, name).unwrap_or_default();
    for (key, name) in [
        ("model", "model name"),
        ("family", "cpu family"),
        ("number", "model\t"),
        ("stepping", "stepping"),
        ("microcode", "microcode"),
    ] {
        facts.add(CpuModel, key, said(name));
    }
    let mut flags: Vec<&str> = said("flags").split(' ').collect();
    flags.sort_unstable();
    facts.add(CpuFlags, "flags", flags.join(" "));
    facts.add_file(Topology, "on line", format!("{PROCESSORS}/online"));
    facts.add_file(
        Topology,
        "threads of a core in use",
        format!("{PROCESSORS}/smt/active"),
    );
    facts.add(Topology, "cores of a socket", said("cpu cores"));
    add_caches(facts);
    facts.add_file(Numa, "nodes", "/sys/devices/system/node/online");
    facts.add_file(Numa, "balancing", "/proc/sys/kernel/numa_balancing");
    let frequency = format!("{PROCESSORS}/cpu0/cpufreq");
    facts.add_files(
        Governor,
        &frequency,
        &[
            "scaling_governor",
            "scaling_driver",
            "energy_performance_preference",
        ],
    );
    facts.add_files(Boost, &frequency, &["scaling_min_freq", "scaling_max_freq"]);
    facts.add_files(Boost, &format!("{PROCESSORS}/cpufreq"), &["boost"]);
    facts.add_files(
        Boost,
        &format!("{PROCESSORS}/intel_pstate"),
        &["no_turbo", "max_perf_pct"],
    );
    let faults = fs::read_dir(format!("{PROCESSORS}/vulnerabilities"));
    let mut faults: Vec<_> = faults.into_iter().flatten().flatten().collect();
    faults.sort_by_key(fs::DirEntry::file_name);
    for fault in faults {
        let name = fault.file_name();
        facts.add_file(Mitigations, &name.to_string_lossy(), fault.path());
    }
    let virtual_one = said("flags").split(' ').any(|flag| flag == "hypervisor");
    facts.add(
        Hypervisor,
        "in a virtual machine",
        if virtual_one { "yes" } else { "no" },
    );
    facts.add_file(Hypervisor, "type", "/sys/hypervisor/type");
    facts.add_files(
        Hypervisor,
        "/sys/class/dmi/id",
        &["sys_vendor", "product_name"],
    );
    facts.add_file(
        ClockSource,
        "in use",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    );
    let memory = read("/proc/meminfo");
    for name in ["MemTotal", "SwapTotal"] {
        facts.add(MemorySize, name, field(&memory, name).unwrap_or_default());
    }
}

fn add_caches(facts: &mut Facts) {
    for index in 0..8 {
        let folder = format!("{PROCESSORS}/cpu0/cache/index{index}");
        if !Path::new(&folder).exists() {
            return;
        }
        let [level, kind, size] =
            ["level", "type", "size"].map(|name| read(format!("{folder}/{name}")));
        facts.add(Caches, format!("L{level} {}", kind.to_lowercase()), size);
    }
}

/// What moves by itself.
pub fn add_moving(facts: &mut Facts) {
    let cpuinfo = read("/proc/cpuinfo");
    let speeds = cpuinfo.lines().filter_map(|line| {
        let (_, speed) = line.strip_prefix("cpu MHz")?.split_once(':')?;
        speed.trim().parse::<f64>().ok()
    });
    let speeds: Vec<f64> = speeds.collect();
    let mean = speeds.iter().sum::<f64>() / speeds.len().max(1) as f64;
    facts.add(Frequency, "mean MHz", format!("{mean:.0}"));
    facts.add_files(
        Frequency,
        &format!("{PROCESSORS}/cpu0/thermal_throttle"),
        &["core_throttle_count", "package_throttle_count"],
    );
    let stat = read("/proc/stat");
    let ticks = ticks(&stat);
    if ticks.all > 0 {
        let idle = ticks.all - ticks.busy - ticks.stolen;
        facts.add(Hypervisor, "steal, ticks", ticks.stolen.to_string());
        facts.add(Load, IDLE_TICKS, idle.to_string());
        facts.add(Load, ALL_TICKS, ticks.all.to_string());
    }
    let running = field(&stat, "procs_running").unwrap_or_default();
    facts.add(Load, "runnable", running);
    let load = read("/proc/loadavg");
    facts.add(
        Load,
        "load average",
        load.split(' ').next().unwrap_or_default(),
    );
    let memory = read("/proc/meminfo");
    for name in ["MemFree", "MemAvailable", "Cached", "Dirty", "SwapFree"] {
        facts.add(MemoryUse, name, field(&memory, name).unwrap_or_default());
    }
    for resource in ["cpu", "memory", "io"] {
        let pressure = read(format!("/proc/pressure/{resource}"));
        let some = pressure
            .split_whitespace()
            .find_map(|word| word.strip_prefix("avg10="));
        facts.add(
            MemoryUse,
            format!("{resource} pressure"),
            some.unwrap_or_default(),
        );
    }
    let up = read("/proc/uptime");
    let seconds = up.split(['.', ' ']).next().unwrap_or_default();
    facts.add(Uptime, "seconds", seconds);
}
