//! Which processes carry goroutines of Go or tasks of tokio, told to the probes as their program is mapped, so that these tell which one
//! a thread is at work for.

use libbpf_rs::MapHandle;

use crate::address_space::{Change, Elf, FilePart, Image, Mapping, Space, Spaces};
use crate::probes::events;
use crate::record::recognised::Recognised;
use crate::{go_layout, symbols, tokio_word};

/// A compiler's words about itself are no longer.
const COMMENT_LENGTH: u64 = 4096;
/// What rustc's begin with.
const RUSTC: &[u8] = b"rustc version ";

pub struct Carriers {
    programs: Recognised<events::ts_go, events::ts_go>,
    /// Some process is one.
    any: bool,
}

impl Carriers {
    /// Without a map there are none.
    pub fn new(map: Option<MapHandle>) -> Carriers {
        Carriers {
            programs: Recognised::new(map),
            any: false,
        }
    }

    /// Whether the probes are to look for what they carry.
    pub fn any(&self) -> bool {
        self.any
    }

    /// A process was found running.
    pub fn seeded(&mut self, pid: u32, space: &Space) {
        space.mappings().iter().for_each(|m| self.look_at(pid, m));
    }

    /// What happened has been applied to the address spaces.
    pub fn applied(&mut self, change: &Change, spaces: &mut Spaces) {
        self.programs.forked(change);
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

/// How the probes find goroutines or tasks of this program, if that is known.
fn layout(image: &Image) -> Option<events::ts_go> {
    let elf = image.elf()?;
    match elf.go_build {
        Some(build) => {
            let size = build.size.min(go_layout::BUILD_LENGTH);
            go_layout::layout_by(&image.read(FilePart { size, ..build }).ok()?)
        }
        None => tokio(image, elf),
    }
}

/// The same of a program with tokio. Symbols are looked through only if rustc had a part in it.
fn tokio(image: &Image, elf: &Elf) -> Option<events::ts_go> {
    let storage = elf.thread_local.filter(|_| elf.is_program)?;
    let comment = elf.comment?;
    let size = comment.size.min(COMMENT_LENGTH);
    let comment = image.read(FilePart { size, ..comment }).ok()?;
    let by_rustc = comment.windows(RUSTC.len()).any(|words| words == RUSTC);
    let file = by_rustc.then(|| image.open().ok())??;
    let symbols = symbols::places(file, tokio_word::is_wanted).ok()?;
    let word = tokio_word::task_word(&symbols, storage)?;
    Some(events::ts_go {
        tokio: word.offset,
        tagged: word.tagged.into(),
        ..go_layout::NO_GO
    })
}
