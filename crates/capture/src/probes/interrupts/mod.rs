//! What kind of interrupt work a processor is doing.

use super::ProbeInfo;

pub static INFO: ProbeInfo = ProbeInfo {
    name: "interrupts",
    programs: &[
        ("on_softirq", "softirq_entry"),
        ("on_softirq_done", "softirq_exit"),
        ("on_handler", "irq_handler_entry"),
        ("on_handler_done", "irq_handler_exit"),
        ("on_timer", "hrtimer_expire_entry"),
        ("on_timer_done", "hrtimer_expire_exit"),
    ],
    gives: "waits ended by timers, disks and the network",
    without: "whether a timer, a disk or the network ended a wait: the interrupted thread is named instead",
    essential: false,
};
