//! Debug information that lies elsewhere.

use super::super::elf::Elf;
use super::super::{hex, Fault};
use super::*;
use timesink_recording::words::SymbolSource;

/// A program, stripped, and beside it what was stripped from it.
fn split(folder: &Folder) -> (PathBuf, u64) {
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    folder.run("objcopy --only-keep-debug prog prog.debug && strip prog");
    (program, here)
}

/// A debug file that the program names is found beside it, in `.debug`, and below the folder for all of
/// them; one with another content is not taken.
#[test]
fn a_linked_debug_file_is_found() {
    let folder = Folder::new();
    let (program, here) = split(&folder);
    folder.run("objcopy --add-gnu-debuglink=prog.debug prog");
    let root = folder.path("root");
    let below = root.join(folder.0.strip_prefix("/").expect("a whole path"));
    let places = [folder.0.clone(), folder.path(".debug"), below];
    folder.run("mv prog.debug kept");
    for place in places {
        fs::create_dir_all(&place).expect("a folder");
        fs::copy(folder.path("kept"), place.join("prog.debug")).expect("a copy");
        let symbols = Symbols::with_debug_root(None, &root);
        let resolved = symbols.resolve(&module(&program), &[here]);
        assert_eq!(shown(&resolved.frames[0]), WHOLE, "{}", place.display());
        // The same, but for what no reader looks at.
        let mut other = fs::read(folder.path("kept")).expect("it is there");
        other.push(0);
        fs::write(place.join("prog.debug"), other).expect("it can be written");
        let resolved = symbols.resolve(&module(&program), &[here]);
        assert_eq!(resolved.source, SymbolSource::None, "its checksum is wrong");
        fs::remove_file(place.join("prog.debug")).expect("it is there");
    }
}

/// A debug file is found by build id, and not believed if that is merely its name.
#[test]
fn a_debug_file_is_found_by_build_id() {
    let folder = Folder::new();
    let (program, here) = split(&folder);
    let id = hex(&Elf::open(&program).expect("a program").build_id);
    assert_eq!(id.len(), 40);
    let place = folder.path("root/.build-id").join(&id[..2]);
    fs::create_dir_all(&place).expect("a folder");
    let place = place.join(format!("{}.debug", &id[2..]));
    fs::copy(folder.path("prog.debug"), &place).expect("a copy");
    let symbols = Symbols::with_debug_root(None, &folder.path("root"));
    let resolved = symbols.resolve(&module(&program), &[here]);
    assert_eq!(shown(&resolved.frames[0]), WHOLE);

    folder.run("gcc -g -O1 -o other prog.c");
    fs::copy(folder.path("other"), &place).expect("a copy");
    let resolved = symbols.resolve(&module(&program), &[here]);
    assert_eq!(resolved.source, SymbolSource::None);
}

/// A program that was replaced since it ran, or that is no program or no file, has no names, and why is told.
#[test]
fn another_file_is_not_taken_for_it() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    let mut module = module(&program);
    let symbols = Symbols::with_debug_root(None, &folder.0);
    module.build_id = Elf::open(&program).expect("a program").build_id;
    assert_eq!(
        symbols.resolve(&module, &[here]).source,
        SymbolSource::Debug
    );
    module.build_id[0] ^= 1;
    let resolved = symbols.resolve(&module, &[here]);
    assert_eq!(resolved.source, SymbolSource::None);
    assert!(matches!(resolved.fault, Some(Fault::Replaced)));

    module.build_id.clear();
    folder.run("mkfifo pipe");
    for (path, wanted) in [
        ("pipe", "it is not a regular file"),
        (".", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        ("prog.c", "it is not an ELF file for this machine"),
        (
            "nowhere",
            "it cannot be read: No such file or directory (os error 2)",
        ),
    ] {
        module.path = folder.path(path);
        let fault = symbols
            .resolve(&module, &[here])
            .fault
            .map(|fault| fault.to_string());
        assert_eq!(fault.as_deref(), Some(wanted), "{path}");
    }
}

/// The small symbol table that Fedora packs into its programs names what is not exported.
#[test]
fn a_packed_symbol_table_is_read() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    folder.run(
        "objcopy --only-keep-debug prog full && strip --strip-debug full -o mini && xz -k mini
         strip prog && objcopy --add-section .gnu_debugdata=mini.xz prog",
    );
    let resolved = resolve(&program, &[here]);
    assert_eq!(shown(&resolved.frames[0]), ["outer"]);
    assert_eq!(resolved.source, SymbolSource::Table);
}

/// What `dwz` moved into a file that several programs share is read from there.
#[test]
fn a_shared_part_is_read() {
    let folder = Folder::new();
    let program = folder.build_c("");
    let here = folder.label("prog", "here");
    folder.run(
        "sed 's/main(int argc/main(int argc2/; s/outer(argc)/outer(argc2)/' prog.c > second.c
         gcc -g -O2 -o second second.c
         dwz -l none -L none -m shared.debug prog second",
    );
    let elf = Elf::open(&program).expect("a program");
    assert!(
        elf.named(b".gnu_debugaltlink").is_some(),
        "dwz found nothing to share"
    );
    let resolved = resolve(&program, &[here]);
    assert_eq!(shown(&resolved.frames[0]), WHOLE);
}
