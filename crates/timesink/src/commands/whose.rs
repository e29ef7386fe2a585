//! `--of PID`: whose end is asked about.

use anyhow::bail;
use timesink_recording::{Mode, Recording};
use timesink_story::Loaded;

#[derive(clap::Args)]
pub struct Whose {
    /// Answer for this process instead of the main one: its number, or its name if it is the only one of that name
    #[arg(long, value_name = "PID|NAME")]
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
        let meant = loaded.facts.processes_called(text);
        match meant.iter().collect::<Vec<_>>().as_slice() {
            [one] if loaded.facts.ask_of(**one) => {}
            [_] => bail!("no thread of process {text:?} was recorded"),
            [] => bail!(
                "no process {text:?} was recorded (`timesink report FILE --threads` lists them)"
            ),
            several => {
                let processes = several.iter().take(LISTED);
                let numbers = processes.filter_map(|id| loaded.facts.ledger.process(**id));
                let numbers: Vec<String> = numbers.map(|one| one.row.pid.to_string()).collect();
                let more = match several.len() > LISTED {
                    true => ", ...",
                    false => "",
                };
                bail!(
                    "{} processes are called {text:?}; give a PID: {}{more}",
                    several.len(),
                    numbers.join(", ")
                );
            }
        }
        Ok(loaded)
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
