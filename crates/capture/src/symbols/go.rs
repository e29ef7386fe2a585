//! Names of functions in a Go program without a symbol table: its own unwinder's table has them, too.

use super::elf::Elf;
use super::fault::Fault;
use crate::go_table::{Code, GoTable};

pub(super) struct Names {
    bytes: Vec<u8>,
    table: GoTable,
}

impl Names {
    /// None of a program that is not Go.
    pub(super) fn read(elf: &Elf) -> Result<Option<Names>, Fault> {
        let section = elf.named(b".gopclntab");
        let Some(section) = section.or_else(|| elf.named(b".data.rel.ro.gopclntab")) else {
            return Ok(None);
        };
        let bytes = elf.data(section)?;
        let module = elf.data_named(b".go.module")?;
        let code = Code {
            module: Some(&module),
            text: elf.named(b".text").map(|text| (text.address, text.size)),
        };
        let table = GoTable::read(&|from, size| piece(&bytes, from, size), &code);
        Ok(table.map(|table| Names { bytes, table }))
    }

    pub(super) fn name(&self, address: u64) -> Option<Vec<u8>> {
        let piece = |from, size| piece(&self.bytes, from, size);
        let function = self.table.function(&piece, address)?;
        let name = self.table.name(&piece, &function)?;
        (!name.is_empty()).then_some(name)
    }
}

fn piece(bytes: &[u8], from: u64, size: u64) -> Option<Vec<u8>> {
    let rest = bytes.get(usize::try_from(from).ok()?..)?;
    let size = usize::try_from(size).map_or(rest.len(), |size| size.min(rest.len()));
    Some(rest[..size].to_vec())
}
