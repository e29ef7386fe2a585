//! `--of PID`: whose end is asked about.

use anyhow::{bail, ensure};
use timesink_recording::ids::ProcessId;
use timesink_recording::{Mode, Recording};
use timesink_story::Loaded;

use crate::out;
use crate::present::names;

#[derive(clap::Args)]
pub struct Whose {
    /// Answer for this process instead of the main one: its number, its name if it is the only one of that name, or its control
    /// group (a unit of systemd or a container), of which the process with the most CPU time is taken
    #[arg(long, value_name = "PID|NAME|UNIT")]
    of: Option<String>,
}

impl Whose {
    pub fn is_said(&self) -> bool {
        self.of.is_some()
    }

    /// A recording, of which this process is asked about.
    pub fn loaded<'a>(&self, recording: &'a Recording) -> anyhow::Result<Loaded<'a>> {
        let mut loaded = Loaded::of(recording)?;
        let Some(text) = &self.of else {
            return Ok(loaded);
        };
        let process = meant(text, &loaded)?;
        let has_thread = loaded.facts.ask_of(process);
        ensure!(has_thread, "no thread of process {text:?} was recorded");
        Ok(loaded)
    }
}

/// The one process that is meant.
fn meant(text: &str, loaded: &Loaded<'_>) -> anyhow::Result<ProcessId> {
    let facts = &loaded.facts;
    let named = facts.processes_called(text);
    let pid = |id: &ProcessId| facts.ledger.process(*id).map(|one| one.row.pid);
    if named.len() > 1 {
        let numbers = named.iter().take(LISTED).filter_map(pid);
        let numbers: Vec<String> = numbers.map(|pid| pid.to_string()).collect();
        let more = match named.len() > LISTED {
            true => ", ...",
            false => "",
        };
        bail!(
            "{} processes are called {text:?}; give a PID: {}{more}",
            named.len(),
            numbers.join(", ")
        );
    }
    if let Some(one) = named.first() {
        return Ok(*one);
    }
    let in_group = facts.processes_in_group(text);
    match in_group.as_slice() {
        [] => bail!(
            "no process or control group {text:?} was recorded (`timesink report FILE --threads` lists processes)"
        ),
        [one] => Ok(*one),
        [first, ..] => {
            out::tell(format_args!(
                "of the {} processes in {text} this is {}, which has the most CPU time",
                in_group.len(),
                names::process(facts, *first)
            ));
            Ok(*first)
        }
    }
}

/// So many of several are named.
const LISTED: usize = 10;

/// Why there is no answer where nobody's end can be asked about.
pub fn nobody(recording: &Recording) -> &'static str {
    match recording.about().mode {
        Mode::Machine => "this recording is of the whole machine: name a process with --of PID",
        Mode::Run | Mode::Attach => "this recording has no thread to ask about",
    }
}
