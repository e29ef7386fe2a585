//! The parent's side: a child tries inputs and says the number of each before it does; how it ends is seen here.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::coverage;
use crate::draws::Draws;
use crate::{guide, place, work};

/// What a child may have of memory.
const MEMORY: u64 = 1 << 30;
/// What one input may take of a processor, its children's time included.
const PROCESSOR: Duration = Duration::from_secs(2);
/// What it may take at all: a machine that is busy with other things gets no fault for it.
const WALL: Duration = Duration::from_secs(60);
/// Where there are so many faults, one more says nothing new.
const ENOUGH: u64 = 20;

/// What a child failed at.
struct Fault {
    at: u64,
    /// As it is printed, and as `--draws` takes it.
    draws: String,
    why: String,
}

/// Tries a range of inputs of a format, or only one; how many are faults.
pub fn over(format: &str, seed: u64, range: Range<u64>, only: Option<&Draws>) -> u64 {
    let (mut from, mut faults) = (range.start, 0);
    // What is kept says how to change a corpus that is made anew.
    let _ = std::fs::remove_file(guide::kept(format));
    while from < range.end && faults < ENOUGH {
        let Some(fault) = batch(format, seed, from..range.end, only) else {
            break;
        };
        let Fault { at, draws, why } = fault;
        faults += 1;
        from = at + 1;
        println!("{format} {at}: {why}\n  again: timesink-fuzz --format {format} --draws {draws}");
        let work = work(format);
        for counters in [coverage::OWN, coverage::ASKED] {
            let _ = std::fs::remove_file(work.join(counters));
        }
        let kept = place().join(format!("fault-{format}-{seed}-{at}"));
        let _ = std::fs::remove_dir_all(&kept);
        // Perhaps from one file system to another.
        let copied = Command::new("cp").arg("-a").args([&work, &kept]).status();
        if !copied.is_ok_and(|status| status.success()) {
            println!("  it could not be kept");
        }
    }
    let _ = std::fs::remove_dir_all(work(format));
    faults
}

fn start(format: &str, seed: u64, range: &Range<u64>, only: Option<&Draws>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("where we are"));
    command.args(["--format", format]);
    if let Some(draws) = only {
        command.args(["--draws", &draws.to_string()]);
    }
    for (word, value) in [
        ("--seed", seed),
        ("--from", range.start),
        ("--inputs", range.end),
    ] {
        command.args([word, &value.to_string()]);
    }
    let work = work(format);
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).expect("a folder to work in");
    for counters in [coverage::OWN, coverage::ASKED] {
        std::fs::File::create(work.join(counters)).expect("a file for counters");
    }
    command
        .current_dir(&work)
        .env(coverage::VARIABLE, coverage::OWN)
        .env("XDG_CACHE_HOME", &work)
        .env("HOME", &work);
    let said = std::fs::File::create(work.join("said")).expect("a file for what it says");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(said);
    // SAFETY: between fork and exec there is one system call on data of our own.
    unsafe {
        command.process_group(0).pre_exec(|| {
            let most = libc::rlimit {
                rlim_cur: MEMORY,
                rlim_max: MEMORY,
            };
            match libc::setrlimit(libc::RLIMIT_AS, &most) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command.spawn().expect("a child")
}

/// One child's life; at which input it failed, and how.
fn batch(format: &str, seed: u64, range: Range<u64>, only: Option<&Draws>) -> Option<Fault> {
    let mut child = start(format, seed, &range, only);
    let out = child.stdout.take().expect("its output");
    let (said, heard) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                break;
            }
        }
    });
    let (mut at, mut draws) = (range.start, String::new());
    let (mut since, mut used) = (Instant::now(), processor_time(child.id()));
    let hung = loop {
        match heard.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                if let Some((number, drawn)) = line.split_once(' ') {
                    at = number.parse().unwrap_or(at);
                    draws = drawn.to_owned();
                }
                (since, used) = (Instant::now(), processor_time(child.id()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let now = processor_time(child.id());
                if now.saturating_sub(used) > PROCESSOR || since.elapsed() > WALL {
                    break true;
                }
            }
        }
    };
    // With all that it started.
    // SAFETY: the group is that of our own child, which was not waited for.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let status = child.wait().expect("waiting for a child of ours");
    let _ = reader.join();
    let work = work(format);
    let said = std::fs::read_to_string(work.join("said")).unwrap_or_default();
    let last: String = said.lines().take(3).collect::<Vec<_>>().join("; ");
    let is_through = at + 1 == range.end && said.lines().last() == Some("through");
    let why = match hung {
        true => format!("more than {PROCESSOR:?} of a processor"),
        false if is_through => {
            println!("{format}: {last}");
            return None;
        }
        false => format!("{status}: {last}"),
    };
    Some(Fault { at, draws, why })
}

/// What a process and the children that it waited for have used.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // utime, stime, cutime, cstime: fields 14 to 17, and two stand before the bracket. A tick is 10 ms.
    let ticks = rest.split_whitespace().skip(11).take(4);
    let sum: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(sum * 10)
}
