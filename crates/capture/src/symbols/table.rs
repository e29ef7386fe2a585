//! Symbol tables: which function or variable an address is in, by the names that the linker left.

use super::elf::{text_at, Elf, Record};
use super::fault::Fault;
use std::ops::Range;

/// More symbols than that are not kept; browsers have about a million.
const MOST_SYMBOLS: usize = 8 << 20;
/// How many symbols before an address are looked at for one that reaches over it, and how many that
/// begin at the same place are compared.
const NEARBY: usize = 64;

const STT_NOTYPE: u8 = 0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_GLOBAL: u8 = 1;
const SHN_UNDEF: u16 = 0;
const SHN_ABS: u16 = 0xfff1;

struct Symbol {
    start: u64,
    /// Where it ends; where it starts, if it does not say.
    end: u64,
    name: u32,
    global: bool,
    /// A function, and not merely some label.
    function: bool,
}

/// What is looked for in a symbol table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    Functions,
    Variables,
}

/// The functions, or the variables, of one symbol table, by address.
#[derive(Default)]
pub(super) struct Table {
    symbols: Vec<Symbol>,
    names: Vec<u8>,
    code: Vec<Range<u64>>,
    /// Only some functions are in it, and others may lie behind one that does not say how long it is.
    partial: bool,
}

impl Table {
    /// Reads one of the two tables; an empty one if it is not there.
    pub(super) fn read(elf: &Elf, exports: bool, sought: Sought) -> Result<Table, Fault> {
        let Some(section) = elf.symbol_table(exports) else {
            return Ok(Table::default());
        };
        let bytes = elf.data(section)?;
        let names = match elf.sections.get(section.link as usize) {
            Some(names) => elf.data(names)?,
            None => Vec::new(),
        };
        let code = elf.sections.iter().filter(|section| section.is_code());
        let code: Vec<Range<u64>> = code
            .map(|section| section.address..section.address.saturating_add(section.size))
            .collect();
        let size = if elf.wide { 24 } else { 16 };
        let mut symbols: Vec<Symbol> = Vec::new();
        for record in bytes.chunks_exact(size) {
            let Some(symbol) = symbol(Record(record), elf.wide, sought) else {
                continue;
            };
            let is_sought = match sought {
                Sought::Functions => is_code(&symbol, &names, &code),
                Sought::Variables => symbol.end > symbol.start,
            };
            if !is_sought {
                continue;
            }
            if symbols.len() == MOST_SYMBOLS {
                return Err(Fault::TooLarge);
            }
            symbols.push(symbol);
        }
        symbols.sort_unstable_by_key(|symbol| symbol.start);
        Ok(Table {
            symbols,
            names,
            code,
            partial: exports,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The name of the function that an address is in: of those that reach over it the one that begins
    /// last; or else the nearest before it that does not say how long it is.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        let near = &self.symbols[after.saturating_sub(NEARBY)..after];
        let mut open: Option<&Symbol> = None;
        let mut closed = false;
        for symbol in near.iter().rev() {
            if address < symbol.end {
                return Some(self.best_name(symbol.start..symbol.end, symbol.function));
            }
            let sized = symbol.end > symbol.start;
            // Behind the end of a function nothing is known of what a symbol before it covers.
            closed |= sized && open.is_none();
            if !sized && !closed && open.is_none_or(|best| !best.function && symbol.function) {
                open = Some(symbol);
            }
        }
        let open = open.filter(|open| !self.partial || open.start == address)?;
        let section = self.code.iter().find(|code| code.contains(&address))?;
        let same = section.contains(&open.start);
        same.then(|| self.best_name(open.start..open.end, open.function))
    }

    /// The name of the variable that an address is in, and where that begins.
    pub(super) fn variable(&self, address: u64) -> Option<(&[u8], u64)> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        let near = self.symbols[after.saturating_sub(NEARBY)..after].iter();
        let symbol = near.rev().find(|symbol| address < symbol.end)?;
        let name = self.best_name(symbol.start..symbol.end, symbol.function);
        (!name.is_empty()).then_some((name, symbol.start))
    }

    /// Of the names for the same stretch, the one that people know: fewest underscores in front, then
    /// the one that others may use, then the shortest. The kernel's library says `__vdso_` before names
    /// that the C library has too: that comes first.
    fn best_name(&self, range: Range<u64>, function: bool) -> &[u8] {
        let from = self
            .symbols
            .partition_point(|symbol| symbol.start < range.start);
        let same = self.symbols[from..].iter().take(NEARBY).filter(|symbol| {
            symbol.start == range.start && symbol.end == range.end && symbol.function == function
        });
        let best = same.min_by_key(|symbol| {
            let name = self.text(symbol);
            let underscores = name.iter().take_while(|byte| **byte == b'_').count();
            // Those of C++ and Rust begin with one of their own, which says nothing.
            let mangled = super::demangle::is_mangled(name);
            (
                !name.starts_with(b"__vdso_"),
                if mangled { 0 } else { underscores },
                !symbol.global,
                name.len(),
                name,
            )
        });
        best.map_or(&[], |symbol| self.text(symbol))
    }

    /// A symbol's name, without the version that a library gives it.
    fn text(&self, symbol: &Symbol) -> &[u8] {
        let name = text_at(&self.names, symbol.name as usize);
        match name.iter().position(|byte| *byte == b'@') {
            Some(at) if at > 0 => &name[..at],
            _ => name,
        }
    }
}

fn symbol(record: Record, wide: bool, sought: Sought) -> Option<Symbol> {
    let info = record.u8(if wide { 4 } else { 12 })?;
    let place = record.u16(if wide { 6 } else { 14 })?;
    let kind = info & 0xf;
    let wanted = match sought {
        Sought::Functions => matches!(kind, STT_NOTYPE | STT_FUNC | STT_GNU_IFUNC),
        Sought::Variables => kind == STT_OBJECT,
    };
    if !wanted || place == SHN_UNDEF || place == SHN_ABS {
        return None;
    }
    let start = record.word(wide, 8, 4)?;
    let size = record.word(wide, 16, 8)?;
    Some(Symbol {
        start,
        end: start.saturating_add(size),
        name: record.u32(0)?,
        // A weak name is as good as a global one: `write` is weak, `__write` is not.
        global: info >> 4 >= STB_GLOBAL,
        function: matches!(kind, STT_FUNC | STT_GNU_IFUNC),
    })
}

/// Whether a symbol names code: functions do, labels do if they lie in code and are no notes of an
/// assembler ("$x", ".Lfoo").
fn is_code(symbol: &Symbol, names: &[u8], code: &[Range<u64>]) -> bool {
    let Some(first) = names.get(symbol.name as usize) else {
        return false;
    };
    if *first == 0 || *first == b'$' {
        return false;
    }
    if symbol.function {
        return true;
    }
    let label = names[symbol.name as usize..].starts_with(b".L");
    // Of files with a section for each function only the first are looked through: it is a label.
    !label
        && code
            .iter()
            .take(NEARBY)
            .any(|code| code.contains(&symbol.start))
}
