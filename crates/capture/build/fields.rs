//! Which fields of the kernel's types the probes read, and how: a table for user space, which holds it against a running
//! kernel's own types. libbpf finds a field wherever it is; that it has another size it notices only where the field is
//! loaded by an instruction of its own.

use std::collections::BTreeSet;

use object::{Object, ObjectSection};

/// One field, as the table has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// The type that the way begins at, as the kernel calls it.
    root: String,
    /// From member to member; `[]` into an array.
    path: Vec<String>,
    bytes: u32,
    /// Copied from where it is, in our size; else loaded, in the kernel's size.
    copied: bool,
    signed: bool,
    /// It may be missing: the probes ask for it, or its type, first.
    asked_for: bool,
}

/// Kinds of relocations, as libbpf numbers them.
const FIELD_OFFSET: u32 = 0;
const FIELD_EXISTS: u32 = 2;
const FIELD_SHIFT: u32 = 4;
const TYPE_EXISTS: u32 = 8;

/// Classes of instructions that load or store.
const LOADS: [u8; 3] = [1, 2, 3];

/// The fields as a Rust expression.
pub fn table(object: &[u8]) -> String {
    let mut text = String::from("&[\n");
    for field in fields(object) {
        text += &format!("    {field:?},\n").replace("path: [", "path: &[");
    }
    text + "]\n"
}

/// The names of all types that are looked for in a kernel's, as a Rust expression.
pub fn types(object: &[u8]) -> String {
    let file = object::File::parse(object).expect("clang wrote an object file");
    let types = Types::parse(section(&file, ".BTF"));
    let relocations = relocations(section(&file, ".BTF.ext"), &types);
    let name =
        |r: &Relocation| kernel_name(&types.all[types.plain(r.root) as usize].name).to_string();
    let names: BTreeSet<String> = relocations.iter().map(name).collect();
    format!("&{names:?}\n").replace('{', "[").replace('}', "]")
}

/// What the kernel calls a type: `page___old` is a `page`.
fn kernel_name(name: &str) -> &str {
    name.split_once("___").map_or(name, |(name, _)| name)
}

fn section<'a>(file: &object::File<'a>, name: &str) -> &'a [u8] {
    let section = file.section_by_name(name).expect("it has type information");
    section.data().expect("its sections can be read")
}

fn fields(object: &[u8]) -> BTreeSet<Field> {
    let file = object::File::parse(object).expect("clang wrote an object file");
    let section = |name: &str| section(&file, name);
    let types = Types::parse(section(".BTF"));
    let relocations = relocations(section(".BTF.ext"), &types);
    let asked: Vec<(u32, Vec<String>)> = relocations
        .iter()
        .filter(|r| matches!(r.kind, FIELD_EXISTS | TYPE_EXISTS))
        .map(|r| match r.kind {
            FIELD_EXISTS => (r.root, types.follow(r.root, &r.access).0),
            _ => (r.root, Vec::new()),
        })
        .collect();
    let bits: BTreeSet<(u32, String)> = relocations
        .iter()
        .filter(|r| r.kind == FIELD_SHIFT)
        .map(|r| (r.root, r.access.clone()))
        .collect();
    let mut fields = BTreeSet::new();
    for r in relocations.iter().filter(|r| r.kind == FIELD_OFFSET) {
        let (path, end) = types.follow(r.root, &r.access);
        let code = section(&r.section)[r.instruction as usize];
        let name = &types.all[r.root as usize].name;
        let root = kernel_name(name);
        let asked_for = root != name
            || asked
                .iter()
                .any(|(root, asked)| *root == r.root && covers(asked, &path));
        fields.insert(Field {
            root: root.to_string(),
            path,
            // Of bit fields the kernel's own size counts.
            bytes: if bits.contains(&(r.root, r.access.clone())) {
                0
            } else {
                types.bytes(end)
            },
            copied: !LOADS.contains(&(code & 7)),
            signed: types.all[end as usize].signed,
            asked_for,
        });
    }
    fields
}

/// Whether who asks for one field knows of another: of the same, of one beside it in the same member, or of all of a type.
fn covers(asked: &[String], path: &[String]) -> bool {
    let beside = |path: &[String]| path[..path.len().saturating_sub(1)].to_vec();
    asked.is_empty() || asked == path || (asked.len() > 1 && beside(asked) == beside(path))
}

struct Relocation {
    section: String,
    instruction: u32,
    root: u32,
    access: String,
    kind: u32,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn relocations(ext: &[u8], types: &Types) -> Vec<Relocation> {
    let header = word(ext, 4) as usize;
    let start = header + word(ext, 24) as usize;
    let end = start + word(ext, 28) as usize;
    let record = word(ext, start) as usize;
    let mut at = start + 4;
    let mut all = Vec::new();
    while at < end {
        let (section, count) = (types.text(word(ext, at)), word(ext, at + 4));
        at += 8;
        for _ in 0..count {
            all.push(Relocation {
                section: section.clone(),
                instruction: word(ext, at),
                root: word(ext, at + 4),
                access: types.text(word(ext, at + 8)),
                kind: word(ext, at + 12),
            });
            at += record;
        }
    }
    all
}

/// A type, as far as the way to a field leads through it.
#[derive(Default)]
struct Type {
    name: String,
    kind: u32,
    /// Of structures and numbers their size, else the type that it is made from.
    size_or_type: u32,
    signed: bool,
    /// Of structures: name and type of each.
    members: Vec<(String, u32)>,
    /// Of arrays.
    element: u32,
}

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const NAMED_AGAIN: [u32; 5] = [8, 9, 10, 11, 18]; // typedef, volatile, const, restrict, tag

struct Types {
    all: Vec<Type>,
    strings: Vec<u8>,
}

impl Types {
    fn parse(section: &[u8]) -> Types {
        let header = word(section, 4) as usize;
        let part = |at: usize| {
            let start = header + word(section, at) as usize;
            &section[start..start + word(section, at + 4) as usize]
        };
        let (bytes, strings) = (part(8), part(16).to_vec());
        let mut types = Types {
            all: vec![Type::default()],
            strings,
        };
        let mut at = 0;
        while at < bytes.len() {
            let info = word(bytes, at + 4);
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let mut one = Type {
                name: types.text(word(bytes, at)),
                kind,
                size_or_type: word(bytes, at + 8),
                ..Type::default()
            };
            let rest = at + 12;
            let length = match kind {
                INT => {
                    one.signed = word(bytes, rest) >> 24 & 1 == 1;
                    4
                }
                ARRAY => {
                    one.element = word(bytes, rest);
                    12
                }
                STRUCT | UNION => {
                    let member = |n: usize| {
                        let at = rest + 12 * n;
                        (types.text(word(bytes, at)), word(bytes, at + 4))
                    };
                    one.members = (0..count).map(member).collect();
                    12 * count
                }
                ENUM | 13 => 8 * count,
                14 | 17 => 4,
                15 | 19 => 12 * count,
                _ => 0,
            };
            types.all.push(one);
            at = rest + length;
        }
        types
    }

    fn text(&self, at: u32) -> String {
        let text = &self.strings[at as usize..];
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
        String::from_utf8_lossy(&text[..end]).into_owned()
    }

    /// Past typedefs and qualifiers.
    fn plain(&self, mut id: u32) -> u32 {
        while NAMED_AGAIN.contains(&self.all[id as usize].kind) {
            id = self.all[id as usize].size_or_type;
        }
        id
    }

    /// `0:3:1` from a type on: the names on the way, and the type that it leads to.
    fn follow(&self, root: u32, access: &str) -> (Vec<String>, u32) {
        let mut path = Vec::new();
        let mut id = self.plain(root);
        for index in access.split(':').skip(1) {
            let here = &self.all[id as usize];
            let index: usize = index.parse().expect("a number");
            if here.kind == ARRAY {
                path.push("[]".to_string());
                id = self.plain(here.element);
            } else {
                let (name, member) = &here.members[index];
                path.push(name.clone());
                id = self.plain(*member);
            }
        }
        (path, id)
    }

    fn bytes(&self, id: u32) -> u32 {
        let here = &self.all[id as usize];
        match here.kind {
            POINTER => 8,
            INT | ENUM => here.size_or_type,
            // Of structures and arrays only the place is used.
            _ => 0,
        }
    }
}
