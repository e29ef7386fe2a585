//! The kernel's types as far as the probes have to do with them. For each type that the probes name, libbpf goes through
//! all of the kernel's and their names: 127,000 here, 34 times. So it is given a table with the same numbers (programs pass
//! some of them to the kernel) in which all other types are empty, and that ends with the last one that counts. A start
//! takes 84 ms of processor time with it and 100 without; the code that comes of it is the same.
//! Where a type is not found, or the table has something unknown in it, libbpf is left to itself.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{memfd_create, MemfdFlags};

const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// A type that the probes name, as `build/fields.rs` found it.
struct Root {
    name: &'static str,
    /// The probes do without it, or ask for it first.
    asked_for: bool,
}

static ROOTS: &[Root] = include!(concat!(env!("OUT_DIR"), "/roots.rs"));

/// The table, in memory; there is a path to it as long as this lives.
pub struct Reduced(OwnedFd);

impl Reduced {
    /// `None`: the kernel's own table is to be used.
    pub fn of_this_kernel() -> Option<Reduced> {
        let whole = std::fs::read(TYPES).ok()?;
        Reduced::kept(&reduced(&whole, ROOTS)?).ok()
    }

    fn kept(bytes: &[u8]) -> io::Result<Reduced> {
        let mut file = File::from(memfd_create("timesink-types", MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        let reduced = Reduced(file.into());
        // libbpf opens it by its path, and gives up where it cannot.
        File::open(reduced.path())?;
        Ok(reduced)
    }

    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

const MAGIC: u32 = 0x0001_eb9f; // of version 1
const HEADER: usize = 24;
/// What each type begins with: name, kind and count, size or type.
const START: usize = 12;
const POINTER: u32 = 2 << 24;

/// Kinds of types.
mod kind {
    pub const INT: u32 = 1;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// A type in its place.
#[derive(Clone, Copy)]
struct Type<'types> {
    bytes: &'types [u8],
    kind: u32,
    count: usize,
}

impl<'types> Type<'types> {
    /// The one that these bytes begin with; `None` if it is of a kind that is not known.
    fn first(bytes: &'types [u8]) -> Option<Type<'types>> {
        let info = word(bytes, 4)?;
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if info & 0x60ff_0000 != 0 || kind == 0 || kind > kind::ENUM64 {
            return None;
        }
        let more = match kind {
            kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
            kind::ARRAY => 12,
            kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => 12 * count,
            kind::ENUM | kind::PROTOTYPE => 8 * count,
            _ => 0,
        };
        let bytes = bytes.get(..START + more)?;
        Some(Type { bytes, kind, count })
    }

    fn name(self) -> Option<u32> {
        word(self.bytes, 0)
    }

    /// Those that lie within it, or that it is another name for. What a pointer leads to is neither.
    fn within(self) -> Option<Vec<u32>> {
        match self.kind {
            kind::STRUCT | kind::UNION => (0..self.count)
                .map(|n| word(self.bytes, START + 12 * n + 4))
                .collect(),
            kind::ARRAY => (0..2).map(|n| word(self.bytes, START + 4 * n)).collect(),
            kind::TYPEDEF..=kind::RESTRICT | kind::TYPE_TAG => Some(vec![word(self.bytes, 8)?]),
            _ => Some(Vec::new()),
        }
    }

    /// Where in it numbers of names stand.
    fn names(self) -> impl Iterator<Item = usize> {
        let step = match self.kind {
            kind::STRUCT | kind::UNION | kind::ENUM64 => 12,
            kind::ENUM => 8,
            _ => 0,
        };
        let each = (0..self.count).map(move |n| START + step * n);
        std::iter::once(0).chain(each.filter(move |_| step > 0))
    }
}

/// The kernel's types, by number less one.
struct Types<'types> {
    all: Vec<Type<'types>>,
    names: &'types [u8],
}

impl<'types> Types<'types> {
    fn parse(table: &'types [u8]) -> Option<Types<'types>> {
        if word(table, 0)? != MAGIC {
            return None;
        }
        let header = word(table, 4)? as usize;
        let part = |at: usize| {
            let start = header.checked_add(word(table, at)? as usize)?;
            table.get(start..start.checked_add(word(table, at + 4)? as usize)?)
        };
        let (mut rest, names) = (part(8)?, part(16)?);
        let mut all = Vec::with_capacity(rest.len() / 24);
        while !rest.is_empty() {
            let one = Type::first(rest)?;
            rest = &rest[one.bytes.len()..];
            all.push(one);
        }
        Some(Types { all, names })
    }

    fn name(&self, at: u32) -> Option<&'types [u8]> {
        let text = self.names.get(at as usize..)?;
        text.get(..text.iter().position(|&byte| byte == 0)?)
    }

    fn get(&self, id: u32) -> Option<Type<'types>> {
        self.all.get((id as usize).checked_sub(1)?).copied()
    }

    /// Those with one of these names; `None` if one is missing that must be there.
    fn named(&self, roots: &[Root]) -> Option<Vec<u32>> {
        let wanted: HashSet<&[u8]> = roots.iter().map(|root| root.name.as_bytes()).collect();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (id, one) in (1..).zip(&self.all) {
            let at = one.name()?;
            let code = matches!(one.kind, kind::FUNCTION | kind::VARIABLE | kind::SECTION);
            if at == 0 || code || one.kind == kind::DECLARATION_TAG {
                continue;
            }
            let name = essential(self.name(at)?);
            if wanted.contains(name) {
                seen.insert(name);
                found.push(id);
            }
        }
        let missing = |root: &Root| !root.asked_for && !seen.contains(root.name.as_bytes());
        (!roots.iter().any(missing)).then_some(found)
    }
}

/// A name without what tells apart several forms of a type, as libbpf has it.
fn essential(name: &[u8]) -> &[u8] {
    let flavour = name.windows(3).rposition(|three| three == b"___");
    &name[..flavour.unwrap_or(name.len())]
}

/// The table with those types only that have these names, and what lies in them.
fn reduced(table: &[u8], roots: &[Root]) -> Option<Vec<u8>> {
    let types = Types::parse(table)?;
    let mut open = types.named(roots)?;
    let mut wanted: HashSet<u32> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        for inner in types.get(id)?.within()? {
            if inner != 0 && wanted.insert(inner) {
                open.push(inner);
            }
        }
    }
    let last = wanted.iter().copied().max()?;
    let (mut records, mut names) = (Vec::new(), vec![0]);
    let mut moved = HashMap::from([(0, 0)]);
    for id in 1..=last {
        let one = types.get(id)?;
        if !wanted.contains(&id) || one.bytes[4..8] == POINTER.to_le_bytes() {
            // A pointer to nothing: the smallest that there is.
            records.extend([0, POINTER, 0].map(u32::to_le_bytes).as_flattened());
            continue;
        }
        let start = records.len();
        records.extend_from_slice(one.bytes);
        for at in one.names() {
            let name = word(one.bytes, at)?;
            let text = types.name(name)?;
            let place = *moved.entry(name).or_insert_with(|| {
                let place = names.len() as u32;
                names.extend_from_slice(text);
                names.push(0);
                place
            });
            records[start + at..start + at + 4].copy_from_slice(&place.to_le_bytes());
        }
    }
    let (length, more) = (records.len() as u32, names.len() as u32);
    let header = [MAGIC, HEADER as u32, 0, length, length, more];
    let header = header.map(u32::to_le_bytes);
    Some([header.as_flattened(), &records, &names].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types as a table has them, with the names that were given out.
    struct Made {
        records: Vec<u32>,
        names: Vec<u8>,
    }

    impl Made {
        fn name(&mut self, name: &str) -> u32 {
            let place = self.names.len() as u32;
            self.names.extend_from_slice(name.as_bytes());
            self.names.push(0);
            place
        }

        fn structure(&mut self, name: &str, members: &[(&str, u32)]) {
            let name = self.name(name);
            let head = [name, kind::STRUCT << 24 | members.len() as u32, 8];
            self.records.extend(head);
            for (name, of) in members {
                let name = self.name(name);
                self.records.extend([name, *of, 0]);
            }
        }

        fn table(&self) -> Vec<u8> {
            let (length, more) = (self.records.len() as u32 * 4, self.names.len() as u32);
            let header = [MAGIC, HEADER as u32, 0, length, length, more];
            let words = header.iter().chain(&self.records).copied();
            let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
            bytes.extend_from_slice(&self.names);
            bytes
        }
    }

    /// 1: a structure of no interest; 2: `outer`, with an `inner` (4) and a pointer (3) to 1; 5: another of no interest.
    fn made() -> Made {
        let (records, names) = (Vec::new(), vec![0]);
        let mut made = Made { records, names };
        made.structure("other", &[("other_member", 2)]);
        made.structure("outer", &[("next", 3), ("value", 4)]);
        made.records.extend([0, POINTER, 1]);
        made.structure("inner", &[]);
        made.structure("last", &[]);
        made
    }

    fn root(name: &'static str, asked_for: bool) -> Root {
        Root { name, asked_for }
    }

    #[test]
    fn what_is_named_stays_with_what_lies_in_it_under_the_same_number() {
        let table = reduced(&made().table(), &[root("outer", false)]).unwrap();
        let types = Types::parse(&table).unwrap();
        let names = |one: &Type| types.name(one.name().unwrap()).unwrap();
        let all: Vec<&[u8]> = types.all.iter().map(names).collect();
        assert_eq!(all, [&b""[..], b"outer", b"", b"inner"]);
        let outer = types.get(2).unwrap();
        assert_eq!(outer.within().unwrap(), [3, 4]);
        let member = word(outer.bytes, START + 12).unwrap();
        assert_eq!(types.name(member).unwrap(), b"value");
        assert_eq!(types.get(3).unwrap().bytes[8..], [0; 4]);
    }

    #[test]
    fn a_form_of_a_type_goes_by_its_plain_name() {
        let mut made = made();
        made.structure("outer___6_1", &[]);
        let table = reduced(&made.table(), &[root("outer", false)]).unwrap();
        assert_eq!(Types::parse(&table).unwrap().all.len(), 6);
    }

    /// It may be in a module, where libbpf looks for it.
    #[test]
    fn where_a_type_is_missing_the_whole_table_is_used() {
        let roots = |asked_for| [root("outer", false), root("missing", asked_for)];
        assert!(reduced(&made().table(), &roots(false)).is_none());
        assert!(reduced(&made().table(), &roots(true)).is_some());
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let roots = [root("outer", false)];
        let mut unknown = made();
        unknown.records.extend([0, 20 << 24, 0]);
        assert!(reduced(&unknown.table(), &roots).is_none());
        let whole = made().table();
        for length in 0..whole.len() {
            // A table that is cut short says less or nothing, and nothing breaks.
            let _ = reduced(&whole[..length], &roots);
        }
        assert!(reduced(b"", &roots).is_none());
    }

    /// The list is made from the probes.
    #[test]
    fn the_list_has_the_types_that_the_probes_name() {
        let has = |name: &str, asked_for| {
            let is = |root: &&Root| root.name == name && root.asked_for == asked_for;
            ROOTS.iter().any(|root| is(&root))
        };
        assert!(has("task_struct", false) && has("rq", false));
        assert!(has("folio", true) && has("bpf_func_id", true));
    }
}
