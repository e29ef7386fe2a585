//! The parent's side: a child tries inputs and says the number of each before it does; how it ends is seen here.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::{place, work};

/// What a child may have of memory.
const MEMORY: u64 = 1 << 30;
/// What one input may take of a processor, its children's time included.
const PROCESSOR: Duration = Duration::from_secs(2);
/// What it may take at all: a machine that is busy with other things gets no fault for it.
const WALL: Duration = Duration::from_secs(60);
/// Where there are so many faults, one more says nothing new.
const ENOUGH: u64 = 20;

/// Tries a range of inputs of a format; how many are faults.
pub fn over(format: &str, seed: u64, range: Range<u64>) -> u64 {
    let (mut from, mut faults) = (range.start, 0);
    while from < range.end && faults < ENOUGH {
        let Some((at, why)) = batch(format, seed, from..range.end) else {
            break;
        };
        faults += 1;
        from = at + 1;
        println!("{format} {at}: {why}\n  again: timesink-fuzz --format {format} --seed {seed} --only {at}");
        let work = work(format);
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

fn start(format: &str, seed: u64, range: &Range<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("where we are"));
    command.args(["--format", format]);
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
    command
        .current_dir(&work)
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
fn batch(format: &str, seed: u64, range: Range<u64>) -> Option<(u64, String)> {
    let mut child = start(format, seed, &range);
    let out = child.stdout.take().expect("its output");
    let (said, heard) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                break;
            }
        }
    });
    let mut at = range.start;
    let (mut since, mut used) = (Instant::now(), processor_time(child.id()));
    let hung = loop {
        match heard.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                at = line.parse().unwrap_or(at);
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
    let last: String = said.lines().take(3).collect::<Vec<_>>().join(" ");
    let is_through = at + 1 == range.end && said.lines().last() == Some("through");
    match hung {
        true => Some((at, format!("more than {PROCESSOR:?} of a processor"))),
        false if is_through => {
            println!("{format}: {last}");
            None
        }
        false => Some((at, format!("{status}: {last}"))),
    }
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
