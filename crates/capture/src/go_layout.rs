//! Where Go keeps what of its goroutines, by version: from the type information of programs that each of these versions built.
//! Which version that is stands in the program itself, stripped or not. Pure.

use crate::probes::events::ts_go;

/// As far as it matters here, a section is no longer.
pub const BUILD_LENGTH: u64 = 4096;

/// How the part begins in which Go writes what it built a program with.
const MAGIC: &[u8] = b"\xff Go buildinf:";
/// Flags stand behind that and the size of pointers: the texts follow, since 1.18.
const FLAGS: usize = 15;
const TEXTS_FOLLOW: u8 = 2;
const HEADER: usize = 32;

/// Behind its first function, a word for the race detector, what it waits for and a slice.
const LABELS_BEHIND_ENTRY: u32 = 48;

/// Behind where a goroutine was left, its frame pointer; the same word less since 1.25 as in a thread.
const fn layout(number: u32, parent: u32, started_at: u32, entry: u32, current: u32) -> ts_go {
    ts_go {
        left_bp: current - 88,
        number,
        parent,
        started_at,
        entry,
        current,
        labels: entry + LABELS_BEHIND_ENTRY,
        ..NO_GO
    }
}

/// Of what is not Go.
pub const NO_GO: ts_go = ts_go {
    number: 0,
    parent: 0,
    started_at: 0,
    entry: 0,
    current: 0,
    left_bp: 0,
    tokio: 0,
    tagged: 0,
    labels: 0,
};

/// The second number of the first version that is laid out so.
const LAYOUTS: [(u32, ts_go); 5] = [
    (18, layout(152, 0, 296, 312, 192)),
    (21, layout(152, 272, 280, 296, 192)),
    (23, layout(160, 280, 288, 304, 192)),
    (25, layout(152, 272, 280, 296, 184)),
    (26, layout(152, 280, 288, 304, 184)),
];
/// The last version that was looked at.
const LAST: u32 = 26;

/// Where a goroutine has its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels {
    pub offset: u32,
    /// They are a map; else a slice, sorted.
    pub in_map: bool,
}

/// The second number of the first version in which labels are a slice.
const IN_SLICE: u32 = 24;

/// Where labels are in a program with this section that tells what it was built with.
pub fn labels_by(build: &[u8]) -> Option<Labels> {
    Some(Labels {
        offset: layout_by(build)?.labels,
        in_map: minor(&version(build)?)? < IN_SLICE,
    })
}

/// How the version is laid out that a program was built with, if it is known; `build` is the section that tells.
pub fn layout_by(build: &[u8]) -> Option<ts_go> {
    let minor = minor(&version(build)?)?;
    let known = LAYOUTS.iter().rev().find(|(since, _)| *since <= minor);
    known.filter(|_| minor <= LAST).map(|(_, layout)| *layout)
}

/// As `go version` prints it: go1.26.1.
fn version(build: &[u8]) -> Option<String> {
    if !build.starts_with(MAGIC) || build.get(FLAGS)? & TEXTS_FOLLOW == 0 {
        return None;
    }
    let length = usize::from(*build.get(HEADER)?);
    // A longer text has a length of two bytes, and is no version.
    let text = build.get(HEADER + 1..)?.get(..length.min(0x7f))?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(version: &str) -> Vec<u8> {
        let mut build = MAGIC.to_vec();
        build.extend([8, TEXTS_FOLLOW]);
        build.resize(HEADER, 0);
        build.push(version.len() as u8);
        build.extend(version.as_bytes());
        build
    }

    #[test]
    fn versions_have_their_layouts() {
        let number = |version| layout_by(&built(version)).map(|go| (go.number, go.entry));
        assert_eq!(number("go1.17.13"), None);
        assert_eq!(number("go1.18.10"), Some((152, 312)));
        assert_eq!(number("go1.22.12"), Some((152, 296)));
        assert_eq!(number("go1.24"), Some((160, 304)));
        assert_eq!(number("go1.26.0-X:nosync"), Some((152, 304)));
        assert_eq!(number("go1.27rc1"), None, "not looked at yet");
    }

    #[test]
    fn labels_are_a_map_and_then_a_slice() {
        let labels = |version| labels_by(&built(version)).map(|l| (l.offset, l.in_map));
        assert_eq!(labels("go1.20.14"), Some((360, true)));
        assert_eq!(labels("go1.22.12"), Some((344, true)));
        assert_eq!(labels("go1.23.4"), Some((352, true)));
        assert_eq!(labels("go1.24"), Some((352, false)));
        assert_eq!(labels("go1.25.1"), Some((344, false)));
        assert_eq!(labels("go1.26.8"), Some((352, false)));
        assert_eq!(labels("go1.17.13"), None);
    }

    #[test]
    fn what_is_no_build_information_has_none() {
        assert!(layout_by(b"").is_none());
        assert!(layout_by(&built("devel +a1b2c3")).is_none());
        let mut older = built("go1.26.1");
        older[FLAGS] = 0;
        assert!(layout_by(&older).is_none());
        let mut cut = built("go1.26.1");
        cut.truncate(HEADER + 4);
        assert!(layout_by(&cut).is_none());
    }
}
