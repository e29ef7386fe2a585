//! Where a program or a library keeps the tags of each of its threads: by the notes that the header for tags (sdk/c) leaves in it.
//! Pure.

use crate::address_space::ThreadLocal;

/// Longer notes than that are not ours: two in a file, at most.
pub const NOTE_LENGTH: u64 = 4096;

/// The header of a note of ours, and its owner, filled up to four bytes.
const OWNER: &[u8] = b"\x09\0\0\0\x10\0\0\0\x01\0\0\0timesink\0\0\0\0";
/// In the code of a program, the place of the tags in its thread-local storage.
const IN_STORAGE: u32 = 1;
/// In code for a library, how far from there it says itself how its tags are found.
const BY_LIBRARY: u32 = 2;
const NOTE: usize = 40;
/// Where in a note the place stands, from which it may count.
const PLACE: usize = 32;
/// Length of a tag and its text: what is read.
const READ: u64 = 8 + 256;

/// Where a file has tags. A program that was built with code for libraries, too, may have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TagPlaces {
    /// How far the tags of a thread are from where its FS register points.
    pub in_program: Option<i64>,
    /// The address, as the file counts, where it says how its tags are found.
    pub by_library: Option<u64>,
}

impl TagPlaces {
    /// What the notes say that begin at this address, of a file with this storage, as far as their versions are known and it can
    /// be. Only of a program is it known where its storage lies.
    pub fn of(notes: &[u8], address: u64, storage: Option<ThreadLocal>) -> TagPlaces {
        let mut places = TagPlaces::default();
        let mut at = address;
        for note in notes.chunks_exact(NOTE) {
            let Some((version, place)) = read(note) else {
                break;
            };
            match version {
                IN_STORAGE => {
                    let found = storage.and_then(|storage| offset_in_program(place, storage));
                    places.in_program = places.in_program.or(found);
                }
                BY_LIBRARY => {
                    let found = at.wrapping_add(PLACE as u64).wrapping_add(place);
                    places.by_library.get_or_insert(found);
                }
                _ => {}
            }
            at = at.wrapping_add(NOTE as u64);
        }
        places
    }
}

/// Version and place of a note of ours, if what a thread has is as large as what is read.
fn read(note: &[u8]) -> Option<(u32, u64)> {
    let about = note.strip_prefix(OWNER)?;
    let half = |at: usize| Some(u32::from_le_bytes(about.get(at..at + 4)?.try_into().ok()?));
    let place = u64::from_le_bytes(about.get(8..16)?.try_into().ok()?);
    (u64::from(half(4)?) >= READ).then_some((half(0)?, place))
}

fn offset_in_program(place: u64, storage: ThreadLocal) -> Option<i64> {
    if place.checked_add(READ)? > storage.size {
        return None;
    }
    let distance = storage.distance()?;
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
        let offset =
            |place, storage| TagPlaces::of(&note(1, 784, place), 0, Some(storage)).in_program;
        assert_eq!(offset(0, storage(784, 0x3dd0, 8)), Some(-784));
        assert_eq!(offset(16, storage(1000, 0x4000, 64)), Some(16 - 1024));
        assert_eq!(offset(16, storage(1000, 0x4008, 64)), Some(16 - 1016));
    }

    #[test]
    fn a_library_counts_from_its_note() {
        let library = |place: i64| TagPlaces {
            in_program: None,
            by_library: Some(0x420_u64.wrapping_add_signed(place)),
        };
        for place in [0x3000, -0x20] {
            let note = note(2, 784, place as u64);
            assert_eq!(TagPlaces::of(&note, 0x400, None), library(place));
        }
    }

    #[test]
    fn a_program_may_have_both() {
        let both = [note(1, 784, 0), note(2, 784, 0x1000)].concat();
        let found = TagPlaces::of(&both, 0x400, Some(storage(784, 0, 8)));
        assert_eq!(found.in_program, Some(-784));
        assert_eq!(found.by_library, Some(0x400 + 40 + 32 + 0x1000));
        let other = [note(9, 784, 0), note(2, 784, 8)].concat();
        let found = TagPlaces::of(&other, 0, None);
        assert_eq!(found.by_library, Some(80), "behind one of a later version");
    }

    #[test]
    fn what_cannot_be_has_no_place() {
        let plain = storage(1000, 0x4000, 8);
        let none = |note: &[u8], storage| {
            assert_eq!(TagPlaces::of(note, 0, storage), TagPlaces::default());
        };
        none(b"", Some(plain));
        none(&note(1, 784, 0), None);
        none(&note(1, 64, 0), Some(plain));
        none(&note(2, 64, 0), Some(plain));
        none(&note(1, 784, 737), Some(plain));
        none(&note(1, 784, u64::MAX), Some(plain));
        none(&note(1, 784, 0), Some(storage(1000, 0x4000, 12)));
        none(&note(1, 784, 0)[..30], Some(plain));
    }
}
