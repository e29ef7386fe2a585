//! Hostile inputs by the thousand: what others wrote and timesink reads, changed by bytes and by structure from a corpus that
//! is made at run time. Nothing is asserted of what comes out: it must only come out, soon and in little memory.
//!
//!     timesink-fuzz [--inputs N] [--seed S] [--format NAME] [--draws DRAWS]
//!
//! Each format has its inputs tried one after another in a child process with a gigabyte of memory. A panic, an abort, a
//! signal, or two seconds of a processor for one input is a fault: the input is kept in `target/fuzz`, with the command
//! that makes it again, and the next child goes on behind it. An input is made of the numbers that are drawn for it (`draws.rs`). Where
//! branches are counted (`make fuzz`), inputs that take new ones are kept and changed further (`guide.rs`); else they depend on
//! the seed, the format and their number only.

mod child;
mod corpus;
mod coverage;
mod draws;
mod formats;
mod guide;
mod mutate;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use draws::Draws;
use formats::FORMATS;

/// What is to be done.
struct Arguments {
    inputs: u64,
    seed: u64,
    format: Option<String>,
    /// One input alone.
    draws: Option<Draws>,
    /// From here on in a child.
    from: Option<u64>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        inputs: 2000,
        seed: 1,
        format: None,
        draws: None,
        from: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word}: a value is missing"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|e| format!("{word} {value}: {e}"))
        };
        match word.as_str() {
            "--inputs" => found.inputs = number()?,
            "--seed" => found.seed = number()?,
            "--draws" => {
                let draws = value.parse();
                found.draws = Some(draws.map_err(|e| format!("{word} {value}: {e}"))?);
            }
            "--from" => found.from = Some(number()?),
            "--format" => found.format = Some(value),
            _ => return Err(format!("{word}: what is that?")),
        }
    }
    Ok(found)
}

/// Where inputs, faults and the corpus are.
fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz")
}

/// Where a format's inputs are made: in memory where there is such a place, because what is mended is flushed to the disk.
fn work(format: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => memory.join(format!("timesink-fuzz-{}-{format}", std::process::id())),
        false => place().join(format!("work-{format}")),
    }
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("timesink-fuzz: {why}");
            return ExitCode::from(2);
        }
    };
    if let (Some(from), Some(format)) = (arguments.from, &arguments.format) {
        let range = from..arguments.inputs;
        return child::run(format, arguments.seed, range, arguments.draws);
    }
    corpus::make();
    let wanted = |name: &&str| {
        arguments
            .format
            .as_ref()
            .is_none_or(|format| format == name)
    };
    let names: Vec<&str> = FORMATS
        .iter()
        .map(|(name, _)| *name)
        .filter(wanted)
        .collect();
    let range = match arguments.draws {
        Some(_) => 0..1,
        None => 0..arguments.inputs,
    };
    let only = arguments.draws.as_ref();
    let (left, faults) = (Mutex::new(names), Mutex::new(0));
    let workers = std::thread::available_parallelism().map_or(1, |many| many.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| loop {
                let next = left.lock().expect("no worker panics").pop();
                let Some(format) = next else { break };
                let start = Instant::now();
                let found = watch::over(format, arguments.seed, range.clone(), only);
                let took = start.elapsed();
                let tried = range.end - range.start;
                println!("{format:10} {tried:>7} inputs in {took:>6.1?}, {found} faults");
                *faults.lock().expect("no worker panics") += found;
            });
        }
    });
    match faults.into_inner().expect("no worker panics") {
        0 => ExitCode::SUCCESS,
        faults => {
            eprintln!(
                "timesink-fuzz: {faults} faults, kept in {}",
                place().display()
            );
            ExitCode::FAILURE
        }
    }
}
