//! The files that code is mapped from, opened while they can be, and kept: a program that is replaced
//! or deleted while it runs can still be unwound. The kernel's own small library, and code that no
//! file is behind, are images too.
//!
//! Paths and files come from programs that are not to be trusted, and timesink runs as root: only regular files are
//! opened for reading, nothing is opened that could block or act, and a file counts only if it is the one that was mapped.

use std::collections::HashMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use super::elf::{self, Elf, ElfError, FilePart, Source};
use super::{vdso, BuildId, FileNumber, Mapped};
use crate::reader::{FileFacts, Reader, Theirs};

/// So many files are held open; others are found again by their path, if they are still there.
const MOST_HELD: usize = 256;
/// With more images than these, those that no process has mapped are forgotten.
const MOST_KEPT: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// A file. Where it could not be read, `problem` says why.
    File,
    /// The kernel's small library in every process.
    Vdso,
    /// Code without a file, or from one that is no executable: a runtime made it.
    Jit,
}

/// Where code is from.
#[derive(Debug)]
pub struct Image {
    serial: u32,
    kind: ImageKind,
    path: PathBuf,
    build_id: Option<BuildId>,
    elf: Option<Elf>,
    problem: Option<String>,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    None,
    Memory(&'static [u8]),
    File {
        held: Option<Theirs>,
        identity: FileIdentity,
        /// As the kernel numbers the file system.
        device: (u32, u32),
        reader: Option<Arc<Reader>>,
    },
}

/// A file as it was when it was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    fn of(file: &Theirs) -> io::Result<FileIdentity> {
        Ok(FileIdentity::from(&file.about()?))
    }
}

impl From<&FileFacts> for FileIdentity {
    fn from(about: &FileFacts) -> FileIdentity {
        FileIdentity {
            device: about.device,
            inode: about.inode,
            size: about.size,
            modified: about.modified,
        }
    }
}

fn replaced() -> io::Error {
    io::Error::other("another file has taken its place")
}

impl Image {
    fn new(kind: ImageKind, path: &Path) -> Image {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Image {
            serial: NEXT.fetch_add(1, Ordering::Relaxed),
            kind,
            path: path.to_path_buf(),
            build_id: None,
            elf: None,
            problem: None,
            bytes: Bytes::None,
        }
    }

    /// A number that no other image has.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// As the process that first mapped it sees it, or what the kernel calls the memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// Inode, size and time of change of the file that was mapped: what it is known by without a build id.
    pub fn stamp(&self) -> Option<(u64, u64, i64)> {
        match &self.bytes {
            Bytes::File { identity, .. } => {
                Some((identity.inode, identity.size, identity.modified.0))
            }
            _ => None,
        }
    }

    /// Why it could not be read.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn elf(&self) -> Option<&Elf> {
        self.elf.as_ref()
    }

    /// The file itself, as it was when it was mapped, even if it has been deleted since.
    pub(crate) fn open(&self) -> io::Result<Theirs> {
        let Bytes::File { identity, .. } = &self.bytes else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let (file, now) = self.as_it_is()?;
        // Also a file that we hold can have been written to.
        let same = now == *identity;
        same.then_some(file).ok_or_else(replaced)
    }

    /// The file, and what it is now.
    fn as_it_is(&self) -> io::Result<(Theirs, FileIdentity)> {
        let file = match &self.bytes {
            Bytes::File {
                held: Some(file), ..
            } => file.try_clone()?,
            Bytes::File {
                reader: Some(reader),
                device,
                ..
            } => reader.named(&self.path, *device)?,
            _ => Theirs::named_here(&self.path)?,
        };
        let now = FileIdentity::of(&file)?;
        Ok((file, now))
    }

    /// Whether the file still is what it was when it was first seen.
    fn is_unchanged(&self) -> bool {
        let Bytes::File { held, identity, .. } = &self.bytes else {
            return false;
        };
        let now = match held {
            Some(file) => FileIdentity::of(file),
            None => self.as_it_is().map(|(_, now)| now),
        };
        now.is_ok_and(|now| now == *identity)
    }

    /// The bytes of a part.
    pub fn read(&self, part: FilePart) -> Result<Vec<u8>, ElfError> {
        let range = part.offset..part.offset.saturating_add(part.size);
        match &self.bytes {
            Bytes::None => Err(ElfError::Unreadable),
            Bytes::Memory(bytes) => elf::read_part(*bytes, range, elf::TABLE_LIMIT),
            Bytes::File { identity, .. } => {
                let file = self.open().map_err(|_| ElfError::Unreadable)?;
                elf::read_part(&(&file, identity.size), range, elf::TABLE_LIMIT)
            }
        }
    }

    fn understand(mut self, source: &(impl Source + ?Sized)) -> Image {
        match Elf::parse(source) {
            Ok(elf) => {
                self.build_id = elf.build_id.as_deref().and_then(BuildId::new);
                self.elf = Some(elf);
            }
            // Some runtimes map code that they made from a file of their own.
            Err(ElfError::NotElf) => self.kind = ImageKind::Jit,
            Err(e) => self.problem = Some(e.to_string()),
        }
        self
    }

    /// The kernel's library.
    fn vdso() -> Image {
        let image = Image::new(ImageKind::Vdso, Path::new(vdso::NAME));
        let Some(bytes) = vdso::own() else {
            return image;
        };
        let mut image = image.understand(bytes);
        image.bytes = Bytes::Memory(bytes);
        image
    }
}

/// All images, each once.
#[derive(Debug, Default)]
pub struct Images {
    by_file: HashMap<FileIdentity, Arc<Image>>,
    /// As the kernel numbers the files: in most mappings is what others have mapped before.
    by_number: HashMap<FileNumber, Arc<Image>>,
    /// Without a file, or not readable.
    by_name: HashMap<(PathBuf, FileNumber), Arc<Image>>,
    /// The kernel's library, as 64-bit processes have it.
    vdso: Option<Arc<Image>>,
    held: usize,
    /// Who opens and reads files; without one they are opened and read here.
    reader: Option<Arc<Reader>>,
}

impl Images {
    pub fn reading_through(reader: Option<Arc<Reader>>) -> Images {
        Images {
            reader,
            ..Images::default()
        }
    }

    /// The image of a mapping; what cannot be opened is an image with a problem.
    pub fn find(&mut self, mapped: &Mapped) -> Arc<Image> {
        if self.by_file.len() + self.by_name.len() > MOST_KEPT {
            self.forget_unused();
        }
        if let Some(image) = self.by_number.get(&mapped.file) {
            if image.is_unchanged() {
                return image.clone();
            }
        }
        let name = mapped.path.as_os_str().as_bytes();
        // Mappings without a file are called `[heap]`, `//anon` and the like, or nothing.
        if !name.starts_with(b"/") || name.starts_with(b"//") {
            let is_vdso = name == vdso::NAME.as_bytes();
            if is_vdso && vdso::is_as_ours(mapped) {
                let vdso = self.vdso.get_or_insert_with(|| Image::vdso().into());
                return vdso.clone();
            }
            let kind = match is_vdso {
                true => ImageKind::Vdso,
                false => ImageKind::Jit,
            };
            return self.named(mapped, || Image::new(kind, &mapped.path));
        }
        let path = without_mark(&mapped.path);
        match self.opened(mapped, &path) {
            Ok(image) => {
                if mapped.file.inode != 0 {
                    self.by_number.insert(mapped.file, image.clone());
                }
                image
            }
            Err(e) => self.named(mapped, || Image {
                problem: Some(e.to_string()),
                ..Image::new(ImageKind::File, &path)
            }),
        }
    }

    fn named(&mut self, mapped: &Mapped, make: impl FnOnce() -> Image) -> Arc<Image> {
        let name = (mapped.path.clone(), mapped.file);
        let image = self.by_name.entry(name).or_insert_with(|| make().into());
        image.clone()
    }

    fn opened(&mut self, mapped: &Mapped, path: &Path) -> io::Result<Arc<Image>> {
        let file = match &self.reader {
            Some(reader) => reader.mapped(mapped, path)?,
            None => Theirs::mapped_here(mapped, path)?,
        };
        let identity = FileIdentity::of(&file)?;
        if let Some(image) = self.by_file.get(&identity) {
            return Ok(image.clone());
        }
        let image = Image::new(ImageKind::File, path);
        let mut image = image.understand(&(&file, identity.size));
        let held = (self.held < MOST_HELD).then_some(file);
        self.held += usize::from(held.is_some());
        image.bytes = Bytes::File {
            held,
            identity,
            device: mapped.file.device,
            reader: self.reader.clone(),
        };
        let image = Arc::new(image);
        self.by_file.insert(identity, image.clone());
        Ok(image)
    }

    fn forget_unused(&mut self) {
        self.by_number.clear();
        self.by_file.retain(|_, image| Arc::strong_count(image) > 1);
        self.by_name.retain(|_, image| Arc::strong_count(image) > 1);
        let is_held =
            |image: &&Arc<Image>| matches!(image.bytes, Bytes::File { held: Some(_), .. });
        self.held = self.by_file.values().filter(is_held).count();
    }
}

/// The kernel marks the path of a file that is gone.
fn without_mark(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let plain = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    PathBuf::from(std::ffi::OsStr::from_bytes(plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// A copy of a program, which is gone after the test.
    struct Program(PathBuf);

    impl Program {
        fn new(name: &str) -> Program {
            let name = format!("timesink-image-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::copy("/bin/true", &path).unwrap();
            Program(path)
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn mapped(path: &Path) -> Mapped {
        let about = std::fs::metadata(path).unwrap();
        Mapped {
            pid: 0,
            start: 0,
            length: 4096,
            offset: 0,
            file: FileNumber {
                device: (0, 0),
                inode: about.ino(),
                generation: 0,
            },
            path: path.to_path_buf(),
        }
    }

    /// One file is one image, until something else is written into it.
    #[test]
    fn rewritten_in_place() {
        let program = Program::new("rewritten");
        let mut images = Images::default();
        let first = images.find(&mapped(&program.0));
        assert!(first.elf().is_some());
        let again = images.find(&mapped(&program.0));
        assert_eq!(again.serial(), first.serial());
        std::fs::copy("/bin/ls", &program.0).unwrap();
        let second = images.find(&mapped(&program.0));
        assert_ne!(second.serial(), first.serial());
        assert_ne!(second.build_id(), first.build_id());
    }

    /// The kernel's library is the same image in all 64-bit processes; of that of a 32-bit one nothing is known, so that
    /// nothing in it is taken for something else.
    #[test]
    fn a_vdso_of_32_bits_is_another() {
        let at = |start| Mapped {
            pid: 0,
            start,
            length: 8192,
            offset: 0,
            file: FileNumber::default(),
            path: PathBuf::from(vdso::NAME),
        };
        let mut images = Images::default();
        let narrow = images.find(&at(0xf7fc_1000));
        let wide = images.find(&at(0x7ffd_f7fc_1000));
        assert_eq!(images.find(&at(0x7f00_0000_0000)).serial(), wide.serial());
        assert!(wide.elf().is_some() && wide.build_id().is_some());
        assert_eq!(narrow.kind(), ImageKind::Vdso);
        assert!(narrow.elf().is_none() && narrow.build_id().is_none());
    }

    /// A file that has taken over the number of the one that was mapped is told from it, if the file system counts.
    #[test]
    fn number_of_another() {
        let program = Program::new("number");
        let generation = crate::reader::generation_of(&std::fs::File::open(&program.0).unwrap());
        let mut mapped = mapped(&program.0);
        mapped.file.generation = generation.unwrap_or(1);
        assert!(Images::default().find(&mapped).problem().is_none());
        mapped.file.generation ^= 6;
        let problem = Images::default().find(&mapped).problem().map(String::from);
        assert_eq!(problem.is_some(), generation.is_some(), "{problem:?}");
    }
}
