//! The closed sets of words that tables use. In Parquet they are dictionary-encoded strings, so
//! that a query reads as English; in Rust they are enums, so that a match is complete.

use crate::table::words;

words! {
    /// What a thread was doing.
    State {
        /// On CPU.
        Cpu = "cpu",
        /// Runnable: waiting for a CPU.
        Ready = "ready",
        /// Blocked.
        Wait = "wait",
        /// Not known: the events that would tell were lost.
        Lost = "lost",
    }
}

words! {
    /// What kind of state it was.
    Detail {
        /// cpu: running the program.
        Running = "running",
        /// cpu: an idle CPU, or one that was freed at once, is switching to the thread.
        /// The kernel counts this as running.
        SwitchingIn = "switching in",
        /// wait: being created, from the parent's call until the thread is queued to run.
        Creation = "creation",
        /// cpu, ready, wait: from exit to the last switch.
        Exit = "exit tear-down",
        /// ready: the thread or process has just been created.
        Started = "started",
        /// ready: woken from a wait.
        Woken = "woken",
        /// ready: preempted by another thread.
        Preempted = "preempted",
        /// ready: throttled by the CPU quota of its cgroup.
        Throttled = "throttled",
        /// wait: data from a disk.
        DiskRead = "disk read",
        /// wait: a write to a disk: space in a queue, or completion.
        DiskWrite = "disk write",
        /// wait: fsync and its like, or a write that must be durable.
        Flush = "flush",
        /// wait: data from a network peer.
        NetworkReceive = "network receive",
        /// wait: buffer space to send to a network peer.
        NetworkSend = "network send",
        /// wait: a connection being made.
        NetworkConnect = "network connect",
        /// wait: an incoming connection.
        NetworkAccept = "network accept",
        /// wait: data from a unix socket.
        UnixReceive = "unix socket receive",
        /// wait: buffer space in a unix socket.
        UnixSend = "unix socket send",
        /// wait: a connection over a unix socket, being made or accepted.
        UnixConnect = "unix socket connect",
        /// wait: data from a pipe, or a writer that opens it.
        PipeRead = "pipe read",
        /// wait: space in a pipe, or a reader that opens it.
        PipeWrite = "pipe write",
        /// wait: a lock that another thread holds.
        Lock = "lock",
        /// wait: a condition variable, semaphore, barrier or other futex that is not a plain lock.
        Condition = "condition",
        /// wait: the end of another thread (pthread_join).
        Join = "join",
        /// wait: a lock on a file.
        FileLock = "file lock",
        /// wait: a sleep that the program requested.
        Sleep = "sleep",
        /// wait: poll, select or epoll on several descriptors; polling a single one counts as waiting for that object, as a read would.
        Poll = "poll",
        /// wait: a child process.
        Child = "child",
        /// wait: vfork, until the child calls exec or exits.
        Vfork = "vfork",
        /// wait: a page of a file or of swap being read.
        PageFault = "page fault",
        /// wait: memory being reclaimed.
        Reclaim = "memory reclaim",
        /// wait: io_uring completions.
        IoUring = "io_uring",
        /// wait: native asynchronous I/O completions.
        Aio = "aio",
        /// wait: a terminal.
        Terminal = "terminal",
        /// wait: a signal (pause, sigsuspend, sigwait).
        Signal = "signal",
        /// wait: an eventfd, timerfd, signalfd, inotify or other event descriptor.
        Event = "event descriptor",
        /// wait: a System V or POSIX message queue or semaphore.
        Ipc = "message queue",
        /// wait: stopped by a signal or a tracer.
        Stopped = "stopped",
        /// wait: inside exec, other than for the disk.
        Exec = "exec",
        /// wait: a mutex or semaphore inside the kernel.
        KernelLock = "kernel lock",
        /// wait: none of the above; `waits` has the kernel function.
        Other = "other",
        /// lost: events that would tell were lost.
        Unknown = "unknown",
    }
}

words! {
    /// What kind of event ended a wait.
    WakeSource {
        /// A thread, on its own behalf.
        Thread = "thread",
        /// A timer.
        Timer = "timer",
        /// A block device.
        Block = "block device",
        /// The network.
        Network = "network",
        /// Another interrupt.
        Interrupt = "interrupt",
        /// A signal.
        Signal = "signal",
    }
}

words! {
    /// What an object is.
    ObjectKind {
        File = "file",
        Directory = "directory",
        Device = "device",
        Terminal = "terminal",
        Pipe = "pipe",
        TcpSocket = "tcp socket",
        UdpSocket = "udp socket",
        UnixSocket = "unix socket",
        OtherSocket = "other socket",
        Futex = "futex",
        Child = "child",
        Epoll = "epoll",
        Anonymous = "anonymous",
        BlockDevice = "block device",
        Other = "other",
    }
}

words! {
    /// A step in the life of a process image.
    ImageEvent {
        Fork = "fork",
        Vfork = "vfork",
        Exec = "exec",
        Exit = "exit",
    }
}

words! {
    /// What a call histogram counts.
    HistogramKind {
        /// Nanoseconds.
        Duration = "duration",
        /// Bytes.
        Size = "size",
    }
}

words! {
    /// What a block request did.
    RequestKind {
        Read = "read",
        Write = "write",
        Flush = "flush",
        Discard = "discard",
        Other = "other",
    }
}

words! {
    /// What can be lost.
    LossKind {
        /// Switch records: spans become `lost`.
        Turns = "turns",
        /// Records of long waits: the span is there, its arguments are not.
        Waits = "waits",
        /// Timed calls.
        Calls = "calls",
        /// Names of objects.
        Objects = "objects",
        /// Path lookups.
        Lookups = "lookups",
        /// Starts, execs and ends of processes and threads.
        Lives = "lives",
        /// Block requests.
        Requests = "requests",
        /// Samples.
        Samples = "samples",
        /// Threads that could not be tracked (out of memory for their state).
        Threads = "threads",
        /// The recording could not be written (disk full) from some moment on.
        Writing = "writing",
        /// The recording was cut short (timesink was killed) and repaired.
        CutShort = "cut short",
    }
}

words! {
    /// What a module is.
    ModuleKind {
        /// An executable or a library.
        File = "file",
        /// The kernel and its modules.
        Kernel = "kernel",
        /// The vdso, a library that the kernel maps into every process.
        Vdso = "vdso",
        /// Code that a runtime generated while running.
        Jit = "jit",
        /// A source file run by an interpreter.
        Script = "script",
    }
}

words! {
    /// Where function names come from.
    SymbolSource {
        /// None: its frames have offsets only.
        None = "none",
        /// Its exported or imported symbols.
        Exports = "exports",
        /// Its symbol table, or that of its separate debug file.
        Table = "symbol table",
        /// Debug information, with files, lines and inlined calls.
        Debug = "debug information",
        /// A map file written by the runtime.
        Map = "perf map",
        /// Data structures in the runtime's memory.
        Runtime = "runtime",
        /// The kernel.
        Kernel = "kernel",
    }
}

words! {
    /// What code is written in.
    Language {
        /// Compiled code: C, C++, Rust, Go and their like.
        Native = "native",
        /// The kernel.
        Kernel = "kernel",
        Python = "python",
        JavaScript = "javascript",
        Java = "java",
        Shell = "shell",
        Ruby = "ruby",
        Perl = "perl",
        Php = "php",
        /// C#, F# and Visual Basic.
        DotNet = ".NET",
        /// Erlang and Elixir.
        Erlang = "erlang",
    }
}

words! {
    /// What a fact about the environment is about. In the order of the kinds in docs/environment.md.
    FactKind {
        /// Model, stepping and microcode of the processors.
        CpuModel = "CPU model",
        /// What the processors can do, which a library may choose its code by.
        CpuFlags = "CPU flags",
        /// Processors on line, threads of a core, sockets.
        Topology = "topology",
        /// Caches of the first processor.
        Caches = "caches",
        /// Nodes of memory, and whether the kernel moves pages between them.
        Numa = "NUMA",
        /// The CPU frequency governor.
        Governor = "governor",
        /// Limits of how fast processors run.
        Boost = "boost",
        /// How fast they ran, and how often they were throttled for heat.
        Frequency = "frequency",
        /// What the kernel does against faults of the processor.
        Mitigations = "mitigations",
        /// What the machine runs on, and what was stolen from it.
        Hypervisor = "hypervisor",
        /// What the kernel keeps the time by.
        ClockSource = "clock source",
        /// Release and build of the kernel.
        Kernel = "kernel",
        /// With which options it was booted.
        CommandLine = "kernel command line",
        /// Preemption and settings of the scheduler.
        Scheduling = "scheduling",
        /// Huge pages, and memory that is merged.
        HugePages = "huge pages",
        /// Swapping, dirty pages, overcommitment.
        Writeback = "writeback",
        /// Settings of TCP and of sockets.
        Network = "network settings",
        /// Address randomisation, and who may trace and measure.
        Security = "security",
        /// BPF programs and tracers that were loaded, ours included.
        Tracers = "tracers",
        /// Memory and swap space.
        MemorySize = "memory size",
        /// Free and cached memory, and pressure.
        MemoryUse = "memory",
        /// What had to be read from disks.
        PageCache = "page cache",
        /// Type and options of the file systems used.
        Mount = "mount",
        /// What is free on them.
        FreeSpace = "free space",
        /// The devices below them.
        Disk = "disk",
        /// Sizes and caches of their requests.
        DiskQueue = "disk queue",
        /// Overlays, networks and encryption below them.
        Layers = "layers",
        /// Quota, weight and set of processors of the control group.
        CpuLimits = "CPU limits",
        /// Limits of memory and of input and output of the control group.
        MemoryLimits = "memory limits",
        /// How often the control group was throttled, or out of memory.
        Throttling = "throttling",
        /// Which namespaces were the program's own.
        Namespaces = "namespaces",
        /// Limits of the process.
        Ulimits = "ulimits",
        /// Processors it may use, nice value and scheduling policy.
        Affinity = "affinity",
        /// Arguments, working directory and what the standard streams are.
        Invocation = "invocation",
        /// Environment variables.
        Variable = "environment variable",
        /// How much memory they take.
        EnvironmentSize = "environment size",
        /// The program's file.
        Executable = "executable",
        /// Libraries that were mapped.
        Library = "library",
        /// What interprets the program.
        Interpreter = "interpreter",
        /// What allocates its memory.
        Allocator = "allocator",
        /// Programs that its processes became.
        Children = "programs started",
        /// Files that were used, and paths that did not exist.
        File = "file",
        /// How the program ended, and the files that it wrote.
        Outcome = "outcome",
        /// Network peers, and who resolves names.
        Peer = "peer",
        /// What is spoken there.
        Protocol = "protocol",
        /// What else ran.
        Load = "load",
        /// How long the machine had been up.
        Uptime = "uptime",
    }
}

words! {
    /// When a fact was taken.
    Moment {
        /// Before the program ran.
        Begin = "begin",
        /// After it.
        End = "end",
    }
}

words! {
    /// How the kernel schedules a thread: sched(7).
    SchedulingPolicy {
        /// The usual one: by nice value.
        Other = "other",
        /// Real-time: it runs until it waits, ahead of all threads with a lower priority.
        Fifo = "FIFO",
        /// Real-time: like FIFO, but threads of one priority take turns.
        RoundRobin = "RR",
        /// As the usual one, for work that nobody waits for.
        Batch = "batch",
        /// When nobody else has anything to run, or nearly so.
        Idle = "idle",
        /// Real-time: so much of each period, ahead of all others.
        Deadline = "deadline",
        /// By a program that was loaded into the kernel (sched_ext).
        Extensible = "ext",
    }
}

words! {
    /// How a task is.
    TaskState {
        /// It could go on: the runtime has no thread, or no processor of its own, for it yet.
        Ready = "ready",
        /// A thread is at work for it.
        Running = "running",
        /// It waits in the runtime: for a message, a lock, a timer or the network.
        Waiting = "waiting",
        /// It is over.
        Ended = "ended",
    }
}

words! {
    /// What a task is.
    TaskKind {
        /// A goroutine of Go.
        Goroutine = "goroutine",
        /// A task of asyncio, or a coroutine that another event loop of Python runs. Since version 12 of the format.
        Coroutine = "coroutine",
        /// A task of tokio. Since version 13 of the format.
        Future = "future",
    }
}
