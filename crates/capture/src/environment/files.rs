//! The files that a run used: size, time of change and checksum, once it is over. They are read with the rights of who runs
//! timesink: what the program may read and its user may not is not looked into.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use timesink_recording::words::FactKind;

use super::included::{followed, Answers, Configuration, MOST_NAMES};
use super::Facts;
use crate::convert::path_bytes_of;
use crate::probes::events::ts_object;
use crate::reader::{Reader, Theirs};
use crate::redact;

/// So many files are remembered.
const MOST_FILES: usize = 4096;
/// Of them, so many that only command lines name: nobody may have used them.
const MOST_NAMED: usize = 256;
/// Of the folders that a command line names, so many are looked into for what it tells without one.
const MOST_FOLDERS: usize = 16;
/// Of larger ones, the checksum is that of parts: so much at the beginning, in the middle and at the end.
const MOST_SUMMED: u64 = 1 << 20;
const PART: u64 = 256 << 10;
/// What is included by longer texts is not looked for.
const MOST_CONFIGURATION: u64 = 256 << 10;
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
    /// Where those lie whose paths are no text.
    bytes: BTreeMap<String, PathBuf>,
    /// What the command lines of servers name.
    named: BTreeSet<Configuration>,
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
        let path = path_bytes_of(object).filter(|path| path.starts_with(b"/"));
        let Some(path) = path.filter(|_| self.files.len() < MOST_FILES) else {
            return;
        };
        let path = match String::from_utf8(path) {
            Ok(path) => path,
            Err(fault) => {
                let told = String::from_utf8_lossy(fault.as_bytes()).into_owned();
                let bytes = OsString::from_vec(fault.into_bytes());
                self.bytes.insert(told.clone(), bytes.into());
                told
            }
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
        let mut arguments = arguments.split(between);
        let is_haproxy = arguments
            .next()
            .is_some_and(|name| name.ends_with("haproxy"));
        let arguments: Vec<&str> = arguments.collect();
        let folders: Vec<PathBuf> = std::iter::once("")
            .chain(arguments.iter().copied())
            .take(MOST_FOLDERS)
            .filter_map(|named| Some(folder.unwrap_or(Path::new("/")).join(path_in(named)?)))
            .collect();
        for argument in &arguments {
            let Some(path) = path_in(argument).filter(|path| !path.is_empty()) else {
                continue;
            };
            let mut note = |path| self.note_path(path, folder, is_haproxy);
            if path.starts_with('/') {
                note(PathBuf::from(path));
                continue;
            }
            // Without a folder only what looks like a file is one.
            let is_file = path.contains(['.', '/']);
            let found = folders.iter().map(|folder| folder.join(path));
            let found = found.filter(|path| is_file && path.is_absolute());
            found.for_each(&mut note);
        }
    }

    fn note_path(&mut self, path: PathBuf, folder: Option<&Path>, is_haproxy: bool) {
        if self.files.len() < MOST_FILES && self.named.len() < MOST_NAMED {
            self.named.insert(Configuration {
                path: path.clone(),
                folder: folder.map(Path::to_owned),
                is_haproxy,
            });
            let path = path.to_string_lossy().into_owned();
            self.files.entry(path).or_insert(None);
        }
    }

    /// What there is to tell of them. `texts`: with what stands in small texts.
    pub fn facts(&self, reader: &Arc<Reader>, texts: bool) -> Facts {
        let mut facts = Facts::default();
        let mut kept = 0;
        let started = Instant::now();
        let found = Found { reader, started };
        let included = followed(&self.named, &found).into_iter();
        let included: Vec<String> = included
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| !self.files.contains_key(path))
            .collect();
        let of_run = self.files.iter().map(|(path, used)| (path, *used));
        let mut files: Vec<_> = of_run
            .chain(included.iter().map(|path| (path, None)))
            .collect();
        files.sort_by_key(|(path, _)| (is_installed(path), Reverse(path.starts_with("/etc/"))));
        for (path, used) in files {
            let file = match started.elapsed() < PATIENCE {
                true => self.open(reader, path, used),
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

impl UsedFiles {
    /// The file that was used, if it is still there.
    fn open(&self, reader: &Arc<Reader>, path: &str, used: Option<Used>) -> Option<Theirs> {
        let place = self
            .bytes
            .get(path)
            .map_or(Path::new(path), PathBuf::as_path);
        let Some(used) = used else {
            // What a process names it need not be able to read.
            let file = reader.configuration(place).ok()?;
            return file.about().ok()?.public.then_some(file);
        };
        let device = (used.device >> 20, used.device & 0xf_ffff);
        let file = reader.as_caller(place, device).ok()?;
        let is_it = used.layered || used.inode == file.about().ok()?.inode;
        is_it.then_some(file)
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

/// Configurations as they can be read, as long as there is time.
struct Found<'r> {
    reader: &'r Arc<Reader>,
    started: Instant,
}

impl Found<'_> {
    /// Half of the time is left for what the files are.
    fn open(&self, path: &Path) -> Option<Theirs> {
        let in_time = self.started.elapsed() < PATIENCE / 2;
        let file = in_time.then(|| self.reader.configuration(path).ok())??;
        file.about().ok()?.public.then_some(file)
    }
}

impl Answers for Found<'_> {
    /// Root follows only what root alone may write.
    fn text(&self, path: &Path) -> Option<String> {
        let file = self.open(path)?;
        let about = file.about().ok()?;
        let may_follow = about.roots_alone || !self.reader.is_of_root();
        if !may_follow || about.size > MOST_CONFIGURATION {
            return None;
        }
        let mut bytes = vec![0; about.size as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let in_time = self.started.elapsed() < PATIENCE / 2;
        let names = in_time.then(|| self.reader.names(folder, MOST_NAMES).ok());
        names.flatten().unwrap_or_default()
    }

    fn is_file(&self, path: &Path) -> bool {
        self.open(path).is_some()
    }
}

fn described(file: &Theirs) -> Option<String> {
    let about = file.about().ok()?;
    let (size, changed) = (about.size, about.modified.0);
    let known = format!("size={size} changed={changed}");
    let (name, parts) = match size > MOST_SUMMED {
        false => ("crc32", vec![(0, size)]),
        true => {
            let places = [0, (size - PART) / 2, size - PART];
            ("parts", places.map(|at| (at, PART)).to_vec())
        }
    };
    let mut sum = crc32fast::Hasher::new();
    for (at, length) in parts {
        let mut bytes = vec![0; length as usize];
        if file.read_exact_at(&mut bytes, at).is_err() {
            return Some(known);
        }
        sum.update(&bytes);
    }
    Some(format!("{known} {name}={:08x}", sum.finalize()))
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
