//! The guest's disk: an ext4 image that holds what the guest is to do, and afterwards what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root::run;
use crate::Failure;

/// How large the file is that guests read for the first time.
const COLD_BYTES: usize = 8 << 20;
const IMAGE_BYTES: u64 = 300 << 20;

/// Makes the image with these settings, which the guest's scripts read.
pub fn make(folder: &Path, settings: &str) -> Result<PathBuf, Failure> {
    let content = folder.join("content");
    fs::create_dir_all(content.join("out"))?;
    fs::write(content.join("settings"), settings)?;
    fs::write(content.join("cold"), vec![b'c'; COLD_BYTES])?;
    let image = folder.join("disk");
    fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
    run(Command::new("mke2fs")
        .args(["-q", "-t", "ext4", "-d"])
        .arg(&content)
        .arg(&image))?;
    Ok(image)
}

/// Copies the results out of the image.
pub fn results(image: &Path, to: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir_all(to)?;
    run(Command::new("debugfs")
        .arg("-R")
        .arg(format!("rdump /out {}", to.display()))
        .arg(image)
        .stdout(std::process::Stdio::null()))?;
    Ok(to.join("out"))
}
