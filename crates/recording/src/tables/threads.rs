//! `threads`: each recorded thread with its sums, ours and the kernel's.

use crate::ids::{ProcessId, ThreadId};
use crate::table::table;
use crate::units::Nanos;
use crate::words::SchedulingPolicy;

table! {
    /// A recorded thread. The sums were kept inside the kernel and survive lost events; the
    /// `kernel_` columns are the kernel's own figures over the same time, for checking the books.
    table threads, row Thread {
        /// Its number in this recording. The kernel reuses its ids; these are unique.
        thread: ThreadId,
        /// Its process.
        process: ProcessId,
        /// The kernel's thread id.
        tid: u32,
        /// Its name (comm) when last seen.
        name: String,
        /// Start of its recorded life, nanoseconds since the start of the recording.
        start: Nanos,
        /// End of its recorded life: its last switch off a CPU, or the end of the recording.
        end: Nanos,
        /// When it called exit or was killed; from here to `end` is tear-down.
        exit: Option<Nanos>,
        /// It ran before it was recorded (`attach`, `--with`, `--follow`).
        born_before: bool,
        /// It was still alive when the recording ended.
        alive_at_end: bool,
        /// Its end was not seen (events lost); the sums are the last ones seen.
        end_lost: bool,
        /// Who created it, if recorded.
        parent: Option<ThreadId>,
        /// Time on CPU, without recording overhead.
        cpu_ns: u64,
        /// Time runnable, waiting for a CPU.
        ready_ns: u64,
        /// Time blocked.
        wait_ns: u64,
        /// Recording overhead in this thread, measured at switches.
        tracer_ns: u64,
        /// Recording overhead in this thread outside of switches, estimated from counts of calls
        /// and wake-ups and the cost of each as measured at the start. Part of `cpu_ns`.
        tracer_estimated_ns: u64,
        /// The kernel's `se.sum_exec_runtime` over the recorded life. Compare with cpu + tracer -
        /// taken.
        kernel_cpu_ns: u64,
        /// The kernel's `sched_info.run_delay` over the recorded life. Compare with ready.
        kernel_ready_ns: u64,
        /// The kernel's life of the thread: from `start_time` (or the start of the recording if it
        /// was born before) to the end. Compare with the sum of all states.
        kernel_life_ns: u64,
        /// The kernel's `utime` over the recorded life (tick-based on most kernels).
        kernel_user_ns: u64,
        /// The kernel's `stime` over the recorded life.
        kernel_system_ns: u64,
        /// CPU samples that found it in user space.
        samples_user: u64,
        /// CPU samples that found it in the kernel.
        samples_kernel: u64,
        /// Times it left a CPU to wait (voluntary switches).
        switches_voluntary: u64,
        /// Times it was preempted.
        switches_involuntary: u64,
        /// Migrations between CPUs.
        migrations: u64,
        /// Page faults served without I/O.
        faults_minor: u64,
        /// Page faults that needed I/O.
        faults_major: u64,
        /// System calls that were seen (complete only while calls were timed).
        calls_seen: u64,
        /// The wait status with which its process ended, on the row of the process's first thread.
        exit_status: Option<u32>,
        /// Its nice value when last seen: -20 (highest priority) to 19 (lowest).
        nice: Option<i64>,
        /// Of the time on CPU, what the kernel charges to no thread: steal (taken by the host of a virtual
        /// machine), and interrupts where the kernel accounts for them separately.
        taken_ns: Option<u64>,
        /// How the kernel scheduled it when last seen; null for a policy that is not known here. Since version 14 of the format.
        policy: Option<SchedulingPolicy>,
        /// Its real-time priority when last seen: 1 (lowest) to 99 under `FIFO` and `RR`, 0 under the others. Since version 14 of the
        /// format.
        realtime_priority: Option<u32>,
        /// The CPUs that it was allowed to use when last seen, such as `0-3,7`; there may be some that the machine does not
        /// have. Null where there are more than 1,024. Since version 14 of the format.
        allowed_processors: Option<String>,
    }
}
