//! Which line an instruction is of: the tables that CPython's compiler leaves in code objects, in the three
//! forms that they have had. Pure; a table that is cut short or makes no sense gives no line.

/// The line of the byte `at` of a code object's instructions. Before the first instruction it is the first line.
pub fn line(version: u32, first_line: u32, table: &[u8], at: i32) -> Option<u32> {
    let Ok(at) = u64::try_from(at) else {
        return Some(first_line);
    };
    let first = i64::from(first_line);
    let line = match version {
        0..0x30a => by_increments(first, table, at),
        0x30a => by_ranges(first, table, at),
        _ => by_locations(first, table, at),
    };
    line.and_then(|line| u32::try_from(line).ok())
        .filter(|line| *line != 0)
}

/// Until 3.9: pairs of how far to the next instruction and how far to its line.
fn by_increments(first: i64, table: &[u8], at: u64) -> Option<i64> {
    let mut line = first;
    let mut address = 0;
    for pair in table.chunks_exact(2) {
        address += u64::from(pair[0]);
        if address > at {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    Some(line)
}

/// 3.10: pairs of how many bytes there are, and how far their line is from the one before.
fn by_ranges(first: i64, table: &[u8], at: u64) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let mut line = first;
    let mut address = 0;
    for pair in table.chunks_exact(2) {
        let change = pair[1] as i8;
        if change != NO_LINE {
            line += i64::from(change);
        }
        address += u64::from(pair[0]);
        if at < address {
            return (change != NO_LINE).then_some(line);
        }
    }
    None
}

/// Since 3.11: entries of different lengths, each of up to eight units of two bytes.
fn by_locations(first: i64, table: &[u8], at: u64) -> Option<i64> {
    let mut line = first;
    let mut address = 0;
    let mut rest = table.iter().copied();
    while let Some(head) = rest.next() {
        // The first byte of an entry is marked, so that one can begin in the middle.
        if head & 0x80 == 0 {
            return None;
        }
        let form = head >> 3 & 15;
        match form {
            // On the same line, a column.
            0..=9 => drop(rest.next()?),
            // Up to two lines on, two columns.
            10..=12 => {
                line += i64::from(form - 10);
                rest.nth(1)?;
            }
            13 => line += signed(&mut rest)?,
            14 => {
                line += signed(&mut rest)?;
                for _ in 0..3 {
                    unsigned(&mut rest)?;
                }
            }
            _ => {}
        }
        address += (u64::from(head & 7) + 1) * 2;
        if at < address {
            const NOWHERE: u8 = 15;
            return (form != NOWHERE).then_some(line);
        }
    }
    None
}

/// Six bits a byte, the lowest first; all but the last say that there are more.
fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut number = 0;
    for shift in (0..36).step_by(6) {
        let byte = bytes.next()?;
        number |= i64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(number);
        }
    }
    None
}

/// The lowest bit is the sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let number = unsigned(bytes)?;
    let size = number >> 1;
    Some(if number & 1 != 0 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(version: u32, first: u32, table: &[u8], until: i32) -> Vec<Option<u32>> {
        let places = (0..until).step_by(2);
        places.map(|at| line(version, first, table, at)).collect()
    }

    /// How often each line, one after the other.
    fn spread(lines: &[(Option<u32>, usize)]) -> Vec<Option<u32>> {
        lines
            .iter()
            .flat_map(|(line, count)| vec![*line; *count])
            .collect()
    }

    /// A function as 3.9 compiles it: its expressions go back and forth between lines.
    #[test]
    fn increments() {
        let table = [0, 1, 2, 1, 2, 255, 4, 2, 12, 1, 14, 3, 2, 1, 2, 255];
        let expected = [
            (Some(2), 1),
            (Some(3), 1),
            (Some(2), 2),
            (Some(4), 6),
            (Some(5), 7),
            (Some(8), 1),
            (Some(9), 1),
            (Some(8), 2),
        ];
        assert_eq!(lines(0x309, 1, &table, 42), spread(&expected));
    }

    /// The same of 3.10, where some instructions are of no line.
    #[test]
    fn ranges() {
        let table = [2, 1, 2, 1, 4, 255, 12, 2, 12, 1, 2, 128, 2, 3, 2, 1, 4, 255];
        let expected = [
            (Some(2), 1),
            (Some(3), 1),
            (Some(2), 2),
            (Some(4), 6),
            (Some(5), 6),
            (None, 1),
            (Some(8), 1),
            (Some(9), 1),
            (Some(8), 2),
        ];
        assert_eq!(lines(0x30a, 1, &table, 42), spread(&expected));
    }

    /// The same of 3.11, with columns.
    #[test]
    fn locations() {
        let table = [
            128, 0, 216, 9, 10, 216, 9, 10, 241, 3, 1, 10, 11, 128, 65, 229, 13, 18, 144, 49, 137,
            88, 140, 88, 240, 0, 1, 5, 21, 240, 0, 1, 5, 21, 136, 1, 216, 11, 12, 136, 12, 136, 97,
            144, 49, 137, 102, 136, 97, 248, 240, 6, 0, 13, 14, 216, 12, 13, 240, 3, 1, 12, 15,
            240, 0, 1, 5, 15,
        ];
        let expected = [
            (Some(1), 1),
            (Some(2), 1),
            (Some(3), 1),
            (Some(2), 3),
            (Some(4), 17),
            (Some(5), 7),
            (None, 1),
            (Some(8), 1),
            (Some(9), 1),
            (Some(8), 2),
        ];
        assert_eq!(lines(0x30b, 1, &table, 70), spread(&expected));
    }

    /// The same of 3.13, where lines also go far back.
    #[test]
    fn locations_of_3_13() {
        let table = [
            128, 0, 216, 9, 10, 216, 9, 10, 241, 3, 1, 10, 11, 128, 65, 228, 13, 18, 144, 49, 142,
            88, 136, 1, 223, 11, 12, 136, 49, 136, 97, 137, 102, 138, 97, 241, 3, 0, 14, 22, 240,
            8, 0, 13, 14, 216, 12, 13, 240, 3, 1, 12, 15, 240, 0, 1, 5, 15,
        ];
        let expected = [
            (Some(1), 1),
            (Some(2), 1),
            (Some(3), 1),
            (Some(2), 3),
            (Some(4), 14),
            (Some(5), 15),
            (Some(4), 2),
            (Some(8), 1),
            (Some(9), 1),
            (Some(8), 2),
        ];
        assert_eq!(lines(0x30d, 1, &table, 82), spread(&expected));
    }

    /// Bytes that are no table, or only the beginning of one, end in nothing worse than no line.
    #[test]
    fn hostile_tables() {
        let mut random = fastrand::Rng::with_seed(1);
        for length in 0..2000 {
            let table: Vec<u8> = (0..length % 64).map(|_| random.u8(..)).collect();
            for version in [0x308, 0x30a, 0x30b, 0x30d] {
                for at in [i32::MIN, -1, 0, 7, 300, i32::MAX] {
                    let _ = line(version, u32::MAX, &table, at);
                    let _ = line(version, 0, &table, at);
                }
            }
        }
        let endless = [0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f];
        assert_eq!(line(0x30b, 1, &endless, 0), None);
    }

    /// Before its first instruction a function is on its first line.
    #[test]
    fn before_the_first() {
        assert_eq!(line(0x30b, 7, &[], -2), Some(7));
        assert_eq!(line(0x309, 7, &[], -1), Some(7));
    }
}
