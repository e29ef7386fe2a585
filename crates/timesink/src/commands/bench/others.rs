//! Whether another `timesink bench` measures on this machine at the same time. Each holds an address that the others find, and
//! who comes later knocks at it: so the first knows, too, and nothing has to look while it is measured.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

const NAME: &str = "timesink-bench";
/// So many find each other.
const ADDRESSES: usize = 8;

/// The others, from when we begin.
pub struct Others {
    /// `None`: all addresses are taken.
    own: Option<UnixListener>,
    were_there: bool,
}

impl Others {
    /// Tells those that are there, and can be told by those that come.
    pub fn announce() -> Others {
        Others::at(NAME)
    }

    fn at(name: &str) -> Others {
        let addresses = (0..ADDRESSES)
            .filter_map(|number| SocketAddr::from_abstract_name(format!("{name}-{number}")).ok());
        let mut were_there = false;
        let mut own = None;
        for address in addresses {
            // A knock needs no answer: it is waiting there when the other one looks.
            if UnixStream::connect_addr(&address).is_ok() {
                were_there = true;
            } else if own.is_none() {
                own = UnixListener::bind_addr(&address).ok();
                // Two began at once, and the other one was first.
                were_there |= own.is_none() && UnixStream::connect_addr(&address).is_ok();
            }
        }
        let own = own.filter(|own| own.set_nonblocking(true).is_ok());
        Others { own, were_there }
    }

    /// Whether there were any, or have come since.
    pub fn came(&self) -> bool {
        self.were_there || self.own.as_ref().is_some_and(|own| own.accept().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two that overlap both say so, also when the second has ended before the first looks; who is alone afterwards is alone.
    #[test]
    fn two_benches_know_of_each_other() {
        let name = format!("timesink-test-{}", std::process::id());
        let first = Others::at(&name);
        let second = Others::at(&name);
        assert!(second.came());
        drop(second);
        assert!(first.came());
        drop(first);
        let alone = Others::at(&name);
        assert!(!alone.came());
        // The first address is free again while the second is held.
        let one = Others::at(&name);
        drop(alone);
        let two = Others::at(&name);
        assert!(one.came() && two.came());
    }
}
