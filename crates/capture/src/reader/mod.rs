//! Reading what recorded programs can make hang: their memory, their files, what `/proc` takes from their memory.
//!
//! A program may map its memory from a file system that a process of its own serves (FUSE) and never answers: who reads
//! it then waits for ever, at times where no signal reaches it. So helpers do the reading, processes of ours that can be
//! left behind. One that does not answer in time is ended, another takes its place, and what it was asked
//! about is not asked for again. After a few of them nothing of others is read any more.
//!
//! Files on file systems that no process serves are opened by the helper, too, and then read directly: that is
//! most of them, and there are many reads.

mod files;
mod helper;
mod wire;

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_send_signal, Signal};

use crate::address_space::Mapped;
use crate::clock::CpuClock;
use crate::launch::Identity;
#[cfg(test)]
pub use files::generation_of;
pub use files::{FileFacts, ProcessFolder};
use wire::{Ask, Reply};

/// So many helpers there are, one after the other.
const HELPERS: usize = 8;
/// So often it is looked whether a helper has answered, and for how long each time. Looks are counted and not the
/// time: who was stopped by the terminal together with its helper goes on with it.
const LOOKS: u32 = 50;
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};
/// What one answer may hold.
const MOST_AT_ONCE: usize = 1 << 20;

/// Whose answer did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Culprit {
    Process(u32),
    /// A file system.
    Device(u32, u32),
}

/// Who is asked.
#[derive(Debug)]
pub struct Reader(Mutex<Helpers>);

#[derive(Debug)]
struct Helpers {
    /// Our ends: the first one's is of the helper that is asked now.
    ends: VecDeque<OwnedFd>,
    /// Known once it was asked.
    now: Option<Helper>,
    /// The CPU time of those that are left behind.
    left_cpu_ns: u64,
    /// Those that were told to end.
    ended: Vec<OwnedFd>,
    /// The one that is our child; the others are its children.
    child: libc::pid_t,
    refused: HashSet<Culprit>,
    gave_up: u64,
    of_root: bool,
}

/// The helper that is asked now.
#[derive(Debug)]
struct Helper {
    /// What stands for it.
    process: OwnedFd,
    clock: Option<CpuClock>,
}

impl Helper {
    /// From the first word of a helper, which says who it is.
    fn from_word(word: Reply) -> Option<Helper> {
        let pid = libc::pid_t::from_le_bytes(*word.bytes.first_chunk()?);
        Some(Helper {
            process: word.fd?,
            clock: CpuClock::of_process(pid),
        })
    }

    fn cpu_ns(&self) -> u64 {
        self.clock.map_or(0, CpuClock::now_ns)
    }
}

fn no_answer() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "reading it takes too long: who serves it does not answer",
    )
}

impl Reader {
    /// Starts the helpers, which use files with the rights of `identity` where that is asked for. To be called while
    /// this process has one thread, and holds nothing that must end with it.
    pub fn start(identity: Option<&Identity>) -> io::Result<Arc<Reader>> {
        let pairs = (0..HELPERS).map(|_| wire::pair());
        let (ends, theirs) = pairs.collect::<io::Result<(VecDeque<_>, VecDeque<_>)>>()?;
        // SAFETY: one thread; the child never returns.
        let child = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                drop(ends);
                helper::serve(theirs, identity)
            }
            child => child,
        };
        Ok(Arc::new(Reader(Mutex::new(Helpers {
            ends,
            now: None,
            left_cpu_ns: 0,
            ended: Vec::new(),
            child,
            refused: HashSet::new(),
            gave_up: 0,
            of_root: helper::is_root(identity),
        }))))
    }

    /// How often nobody answered.
    pub fn gave_up(&self) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .gave_up
    }

    /// The CPU time that reading took of the helpers so far.
    pub fn cpu_ns(&self) -> u64 {
        let helpers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        helpers.left_cpu_ns + helpers.now.as_ref().map_or(0, Helper::cpu_ns)
    }

    fn ask(&self, ask: &Ask, fd: Option<BorrowedFd<'_>>, culprit: Culprit) -> io::Result<Reply> {
        let mut helpers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if helpers.refused.contains(&culprit) || helpers.ends.is_empty() {
            return Err(no_answer());
        }
        match helpers.exchange(ask, fd) {
            Some(reply) => reply,
            None => {
                helpers.refused.insert(culprit);
                helpers.next();
                Err(no_answer())
            }
        }
    }

    /// A text of `/proc` about a process, as far as it is no longer than that.
    pub fn text(&self, pid: u32, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let path = format!("/proc/{pid}/{name}");
        let ask = Ask::Text { path, most };
        Ok(self.ask(&ask, None, Culprit::Process(pid))?.bytes)
    }

    /// The memory of a process, also when its number is another's.
    pub fn memory(self: &Arc<Reader>, pid: u32) -> io::Result<Theirs> {
        let culprit = Culprit::Process(pid);
        let reply = self.ask(&Ask::Memory { pid }, None, culprit)?;
        Ok(Theirs {
            file: File::from(reply.fd()?),
            through: Some((self.clone(), culprit)),
        })
    }

    /// The file of a mapping, which has this path, as the kernel or the process leads to it.
    pub fn mapped(self: &Arc<Reader>, mapped: &Mapped, path: &Path) -> io::Result<Theirs> {
        let (major, minor) = mapped.file.device;
        let culprit = Culprit::Device(major, minor);
        let ask = Ask::mapping(mapped, path);
        // Who is slow to look up the names of one process is not waited for again either.
        let known = Culprit::Process(mapped.pid);
        if self.is_refused(known) {
            return Err(no_answer());
        }
        self.theirs(self.ask(&ask, None, culprit)?, culprit)
    }

    /// A regular file, by a name that is no link, in a folder of a process.
    pub fn in_folder(
        self: &Arc<Reader>,
        pid: u32,
        folder: BorrowedFd<'_>,
        name: &str,
    ) -> io::Result<Theirs> {
        let culprit = Culprit::Process(pid);
        let name = name.to_owned();
        self.theirs(self.ask(&Ask::In { name }, Some(folder), culprit)?, culprit)
    }

    /// A regular file, by its path.
    pub fn named(self: &Arc<Reader>, path: &Path, device: (u32, u32)) -> io::Result<Theirs> {
        let culprit = Culprit::Device(device.0, device.1);
        self.theirs(self.ask(&Ask::named(path), None, culprit)?, culprit)
    }

    /// A regular file, by its path, with the rights of who runs timesink.
    pub fn as_caller(self: &Arc<Reader>, path: &Path, device: (u32, u32)) -> io::Result<Theirs> {
        let culprit = Culprit::Device(device.0, device.1);
        self.theirs(self.ask(&Ask::as_caller(path), None, culprit)?, culprit)
    }

    /// A configuration that a server was told to read, with the rights of who runs timesink.
    pub fn configuration(self: &Arc<Reader>, path: &Path) -> io::Result<Theirs> {
        let culprit = Culprit::Device(0, 0);
        self.theirs(self.ask(&Ask::configuration(path), None, culprit)?, culprit)
    }

    /// The names in a folder of configurations that anybody may list.
    pub fn names(&self, path: &Path, most: usize) -> io::Result<Vec<String>> {
        let culprit = Culprit::Device(0, 0);
        let reply = self.ask(&Ask::names(path, most), None, culprit)?;
        Ok(serde_json::from_slice(&reply.bytes)?)
    }

    /// Whether who runs timesink is root.
    pub fn is_of_root(&self) -> bool {
        let helpers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        helpers.of_root
    }

    /// A folder of a process, and what tells it from others.
    pub fn folder(&self, pid: u32, which: ProcessFolder) -> io::Result<(OwnedFd, FileFacts)> {
        let reply = self.ask(&Ask::Folder { pid, which }, None, Culprit::Process(pid))?;
        let about = reply.about()?;
        Ok((reply.fd()?, about))
    }

    fn is_refused(&self, culprit: Culprit) -> bool {
        let helpers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        helpers.refused.contains(&culprit)
    }

    fn theirs(self: &Arc<Reader>, reply: Reply, culprit: Culprit) -> io::Result<Theirs> {
        let direct = reply.about()?.direct;
        Ok(Theirs {
            file: File::from(reply.fd()?),
            through: (!direct).then(|| (self.clone(), culprit)),
        })
    }
}

impl Helpers {
    /// `None`: no answer came in time, or no whole one.
    fn exchange(&mut self, ask: &Ask, fd: Option<BorrowedFd<'_>>) -> Option<io::Result<Reply>> {
        let end = self.ends.front()?;
        let mut looks = LOOKS;
        let mut wait = || {
            let mut polled = [PollFd::new(end, PollFlags::IN)];
            while looks > 0 {
                looks -= 1;
                // What interrupts it counts as a look.
                if poll(&mut polled, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                    return true;
                }
            }
            false
        };
        if self.now.is_none() {
            self.now = Some(Helper::from_word(wire::receive(end, &mut wait)?)?);
        }
        wire::send(end, &ask.bytes(), fd).ok()?;
        let reply = wire::receive(end, &mut wait)?;
        Some(reply.or_refused())
    }

    /// Leaves a helper behind.
    fn next(&mut self) {
        self.gave_up += 1;
        self.ends.pop_front();
        if let Some(helper) = self.now.take() {
            // It may be where no signal reaches it; then it ends when it comes back from there.
            let _ = pidfd_send_signal(&helper.process, Signal::KILL);
            self.left_cpu_ns += helper.cpu_ns();
            self.ended.push(helper.process);
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        // Without our ends they end by themselves, but for one that hangs.
        self.ends.clear();
        let now = self.now.iter().map(|helper| &helper.process);
        for helper in now.chain(&self.ended) {
            let _ = pidfd_send_signal(helper, Signal::KILL);
        }
        for _ in 0..LOOKS {
            // SAFETY: our own child; no status is asked for.
            let reaped = unsafe { libc::waitpid(self.child, std::ptr::null_mut(), libc::WNOHANG) };
            if reaped != 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// A file that belongs to a recorded program: its bytes are read here, or, where that could hang, by a helper.
#[derive(Debug)]
pub struct Theirs {
    file: File,
    through: Option<(Arc<Reader>, Culprit)>,
}

/// One that is read here.
impl From<File> for Theirs {
    fn from(file: File) -> Theirs {
        Theirs {
            file,
            through: None,
        }
    }
}

impl Theirs {
    /// The file of a mapping, without a helper.
    pub fn mapped_here(mapped: &Mapped, path: &Path) -> io::Result<Theirs> {
        Ok(files::of_mapping(mapped, path)?.into())
    }

    /// A regular file, without a helper.
    pub fn named_here(path: &Path) -> io::Result<Theirs> {
        Ok(files::regular(path)?.into())
    }

    pub fn about(&self) -> io::Result<FileFacts> {
        match &self.through {
            None => FileFacts::of(&self.file),
            Some((reader, culprit)) => {
                let ask = Ask::About;
                reader.ask(&ask, Some(self.file.as_fd()), *culprit)?.about()
            }
        }
    }

    /// Reads what there is at an offset: how many bytes.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((reader, culprit)) = &self.through else {
            return self.file.read_at(bytes, offset);
        };
        let mut read = 0;
        while read < bytes.len() {
            let length = (bytes.len() - read).min(MOST_AT_ONCE);
            let at = offset.saturating_add(read as u64);
            let ask = Ask::Part { offset: at, length };
            let part = reader.ask(&ask, Some(self.file.as_fd()), *culprit);
            let part = match part {
                Ok(reply) => reply.bytes,
                Err(_) if read > 0 => break,
                Err(fault) => return Err(fault),
            };
            let count = part.len().min(length);
            bytes[read..read + count].copy_from_slice(&part[..count]);
            read += count;
            if count < length {
                break;
            }
        }
        Ok(read)
    }

    /// Reads so many bytes from each of these offsets on, one after the other; zeros where there are none.
    pub fn read_parts(&self, offsets: &[u64], length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(offsets.len() * length);
        if length > MOST_AT_ONCE {
            for offset in offsets {
                let mut part = vec![0; length];
                self.read_at(&mut part, *offset)?;
                bytes.extend(part);
            }
            return Ok(bytes);
        }
        for offsets in offsets.chunks((MOST_AT_ONCE / length.max(1)).max(1)) {
            match &self.through {
                Some((reader, culprit)) => {
                    let offsets = offsets.to_vec();
                    let ask = Ask::Parts { offsets, length };
                    let reply = reader.ask(&ask, Some(self.file.as_fd()), *culprit)?;
                    bytes.extend(reply.bytes);
                }
                None => bytes.extend(files::parts(&self.file, offsets, length)?),
            }
        }
        Ok(bytes)
    }

    /// Fills all of it, or fails.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut read = 0;
        while read < bytes.len() {
            let at = offset.saturating_add(read as u64);
            match self.read_at(&mut bytes[read..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => read += count,
            }
        }
        Ok(())
    }

    pub fn try_clone(&self) -> io::Result<Theirs> {
        Ok(Theirs {
            file: self.file.try_clone()?,
            through: self.through.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> Arc<Reader> {
        Reader::start(None).expect("a helper")
    }

    /// What a helper reads is what is there, of files, of memory and of texts; what is not there is a fault, and costs nothing.
    #[test]
    fn what_is_read() {
        let reader = reader();
        let us = std::process::id();
        let folder = reader
            .folder(us, ProcessFolder::Temporary)
            .expect("our /tmp");
        let expected = std::fs::metadata("/tmp").expect("it is there");
        assert_eq!(
            folder.1.inode,
            std::os::unix::fs::MetadataExt::ino(&expected)
        );
        let name = format!("reader-{us}");
        let file = Path::new("/tmp").join(&name);
        std::fs::write(&file, "some bytes").expect("a file");
        let theirs = reader.in_folder(us, folder.0.as_fd(), &name);
        let mut bytes = [0; 5];
        theirs
            .expect("the file")
            .read_exact_at(&mut bytes, 5)
            .expect("bytes");
        assert_eq!(&bytes, b"bytes");
        std::fs::remove_file(&file).expect("removed");
        assert!(reader.in_folder(us, folder.0.as_fd(), &name).is_err());
        let status = reader.text(us, "status", 1 << 20).expect("a text");
        assert!(status.starts_with(b"Name:"));
        let here = vec![7_u8; 3 << 20];
        let mut there = vec![0; here.len()];
        let memory = reader.memory(us).expect("our memory");
        let address = here.as_ptr() as u64;
        assert_eq!(memory.read_at(&mut there, address).ok(), Some(here.len()));
        assert_eq!(here, there);
        assert!(memory.read_at(&mut bytes, 0).is_err());
        let parts = memory.read_parts(&[address, 0, address + 8], 4);
        assert_eq!(parts.expect("parts"), [7, 7, 7, 7, 0, 0, 0, 0, 7, 7, 7, 7]);
        let many = vec![address; 600];
        let parts = memory
            .read_parts(&many, 2048)
            .expect("more than fits into one answer");
        assert!(parts.len() == 600 * 2048 && parts.iter().all(|byte| *byte == 7));
        assert!(memory
            .read_parts(&[], 8)
            .is_ok_and(|parts| parts.is_empty()));
        assert_eq!(reader.gave_up(), 0);
    }

    /// A helper that hangs is left behind: the next one answers, and the same is not asked for again.
    #[test]
    fn who_hangs_is_left_behind() {
        let reader = reader();
        let pipe = std::env::temp_dir().join(format!("hangs-{}", std::process::id()));
        let mode = rustix::fs::Mode::RWXU;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
        let hang = Ask::Text {
            path: pipe.display().to_string(),
            most: 1,
        };
        let us = std::process::id();
        for pid in [1, 2] {
            let asked = reader.ask(&hang, None, Culprit::Process(pid));
            assert_eq!(asked.err().map(|e| e.kind()), Some(io::ErrorKind::TimedOut));
            assert!(reader.text(us, "stat", 100).is_ok());
            assert!(reader.text(pid, "stat", 100).is_err());
        }
        assert_eq!(reader.gave_up(), 2);
        std::fs::remove_file(&pipe).expect("removed");
    }
}
