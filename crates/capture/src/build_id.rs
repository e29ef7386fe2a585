//! The build id among the notes of an ELF file.

const NT_GNU_BUILD_ID: u32 = 3;
/// Longer ones are no build ids.
const LONGEST: usize = 64;

/// The first build id among some notes.
pub fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let half = |at: usize| {
            let bytes = notes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (name_size, size) = (half(0)?, half(4)?);
        let name_end = 12usize.checked_add(usize::try_from(name_size).ok()?)?;
        let at = name_end.checked_next_multiple_of(4)?;
        let end = at.checked_add(usize::try_from(size).ok()?)?;
        let (name, id) = (notes.get(12..name_end)?, notes.get(at..end)?);
        if half(8)? == NT_GNU_BUILD_ID && name == b"GNU\0" && (1..=LONGEST).contains(&id.len()) {
            return Some(id);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build id is found behind other notes, and nonsense is none.
    #[test]
    fn notes() {
        let note = |kind: u32, name: &[u8], content: &[u8]| {
            let sizes = [name.len() as u32, content.len() as u32, kind].map(u32::to_le_bytes);
            [&sizes.concat()[..], name, content].concat()
        };
        let notes = [note(5, b"GNU\0", &[0; 16]), note(3, b"GNU\0", &[7; 20])].concat();
        assert_eq!(build_id(&notes), Some(&[7; 20][..]));
        assert_eq!(build_id(&notes[..notes.len() - 1]), None);
        assert_eq!(build_id(&[0xff; 64]), None);
        assert_eq!(build_id(&note(3, b"GNU\0", &[])), None);
        assert_eq!(build_id(&note(3, b"GNU\0", &[7; 65])), None);
    }
}
