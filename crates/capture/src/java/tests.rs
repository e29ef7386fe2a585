//! A virtual machine drawn by hand: tables that describe it, one class with two methods, and its interpreter.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::*;
use crate::symbols::FoundSymbol;

/// Memory, and how often it was read.
#[derive(Default)]
struct Drawn {
    parts: RefCell<BTreeMap<u64, Vec<u8>>>,
    reads: Cell<u64>,
}

impl Memory for Drawn {
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        self.reads.set(self.reads.get() + 1);
        let parts = self.parts.borrow();
        let Some((start, part)) = parts.range(..=address).next_back() else {
            return 0;
        };
        let rest = part.get((address - start) as usize..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        count
    }
}

impl Drawn {
    fn put(&self, address: u64, bytes: &[u8]) {
        self.parts.borrow_mut().insert(address, bytes.to_vec());
    }

    fn words(&self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes);
    }

    fn symbol(&self, address: u64, text: &str) {
        let length = (text.len() as u16).to_le_bytes();
        self.put(address, &[&length, text.as_bytes()].concat());
    }
}

/// By how much the file is moved.
const MOVED: u64 = 0x7000_0000;
const CLASS: u64 = 0x1000;
const POOL: u64 = 0x2000;
const CONSTANT: u64 = 0x3000;
const METHOD: u64 = 0x4000;
const OTHER: u64 = 0x4100;
const LIST: u64 = 0x5000;
const QUEUE: u64 = 0x6000;
const CODE: u64 = 0x6100;
const HEAPS: u64 = 0x7000;
const SEGMENTS: u64 = 0x7800;
const HEAP: u64 = 0x40_0000;
const VERSION: u64 = 0xa000;
const OPTIONS: u64 = 0xa100;
/// Whether compiled code describes every place.
const EXACT: u64 = 0xa200;
const DATA: u64 = 0xa300;

const FIELDS: [(&str, &str); 41] = [
    ("Method", "_constMethod"),
    ("ConstMethod", "_constants"),
    ("ConstMethod", "_name_index"),
    ("ConstantPool", "_source_file_name_index"),
    ("ConstantPool", "_pool_holder"),
    ("Klass", "_name"),
    ("InstanceKlass", "_methods"),
    ("Array<int>", "_length"),
    ("Array<Method*>", "_data"),
    ("Symbol", "_length"),
    ("Symbol", "_body"),
    ("AbstractInterpreter", "_code"),
    ("StubQueue", "_stub_buffer"),
    ("StubQueue", "_buffer_limit"),
    ("CodeCache", "_heaps"),
    ("GrowableArrayBase", "_len"),
    ("GrowableArray<int>", "_data"),
    ("CodeHeap", "_memory"),
    ("CodeHeap", "_segmap"),
    ("CodeHeap", "_log2_segment_size"),
    ("VirtualSpace", "_low"),
    ("VirtualSpace", "_high_boundary"),
    ("HeapBlock::Header", "_length"),
    ("HeapBlock::Header", "_used"),
    ("CodeBlob", "_name"),
    ("nmethod", "_method"),
    ("nmethod", "_compile_id"),
    ("ConstMethod", "_flags"),
    ("ConstMethod", "_code_size"),
    ("CodeBlob", "_code_begin"),
    ("nmethod", "_scopes_pcs_offset"),
    ("nmethod", "_dependencies_offset"),
    ("CompiledMethod", "_scopes_data_begin"),
    ("nmethod", "_metadata_offset"),
    ("PcDesc", "_pc_offset"),
    ("PcDesc", "_scope_decode_offset"),
    ("Abstract_VM_Version", "_vm_major_version"),
    ("JVMFlag", "_name"),
    ("JVMFlag", "_addr"),
    ("JVMFlag", "flags"),
    ("JVMFlag", "numFlags"),
];

/// Offsets that are like no real machine's.
fn offset(kind: &str, field: &str) -> u64 {
    match (kind, field) {
        ("ConstMethod", "_constants") => 16,
        ("ConstMethod", "_name_index") => 24,
        ("ConstantPool", "_pool_holder") => 8,
        ("ConstantPool", "_source_file_name_index") => 2,
        ("Klass", "_name") => 32,
        ("InstanceKlass", "_methods") => 40,
        ("Array<Method*>", "_data") => 8,
        ("Symbol", "_body") => 2,
        ("StubQueue", "_buffer_limit") => 8,
        ("Method", "_constMethod") => 8,
        ("GrowableArray<int>", "_data") => 8,
        ("CodeHeap", "_segmap") => 16,
        ("CodeHeap", "_log2_segment_size") => 32,
        ("VirtualSpace", "_high_boundary") => 8,
        ("HeapBlock::Header", "_used") => 4,
        ("nmethod", "_method") => 16,
        ("nmethod", "_compile_id") => 8,
        ("ConstMethod", "_flags") => 28,
        ("ConstMethod", "_code_size") => 30,
        ("CodeBlob", "_code_begin") => 0x100,
        ("nmethod", "_scopes_pcs_offset") => 0x108,
        ("nmethod", "_dependencies_offset") => 0x10c,
        ("CompiledMethod", "_scopes_data_begin") => 0x110,
        ("nmethod", "_metadata_offset") => 0x118,
        ("PcDesc", "_scope_decode_offset") => 4,
        ("JVMFlag", "_addr") => 8,
        _ => 0,
    }
}

/// Where that is of which there is only one.
fn address(kind: &str, field: &str) -> u64 {
    match (kind, field) {
        ("CodeCache", _) => HEAPS,
        ("Abstract_VM_Version", _) => VERSION,
        ("JVMFlag", "flags") => OPTIONS,
        ("JVMFlag", "numFlags") => OPTIONS + 8,
        _ => CODE,
    }
}

const POOL_SIZE: u64 = 48;
const CONSTANT_SIZE: u64 = 32;

fn draw_class(memory: &Drawn) {
    // Constants: nothing, two names, the source.
    memory.words(
        POOL,
        &[3 << 16, CLASS, 0, 0, 0, 0, 0, 0x8100, 0x8200, 0x8300],
    );
    // It has lines, and ten bytes of code, behind which they stand.
    memory.words(CONSTANT, &[0, 0, POOL, 1 | 1 << 32 | 10 << 48]);
    let lines = [7, 5 << 3 | 2, 0xff, 2, 200, 0, 0];
    memory.put(CONSTANT + CONSTANT_SIZE + 10, &lines);
    memory.words(CONSTANT + 0x100, &[0, 0, POOL, 2]);
    memory.words(METHOD, &[0, CONSTANT]);
    memory.words(OTHER, &[0, CONSTANT + 0x100]);
    memory.words(CLASS, &[0, 0, 0, 0, 0x8000, LIST]);
    memory.words(LIST, &[2, METHOD, OTHER]);
    memory.symbol(0x8000, "com/x/Y");
    memory.symbol(0x8100, "get");
    memory.symbol(0x8200, "<init>");
    memory.symbol(0x8300, "Y.java");
}

/// What the compiled method says of itself: a call that returns to its ninth byte is of another one, inlined there.
fn draw_scopes(memory: &Drawn) {
    let (places, methods) = (0x200, 0x300);
    let head = HEAP + 0x18;
    memory.words(
        head + 0x100,
        &[HEAP + 0x20, (places + 64) << 32 | places, DATA, methods],
    );
    let place = |offset: i32, data: u64| [data << 32 | u64::from(offset as u32), 0];
    let each = [place(-1, 0), place(8, 4), place(16, 1), place(i32::MAX, 0)];
    memory.words(head + places, &each.concat());
    // Whose caller, which method, how far: in the one that was compiled, and in the one that became part of it.
    memory.put(DATA, &[0, 0, 1, 6, 1, 2, 4]);
    memory.words(head + methods, &[METHOD, OTHER]);
}

fn draw_options(memory: &Drawn, other: u64, option: u64) {
    memory.words(OPTIONS, &[OPTIONS + 0x10, 2]);
    memory.words(OPTIONS + 0x10, &[other, 9, option, EXACT]);
    memory.words(EXACT, &[0]);
    memory.words(VERSION, &[17]);
}

fn draw_heap(memory: &Drawn, method: u64, stub: u64) {
    // One heap of segments of 16 bytes: nothing, a block of three segments, one of the machine's own, nothing.
    memory.words(HEAPS, &[HEAPS + 0x10]);
    memory.words(HEAPS + 0x10, &[1, HEAPS + 0x20]);
    memory.words(HEAPS + 0x20, &[HEAPS + 0x30]);
    memory.words(HEAPS + 0x30, &[HEAP, HEAP + 0x1000, SEGMENTS, 0, 4]);
    memory.put(SEGMENTS, &[0xff, 0, 1, 1, 0, 1, 0xff, 0xff]);
    memory.words(HEAP + 0x10, &[1 << 32 | 3, method, 0, METHOD]);
    memory.words(HEAP + 0x40, &[1 << 32 | 2, stub, 0, METHOD]);
}

fn machine() -> (Drawn, Description) {
    let memory = Drawn::default();
    let mut places = Vec::new();
    let mut variable = |name: &str, value: u64| {
        let start = 0x100 + 16 * places.len() as u64;
        memory.words(start + MOVED, &[value]);
        places.push(FoundSymbol {
            name: name.into(),
            start,
            size: 8,
            bytes: Vec::new(),
        });
    };
    let (structs, types) = (0x10_0000, 0x20_0000);
    for (name, value) in [
        ("gHotSpotVMStructs", structs),
        ("gHotSpotVMStructEntryArrayStride", 40),
        ("gHotSpotVMStructEntryTypeNameOffset", 0),
        ("gHotSpotVMStructEntryFieldNameOffset", 8),
        ("gHotSpotVMStructEntryOffsetOffset", 16),
        ("gHotSpotVMStructEntryAddressOffset", 24),
        ("gHotSpotVMTypes", types),
        ("gHotSpotVMTypeEntryArrayStride", 16),
        ("gHotSpotVMTypeEntryTypeNameOffset", 0),
        ("gHotSpotVMTypeEntrySizeOffset", 8),
    ] {
        variable(name, value);
    }
    let names = Cell::new(0x30_0000);
    let text = |text: &str| {
        let at = names.get();
        names.set(at + 0x100);
        memory.put(at, &[text.as_bytes(), &[0]].concat());
        at
    };
    let mut entries = vec![text("Thread"), text("_name"), 9, 9, 9];
    for (kind, field) in FIELDS {
        let (offset, address) = (offset(kind, field), address(kind, field));
        let entry = [text(kind), text(field), offset, address, 7];
        entries.extend(entry);
    }
    entries.extend([0; 5]);
    memory.words(structs, &entries);
    let sizes = [
        text("Method"),
        88,
        text("ConstantPool"),
        POOL_SIZE,
        text("HeapBlock"),
        8,
        text("ConstMethod"),
        CONSTANT_SIZE,
        text("PcDesc"),
        16,
        text("JVMFlag"),
        16,
        0,
        0,
    ];
    memory.words(types, &sizes);
    let (method, stub) = (text("nmethod"), text("StubRoutines (1)"));
    draw_heap(&memory, method, stub);
    draw_options(&memory, text("Other"), text("DebugNonSafepoints"));
    draw_scopes(&memory);
    memory.words(CODE, &[QUEUE]);
    memory.words(QUEUE, &[0x9_0000, 0x1000]);
    draw_class(&memory);
    (memory, Description(places))
}

fn layout_of(memory: &Drawn, description: &Description) -> Layout {
    Layout::read(memory, description, MOVED).expect("a layout")
}

fn named(memory: &Drawn, layout: &Layout, method: u64) -> Option<(String, String)> {
    let stamp = Stamp::of(memory, layout, method)?;
    let method = Method::read(memory, layout, method, stamp)?;
    Some((method.function, method.file))
}

fn name(function: &str, file: &str) -> Option<(String, String)> {
    Some((function.into(), file.into()))
}

/// Methods have the names and the file of their class, wherever the machine says that it keeps them.
#[test]
fn methods_have_names() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    assert_eq!(layout.interpreter(&memory), Some(0x9_0000..0x9_1000));
    let get = named(&memory, &layout, METHOD);
    assert_eq!(get, name("com.x.Y.get", "com/x/Y.java"));
    let init = named(&memory, &layout, OTHER);
    assert_eq!(init, name("com.x.Y.<init>", "com/x/Y.java"));
}

/// Classes without a package, a source or a name of their own are shown as Java itself shows them.
#[test]
fn odd_classes() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    memory.symbol(0x8000, "Y");
    assert_eq!(named(&memory, &layout, METHOD), name("Y.get", "Y.java"));
    memory.symbol(0x8000, "x/Y$$Lambda+0x00007f");
    memory.words(POOL, &[0, CLASS, 0, 0, 0, 0, 0, 0x8100, 0x8200, 0x8300]);
    let lambda = named(&memory, &layout, METHOD);
    assert_eq!(lambda, name("x.Y$$Lambda/0x00007f.get", ""));
}

/// What is no method of the class that it leads to has no name, however much it looks like one.
#[test]
fn only_methods_have_names() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    // It leads to the same class, which does not have it.
    memory.words(0x4200, &[0, CONSTANT]);
    for no_method in [
        0x4200,
        METHOD + 4,
        0,
        CLASS,
        u64::MAX,
        u64::MAX - 7,
        1 << 46,
    ] {
        assert_eq!(named(&memory, &layout, no_method), None, "{no_method:x}");
    }
    memory.words(LIST, &[u64::from(u32::MAX), METHOD]);
    assert_eq!(named(&memory, &layout, METHOD), None);
}

/// A method that took another's place has another stamp.
#[test]
fn a_place_that_is_used_again() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let before = Stamp::of(&memory, &layout, METHOD);
    assert!(before.is_some());
    assert_eq!(Stamp::of(&memory, &layout, METHOD), before);
    memory.words(METHOD, &[0, CONSTANT + 0x100]);
    assert_ne!(Stamp::of(&memory, &layout, METHOD), before);
}

/// Compiled code leads to its method, wherever in it an address is; what is free, or not of a method, leads nowhere.
#[test]
fn compiled_code() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let heaps = Heaps::read(&memory, &layout).expect("the heaps");
    let piece = |offset: u64| heaps.piece(&memory, &layout, HEAP + offset);
    let method = |offset: u64| match piece(offset)?.origin(&memory) {
        Origin::Method(method) => Some(method),
        Origin::Own(_) => None,
    };
    for inside in [0x10, 0x18, 0x2f, 0x3f] {
        assert_eq!(method(inside), Some(METHOD), "{inside:x}");
    }
    for outside in [0, 0xf, 0x40, 0x5f, 0x60, 0x70, 0x80, 0x1000, 1 << 30] {
        assert_eq!(method(outside), None, "{outside:x}");
    }
    let own = piece(0x48).map(|piece| piece.origin(&memory));
    assert_eq!(own, Some(Origin::Own("StubRoutines (1)".into())));
    assert!(heaps.have(HEAP) && !heaps.have(HEAP + 0x1000));
    let before = piece(0x18).expect("a piece");
    assert_eq!(before.is_there(&memory, &layout), Some(true));
    // It has been thrown away.
    let name = memory.word(HEAP + 0x18).expect("a name");
    memory.words(HEAP + 0x10, &[3, name, 0, METHOD]);
    assert_eq!(piece(0x18), None);
    assert_eq!(before.is_there(&memory, &layout), Some(false));
    // Another method was compiled to the same place.
    memory.words(HEAP + 0x10, &[1 << 32 | 3, name, 0, OTHER]);
    assert_eq!(before.is_there(&memory, &layout), Some(false));
    assert_eq!(method(0x18), Some(OTHER));
    memory.parts.borrow_mut().clear();
    assert_eq!(before.is_there(&memory, &layout), None);
}

/// The methods at work in compiled code at an address, and their lines.
fn at_work(memory: &Drawn, layout: &Layout, at: u64, returns: bool) -> Vec<(u64, Option<u32>)> {
    let heaps = Heaps::read(memory, layout).expect("the heaps");
    let piece = heaps.piece(memory, layout, at).expect("a piece");
    let at_work = piece.at_work(memory, layout, at, returns).into_iter();
    let line = |method, position| line(memory, layout, method, position);
    at_work
        .map(|one| {
            let at = one.position;
            (one.method, at.and_then(|at| line(one.method, at)))
        })
        .collect()
}

/// Where a call returns to, all methods are known that are at work there; elsewhere only if the machine describes every place.
#[test]
fn inlined_methods() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let of = |offset: u64, returns| at_work(&memory, &layout, HEAP + 0x20 + offset, returns);
    // The other method has no lines.
    let both = [(OTHER, None), (METHOD, Some(9))];
    assert_eq!(of(8, true), both);
    assert_eq!(of(16, true), [(METHOD, Some(9))]);
    assert_eq!(of(9, true), []);
    assert_eq!(of(17, true), []);
    assert_eq!(of(9, false), []);
    memory.words(EXACT, &[1]);
    let layout = layout_of(&memory, &description);
    for returns in [false, true] {
        let of = |offset: u64| at_work(&memory, &layout, HEAP + 0x20 + offset, returns);
        assert_eq!(of(3), both);
        assert_eq!(of(9), [(METHOD, Some(9))]);
        assert_eq!(of(17), []);
    }
}

/// The last line that begins before a position, in steps of one byte and of more.
#[test]
fn lines_of_methods() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let of = |position| line(&memory, &layout, METHOD, position);
    let lines = [0, 4, 5, 6, 9, 10].map(of);
    let wanted = [Some(7), Some(7), Some(9), Some(109), Some(109), None];
    assert_eq!(lines, wanted);
    assert_eq!(line(&memory, &layout, OTHER, 0), None);
}

/// Descriptions that lead in circles, to no method, or to another than the one that was compiled, tell nothing.
#[test]
fn hostile_scopes() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let of = || at_work(&memory, &layout, HEAP + 0x28, true);
    memory.put(DATA, &[0, 4, 1, 6, 1, 2, 4]);
    assert_eq!(of(), []);
    memory.put(DATA, &[0, 0, 0, 6, 1, 2, 4]);
    assert_eq!(of(), []);
    memory.put(DATA, &[0, 0, 2, 6, 1, 2, 4]);
    assert_eq!(of(), []);
    memory.put(DATA, &[0, 0, 1, 6, 255, 255, 255, 255, 255, 255]);
    assert_eq!(of(), []);
    draw_scopes(&memory);
    assert_eq!(of().len(), 2);
    memory.words(HEAP + 0x118, &[HEAP + 0x20, 0x200, DATA, 0x300]);
    assert_eq!(of(), []);
}

/// A map of segments that leads in circles, or out of itself, leads nowhere.
#[test]
fn hostile_heaps() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    let heaps = Heaps::read(&memory, &layout).expect("the heaps");
    let method = || heaps.piece(&memory, &layout, HEAP + 0x38);
    memory.put(SEGMENTS, &[1, 2, 3, 4, 5]);
    assert_eq!(method(), None);
    memory.put(SEGMENTS, &[0, 1, 1, 1]);
    assert_eq!(method(), None);
    memory.words(HEAPS + 0x10, &[1 << 20, HEAPS + 0x20]);
    assert!(Heaps::read(&memory, &layout).is_none());
    memory.words(HEAPS + 0x10, &[1, HEAPS + 0x20]);
    memory.words(HEAPS + 0x30, &[HEAP, HEAP + 0x1000, SEGMENTS, 0, 64]);
    assert!(Heaps::read(&memory, &layout).is_none());
}

/// A machine that has not made its interpreter yet has none, nor one that says nonsense of it.
#[test]
fn an_interpreter_that_is_not_there() {
    let (memory, description) = machine();
    let layout = layout_of(&memory, &description);
    memory.words(QUEUE, &[0x9_0000, 1 << 31]);
    assert_eq!(layout.interpreter(&memory), None);
    memory.words(QUEUE, &[u64::MAX - 1, 0x1000]);
    assert_eq!(layout.interpreter(&memory), None);
    memory.words(CODE, &[0]);
    assert_eq!(layout.interpreter(&memory), None);
}

/// Tables that never end, or whose numbers are nonsense, give nothing, in bounded time.
#[test]
fn hostile_tables() {
    let (memory, description) = machine();
    // The table of structures leads to itself for ever.
    let endless = vec![0x30_0000_u64; 1 << 18];
    memory.words(0x10_0000, &endless);
    let read = Layout::read(&memory, &description, MOVED);
    assert_eq!(read, None);
    assert!(memory.reads.get() < 200_000, "{}", memory.reads.get());
    for at in 0..10 {
        for value in [0, 1, 255, u64::from(u32::MAX), u64::MAX, 1 << 47] {
            let (memory, description) = machine();
            memory.words(0x100 + 16 * at + MOVED, &[value]);
            let read = Layout::read(&memory, &description, MOVED);
            if let Some(layout) = read {
                // Whatever it is, following it ends.
                let _ = named(&memory, &layout, METHOD);
                let _ = layout.interpreter(&memory);
            }
        }
    }
    assert_eq!(Layout::read(&memory, &Description(Vec::new()), MOVED), None);
}
