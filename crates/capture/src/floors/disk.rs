//! Writing to files and flushing them, by size. The files have names while they are measured: some file systems do
//! not flush what has none. Each round has new ones, which lie elsewhere on the disk, and removes them: so it is only SIGKILL
//! that can leave one.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use timesink_recording::files::{Folder, NewFile};
use timesink_recording::floors::{DiskFloors, Floors, FlushFloors};

use super::{mounts, Kind, Lengths};

/// Bytes written before each flush.
const SIZES: [usize; 6] = [512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The file that does not grow is so long.
const LENGTH: usize = 8 << 20;
/// What a folder must have free.
const ROOM: u64 = 64 << 20;
/// Times that a row of writes is measured in a round.
const GOES: usize = 3;
/// Flushes of one kind in a round: at most so many, for no longer than this, and one at least.
const FLUSHES: usize = 8;
const TIME: Duration = Duration::from_millis(25);

/// A file that is gone when what is given is.
fn temporary(folder: &Folder) -> io::Result<NewFile> {
    let name = format!(".timesink-floors-{}", std::process::id());
    NewFile::within(folder, name).map_err(io::Error::other)
}

#[derive(Default)]
struct Size {
    write: Lengths,
    flush: Lengths,
    flush_longer: Lengths,
}

/// One file system.
pub(super) struct Disk {
    floors: DiskFloors,
    folder: Folder,
    bytes: Vec<u8>,
    sizes: [Size; SIZES.len()],
}

/// One for each file system that these folders are on; what cannot be measured is said.
pub(super) fn disks(folders: &[PathBuf], left_out: &mut Vec<String>) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    for folder in folders {
        let known = |device| disks.iter().any(|disk: &Disk| disk.floors.device == device);
        match Disk::new(folder, known) {
            Ok(disk) => disks.extend(disk),
            Err(error) => left_out.push(format!("the disk, in {}: {error}", folder.display())),
        }
    }
    disks
}

impl Disk {
    /// None if the file system is known already.
    fn new(folder: &Path, is_known: impl Fn(u64) -> bool) -> io::Result<Option<Disk>> {
        let (folder, device, mount) = mounts::of(folder)?;
        if is_known(device) {
            return Ok(None);
        }
        let opened = Folder::open(&folder).map_err(io::Error::other)?;
        let free = free_bytes(&opened)?;
        if free < ROOM {
            let fault = format!("{} MB free, {} required", free >> 20, ROOM >> 20);
            return Err(io::Error::other(fault));
        }
        // Whether files can be made here is better known at once.
        drop(temporary(&opened)?);
        Ok(Some(Disk {
            floors: DiskFloors {
                folder: folder.to_string_lossy().into_owned(),
                mounted_on: mount.at.to_string_lossy().into_owned(),
                filesystem: mount.filesystem,
                device,
                sizes: Vec::new(),
            },
            folder: opened,
            bytes: noise(SIZES[SIZES.len() - 1]),
            sizes: Default::default(),
        }))
    }

    /// A file that has its length: many writes in a row, where how the kernel puts them aside is not the disk's business;
    /// then each flushed.
    fn same_length(&mut self) -> io::Result<()> {
        let file = temporary(&self.folder)?;
        let file = file.file();
        for at in (0..LENGTH).step_by(self.bytes.len()) {
            file.write_all_at(&self.bytes, at as u64)?;
        }
        file.sync_all()?;
        for (&size, lengths) in SIZES.iter().zip(&mut self.sizes) {
            let bytes = &self.bytes[..size];
            let mut places = (0..LENGTH as u64).step_by(size).cycle();
            let mut write = || {
                let at = places.next().unwrap_or(0);
                file.write_all_at(bytes, at)
            };
            let many = (self.bytes.len() / size).max(2);
            for _ in 0..GOES {
                let start = Instant::now();
                for _ in 0..many {
                    write()?;
                }
                lengths.write.add(start.elapsed(), many);
            }
            file.sync_data()?;
            flushes(&mut lengths.flush, file, |_| write())?;
        }
        Ok(())
    }

    /// A file that each write makes longer.
    fn longer(&mut self) -> io::Result<()> {
        let file = temporary(&self.folder)?;
        let file = file.file();
        for (&size, lengths) in SIZES.iter().zip(&mut self.sizes) {
            file.set_len(0)?;
            file.sync_all()?;
            let bytes = &self.bytes[..size];
            flushes(&mut lengths.flush_longer, file, |number| {
                file.write_all_at(bytes, (number * size) as u64)
            })?;
        }
        Ok(())
    }
}

/// Writes, and times the flush after each.
fn flushes(
    lengths: &mut Lengths,
    file: &std::fs::File,
    mut write: impl FnMut(usize) -> io::Result<()>,
) -> io::Result<()> {
    let begun = Instant::now();
    for number in 0..FLUSHES {
        write(number)?;
        let start = Instant::now();
        file.sync_data()?;
        lengths.add(start.elapsed(), 1);
        if begun.elapsed() > TIME {
            break;
        }
    }
    Ok(())
}

impl Kind for Disk {
    fn name(&self) -> &'static str {
        "the disk"
    }

    fn round(&mut self) -> io::Result<()> {
        self.same_length()?;
        self.longer()
    }

    fn tell(&mut self, floors: &mut Floors) {
        let sizes = SIZES.iter().zip(&self.sizes);
        let sizes = sizes.filter_map(|(&bytes, size)| {
            Some(FlushFloors {
                bytes: bytes as u64,
                write: size.write.figure()?,
                flush: size.flush.figure()?,
                flush_longer: size.flush_longer.figure()?,
            })
        });
        self.floors.sizes = sizes.collect();
        floors.disks.push(self.floors.clone());
    }
}

/// Bytes that no file system can pack.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn free_bytes(folder: impl AsFd) -> io::Result<u64> {
    let state = rustix::fs::fstatvfs(folder)?;
    Ok(state.f_bavail.saturating_mul(state.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folders on one file system are one disk, a folder that is not there is said, and files go as the disk does.
    #[test]
    fn a_file_system_is_measured_once() {
        let folder = std::env::temp_dir().join(format!("timesink-disk-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("below")).expect("folders");
        let mut left_out = Vec::new();
        let folders = [folder.clone(), folder.join("below"), folder.join("missing")];
        let mut disks = disks(&folders, &mut left_out);
        assert_eq!(disks.len(), 1);
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].contains("missing"), "{}", left_out[0]);
        disks[0].round().expect("a round");
        let mut floors = Floors::default();
        disks[0].tell(&mut floors);
        assert_eq!(floors.disks[0].sizes.len(), SIZES.len());
        assert!(floors.is_sound());
        drop(disks);
        let left: Vec<_> = std::fs::read_dir(&folder).expect("the folder").collect();
        std::fs::remove_dir_all(&folder).expect("it goes");
        assert_eq!(left.len(), 1, "only the folder below");
    }
}
