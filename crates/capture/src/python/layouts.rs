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
        interpreters: 40,
        cframe: 56,
        code_file: 112,
        code_name: 128,
        code_table: 136,
        frame_at: 56,
        ..common(version)
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
            code_first_line: 72,
            code_start: 184,
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
        0x30d => described(version, runtime)?,
        _ => return None,
    })
}

/// What stands at the beginning of `_PyRuntime` since 3.13: `_Py_DebugOffsets`, numbers of 8 bytes each.
/// Python without its global lock is another one, and is left alone.
fn described(version: u32, runtime: &[u8]) -> Option<ts_python> {
    if !runtime.starts_with(b"xdebugpy") {
        return None;
    }
    let number = |index: usize| {
        let bytes = runtime.get(8 * index..8 * index + 8)?;
        let number = u64::from_le_bytes(bytes.try_into().ok()?);
        u32::try_from(number).ok().filter(|n| *n < 1 << 20)
    };
    if number(2)? != 0 {
        return None;
    }
    let text_ascii = number(70)?;
    Some(ts_python {
        version,
        kind: events::TS_PYTHON_SHIMS,
        interpreters: number(5)?,
        interpreter_next: number(8)?,
        threads: number(9)?,
        thread_next: number(21)?,
        current_frame: number(23)?,
        thread_id: number(24)?,
        frame_previous: number(29)?,
        frame_code: number(30)?,
        frame_at: number(31)?,
        frame_entry: number(33)?,
        code_file: number(35)?,
        code_name: number(37)?,
        code_table: number(38)?,
        code_first_line: number(39)?,
        code_start: number(43)?,
        bytes_length: number(65)?,
        bytes_start: number(66)?,
        text_state: number(68)?,
        text_length: number(69)?,
        text_ascii,
        text_wide: text_ascii + 16,
        ..ts_python::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `_Py_DebugOffsets` of 3.13.0, as its `_PyRuntime` has it, number by number.
    const DESCRIBED: &[u64] = &[
        0x30d00f0, 0, 283320, 608, 632, 194968, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752,
        0, 7768, 7760, 304, 0, 8, 16, 72, 152, 160, 232, 32, 80, 8, 0, 56, 72, 70, 208, 112, 120,
        128, 136, 68, 52, 96, 104, 200, 16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24, 16, 48, 32,
        40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40,
    ];

    fn bytes() -> Vec<u8> {
        let numbers = DESCRIBED.iter().flat_map(|n| n.to_le_bytes());
        b"xdebugpy".iter().copied().chain(numbers).collect()
    }

    /// What 3.13 says of itself is what its headers say.
    #[test]
    fn the_description_is_read() {
        let layout = of(0x30d, &bytes()).expect("3.13");
        let thread = (layout.threads, layout.thread_next, layout.thread_id);
        assert_eq!(thread, (7344, 8, 152));
        assert_eq!((layout.interpreters, layout.interpreter_next), (632, 7264));
        assert_eq!((layout.cframe, layout.current_frame), (0, 72));
        let frame = (layout.frame_code, layout.frame_previous, layout.frame_at);
        assert_eq!((frame, layout.frame_entry), ((0, 8, 56), 70));
        let code = (layout.code_file, layout.code_name, layout.code_table);
        assert_eq!((code, layout.code_first_line), ((112, 128, 136), 68));
        assert_eq!(layout.code_start, 200);
        let text = (layout.text_length, layout.text_state, layout.text_ascii);
        assert_eq!((text, layout.text_wide), ((16, 32, 40), 56));
        assert_eq!((layout.bytes_length, layout.bytes_start), (16, 32));
    }

    /// A description that is cut short, or speaks of places that cannot be, is none.
    #[test]
    fn false_descriptions() {
        let whole = bytes();
        assert!((0..71 * 8).all(|cut| of(0x30d, &whole[..cut]).is_none()));
        let mut huge = whole.clone();
        huge[8 * 9 + 7] = 1;
        assert!(of(0x30d, &huge).is_none());
        let mut free = whole;
        free[16] = 1;
        assert!(of(0x30d, &free).is_none());
    }

    /// Versions that nobody has looked at are not guessed.
    #[test]
    fn unknown_versions() {
        assert!([0x207, 0x306, 0x307, 0x30e, 0x400]
            .iter()
            .all(|v| of(*v, &bytes()).is_none()));
        assert!((0x308..0x30d).all(|v| of(v, &[]).is_some()));
    }
}
