//! The fields of the kernel's types that the probes read, held against what a kernel says of its own types. A field that is
//! missing, or copied in another size than it has, is a probe that reads nonsense there, however well it loads.

use std::ffi::OsStr;
use std::path::Path;

use libbpf_rs::btf::types::{Array, Composite, MemberAttr};
use libbpf_rs::btf::types::{Enum, Int, Ptr};
use libbpf_rs::btf::{Btf, BtfType};

/// One field, as `build/fields.rs` found it in the probes.
struct Field {
    root: &'static str,
    path: &'static [&'static str],
    /// 0: its size does not matter, as of bit fields and structures.
    bytes: u32,
    copied: bool,
    signed: bool,
    asked_for: bool,
}

static FIELDS: &[Field] = include!(concat!(env!("OUT_DIR"), "/fields.rs"));

/// How the fields fare on a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    pub as_expected: usize,
    /// Those that the kernel does not have, and that the probes do without.
    pub absent: Vec<String>,
    /// What is wrong with others.
    pub wrong: Vec<String>,
}

/// Look at all fields in the types that this file describes.
pub fn check(types: &Path) -> libbpf_rs::Result<Fields> {
    let types = Btf::from_path(types)?;
    let mut fields = Fields::default();
    for field in FIELDS {
        let name = format!("{}.{}", field.root, field.path.join("."));
        match find(&types, field) {
            None if field.asked_for => fields.absent.push(name),
            None => fields.wrong.push(format!("{name} is not there")),
            Some(found) => match fault(field, found) {
                Some(fault) => fields.wrong.push(format!("{name} {fault}")),
                None => fields.as_expected += 1,
            },
        }
    }
    Ok(fields)
}

/// A field as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundField {
    Bits,
    Bytes(u32),
}

fn fault(field: &Field, found: FoundField) -> Option<String> {
    match found {
        FoundField::Bits if field.bytes != 0 => Some("is a bit field".to_string()),
        FoundField::Bytes(bytes) if field.bytes != 0 && bytes != field.bytes => {
            let sizes = format!("has {bytes} bytes, not {}", field.bytes);
            // What is loaded, and has no sign, libbpf loads in the size that it has.
            (field.copied || field.signed).then_some(sizes)
        }
        _ => None,
    }
}

fn find(types: &Btf, field: &Field) -> Option<FoundField> {
    let mut here: BtfType = *types.type_by_name::<Composite>(field.root)?;
    let mut found = None;
    for step in field.path {
        here = here.skip_mods_and_typedefs();
        if *step == "[]" {
            here = Array::try_from(here).ok()?.contained_type();
            found = None;
        } else {
            let member = member(types, here, OsStr::new(step))?;
            here = member.of;
            found = member.bits.then_some(FoundField::Bits);
        }
    }
    let bytes = || bytes(here.skip_mods_and_typedefs()).map(FoundField::Bytes);
    found.or_else(bytes)
}

struct Member<'types> {
    of: BtfType<'types>,
    bits: bool,
}

/// A member by its name, also of structures without a name within.
fn member<'types>(types: &'types Btf, of: BtfType<'types>, name: &OsStr) -> Option<Member<'types>> {
    let composite = Composite::try_from(of.skip_mods_and_typedefs()).ok()?;
    for at in 0..composite.len() {
        let one = composite.get(at)?;
        let of: BtfType = types.type_by_id(one.ty)?;
        if one.name == Some(name) {
            let bits = matches!(one.attr, MemberAttr::BitField { size, .. } if size > 0);
            return Some(Member { of, bits });
        }
        if one.name.is_none_or(OsStr::is_empty) {
            if let Some(within) = member(types, of, name) {
                return Some(within);
            }
        }
    }
    None
}

fn bytes(of: BtfType) -> Option<u32> {
    use libbpf_rs::btf::HasSize;
    let size = |size: usize| u32::try_from(size).ok();
    if let Ok(number) = Int::try_from(of) {
        return size(number.size());
    }
    if let Ok(set) = Enum::try_from(of) {
        return size(set.size());
    }
    // Of others only the place is used.
    Some(if Ptr::try_from(of).is_ok() { 8 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(bytes: u32, copied: bool, signed: bool) -> Field {
        Field {
            root: "task_struct",
            path: &["on_cpu"],
            bytes,
            copied,
            signed,
            asked_for: false,
        }
    }

    /// `task_struct.on_cpu` became one byte in 7.2: copied, or loaded with a sign, that is a fault; else libbpf adapts.
    #[test]
    fn a_field_that_shrank() {
        let one_byte = FoundField::Bytes(1);
        let text = Some("has 1 bytes, not 4".to_string());
        assert_eq!(fault(&field(4, true, false), one_byte), text);
        assert_eq!(fault(&field(4, false, true), one_byte), text);
        assert_eq!(fault(&field(4, false, false), one_byte), None);
        assert_eq!(fault(&field(4, true, true), FoundField::Bytes(4)), None);
        assert!(fault(&field(4, false, false), FoundField::Bits).is_some());
        assert_eq!(fault(&field(0, true, false), FoundField::Bits), None);
    }

    /// The table is made from the probes, and has what they certainly read.
    #[test]
    fn the_table_has_what_the_probes_read() {
        let has =
            |root: &str, path: &[&str]| FIELDS.iter().any(|f| f.root == root && f.path == path);
        assert!(has("task_struct", &["se", "sum_exec_runtime"]));
        assert!(has("task_struct", &["in_iowait"]));
        assert!(has("folio", &["mapping"]));
        assert!(FIELDS.len() > 60, "{}", FIELDS.len());
    }
}
