//! The files that a run used: size, time of change and checksum, once it is over. They are read with the rights of who runs
//! timesink: what the program may read and its user may not is not looked into.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use timesink_recording::words::FactKind;

use super::Facts;
use crate::convert::path_of;
use crate::probes::events::ts_object;
use crate::reader::{Reader, Theirs};
use crate::redact;

/// So many files are remembered.
const MOST_FILES: usize = 4096;
/// Of the folders that a command line names, so many are looked into for what it tells without one.
const MOST_FOLDERS: usize = 16;
/// Larger ones have no checksum: their size and time must do.
const MOST_SUMMED: u64 = 1 << 20;
/// So long all of them together may take.
const PATIENCE: Duration = Duration::from_millis(20);
/// Texts that are kept are no longer, and all of them together neither.
const MOST_TEXT: u64 = 16 << 10;
const MOST_TEXTS: usize = 1 << 20;

/// A file that a program had open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Used {
    inode: u64,
    device: u32,
    size: u64,
    /// Its number may be another one in its own file system.
    layered: bool,
}

/// The files that were used, by path.
#[derive(Debug, Default)]
pub struct UsedFiles {
    files: BTreeMap<String, Option<Used>>,
    pub devices: BTreeSet<u32>,
}

impl UsedFiles {
    /// Looks at what is announced: files of the kernel's own file systems are none.
    pub fn note(&mut self, object: &ts_object) {
        const REGULAR: u16 = 0o100000;
        const OF_THE_KERNEL: [&str; 8] = [
            "proc", "sysfs", "cgroup", "cgroup2", "tracefs", "debugfs", "devtmpfs", "bpf",
        ];
        let system = crate::probes::text(&object.filesystem);
        if object.mode & 0o170000 != REGULAR || OF_THE_KERNEL.contains(&system.as_str()) {
            return;
        }
        let path = path_of(object).filter(|path| path.starts_with('/'));
        let Some(path) = path.filter(|_| self.files.len() < MOST_FILES) else {
            return;
        };
        self.devices.insert(object.device);
        let used = Used {
            inode: object.inode,
            device: object.device,
            size: object.size,
            layered: system == "overlay",
        };
        self.files.insert(path, Some(used));
    }

    /// The files that the command line of a server names, which it has read before anybody looked. One that is told without a folder
    /// may lie in the one where the server is, or in one that the command line names (`nginx -p DIR -c nginx.conf`).
    pub fn note_command_line(&mut self, arguments: &[u8], folder: Option<&Path>) {
        let arguments = String::from_utf8_lossy(arguments);
        let arguments = arguments.trim_end_matches('\0');
        // A server may have made one text of it: `nginx: master process nginx -c nginx.conf`.
        let between = if arguments.contains('\0') { '\0' } else { ' ' };
        let arguments: Vec<&str> = arguments.split(between).skip(1).collect();
        let folders: Vec<PathBuf> = std::iter::once("")
            .chain(arguments.iter().copied())
            .take(MOST_FOLDERS)
            .filter_map(|named| Some(folder.unwrap_or(Path::new("/")).join(path_in(named)?)))
            .collect();
        for argument in &arguments {
            let Some(path) = path_in(argument).filter(|path| !path.is_empty()) else {
                continue;
            };
            if path.starts_with('/') {
                self.note_path(PathBuf::from(path));
                continue;
            }
            // Without a folder only what looks like a file is one.
            let is_file = path.contains(['.', '/']);
            let found = folders.iter().map(|folder| folder.join(path));
            let found = found.filter(|path| is_file && path.is_absolute());
            found.for_each(|path| self.note_path(path));
        }
    }

    fn note_path(&mut self, path: PathBuf) {
        if self.files.len() < MOST_FILES {
            let path = path.to_string_lossy().into_owned();
            self.files.entry(path).or_insert(None);
        }
    }

    /// What there is to tell of them. `texts`: with what stands in small texts.
    pub fn facts(&self, reader: &Arc<Reader>, texts: bool) -> Facts {
        let mut facts = Facts::default();
        let mut kept = 0;
        let started = Instant::now();
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(path, _)| (is_installed(path), Reverse(path.starts_with("/etc/"))));
        for (path, used) in files {
            let file = match started.elapsed() < PATIENCE {
                true => open(reader, path, *used),
                false => None,
            };
            let told = match &file {
                Some(file) => described(file),
                None => used.map(|used| format!("size={}", used.size)),
            };
            facts.add(FactKind::File, path, told.unwrap_or_default());
            let text = file.filter(|_| texts && !is_installed(path) && kept < MOST_TEXTS);
            if let Some(text) = text.and_then(|file| small_text(&file)) {
                kept += text.len();
                facts.add_kept(format!("{path} (text)"), redact::text(&text));
            }
        }
        facts
    }
}

/// `-c/etc/x.conf`, `--config=conf/x.conf`, `conf/x.conf`.
fn path_in(argument: &str) -> Option<&str> {
    match argument.strip_prefix('-') {
        None => match argument.find("=/") {
            Some(at) => Some(&argument[at + 1..]),
            None => Some(argument),
        },
        Some(option) => {
            let value = option.split_once('=').map(|(_, value)| value);
            value.or_else(|| option.find('/').map(|at| &option[at..]))
        }
    }
}

/// The file that was used, if it is still there.
fn open(reader: &Arc<Reader>, path: &str, used: Option<Used>) -> Option<Theirs> {
    let device = used.map_or((0, 0), |used| (used.device >> 20, used.device & 0xf_ffff));
    let file = reader.as_caller(Path::new(path), device).ok()?;
    let about = file.about().ok()?;
    // What a process names it need not be able to read.
    let is_it = match used {
        Some(used) => used.layered || used.inode == about.inode,
        None => about.public,
    };
    is_it.then_some(file)
}

fn described(file: &Theirs) -> Option<String> {
    let about = file.about().ok()?;
    let (size, changed) = (about.size, about.modified.0);
    let known = format!("size={size} changed={changed}");
    if size > MOST_SUMMED {
        return Some(known);
    }
    let mut bytes = vec![0; size as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Some(format!("{known} crc32={:08x}", crc32fast::hash(&bytes))),
        Err(_) => Some(known),
    }
}

fn small_text(file: &Theirs) -> Option<String> {
    let size = file.about().ok()?.size;
    let mut bytes = vec![0; size.min(MOST_TEXT) as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (size <= MOST_TEXT && !text.contains('\0')).then_some(text)
}

/// Whether it came with the system or with a package: there are many, and they seldom differ.
fn is_installed(path: &str) -> bool {
    const FOLDERS: [&str; 5] = ["/usr/", "/lib", "/bin/", "/sbin/", "/opt/"];
    const WITHIN: [&str; 3] = ["/site-packages/", "/node_modules/", "/__pycache__/"];
    let library = path.ends_with(".so") || path.contains(".so.");
    library
        || FOLDERS.iter().any(|folder| path.starts_with(folder))
        || WITHIN.iter().any(|folder| path.contains(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command line names is a file wherever it may lie.
    #[test]
    fn files_of_command_lines() {
        let named = |line: &str, folder: &str| {
            let mut files = UsedFiles::default();
            let line = line.replace(' ', "\0");
            files.note_command_line(line.as_bytes(), Some(Path::new(folder)));
            files.files.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(named("srv -c/etc/x.conf", "/run"), ["/etc/x.conf"]);
        assert_eq!(
            named("srv --config=/etc/x.conf 80", "/run"),
            ["/etc/x.conf"]
        );
        assert!(named("python3 srv.py ks/a.conf", "/run").contains(&"/run/ks/a.conf".to_owned()));
        let told = named("nginx -p /srv/n -c nginx.conf", "/run");
        assert!(told.contains(&"/srv/n/nginx.conf".to_owned()), "{told:?}");
        let none: [&str; 0] = [];
        let title = |title: &str| {
            let mut files = UsedFiles::default();
            files.note_command_line(title.as_bytes(), Some(Path::new("/run")));
            files.files.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(title("nginx: worker process"), none);
        let master = "nginx: master process nginx -c /srv/nginx.conf\0\0\0";
        assert_eq!(title(master), ["/srv/nginx.conf"]);
    }
}
