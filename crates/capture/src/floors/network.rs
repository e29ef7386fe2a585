//! Round trips: over loopback, and to peers that were given. A peer is asked little: a connection and an echo or two in
//! each round.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use timesink_recording::floors::{Floors, PeerFloors};

use super::pinned::{processors, Pinned};
use super::{Kind, Lengths};

/// The name of this machine itself among peers.
pub const LOOPBACK: &str = "loopback";
/// A peer that needs longer is not there.
const PATIENCE: Duration = Duration::from_secs(1);
/// In a round a peer is asked so often, and this machine so often.
const ASKED: usize = 2;
const ASKED_HERE: usize = 10;
/// Bytes there and back over loopback: so many are timed together, so often in a round.
const TOGETHER: usize = 25;
const TRIPS: usize = 6;
/// What `ping` sends unless told otherwise.
const DATA: usize = 56;
const HEAD: usize = 8;

/// One of those that are asked.
pub(super) struct Peer {
    floors: PeerFloors,
    address: SocketAddr,
    /// Over loopback we are the server as well.
    server: Option<Server>,
    echo: Option<Echo>,
    connects: Lengths,
    trips: Lengths,
    echoes: Lengths,
    /// Nobody answers there, or not so; why.
    refused: Vec<String>,
    connects_work: bool,
}

/// This machine, and those that were given; who cannot be found is said.
pub(super) fn peers(given: &[String], left_out: &mut Vec<String>) -> Vec<Peer> {
    let mut peers = Vec::new();
    match Server::start() {
        Ok((server, address)) => peers.push(Peer::new(LOOPBACK, address, Some(server))),
        Err(error) => left_out.push(format!("{LOOPBACK}: {error}")),
    }
    for name in given {
        let addresses = name.to_socket_addrs();
        let first = addresses.and_then(|mut all| {
            let none = || io::Error::other("no such address");
            all.next().ok_or_else(none)
        });
        match first {
            Ok(address) => peers.push(Peer::new(name, address, None)),
            Err(error) => left_out.push(format!("{name}: {error}")),
        }
    }
    peers
}

impl Peer {
    fn new(name: &str, address: SocketAddr, server: Option<Server>) -> Peer {
        let mut refused = Vec::new();
        let echo = Echo::open(address.ip());
        let echo = echo.map_err(|error| refused.push(format!("ICMP echo, {name}: {error}")));
        Peer {
            floors: PeerFloors {
                name: name.to_owned(),
                address: address.ip().to_string(),
                connect: None,
                round_trip: None,
                echo: None,
            },
            address,
            server,
            echo: echo.ok(),
            connects: Lengths::default(),
            trips: Lengths::default(),
            echoes: Lengths::default(),
            refused,
            connects_work: true,
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let made = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        self.connects.add(start.elapsed(), 1);
        if let Some(server) = &self.server {
            // Who closes first keeps the port for a minute; that is nobody's business but ours.
            drop(server.listener.accept()?);
        }
        drop(made);
        Ok(())
    }

    fn echo(&mut self) -> io::Result<()> {
        let Some(echo) = &mut self.echo else {
            return Ok(());
        };
        let took = echo.ask()?;
        self.echoes.add(took, 1);
        Ok(())
    }
}

impl Kind for Peer {
    fn name(&self) -> &'static str {
        match self.server {
            Some(_) => "loopback",
            None => "a peer",
        }
    }

    fn round(&mut self) -> io::Result<()> {
        let here = self.server.is_some();
        let _here = here.then(|| Pinned::to(processors().0));
        let many = if here { ASKED_HERE } else { ASKED };
        if let Some(server) = &mut self.server {
            for _ in 0..TRIPS {
                let start = Instant::now();
                for _ in 0..TOGETHER {
                    server.trip()?;
                }
                self.trips.add(start.elapsed(), TOGETHER);
            }
        }
        for _ in 0..many {
            if self.connects_work {
                if let Err(error) = self.connect() {
                    self.connects_work = false;
                    let name = &self.floors.name;
                    self.refused.push(format!("TCP connect, {name}: {error}"));
                }
            }
            if let Err(error) = self.echo() {
                self.echo = None;
                let name = &self.floors.name;
                self.refused.push(format!("ICMP echo, {name}: {error}"));
            }
        }
        Ok(())
    }

    fn tell(&mut self, floors: &mut Floors) {
        self.floors.connect = self.connects.figure();
        self.floors.round_trip = self.trips.figure();
        self.floors.echo = self.echoes.figure();
        floors.left_out.append(&mut self.refused);
        if self.floors.way().is_some() {
            floors.peers.push(self.floors.clone());
        }
    }
}

/// Somebody on this machine who sends back each byte, on the processor on which it is asked.
struct Server {
    listener: TcpListener,
    connection: TcpStream,
}

impl Server {
    fn start() -> io::Result<(Server, SocketAddr)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let connection = TcpStream::connect_timeout(&address, PATIENCE)?;
        let (other, _) = listener.accept()?;
        for end in [&connection, &other] {
            end.set_nodelay(true)?;
        }
        connection.set_read_timeout(Some(PATIENCE))?;
        // It ends when the connection does.
        let send_back = move || {
            let _here = Pinned::to(processors().0);
            let (mut other, mut byte) = (other, [0]);
            while matches!(other.read(&mut byte), Ok(1)) && other.write_all(&byte).is_ok() {}
        };
        std::thread::Builder::new().spawn(send_back)?;
        let server = Server {
            listener,
            connection,
        };
        Ok((server, address))
    }

    fn trip(&mut self) -> io::Result<()> {
        self.connection.write_all(&[1])?;
        self.connection.read_exact(&mut [0])
    }
}

/// A socket for ICMP echoes, which needs no rights but a kernel that allows it.
struct Echo {
    socket: UdpSocket,
    request: u8,
    number: u16,
}

impl Echo {
    fn open(peer: IpAddr) -> io::Result<Echo> {
        let (family, protocol, request) = match peer {
            IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP, 8),
            IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6, 128),
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers; the descriptor is nobody else's.
        let socket = unsafe {
            match libc::socket(family, kind, protocol) {
                -1 => return Err(not_allowed(io::Error::last_os_error())),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        // Datagrams are datagrams: std knows how to send them and to wait for them.
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.connect((peer, 0))?;
        Ok(Echo {
            socket,
            request,
            number: 0,
        })
    }

    /// How long an answer takes. Answers to earlier questions, which came too late, are passed over.
    fn ask(&mut self) -> io::Result<Duration> {
        self.number = self.number.wrapping_add(1);
        let mut packet = [0; HEAD + DATA];
        packet[0] = self.request;
        // The kernel fills in the checksum and who asks.
        packet[6..8].copy_from_slice(&self.number.to_be_bytes());
        let start = Instant::now();
        self.socket.send(&packet)?;
        let mut answer = [0; HEAD + DATA];
        while start.elapsed() < PATIENCE {
            let length = self.socket.recv(&mut answer)?;
            if length == answer.len() && answer[6..8] == packet[6..8] {
                return Ok(start.elapsed());
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// A refusal with what would change it.
fn not_allowed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            io::Error::other("not permitted (see net.ipv4.ping_group_range)")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loopback answers; who is not there is said and does not end anything.
    #[test]
    fn who_is_not_there_is_left_out() {
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let name = closed.local_addr().expect("its address").to_string();
        drop(closed);
        let mut floors = Floors::default();
        let given = [name.clone(), "no port".to_owned()];
        for mut peer in peers(&given, &mut floors.left_out) {
            peer.round().expect("a round");
            peer.round().expect("another");
            peer.tell(&mut floors);
        }
        assert_eq!(floors.peers[0].name, LOOPBACK);
        assert!(floors.peers[0].round_trip.is_some() && floors.peers[0].connect.is_some());
        assert!(floors.is_sound());
        let said = |what: &str| floors.left_out.iter().filter(|s| s.contains(what)).count();
        assert_eq!(
            said(&format!("TCP connect, {name}")),
            1,
            "{:?}",
            floors.left_out
        );
        assert_eq!(said("no port"), 1, "{:?}", floors.left_out);
    }
}
