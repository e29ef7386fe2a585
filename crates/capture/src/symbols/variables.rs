//! Variables of a module by address: from its symbol tables alone.

use super::table::{Sought, Table};
use super::{debug_files, demangle, full_table, open, quietly, Fault, Module, Symbols};

impl Symbols {
    /// The variables at some offsets, which count as the symbol table of the module does, each with how far behind its beginning
    /// that is: `registry+0x28`. None where no table knows one.
    pub fn variables(&self, module: &Module, offsets: &[u64]) -> Vec<Option<String>> {
        let tables = quietly(|| self.tables_of_variables(module)).unwrap_or_default();
        let name = |offset: &u64| {
            let named = tables.iter().find_map(|table| table.variable(*offset))?;
            Some(told(named, *offset))
        };
        offsets.iter().map(name).collect()
    }

    fn tables_of_variables(&self, module: &Module) -> Result<Vec<Table>, Fault> {
        let elf = open(module)?;
        let candidates = debug_files::candidates(&self.places, module, Some(&elf));
        let debug = debug_files::open(&candidates, &elf.build_id, Some(&elf));
        let debug = debug.as_ref().map(|(debug, _)| debug);
        let full = full_table(debug, &elf, Sought::Variables)?;
        Ok(vec![full, Table::read(&elf, true, Sought::Variables)?])
    }
}

/// A variable's name and how far behind its beginning an offset is. What compilers append to the names of a function's own, `.12`, is
/// in no source.
fn told((name, start): (&[u8], u64), offset: u64) -> String {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let (own, number) = name.split_at(name.len() - digits.count());
    let own = own
        .strip_suffix(b".")
        .filter(|own| !own.is_empty() && !number.is_empty());
    let name = demangle::demangled(own.unwrap_or(name));
    match offset.saturating_sub(start) {
        0 => name,
        behind => format!("{name}+{behind:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a compiler appends is left out, and what lies within a variable has a distance.
    #[test]
    fn names_of_variables() {
        let told = |name: &str, offset| told((name.as_bytes(), 0x40), offset);
        assert_eq!(told("table_mu", 0x40), "table_mu");
        assert_eq!(told("lock.12", 0x40), "lock");
        assert_eq!(told("lock12", 0x48), "lock12+0x8");
        assert_eq!(told(".12", 0x40), ".12");
        assert_eq!(told("_ZN5Store2muE", 0x50), "Store::mu+0x10");
    }
}
