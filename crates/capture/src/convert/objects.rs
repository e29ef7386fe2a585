//! Objects: from the keys that the probes use to numbered rows that a person can read.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use timesink_recording::tables::objects::Object;
use timesink_recording::words::ObjectKind;
use timesink_recording::{ObjectId, ProcessId, RecordingWriter};

use crate::error::Error;
use crate::probes::{events as e, text};

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SOCK_DGRAM: u16 = 2;
/// Character devices of terminals: virtual consoles, serial lines and their like, and pty ends.
const TERMINAL_MAJORS: [u32; 3] = [4, 5, 204];

/// What a wait or call needs to know of its object.
#[derive(Debug, Clone, Copy)]
pub struct KnownObject {
    pub id: ObjectId,
    pub terminal: bool,
    pub family: u16,
}

#[derive(Default)]
pub struct Objects {
    known: HashMap<(u32, u64), KnownObject>,
    futexes: HashMap<(ProcessId, u64), ObjectId>,
    children: HashMap<ProcessId, ObjectId>,
    pub rows: Vec<Object>,
}

fn empty(object: ObjectId, kind: ObjectKind, label: String) -> Object {
    Object {
        object,
        kind,
        label,
        path: None,
        filesystem: None,
        device: None,
        inode: None,
        size: None,
        protocol: None,
        local: None,
        remote: None,
        process: None,
    }
}

impl Objects {
    pub fn write(self, out: &mut RecordingWriter) -> Result<(), Error> {
        for row in self.rows {
            out.push(row)?;
        }
        Ok(())
    }

    fn add(&mut self, kind: ObjectKind, label: String) -> ObjectId {
        let id = ObjectId(self.rows.len() as u32);
        self.rows.push(empty(id, kind, label));
        id
    }

    /// The object behind a key of the probes. One that was never announced gets a row that says so.
    pub fn find(&mut self, device: u32, key: u64, kind: u8) -> Option<KnownObject> {
        if u32::from(kind) == e::TS_O_NONE || u32::from(kind) == e::TS_O_FUTEX {
            return None;
        }
        if let Some(known) = self.known.get(&(device, key)) {
            return Some(*known);
        }
        let (kind, word) = match u32::from(kind) {
            e::TS_O_FILE => (ObjectKind::File, "file"),
            e::TS_O_DIR => (ObjectKind::Directory, "directory"),
            e::TS_O_PIPE => (ObjectKind::Pipe, "pipe"),
            e::TS_O_SOCKET => (ObjectKind::OtherSocket, "socket"),
            e::TS_O_CHAR | e::TS_O_BLOCK => (ObjectKind::Device, "device"),
            _ => (ObjectKind::Other, "object"),
        };
        let inode = key & 0xffff_ffff;
        let id = self.add(kind, format!("{word} {inode}"));
        self.rows[id.index()].inode = Some(inode);
        self.rows[id.index()].device = Some(u64::from(device));
        let known = KnownObject {
            id,
            terminal: false,
            family: 0,
        };
        self.known.insert((device, key), known);
        Some(known)
    }

    /// A futex, by its address in its process.
    pub fn futex(&mut self, process: ProcessId, address: u64) -> ObjectId {
        if let Some(id) = self.futexes.get(&(process, address)) {
            return *id;
        }
        let id = self.add(ObjectKind::Futex, format!("futex {address:#x}"));
        let row = &mut self.rows[id.index()];
        row.inode = Some(address);
        row.process = Some(process);
        self.futexes.insert((process, address), id);
        id
    }

    /// All of them: process, address and object.
    pub fn futexes(&self) -> impl Iterator<Item = (ProcessId, u64, ObjectId)> + '_ {
        let all = self.futexes.iter();
        all.map(|(&(process, address), &object)| (process, address, object))
    }

    /// Labels an object by what it turned out to be.
    pub fn rename(&mut self, object: ObjectId, label: &str) {
        label.clone_into(&mut self.rows[object.index()].label);
    }

    /// A child that was waited for.
    pub fn child(&mut self, process: ProcessId, pid: u32, name: &str) -> ObjectId {
        if let Some(id) = self.children.get(&process) {
            return *id;
        }
        let id = self.add(ObjectKind::Child, format!("{name}({pid})"));
        let row = &mut self.rows[id.index()];
        row.inode = Some(u64::from(pid));
        row.process = Some(process);
        self.children.insert(process, id);
        id
    }

    /// The size of a file when it was last seen.
    pub fn announce(&mut self, o: &e::ts_object) {
        let described = describe(o);
        let terminal = described.kind == ObjectKind::Terminal;
        match self.known.get(&(o.device, o.key)).copied() {
            // A nameless thing at the address of one that is gone is another thing.
            Some(known) if self.is_same(known.id, &described) => {
                let row = &mut self.rows[known.id.index()];
                *row = Object {
                    object: known.id,
                    ..described
                };
                let known = KnownObject {
                    terminal,
                    family: o.family,
                    ..known
                };
                self.known.insert((o.device, o.key), known);
            }
            _ => {
                let id = ObjectId(self.rows.len() as u32);
                self.rows.push(Object {
                    object: id,
                    ..described
                });
                let known = KnownObject {
                    id,
                    terminal,
                    family: o.family,
                };
                self.known.insert((o.device, o.key), known);
            }
        }
    }

    fn is_same(&self, id: ObjectId, now: &Object) -> bool {
        let before = &self.rows[id.index()];
        before.path.is_none() || before.path == now.path && before.kind == now.kind
    }
}

fn describe(o: &e::ts_object) -> Object {
    let path = path_of(o);
    let kind = kind_of(o, path.as_deref());
    let mut row = empty(ObjectId(0), kind, String::new());
    row.inode = Some(o.inode);
    row.device = Some(u64::from(o.device));
    row.filesystem = Some(text(&o.filesystem)).filter(|f| !f.is_empty());
    match kind {
        ObjectKind::TcpSocket | ObjectKind::UdpSocket => {
            row.protocol = Some(
                if kind == ObjectKind::TcpSocket {
                    "tcp"
                } else {
                    "udp"
                }
                .into(),
            );
            row.local = Some(address(o.family, &o.local, o.local_port));
            row.remote =
                Some(address(o.family, &o.remote, o.remote_port)).filter(|_| o.remote_port != 0);
            row.label = match (&row.local, &row.remote) {
                (_, Some(remote)) => remote.clone(),
                (Some(local), None) if o.local_port != 0 => match kind {
                    // One of datagrams has no peer of its own whether it asks or answers.
                    ObjectKind::UdpSocket => format!("udp {local}"),
                    _ => format!("listening on {local}"),
                },
                _ => format!(
                    "{} socket {}",
                    row.protocol.as_deref().unwrap_or(""),
                    o.inode
                ),
            };
        }
        ObjectKind::UnixSocket => {
            row.protocol = Some("unix".into());
            row.local = path_of_socket(o);
            row.remote = (o.peer != 0).then(|| o.peer.to_string());
            row.path = row.local.clone();
            row.label = row
                .local
                .clone()
                .unwrap_or_else(|| format!("unix socket {}", o.inode));
        }
        ObjectKind::OtherSocket => row.label = format!("socket {} (family {})", o.inode, o.family),
        ObjectKind::Pipe => {
            row.label = path
                .clone()
                .filter(|p| p.starts_with('/'))
                .unwrap_or_else(|| format!("pipe {}", o.inode))
        }
        _ => {
            row.size = (kind == ObjectKind::File).then_some(o.size);
            row.label = path.clone().unwrap_or_else(|| format!("inode {}", o.inode));
            row.path = path;
        }
    }
    row
}

fn kind_of(o: &e::ts_object, path: Option<&str>) -> ObjectKind {
    match o.mode & 0o170000 {
        0o100000 => ObjectKind::File,
        0o040000 => ObjectKind::Directory,
        0o060000 => ObjectKind::BlockDevice,
        0o010000 => ObjectKind::Pipe,
        0o020000 => {
            let major = o.rdev >> 20;
            if TERMINAL_MAJORS.contains(&major) || (136..144).contains(&major) {
                ObjectKind::Terminal
            } else {
                ObjectKind::Device
            }
        }
        0o140000 => match (o.family, o.sock_type) {
            (AF_UNIX, _) => ObjectKind::UnixSocket,
            (AF_INET | AF_INET6, SOCK_DGRAM) => ObjectKind::UdpSocket,
            (AF_INET | AF_INET6, 1) => ObjectKind::TcpSocket,
            _ => ObjectKind::OtherSocket,
        },
        0 if path.is_some_and(|p| p.contains("eventpoll")) => ObjectKind::Epoll,
        0 => ObjectKind::Anonymous,
        _ => ObjectKind::Other,
    }
}

fn bytes_of(o: &e::ts_object) -> Vec<u8> {
    let length = (o.path_length as usize).min(o.path.len());
    o.path[..length].iter().map(|&c| c as u8).collect()
}

/// The path from its components, which come last first. The root's own name is left out.
pub fn path_of(o: &e::ts_object) -> Option<String> {
    path_bytes_of(o).map(|path| String::from_utf8_lossy(&path).into_owned())
}

/// The same as the file system has it, which need be no text.
pub fn path_bytes_of(o: &e::ts_object) -> Option<Vec<u8>> {
    if o.mode & 0o170000 == 0o140000 {
        return None;
    }
    let bytes = bytes_of(o);
    let mut parts: Vec<&[u8]> = bytes.split(|&b| b == 0).filter(|p| !p.is_empty()).collect();
    parts.reverse();
    let rooted = parts.first().is_some_and(|p| *p == b"/") || parts.len() > 1;
    parts.retain(|p| *p != b"/");
    let joined = parts.join(&b'/');
    match (parts.is_empty(), rooted, o.truncated != 0) {
        (true, false, _) => None,
        (true, true, _) => Some(b"/".to_vec()),
        (false, _, true) => Some(["…/".as_bytes(), &joined].concat()),
        // One component that is no child of a directory: a name, such as [eventfd].
        (false, false, false) if joined.starts_with(b"[") || joined.starts_with(b"memfd:") => {
            Some(joined)
        }
        (false, _, false) => Some([b"/", joined.as_slice()].concat()),
    }
}

/// A unix socket's path; an abstract one begins with NUL, which people write as @.
fn path_of_socket(o: &e::ts_object) -> Option<String> {
    let bytes = bytes_of(o);
    let (first, rest) = bytes.split_first()?;
    let name =
        |b: &[u8]| String::from_utf8_lossy(b.split(|&c| c == 0).next().unwrap_or(&[])).into_owned();
    let name = if *first == 0 {
        format!("@{}", name(rest))
    } else {
        name(&bytes)
    };
    (name.len() > 1).then_some(name)
}

fn address(family: u16, bytes: &[u8; 16], port: u16) -> String {
    if family == AF_INET {
        return format!(
            "{}:{port}",
            Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
        );
    }
    let v6 = Ipv6Addr::from(*bytes);
    match v6.to_ipv4_mapped() {
        Some(v4) => format!("{v4}:{port}"),
        None => format!("[{v6}]:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(mode: u16, parts: &[&str]) -> e::ts_object {
        let mut o = e::ts_object {
            mode,
            key: 7,
            device: 8,
            inode: 7,
            ..Default::default()
        };
        let joined: Vec<u8> = parts.iter().flat_map(|p| p.bytes().chain([0])).collect();
        for (to, from) in o.path.iter_mut().zip(&joined) {
            *to = *from as _;
        }
        o.path_length = joined.len() as u32;
        o
    }

    /// Components come from the last to the first, with the roots of mounts between them.
    #[test]
    fn paths_are_put_together() {
        assert_eq!(
            path_of(&object(0o100644, &["rows.db", "data", "/", "/"])).as_deref(),
            Some("/data/rows.db")
        );
        assert_eq!(
            path_of(&object(0o100644, &["rows.db", "/"])).as_deref(),
            Some("/rows.db")
        );
        assert_eq!(path_of(&object(0o040755, &["/"])).as_deref(), Some("/"));
        assert_eq!(
            path_of(&object(0, &["[eventfd]"])).as_deref(),
            Some("[eventfd]")
        );
        let cut = e::ts_object {
            truncated: 1,
            ..object(0o100644, &["c", "b"])
        };
        assert_eq!(path_of(&cut).as_deref(), Some("…/b/c"));
    }

    /// A socket is told again when it is connected, and keeps its number.
    #[test]
    fn a_socket_keeps_its_number() {
        let mut all = Objects::default();
        let mut o = object(0o140777, &[]);
        (o.family, o.sock_type) = (AF_INET, 1);
        all.announce(&o);
        let before = all.find(8, 7, e::TS_O_SOCKET as u8).unwrap();
        o.remote[..4].copy_from_slice(&[127, 0, 0, 1]);
        o.remote_port = 5432;
        all.announce(&o);
        let after = all.find(8, 7, e::TS_O_SOCKET as u8).unwrap();
        assert_eq!(before.id, after.id);
        assert_eq!(all.rows[after.id.index()].label, "127.0.0.1:5432");
    }

    /// A nameless thing at the address of one that is gone is another thing.
    #[test]
    fn reused_addresses_are_other_objects() {
        let mut all = Objects::default();
        all.announce(&object(0, &["[eventpoll]"]));
        let first = all.find(8, 7, e::TS_O_ANON as u8).unwrap();
        all.announce(&object(0, &["[eventfd]"]));
        let second = all.find(8, 7, e::TS_O_ANON as u8).unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(all.rows[first.id.index()].kind, ObjectKind::Epoll);
    }

    /// An object that was never announced still has a name of sorts.
    #[test]
    fn unannounced_objects_have_a_number() {
        let mut all = Objects::default();
        let known = all.find(8, 1234, e::TS_O_PIPE as u8).unwrap();
        assert_eq!(all.rows[known.id.index()].label, "pipe 1234");
        assert!(all.find(8, 1, e::TS_O_NONE as u8).is_none());
    }
}
