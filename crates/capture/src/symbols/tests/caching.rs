//! Names that are kept from one recording to the next.

use super::super::cache::evict;
use super::*;
use std::fs::File;
use std::os::unix::fs::{symlink, PermissionsExt};
use timesink_recording::words::SymbolSource;

/// The one file in the cache.
fn only_file(cache: &Path) -> PathBuf {
    let mut files = fs::read_dir(cache).expect("a folder");
    let file = files
        .next()
        .expect("a file")
        .expect("it can be listed")
        .path();
    assert!(files.next().is_none(), "more than one file");
    file
}

/// The second answer is the first one, comes out of the cache, and grows with what is asked for.
#[test]
fn the_second_answer_is_the_first() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let (here, main) = (folder.label("prog", "here"), folder.label("prog", "main"));
    let cache = folder.path("user/cache");
    let symbols = Symbols::with_debug_root(Some(cache.clone()), &folder.0);
    let first = symbols.resolve(&module(&program), &[here, 5, here]);
    assert_eq!(shown(&first.frames[0]), WHOLE);
    let mode = fs::metadata(&cache)
        .expect("it was made")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let size = fs::metadata(only_file(&cache)).expect("it is there").len();

    let second = symbols.resolve(&module(&program), &[5, here]);
    assert_eq!(second.frames[1], first.frames[0]);
    assert!(second.frames[0].is_empty());
    assert_eq!(second.source, first.source);
    assert_eq!(
        fs::metadata(only_file(&cache)).expect("it is there").len(),
        size
    );

    let third = symbols.resolve(&module(&program), &[main, here]);
    assert_eq!(
        &*third.frames[0].last().expect("a function").function,
        "main"
    );
    assert_eq!(third.frames[1], first.frames[0]);
    assert!(fs::metadata(only_file(&cache)).expect("it is there").len() > size);

    // Gone, and still known by its build id: the names can be from the cache only.
    let mut gone = module(&program);
    gone.build_id = super::super::elf::Elf::open(&program)
        .expect("a program")
        .build_id;
    fs::remove_file(&program).expect("it is there");
    let fourth = symbols.resolve(&gone, &[here]);
    assert_eq!(fourth.frames[0], first.frames[0]);
    assert!(fourth.fault.is_some());
}

/// A debug file that is installed later is noticed, and one that is removed too.
#[test]
fn better_files_are_noticed() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    folder.run(
        "objcopy --only-keep-debug prog prog.debug && strip --strip-debug prog
         objcopy --add-gnu-debuglink=prog.debug prog && mv prog.debug away",
    );
    let symbols = Symbols::with_debug_root(Some(folder.path("cache")), &folder.0);
    for (command, source) in [
        ("true", SymbolSource::Table),
        ("mv away prog.debug", SymbolSource::Debug),
        ("mv prog.debug away", SymbolSource::Table),
        ("strip prog", SymbolSource::None),
    ] {
        folder.run(command);
        for _ in 0..2 {
            let resolved = symbols.resolve(&module(&program), &[here]);
            assert_eq!(resolved.source, source, "after {command}");
        }
    }
}

/// A file in the cache that is damaged in any way changes no answer, and is written anew.
#[test]
fn a_damaged_cache_is_repaired() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    let cache = folder.path("cache");
    let symbols = Symbols::with_debug_root(Some(cache.clone()), &folder.0);
    let first = symbols.resolve(&module(&program), &[here]);
    let file = only_file(&cache);
    let good = fs::read(&file).expect("it is there");
    let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(|end| good[..end].to_vec()).collect();
    damaged.extend((0..good.len()).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    }));
    // What is whole but is not ours.
    for text in [
        "",
        "{}",
        "[[[[",
        r#"{"version":1,"sources":[],"texts":[],"places":[[1,9,[[7,7,null,true]]]]}"#,
    ] {
        damaged.push(zstd::encode_all(text.as_bytes(), 1).expect("it can be packed"));
    }
    for bytes in damaged {
        fs::write(&file, &bytes).expect("it can be written");
        let again = symbols.resolve(&module(&program), &[here]);
        assert_eq!(again.frames, first.frames);
    }
    assert_eq!(fs::read(&file).expect("it is there"), good);
}

/// Links in the cache are not followed: neither the folder, nor a file, nor the new file.
#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    let cache = folder.path("cache");
    let symbols = Symbols::with_debug_root(Some(cache.clone()), &folder.0);
    symbols.resolve(&module(&program), &[here]);
    let file = only_file(&cache);

    let victim = folder.path("victim");
    fs::write(&victim, "mine").expect("a file");
    fs::remove_file(&file).expect("it is there");
    symlink(&victim, &file).expect("a link");
    let new = format!(
        "{}.{}.names.new",
        file.file_stem().expect("a name").display(),
        std::process::id()
    );
    symlink(&victim, cache.join(new)).expect("a link");
    symbols.resolve(&module(&program), &[here]);
    assert_eq!(fs::read(&victim).expect("it is there"), b"mine");
    let kind = fs::symlink_metadata(only_file(&cache)).expect("it is there");
    assert!(kind.is_file(), "the link was replaced");

    fs::rename(&cache, folder.path("elsewhere")).expect("it can be renamed");
    fs::create_dir(folder.path("trap")).expect("a folder");
    symlink(folder.path("trap"), &cache).expect("a link");
    let resolved = symbols.resolve(&module(&program), &[here]);
    assert_eq!(
        shown(&resolved.frames[0]),
        WHOLE,
        "names are found without a cache"
    );
    let mut trap = fs::read_dir(folder.path("trap")).expect("a folder");
    assert!(
        trap.next().is_none(),
        "something was written through a link"
    );
}

/// When the folder has grown too large the oldest files go, and nothing that is not ours.
#[test]
fn the_oldest_go_first() {
    let folder = Folder::new();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    let names = [
        "aaaaaaaaaaaaaaaa.names",
        "bbbbbbbbbbbbbbbb.names",
        "cccccccccccccccc.names",
        "diary.names",
    ];
    for (age, name) in names.iter().enumerate() {
        let file = File::create(folder.path(name)).expect("a file");
        file.set_len(1000).expect("it can grow");
        let time = old + std::time::Duration::from_secs(age as u64);
        file.set_modified(time).expect("it can be aged");
    }
    let handle = timesink_recording::files::Folder::open(&folder.0).expect("a folder");
    evict(&handle, 3000, 1500).expect("it can be listed");
    assert!(
        folder.path(names[0]).exists(),
        "there was room for all three"
    );
    evict(&handle, 2000, 1500).expect("files can be removed");
    let left = names.map(|name| folder.path(name).exists());
    assert_eq!(left, [false, false, true, true]);
}
