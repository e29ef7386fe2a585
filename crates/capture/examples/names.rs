//! Names places in a program, as `addr2line` does: `names FILE [CACHE] < OFFSETS`, hexadecimal, one a
//! line. To compare with `addr2line -ifCe FILE`, and to measure what naming costs.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use timesink_capture::symbols::{Module, Symbols};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("names: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().ok_or(io::ErrorKind::InvalidInput)?);
    let mut offsets = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let offset = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16);
        offsets.push(offset.map_err(io::Error::other)?);
    }
    let module = Module {
        shown: path.display().to_string(),
        path,
        memory: None,
        build_id: Vec::new(),
        stamp: None,
    };
    let begun = Instant::now();
    let resolved = Symbols::new(arguments.next().map(PathBuf::from)).resolve(&module, &offsets);
    let took = begun.elapsed();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (offset, frames) in offsets.iter().zip(&resolved.frames) {
        writeln!(out, "{offset:#x}")?;
        for frame in frames {
            let line = frame.line.unwrap_or(0);
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            writeln!(out, "  {} {}:{line}{inlined}", frame.function, frame.file)?;
        }
    }
    out.flush()?;
    let known = resolved.frames.iter().filter(|frames| !frames.is_empty());
    eprintln!(
        "{} of {} offsets named in {took:.1?}; from: {:?}; fault: {:?}",
        known.count(),
        offsets.len(),
        resolved.source,
        resolved.fault
    );
    Ok(())
}
