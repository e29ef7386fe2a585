//! Runs a command the way timesink does, without recording it. The tests of `launch` drive it.
//!
//! `hold run CMD...` runs it; `hold drop CMD...` holds it and lets go of it; `hold die CMD...`
//! holds it and is killed, having written the held child's number; `hold stop CMD...` holds it, stops the child and lets it
//! go on, and says each time whether it waits to be released.

use std::ffi::OsString;
use std::process::ExitCode;
use timesink_capture::launch::{Command, Error, Identity, Signals};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let verb = arguments.next().unwrap_or_default();
    match hold(&verb.to_string_lossy(), arguments.collect()) {
        Ok(code) => ExitCode::from(code),
        Err(fault) => {
            eprintln!("hold: {fault}");
            ExitCode::from(fault.command_exit_code().unwrap_or(2) as u8)
        }
    }
}

fn hold(verb: &str, argv: Vec<OsString>) -> Result<u8, Error> {
    let signals = Signals::block()?;
    let held = Command::new(argv)
        .identity(Identity::from_sudo()?)
        .hold(signals)?;
    // As timesink does: its threads come after the fork, and inherit the block.
    std::thread::spawn(std::thread::park);
    match verb {
        "run" => Ok(held.release()?.wait()?.exit_code() as u8),
        "drop" => Ok(0),
        "die" => {
            println!("{}", held.pid());
            signal(std::process::id(), libc::SIGKILL);
            Ok(1)
        }
        "stop" => {
            signal(held.pid(), libc::SIGSTOP);
            println!("stopped: {}", held.settle());
            signal(held.pid(), libc::SIGCONT);
            println!("let go on: {}", held.settle());
            Ok(0)
        }
        _ => Ok(2),
    }
}

fn signal(process: u32, signal: i32) {
    // SAFETY: the call takes two numbers.
    unsafe { libc::kill(process as i32, signal) };
}
