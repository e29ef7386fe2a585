//! `timesink open FILE`: a recording in the browser, or two beside each other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use timesink_capture::launch::Identity;
use timesink_capture::privileges;

use super::last;
use super::read::all_whole;
use crate::out;
use crate::page::{serve, Asked, Server};
use crate::present::terminal::Style;
use crate::settings::Settings;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording: a directory or a packed file [default: the one made last in this folder]
    recording: Option<PathBuf>,
    /// Another recording to compare it with
    beside: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only print the address, and start no browser
    #[arg(long)]
    no_browser: bool,
}

/// Serves the page until Ctrl-C.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    privileges::for_opening()?;
    let path = last::or_last(arguments.recording.as_deref())?;
    let paths: Vec<&Path> = std::iter::once(path.as_path())
        .chain(arguments.beside.as_deref())
        .collect();
    let recordings = all_whole(&paths)?;
    let settings = Settings::told();
    let server = Server::bind(arguments.port)?;
    let address = server.address();
    if !arguments.no_browser {
        start_browser(&address);
    }
    privileges::for_serving()?;
    out::page(&format!("{address}\n"), &Style::PLAIN)?;
    out::note("Ctrl-C ends it. From another machine: ssh -L PORT:127.0.0.1:PORT, with the port of this address.");
    let title = format!("{} – timesink", path.display());
    let asked = Asked {
        settings: &settings,
        sources: Some(Path::new(".")),
    };
    serve(server, &recordings, &title, &asked)
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
