//! `timesink doctor`: what this kernel and this user may do, probe by probe.

use timesink_capture::host::{self, tried, HostFacts};
use timesink_capture::{check_fields, try_probes, Granted, Refusal, Tried};

use crate::out;
use crate::present::terminal::Style;

#[derive(clap::Args)]
pub struct Arguments {
    /// Also print verifier messages and costs, and differences between the kernel's types and what the probes read
    #[arg(short, long)]
    verbose: bool,
}

/// Prints what works; false if recording cannot work at all.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let (page, works) = page(arguments.verbose);
    out::page(&page, &Style::PLAIN)?;
    Ok(works)
}

fn page(verbose: bool) -> (String, bool) {
    let facts = HostFacts::gather();
    let mut page = format!(
        "kernel {} on {}, {} CPUs · {}\n",
        facts.release,
        facts.architecture,
        facts.processors.len(),
        tried::told(facts.version())
    );
    page += &line(
        "kernel 5.15 or newer",
        facts.version() >= (5, 15),
        "upgrade the kernel",
    );
    page += &line(
        "kernel type information (BTF)",
        facts.btf,
        "use a kernel built with CONFIG_DEBUG_INFO_BTF",
    );
    page += &line(
        "permission to load BPF programs",
        facts.privileged,
        "run timesink as root or with sudo",
    );
    page += &line(
        "kernel memory readable (lockdown is not confidentiality)",
        !facts.confidential,
        "boot with lockdown=integrity or without lockdown",
    );
    let tried = match facts.check() {
        Ok(_) => try_probes(&facts.settings(50_000, 499)),
        Err(error) => Err(error),
    };
    match tried {
        Ok(tried) => {
            page += "\nprobes\n";
            page.extend(tried.probes.iter().map(probe));
            if verbose {
                page += &[said(&tried), fields(), verified(&tried), kernels()].concat();
            }
            (page, true)
        }
        Err(error) => {
            page += &format!("\nRecording is not possible: {error}\n");
            if verbose {
                page += &error.refusal().map_or(String::new(), last_lines);
                page += &fields();
            }
            (page, false)
        }
    }
}

/// What the kernel said of each probe that it refused.
fn said(tried: &Tried) -> String {
    let refused = tried.probes.iter().filter(|probe| !probe.attached);
    refused
        .map(|probe| {
            format!(
                "\n{} was refused\n{}",
                probe.probe,
                last_lines(&probe.refusal)
            )
        })
        .collect()
}

/// The end of the verifier's log.
fn last_lines(refusal: &Refusal) -> String {
    if refusal.log.is_empty() {
        return "  no further message from the kernel\n".to_owned();
    }
    let lines = refusal.log.iter().map(|line| format!("  {line}\n"));
    format!("\nthe verifier's last lines\n{}", lines.collect::<String>())
}

/// How the fields that the probes read fare in this kernel's types.
fn fields() -> String {
    let mut text = String::from("\nfields of kernel types\n");
    match check_fields(&host::types()) {
        Ok(fields) => {
            text += &format!("  {} as expected\n", fields.as_expected);
            let absent = fields
                .absent
                .iter()
                .map(|name| format!("  {name} is missing; not required\n"));
            text.extend(absent);
            text.extend(
                fields
                    .wrong
                    .iter()
                    .map(|what| format!("  {what}: please report this\n")),
            );
        }
        Err(error) => text += &format!("  not readable: {error}\n"),
    }
    text
}

/// What each program took to verify.
fn verified(tried: &Tried) -> String {
    let mut text = String::from("\ninstructions that were verified\n");
    for program in &tried.programs {
        text += &format!("  {:<16} {:>8}\n", program.program, program.instructions);
    }
    text
}

/// The kernels that were tried.
fn kernels() -> String {
    let mut text = format!("\nkernels tested, {}\n", tried::TRIED_ON);
    for ((major, minor), from) in tried::TRIED {
        text += &format!("  {major}.{minor:<4} {from}\n");
    }
    text
}

fn line(what: &str, yes: bool, remedy: &str) -> String {
    match yes {
        true => format!("  yes  {what}\n"),
        false => format!("  no   {what}: {remedy}\n"),
    }
}

fn probe(g: &Granted) -> String {
    if g.attached {
        return format!("  yes  {:<12} {}\n", g.probe, g.gives);
    }
    format!(
        "  no   {:<12} {}\n       {:<12} recordings will lack {}\n",
        g.probe, g.refusal.reason, "", g.without
    )
}
