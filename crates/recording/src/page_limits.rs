//! Looking at the page headers of a Parquet file before the decoder does, for one thing only: how
//! long each page claims to be when it is unpacked. The decoder believes that figure, and a few
//! bytes can unpack to gigabytes. Everything else about pages is left to the decoder.

use crate::fault::Fault;
use crate::limits::{Budget, GROUP_PAGES};
use parquet::file::metadata::ParquetMetaData;

/// Structures within structures, deeper than a page header has them.
const DEEPEST: u32 = 8;

/// Refuses the file if the pages of a group claim to be longer than those of ours are, or all of them longer than the file
/// can stand for.
pub(crate) fn check(file: &[u8], metadata: &ParquetMetaData, budget: &Budget) -> Result<(), Fault> {
    let mut all: u64 = 0;
    for group in metadata.row_groups() {
        let mut left = GROUP_PAGES;
        for column in group.columns() {
            let (start, length) = column.byte_range();
            let chunk = usize::try_from(start)
                .ok()
                .zip(usize::try_from(length).ok())
                .and_then(|(start, length)| file.get(start..start.checked_add(length)?));
            let chunk = chunk.ok_or_else(|| fault("a column extends past the end of the file"))?;
            left = check_chunk(chunk, left)?;
        }
        all = all.saturating_add(GROUP_PAGES - left);
        budget.pages(all)?;
    }
    Ok(())
}

fn fault(text: &str) -> Fault {
    Fault(text.to_owned())
}

/// Goes from page to page of one column chunk; what is left of `left` after it.
fn check_chunk(mut chunk: &[u8], mut left: u64) -> Result<u64, Fault> {
    while !chunk.is_empty() {
        let mut header = Compact { bytes: chunk };
        let sizes = header
            .page_sizes()
            .ok_or_else(|| fault("invalid page header"))?;
        let [unpacked, packed] = sizes;
        let rest = u64::try_from(unpacked)
            .ok()
            .and_then(|unpacked| left.checked_sub(unpacked));
        left = rest.ok_or_else(|| {
            Fault(format!(
                "a page claims {unpacked} bytes uncompressed; the limit for a row group is {GROUP_PAGES}"
            ))
        })?;
        chunk = usize::try_from(packed)
            .ok()
            .and_then(|packed| header.bytes.get(packed..))
            .ok_or_else(|| fault("a page extends past its column"))?;
    }
    Ok(left)
}

/// A reader of Thrift's compact protocol that can skip anything. `None` is bytes that are not that.
struct Compact<'b> {
    bytes: &'b [u8],
}

impl Compact<'_> {
    /// Reads a page header: its fields 2 and 3 are the sizes unpacked and packed.
    fn page_sizes(&mut self) -> Option<[i64; 2]> {
        let mut sizes = [-1; 2];
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (2 | 3, 5) => sizes[usize::from(id == 3)] = self.integer()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(sizes)
    }

    /// The next field's type, and its number in `id`; `None` within at the end of the structure.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => self.integer()?,
            step => id.checked_add(i64::from(step))?,
        };
        Some(Some(head & 15))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            // A truth is in the type itself.
            1 | 2 => Some(()),
            3 => self.take(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.take(8),
            8 => {
                let length = self.varint()?;
                self.take(usize::try_from(length).ok()?)
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            // A page header has no lists, sets or maps.
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn take(&mut self, count: usize) -> Option<()> {
        self.bytes = self.bytes.get(count..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number: the sign is in the lowest bit.
    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields 1, 2 and 3 (type, sizes unpacked and packed), a structure to skip, and the page.
    fn page(unpacked: u64) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x00, 0x15];
        let mut rest = unpacked << 1;
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.extend([
            rest as u8, 0x15, 0x06, 0x2c, 0x15, 0x02, 0x18, 0x01, b'x', 0x11, 0, 0,
        ]);
        bytes.extend(b"abc");
        bytes
    }

    /// Pages of a modest size pass one after the other; one that claims gigabytes does not.
    #[test]
    fn a_page_that_claims_too_much_is_refused() {
        let whole = check_chunk(&[page(3), page(1 << 20), page(0)].concat(), GROUP_PAGES);
        assert_eq!(
            whole.map_err(|Fault(text)| text),
            Ok(GROUP_PAGES - 3 - (1 << 20))
        );
        for size in [GROUP_PAGES - 2, i32::MAX as u64, u64::MAX >> 2] {
            let refused = check_chunk(&[page(3), page(size)].concat(), GROUP_PAGES);
            assert!(refused.is_err_and(|Fault(text)| text.contains("bytes uncompressed")));
        }
    }

    /// Headers cut at any byte, or nested without end, are refused.
    #[test]
    fn broken_headers_are_refused() {
        let whole = page(300);
        for length in 1..whole.len() {
            assert!(
                check_chunk(&whole[..length], GROUP_PAGES).is_err(),
                "cut at {length}"
            );
        }
        assert!(check_chunk(&[0x1c; 10_000], GROUP_PAGES).is_err());
        assert!(check_chunk(&[0xff; 100], GROUP_PAGES).is_err());
    }
}
