//! What the kernel tells of mappings and lives: bytes of perf records to changes. Touches no system.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use libbpf_sys as sys;

use super::{Change, FileNumber, Mapped, Timed};

const HEADER: usize = 8;
/// Every record ends with the time (`sample_id_all` with `PERF_SAMPLE_TIME`).
const TIME: usize = 8;
const MAPPED_PATH: usize = 72;
const EXECUTABLE: u32 = 4;

/// One record, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PerfRecord {
    Change(Timed<Change>),
    /// So many records found no room.
    Lost(u64),
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The records in what a ring held. Others than ours are passed over; at one whose length makes no
/// sense it ends, because where the next begins is not known.
pub fn parse(mut bytes: &[u8]) -> impl Iterator<Item = PerfRecord> + '_ {
    std::iter::from_fn(move || loop {
        let size = bytes.get(6..HEADER)?;
        let size = usize::from(u16::from_ne_bytes([size[0], size[1]]));
        if size < HEADER {
            return None;
        }
        let record = bytes.get(..size)?;
        bytes = &bytes[size..];
        if let Some(record) = one(record) {
            return Some(record);
        }
    })
}

fn one(record: &[u8]) -> Option<PerfRecord> {
    let kind = half(record, 0)?;
    let misc = u32::from(u16::from_ne_bytes([record[4], record[5]]));
    if kind == sys::PERF_RECORD_LOST {
        return Some(PerfRecord::Lost(number(record, 16)?));
    }
    let body = record.get(..record.len() - TIME)?;
    let time_ns = number(record, body.len())?;
    let pid = half(body, 8)?;
    let what = match kind {
        sys::PERF_RECORD_MMAP2 => mapped(body, pid)?,
        sys::PERF_RECORD_COMM if misc & sys::PERF_RECORD_MISC_COMM_EXEC != 0 => {
            Change::Executed { pid }
        }
        sys::PERF_RECORD_FORK => Change::Forked {
            pid,
            parent_pid: half(body, 12)?,
            tid: half(body, 16)?,
        },
        sys::PERF_RECORD_EXIT => Change::Ended {
            pid,
            tid: half(body, 16)?,
        },
        _ => return None,
    };
    Some(PerfRecord::Change(Timed { time_ns, what }))
}

fn mapped(body: &[u8], pid: u32) -> Option<Change> {
    if half(body, 64)? & EXECUTABLE == 0 {
        return None;
    }
    let path = body.get(MAPPED_PATH..)?;
    let end = path.iter().position(|&b| b == 0).unwrap_or(path.len());
    Some(Change::Mapped(Mapped {
        pid,
        start: number(body, 16)?,
        length: number(body, 24)?,
        offset: number(body, 32)?,
        file: FileNumber {
            device: (half(body, 40)?, half(body, 44)?),
            inode: number(body, 48)?,
            generation: number(body, 56)?,
        },
        path: PathBuf::from(OsStr::from_bytes(&path[..end])),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u32, body: &[&[u8]], time_ns: u64) -> Vec<u8> {
        let body = body.concat();
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend((misc as u16).to_ne_bytes());
        bytes.extend(((HEADER + body.len() + TIME) as u16).to_ne_bytes());
        bytes.extend(body);
        bytes.extend(time_ns.to_ne_bytes());
        bytes
    }

    fn pair(first: u32, second: u32) -> [u8; 8] {
        (u64::from(first) | u64::from(second) << 32).to_ne_bytes()
    }

    fn mapping(file: &[u8; 24], protection: u32, path: &[u8]) -> Vec<u8> {
        let numbers = [0x7f00_0000_1000u64, 0x2000, 0x3000].map(u64::to_ne_bytes);
        let rest = pair(protection, 2);
        let body: [&[u8]; 5] = [&pair(7, 8), &numbers.concat(), file, &rest, path];
        record(sys::PERF_RECORD_MMAP2, 2, &body, 99)
    }

    fn file() -> [u8; 24] {
        let mut file = [0; 24];
        file[0..8].copy_from_slice(&pair(8, 1));
        file[8..16].copy_from_slice(&1234u64.to_ne_bytes());
        file[16..24].copy_from_slice(&77u64.to_ne_bytes());
        file
    }

    /// Each kind of record says what it says; what is not executable, or not an exec, says nothing.
    #[test]
    fn kinds() {
        let fork: [&[u8]; 3] = [&pair(11, 10), &pair(12, 10), &5u64.to_ne_bytes()];
        let lost: [&[u8]; 2] = [&1u64.to_ne_bytes(), &17u64.to_ne_bytes()];
        let comm: [&[u8]; 2] = [&pair(9, 9), b"sh\0\0\0\0\0\0"];
        let bytes = [
            mapping(&file(), 5, b"/lib/x.so\0\0\0\0\0\0\0"),
            mapping(&file(), 1, b"/lib/data\0\0\0\0\0\0\0"),
            record(sys::PERF_RECORD_COMM, 0, &comm, 5),
            record(
                sys::PERF_RECORD_COMM,
                sys::PERF_RECORD_MISC_COMM_EXEC,
                &comm,
                6,
            ),
            record(sys::PERF_RECORD_FORK, 0, &fork, 7),
            record(sys::PERF_RECORD_EXIT, 0, &fork, 8),
            record(sys::PERF_RECORD_LOST, 0, &lost, 9),
            record(999, 0, &lost, 9),
        ]
        .concat();
        let plain = Mapped {
            pid: 7,
            start: 0x7f00_0000_1000,
            length: 0x2000,
            offset: 0x3000,
            file: FileNumber {
                device: (8, 1),
                inode: 1234,
                generation: 77,
            },
            path: "/lib/x.so".into(),
        };
        let forked = Change::Forked {
            pid: 11,
            parent_pid: 10,
            tid: 12,
        };
        let change = |time_ns, what| PerfRecord::Change(Timed { time_ns, what });
        assert_eq!(
            parse(&bytes).collect::<Vec<_>>(),
            [
                change(99, Change::Mapped(plain)),
                change(6, Change::Executed { pid: 9 }),
                change(7, forked),
                change(8, Change::Ended { pid: 11, tid: 12 }),
                PerfRecord::Lost(17),
            ]
        );
    }

    /// However it is cut short or altered, a ring's content is read to some end, without a panic.
    #[test]
    fn nonsense() {
        let whole = mapping(&[255; 24], 5, b"/b\0\0\0\0\0\0");
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]).count(), 0);
            // A record that claims to be as short as it was cut.
            let mut short = whole[..end].to_vec();
            if end >= HEADER {
                short[6..8].copy_from_slice(&(end as u16).to_ne_bytes());
            }
            parse(&short).for_each(drop);
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[end] ^= 1 << bit;
                assert!(parse(&flipped).count() <= flipped.len() / HEADER);
            }
        }
        assert_eq!(parse(&[0; 64]).count(), 0);
        assert_eq!(parse(&[0xff; 64]).count(), 0);
    }
}
