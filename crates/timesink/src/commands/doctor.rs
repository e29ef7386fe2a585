//! `timesink doctor`: what this kernel and this user may do, probe by probe.

use timesink_capture::host::Facts;
use timesink_capture::{try_probes, Granted};

#[derive(clap::Args)]
pub struct Arguments {}

/// Prints what works; false if recording cannot work at all.
pub fn run(_: &Arguments) -> bool {
    let facts = Facts::gather();
    println!(
        "kernel {} on {}, {} processors",
        facts.release,
        facts.architecture,
        facts.processors.len()
    );
    line(
        "kernel 5.15 or newer",
        facts.version() >= (5, 15),
        "install a newer kernel",
    );
    line(
        "type information of the kernel (BTF)",
        facts.btf,
        "a kernel built with CONFIG_DEBUG_INFO_BTF",
    );
    line(
        "permission to trace",
        facts.privileged,
        "run timesink with sudo",
    );
    line(
        "kernel memory may be read (lockdown)",
        !facts.confidential,
        "lockdown=integrity, or none",
    );
    if let Err(error) = facts.check() {
        println!("\nNothing can be recorded here: {error}");
        return false;
    }
    match try_probes(&facts.settings(50_000, 499)) {
        Ok(tried) => {
            println!("\nprobes");
            tried.probes.iter().for_each(probe);
            true
        }
        Err(error) => {
            println!("\nNothing can be recorded here: {error}");
            false
        }
    }
}

fn line(what: &str, yes: bool, needed: &str) {
    if yes {
        println!("  yes  {what}");
    } else {
        println!("  no   {what}: needed is {needed}");
    }
}

fn probe(g: &Granted) {
    if g.attached {
        println!("  yes  {:<12} {}", g.probe, g.gives);
    } else {
        println!(
            "  no   {:<12} {}\n       {:<12} a recording lacks {}",
            g.probe, g.refusal.reason, "", g.without
        );
    }
}
