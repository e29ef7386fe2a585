//! How far from what the machine does at best a suspect is, and whether it is there: then no change will help. Only
//! with floors in the recording; what is on a disk or beyond a network that was not measured is not compared.

use std::net::IpAddr;

use timesink_analysis::path::Key;
use timesink_recording::floors::{DiskFloors, Figure, Floors, PeerFloors};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Object;
use timesink_recording::words::{Detail, ObjectKind, State};

use crate::inquiry::Inquiry;
use crate::rule::Suspect;
use crate::say;
use crate::sentence::{Piece, Sentence};

/// What makes a file's bytes safe on the disk.
pub const FLUSHES: [&str; 5] = ["fsync", "fdatasync", "sync_file_range", "msync", "syncfs"];
/// Up to so many times the floor it is the floor: no two runs take the same time.
const AT_FLOOR: f64 = 1.25;
/// Up to so many times as long is about the same.
const ABOUT: f64 = 1.5;
/// With so many bytes a flush is compared with one of few bytes.
const MANY_BYTES: u64 = 64 << 10;

/// What the machine does at best in place of what a suspect does.
pub struct AtBest {
    what: &'static str,
    ns: f64,
    told: Sentence,
}

impl Suspect {
    /// With how far from the floor it is, if that is known.
    pub fn held_against(mut self, best: Option<AtBest>) -> Suspect {
        let Some(best) = best else {
            return self;
        };
        self.told.push(best.told);
        self.figure(best.what, best.ns, "ns")
    }
}

/// The sentence ends so if others disturbed the measuring: the floor may be lower.
fn doubt(floors: &Floors) -> Piece {
    Piece::Text(match floors.was_idle() {
        true => "",
        false => " (measured on a busy machine)",
    })
}

fn time(figure: &Figure) -> Piece {
    Piece::Time(figure.ns.round() as u64)
}

fn object<'a>(inquiry: &Inquiry<'a>, id: ObjectId) -> Option<&'a Object> {
    inquiry.facts.object(id)
}

/// The disk that a file is on.
fn disk<'a>(inquiry: &Inquiry<'a>, file: ObjectId) -> Option<(&'a Floors, &'a DiskFloors)> {
    let (floors, device) = (inquiry.floors?, object(inquiry, file)?.device?);
    let disk = floors.disks.iter().find(|disk| disk.device == device)?;
    Some((floors, disk))
}

/// How long a flush of a file by a process takes, from call to return; none if there were none.
fn flush_ns(inquiry: &Inquiry<'_>, process: ProcessId, file: ObjectId) -> Option<u64> {
    let calls = inquiry.facts.calls.iter().filter(|call| {
        let flushes = FLUSHES.contains(&call.call.as_str());
        flushes && call.process == Some(process) && call.object == Some(file)
    });
    let (ns, count) = calls.fold((0u64, 0u64), |(ns, count), call| {
        (ns.saturating_add(call.ns), count.saturating_add(call.count))
    });
    ns.checked_div(count).filter(|ns| *ns > 0)
}

/// A process's flushes of a file, with one of few bytes.
pub fn flush(inquiry: &Inquiry<'_>, process: ProcessId, file: ObjectId) -> Option<AtBest> {
    let (floors, disk) = disk(inquiry, file)?;
    let took_ns = flush_ns(inquiry, process, file)?;
    let few = &disk.sizes.first()?.flush;
    let times = took_ns as f64 / few.ns;
    let mut told = match times {
        _ if times <= AT_FLOOR => say![
            "only fewer flushes will help: the minimum of this disk is ",
            time(few)
        ],
        _ => say![
            "a flush call takes ",
            Piece::Time(took_ns),
            ", ",
            Piece::Times(times),
            " the minimum of this disk: ",
            time(few)
        ],
    };
    if let Some(many) = disk.sizes.iter().find(|size| size.bytes == MANY_BYTES) {
        let many = say![
            ", or ",
            time(&many.flush),
            " with ",
            Piece::Bytes(many.bytes)
        ];
        told.0.extend(many.0);
    }
    told.0.push(doubt(floors));
    Some(AtBest {
        what: "minimum time of a flush",
        ns: few.ns,
        told,
    })
}

/// An address without its port: `10.0.0.1:5432`, `[::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let (address, _) = text.rsplit_once(':')?;
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    Some(address.to_canonical())
}

/// Whether the other end of a socket is on this machine: what has the same address at both ends is.
pub fn is_here(socket: &Object) -> bool {
    let end = |text: &Option<String>| text.as_deref().and_then(address);
    let remote = end(&socket.remote);
    remote.is_some_and(|remote| remote.is_loopback() || end(&socket.local) == Some(remote))
}

/// The peer at the other end of a socket.
fn peer<'a>(inquiry: &Inquiry<'a>, socket: ObjectId) -> Option<(&'a Floors, &'a PeerFloors)> {
    let (floors, socket) = (inquiry.floors?, object(inquiry, socket)?);
    if socket.kind != ObjectKind::TcpSocket {
        return None;
    }
    let remote = address(socket.remote.as_deref()?)?;
    let is_here = is_here(socket);
    let is_it = |peer: &&PeerFloors| {
        let inquiry: Option<IpAddr> = peer.address.parse().ok();
        let inquiry = inquiry.map(|address| address.to_canonical());
        match is_here {
            true => inquiry.is_some_and(|address| address.is_loopback()),
            false => inquiry == Some(remote),
        }
    };
    Some((floors, floors.peers.iter().find(is_it)?))
}

/// The way to a peer and back, where an answer took so long.
pub fn round_trip(inquiry: &Inquiry<'_>, socket: ObjectId, took_ns: u64) -> Option<AtBest> {
    let (floors, peer) = peer(inquiry, socket)?;
    let way = peer.way()?;
    let times = took_ns as f64 / way.ns;
    let told = match times <= ABOUT {
        true => say![
            "the network round trip alone takes ",
            time(&way),
            ": only fewer requests will help",
            doubt(floors)
        ],
        false => say![
            "a response takes ",
            Piece::Times(times),
            " the network round trip of ",
            time(&way),
            doubt(floors)
        ],
    };
    Some(AtBest {
        what: "network round trip",
        ns: way.ns,
        told,
    })
}

/// Starting a program from a parent of this size, where that costs so much.
pub fn start(inquiry: &Inquiry<'_>, resident_bytes: u64, cost_ns: u64) -> Option<AtBest> {
    let floors = inquiry.floors?;
    let far = |bytes: u64| ((bytes.max(1) as f64).ln() - (resident_bytes.max(1) as f64).ln()).abs();
    let starts = floors.starts.iter();
    let size = starts.min_by(|a, b| far(a.resident_bytes).total_cmp(&far(b.resident_bytes)))?;
    let (best, times) = (size.posix_spawn?, cost_ns as f64 / size.posix_spawn?.ns);
    if times <= 1.0 {
        return None;
    }
    let told = say![
        "a start takes ",
        Piece::Times(times),
        " as long as posix_spawn of an empty program from a process of ",
        Piece::Bytes(size.resident_bytes),
        ", ",
        time(&best),
        doubt(floors)
    ];
    Some(AtBest {
        what: "minimum time of posix_spawn",
        ns: best.ns,
        told,
    })
}

/// Whether the flushes of these files took no longer, all in all, than the disk takes at its best rate for all that was
/// written to them. Floors that others disturbed are too high to say that.
pub fn flushed_at_best(inquiry: &Inquiry<'_>, files: &[ObjectId]) -> bool {
    let Some((floors, disk)) = files.first().and_then(|&file| disk(inquiry, file)) else {
        return false;
    };
    let rates = disk
        .sizes
        .iter()
        .map(|size| size.flush.ns / size.bytes as f64);
    let best = rates.fold(f64::INFINITY, f64::min);
    let written = inquiry.facts.files.iter();
    let written = written.filter(|file| files.contains(&file.object));
    let written: u64 = written.fold(0, |sum, file| sum.saturating_add(file.bytes_written));
    let calls = inquiry.facts.calls.iter().filter(|call| {
        let about = call.object.is_some_and(|object| files.contains(&object));
        about && FLUSHES.contains(&call.call.as_str())
    });
    let took: u64 = calls.fold(0, |sum, call| sum.saturating_add(call.ns));
    floors.was_idle() && took > 0 && took as f64 <= best * written as f64 * AT_FLOOR
}

/// Whether a cause on the path takes what it takes on this machine, whoever does it.
pub fn is_reached(inquiry: &Inquiry<'_>, key: &Key) -> bool {
    match (key.state, key.detail, key.object) {
        (State::Wait, Some(Detail::Flush), Some(file)) => flushed_at_best(inquiry, &[file]),
        _ => false,
    }
}
