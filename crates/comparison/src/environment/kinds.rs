//! What is known of kinds of facts beforehand: how they may differ, and which part of a run's time they can change.

use timesink_recording::words::FactKind::{self, *};

/// How facts of a kind differ from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Varies {
    /// If somebody sets it.
    Tunable,
    /// It is what the run was seen to use.
    Observed,
    /// Not on one machine.
    Fixed,
    /// By itself, all the time: only a large difference is one.
    Moves,
}

impl Varies {
    pub fn word(self) -> &'static str {
        match self {
            Varies::Tunable => "tunable",
            Varies::Observed => "observed",
            Varies::Fixed => "fixed",
            Varies::Moves => "moves",
        }
    }
}

pub fn varies(kind: FactKind) -> Varies {
    match kind {
        CpuModel | CpuFlags | Topology | Caches | ClockSource | Kernel | MemorySize | Layers
        | Namespaces | Executable => Varies::Fixed,
        Frequency | Hypervisor | Tracers | MemoryUse | FreeSpace | Throttling | Load | Uptime => {
            Varies::Moves
        }
        PageCache | Library | Interpreter | Allocator | Children | File | Outcome | Peer
        | Protocol => Varies::Observed,
        Numa | Governor | Boost | Mitigations | CommandLine | Scheduling | HugePages
        | Writeback | Network | Security | Mount | Disk | DiskQueue | CpuLimits | MemoryLimits
        | Ulimits | Affinity | Invocation | Variable | EnvironmentSize => Varies::Tunable,
    }
}

/// What a run's time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    Processor,
    /// To get a processor at all.
    Scheduler,
    Memory,
    Disk,
    Network,
    /// The program itself and what it was told: it can change any of these.
    Any,
    /// Nothing of a run's time.
    None,
}

pub fn resource_of(kind: FactKind) -> Resource {
    match kind {
        CpuModel | CpuFlags | Caches | Governor | Boost | Frequency | Mitigations | ClockSource
        | Kernel | CommandLine | Tracers | Interpreter | Allocator => Resource::Processor,
        Topology | Hypervisor | Scheduling | CpuLimits | Throttling | Affinity | Load => {
            Resource::Scheduler
        }
        Numa | HugePages | MemorySize | MemoryUse | MemoryLimits => Resource::Memory,
        Writeback | PageCache | Mount | FreeSpace | Disk | DiskQueue | Layers => Resource::Disk,
        Network | Peer | Protocol => Resource::Network,
        Variable | Executable | Library | Children | File | Ulimits => Resource::Any,
        // What a run wrote is what came of it, and no reason.
        Outcome | Security | Namespaces | Invocation | EnvironmentSize | Uptime => Resource::None,
    }
}
