//! What a run is measured by.

use serde::{Deserialize, Serialize};

/// A run of a command that came to its end; a field here is a field of docs/json.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Sample {
    pub wall_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// The peak of its memory; `None`: not known, or of a process so little that it may have been there before the program.
    pub memory_bytes: Option<u64>,
    #[serde(default)]
    pub memory_of: MemoryOf,
    /// Switches of threads: because they waited, and because they were made to.
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Page faults: without and with reading from a disk.
    pub minor_faults: u64,
    pub major_faults: u64,
    pub exit_code: u8,
    /// The figure that the command printed itself.
    pub metric: Option<f64>,
}

/// What the memory of a run is the peak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryOf {
    /// The largest of its processes.
    #[default]
    Process,
    /// All of them together, as their control group counts it.
    Group,
}

/// A run as JSON has it, which is written and read again.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct RunPage {
    /// In its round, from 1.
    pub place: usize,
    #[serde(flatten)]
    pub sample: Sample,
}

/// One of these figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Figure {
    /// Wall time
    Wall,
    /// CPU time: user and system
    Cpu,
    /// CPU time in the program
    User,
    /// CPU time in the kernel
    System,
    /// Peak of the memory: of all processes of a run together, where they can be given a control group, else of the largest process
    Memory,
    #[value(skip)]
    Switches,
    #[value(skip)]
    Faults,
    #[value(skip)]
    Metric,
}

/// A figure that commands print themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: String,
    pub higher_is_better: bool,
}

impl Metric {
    /// What a metric is called: what stands before the group of its regular expression.
    pub fn name_in(expression: &str) -> String {
        let before = expression.split('(').next().unwrap_or("");
        let name = before.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        match name {
            "" => "the metric".to_owned(),
            name => name.to_owned(),
        }
    }
}

impl Figure {
    /// Those that are looked at besides the one that decides.
    pub const OTHERS: [Figure; 5] = [
        Figure::Wall,
        Figure::Cpu,
        Figure::Memory,
        Figure::Switches,
        Figure::Faults,
    ];

    pub fn of(self, sample: &Sample) -> Option<f64> {
        let count = |n: u64| Some(n as f64);
        match self {
            Figure::Wall => count(sample.wall_ns),
            Figure::Cpu => count(sample.user_ns.saturating_add(sample.system_ns)),
            Figure::User => count(sample.user_ns),
            Figure::System => count(sample.system_ns),
            Figure::Memory => sample.memory_bytes.map(|n| n as f64),
            Figure::Switches => count(sample.voluntary_switches + sample.involuntary_switches),
            Figure::Faults => count(sample.minor_faults + sample.major_faults),
            Figure::Metric => sample.metric,
        }
    }

    /// For people; a metric has a name of its own.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Wall => "wall time",
            Figure::Cpu => "CPU time",
            Figure::User => "user time",
            Figure::System => "system time",
            Figure::Memory => "memory",
            Figure::Switches => "switches",
            Figure::Faults => "page faults",
            Figure::Metric => "metric",
        }
    }

    /// For programs.
    pub fn word(self) -> &'static str {
        match self {
            Figure::Wall => "wall",
            Figure::Cpu => "cpu",
            Figure::User => "user",
            Figure::System => "system",
            Figure::Memory => "memory",
            Figure::Switches => "switches",
            Figure::Faults => "faults",
            Figure::Metric => "metric",
        }
    }

    /// More or less of it, not more or fewer.
    pub fn is_amount(self) -> bool {
        self.is_time() || matches!(self, Figure::Memory | Figure::Metric)
    }

    pub fn is_time(self) -> bool {
        matches!(
            self,
            Figure::Wall | Figure::Cpu | Figure::User | Figure::System
        )
    }
}
