//! A heap drawn by hand: a function, what it shares, its scope and its script, as Node.js 20 lays them out, and as 24 does.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::*;
use crate::java::Memory;
use crate::symbols::FoundSymbol;

#[derive(Default)]
struct Drawn(RefCell<BTreeMap<u64, Vec<u8>>>);

impl Memory for Drawn {
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let parts = self.0.borrow();
        let Some((start, part)) = parts.range(..=address).next_back() else {
            return 0;
        };
        let rest = part.get((address - start) as usize..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        count
    }
}

/// The constants of Node.js 20; the second column is what 24 has instead.
const CONSTANTS: [(&str, i32, i32); 46] = [
    ("SmiTag", 0, 0),
    ("SmiTagMask", 1, 1),
    ("SmiShiftSize", 31, 31),
    ("SmiValueShift", 1, 1),
    ("HeapObjectTag", 1, 1),
    ("off_fp_function", -16, -16),
    ("off_fp_context", -8, -8),
    ("off_fp_bytecode_array", -32, -32),
    ("class_Map__instance_type__uint16_t", 12, 12),
    ("class_JSFunction__shared__SharedFunctionInfo", 24, 32),
    ("FirstJSFunctionType", 2066, 2065),
    ("LastJSFunctionType", 2082, 2081),
    ("type_JSFunction__JS_FUNCTION_TYPE", 2066, 2065),
    (
        "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
        262,
        282,
    ),
    (
        "class_SharedFunctionInfo__name_or_scope_info__Object",
        16,
        24,
    ),
    (
        "class_SharedFunctionInfo__script__Tagged_HeapObject_",
        32,
        40,
    ),
    ("type_DebugInfo__DEBUG_INFO_TYPE", 153, 154),
    ("type_BytecodeArray__BYTECODE_ARRAY_TYPE", 191, 186),
    ("type_ScopeInfo__SCOPE_INFO_TYPE", 261, 280),
    ("scopeinfo_idx_ncontextlocals", 2, 2),
    ("scopeinfo_idx_first_vars", 3, 5),
    ("type_Script__SCRIPT_TYPE", 167, 167),
    ("class_Script__name__Object", 16, 16),
    ("class_Script__line_ends__Object", 56, 56),
    ("type_FixedArray__FIXED_ARRAY_TYPE", 175, 205),
    ("class_FixedArrayBase__length__SMI", 8, 8),
    ("class_FixedArray__data__uintptr_t", 16, 16),
    ("IsNotStringMask", -128, -128),
    ("StringRepresentationMask", 7, 7),
    ("StringEncodingMask", 8, 8),
    ("OneByteStringTag", 8, 8),
    ("SeqStringTag", 0, 0),
    ("ConsStringTag", 1, 1),
    ("ExternalStringTag", 2, 2),
    ("SlicedStringTag", 3, 3),
    ("ThinStringTag", 5, 5),
    ("class_String__length__int32_t", 12, 12),
    ("class_SeqOneByteString__chars__char", 16, 16),
    ("class_ConsString__first__String", 16, 16),
    ("class_ConsString__second__String", 24, 24),
    ("class_SlicedString__parent__String", 16, 16),
    ("class_SlicedString__offset__SMI", 24, 24),
    ("class_ThinString__actual__String", 16, 16),
    ("class_ExternalString__resource__Object", 16, 16),
    ("class_Unknown__thing__int", 7, 7),
    ("type_Unknown__UNKNOWN_TYPE", 300, 300),
];

fn places(newer: bool) -> Vec<FoundSymbol> {
    let place = |(name, older, new): &(&str, i32, i32)| {
        let value = if newer { *new } else { *older };
        FoundSymbol {
            name: format!("v8dbg_{name}"),
            start: 0x1000,
            size: 4,
            // Zeros are not in a file.
            bytes: match value {
                0 => Vec::new(),
                value => value.to_le_bytes().to_vec(),
            },
        }
    };
    let mut places: Vec<FoundSymbol> = CONSTANTS.iter().map(place).collect();
    let code = |name: &str, start, size| FoundSymbol {
        name: name.into(),
        start,
        size,
        bytes: Vec::new(),
    };
    places.push(code(INTERPRETER, 0x5000, if newer { 0x200 } else { 0 }));
    places.push(code("Builtins_InterpreterPushArgsThenCall", 0x5400, 0));
    places.push(code("Builtins_InterpreterEnterAtBytecode", 0x4f00, 0));
    places
}

/// A heap, in which places for objects are taken from a common store.
struct Heap {
    memory: Drawn,
    layout: Layout,
    newer: bool,
    /// What is said of scopes.
    flags: u64,
    next: u64,
    maps: BTreeMap<u16, u64>,
}

/// A small number, as it stands in memory.
fn small(number: i32) -> u64 {
    (number as u32 as u64) << 32
}

impl Heap {
    fn new(newer: bool) -> Heap {
        let described = Description::of(&places(newer)).expect("all that is needed");
        Heap {
            memory: Drawn::default(),
            layout: described.layout,
            newer,
            flags: 0x4171e2,
            next: 0x10_0000,
            maps: BTreeMap::new(),
        }
    }

    fn put(&mut self, bytes: Vec<u8>) -> u64 {
        let at = self.next;
        self.next += (bytes.len() as u64 + 0x1fff) & !0xfff;
        self.memory.0.borrow_mut().insert(at, bytes);
        at
    }

    fn map(&mut self, kind: u16) -> u64 {
        if let Some(map) = self.maps.get(&kind) {
            return *map;
        }
        let mut bytes = vec![0; 16];
        bytes[12..14].copy_from_slice(&kind.to_le_bytes());
        let map = self.put(bytes) + 1;
        self.maps.insert(kind, map);
        map
    }

    /// An object of a kind with these words behind its map.
    fn object(&mut self, kind: u16, words: &[u64]) -> u64 {
        let map = self.map(kind);
        let words = [&[map], words].concat();
        self.put(words.iter().flat_map(|word| word.to_le_bytes()).collect()) + 1
    }

    fn string(&mut self, kind: u16, length: usize, rest: &[u8]) -> u64 {
        let map = self.map(kind);
        let head = [map, (length as u64) << 32];
        let head = head.iter().flat_map(|word| word.to_le_bytes());
        let bytes = head.chain(rest.iter().copied()).collect();
        self.put(bytes) + 1
    }

    fn text(&mut self, text: &str) -> u64 {
        self.string(40, text.len(), text.as_bytes())
    }

    fn wide(&mut self, text: &str) -> u64 {
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        self.string(32, units.len(), &bytes)
    }

    /// A string of words: joined, a part of another, and so on.
    fn made(&mut self, kind: u16, length: usize, words: [u64; 2]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.string(kind, length, &bytes)
    }

    fn script(&mut self, name: u64, source: u64, first_line: i32, ends: u64) -> u64 {
        let words = [source, name, small(first_line), 0, 0, 0, ends];
        self.object(self.layout.kinds.script, &words)
    }

    /// A scope of a function with a name, and what stands for one.
    fn scope(&mut self, name: u64, inferred: u64, start: i32) -> u64 {
        self.scope_with((0, &[]), name, inferred, start)
    }

    fn scope_with(&mut self, locals: (i32, &[u64]), name: u64, inferred: u64, start: i32) -> u64 {
        self.scope_at(locals, [name, inferred], (start, start + 10))
    }

    /// A function with this name from one character to another, and what it shares.
    fn placed(&mut self, name: u64, script: u64, place: (i32, i32)) -> (u64, u64) {
        let scope = self.scope_at((0, &[]), [name, 0], place);
        self.function(scope, script)
    }

    fn scope_at(
        &mut self,
        (count, locals): (i32, &[u64]),
        [name, inferred]: [u64; 2],
        (start, end): (i32, i32),
    ) -> u64 {
        let flags = self.flags;
        let place = [small(start), small(end)];
        let head = [
            if self.newer {
                flags
            } else {
                small(flags as i32)
            },
            small(1),
            small(count),
        ];
        let named = [name, small(-1), inferred];
        let words = match self.newer {
            true => [&head[..], &place, locals, &named, &[0; 6]].concat(),
            false => [&head[..], locals, &named, &place, &[0; 4]].concat(),
        };
        self.object(self.layout.kinds.scope, &words)
    }

    /// A function, and what it shares.
    fn function(&mut self, scope: u64, script: u64) -> (u64, u64) {
        let bytecode = self.object(self.layout.kinds.bytecode, &[0]);
        let words = match self.newer {
            true => [bytecode, 0, scope, 0, script, 0],
            false => [bytecode, scope, 0, script, 0, 0],
        };
        let shared = self.object(self.layout.kinds.shared, &words);
        let words = match self.newer {
            true => [0, 0, 0, shared],
            false => [0, 0, shared, 0],
        };
        let kind = *self.layout.kinds.function.start();
        (self.object(kind, &words), shared)
    }

    fn named(&self, function: u64) -> Option<Function> {
        self.named_with(function, &mut Scripts::default())
    }

    fn named_with(&self, function: u64, scripts: &mut Scripts) -> Option<Function> {
        let (memory, layout) = (&self.memory, &self.layout);
        let place = Shared::place(memory, layout, function)?;
        let shared = Shared::read(memory, layout, place)?;
        Function::read(memory, layout, &shared, scripts)
    }

    /// The function `leaf`, which begins at a character of this text.
    fn leaf(&mut self, source: u64, start: i32) -> u64 {
        let (name, file) = (self.text("leaf"), self.text("/a/f.js"));
        let script = self.script(file, source, 0, 0);
        let scope = self.scope(name, 0, start);
        self.function(scope, script).0
    }
}

fn function(name: &str, file: &str, line: u32) -> Option<Function> {
    Some(Function {
        name: name.into(),
        file: file.into(),
        line: Some(line),
    })
}

/// What a file says of itself is enough, whichever version it is; with less, or other words, there is no V8.
#[test]
fn files_tell_their_layout() {
    for newer in [false, true] {
        let all = places(newer);
        let found = Description::of(&all).expect("all that is needed");
        let end = if newer { 0x5200 } else { 0x5400 };
        assert_eq!(found.interpreter, 0x5000..end);
        assert_eq!(found.layout.scope.place, newer.then_some(3));
        for missing in ["class_JSFunction__shared", "type_Script__", INTERPRETER] {
            let mut less = places(newer);
            less.retain(|place| !place.name.contains(missing));
            assert!(Description::of(&less).is_none(), "{missing}");
        }
        let mut older = places(newer);
        older[0].name = "v8dbg_parent_ScopeInfo__FixedArray".into();
        assert!(Description::of(&older).is_none());
        let mut other = places(newer);
        other[2].bytes = 0_i32.to_le_bytes().to_vec();
        assert!(Description::of(&other).is_none(), "compressed words");
    }
    assert!(may_be(Path::new("/usr/lib/libnode.so.108")));
    assert!(may_be(Path::new("/usr/bin/node")));
    assert!(!may_be(Path::new("/usr/bin/node-gyp")));
}

/// A function has its name, its script and the line that it begins in; each of these is read from where the version has it.
#[test]
fn functions_have_names_and_lines() {
    for newer in [false, true] {
        let mut heap = Heap::new(newer);
        let source = heap.text("'use strict';\nfunction leaf() {\n}\n");
        let leaf = heap.leaf(source, 27);
        assert_eq!(heap.named(leaf), function("leaf", "/a/f.js", 2));
        let first = heap.leaf(source, 13);
        assert_eq!(heap.named(first), function("leaf", "/a/f.js", 1));
    }
}

/// Variables stand before the name, each as two words; many have their names in a table.
#[test]
fn variables_are_passed_over() {
    for newer in [false, true] {
        let mut heap = Heap::new(newer);
        let (name, file, source) = (heap.text("f"), heap.text("/f.js"), heap.text("x"));
        let script = heap.script(file, source, 0, 0);
        let table = heap.object(179, &[]);
        let plain = [name, name, small(1), small(2)];
        for (count, locals) in [(2, &plain[..]), (2, &[table, small(1), small(2)])] {
            let scope = heap.scope_with((count, locals), name, 0, 0);
            let (made, _) = heap.function(scope, script);
            assert_eq!(heap.named(made), function("f", "/f.js", 1));
        }
    }
}

/// Older versions have a word before the name where the function uses `this`.
#[test]
fn a_word_for_the_receiver() {
    let mut heap = Heap::new(false);
    let (name, file, source) = (heap.text("f"), heap.text("/f.js"), heap.text("x"));
    let script = heap.script(file, source, 0, 0);
    heap.flags = 0x4170e2;
    for (name, called) in [(name, "f"), (0, "(anonymous)")] {
        for words in [&[][..], &[small(-1)], &[small(4)]] {
            let scope = heap.scope_with((0, words), name, 0, 0);
            let (made, _) = heap.function(scope, script);
            assert_eq!(heap.named(made), function(called, "/f.js", 1));
        }
    }
}

/// Without a name of its own, a function is called after what it was assigned to, or has none.
#[test]
fn names_of_the_nameless() {
    for newer in [false, true] {
        let mut heap = Heap::new(newer);
        let (file, source) = (heap.text("/f.js"), heap.text("x"));
        let (empty, inferred) = (heap.text(""), heap.text("Shape.area"));
        let script = heap.script(file, source, 0, 0);
        for (name, other, called) in [
            (empty, inferred, "Shape.area"),
            (0, inferred, "Shape.area"),
            (0, 0, "(anonymous)"),
            (empty, empty, "(anonymous)"),
        ] {
            let scope = heap.scope(name, other, 0);
            let (made, _) = heap.function(scope, script);
            assert_eq!(heap.named(made), function(called, "/f.js", 1));
        }
    }
}

/// Text is text, in whichever way it is written.
#[test]
fn all_ways_of_writing_strings() {
    let mut heap = Heap::new(false);
    let (one, two) = (heap.text("a\nb"), heap.wide("\u{6f22}\n\u{2028}z"));
    let joined = heap.made(33, 7, [one, two]);
    let sliced = heap.made(35, 3, [joined, small(2)]);
    let thin = heap.made(37, 7, [joined, 0]);
    let bytes = heap.put(b"x\ny\nz".to_vec());
    let external = heap.made(42, 5, [0x1234, bytes]);
    for (string, text) in [
        (one, "a\nb"),
        (two, "\u{6f22}\n\u{2028}z"),
        (joined, "a\nb\u{6f22}\n\u{2028}z"),
        (sliced, "b\u{6f22}\n"),
        (thin, "a\nb\u{6f22}\n\u{2028}z"),
        (external, "x\ny\nz"),
    ] {
        let objects = objects::Objects {
            memory: &heap.memory,
            layout: &heap.layout,
        };
        assert_eq!(objects.text(string, 100).as_deref(), Some(text));
        let cut: String = text.chars().take(2).collect();
        assert_eq!(objects.text(string, 2), Some(cut));
    }
    // One whose text its owner keeps elsewhere, one that is longer than what it is of, and one that is of itself.
    let uncached = heap.made(58, 5, [0x1234, bytes]);
    let longer = heap.made(35, 9, [one, small(1)]);
    let itself = heap.next + 1;
    assert_eq!(heap.made(37, 5, [itself, 0]), itself);
    for string in [uncached, longer, itself, 0, small(7)] {
        let objects = objects::Objects {
            memory: &heap.memory,
            layout: &heap.layout,
        };
        assert_eq!(objects.text(string, 100), None);
    }
}

/// A line ends as in the language: a carriage return and a line feed are one end, other separators count too.
#[test]
fn lines_end_as_in_the_language() {
    let mut heap = Heap::new(false);
    let text = "a\r\nb\rc\n\u{2028}d";
    let source = heap.wide(text);
    for (start, line) in [(0, 1), (2, 1), (3, 2), (5, 3), (7, 4), (8, 5)] {
        let leaf = heap.leaf(source, start);
        let found = heap.named(leaf).and_then(|found| found.line);
        assert_eq!(found, Some(line), "{start}");
    }
    // V8 has counted already, and the script begins further down in its file.
    let kind = heap.layout.kinds.array;
    let ends = heap.object(kind, &[small(2), small(3), small(9)]);
    let (name, file) = (heap.text("f"), heap.text("/f.js"));
    let script = heap.script(file, source, 100, ends);
    let scope = heap.scope(name, 0, 5);
    let (made, _) = heap.function(scope, script);
    assert_eq!(heap.named(made), function("f", "/f.js", 102));
}

/// A function that was moved a moment ago is found where it is now; what is no function has no name.
#[test]
fn what_is_no_function() {
    let mut heap = Heap::new(true);
    let source = heap.text("x");
    let leaf = heap.leaf(source, 0);
    let moved = heap.put((leaf - 1).to_le_bytes().to_vec()) + 1;
    assert_eq!(heap.named(moved), function("leaf", "/a/f.js", 1));
    let (name, file) = (heap.text("f"), heap.text("/f.js"));
    let script = heap.script(file, source, 0, 0);
    let scope = heap.scope(name, 0, 0);
    let backwards = heap.scope(name, 0, 0);
    let place = heap.layout.scope.place.expect("before the locals");
    let parts = &heap.memory.0;
    parts.borrow_mut().entry(backwards - 1).and_modify(|bytes| {
        let at = 8 + 8 * place as usize;
        bytes[at..at + 8].copy_from_slice(&small(50).to_le_bytes());
    });
    for (scope, script) in [
        (scope, scope),
        (script, script),
        (name, script),
        (scope, 0),
        (backwards, script),
    ] {
        let (made, _) = heap.function(scope, script);
        assert_eq!(heap.named(made), None);
    }
    for word in [
        0,
        small(3),
        script,
        name,
        leaf + 8,
        leaf - 1,
        u64::MAX,
        0x7fff_ffff_fffd,
    ] {
        assert_eq!(heap.named(word), None, "{word:x}");
    }
}

/// Where a function calls another one, if it does so once; what functions before and behind it call is theirs.
#[test]
fn lines_of_calls() {
    for newer in [false, true] {
        let mut heap = Heap::new(newer);
        let text = "leaf(0);\nfunction f() {\n  one();\n  two();\n  two();\n}\nleaf(1);\none();\n";
        let source = heap.text(text);
        let (name, file) = (heap.text("f"), heap.text("/f.js"));
        let script = heap.script(file, source, 0, 0);
        let (start, end) = (text.find("() {"), text.find("}\nleaf"));
        let place = (
            start.expect("parameters") as i32,
            end.expect("its end") as i32 + 1,
        );
        let (_, shared) = heap.placed(name, script, place);
        let (_, whole) = heap.placed(name, script, (0, text.len() as i32));
        let line = |shared: u64, callee: &str| {
            let (memory, layout) = (&heap.memory, &heap.layout);
            let shared = Shared::read(memory, layout, shared)?;
            Function::line_of_call(memory, layout, &shared, &mut Scripts::default(), callee)
        };
        assert_eq!(line(shared, "one"), Some(3));
        assert_eq!(line(shared, "Other.one"), Some(3));
        assert_eq!(line(shared, "two"), None);
        assert_eq!(line(shared, "leaf"), None);
        assert_eq!(line(whole, "one"), Some(8));
        assert_eq!(line(whole, "leaf"), None);
    }
}

/// A script is read once, and again when it is another.
#[test]
fn scripts_are_remembered() {
    let mut heap = Heap::new(false);
    let source = heap.text("a\nb");
    let leaf = heap.leaf(source, 2);
    let mut scripts = Scripts::default();
    for _ in 0..3 {
        let found = heap.named_with(leaf, &mut scripts);
        assert_eq!(found, function("leaf", "/a/f.js", 2));
    }
    assert_eq!((scripts.take_read(), scripts.take_read()), (1, 0));
}

/// Memory of nonsense gives no name, and ends.
#[test]
fn nonsense_has_no_name() {
    let heap = Heap::new(true);
    let mut random = fastrand::Rng::with_seed(7);
    let mut next = || u64::from(random.u32(..));
    for _ in 0..200 {
        // Words that lead to each other.
        let words = (0..512).map(|_| match next() % 4 {
            0 => next() << 32,
            _ => 0x1000 + (next() % 4096) / 8 * 8 + 1,
        });
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        heap.memory.0.borrow_mut().insert(0x1000, bytes);
        for at in 0..512 {
            let _ = heap.named(0x1000 + 8 * at + 1);
        }
    }
}
