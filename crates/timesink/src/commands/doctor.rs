//! `timesink doctor`: what this kernel and this user may do, probe by probe.

use timesink_capture::host::Facts;
use timesink_capture::{try_probes, Granted};

use crate::out;
use crate::present::terminal::Style;

#[derive(clap::Args)]
pub struct Arguments {}

/// Prints what works; false if recording cannot work at all.
pub fn run(_: &Arguments) -> anyhow::Result<bool> {
    let (page, works) = page();
    out::page(&page, &Style::PLAIN)?;
    Ok(works)
}

fn page() -> (String, bool) {
    let facts = Facts::gather();
    let mut page = format!(
        "kernel {} on {}, {} processors\n",
        facts.release,
        facts.architecture,
        facts.processors.len()
    );
    page += &line(
        "kernel 5.15 or newer",
        facts.version() >= (5, 15),
        "install a newer kernel",
    );
    page += &line(
        "type information of the kernel (BTF)",
        facts.btf,
        "a kernel built with CONFIG_DEBUG_INFO_BTF",
    );
    page += &line(
        "permission to trace",
        facts.privileged,
        "run timesink with sudo",
    );
    page += &line(
        "kernel memory may be read (lockdown)",
        !facts.confidential,
        "lockdown=integrity, or none",
    );
    let tried = match facts.check() {
        Ok(_) => try_probes(&facts.settings(50_000, 499)),
        Err(error) => Err(error),
    };
    match tried {
        Ok(tried) => {
            page += "\nprobes\n";
            page.extend(tried.probes.iter().map(probe));
            (page, true)
        }
        Err(error) => {
            page += &format!("\nNothing can be recorded here: {error}\n");
            (page, false)
        }
    }
}

fn line(what: &str, yes: bool, needed: &str) -> String {
    match yes {
        true => format!("  yes  {what}\n"),
        false => format!("  no   {what}: needed is {needed}\n"),
    }
}

fn probe(g: &Granted) -> String {
    if g.attached {
        return format!("  yes  {:<12} {}\n", g.probe, g.gives);
    }
    format!(
        "  no   {:<12} {}\n       {:<12} a recording lacks {}\n",
        g.probe, g.refusal.reason, "", g.without
    )
}
