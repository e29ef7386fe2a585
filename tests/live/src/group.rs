//! A control group for programs of tests.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group with these limits of processors and memory, in either version of the hierarchy; gone at the end.
pub struct Group {
    name: String,
    folders: Vec<PathBuf>,
}

impl Group {
    pub fn with(cpu: u64, memory: u64) -> Group {
        let name = format!("timesink-live-{}", std::process::id());
        let is_version_1 = Path::new("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").exists();
        let folders = match is_version_1 {
            true => vec!["cpu", "memory"],
            false => vec![""],
        };
        let folders = folders.into_iter();
        let root = Path::new("/sys/fs/cgroup");
        let folders = folders.map(|of| root.join(of).join(&name)).collect();
        let group = Group { name, folders };
        for folder in &group.folders {
            fs::create_dir(folder).expect("a control group");
        }
        let write = |at: usize, file: &str, value: String| {
            let path = group.folders[at.min(group.folders.len() - 1)].join(file);
            fs::write(&path, value).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        };
        match is_version_1 {
            true => {
                write(0, "cpu.cfs_quota_us", cpu.to_string());
                write(1, "memory.limit_in_bytes", memory.to_string());
            }
            false => {
                write(0, "cpu.max", format!("{cpu} 100000"));
                write(0, "memory.max", memory.to_string());
            }
        }
        group
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// With these `timesink under` runs a program in it.
    pub fn options(&self) -> impl Iterator<Item = &OsStr> {
        let folders = self.folders.iter();
        folders.flat_map(|folder| [OsStr::new("--group"), folder.as_os_str()])
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}
