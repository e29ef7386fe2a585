//! Where CPython keeps what, version by version: from the headers of each, and since 3.13 from what the
//! interpreter says of itself. Pure.

use crate::probes::events::{self, ts_python};

/// What has been the same since 3.8.
fn common(version: u32) -> ts_python {
    ts_python {
        version,
        thread_next: 8,
        text_length: 16,
        text_state: 32,
        text_ascii: 48,
        text_wide: 72,
        bytes_length: 16,
        bytes_start: 32,
        ..ts_python::default()
    }
}

/// Frames that are objects, each with a call of the interpreter.
fn with_objects(version: u32) -> ts_python {
    ts_python {
        kind: events::TS_PYTHON_OBJECTS,
        interpreters: 32,
        threads: 8,
        thread_id: 176,
        current_frame: 24,
        frame_previous: 24,
        frame_code: 32,
        frame_at: 104,
        code_first_line: 40,
        code_file: 104,
        code_name: 112,
        code_table: 120,
        ..common(version)
    }
}

fn since_3_11(version: u32) -> ts_python {
    ts_python {
        frame_owner: 70,
        frame_locals: 72,
        frame_stack: 64,
        interpreters: 40,
        cframe: 56,
        code_file: 112,
        code_name: 128,
        code_table: 136,
        frame_at: 56,
        ..with_coroutines(common(version))
    }
}

/// Where generators and coroutines have their frames and how they are.
fn with_coroutines(layout: ts_python) -> ts_python {
    ts_python {
        generator_frame: 72,
        generator_state: 67,
        ..layout
    }
}

/// The layout of a version; `runtime` is how its `_PyRuntime` begins.
pub fn of(version: u32, runtime: &[u8]) -> Option<ts_python> {
    Some(match version {
        0x308 | 0x309 => with_objects(version),
        0x30a => ts_python {
            frame_at: 96,
            at_shift: 1,
            ..with_objects(version)
        },
        0x30b => ts_python {
            kind: events::TS_PYTHON_ENTRIES,
            threads: 16,
            thread_id: 152,
            current_frame: 8,
            frame_code: 32,
            frame_previous: 48,
            frame_entry: 68,
            frame_owner: 69,
            code_first_line: 72,
            code_start: 184,
            generator_frame: 80,
            generator_state: 75,
            ..since_3_11(version)
        },
        0x30c => ts_python {
            kind: events::TS_PYTHON_SHIMS,
            threads: 72,
            thread_id: 136,
            current_frame: 0,
            frame_code: 0,
            frame_previous: 8,
            frame_entry: 70,
            code_first_line: 68,
            code_start: 192,
            text_ascii: 40,
            text_wide: 56,
            ..since_3_11(version)
        },
        0x30d => described(version, &SINCE_3_13, runtime)?,
        0x30e => described(version, &SINCE_3_14, runtime)?,
        _ => return None,
    })
}

/// Where the parts begin of what stands at the beginning of `_PyRuntime` since 3.13: `_Py_DebugOffsets`, numbers of
/// 8 bytes each. They are counted from 0, with the mark `xdebugpy` as the first.
struct Description {
    interpreter: usize,
    thread: usize,
    frame: usize,
    code: usize,
    object: usize,
    bytes: usize,
    text: usize,
    /// Of a frame, where its stack is; 0: it says how many values are on it.
    stack: usize,
}
const SINCE_3_13: Description = Description {
    interpreter: 6,
    thread: 19,
    frame: 28,
    code: 34,
    object: 44,
    bytes: 64,
    text: 67,
    stack: 0,
};
const SINCE_3_14: Description = Description {
    interpreter: 6,
    thread: 22,
    frame: 31,
    code: 39,
    object: 50,
    bytes: 74,
    text: 77,
    stack: 6,
};

/// What the interpreter says of itself. Python without its global lock is another one, and is left alone;
/// so is one whose description is arranged in another way, as in versions before the first release.
fn described(version: u32, parts: &Description, runtime: &[u8]) -> Option<ts_python> {
    if !runtime.starts_with(b"xdebugpy") {
        return None;
    }
    let word = |index: usize| {
        let bytes = runtime.get(8 * index..8 * index + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let number = |index: usize| u32::try_from(word(index)?).ok().filter(|n| *n < 1 << 20);
    let without_lock = number(2)? != 0;
    // Of each object the first member is the count of references.
    let arranged = number(parts.object)? == 16 && number(parts.object + 1)? == 8;
    if word(1)? >> 16 != u64::from(version) || without_lock || !arranged {
        return None;
    }
    let text_ascii = number(parts.text + 3)?;
    let says_where = parts.stack > 0;
    let frame_stack = match parts.stack {
        0 => 64,
        stack => number(parts.frame + stack)?,
    };
    Some(with_coroutines(ts_python {
        version,
        kind: events::TS_PYTHON_SHIMS,
        interpreters: number(5)?,
        interpreter_next: number(parts.interpreter + 2)?,
        threads: number(parts.interpreter + 3)?,
        thread_next: number(parts.thread + 2)?,
        current_frame: number(parts.thread + 4)?,
        thread_id: number(parts.thread + 5)?,
        frame_previous: number(parts.frame + 1)?,
        frame_code: number(parts.frame + 2)?,
        frame_at: number(parts.frame + 3)?,
        frame_entry: number(parts.frame + 5)?,
        frame_owner: number(parts.frame + 5)?,
        frame_locals: number(parts.frame + 4)?,
        frame_stack,
        stack_pointer: says_where.into(),
        code_file: number(parts.code + 1)?,
        code_name: number(parts.code + 3)?,
        code_table: number(parts.code + 4)?,
        code_first_line: number(parts.code + 5)?,
        code_start: number(parts.code + 9)?,
        bytes_length: number(parts.bytes + 1)?,
        bytes_start: number(parts.bytes + 2)?,
        text_state: number(parts.text + 1)?,
        text_length: number(parts.text + 2)?,
        text_ascii,
        text_wide: text_ascii + 16,
        ..ts_python::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `_Py_DebugOffsets` of 3.13.0, as its `_PyRuntime` has it, number by number.
    const OF_3_13: &[u64] = &[
        0x30d00f0, 0, 283320, 608, 632, 194968, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752,
        0, 7768, 7760, 304, 0, 8, 16, 72, 152, 160, 232, 32, 80, 8, 0, 56, 72, 70, 208, 112, 120,
        128, 136, 68, 52, 96, 104, 200, 16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24, 16, 48, 32,
        40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40,
    ];
    /// The same of 3.14.3.
    const OF_3_14: &[u64] = &[
        0x30e03f0, 0, 316576, 784, 808, 225824, 7280, 7272, 7344, 7360, 7408, 7664, 7648, 7656, 16,
        7760, 0, 7776, 7768, 7968, 0, 824, 0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 74,
        64, 0, 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 416, 24, 88, 168, 40, 32,
        16, 40, 24, 16, 200, 24, 40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16,
        40,
    ];

    fn bytes(numbers: &[u64]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|n| n.to_le_bytes());
        b"xdebugpy".iter().copied().chain(numbers).collect()
    }

    fn read(version: u32, numbers: &[u64]) -> String {
        format!("{:?}", of(version, &bytes(numbers)).expect("a layout"))
    }

    /// What both of those that describe themselves have in the same places.
    fn expected(version: u32) -> ts_python {
        ts_python {
            version,
            kind: events::TS_PYTHON_SHIMS,
            threads: 7344,
            thread_next: 8,
            current_frame: 72,
            thread_id: 152,
            frame_previous: 8,
            frame_at: 56,
            code_file: 112,
            code_name: 128,
            code_table: 136,
            code_first_line: 68,
            bytes_length: 16,
            bytes_start: 32,
            text_state: 32,
            text_length: 16,
            text_ascii: 40,
            text_wide: 56,
            frame_stack: 64,
            ..with_coroutines(ts_python::default())
        }
    }

    /// What 3.13 and 3.14 say of themselves is what their headers say.
    #[test]
    fn descriptions_are_read() {
        let of_3_13 = ts_python {
            interpreters: 632,
            interpreter_next: 7264,
            frame_entry: 70,
            frame_owner: 70,
            frame_locals: 72,
            code_start: 200,
            ..expected(0x30d)
        };
        assert_eq!(read(0x30d, OF_3_13), format!("{of_3_13:?}"));
        let of_3_14 = ts_python {
            interpreters: 808,
            interpreter_next: 7272,
            frame_entry: 74,
            frame_owner: 74,
            frame_locals: 80,
            stack_pointer: 1,
            code_start: 208,
            ..expected(0x30e)
        };
        assert_eq!(read(0x30e, OF_3_14), format!("{of_3_14:?}"));
    }

    /// A description that is cut short, of another version, or speaks of places that cannot be, is none.
    #[test]
    fn false_descriptions() {
        for (version, numbers) in [(0x30d, OF_3_13), (0x30e, OF_3_14)] {
            let whole = bytes(numbers);
            assert!((0..whole.len()).all(|cut| of(version, &whole[..cut]).is_none()));
            let mut huge = whole.clone();
            huge[8 * 9 + 7] = 1;
            assert!(of(version, &huge).is_none());
            let mut free = whole.clone();
            free[16] = 1;
            assert!(of(version, &free).is_none());
            // One number more or less, as while a version was being made.
            for moved in [&numbers[..20], &numbers[..22]] {
                let moved = [moved, &numbers[21..]].concat();
                assert!(of(version, &bytes(&moved)).is_none());
            }
        }
        assert!(of(0x30e, &bytes(OF_3_13)).is_none());
        assert!(of(0x30d, &bytes(OF_3_14)).is_none());
    }

    /// Versions that nobody has looked at are not guessed.
    #[test]
    fn unknown_versions() {
        let unknown = [0x207, 0x306, 0x307, 0x30f, 0x400];
        assert!(unknown.iter().all(|v| of(*v, &bytes(OF_3_14)).is_none()));
        assert!((0x308..0x30d).all(|v| of(v, &[]).is_some()));
    }
}
