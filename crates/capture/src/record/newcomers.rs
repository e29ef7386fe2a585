//! Processes that come in while the recording runs, because they exchange something with one that is recorded
//! (`probes/follow`). Here it is said who never does, and heard of those who do.

use std::cell::RefCell;
use std::os::fd::RawFd;
use std::os::linux::fs::MetadataExt;
use std::rc::Rc;

use crate::error::Error;
use crate::kernel::{FileKey, Kernel};
use crate::launch;

/// The ring in which the probes tell of them.
pub struct Newcomers {
    ring: libbpf_rs::RingBuffer<'static>,
    pids: Rc<RefCell<Vec<u32>>>,
}

impl Newcomers {
    /// Listen, with timesink and those that it was started from shut out. Nobody comes in yet.
    pub fn await_them(kernel: &mut Kernel) -> Result<Newcomers, Error> {
        kernel.shut_out(&launch::lineage())?;
        let pids = Rc::new(RefCell::new(Vec::new()));
        let taker = Rc::clone(&pids);
        let ring = kernel.ring("newcomers", move |bytes| {
            if let Some(pid) = bytes.first_chunk() {
                taker.borrow_mut().push(u32::from_ne_bytes(*pid));
            }
        })?;
        Ok(Newcomers { ring, pids })
    }

    /// Readable when somebody has come in.
    pub fn fd(&self) -> RawFd {
        self.ring.epoll_fd()
    }

    /// Those who have come in since the last time.
    pub fn take(&self) -> Vec<u32> {
        // An error here is a callback's, and ours has none.
        let _ = self.ring.consume();
        self.pids.take()
    }
}

/// Where our own output and errors go, if that is a pipe or a socket: who reads there, such as a pager, belongs to whoever
/// started us.
pub fn our_outputs() -> [Option<FileKey>; 2] {
    [1, 2].map(output)
}

fn output(descriptor: u32) -> Option<FileKey> {
    let about = std::fs::metadata(format!("/proc/self/fd/{descriptor}")).ok()?;
    let kind = about.st_mode() & libc::S_IFMT;
    // The kernel's own number of a device has the minor one in 20 bits.
    let (major, minor) = (libc::major(about.st_dev()), libc::minor(about.st_dev()));
    (kind == libc::S_IFIFO || kind == libc::S_IFSOCK).then_some(FileKey {
        key: about.st_ino(),
        device: major << 20 | minor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is nothing that anybody reads at the other end of.
    #[test]
    fn only_pipes_and_sockets_have_another_end() {
        let file = std::fs::File::open("/dev/null").expect("it is there");
        let number = std::os::fd::AsRawFd::as_raw_fd(&file) as u32;
        assert_eq!(output(number), None);
        assert_eq!(output(u32::MAX), None);
        let (one, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let number = std::os::fd::AsRawFd::as_raw_fd(&one) as u32;
        let key = output(number).expect("a socket");
        assert!(key.key != 0 && key.device != 0, "{key:?}");
    }
}
