//! `overview`: what was recorded, and what there is to ask.

use super::model;

model! {
    /// What was recorded: asked first, and everything else refers to it.
    pub struct Overview {
        /// The version of this shape.
        pub contract: u32,
        pub tool_version: String,
        /// As the user knows the recording.
        pub name: String,
        pub command: Vec<String>,
        pub directory: String,
        /// Nanoseconds since 1970.
        pub started_unix_ns: u64,
        /// All moments are nanoseconds since the recording began, within these.
        pub from_ns: i64,
        pub until_ns: i64,
        pub wall_ns: u64,
        pub exit_code: Option<i32>,
        pub exit_signal: Option<i32>,
        pub size_bytes: u64,
        pub spans: u64,
        /// States are referred to by their place in this list.
        pub states: Vec<StateKind>,
        /// What ended a wait, referred to by place, counted from 1.
        pub wake_sources: Vec<String>,
        /// In the order of lanes `by=process`, of which a chunk has `lanes_per_chunk`.
        pub processes: Vec<ProcessRow>,
        /// In the order of lanes `by=thread`: by process, then by start.
        pub threads: Vec<ThreadRow>,
        /// In the order of lanes `by=processor`.
        pub processors: Vec<u32>,
        pub lanes_per_chunk: u32,
        /// As an index into `threads`; null if none is known.
        pub main_thread: Option<u32>,
        pub has: Has,
        /// Sentences: what a file leaves out, with how much of it there is. Empty where all is there.
        pub thinned: Vec<String>,
    }

    /// What there is to show.
    pub struct Has {
        pub stacks: bool,
        pub calls: bool,
        /// Another recording to compare with: each request also with `b/` before it, and `compare`.
        pub b: bool,
        /// Whether predictions of any set are answered; else only of each change alone and of all together.
        pub any_prediction: bool,
    }

    /// The group of states that share a colour.
    #[derive(Copy, Eq)]
    #[serde(rename_all = "snake_case")]
    pub enum StateGroup {
        Cpu,
        Runnable,
        Blocked,
        /// Sleeping, as it asked to.
        Sleeping,
        /// Blocked on a disk.
        Disk,
        /// Blocked on a socket.
        Network,
        /// Blocked on another thread: a lock, a condition, a join, a child, a pipe.
        Threads,
        Overhead,
        Unknown,
    }

    /// A state that a thread, or the path, may be in.
    pub struct StateKind {
        /// Stays the same from version to version: `wait.flush`.
        pub key: String,
        /// As the terminal has it.
        pub word: String,
        pub group: StateGroup,
    }

    pub struct ProcessRow {
        pub process: u32,
        pub pid: u32,
        pub name: String,
        pub executable: String,
        pub arguments: Vec<String>,
        /// As an index into `processes`.
        pub parent: Option<u32>,
        pub start_ns: i64,
        pub end_ns: i64,
        /// `threads` of the overview from here, so many.
        pub first_thread: u32,
        pub thread_count: u32,
        pub sums: StateSums,
    }

    pub struct ThreadRow {
        pub thread: u32,
        pub tid: u32,
        pub name: String,
        /// As an index into `processes`; null if it was lost.
        pub process: Option<u32>,
        pub start_ns: i64,
        pub end_ns: i64,
        pub sums: StateSums,
        /// How much of the critical path is in it.
        pub on_path_ns: u64,
        pub is_housekeeping: bool,
    }

    /// Time by state, as the ledger has it: recording overhead is taken out of each state.
    #[derive(Copy, Default)]
    pub struct StateSums {
        pub cpu_ns: u64,
        pub runnable_ns: u64,
        pub blocked_ns: u64,
        pub overhead_ns: u64,
        pub unknown_ns: u64,
    }

    /// `checks`: whether the figures hold.
    pub struct Checks {
        /// The terminal's line of checks, and what limits the figures.
        pub lines: Vec<String>,
        pub warnings: Vec<String>,
        pub cpu: CheckedTime,
        pub runnable: CheckedTime,
        pub life: CheckedTime,
        pub unaccounted_ns: u64,
        pub unaccounted_pct: f64,
        pub cost_pct: f64,
        pub recorder_cpu_ns: Option<u64>,
        pub calls_timed_share: f64,
        pub threshold_ns: u64,
        pub losses: Vec<LossRow>,
        pub probes: Vec<ProbeRow>,
        pub mended: Option<String>,
    }

    /// Ours beside the kernel's.
    pub struct CheckedTime {
        pub ours_ns: u64,
        pub kernel_ns: u64,
        /// Null where the kernel has no figure.
        pub difference_pct: Option<f64>,
    }

    pub struct LossRow {
        /// How many of what.
        pub words: String,
        pub note: String,
    }

    pub struct ProbeRow {
        pub probe: String,
        pub attached: bool,
        pub reason: String,
        pub without: String,
    }
}
