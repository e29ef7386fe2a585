//! Which end of a socket a program has: whether it is asked there, or asks.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::{Call, Object};
use timesink_recording::words::ObjectKind;

/// What a program does on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It waits for connections.
    Listening,
    /// It was asked for the connection, and is asked on it.
    Served,
    /// It asked for the connection, and asks on it.
    Asking,
}

/// The roles of all sockets for which they are known.
pub struct Sockets {
    roles: FxHashMap<ObjectId, Role>,
}

impl Sockets {
    /// By the calls that were seen, else by addresses.
    pub fn of(objects: &[Object], calls: &[Call]) -> Sockets {
        let mut roles: FxHashMap<ObjectId, Role> = FxHashMap::default();
        for row in calls {
            let role = match plain(&row.call) {
                "accept" | "accept4" => Role::Served,
                "connect" => Role::Asking,
                "listen" => Role::Listening,
                _ => continue,
            };
            if let Some(object) = row.object {
                // Who listens may also be said to accept: that it listens is what counts.
                let known = roles.entry(object).or_insert(role);
                if role == Role::Listening {
                    *known = role;
                }
            }
        }
        let bound = calls.iter().filter(|row| plain(&row.call) == "bind");
        let bound: FxHashSet<ObjectId> = bound.filter_map(|row| row.object).collect();
        let clients = Clients::of(objects, calls);
        for object in objects {
            let waits_for_others = object.remote.is_none() && object.local.is_some();
            match object.kind {
                ObjectKind::TcpSocket if waits_for_others => {
                    roles.insert(object.object, Role::Listening);
                }
                ObjectKind::UdpSocket if waits_for_others => {
                    let role = match bound.contains(&object.object) || !is_given(object) {
                        true => Role::Served,
                        false => Role::Asking,
                    };
                    roles.entry(object.object).or_insert(role);
                }
                ObjectKind::UnixSocket if clients.only_use(object.object) => {
                    roles.entry(object.object).or_insert(Role::Asking);
                }
                _ => {}
            }
        }
        let by_address = by_address(objects, &roles);
        for (object, role) in by_address {
            roles.entry(object).or_insert(role);
        }
        Sockets { roles }
    }

    pub fn role(&self, object: ObjectId) -> Option<Role> {
        self.roles.get(&object).copied()
    }

    /// Whether anybody is asked at all.
    pub(crate) fn any_served(&self) -> bool {
        self.roles.values().any(|role| *role == Role::Served)
    }
}

/// Threads that connect to Unix sockets, and serve none. Both ends of such a connection have the name that the server gave to it.
struct Clients<'a> {
    threads: FxHashSet<ThreadId>,
    uses: FxHashMap<ObjectId, Vec<&'a Call>>,
}

impl Clients<'_> {
    fn of<'a>(objects: &[Object], calls: &'a [Call]) -> Clients<'a> {
        let unix = objects
            .iter()
            .filter(|object| object.kind == ObjectKind::UnixSocket);
        let unix: FxHashSet<ObjectId> = unix.map(|object| object.object).collect();
        let mut threads: FxHashSet<ThreadId> = FxHashSet::default();
        let mut servers: FxHashSet<ThreadId> = FxHashSet::default();
        let mut uses: FxHashMap<ObjectId, Vec<&Call>> = FxHashMap::default();
        for row in calls {
            let Some(object) = row.object.filter(|object| unix.contains(object)) else {
                continue;
            };
            match plain(&row.call) {
                "connect" => drop(threads.insert(row.thread)),
                "accept" | "accept4" | "listen" => drop(servers.insert(row.thread)),
                _ => {}
            }
            uses.entry(object).or_default().push(row);
        }
        threads.retain(|thread| !servers.contains(thread));
        Clients { threads, uses }
    }

    /// Whether nobody else uses it.
    fn only_use(&self, object: ObjectId) -> bool {
        let uses = self.uses.get(&object);
        uses.is_some_and(|uses| uses.iter().all(|row| self.threads.contains(&row.thread)))
    }
}

/// Ports from here on are given to those who ask for none.
const EPHEMERAL: u32 = 32_768;

/// Whether the kernel chose a socket's address as it was first sent from.
fn is_given(object: &Object) -> bool {
    let local = object.local.as_deref().unwrap_or_default();
    is_any(local) && !well_known(local)
}

/// The roles of connections that were there before calls were seen.
fn by_address(objects: &[Object], roles: &FxHashMap<ObjectId, Role>) -> Vec<(ObjectId, Role)> {
    let locals = objects.iter().filter(|object| {
        let role = roles.get(&object.object);
        matches!(role, Some(Role::Listening | Role::Served))
    });
    let locals: FxHashSet<&str> = locals
        .filter_map(|object| object.local.as_deref())
        .collect();
    let ports: FxHashSet<u32> = locals
        .iter()
        .filter(|local| is_any(local))
        .filter_map(|local| port(local))
        .collect();
    let mut found = Vec::new();
    for object in objects {
        let Some(local) = object.local.as_deref() else {
            continue;
        };
        let served = locals.contains(local);
        let role = match (object.kind, object.remote.as_deref()) {
            (ObjectKind::UnixSocket, _) => Role::Served,
            (ObjectKind::TcpSocket, Some(remote)) => {
                let (ours, theirs) = (port(local), port(remote));
                match (ours, theirs) {
                    _ if served || ours.is_some_and(|port| ports.contains(&port)) => Role::Served,
                    (Some(ours), Some(theirs)) if ours < EPHEMERAL && ours < theirs => Role::Served,
                    _ => Role::Asking,
                }
            }
            (ObjectKind::UdpSocket, Some(_)) => Role::Asking,
            _ => continue,
        };
        found.push((object.object, role));
    }
    found
}

/// Whether an address is one that others know, rather than one that was given to who asked.
pub(crate) fn well_known(address: &str) -> bool {
    port(address).is_some_and(|port| port < EPHEMERAL)
}

fn port(address: &str) -> Option<u32> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// Whether it stands for all addresses of the machine.
fn is_any(address: &str) -> bool {
    address.starts_with("0.0.0.0:") || address.starts_with("[::]:")
}

/// A call's name, whichever way it was made.
pub(crate) fn plain(call: &str) -> &str {
    call.strip_suffix(" (32-bit)").unwrap_or(call)
}

/// Whether a call takes what others sent.
pub fn receives(call: &str) -> bool {
    matches!(
        plain(call),
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg"
    )
}

/// Whether a call asks which of several things are ready.
pub(crate) fn is_poll(call: &str) -> bool {
    matches!(
        call,
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2"
    )
}

/// Whether a call sends to others.
pub fn sends(call: &str) -> bool {
    matches!(
        plain(call),
        "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" | "splice"
    )
}
