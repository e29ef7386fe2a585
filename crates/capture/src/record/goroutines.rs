//! Which processes are Go, told to the probes as their program is mapped, so that these tell which goroutine a thread is at work for.

use libbpf_rs::MapHandle;

use crate::address_space::{Change, FilePart, Image, Mapping, Space, Spaces};
use crate::go_layout;
use crate::probes::events;
use crate::record::recognised::Recognised;

pub struct Goroutines {
    programs: Recognised<events::ts_go, events::ts_go>,
    /// Some process is one.
    any: bool,
}

impl Goroutines {
    /// Without a map nothing is Go.
    pub fn new(map: Option<MapHandle>) -> Goroutines {
        Goroutines {
            programs: Recognised::new(map),
            any: false,
        }
    }

    /// Whether the probes are to look for goroutines.
    pub fn any(&self) -> bool {
        self.any
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        if let Some((pid, mapping)) = self.programs.applied(change, spaces, |_| true) {
            self.look_at(pid, &mapping);
        }
    }

    fn look_at(&mut self, pid: u32, mapping: &Mapping) {
        if self.programs.has(pid) {
            return;
        }
        if let Some(&layout) = self.programs.look_into(&mapping.image, layout) {
            self.programs.tell(pid, layout);
            self.any = true;
        }
    }
}

/// How goroutines are laid out by this file, if it is a program of Go of a version that is known.
fn layout(image: &Image) -> Option<events::ts_go> {
    let build = image.elf()?.go_build?;
    let size = build.size.min(go_layout::BUILD_LENGTH);
    go_layout::layout_by(&image.read(FilePart { size, ..build }).ok()?)
}
