//! What kind of interrupt work a processor is doing.

use super::ProbeInfo;

/// Only where the kernel's own count does not tell: a server at full load is in and out of softirqs 90,000 times a second on each
/// processor, and a program at each of them costs 60 ns.
pub const SOFTIRQ_DONE: &str = "on_softirq_done";

pub static INFO: ProbeInfo = ProbeInfo {
    name: "interrupts",
    programs: &[
        ("on_softirq", "softirq_entry"),
        (SOFTIRQ_DONE, "softirq_exit"),
        ("on_handler", "irq_handler_entry"),
        ("on_handler_done", "irq_handler_exit"),
        ("on_timer", "hrtimer_expire_entry"),
        ("on_timer_done", "hrtimer_expire_exit"),
    ],
    gives: "waits ended by timers, disks and the network",
    without: "whether a timer, a disk or the network ended a wait: the interrupted thread is named instead",
    essential: false,
};
