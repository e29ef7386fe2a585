//! Where a virtual machine keeps what, as it says itself: tables of types and their fields, with names.

use std::collections::HashMap;
use std::ops::Range;

use super::inlined::{Encoding, Scopes};
use super::{Description, Memory};

/// Tables are a thousand entries long.
const MOST_ENTRIES: u64 = 1 << 14;
/// No name in them that is looked for is longer.
const LONGEST_NAME: usize = 64;
/// No structure is larger.
const LARGEST: u64 = 1 << 16;
/// The interpreter is some hundred kilobytes.
const LARGEST_INTERPRETER: u64 = 64 << 20;

/// Offsets in the virtual machine's structures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub(super) const_method: u64,
    pub(super) constants: u64,
    pub(super) name_index: u64,
    pub(super) source_index: u64,
    pub(super) holder: u64,
    /// Behind the constant pool itself stand its constants.
    pub(super) pool_size: u64,
    pub(super) class_name: u64,
    pub(super) methods: u64,
    pub(super) array_length: u64,
    pub(super) method_array: u64,
    pub(super) symbol_length: u64,
    pub(super) symbol_body: u64,
    /// The address of what leads to the interpreter's code.
    code: u64,
    code_start: u64,
    code_length: u64,
    /// `None` where the virtual machine does not say it.
    pub(super) compiled: Option<Compiled>,
    pub(super) lines: Option<Lines>,
}

/// Where methods have the lines of their sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    pub flags: u64,
    pub code_size: u64,
    /// Behind it stands the code.
    pub size: u64,
    pub encoding: Encoding,
}

impl Lines {
    fn of(memory: &impl Memory, fields: &Fields, sizes: &HashMap<String, u64>) -> Option<Lines> {
        let of = |field| offset(fields, "ConstMethod", field);
        Some(Lines {
            flags: of("_flags").or_else(|| of("_flags._flags"))?,
            code_size: of("_code_size")?,
            size: sizes.get("ConstMethod").copied()?,
            encoding: Encoding::of(memory, fields)?,
        })
    }
}

/// A table of the virtual machine's.
struct VmTable {
    start: u64,
    stride: u64,
    type_name: u64,
}

impl VmTable {
    /// `gHotSpotVMStructs` or `gHotSpotVMTypes`, and how they call their entries.
    fn of(tables: &Tables<impl Memory>, table: &str, entry: &str) -> Option<VmTable> {
        let stride = tables.variable(&format!("{entry}ArrayStride"))?;
        Some(VmTable {
            start: tables.variable(table)?,
            stride: (8..=256).contains(&stride).then_some(stride)?,
            type_name: tables.variable(&format!("{entry}TypeNameOffset"))?,
        })
    }

    /// The entries of types that are wanted: the type's name, and where the entry is.
    fn entries<'a>(
        &'a self,
        memory: &'a impl Memory,
        wanted: &'a dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = (String, u64)> + 'a {
        let entries = (0..MOST_ENTRIES).map(|i| self.start.wrapping_add(i * self.stride));
        let named = entries.map_while(move |entry| {
            let name = memory.word(entry.wrapping_add(self.type_name))?;
            (name != 0).then(|| (text(memory, name), entry))
        });
        named.filter(|(name, _)| wanted(name))
    }
}

struct Tables<'a, M> {
    memory: &'a M,
    description: &'a Description,
    /// What is added to the file's addresses.
    moved: u64,
}

impl<M: Memory> Tables<'_, M> {
    fn variable(&self, name: &str) -> Option<u64> {
        let place = self.description.of(name)?;
        self.memory.word(place.wrapping_add(self.moved))
    }
}

/// A text that a zero byte ends; empty if it is too long for a name.
pub(super) fn text(memory: &impl Memory, address: u64) -> String {
    let mut bytes = [0; LONGEST_NAME];
    let length = memory.read(address, &mut bytes);
    let end = bytes[..length].iter().position(|byte| *byte == 0);
    let text = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
    text.unwrap_or_default().to_owned()
}

/// What the tables say of a field: its offset, and its address, if there is only one of it.
pub(super) type Fields = HashMap<(String, String), (u64, u64)>;

pub(super) fn offset(fields: &Fields, kind: &str, field: &str) -> Option<u64> {
    let (offset, _) = fields.get(&(kind.into(), field.into()))?;
    (*offset < LARGEST).then_some(*offset)
}

pub(super) fn address(fields: &Fields, kind: &str, field: &str) -> Option<u64> {
    let (_, address) = fields.get(&(kind.into(), field.into()))?;
    Some(*address)
}

/// Whether one of the virtual machine's options is on; `None` if there is none of this name.
pub(super) fn is_on(
    memory: &impl Memory,
    fields: &Fields,
    sizes: &HashMap<String, u64>,
    option: &str,
) -> Option<bool> {
    let of = |field| offset(fields, "JVMFlag", field);
    let (name, value) = (of("_name")?, of("_addr")?);
    let start = memory.word(address(fields, "JVMFlag", "flags")?)?;
    let count = memory.word(address(fields, "JVMFlag", "numFlags")?)?;
    let size = sizes.get("JVMFlag").copied()?;
    let mut options = (0..count.min(MOST_ENTRIES)).map(|i| start.wrapping_add(i * size));
    let found = options.find(|entry| {
        let name = memory.word(entry.wrapping_add(name));
        name.is_some_and(|name| name != 0 && text(memory, name) == option)
    })?;
    let [on] = memory.array(memory.word(found.wrapping_add(value))?)?;
    Some(on != 0)
}

impl Layout {
    /// What the virtual machine with this file says of itself, if it is that far.
    pub fn read(memory: &impl Memory, description: &Description, moved: u64) -> Option<Layout> {
        let tables = Tables {
            memory,
            description,
            moved,
        };
        let fields = read_fields(&tables)?;
        let of = |kind, field| offset(&fields, kind, field);
        let sizes = read_sizes(&tables)?;
        Some(Layout {
            const_method: of("Method", "_constMethod")?,
            constants: of("ConstMethod", "_constants")?,
            name_index: of("ConstMethod", "_name_index")?,
            source_index: of("ConstantPool", "_source_file_name_index")?,
            holder: of("ConstantPool", "_pool_holder")?,
            pool_size: sizes.get("ConstantPool").copied()?,
            class_name: of("Klass", "_name")?,
            methods: of("InstanceKlass", "_methods")?,
            array_length: of("Array<int>", "_length")?,
            method_array: of("Array<Method*>", "_data")?,
            symbol_length: of("Symbol", "_length")?,
            symbol_body: of("Symbol", "_body")?,
            code: address(&fields, "AbstractInterpreter", "_code")?,
            code_start: of("StubQueue", "_stub_buffer")?,
            code_length: of("StubQueue", "_buffer_limit")?,
            compiled: Compiled::of(memory, &fields, &sizes),
            lines: Lines::of(memory, &fields, &sizes),
        })
    }

    /// Where the interpreter's code is, once it has been made.
    pub fn interpreter(&self, memory: &impl Memory) -> Option<Range<u64>> {
        let queue = memory.word(self.code).filter(|queue| *queue != 0)?;
        let start = memory.word(queue.wrapping_add(self.code_start))?;
        let length = u64::from(memory.half(queue.wrapping_add(self.code_length))?);
        let sound = start != 0 && length != 0 && length <= LARGEST_INTERPRETER;
        sound.then(|| Some(start..start.checked_add(length)?))?
    }
}

/// Where compiled code is kept, and what is compiled there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    /// The address of what leads to the heaps.
    pub heaps: u64,
    pub list_length: u64,
    pub list: u64,
    pub memory: u64,
    pub segments: u64,
    pub segment_size: u64,
    pub low: u64,
    pub high: u64,
    pub block_length: u64,
    pub block_used: u64,
    pub block_size: u64,
    pub name: u64,
    pub method: u64,
    pub number: Option<u64>,
    pub scopes: Option<Scopes>,
}

impl Compiled {
    fn of(memory: &impl Memory, fields: &Fields, sizes: &HashMap<String, u64>) -> Option<Compiled> {
        let of = |kind, field| offset(fields, kind, field);
        Some(Compiled {
            heaps: address(fields, "CodeCache", "_heaps")?,
            list_length: of("GrowableArrayBase", "_len")?,
            list: of("GrowableArray<int>", "_data")?,
            memory: of("CodeHeap", "_memory")?,
            segments: of("CodeHeap", "_segmap")?,
            segment_size: of("CodeHeap", "_log2_segment_size")?,
            low: of("VirtualSpace", "_low")?,
            high: of("VirtualSpace", "_high_boundary")?,
            block_length: of("HeapBlock::Header", "_length")?,
            block_used: of("HeapBlock::Header", "_used")?,
            block_size: sizes.get("HeapBlock").copied()?,
            name: of("CodeBlob", "_name")?,
            method: of("CompiledMethod", "_method").or_else(|| of("nmethod", "_method"))?,
            number: of("nmethod", "_compile_id"),
            scopes: Scopes::of(memory, fields, sizes),
        })
    }
}

/// The types whose fields are needed.
const KINDS: [&str; 22] = [
    "Method",
    "ConstMethod",
    "ConstantPool",
    "Klass",
    "InstanceKlass",
    "Array<int>",
    "Array<Method*>",
    "Symbol",
    "AbstractInterpreter",
    "StubQueue",
    "CodeCache",
    "GrowableArrayBase",
    "GrowableArray<int>",
    "CodeHeap",
    "VirtualSpace",
    "HeapBlock::Header",
    "CodeBlob",
    "CompiledMethod",
    "nmethod",
    "PcDesc",
    "Abstract_VM_Version",
    "JVMFlag",
];

fn read_fields(tables: &Tables<impl Memory>) -> Option<Fields> {
    const ENTRY: &str = "gHotSpotVMStructEntry";
    let of_entry = |what: &str| tables.variable(&format!("{ENTRY}{what}Offset"));
    let table = VmTable::of(tables, "gHotSpotVMStructs", ENTRY)?;
    let (field_name, offset) = (of_entry("FieldName")?, of_entry("Offset")?);
    let address = of_entry("Address")?;
    let memory = tables.memory;
    let wanted = |name: &str| KINDS.contains(&name);
    let mut fields = Fields::new();
    for (kind, entry) in table.entries(memory, &wanted) {
        let word = |at: u64| memory.word(entry.wrapping_add(at));
        let name = text(memory, word(field_name)?);
        fields.insert((kind, name), (word(offset)?, word(address)?));
    }
    Some(fields)
}

fn read_sizes(tables: &Tables<impl Memory>) -> Option<HashMap<String, u64>> {
    const ENTRY: &str = "gHotSpotVMTypeEntry";
    let size = tables.variable(&format!("{ENTRY}SizeOffset"))?;
    let table = VmTable::of(tables, "gHotSpotVMTypes", ENTRY)?;
    const WANTED: [&str; 5] = [
        "ConstantPool",
        "HeapBlock",
        "ConstMethod",
        "PcDesc",
        "JVMFlag",
    ];
    let wanted = |name: &str| WANTED.contains(&name);
    let sizes = table.entries(tables.memory, &wanted).map(|(kind, entry)| {
        let size = tables.memory.word(entry.wrapping_add(size))?;
        (size < LARGEST).then_some((kind, size))
    });
    sizes.collect()
}
