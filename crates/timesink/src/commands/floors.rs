//! `timesink floors`: what this machine does at best, measured once and kept.

use std::ops::ControlFlow;
use std::path::PathBuf;

use timesink_capture::floors::{keep, measure, WantedFloors};
use timesink_capture::launch::{Identity, Signals};
use timesink_capture::privileges;

use super::recording::{Meter, NOT_STARTED};
use super::run::refuse;
use crate::out;
use crate::present::json;
use crate::present::terminal;

/// As a shell has it for who was stopped by Ctrl-C.
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Arguments {
    /// Also measure the disk of this directory, besides the current one's; repeatable
    #[arg(long = "dir", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Also measure the network path to this peer; repeatable
    #[arg(long = "peer", value_name = "HOST:PORT", value_parser = parse_peer)]
    peers: Vec<String>,
    /// Print the figures as JSON (documented in docs/json.md)
    #[arg(long)]
    json: bool,
}

fn parse_peer(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("a peer looks like db.example:5432".to_owned()),
    }
}

/// Measures, prints and keeps.
pub fn run(arguments: &Arguments, mut signals: Signals) -> anyhow::Result<u8> {
    let identity = match Identity::from_sudo() {
        Ok(identity) => identity,
        Err(error) => return Ok(refuse(&error.into())),
    };
    if let Err(error) = privileges::for_measuring(identity.as_ref()) {
        return Ok(refuse(&error));
    }
    let here = PathBuf::from(".");
    let wanted = WantedFloors {
        folders: std::iter::once(here)
            .chain(arguments.folders.clone())
            .collect(),
        peers: arguments.peers.clone(),
    };
    let mut meter = Meter::new();
    let floors = measure(&wanted, &mut |progress| {
        let percent = (progress.done * 100.0).round();
        meter.say(&format!("measuring {}, {percent} %", progress.measuring));
        match stopped(&mut signals) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    meter.clear();
    let floors = match floors {
        Ok(Some(floors)) => floors,
        Ok(None) => return Ok(INTERRUPTED),
        Err(error) => return Ok(refuse(&error)),
    };
    let style = out::style();
    match arguments.json {
        true => {
            out::for_machines(|to| json::floors(&floors, to))?;
        }
        false => out::page(&terminal::floors(&floors, &style), &style)?,
    }
    match keep(&floors, identity.as_ref()) {
        Ok(path) => {
            let path = path.display();
            out::note(format_args!(
                "Saved to {path}. Later recordings on this machine include these figures."
            ));
            Ok(0)
        }
        Err(error) => {
            out::tell(format_args!("the floors could not be saved: {error}"));
            Ok(NOT_STARTED)
        }
    }
}

/// Whether somebody wants it to end.
fn stopped(signals: &mut Signals) -> bool {
    let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
    signals
        .read()
        .is_ok_and(|all| all.iter().any(|received| ends.contains(&received.signal)))
}
