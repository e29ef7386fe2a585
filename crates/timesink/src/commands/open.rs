//! `timesink open FILE`: a recording in the browser, or two beside each other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;
use timesink_capture::privileges;

use super::last;
use super::read::all_whole;
use crate::out;
use crate::page::{serve, Asked, Server, Sides};
use crate::present::terminal::Style;
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording, or two to be compared, or all of the first side: folders or packed files [default: the one made last in this folder]
    #[arg(value_name = "A")]
    first: Vec<PathBuf>,
    /// The recordings of the second side, where a side has several
    #[arg(last = true, value_name = "B")]
    second: Vec<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only print the address, and start no browser
    #[arg(long)]
    no_browser: bool,
}

impl Arguments {
    /// All recordings, and how many of them are of A.
    fn recordings(&self) -> anyhow::Result<(Vec<PathBuf>, usize)> {
        let of_a = match (self.first.as_slice(), self.second.as_slice()) {
            ([], []) => return Ok((vec![last::or_last(None)?], 1)),
            ([_] | [_, _], []) => 1,
            (_, []) | ([], _) => bail!(
                "open shows one recording or two: of several of each side, put -- between the sides"
            ),
            (first, _) => first.len(),
        };
        Ok((
            self.first.iter().chain(&self.second).cloned().collect(),
            of_a,
        ))
    }
}

/// Serves the page until Ctrl-C.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    privileges::for_opening()?;
    let (paths, of_a) = arguments.recordings()?;
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let sides = Sides::of(all_whole(&paths)?, of_a).context("no recording is named")?;
    let settings = Settings::told();
    let server = Server::bind(arguments.port)?;
    let address = server.address();
    if !arguments.no_browser {
        start_browser(&address);
    }
    privileges::for_serving()?;
    out::page(&format!("{address}\n"), &Style::PLAIN)?;
    out::note("Ctrl-C ends it. From another machine: ssh -L PORT:127.0.0.1:PORT, with the port of this address.");
    let title = format!("{} – timesink", sides.a.shown.path().display());
    let asked = Asked {
        settings: &settings,
        sources: Some(Path::new(".")),
    };
    serve(server, &sides, &title, &asked)
}

/// Starts the user's browser where there is a screen; who has none reads the address.
fn start_browser(address: &str) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if !has_screen {
        return;
    }
    let mut browser = Command::new("xdg-open");
    if let Ok(Some(caller)) = Identity::from_sudo() {
        caller.runs(&mut browser);
    }
    browser
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Without one the address is printed all the same.
    let _ = browser.spawn();
}
