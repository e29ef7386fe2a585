//! Which processes carry goroutines of Go or tasks of tokio, told to the probes as their program is mapped, so that these tell which one
//! a thread is at work for.

use std::os::unix::fs::MetadataExt;

use libbpf_rs::MapHandle;

use crate::address_space::{Change, Elf, FilePart, Image, Mapping, Space, Spaces};
use crate::probes::events;
use crate::record::recognised::Recognised;
use crate::{go_layout, symbols, tokio_word};

/// A compiler's words about itself are no longer.
const COMMENT_LENGTH: u64 = 4096;
/// What rustc's begin with.
const RUSTC: &[u8] = b"rustc version ";

/// What the probes are told of a program, or why nothing.
type Known = Result<events::ts_go, String>;

pub struct Carriers {
    programs: Recognised<Known, events::ts_go>,
    /// Some process is one.
    any: bool,
    /// Why tasks of some programs are not seen, which is yet to be told.
    not_seen: Vec<String>,
    /// timesink's own program, which has tokio for its assistant's sake: the recorded one is a copy of timesink until it starts what was asked.
    own: Option<Stamp>,
}

/// What a file is known by: inode, size, and when it was changed.
type Stamp = (u64, u64, i64);

fn own_stamp() -> Option<Stamp> {
    let own = std::fs::metadata("/proc/self/exe").ok()?;
    Some((own.ino(), own.size(), own.mtime()))
}

impl Carriers {
    /// Without a map there are none.
    pub fn new(map: Option<MapHandle>) -> Carriers {
        Carriers {
            programs: Recognised::new(map),
            any: false,
            not_seen: Vec::new(),
            own: own_stamp(),
        }
    }

    /// Whether the probes are to look for what they carry.
    pub fn any(&self) -> bool {
        self.any
    }

    /// What the probes were told of a process.
    pub fn layout(&mut self, pid: u32) -> Option<events::ts_go> {
        self.programs.process(pid).copied()
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
        let is_own = self.own.is_some() && mapping.image.stamp() == self.own;
        if is_own || self.programs.has(pid) {
            return;
        }
        let is_new = self.programs.file(&mapping.image).is_none();
        match self.programs.look_into(&mapping.image, layout) {
            Some(&Ok(layout)) => {
                self.programs.tell(pid, layout);
                self.any = true;
            }
            Some(Err(why)) if is_new => self.not_seen.push(why.clone()),
            _ => {}
        }
    }

    /// Why tasks of some programs are not seen, as far as it was not asked before.
    pub fn not_seen(&mut self) -> Vec<String> {
        std::mem::take(&mut self.not_seen)
    }
}

/// How the probes find goroutines or tasks of this program, if that is known.
fn layout(image: &Image) -> Option<Known> {
    let elf = image.elf()?;
    match elf.go_build {
        Some(build) => {
            let size = build.size.min(go_layout::BUILD_LENGTH);
            go_layout::layout_by(&image.read(FilePart { size, ..build }).ok()?).map(Ok)
        }
        None => tokio(image, elf),
    }
}

/// The same of a program with tokio. Symbols are looked through only if rustc had a part in it.
fn tokio(image: &Image, elf: &Elf) -> Option<Known> {
    let storage = elf.thread_local.filter(|_| elf.is_program)?;
    let comment = elf.comment?;
    let size = comment.size.min(COMMENT_LENGTH);
    let comment = image.read(FilePart { size, ..comment }).ok()?;
    let by_rustc = comment.windows(RUSTC.len()).any(|words| words == RUSTC);
    let file = by_rustc.then(|| image.open().ok())??;
    let symbols = symbols::places(file, tokio_word::is_wanted).ok()?;
    if let Some(word) = tokio_word::task_word(&symbols, storage) {
        return Some(Ok(events::ts_go {
            tokio: word.offset,
            tagged: word.tagged.into(),
            ..go_layout::NO_GO
        }));
    }
    let source = symbols::text_behind(image.open().ok()?, tokio_word::SOURCE);
    let why = match (source, symbols.is_empty()) {
        (Ok(Some(_)), true) => "the program has no symbols that tell where it keeps them",
        (_, false) => "the program's code does not tell where it keeps them",
        _ => return None,
    };
    Some(Err(format!("no tasks of tokio: {why}")))
}
