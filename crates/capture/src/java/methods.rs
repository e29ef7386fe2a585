//! From the address of a method to its class, its name and its file. Whether there is a method at all is not
//! taken for granted: its class must have it in its list.

use super::{Layout, Memory};

/// What is kept of a name.
const LONGEST_NAME: usize = 1024;
/// A class file has no more.
const MOST_METHODS: u32 = 65_535;
/// User space ends there.
const HIGHEST: u64 = 1 << 47;

/// A method, as a stack trace would have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method {
    /// `java.lang.Thread.sleep`
    pub function: String,
    /// `java/lang/Thread.java`; empty where the class does not tell.
    pub file: String,
}

/// By this a method is known again: its memory may be another's later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    constant: u64,
    pool: u64,
    name_index: u16,
}

impl Stamp {
    /// Of what may be a method.
    pub fn of(memory: &impl Memory, layout: &Layout, method: u64) -> Option<Stamp> {
        if !method.is_multiple_of(8) || method == 0 || method >= HIGHEST {
            return None;
        }
        let constant = memory.word(method + layout.const_method)?;
        // Both lie near enough to be read at once.
        let mut bytes = [0; 256];
        let end = (layout.constants + 8).max(layout.name_index + 2);
        let bytes = bytes.get_mut(..end as usize)?;
        if memory.read(constant, bytes) != bytes.len() {
            return None;
        }
        let (pool, index) = (layout.constants as usize, layout.name_index as usize);
        Some(Stamp {
            constant,
            pool: u64::from_le_bytes(*bytes.get(pool..)?.first_chunk()?),
            name_index: u16::from_le_bytes(*bytes.get(index..)?.first_chunk()?),
        })
    }
}

impl Method {
    /// The method at an address that has this stamp; `None` if there is none.
    pub fn read(
        memory: &impl Memory,
        layout: &Layout,
        method: u64,
        stamp: Stamp,
    ) -> Option<Method> {
        let pool = stamp.pool;
        let holder = memory.word(pool.wrapping_add(layout.holder))?;
        if !has(memory, layout, holder, method)? {
            return None;
        }
        let constant = |index: u16| {
            let place = layout.pool_size + 8 * u64::from(index);
            symbol(memory, layout, memory.word(pool.wrapping_add(place))?)
        };
        let class = memory.word(holder.wrapping_add(layout.class_name))?;
        let class = symbol(memory, layout, class)?;
        let name = constant(stamp.name_index)?;
        let source = memory.short(pool.wrapping_add(layout.source_index))?;
        let source = (source != 0).then(|| constant(source)).flatten();
        let package = class.rsplit_once('/').map(|(package, _)| package);
        let file = source.map(|source| match package {
            Some(package) => format!("{package}/{source}"),
            None => source,
        });
        Some(Method {
            function: format!("{}.{name}", shown(&class)),
            file: file.unwrap_or_default(),
        })
    }
}

/// Whether a class has a method.
fn has(memory: &impl Memory, layout: &Layout, class: u64, method: u64) -> Option<bool> {
    let list = memory.word(class.wrapping_add(layout.methods))?;
    let length = memory.half(list.wrapping_add(layout.array_length))?;
    if length > MOST_METHODS {
        return None;
    }
    let mut bytes = vec![0; length as usize * 8];
    let read = memory.read(list.wrapping_add(layout.method_array), &mut bytes);
    let mut methods = bytes[..read].chunks_exact(8);
    Some(methods.any(|here| here == method.to_le_bytes()))
}

fn symbol(memory: &impl Memory, layout: &Layout, symbol: u64) -> Option<String> {
    let length = memory.short(symbol.wrapping_add(layout.symbol_length))?;
    let mut bytes = vec![0; usize::from(length).min(LONGEST_NAME)];
    let read = memory.read(symbol.wrapping_add(layout.symbol_body), &mut bytes);
    let whole = read == bytes.len() && read > 0;
    whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// A class as the virtual machine itself shows it: `a/b/C` is `a.b.C`; one without a name of its own, such as
/// `a/C$$Lambda+0x7f`, is `a.C$$Lambda/0x7f`.
fn shown(class: &str) -> String {
    let dotted = class.replace('/', ".");
    match dotted.rsplit_once('+') {
        Some((name, rest)) if rest.starts_with("0x") => format!("{name}/{rest}"),
        _ => dotted,
    }
}
