//! Changes of bytes and of texts, as numbers say that are drawn for them.

use crate::draws::{Random, Rounds};

/// Numbers at which programs err.
pub const EDGES: [i64; 16] = [
    0,
    -1,
    1,
    2,
    127,
    255,
    65_535,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    u32::MAX as i64,
    u32::MAX as i64 - 1,
    1 << 62,
    i64::MAX,
    i64::MIN,
    1_000_000_000_000_000_000,
    -1_000_000_000,
];

/// Texts at which programs err.
pub const TEXTS: [&str; 6] = [
    "",
    "\u{1b}[2J\u{202e}x",
    "../../etc",
    "\n\n",
    "%s%n",
    "é\u{301}\u{10ffff}",
];

/// Changes some bytes: single ones, numbers of all widths, pieces that go, come twice or come from elsewhere.
pub fn bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut rounds = Rounds::about(random, &[2, 2, 3, 5, 16]);
    while rounds.one_more(random) {
        if bytes.is_empty() {
            bytes.push(random.next() as u8);
        }
        // What leads and what stands at the end has more to say than what lies between.
        let at = match random.below(4) {
            0 => random.below(bytes.len().min(64)),
            1 => bytes.len() - 1 - random.below(bytes.len().min(256)),
            _ => random.below(bytes.len()),
        };
        let length = 1 << random.below(7);
        let piece = at..(at + length).min(bytes.len());
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 | 3 => {
                let edge = random.one(&EDGES).to_le_bytes();
                let width = (1 << random.below(4)).min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
            4 => drop(bytes.drain(piece)),
            5 => {
                let twice = bytes[piece].to_vec();
                bytes.splice(at..at, twice);
            }
            6 => {
                let other = random.below(bytes.len());
                let from = bytes[other..(other + length).min(bytes.len())].to_vec();
                let end = (at + from.len()).min(bytes.len());
                bytes.splice(at..end, from);
            }
            _ if random.once_in(8) => bytes.truncate(at),
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
}

/// Changes words and lines of a text: numbers become edges, lines change places, go or come many times.
pub fn text(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut rounds = Rounds::about(random, &[2, 2, 3, 5, 16]);
    while rounds.one_more(random) {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len());
        let other = random.below(lines.len());
        match random.below(8) {
            0 => lines.swap(at, other),
            1 => drop(lines.remove(at)),
            2 => {
                let line = lines[at].clone();
                let times = *random.one(&[1, 2, 50]);
                lines.splice(at..at, std::iter::repeat_n(line, times));
            }
            3 => {
                let mut raw = std::mem::take(&mut lines[at]).into_bytes();
                bytes(&mut raw, random);
                lines[at] = String::from_utf8_lossy(&raw).into_owned();
            }
            _ => lines[at] = one_word(&lines[at], random),
        }
    }
    lines.join("\n") + "\n"
}

/// The line with one of its words, or the digits of one, as something else.
fn one_word(line: &str, random: &mut Random) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| is_part(*c) && !line[..*at].chars().next_back().is_some_and(is_part))
        .map(|(at, _)| at)
        .collect();
    let Some(&start) = (!starts.is_empty()).then(|| random.one(&starts)) else {
        return line.to_owned();
    };
    let rest = &line[start..];
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let end = match digits {
        0 => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
        digits => digits,
    };
    let new = match random.below(3) {
        0 => (*random.one(&TEXTS)).to_owned(),
        1 => random.one(&EDGES).to_string(),
        _ => random.below(1000).to_string(),
    };
    format!("{}{new}{}", &line[..start], &rest[end..])
}
