//! `timesink open FILE`: a recording in the browser, or two beside each other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{bail, Context};
use timesink_capture::launch::Identity;
use timesink_capture::privileges;

use super::last;
use super::read::all_whole;
use super::recording::parse_time;
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
    /// End when no page has been open for this long
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30m")]
    idle: Duration,
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
    let server = Server::bind(arguments.port, arguments.idle)?;
    let address = server.address();
    if !arguments.no_browser {
        start_browser(&server.address_once());
    }
    privileges::for_serving()?;
    out::page(&format!("{address}\n"), &Style::PLAIN)?;
    out::note(format_args!(
        "Ctrl-C ends it. From another machine: {}",
        tunnel(server.port())
    ));
    let against = sides.b.as_ref().map_or(String::new(), |b| {
        format!(" against {}", b.shown.path().display())
    });
    let title = format!("{}{against} – timesink", sides.a.shown.path().display());
    let asked = Asked {
        settings: &settings,
        sources: Some(Path::new(".")),
    };
    serve(server, &sides, &title, &asked)
}

/// What is typed on another machine to see the page there.
fn tunnel(port: u16) -> String {
    let variable = |name: &str| std::env::var(name).ok();
    // Who came by ssh comes by the same way again: address and port from there, then those here.
    let here = variable("SSH_CONNECTION").and_then(|all| Some(all.split(' ').nth(2)?.to_owned()));
    let host = here.unwrap_or_else(|| {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy().into_owned()
    });
    let user = variable("SUDO_USER").or_else(|| variable("USER"));
    let user = user.map_or(String::new(), |user| format!("{user}@"));
    format!("ssh -L {port}:127.0.0.1:{port} {user}{host}, and the same address there")
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
