//! Kernels that refuse something, for tests. `TIMESINK_INJECT` names what: `refuse:PROGRAM` has the kernel refuse to load a
//! program, `lost-argument:PROGRAM` puts it on a tracepoint with fewer arguments than it reads. Either way it is the
//! kernel that says no, in its own words.

use libbpf_rs::{OpenProgramMut, ProgramType};

/// What to inject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inject {
    refused: Option<String>,
    lost_argument: Option<String>,
}

/// A tracepoint with one argument.
pub const POOR_TRACEPOINT: &str = "hrtimer_expire_exit";

impl Inject {
    pub fn from_environment() -> Inject {
        std::env::var("TIMESINK_INJECT").map_or(Inject::default(), |word| Inject::parse(&word))
    }

    fn parse(word: &str) -> Inject {
        let mut inject = Inject::default();
        match word.split_once(':') {
            Some(("refuse", program)) => inject.refused = Some(program.to_string()),
            Some(("lost-argument", program)) => inject.lost_argument = Some(program.to_string()),
            _ => {}
        }
        inject
    }

    /// Before loading.
    pub fn prepare(&self, program: &mut OpenProgramMut) -> libbpf_rs::Result<()> {
        let name = program.name().to_string_lossy().into_owned();
        if self.refused.as_deref() == Some(&name) {
            // A program of this type may call next to nothing.
            program.set_prog_type(ProgramType::SocketFilter);
        }
        if self.loses_argument(&name) && program.prog_type() == ProgramType::Tracing {
            program.set_attach_target(0, Some(POOR_TRACEPOINT.to_string()))?;
        }
        Ok(())
    }

    /// Whether a program is to attach to `POOR_TRACEPOINT`.
    pub fn loses_argument(&self, program: &str) -> bool {
        self.lost_argument.as_deref() == Some(program)
    }
}
