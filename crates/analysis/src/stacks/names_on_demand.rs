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
}

/// How the runtime is told whose program has this name.
pub fn names_on_demand(program: &str) -> Option<NamesOnDemand> {
    match program {
        "node" | "nodejs" => Some(NamesOnDemand {
            runtime: "Node.js",
            language: "JavaScript",
            variable:
                "NODE_OPTIONS='--perf-basic-prof-only-functions --interpreted-frames-native-stack'",
        }),
        beam if is_beam(beam) => Some(NamesOnDemand {
            runtime: "the BEAM",
            language: "Erlang and Elixir",
            variable: "ERL_FLAGS='+JPperf true'",
        }),
        _ => None,
    }
}

/// Whether a program of this name is the virtual machine of Erlang and Elixir.
pub fn is_beam(program: &str) -> bool {
    matches!(program, "beam.smp" | "beam")
}
