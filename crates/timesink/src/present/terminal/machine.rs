//! A whole machine on one screen: who keeps its CPUs busy, who waits for them, and what else is lacking.

use std::collections::BTreeMap;

use timesink_analysis::machine::{
    DiskTime, GroupTime, MachineTime, ProcessorTime, ProgramTime, ProgramWait, Scheduling,
    SchedulingEffect,
};
use timesink_recording::ids::ProcessId;

use super::answer::checks;
use super::head;
use super::rows::{align, times, title, Row};
use super::style::{wrap, Ink, Style};
use super::{units, Report};
use crate::present::{names, words};

/// So many programs are told, of each kind of trouble.
const BUSY: usize = 8;
const GROUPS: usize = 6;
const READY: usize = 4;
const WAITS: usize = 6;
const SCHEDULING: usize = 4;
const DISKS: usize = 4;
/// A priority or affinity that others were runnable because of for a smaller part of the time matters to nobody.
const SMALL_EFFECT: f64 = 0.01;
/// So many CPUs have a line each.
const PROCESSORS: usize = 8;
/// So many programs in the line of a CPU.
const IN_LINE: usize = 3;
/// What takes a smaller part of the time is left out, in a table and in the line of a CPU.
const SMALL: f64 = 0.001;
const SMALL_IN_LINE: f64 = 0.01;

/// What the recording tells of the machine beside its programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineState {
    /// Shares of the last ten seconds in which some task waited for it, as the kernel had them in the end: `cpu`, and its percentage.
    pub lacked: Vec<(String, String)>,
    /// Where devices are mounted, by their numbers.
    pub mounts: BTreeMap<u64, String>,
}

/// The page, ending in a line feed.
pub fn machine(
    report: &Report,
    machine: &MachineTime,
    state: &MachineState,
    style: &Style,
) -> String {
    let parts = [
        head::lines(report, style),
        busy(report, machine, style),
        groups(machine, style),
        processors(machine, style),
        ready(machine, style),
        scheduling(machine, style),
        waits(report, machine, style),
        disks(machine, state, style),
        foot(report, machine, state, style),
    ];
    super::page(&parts)
}

fn all_ns(machine: &MachineTime) -> u64 {
    machine
        .wall_ns
        .saturating_mul(machine.processors_in_all.max(1) as u64)
}

/// Its title and its rows, the longest of which come first.
fn section(name: &str, about: &str, rows: &[Row], style: &Style) -> Vec<String> {
    let mut lines = vec![title(name, about, style)];
    lines.extend(align(rows, rows.first().map_or(0, |row| row.ns), style));
    lines
}

fn busy(report: &Report, machine: &MachineTime, style: &Style) -> Vec<String> {
    let all = all_ns(machine);
    let busy: u64 = machine.processors.iter().map(ProcessorTime::busy_ns).sum();
    let about = format!(
        "share of all CPU time; {}, busy for {}",
        units::plural(machine.processors_in_all as u64, "CPU", "CPUs"),
        units::whole_percent(busy as f64 / all.max(1) as f64)
    );
    let large = |program: &&ProgramTime| program.cpu_ns as f64 >= all as f64 * SMALL;
    let told: Vec<&ProgramTime> = machine.programs.iter().filter(large).collect();
    let rows: Vec<Row> = told
        .iter()
        .take(BUSY)
        .map(|program| Row {
            label: name(report, program),
            ns: program.cpu_ns,
            share: Some(program.cpu_ns as f64 / all.max(1) as f64),
            more: ready_and_nice(program),
            ink: Some(Ink::Cpu),
            ..Row::default()
        })
        .collect();
    let mut lines = section("WHO KEEPS THE CPUS BUSY", &about, &rows, style);
    let rest: u64 = machine.programs.iter().map(|program| program.cpu_ns).sum();
    let rest = rest - rows.iter().map(|row| row.ns).sum::<u64>();
    let more = machine.programs.iter().filter(|program| program.cpu_ns > 0);
    let more = more.count().saturating_sub(rows.len());
    if more > 0 {
        let programs = units::plural(more as u64, "more program", "more programs");
        lines.push(format!("  and {programs}, {}", units::time(rest)));
    }
    lines
}

/// `runnable 1.3 s · nice 10`; the kernel sets the priorities of its own threads.
fn ready_and_nice(program: &ProgramTime) -> String {
    let runnable =
        (program.ready_ns > 0).then(|| format!("runnable {}", units::time(program.ready_ns)));
    let nice = program.nice.first().zip(program.nice.last());
    let nice = nice
        .filter(|_| !program.is_kernel)
        .map(|(first, last)| match first == last {
            true => format!("nice {first}"),
            false => format!("nice {first} to {last}"),
        });
    Vec::from_iter(runnable.into_iter().chain(nice)).join(" · ")
}

/// `rustc (12 processes)`, `sshd(811)`, `kworker (kernel)`.
fn name(report: &Report, program: &ProgramTime) -> String {
    let count = program.processes.len() as u64;
    match (program.processes.as_slice(), program.is_kernel) {
        (&[one], false) => names::process_called(report.facts, one, &program.name),
        (_, true) => format!("{} (kernel)", names::harmless(&program.name)),
        _ => format!(
            "{} ({})",
            names::harmless(&program.name),
            units::plural(count, "process", "processes")
        ),
    }
}

/// Nothing where all are in one.
fn groups(machine: &MachineTime, style: &Style) -> Vec<String> {
    let all = all_ns(machine).max(1) as f64;
    let large = |group: &&GroupTime| {
        let most = group.cpu_ns.max(group.ready_ns);
        most as f64 >= all * SMALL
    };
    let told: Vec<&GroupTime> = machine.groups.iter().filter(large).collect();
    if machine.groups.len() < 2 || told.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = told
        .iter()
        .take(GROUPS)
        .map(|group| Row {
            label: names::harmless(&group.name()).into_owned(),
            ns: group.cpu_ns,
            share: Some(group.cpu_ns as f64 / all),
            more: in_group(machine, group),
            ink: Some(Ink::Cpu),
            ..Row::default()
        })
        .collect();
    let about = "units and containers: share of all CPU time, and which programs";
    let mut lines = section("BY CONTROL GROUP", about, &rows, style);
    let more = told.len().saturating_sub(rows.len());
    if more > 0 {
        lines.push(format!(
            "  and {}",
            units::plural(more as u64, "more group", "more groups")
        ));
    }
    lines
}

/// `nginx 91 %, logger 9 % · runnable 2.1 s · held back by its CPU quota 1.9 s`.
fn in_group(machine: &MachineTime, group: &GroupTime) -> String {
    let share = |ns: u64| ns as f64 / group.cpu_ns.max(1) as f64;
    let programs = group.programs.iter().take(IN_LINE);
    let programs = programs.filter(|(_, ns)| share(*ns) >= SMALL_IN_LINE);
    let programs: Vec<String> = programs
        .map(|(at, ns)| {
            let name = names::harmless(&machine.programs[*at].name);
            format!("{name} {}", units::whole_percent(share(*ns)))
        })
        .collect();
    let mut parts = Vec::from_iter((!programs.is_empty()).then(|| programs.join(", ")));
    let times = [
        (
            "runnable",
            group.ready_ns - group.throttled_ns.min(group.ready_ns),
        ),
        (words::THROTTLED, group.throttled_ns),
    ];
    let times = times
        .into_iter()
        .filter(|(_, ns)| *ns as f64 >= machine.wall_ns as f64 * SMALL);
    parts.extend(times.map(|(what, ns)| format!("{what} {}", units::time(ns))));
    parts.join(" · ")
}

fn processors(machine: &MachineTime, style: &Style) -> Vec<String> {
    if machine.processors_in_all < 2 {
        return Vec::new();
    }
    let mut lines = vec![title(
        "BY CPU",
        "busy, and with what; who was runnable there",
        style,
    )];
    let wall = machine.wall_ns.max(1) as f64;
    let parts = |of: &[(usize, u64)]| {
        let large = of
            .iter()
            .filter(|(_, ns)| *ns as f64 >= wall * SMALL_IN_LINE);
        let parts = large.take(IN_LINE).map(|(program, ns)| {
            let name = names::harmless(&machine.programs[*program].name);
            format!("{name} {}", units::whole_percent(*ns as f64 / wall))
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    for one in machine.processors.iter().take(PROCESSORS) {
        let busy = units::whole_percent(one.busy_ns() as f64 / wall);
        let mut line = format!("CPU {}: {busy:>5}  {}", one.processor, parts(&one.ran));
        let taken = one.taken_ns as f64 / wall;
        if taken >= 0.01 {
            line += &format!(" · interrupts and the host {}", units::whole_percent(taken));
        }
        let waited = parts(&one.ready);
        if !waited.is_empty() {
            line += &format!(" · runnable: {waited}");
        }
        lines.extend(wrap(&line, "  ", Ink::Plain, style));
    }
    let shown = machine.processors.len().min(PROCESSORS);
    let more = machine.processors_in_all - shown;
    if more > 0 {
        let more = units::plural(more as u64, "more CPU", "more CPUs");
        let idle = match machine.processors_in_all - machine.processors.len() {
            0 => String::new(),
            idle => format!(", {idle} of them idle throughout"),
        };
        lines.push(format!("  and {more}{idle}"));
    }
    lines
}

fn ready(machine: &MachineTime, style: &Style) -> Vec<String> {
    let large = |program: &&ProgramTime| program.ready_ns as f64 >= machine.wall_ns as f64 * SMALL;
    let mut told: Vec<&ProgramTime> = machine.programs.iter().filter(large).collect();
    told.sort_by_key(|program| std::cmp::Reverse(program.ready_ns));
    if told.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = told
        .iter()
        .take(READY)
        .map(|program| Row {
            label: names::harmless(&program.name).into_owned(),
            ns: program.ready_ns,
            more: why_ready(program),
            ink: Some(Ink::Ready),
            ..Row::default()
        })
        .collect();
    let about = "time of all threads, and who had the CPU meanwhile";
    section("WHO WAITS FOR A CPU", about, &rows, style)
}

/// What kept a program from running: its quota, and who had the CPU.
fn why_ready(program: &ProgramTime) -> String {
    let share = |ns: u64| units::whole_percent(ns as f64 / program.ready_ns.max(1) as f64);
    let behind = program.behind.iter().take(IN_LINE);
    let behind = behind.map(|(name, ns)| format!("{} {}", names::harmless(name), share(*ns)));
    let behind: Vec<String> = behind.collect();
    let known: u64 = program.behind.iter().map(|(_, ns)| ns).sum();
    let others_ns = program.ready_ns.saturating_sub(program.throttled_ns);
    let mut parts = Vec::new();
    if program.throttled_ns as f64 >= program.ready_ns as f64 * SMALL {
        parts.push(format!(
            "{} {}",
            words::THROTTLED,
            share(program.throttled_ns)
        ));
    }
    // Others also have the CPU while a quota is used up: behind whom the rest was is not known then. Of a long wait behind many the
    // recording keeps only some: shares of it would tell of the others.
    match (behind.is_empty(), known >= others_ns / 2) {
        (true, _) => {}
        _ if program.throttled_ns >= others_ns => {
            parts.push(format!("behind others {}", share(others_ns)));
        }
        (false, true) => parts.push(format!("behind {}", behind.join(", "))),
        (false, false) => parts.push("behind many threads in turn".to_owned()),
    }
    parts.join(" · ")
}

/// Real-time threads that others stand behind, and bound ones that leave CPUs idle.
fn scheduling(machine: &MachineTime, style: &Style) -> Vec<String> {
    let least = machine.wall_ns as f64 * SMALL_EFFECT;
    let large = |effect: &&SchedulingEffect| effect.ready_ns as f64 >= least;
    let told: Vec<&SchedulingEffect> = machine.scheduling.iter().filter(large).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = told
        .iter()
        .take(SCHEDULING)
        .map(|effect| Row {
            label: format!(
                "{}: {}",
                names::harmless(&machine.programs[effect.program].name),
                words::scheduling(&effect.scheduling)
            ),
            ns: effect.ready_ns,
            more: who_waits(machine, effect),
            ink: Some(Ink::Ready),
            ..Row::default()
        })
        .collect();
    let about = "how long somebody was runnable because of it";
    section("PRIORITIES AND AFFINITIES", about, &rows, style)
}

/// `runnable behind it: dd 93 %, sh 5 %`.
fn who_waits(machine: &MachineTime, effect: &SchedulingEffect) -> String {
    if let Scheduling::Bound { .. } = effect.scheduling {
        return "runnable while another CPU was idle".to_owned();
    }
    let waiting = effect.kept_waiting.iter().take(IN_LINE);
    let waiting = waiting.map(|(at, ns)| {
        let share = units::whole_percent(*ns as f64 / effect.ready_ns.max(1) as f64);
        format!("{} {share}", names::harmless(&machine.programs[*at].name))
    });
    let waiting: Vec<String> = waiting.collect();
    format!("runnable behind it: {}", waiting.join(", "))
}

fn waits(report: &Report, machine: &MachineTime, style: &Style) -> Vec<String> {
    let large = |wait: &&ProgramWait| wait.ns as f64 >= machine.wall_ns as f64 * SMALL;
    let told: Vec<&ProgramWait> = machine.waits.iter().filter(large).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = told
        .iter()
        .take(WAITS)
        .map(|wait| Row {
            label: format!(
                "{}: {}",
                names::harmless(&machine.programs[wait.program].name),
                words::wait(wait.detail)
            ),
            ns: wait.ns,
            times: times(wait.count, wait.ns),
            about: wait
                .object
                .map_or(String::new(), |object| names::object(report.facts, object)),
            ink: Some(Ink::Wait),
            ..Row::default()
        })
        .collect();
    let about = "disk, locks and memory; time of all threads, and what most of it was for";
    section("WHO WAITS FOR DISK, LOCKS, MEMORY", about, &rows, style)
}

/// `busy 41 % · 1,204 requests · 45 MB written · issued by dd 93 %, kworker 5 %`.
fn disks(machine: &MachineTime, state: &MachineState, style: &Style) -> Vec<String> {
    let wall = machine.wall_ns.max(1) as f64;
    // What a whole device is asked to flush has no number.
    let large = |disk: &&DiskTime| disk.device != 0 && disk.busy_ns as f64 >= wall * SMALL;
    let told: Vec<&DiskTime> = machine.disks.iter().filter(large).take(DISKS).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![title(
        "DISKS",
        "how long each was busy, and who issued requests to it",
        style,
    )];
    for disk in told {
        let mut parts = vec![format!(
            "{}: busy {}",
            device(disk, state),
            units::whole_percent(disk.busy_ns as f64 / wall)
        )];
        parts.push(units::plural(disk.requests, "request", "requests"));
        let bytes = [("read", disk.read_bytes), ("written", disk.written_bytes)];
        let bytes = bytes.into_iter().filter(|(_, bytes)| *bytes > 0);
        parts.extend(bytes.map(|(what, bytes)| format!("{} {what}", units::bytes(bytes))));
        let issuers = disk.issuers.iter().filter(|(name, _)| !name.is_empty());
        let issuers = issuers.take(IN_LINE).map(|(name, ns)| {
            let share = *ns as f64 / disk.requests_ns.max(1) as f64;
            format!("{} {}", names::harmless(name), units::whole_percent(share))
        });
        let issuers: Vec<String> = issuers.collect();
        if !issuers.is_empty() {
            parts.push(format!("issued by {}", issuers.join(", ")));
        }
        lines.extend(wrap(&parts.join(" · "), "  ", Ink::Plain, style));
    }
    lines
}

/// `/var (254:0)`.
fn device(disk: &DiskTime, state: &MachineState) -> String {
    const MINOR_BITS: u32 = 20;
    let minor = disk.device & ((1 << MINOR_BITS) - 1);
    let number = format!("{}:{minor}", disk.device >> MINOR_BITS);
    match state.mounts.get(&disk.device) {
        Some(point) => format!("{} ({number})", names::harmless(point)),
        None => format!("device {number}"),
    }
}

fn foot(
    report: &Report,
    machine: &MachineTime,
    state: &MachineState,
    style: &Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    if !state.lacked.is_empty() {
        let each = state.lacked.iter();
        let each = each
            .map(|(what, share)| format!("{} {} %", names::harmless(what), names::harmless(share)));
        let each: Vec<String> = each.collect();
        let text = format!(
            "Pressure when the recording ended (average of the last 10 s, share of time in which some task waited for it): {}",
            each.join(", ")
        );
        lines.extend(wrap(&text, "", Ink::Plain, style));
    }
    lines.extend(checks(report, style));
    let busiest = machine.programs.iter().find(|program| !program.is_kernel);
    let first = busiest.and_then(|program| longest(report, program));
    let first = first.map_or("PID".to_owned(), |pid| pid.to_string());
    let text = format!(
        "More: {} · {}",
        report.recording.command("report", &format!("--of {first}")),
        report.recording.command("report", "--threads")
    );
    lines.extend(wrap(&text, "", Ink::Plain, style));
    lines
}

/// The process of a program that was on CPUs for longest.
fn longest(report: &Report, program: &ProgramTime) -> Option<u32> {
    let cpu_ns = |id: &ProcessId| {
        let process = report.facts.ledger.process(*id);
        process.map_or(0, |process| process.sums.cpu_ns)
    };
    let longest = program.processes.iter().max_by_key(|id| cpu_ns(id))?;
    Some(report.facts.ledger.process(*longest)?.row.pid)
}
