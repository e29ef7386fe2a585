//! Runtimes whose compiled functions have no names in their memory that are read, and which write them to `/tmp/perf-PID.map` when told
//! to.

/// How a runtime is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesOnDemand {
    pub runtime: &'static str,
    /// Whose functions these are.
    pub language: &'static str,
    /// What its environment must have.
    pub variable: &'static str,
    /// That file is the runtime alone. Node.js has functions in its own that say what a program does.
    pub is_all_of_it: bool,
}

/// How the runtime is told whose program, or library, has this name.
pub fn names_on_demand(file: &str) -> Option<NamesOnDemand> {
    match file {
        "node" | "nodejs" => Some(NamesOnDemand {
            runtime: "Node.js",
            language: "JavaScript",
            variable:
                "NODE_OPTIONS='--perf-basic-prof-only-functions --interpreted-frames-native-stack'",
            is_all_of_it: false,
        }),
        beam if is_beam(beam) => Some(NamesOnDemand {
            runtime: "the BEAM",
            language: "Erlang and Elixir",
            variable: "ERL_FLAGS='+JPperf true'",
            is_all_of_it: true,
        }),
        "libcoreclr.so" | "libclrjit.so" | "libhostfxr.so" | "libhostpolicy.so" => {
            Some(NamesOnDemand {
                runtime: ".NET",
                language: "C# and F#",
                variable: "DOTNET_PerfMapEnabled=1 (COMPlus_PerfMapEnabled=1 before .NET 6)",
                is_all_of_it: true,
            })
        }
        _ => None,
    }
}

/// Whether a program of this name is the virtual machine of Erlang and Elixir.
pub fn is_beam(program: &str) -> bool {
    matches!(program, "beam.smp" | "beam")
}
