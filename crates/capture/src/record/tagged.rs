//! Which processes have tags, told to the probes as their program is mapped, so that these tell which one a thread has.

use libbpf_rs::MapHandle;

use crate::address_space::{Change, FilePart, Image, Mapping, Space, Spaces};
use crate::probes::events;
use crate::record::recognised::Recognised;
use crate::tags_note;

pub struct TaggedProcesses {
    /// By the offset in the program.
    processes: Recognised<i64, events::ts_tags>,
    /// How many were told of.
    told: u64,
}

impl TaggedProcesses {
    /// Without a map none has.
    pub fn new(map: Option<MapHandle>) -> TaggedProcesses {
        TaggedProcesses {
            processes: Recognised::new(map),
            told: 0,
        }
    }

    /// Whether the probes are to look for tags.
    pub fn any(&self) -> bool {
        self.told > 0
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        if let Some((pid, mapping)) = self.processes.applied(change, spaces, |_| true) {
            self.look_at(pid, &mapping);
        }
        if let Change::Forked {
            pid, parent_pid, ..
        } = change
        {
            let parent = self.processes.process(*parent_pid).copied();
            if let Some(parent) = parent.filter(|_| pid != parent_pid) {
                self.tell(*pid, parent.offset);
            }
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.processes.has(pid) {
            return;
        }
        if let Some(&offset) = self.processes.look_into(&mapping.image, offset) {
            self.tell(pid, offset);
        }
    }

    fn tell(&mut self, pid: u32, offset: i64) {
        self.told += 1;
        let serial = self.told;
        let tags = events::ts_tags { offset, serial };
        self.processes.tell(pid, tags);
    }
}

/// Where each thread keeps its tags, if the file is a program that has some.
fn offset(image: &Image) -> Option<i64> {
    let elf = image.elf().filter(|elf| elf.is_program)?;
    let note = elf.tags_note?;
    let size = note.size.min(tags_note::NOTE_LENGTH);
    let note = image.read(FilePart { size, ..note }).ok()?;
    tags_note::offset_in_program(&note, elf.thread_local?)
}
