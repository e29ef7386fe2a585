//! /proc/PID/maps: text to mappings. Reads no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{FileNumber, Mapped};

/// The executable mappings of a process. Lines that cannot be understood are left out.
pub fn parse(pid: u32, text: &[u8]) -> Vec<Mapped> {
    let lines = text.split(|&b| b == b'\n');
    lines.filter_map(|line| parse_line(pid, line)).collect()
}

fn parse_line(pid: u32, line: &[u8]) -> Option<Mapped> {
    // START-END PERMISSIONS OFFSET MAJOR:MINOR INODE   PATH
    let mut rest = line;
    let mut field = || {
        let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        std::str::from_utf8(field).ok()
    };
    let (start, end) = field()?.split_once('-')?;
    let permissions = field()?;
    let offset = u64::from_str_radix(field()?, 16).ok()?;
    let (major, minor) = field()?.split_once(':')?;
    let hexadecimal = |text| u32::from_str_radix(text, 16).ok();
    let file = FileNumber {
        device: (hexadecimal(major)?, hexadecimal(minor)?),
        inode: field()?.parse().ok()?,
        generation: 0,
    };
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let skipped = rest.iter().take_while(|&&b| b == b' ').count();
    (permissions.as_bytes().get(2) == Some(&b'x') && end > start).then(|| Mapped {
        pid,
        start,
        length: end - start,
        offset,
        file,
        path: path(&rest[skipped..]),
    })
}

/// The kernel writes a line feed in a path as `\012`, and nothing else so.
fn path(escaped: &[u8]) -> PathBuf {
    const ESCAPED: &[u8] = b"\\012";
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(ESCAPED) {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(first);
            rest = after;
        }
    }
    PathBuf::from(OsStr::from_bytes(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executable lines are kept, with odd paths as they are; everything else is left out.
    #[test]
    fn lines() {
        let text = b"55e0-55f0 r--p 00000000 fe:01 12 /usr/bin/a\n\
            55f0-5600 r-xp 00001000 fe:01 12                   /usr/bin/a b (deleted)\n\
            7000-7100 r-xp 00000000 fe:01 13 /tmp/x\\012y\n\
            7200-7300 rwxp 00000000 00:00 0 \n\
            7ffc-7ffe r-xp 00000000 00:00 0                          [vdso]\n\
            8000-7000 r-xp 00000000 00:00 0\n\
            nonsense\n\
            1-2 r-xp";
        let maps = parse(7, text);
        let seen: Vec<_> = maps
            .iter()
            .map(|m| (m.start, m.length, m.offset, m.file.inode, m.path.to_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (0x55f0, 0x10, 0x1000, 12, Some("/usr/bin/a b (deleted)")),
                (0x7000, 0x100, 0, 13, Some("/tmp/x\ny")),
                (0x7200, 0x100, 0, 0, Some("")),
                (0x7ffc, 2, 0, 0, Some("[vdso]")),
            ]
        );
    }
}
