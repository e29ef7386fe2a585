//! Recordings and spools of strangers: what decodes to far more than it is, what hangs, what draws on the terminal.

mod bombs;
mod escapes;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use timesink_live::{output, timesink, Folder, Ran};

/// A recording of something small that has rows in most tables.
fn recorded(folder: &Folder) -> PathBuf {
    let path = folder.join("r.timesink");
    let mut command = Command::new(timesink());
    command
        .args(["run", "-q", "--rate", "5000", "-o"])
        .arg(&path);
    command.args(["--", "bash", "-c"]);
    command.arg("for i in $(seq 20000); do :; done; /bin/true; sleep 0.01 & wait");
    output(&mut command).exits(0);
    path
}

/// `timesink` with a gigabyte of memory and two seconds of a processor.
fn confined(words: &[&str], path: &Path) -> Ran {
    let mut command = Command::new(timesink());
    command.args(words).arg(path);
    let limit = |what, most| {
        let limit = libc::rlimit {
            rlim_cur: most,
            rlim_max: most,
        };
        // SAFETY: a plain system call on a structure that is there.
        match unsafe { libc::setrlimit(what, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec there are two system calls.
    unsafe {
        command.pre_exec(move || {
            limit(libc::RLIMIT_AS, 1 << 30)?;
            limit(libc::RLIMIT_CPU, 2)
        });
    }
    output(&mut command)
}

/// Changes the manifest.
fn edit(recording: &Path, change: impl FnOnce(&mut Value)) {
    let path = recording.join("recording.json");
    let text = fs::read(&path).expect("a manifest");
    let mut manifest = serde_json::from_slice(&text).expect("JSON");
    change(&mut manifest);
    fs::write(&path, manifest.to_string()).expect("it is written");
}

/// Puts a file in a table's place, with a manifest that vouches for it.
fn forge(recording: &Path, table: &str, bytes: &[u8], rows: u64) {
    fs::write(recording.join(format!("{table}.parquet")), bytes).expect("it is written");
    edit(recording, |manifest| {
        let tables = manifest["tables"].as_array_mut().expect("tables");
        let entry = tables.iter_mut().find(|entry| entry["name"] == table);
        let entry = entry.expect("the table");
        entry["bytes"] = bytes.len().into();
        entry["crc32"] = crc32fast::hash(bytes).into();
        entry["rows"] = rows.into();
    });
}
