//! What the ring's room held before: nothing of it gets into a spool.

use super::{events, head};

/// Makes zero what was never set of an event. The ring does not clear the room that it gives: what is there can be of
/// anybody's stack or arguments, and is nobody's business in a spool.
pub fn clear_leftovers(event: &mut [u8]) {
    macro_rules! at {
        ($event:ident, $field:ident) => {
            std::mem::offset_of!(events::$event, $field)
        };
    }
    let Some(head) = head(event) else {
        return;
    };
    match u32::from(head.kind) {
        events::TS_EXEC => {
            let (name, from) = (at!(ts_exec, executable), at!(ts_exec, arguments));
            clear_text(event, name, from);
            let length = count(event, at!(ts_exec, arguments_length));
            clear(event, from.saturating_add(length), usize::MAX);
        }
        events::TS_LOOKUP => clear_text(event, at!(ts_lookup, path), usize::MAX),
        events::TS_OBJECT => {
            let length = count(event, at!(ts_object, path_length));
            clear(
                event,
                at!(ts_object, path).saturating_add(length),
                usize::MAX,
            );
        }
        events::TS_WAIT => {
            let (frames, name) = (at!(ts_wait, frame), at!(ts_wait, waker_name));
            let set = count(event, at!(ts_wait, frames)).saturating_mul(size_of::<u64>());
            clear(event, frames.saturating_add(set), name);
            clear_text(event, name, usize::MAX);
        }
        // Behind the last processor that there is, the kernel's own masks hold what was there before.
        events::TS_END => {
            let allowed = count(event, at!(ts_end, allowed_count));
            let words = event.get_mut(at!(ts_end, allowed)..);
            keep_first_bits(words.unwrap_or_default(), allowed);
        }
        events::TS_CALLS => {
            let set = count(event, at!(ts_calls, count));
            let set = set.saturating_mul(size_of::<events::ts_call>());
            clear(event, at!(ts_calls, call).saturating_add(set), usize::MAX);
        }
        _ => {}
    }
}

/// Makes zero all bits of these words but so many that are set, the lowest first.
fn keep_first_bits(words: &mut [u8], mut left: usize) {
    // x86 has the lowest bits of a word in its first byte.
    for byte in words {
        for bit in 0..u8::BITS {
            let one = *byte & 1 << bit;
            match left {
                0 => *byte &= !one,
                _ => left -= usize::from(one != 0),
            }
        }
    }
}

fn count(event: &[u8], at: usize) -> usize {
    let bytes = event
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, |bytes| u32::from_ne_bytes(bytes) as usize)
}

/// From one place up to another, or to the end.
fn clear(event: &mut [u8], from: usize, to: usize) {
    let to = to.min(event.len());
    if let Some(rest) = event.get_mut(from..to) {
        rest.fill(0);
    }
}

/// What lies behind the end of a text.
fn clear_text(event: &mut [u8], from: usize, to: usize) {
    let to = to.min(event.len());
    let end = event
        .get(from..to)
        .and_then(|text| text.iter().position(|&byte| byte == 0));
    if let Some(end) = end {
        clear(event, from + end, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::{decode, Event};
    use zerocopy::{FromBytes, IntoBytes};

    /// What a thread may use was told with bits of the kernel's stack behind it: pointers, in a recording that anybody may read.
    #[test]
    fn no_more_processors_than_there_are() {
        let mut end = events::ts_end {
            allowed_count: 3,
            ..Default::default()
        };
        end.head.kind = events::TS_END as u8;
        end.allowed[..3].copy_from_slice(&[0b101, 1 << 63 | 1 << 40, u64::MAX]);
        let mut bytes = end.as_bytes().to_vec();
        clear_leftovers(&mut bytes);
        let Some(Event::End(end)) = decode(&bytes) else {
            panic!("it is an end");
        };
        assert_eq!(end.allowed[..4], [0b101, 1 << 40, 0, 0]);
    }

    /// What an event's room held before is gone when it is kept, whatever it says of its lengths; what was set stays.
    #[test]
    fn leftovers_are_cleared() {
        fn told<T: FromBytes>(kind: u32, counts: &[(usize, u32)], texts: &[usize]) -> Vec<u8> {
            let mut bytes = vec![b'x'; std::mem::size_of::<T>()];
            let at = std::mem::offset_of!(events::ts_head, kind);
            bytes[at..at + 2].copy_from_slice(&(kind as u16).to_ne_bytes()[..2]);
            for (at, count) in counts {
                bytes[*at..at + 4].copy_from_slice(&count.to_ne_bytes());
            }
            texts.iter().for_each(|at| bytes[*at] = 0);
            clear_leftovers(&mut bytes);
            bytes
        }
        macro_rules! at {
            ($event:ident, $field:ident) => {
                std::mem::offset_of!(events::$event, $field)
            };
        }
        let (name, from) = (at!(ts_exec, executable), at!(ts_exec, arguments));
        let length = at!(ts_exec, arguments_length);
        let exec = told::<events::ts_exec>(events::TS_EXEC, &[(length, 3)], &[name + 2]);
        assert_eq!(&exec[name..name + 4], b"xx\0\0");
        assert_eq!(&exec[from..from + 4], b"xxx\0");
        assert!(exec[from + 3..].iter().all(|&byte| byte == 0));
        let path = at!(ts_lookup, path);
        let lookup = told::<events::ts_lookup>(events::TS_LOOKUP, &[], &[path + 3]);
        assert_eq!(&lookup[path..path + 5], b"xxx\0\0");
        let (count, frame) = (at!(ts_wait, frames), at!(ts_wait, frame));
        let wait = told::<events::ts_wait>(events::TS_WAIT, &[(count, 1)], &[]);
        assert_eq!(&wait[frame..frame + 16], b"xxxxxxxx\0\0\0\0\0\0\0\0");
        assert!(wait.ends_with(b"xxxxxxxxxxxxxxxx"), "the waker's name");
        let (count, call) = (at!(ts_calls, count), at!(ts_calls, call));
        let calls = told::<events::ts_calls>(events::TS_CALLS, &[(count, 1)], &[]);
        let set = call + std::mem::size_of::<events::ts_call>();
        assert!(calls[call..set].iter().all(|&byte| byte == b'x'));
        assert!(calls[set..].iter().all(|&byte| byte == 0));
        let impossible = told::<events::ts_calls>(events::TS_CALLS, &[(count, u32::MAX)], &[]);
        assert_eq!(impossible.len(), calls.len());
        let (count, path) = (at!(ts_object, path_length), at!(ts_object, path));
        let object = told::<events::ts_object>(events::TS_OBJECT, &[(count, 2)], &[]);
        assert_eq!(&object[path..path + 4], b"xx\0\0");
        clear_leftovers(&mut []);
    }
}
