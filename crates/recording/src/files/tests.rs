//! What the room for files promises, tried with what can be made without root.

use super::*;
use crate::error::ErrorKind;
use std::io::Write;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("timesink-files-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a folder");
        Scratch(path)
    }

    fn open(&self) -> Folder {
        Folder::open(&self.0).expect("it opens")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn mode(&self, name: &str) -> u32 {
        let about = std::fs::symlink_metadata(self.path(name)).expect(name);
        about.permissions().mode() & 0o7777
    }

    fn is_there(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kind<T>(result: crate::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// A file has its name when it is whole, and not before: with and without a name until then.
#[test]
fn what_is_half_has_no_name() {
    let scratch = Scratch::new();
    let on_the_way = || NewFile::on_the_way(&scratch.open(), "a".into());
    for make in [
        &|| NewFile::at(&scratch.path("a")),
        &on_the_way as &dyn Fn() -> _,
    ] {
        let mut file = make().expect("a file");
        file.write_all(b"half").expect("written");
        assert!(!scratch.is_there("a"));
        drop(file);
        assert!(scratch.open().names().expect("names").is_empty());
        let mut file = make().expect("a file");
        file.write_all(b"whole").expect("written");
        file.keep().expect("it stays");
        assert_eq!(scratch.open().names().expect("names"), ["a"]);
        assert_eq!(std::fs::read(scratch.path("a")).expect("it"), b"whole");
        assert_eq!(scratch.mode("a"), 0o600);
        std::fs::remove_file(scratch.path("a")).expect("removed");
        // Somebody else's that comes there meanwhile stays.
        let file = make().expect("a file");
        std::fs::write(scratch.path("a"), "theirs").expect("written");
        assert_eq!(kind(file.keep()), Some(ErrorKind::Exists));
        assert_eq!(std::fs::read(scratch.path("a")).expect("it"), b"theirs");
        assert_eq!(scratch.open().names().expect("names"), ["a"]);
        std::fs::remove_file(scratch.path("a")).expect("removed");
    }
}

/// What is made is for its owner only, and never in place of something that is there, be it a link to nowhere.
#[test]
fn what_is_new_is_private_and_new() {
    let scratch = Scratch::new();
    Folder::make(&scratch.path("a")).expect("a folder");
    assert_eq!(scratch.mode("a"), 0o700);
    let file = NewFile::at(&scratch.path("a/b")).expect("a file");
    file.keep().expect("it stays");
    assert_eq!(scratch.mode("a/b"), 0o600);
    symlink("/nowhere/at/all", scratch.path("link")).expect("a link");
    for name in ["a", "a/b", "link"] {
        let path = scratch.path(name);
        assert_eq!(kind(Folder::make(&path)), Some(ErrorKind::Exists), "{name}");
        assert_eq!(kind(NewFile::at(&path)), Some(ErrorKind::Exists), "{name}");
    }
    for path in ["/", "..", ""] {
        assert_eq!(kind(place(Path::new(path))), Some(ErrorKind::Io), "{path}");
    }
}

/// A file that is not kept is gone; one that somebody else put in its place stays.
#[test]
fn a_half_is_gone() {
    let scratch = Scratch::new();
    let half = || NewFile::within(&scratch.open(), "half").expect("a file");
    drop(half());
    assert!(!scratch.is_there("half"));
    let file = half();
    std::fs::rename(scratch.path("half"), scratch.path("away")).expect("moved");
    std::fs::write(scratch.path("half"), "theirs").expect("a file");
    drop(file);
    assert!(scratch.is_there("half") && scratch.is_there("away"));
}

/// Own links and `..` on the way to something new lead where they lead; links in a circle end.
#[test]
fn the_way_to_a_place() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("a/b")).expect("folders");
    symlink("a/b", scratch.path("relative")).expect("a link");
    symlink(scratch.path("a"), scratch.path("absolute")).expect("a link");
    symlink("circle", scratch.path("circle")).expect("a link");
    for (path, at) in [
        ("relative/../one", "a/one"),
        ("absolute/b/./two", "a/b/two"),
        ("a/../three/", "three"),
    ] {
        let file = NewFile::at(&scratch.path(path)).expect(path);
        file.keep().expect("it stays");
        assert!(scratch.is_there(at), "{path}");
    }
    assert!(place(&scratch.path("circle/four")).is_err());
    assert_eq!(
        kind(place(&scratch.path("missing/five"))),
        Some(ErrorKind::NotFound)
    );
    assert!(place(&scratch.path("a/one/six")).is_err());
}

/// Only regular files are opened inside of a folder: no link, no pipe (which would never answer), no folder.
#[test]
fn only_plain_files_are_read() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("plain"), "x").expect("a file");
    symlink(scratch.path("plain"), scratch.path("link")).expect("a link");
    std::fs::create_dir(scratch.path("folder")).expect("a folder");
    let pipe = std::process::Command::new("mkfifo")
        .arg(scratch.path("pipe"))
        .status();
    assert!(pipe.expect("mkfifo").success());
    let folder = scratch.open();
    assert!(folder.open_file("plain").is_ok());
    for name in ["link", "folder", "pipe"] {
        let kind = kind(folder.open_file(name));
        assert_eq!(kind, Some(ErrorKind::NotARecording), "{name}");
    }
    assert!(folder.folder_within("link").is_err());
}

/// What is replaced is the old or the new, what was left on the way is no hindrance, and a link goes and not what it
/// leads to.
#[test]
fn replacing() {
    let scratch = Scratch::new();
    let folder = scratch.open();
    std::fs::write(scratch.path("theirs"), "theirs").expect("a file");
    symlink("theirs", scratch.path("f")).expect("a link");
    symlink("theirs", scratch.path("f.new")).expect("a link");
    folder.replace("f", "f.new", b"one").expect("replaced");
    folder.replace("f", "f.new", b"two").expect("replaced");
    let read = |name| std::fs::read_to_string(scratch.path(name)).expect(name);
    assert_eq!((read("f"), read("theirs")), ("two".into(), "theirs".into()));
    assert!(!scratch.is_there("f.new"));
}

/// What is cleared goes as deep as what we make, and not through links.
#[test]
fn clearing() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("new/folder")).expect("folders");
    std::fs::create_dir(scratch.path("kept")).expect("a folder");
    std::fs::write(scratch.path("kept/file"), "x").expect("a file");
    std::fs::write(scratch.path("new/folder/f"), "x").expect("a file");
    symlink(scratch.path("kept"), scratch.path("new/folder/link")).expect("a link");
    let new = scratch.open().folder_within("new").expect("it is there");
    new.clear().expect("it is empty now");
    assert!(new.names().expect("names").is_empty());
    assert!(scratch.is_there("kept/file"));
    std::fs::create_dir_all(scratch.path("new/1/2/3/4/5/6")).expect("folders");
    assert!(new.clear().is_err(), "this is nothing of ours");
}

/// What takes another's place gets its rights, but none that do something to who executes it.
#[test]
fn dressed() {
    let scratch = Scratch::new();
    let folder = scratch.open();
    for (name, mode) in [("old", 0o6754), ("new", 0o600)] {
        let mut file = NewFile::within(&folder, name).expect("a file");
        file.write_all(b"x").expect("written");
        let rights = std::fs::Permissions::from_mode(mode);
        file.file().set_permissions(rights).expect("rights");
        file.keep().expect("kept");
    }
    let about = folder.about_within("old").expect("it is there");
    folder.dress("new", &about).expect("dressed");
    assert_eq!(scratch.mode("new"), 0o754);
}
