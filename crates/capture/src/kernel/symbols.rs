//! The kernel's table of names, asked through programs of ours: the name at an address, and the address of the one
//! function that a probe has to know. Its text (`/proc/kallsyms`) takes tens of milliseconds to read and is read only where
//! the kernel cannot be asked.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::mem::size_of;

use libbpf_rs::ProgramInput;

use super::Kernel;
use crate::probes::{events, terminals};

const TEXT: &str = "/proc/kallsyms";

impl Kernel {
    /// The name of the kernel function at an address.
    pub fn symbol(&mut self, address: u64) -> Option<String> {
        let answer = self.ask("symbol", address)?;
        let name: Vec<u8> = answer[8..]
            .iter()
            .copied()
            .take_while(|&b| b != 0)
            .collect();
        let name = String::from_utf8(name).ok()?;
        // An address that belongs to no function comes back as a number.
        (!name.starts_with("0x")).then_some(name)
    }

    /// Tell the probe `terminals` where the kernel's function is whose calls it follows.
    pub(super) fn find_terminal_work(&mut self) -> Result<(), String> {
        let refused = || format!("the program {} could not be run", terminals::FIND_WORK);
        let address = |answer: [u8; ASK]| answer[..8].try_into().map_or(0, u64::from_ne_bytes);
        let found = self.ask(terminals::FIND_WORK, 0).ok_or_else(refused)?;
        if address(found) != 0 {
            return Ok(());
        }
        let listed = File::open(TEXT)
            .ok()
            .and_then(|text| address_in(BufReader::with_capacity(1 << 20, text), terminals::WORK))
            .ok_or_else(|| format!("the kernel does not say where its {} is", terminals::WORK))?;
        self.ask(terminals::FIND_WORK, listed).ok_or_else(refused)?;
        Ok(())
    }

    /// Run a program that takes a `ts_symbol`, which is its answer, too.
    fn ask(&mut self, program: &str, address: u64) -> Option<[u8; ASK]> {
        let mut ask = [0u8; ASK];
        ask[..8].copy_from_slice(&address.to_ne_bytes());
        let program = self.objects.program_mut(program)?;
        let input = ProgramInput {
            context_in: Some(&mut ask),
            ..ProgramInput::default()
        };
        program.test_run(input).ok()?;
        Some(ask)
    }
}

const ASK: usize = size_of::<events::ts_symbol>();

/// Where a function of the kernel itself is, in the text of its table: `ffffffff81246315 t name`. 0 is what it says to those
/// who may not know.
fn address_in(text: impl BufRead, wanted: &str) -> Option<u64> {
    for line in text.lines() {
        let line = line.ok()?;
        let mut words = line.split_ascii_whitespace();
        let (address, name) = (words.next(), words.nth(1));
        if name == Some(wanted) && words.next().is_none() {
            let address = u64::from_str_radix(address?, 16).ok()?;
            return (address != 0).then_some(address);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "ffffffff81246315 t scheduler.cold\n\
                         ffffffffc0001000 t flush_to_ldisc\t[other]\n\
                         ffffffff81776600 t flush_to_ldisc_now\n\
                         ffffffff81776540 t flush_to_ldisc\n";

    #[test]
    fn a_function_is_found_by_its_whole_name_and_in_the_kernel_itself() {
        let found = address_in(LINES.as_bytes(), "flush_to_ldisc");
        assert_eq!(found, Some(0xffff_ffff_8177_6540));
        assert_eq!(address_in(LINES.as_bytes(), "flush"), None);
    }

    #[test]
    fn an_address_that_is_kept_from_us_is_none() {
        let hidden = "0000000000000000 t flush_to_ldisc\n";
        assert_eq!(address_in(hidden.as_bytes(), "flush_to_ldisc"), None);
        assert_eq!(address_in(&b"nonsense\n\xff"[..], "flush_to_ldisc"), None);
    }
}
