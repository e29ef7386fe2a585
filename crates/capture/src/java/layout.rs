//! Where a virtual machine keeps what, as it says itself: tables of types and their fields, with names.

use std::ops::Range;

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
}

/// A table of the virtual machine's.
struct Table {
    start: u64,
    stride: u64,
    type_name: u64,
}

impl Table {
    /// `gHotSpotVMStructs` or `gHotSpotVMTypes`, and how they call their entries.
    fn of(tables: &Tables<impl Memory>, table: &str, entry: &str) -> Option<Table> {
        let stride = tables.variable(&format!("{entry}ArrayStride"))?;
        Some(Table {
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
fn text(memory: &impl Memory, address: u64) -> String {
    let mut bytes = [0; LONGEST_NAME];
    let length = memory.read(address, &mut bytes);
    let end = bytes[..length].iter().position(|byte| *byte == 0);
    let text = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
    text.unwrap_or_default().to_owned()
}

/// The types and fields that are needed.
pub(super) const FIELDS: [(&str, &str); 14] = [
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
];
/// This one there is only once: its address is what counts.
const CODE: usize = 11;

impl Layout {
    /// What the virtual machine with this file says of itself, if it is that far.
    pub fn read(memory: &impl Memory, description: &Description, moved: u64) -> Option<Layout> {
        let tables = Tables {
            memory,
            description,
            moved,
        };
        let fields = read_fields(&tables)?;
        let of = |index: usize| fields[index].filter(|offset| *offset < LARGEST);
        let pool_size = read_size(&tables, "ConstantPool")?;
        Some(Layout {
            const_method: of(0)?,
            constants: of(1)?,
            name_index: of(2)?,
            source_index: of(3)?,
            holder: of(4)?,
            pool_size: (pool_size < LARGEST).then_some(pool_size)?,
            class_name: of(5)?,
            methods: of(6)?,
            array_length: of(7)?,
            method_array: of(8)?,
            symbol_length: of(9)?,
            symbol_body: of(10)?,
            code: fields[CODE]?,
            code_start: of(12)?,
            code_length: of(13)?,
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

/// The offset of each of `FIELDS`, or its address.
fn read_fields(tables: &Tables<impl Memory>) -> Option<[Option<u64>; FIELDS.len()]> {
    const ENTRY: &str = "gHotSpotVMStructEntry";
    let of_entry = |what: &str| tables.variable(&format!("{ENTRY}{what}Offset"));
    let table = Table::of(tables, "gHotSpotVMStructs", ENTRY)?;
    let (field_name, offset) = (of_entry("FieldName")?, of_entry("Offset")?);
    let address = of_entry("Address")?;
    let memory = tables.memory;
    let wanted = |name: &str| FIELDS.iter().any(|(kind, _)| *kind == name);
    let mut fields = [None; FIELDS.len()];
    for (kind, entry) in table.entries(memory, &wanted) {
        let name = text(memory, memory.word(entry.wrapping_add(field_name))?);
        let known = FIELDS.iter().position(|known| *known == (&*kind, &*name));
        if let Some(index) = known {
            let value = if index == CODE { address } else { offset };
            fields[index] = memory.word(entry.wrapping_add(value));
        }
    }
    Some(fields)
}

fn read_size(tables: &Tables<impl Memory>, kind: &str) -> Option<u64> {
    const ENTRY: &str = "gHotSpotVMTypeEntry";
    let size = tables.variable(&format!("{ENTRY}SizeOffset"))?;
    let table = Table::of(tables, "gHotSpotVMTypes", ENTRY)?;
    let (_, entry) = table.entries(tables.memory, &|name| name == kind).next()?;
    tables.memory.word(entry.wrapping_add(size))
}
