//! Which file system a folder is on, as `/proc/self/mountinfo` tells.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file system where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) at: PathBuf,
    /// Such as `ext4`.
    pub(super) filesystem: String,
}

/// The folder without links, the device as the kernel numbers it, and where it is mounted.
pub(super) fn of(folder: &Path) -> io::Result<(PathBuf, u64, Mount)> {
    let folder = folder.canonicalize()?;
    let device = fs::metadata(&folder)?.dev();
    let device = u64::from(libc::major(device)) << 20 | u64::from(libc::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let unknown = Mount {
        at: folder.clone(),
        filesystem: String::new(),
    };
    let mount = innermost(&mounts, &folder).unwrap_or(unknown);
    Ok((folder, device, mount))
}

/// The last of those that are mounted deepest above the folder: it hides the others.
fn innermost(mounts: &str, folder: &Path) -> Option<Mount> {
    let above = mounts.lines().filter_map(mount);
    let above = above.filter(|mount| folder.starts_with(&mount.at));
    above.max_by_key(|mount| mount.at.components().count())
}

/// `36 35 98:0 /root /mounted/at rw,noatime shared:1 - ext4 /dev/vda rw`.
fn mount(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let at = place.split(' ').nth(4)?;
    Some(Mount {
        at: PathBuf::from(unescaped(at)),
        filesystem: what.split(' ').next()?.to_owned(),
    })
}

/// Spaces and the like are written as `\040`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..3).and_then(|d| u8::from_str_radix(d, 8).ok());
        match digits {
            Some(byte) if byte.is_ascii() => {
                whole.push(char::from(byte));
                whole.push_str(&part[3..]);
            }
            _ => {
                whole.push('\\');
                whole.push_str(part);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file system is the deepest that holds the folder, and of two at one place the later.
    #[test]
    fn the_deepest_mount_counts() {
        let text = "25 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
                    30 25 0:26 / /tmp rw - tmpfs tmpfs rw\n\
                    31 25 0:27 / /tmp rw - xfs /dev/vdb rw\n\
                    32 25 0:28 / /with\\040space rw - btrfs /dev/vdc rw\n\
                    nonsense\n";
        let at = |folder: &str| innermost(text, Path::new(folder)).map(|mount| mount.filesystem);
        assert_eq!(at("/home/x").as_deref(), Some("ext4"));
        assert_eq!(at("/tmp/x").as_deref(), Some("xfs"));
        assert_eq!(at("/tmpx").as_deref(), Some("ext4"));
        assert_eq!(at("/with space").as_deref(), Some("btrfs"));
        assert_eq!(innermost("", Path::new("/")), None);
    }
}
