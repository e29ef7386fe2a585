//! The foot: the books, the cost, the losses, and all that limits what the page says.

use timesink_analysis::ledger::measure::percent;
use timesink_analysis::ledger::{Account, Balance, Basis, ThreadLedger, Tiling};
use timesink_analysis::stacks::{names_on_demand, Function};
use timesink_recording::words::{Language, ModuleKind};
use timesink_recording::Mode;

use super::style::{wrap, Ink, Style};
use super::{units, Report};
use crate::present::words;
use crate::present::{file_name, names};

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let mut lines = wrap(&books(report), "", Ink::Plain, style);
    lines.extend(cost(report, style));
    let warn = |lines: &mut Vec<String>, text: String| {
        lines.extend(wrap(&text, "", Ink::Warning, style));
    };
    for loss in report
        .facts
        .losses
        .iter()
        .filter(|loss| !loss.note.is_empty())
    {
        warn(
            &mut lines,
            format!("  {}: {}", loss.kind, names::harmless(&loss.note)),
        );
    }
    for probe in report.facts.probes.iter().filter(|probe| !probe.attached) {
        let name = names::harmless(&probe.probe);
        let reason = names::harmless(&probe.reason);
        let without = names::harmless(&probe.without);
        warn(
            &mut lines,
            format!("Probe not attached: {name} ({reason}). Without it: {without}"),
        );
    }
    let tiling = &report.facts.ledger.tiling;
    if !tiling.is_sound() {
        warn(&mut lines, tiling_faults(tiling));
    }
    let unchecked = report.facts.ledger.books.unchecked;
    if unchecked > 0 {
        let threads = units::plural(unchecked, "thread", "threads");
        warn(
            &mut lines,
            format!("Not checked: {threads} without the kernel's figures"),
        );
    }
    let faint = [ends(report), estimates(report), nameless_runtime(report)];
    for text in faint.iter().flatten() {
        lines.extend(wrap(text, "", Ink::Faint, style));
    }
    lines
}

/// Ours beside the kernel's, in the same unit.
fn balance(name: &str, balance: &Balance) -> String {
    // A percentage of next to nothing alarms for nothing: below this the difference is told as time.
    const LITTLE_NS: u64 = 50_000_000;
    let difference = match balance.difference_pct() {
        Some(difference) if difference.abs() >= 1.0 && balance.kernel_ns < LITTLE_NS => {
            let sign = if balance.ours_ns < balance.kernel_ns {
                '-'
            } else {
                '+'
            };
            format!(
                "{sign}{}",
                units::time(balance.ours_ns.abs_diff(balance.kernel_ns))
            )
        }
        Some(difference) => units::signed_percent(difference),
        None => "the kernel has no figure".to_owned(),
    };
    let scale = units::Scale::of(balance.ours_ns.max(balance.kernel_ns));
    let (ours, kernel) = (scale.time(balance.ours_ns), scale.time(balance.kernel_ns));
    format!("{name} {ours} (kernel: {kernel}, {difference})")
}

fn books(report: &Report) -> String {
    let books = &report.facts.ledger.books;
    format!(
        "Checked: {}{} · {} · unaccounted {:.2} %",
        balance("CPU", &books.cpu),
        taken(report),
        balance("runnable", &books.ready),
        books.unaccounted_pct(),
    )
}

/// What nobody had of the time on processors, if it is worth a word.
fn taken(report: &Report) -> String {
    const LITTLE_PCT: f64 = 0.5;
    let whole = &report.facts.ledger.whole;
    let share = percent(whole.taken_ns, whole.cpu_ns);
    if share < LITTLE_PCT {
        return String::new();
    }
    format!(
        " · {} more ({}) went to interrupts and steal",
        units::time(whole.taken_ns),
        units::percent(share)
    )
}

fn cost(report: &Report, style: &Style) -> Vec<String> {
    let losses: Vec<String> = report
        .facts
        .losses
        .iter()
        .map(|loss| words::loss(loss.kind, loss.count))
        .collect();
    let own = units::time(report.facts.ledger.whole.cost_ns());
    let cost = report.cost_pct();
    let by_timesink = report.about.cost.recorder_cpu_ns;
    let by_timesink = by_timesink.map_or(String::new(), |ns| {
        format!(", and {} of CPU time in timesink itself", units::time(ns))
    });
    let cost = format!(
        "Recording cost: about {cost:.1} % of wall time ({own} inside the threads){by_timesink}"
    );
    if losses.is_empty() {
        return wrap(&format!("{cost} · nothing lost"), "", Ink::Plain, style);
    }
    let mut lines = wrap(&cost, "", Ink::Plain, style);
    lines.extend(wrap(
        &format!("Lost: {}", losses.join(" · ")),
        "",
        Ink::Warning,
        style,
    ));
    lines
}

fn tiling_faults(tiling: &Tiling) -> String {
    let mut parts = Vec::new();
    if tiling.gaps > 0 {
        let gaps = units::plural(tiling.gaps, "gap", "gaps");
        parts.push(format!("{gaps} ({})", units::time(tiling.gap_ns)));
    }
    if tiling.overlaps > 0 {
        let overlaps = units::plural(tiling.overlaps, "overlap", "overlaps");
        parts.push(format!("{overlaps} ({})", units::time(tiling.overlap_ns)));
    }
    if tiling.strays > 0 {
        parts.push(format!(
            "{} of threads not listed",
            units::count(tiling.strays)
        ));
    }
    if tiling.beyond_sums > 0 {
        let threads = units::plural(tiling.beyond_sums, "thread", "threads");
        let time = units::time(tiling.beyond_sums_ns);
        parts.push(format!("{time} more than was summed, in {threads}"));
    }
    format!("The spans do not tile: {}", parts.join(" · "))
}

/// Threads that were not seen from end to end.
fn ends(report: &Report) -> Option<String> {
    let ends = &report.facts.ledger.ends;
    // A program that timesink starts is held, as one thread, until the recording begins.
    let held = u64::from(report.about.mode == Mode::Run);
    let were = |n: u64| if n == 1 { "was" } else { "were" };
    let mut parts = Vec::new();
    let before = ends.born_before.saturating_sub(held);
    if before > 0 {
        let threads = units::plural(before, "thread", "threads");
        let they = if before == 1 { "it was" } else { "they were" };
        parts.push(format!("{threads} ran before {they} recorded"));
    }
    if ends.alive_at_end > 0 {
        let threads = units::plural(ends.alive_at_end, "thread", "threads");
        parts.push(format!(
            "{threads} {} alive when it ended",
            were(ends.alive_at_end)
        ));
    }
    if ends.end_lost > 0 {
        let threads = units::plural(ends.end_lost, "thread", "threads");
        let sums = "their sums are the last ones read";
        parts.push(format!(
            "the end of {threads} {} not recorded, {sums}",
            were(ends.end_lost)
        ));
    }
    (!parts.is_empty()).then(|| format!("Threads: {}", parts.join(" · ")))
}

/// What the `~` on this page rests on.
fn estimates(report: &Report) -> Option<String> {
    let mut parts = Vec::new();
    let main = report.main();
    let split = |causes: &[timesink_analysis::ledger::Cause]| {
        causes
            .iter()
            .any(|cause| cause.key.account == Account::Cpu && cause.estimated)
    };
    if let Some(main) = main.filter(|main| split(&main.causes)) {
        let samples = units::plural(main.split.samples, "sample", "samples");
        parts.push(match main.split.basis {
            Basis::Thread => format!("user and kernel time are split by {samples} of the CPU"),
            Basis::Process => format!("user and kernel time are split by {samples} of its process"),
            Basis::Recording => {
                format!("user and kernel time are split by {samples} of the whole recording")
            }
            _ => "user and kernel time are split by the kernel's ticks".to_owned(),
        });
    }
    let in_code = |main: &ThreadLedger| {
        let events = report.stacks.events_of(main.row.thread).iter();
        events.filter(|event| event.account == Account::Cpu).count()
    };
    if let Some(samples) = main.map(in_code).filter(|samples| *samples > 0) {
        let samples = units::plural(samples as u64, "sample", "samples");
        parts.push(format!("functions on CPU are from {samples}"));
    }
    if report.facts.calls.iter().any(|call| call.estimated) {
        let share = report.about.call_timing_share * 100.0;
        parts.push(format!(
            "system calls were timed {share:.0} % of the time and scaled up"
        ));
    }
    (!parts.is_empty()).then(|| format!("~ estimated: {}", parts.join(" · ")))
}

/// How functions of a runtime come by names, where they would have been seen with one.
pub(super) fn nameless_runtime(report: &Report) -> Option<String> {
    let ledger = &report.facts.ledger;
    let code = &report.stacks.code;
    let is_nameless = |stack| {
        let mut functions = code.functions_of(stack).into_iter();
        functions.any(|function| {
            let module = code.module_of(function);
            module.is_some_and(|module| module.kind == ModuleKind::Jit)
                && code.function(function).name.is_empty()
        })
    };
    // Who was asked names most of them, but not all.
    let has_name = |function: &Function| {
        let of_runtime = [Language::JavaScript, Language::DotNet, Language::Erlang];
        of_runtime.contains(&function.language) && !function.name.is_empty()
    };
    if code.functions.iter().any(has_name) {
        return None;
    }
    let found = ledger.threads.iter().find_map(|thread| {
        let process = thread.process.and_then(|at| ledger.processes.get(at))?;
        let program = file_name(&process.row.executable);
        let events = report.stacks.events_of(thread.row.thread);
        let on_cpu = events.iter().filter(|event| event.account == Account::Cpu);
        let mut nameless = on_cpu.filter(|event| is_nameless(event.stack));
        nameless.find_map(|event| {
            let functions = code.functions_of(event.stack).into_iter();
            let mut files = functions.filter_map(|at| code.file_of(code.function(at)));
            names_on_demand(program).or_else(|| files.find_map(names_on_demand))
        })
    });
    found.map(|names| {
        format!(
            "Functions of {} have no names here; with {} in the environment {} writes them to /tmp (only where nobody else uses this machine)",
            names.language, names.variable, names.runtime
        )
    })
}
