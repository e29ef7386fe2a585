//! Where a program keeps the tags of each of its threads: by the note that the header for tags (sdk/c) leaves in it. Pure.

use crate::address_space::ThreadLocal;

/// Longer notes than that are not ours: one for each file that a program was linked from, at most.
pub const NOTE_LENGTH: u64 = 4096;

/// The header of a note of ours, and its owner, filled up to four bytes.
const OWNER: &[u8] = b"\x09\0\0\0\x10\0\0\0\x01\0\0\0timesink\0\0\0\0";
const VERSION: u32 = 1;
/// Length of a tag and its text: what is read.
const READ: u64 = 8 + 256;

/// How far the tags of a thread are from where its FS register points, in a program (its own storage ends there), if the
/// note is of a version that is known and says what can be.
pub fn offset_in_program(note: &[u8], storage: ThreadLocal) -> Option<i64> {
    let about = note.strip_prefix(OWNER)?;
    let half = |at: usize| Some(u32::from_le_bytes(about.get(at..at + 4)?.try_into().ok()?));
    let place = u64::from_le_bytes(about.get(8..16)?.try_into().ok()?);
    let room = u64::from(half(4)?);
    let fits = place.checked_add(room)? <= storage.size;
    if half(0)? != VERSION || room < READ || !fits {
        return None;
    }
    let alignment = storage.alignment.max(1);
    if !alignment.is_power_of_two() {
        return None;
    }
    // The storage begins at the last place below that is as its alignment and its address in the file want it.
    let skew = storage.address & (alignment - 1);
    let size = storage.size.checked_add(skew)?;
    let distance = size.checked_next_multiple_of(alignment)? - skew;
    i64::try_from(place).ok()?.checked_sub_unsigned(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(version: u32, room: u32, place: u64) -> Vec<u8> {
        let mut note = OWNER.to_vec();
        note.extend(version.to_le_bytes());
        note.extend(room.to_le_bytes());
        note.extend(place.to_le_bytes());
        note
    }

    fn storage(size: u64, address: u64, alignment: u64) -> ThreadLocal {
        ThreadLocal {
            size,
            address,
            alignment,
        }
    }

    #[test]
    fn tags_lie_below_the_end_of_the_storage() {
        let offset = |place, storage| offset_in_program(&note(1, 784, place), storage);
        assert_eq!(offset(0, storage(784, 0x3dd0, 8)), Some(-784));
        assert_eq!(offset(16, storage(1000, 0x4000, 64)), Some(16 - 1024));
        assert_eq!(offset(16, storage(1000, 0x4008, 64)), Some(16 - 1016));
    }

    #[test]
    fn what_cannot_be_has_no_place() {
        let plain = storage(1000, 0x4000, 8);
        assert_eq!(offset_in_program(b"", plain), None);
        assert_eq!(offset_in_program(&note(2, 784, 0), plain), None, "later");
        assert_eq!(offset_in_program(&note(1, 64, 0), plain), None);
        assert_eq!(offset_in_program(&note(1, 784, 217), plain), None);
        assert_eq!(offset_in_program(&note(1, 784, u64::MAX), plain), None);
        let odd = storage(1000, 0x4000, 12);
        assert_eq!(offset_in_program(&note(1, 784, 0), odd), None);
        let cut = &note(1, 784, 0)[..30];
        assert_eq!(offset_in_program(cut, plain), None);
    }
}
