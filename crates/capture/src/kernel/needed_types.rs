//! Of the thousands of types that a kernel describes, those that the probes read: libbpf goes through all that it is given
//! for each type that a probe names, and that took a fifth of what `run -- true` takes. And the numbers of some of them,
//! by which a probe says what a pointer points at.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::probes::events;

/// The types that the probes name, as `build/fields.rs` found them.
static NAMED: &[&str] = include!(concat!(env!("OUT_DIR"), "/types.rs"));

/// What the probes need of a kernel's types.
pub struct NeededTypes {
    /// A description with nothing else in it, in the kernel's own format.
    pub description: Vec<u8>,
    pub numbers: events::ts_type_numbers,
    /// Where a processor counts what keeps it from switching, softirqs among it, from its queue of threads. Not on a
    /// real-time kernel, where softirqs do not.
    pub count_from_queue: Option<i64>,
}

/// What a thread has on real-time kernels alone.
const REAL_TIME: &[u8] = b"softirq_disable_cnt";

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNCTION_TYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const FLOAT: u32 = 16;
const DECLARATION_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
/// A type without what follows it for its kind.
const COMMON: usize = 12;

/// Pick them from a kernel's description.
pub fn pick(description: &[u8]) -> io::Result<NeededTypes> {
    let types = Types::parse(description).ok_or_else(|| damaged("cannot be followed"))?;
    let named: HashSet<&[u8]> = NAMED.iter().map(|name| name.as_bytes()).collect();
    let mut numbers = events::ts_type_numbers::default();
    let mut picked = Picked::default();
    let mut real_time = false;
    let mut own = PerProcessor::default();
    for number in 1..types.starts.len() as u32 {
        let one = types.get(number).ok_or_else(|| damaged("is cut off"))?;
        let name = types.text(one.name);
        own.note(&types, name, number, &one);
        if !matches!(one.kind, STRUCT | UNION | ENUM | ENUM64) {
            continue;
        }
        if !named.contains(without_version(name)) {
            continue;
        }
        if one.kind == STRUCT {
            note_number(&mut numbers, name, number);
            real_time |= name == b"task_struct" && types.member(&one, REAL_TIME).is_some();
        }
        picked
            .copy(&types, number)
            .ok_or_else(|| damaged("has a type that is not there"))?;
    }
    Ok(NeededTypes {
        description: picked.description(),
        numbers,
        count_from_queue: own
            .count_from_queue()
            .filter(|_| cfg!(target_arch = "x86_64") && !real_time),
    })
}

fn damaged(what: &str) -> io::Error {
    let text = format!("the kernel's description of its types {what}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// `page___old` is a `page`.
fn without_version(name: &[u8]) -> &[u8] {
    let end = name.windows(3).position(|three| three == b"___");
    &name[..end.filter(|&end| end > 0).unwrap_or(name.len())]
}

/// The first of a name counts.
fn note_number(numbers: &mut events::ts_type_numbers, name: &[u8], number: u32) {
    let place = match name {
        b"task_struct" => &mut numbers.task_struct,
        b"pt_regs" => &mut numbers.pt_regs,
        b"list_head" => &mut numbers.list_head,
        b"file" => &mut numbers.file,
        b"rq" => &mut numbers.rq,
        b"request" => &mut numbers.request,
        _ => return,
    };
    if *place == 0 {
        *place = number;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

/// What each processor has one of, as far as it leads to its count of what keeps it from switching.
#[derive(Default)]
struct PerProcessor {
    /// The numbers of the variables: the queues of threads, the count by itself, and with what is hot, as from 6.2 to 6.15.
    queues: u32,
    count: u32,
    hot: u32,
    /// Where the count is in what is hot.
    within_hot: Option<u32>,
    /// Where each variable lies: its number, its place and its size.
    places: Vec<u8>,
}

impl PerProcessor {
    fn note(&mut self, types: &Types, name: &[u8], number: u32, one: &Type) {
        match (one.kind, name) {
            (VARIABLE, b"runqueues") => self.queues = number,
            (VARIABLE, b"__preempt_count") => self.count = number,
            (VARIABLE, b"pcpu_hot") => self.hot = number,
            (SECTION, b".data..percpu") => self.places = one.rest.to_vec(),
            (STRUCT, b"pcpu_hot") => {
                let count = types.member(one, b"preempt_count");
                self.within_hot = count.map(|bits| bits / 8);
            }
            _ => {}
        }
    }

    fn place(&self, variable: u32) -> Option<u32> {
        let mut places = self.places.chunks_exact(12);
        let place = places.find(|place| variable > 0 && word(place, 0) == Some(variable))?;
        word(place, 4)
    }

    fn count_from_queue(&self) -> Option<i64> {
        let in_hot = || Some(self.place(self.hot)? + self.within_hot?);
        let count = self.place(self.count).or_else(in_hot)?;
        Some(i64::from(count) - i64::from(self.place(self.queues)?))
    }
}

/// A description, and where each type begins in it.
struct Types<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// By number; the first, which is none, begins nowhere.
    starts: Vec<u32>,
}

/// A type as it stands there.
struct Type<'a> {
    name: u32,
    info: u32,
    kind: u32,
    size_or_type: u32,
    /// What follows for its kind.
    rest: &'a [u8],
}

impl<'a> Types<'a> {
    fn parse(description: &'a [u8]) -> Option<Types<'a>> {
        if word(description, 0)? as u16 != MAGIC {
            return None;
        }
        let header = word(description, 4)? as usize;
        let part = |at: usize| {
            let start = header.checked_add(word(description, at)? as usize)?;
            let end = start.checked_add(word(description, at + 4)? as usize)?;
            description.get(start..end)
        };
        let (types, strings) = (part(8)?, part(16)?);
        let mut starts = vec![0];
        let mut at = 0;
        while at < types.len() {
            starts.push(at as u32);
            at += COMMON + length_of_rest(word(types, at + 4)?)?;
        }
        Some(Types {
            types,
            strings,
            starts,
        })
    }

    fn get(&self, number: u32) -> Option<Type<'a>> {
        let at = *self.starts.get(number as usize).filter(|_| number > 0)? as usize;
        let info = word(self.types, at + 4)?;
        let rest = at + COMMON;
        Some(Type {
            name: word(self.types, at)?,
            info,
            kind: kind(info),
            size_or_type: word(self.types, at + 8)?,
            rest: self.types.get(rest..rest + length_of_rest(info)?)?,
        })
    }

    /// Where a member is, in bits; it may lie in one that has no name.
    fn member(&self, one: &Type, name: &[u8]) -> Option<u32> {
        one.rest.chunks_exact(12).find_map(|member| {
            let (text, at) = (word(member, 0)?, word(member, 8)?);
            if text != 0 {
                return (self.text(text) == name).then_some(at);
            }
            let inner = self.get(word(member, 4)?)?;
            let has_members = matches!(inner.kind, STRUCT | UNION);
            has_members
                .then(|| self.member(&inner, name))?
                .map(|within| at + within)
        })
    }

    fn text(&self, at: u32) -> &'a [u8] {
        let text = self.strings.get(at as usize..).unwrap_or_default();
        text.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

fn kind(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// How many bytes of a type follow what all have; `None` for kinds that are not known.
fn length_of_rest(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    Some(match kind(info) {
        INT | VARIABLE | DECLARATION_TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | SECTION | ENUM64 => 12 * count,
        ENUM | FUNCTION_TYPE => 8 * count,
        kind if kind <= ENUM64 => 0,
        _ => return None,
    })
}

/// The types that were picked, with all that lies in them. Pointers point at nothing there: what is behind one is looked at
/// as a type of its own.
#[derive(Default)]
struct Picked {
    types: Vec<u8>,
    /// After the empty one, which is the first.
    strings: Vec<u8>,
    count: u32,
    /// Where the texts and types of the kernel's description stand in this one.
    texts: HashMap<u32, u32>,
    numbers: HashMap<u32, u32>,
}

impl Picked {
    fn copy(&mut self, from: &Types, number: u32) -> Option<u32> {
        if let Some(&known) = self.numbers.get(&number) {
            return Some(known);
        }
        if number == 0 {
            return Some(0);
        }
        let one = from.get(number)?;
        let mut rest = one.rest.to_vec();
        let mut size_or_type = one.size_or_type;
        match one.kind {
            STRUCT | UNION => {
                for member in rest.chunks_exact_mut(12) {
                    self.copy_text(from, member, 0)?;
                    self.copy_type(from, member, 4)?;
                }
            }
            ENUM | ENUM64 => {
                let each = if one.kind == ENUM { 8 } else { 12 };
                for value in rest.chunks_exact_mut(each) {
                    self.copy_text(from, value, 0)?;
                }
            }
            ARRAY => {
                self.copy_type(from, &mut rest, 0)?;
                self.copy_type(from, &mut rest, 4)?;
            }
            TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => {
                size_or_type = self.copy(from, one.size_or_type)?;
            }
            POINTER => size_or_type = 0,
            INT | FLOAT => {}
            // Functions and variables lie in nothing.
            _ => return Some(0),
        }
        let name = self.text(from, one.name);
        for word in [name, one.info, size_or_type] {
            self.types.extend(word.to_le_bytes());
        }
        self.types.extend(rest);
        self.count += 1;
        self.numbers.insert(number, self.count);
        Some(self.count)
    }

    /// Put the number that a type has here in the place of the one that it had.
    fn copy_type(&mut self, from: &Types, bytes: &mut [u8], at: usize) -> Option<()> {
        let number = self.copy(from, word(bytes, at)?)?;
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        Some(())
    }

    fn copy_text(&mut self, from: &Types, bytes: &mut [u8], at: usize) -> Option<()> {
        let text = self.text(from, word(bytes, at)?);
        bytes[at..at + 4].copy_from_slice(&text.to_le_bytes());
        Some(())
    }

    fn text(&mut self, from: &Types, at: u32) -> u32 {
        if at == 0 {
            return 0;
        }
        *self.texts.entry(at).or_insert_with(|| {
            let here = self.strings.len() as u32 + 1;
            self.strings.extend(from.text(at));
            self.strings.push(0);
            here
        })
    }

    fn description(&self) -> Vec<u8> {
        let types = self.types.len() as u32;
        let strings = self.strings.len() as u32 + 1;
        let version = 1;
        let mut all = Vec::with_capacity(HEADER + (types + strings) as usize);
        for word in [
            u32::from(MAGIC) | version << 16,
            HEADER as u32,
            0,
            types,
            types,
            strings,
        ] {
            all.extend(word.to_le_bytes());
        }
        all.extend(&self.types);
        all.push(0);
        all.extend(&self.strings);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::types::Struct;
    use libbpf_rs::btf::Btf;
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::PathBuf;

    fn kernel() -> Vec<u8> {
        fs::read("/sys/kernel/btf/vmlinux").expect("tests run on a kernel that describes its types")
    }

    fn written(description: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("timesink-types-{}", std::process::id()));
        let mut file = File::create(&path).expect("there is a folder for temporary files");
        file.write_all(description).expect("there is room");
        path
    }

    #[test]
    fn all_fields_are_found_in_what_was_picked_as_in_the_whole() {
        let needed = pick(&kernel()).expect("it can be followed");
        let path = written(&needed.description);
        let whole = crate::kernel::check_fields("/sys/kernel/btf/vmlinux".as_ref());
        let picked = crate::kernel::check_fields(&path);
        fs::remove_file(&path).expect("it is there");
        assert_eq!(
            picked.expect("libbpf takes it"),
            whole.expect("libbpf takes it")
        );
    }

    #[test]
    fn the_numbers_are_those_that_libbpf_gives() {
        let needed = pick(&kernel()).expect("it can be followed").numbers;
        let types = Btf::from_vmlinux().expect("libbpf reads it");
        let number = |name: &str| -> u32 {
            let found = types.type_by_name::<Struct>(name).expect("it is there");
            found.type_id().into()
        };
        assert_eq!(needed.task_struct, number("task_struct"));
        assert_eq!(needed.pt_regs, number("pt_regs"));
        assert_eq!(needed.list_head, number("list_head"));
        assert_eq!(needed.file, number("file"));
        assert_eq!(needed.rq, number("rq"));
        assert_eq!(needed.request, number("request"));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_processor_has_its_count_near_its_queue() {
        let needed = pick(&kernel()).expect("it can be followed");
        let distance = needed.count_from_queue.expect("the kernel says where");
        assert!(
            distance != 0 && distance % 4 == 0 && distance.abs() < 1 << 20,
            "{distance}"
        );
    }

    /// From 6.2 to 6.15 the count lies in a structure without a name, in a union without a name.
    #[test]
    fn a_member_is_found_in_one_without_a_name() {
        let names = b"\0pcpu_hot\0preempt_count\0";
        let (hot, count) = (1, 10);
        let with_members = |name: u32, kind: u32, member: [u32; 3]| {
            [vec![name, kind << 24 | 1, 64], member.to_vec()].concat()
        };
        let words = [
            vec![0, INT << 24, 4, 32],
            with_members(0, STRUCT, [count, 1, 64]),
            with_members(0, UNION, [0, 2, 0]),
            with_members(hot, STRUCT, [0, 3, 0]),
        ];
        let words = words.concat();
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect();
        let types = Types {
            types: &bytes,
            strings: names,
            starts: vec![0, 0, 16, 40, 64],
        };
        let one = types.get(4).expect("it is there");
        assert_eq!(types.text(one.name), b"pcpu_hot");
        assert_eq!(types.member(&one, b"preempt_count"), Some(64));
        assert_eq!(types.member(&one, b"cpu_number"), None);
    }

    #[test]
    fn what_is_picked_is_small() {
        let needed = pick(&kernel()).expect("it can be followed");
        assert!(needed.description.len() < kernel().len() / 10);
    }

    #[test]
    fn a_damaged_description_is_an_error() {
        let whole = kernel();
        for cut in [0, 3, 20, 24, 1000, whole.len() / 2] {
            assert!(pick(&whole[..cut]).is_err(), "{cut}");
        }
        let mut unknown = whole.clone();
        let first_kind = 24 + 7;
        unknown[first_kind] = 0x1f;
        assert!(pick(&unknown).is_err());
    }

    #[test]
    fn a_version_of_a_type_goes_by_its_name() {
        assert_eq!(without_version(b"page___old"), b"page");
        assert_eq!(without_version(b"page"), b"page");
        assert_eq!(without_version(b"___"), b"___");
    }
}
