//! Which processes have tags, told to the probes as their program and its libraries are mapped, so that these tell which one a
//! thread has.

use libbpf_rs::MapHandle;

use crate::address_space::{Change, FilePart, Image, Mapping, Space, Spaces};
use crate::go_layout::{self, Labels};
use crate::probes::events;
use crate::record::recognised::Recognised;
use crate::tags_note::{self, TagPlaces};

/// Where a file has tags, and Go's labels.
type Places = (TagPlaces, Option<Labels>);

pub struct TaggedProcesses {
    processes: Recognised<Places, events::ts_tags>,
    /// How often one was told of.
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
        if let Some((pid, mapping)) = self.processes.applied_to_any(change, spaces, |_| true) {
            self.look_at(pid, &mapping);
        }
        if let Change::Forked {
            pid, parent_pid, ..
        } = change
        {
            let parent = self.processes.process(*parent_pid).copied();
            if let Some(parent) = parent.filter(|_| pid != parent_pid) {
                self.tell_anew(*pid, parent);
            }
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        let Some(&(found, labels)) = self.processes.look_into(&mapping.image, places) else {
            return;
        };
        let known = self.processes.process(pid).copied();
        let mut tags = known.unwrap_or(NONE);
        let mut is_new = known.is_none();
        if let Some(offset) = found.in_program.filter(|_| tags.offset == 0) {
            tags.offset = offset;
            is_new = true;
        }
        if let Some(labels) = labels.filter(|_| tags.labels == 0) {
            tags.labels = labels.offset;
            tags.in_map = labels.in_map.into();
            is_new = true;
        }
        let library = found.by_library.map(|at| at.wrapping_add(mapping.moved()));
        if let Some(library) = library.filter(|at| !tags.library.contains(at)) {
            add(&mut tags.library, library);
            is_new = true;
        }
        if is_new && known.is_some() {
            // The texts that were told of it are told.
            self.processes.tell(pid, tags);
        } else if is_new {
            self.tell_anew(pid, tags);
        }
    }

    fn tell_anew(&mut self, pid: u32, tags: events::ts_tags) {
        self.told += 1;
        let serial = self.told;
        self.processes.tell(pid, events::ts_tags { serial, ..tags });
    }
}

const NONE: events::ts_tags = events::ts_tags {
    serial: 0,
    offset: 0,
    library: [0; events::TS_TAG_LIBRARIES as usize],
    labels: 0,
    in_map: 0,
};

/// One library more. Nobody tells which of them are unloaded: where there are too many, the one that was loaded first is not looked
/// at any more.
fn add(libraries: &mut [u64], library: u64) {
    if !libraries.contains(&0) {
        libraries.rotate_left(1);
        libraries[libraries.len() - 1] = 0;
    }
    if let Some(free) = libraries.iter_mut().find(|at| **at == 0) {
        *free = library;
    }
}

/// Where the file has tags and labels, if it has any.
fn places(image: &Image) -> Option<Places> {
    let found = (tags(image).unwrap_or_default(), labels(image));
    (found != (TagPlaces::default(), None)).then_some(found)
}

fn tags(image: &Image) -> Option<TagPlaces> {
    let elf = image.elf()?;
    let note = elf.tags_note?;
    let size = note.size.min(tags_note::NOTE_LENGTH);
    let notes = image.read(FilePart { size, ..note }).ok()?;
    let storage = elf.thread_local.filter(|_| elf.is_program);
    Some(TagPlaces::of(&notes, note.address, storage))
}

fn labels(image: &Image) -> Option<Labels> {
    let build = image.elf()?.go_build?;
    let size = build.size.min(go_layout::BUILD_LENGTH);
    go_layout::labels_by(&image.read(FilePart { size, ..build }).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_libraries_are_kept() {
        let mut libraries = [0; 3];
        for library in [1, 2, 3] {
            add(&mut libraries, library);
        }
        assert_eq!(libraries, [1, 2, 3]);
        add(&mut libraries, 4);
        assert_eq!(libraries, [2, 3, 4]);
    }
}
