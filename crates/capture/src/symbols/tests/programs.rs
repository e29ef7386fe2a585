//! Programs as compilers make them.

use super::super::elf::Elf;
use super::*;
use timesink_recording::words::SymbolSource;

/// Function, file, line and the inlined calls are found, whatever version of DWARF it is, and however
/// its sections are packed.
#[test]
fn inlined_calls_are_found() {
    for (flags, then) in [
        ("-gdwarf-5", ""),
        ("-gdwarf-4", ""),
        ("-gdwarf-5 -no-pie", ""),
        ("-gdwarf-4 -ffunction-sections -Wl,--gc-sections", ""),
        ("-gdwarf-5", "zlib"),
        ("-gdwarf-4", "zlib-gnu"),
        ("-gdwarf-5", "zstd"),
    ] {
        let folder = Folder::new();
        let program = folder.build_c(flags);
        if !then.is_empty() {
            folder.run(&format!("objcopy --compress-debug-sections={then} prog"));
        }
        let here = folder.label("prog", "here");
        let resolved = resolve(&program, &[here, here + 1_000_000_000]);
        assert_eq!(shown(&resolved.frames[0]), WHOLE, "{flags} {then}");
        assert!(resolved.frames[1].is_empty(), "{flags} {then}");
        assert_eq!(resolved.source, SymbolSource::Debug);
        assert!(resolved.fault.is_none(), "{:?}", resolved.fault);
        let file = folder.path("prog.c").display().to_string();
        assert_eq!(*resolved.frames[0][0].file, *file);
    }
}

/// A 32-bit program is read as well as one of 64 bits.
#[test]
fn programs_of_32_bits_are_read() {
    let folder = Folder::new();
    fs::write(
        folder.path("small.c"),
        PROGRAM.replace("#include <stdio.h>", "int printf(const char *, ...);"),
    )
    .expect("a source file");
    // Without libraries for it, the program cannot be linked to one: it is laid out all the same.
    folder.run("gcc -m32 -g -O2 -fno-pic -c -o small.o small.c");
    folder.run("ld -m elf_i386 -e main --unresolved-symbols=ignore-all -o small small.o");
    let here = folder.label("small", "here");
    let resolved = resolve(&folder.path("small"), &[here]);
    let names: Vec<String> = WHOLE
        .iter()
        .map(|name| name.replace("prog.c", "small.c"))
        .collect();
    assert_eq!(shown(&resolved.frames[0]), names);
}

/// Without debug information there are the names of the symbol table, then those that are exported,
/// then nothing; and each says which.
#[test]
fn what_is_stripped_is_missing_and_said() {
    let folder = Folder::new();
    let program = folder.build_c("-rdynamic");
    let here = folder.label("prog", "here");
    for (strip, source, name) in [
        ("strip --strip-debug prog", SymbolSource::Table, "outer"),
        ("strip prog", SymbolSource::Exports, "outer"),
    ] {
        folder.run(strip);
        let resolved = resolve(&program, &[here]);
        assert_eq!(shown(&resolved.frames[0]), [name], "{strip}");
        assert_eq!(resolved.source, source);
    }
    let program = folder.build_c("-s");
    let resolved = resolve(&program, &[here]);
    assert!(resolved.frames[0].is_empty(), "{:?}", resolved.frames);
    assert_eq!(resolved.source, SymbolSource::None);
    assert!(resolved.fault.is_none());
}

/// A stub that calls into a library has the name of what it calls.
#[test]
fn stubs_are_named_by_what_they_call() {
    for flags in ["", "-fcf-protection=none", "-no-pie -Wl,-z,now"] {
        let folder = Folder::new();
        let program = folder.build_c(&format!("-s -fno-builtin {flags}"));
        let elf = Elf::open(&program).expect("a program");
        let stubs = [".plt.sec", ".plt", ".plt.got"].map(|name| elf.named(name.as_bytes()));
        let stubs = stubs.into_iter().flatten();
        let addresses: Vec<u64> = stubs
            .flat_map(|section| (section.address..section.address + section.size).step_by(8))
            .collect();
        let resolved = resolve(&program, &addresses);
        let found = resolved.frames.iter().flatten();
        let found: Vec<&str> = found.map(|frame| &*frame.function).collect();
        assert!(found.contains(&"printf@plt"), "{flags}: {found:?}");
        assert_eq!(resolved.source, SymbolSource::Exports);
    }
}

/// Names of C++ are as in the source: classes, templates, what has no name.
#[test]
fn names_of_cpp_are_whole() {
    let folder = Folder::new();
    let source = r#"#define HERE(name) __asm__ volatile(".globl " name "\n" name ": nop")
namespace shop {
template <typename T> struct Box {
	T value;
	__attribute__((noinline)) Box(T v) : value(v) { HERE("in_box"); }
	inline __attribute__((always_inline)) T twice() const { HERE("in_twice"); return value * 2; }
};
namespace {
__attribute__((noinline)) int hidden(int x) { HERE("in_hidden"); return Box<int>(x).twice() + 1; }
}
}
int main(int argc, char **)
{
	auto add = [argc](int x) __attribute__((noinline)) { HERE("in_lambda"); return x + argc; };
	return add(shop::hidden(argc));
}
"#;
    fs::write(folder.path("prog.cpp"), source).expect("a source file");
    folder.run("g++ -g -O2 -o prog prog.cpp");
    let labels = ["in_box", "in_twice", "in_hidden", "in_lambda"];
    let offsets = labels.map(|label| folder.label("prog", label));
    let expected = [
        vec!["shop::Box<int>::Box(int) prog.cpp:5"],
        vec![
            "+shop::Box<int>::twice() const prog.cpp:6",
            "shop::(anonymous namespace)::hidden(int) prog.cpp:9",
        ],
        vec!["shop::(anonymous namespace)::hidden(int) prog.cpp:9"],
        vec!["main::{lambda(int)#1}::operator()(int) const prog.cpp:14"],
    ];
    for flags in ["", "-gdwarf-4", "-flto"] {
        folder.run(&format!("g++ -g -O2 {flags} -o prog prog.cpp"));
        let offsets_now = labels.map(|label| folder.label("prog", label));
        assert!(!flags.is_empty() || offsets_now == offsets);
        let resolved = resolve(&folder.path("prog"), &offsets_now);
        for (frames, expected) in resolved.frames.iter().zip(&expected) {
            assert_eq!(&shown(frames), expected, "{flags}");
        }
    }
}

/// Names of Rust have their modules and no hashes.
#[test]
fn names_of_rust_are_whole() {
    let folder = Folder::new();
    let source = r#"#![allow(named_asm_labels)] mod shop {
    #[inline(always)]
    pub fn inner(x: u64) -> u64 {
        unsafe { std::arch::asm!(".globl in_inner", "in_inner: nop") };
        x + 1
    }
    #[inline(never)]
    pub fn outer(x: u64) -> u64 {
        inner(x) * 3
    }
}
fn main() {
    std::process::exit(shop::outer(std::env::args().count() as u64) as i32);
}
"#;
    fs::write(folder.path("prog.rs"), source).expect("a source file");
    for version in ["legacy", "v0"] {
        let mangling = match version {
            "v0" => "-C symbol-mangling-version=v0",
            _ => "",
        };
        folder.run(&format!("rustc -g -O {mangling} --crate-name prog prog.rs"));
        let here = folder.label("prog", "in_inner");
        let resolved = resolve(&folder.path("prog"), &[here]);
        assert_eq!(
            shown(&resolved.frames[0]),
            [
                "+prog::shop::inner prog.rs:4",
                "prog::shop::outer prog.rs:9"
            ],
            "{version}"
        );
    }
}

/// Assembler has functions that do not say how long they are, lines without a function, and notes
/// of the assembler among the symbols.
#[test]
fn assembler_is_named_by_its_symbols() {
    let folder = Folder::new();
    let source = "\t.globl _start\n_start:\tnop\n\"$x\":\tnop\n\t.globl second\n\t.type second, @function\nsecond:\tnop\n.Linside:\tnop\n\tret\n\t.data\nvalue:\t.long 1\n";
    fs::write(folder.path("prog.s"), source).expect("a source file");
    folder.run("gcc -g -nostdlib -static -no-pie -o prog prog.s");
    let start = folder.label("prog", "_start");
    let offsets = [start + 1, start + 3, start + 1000];
    let resolved = resolve(&folder.path("prog"), &offsets);
    assert_eq!(shown(&resolved.frames[0]), ["_start prog.s:3"]);
    assert_eq!(shown(&resolved.frames[1]), ["second prog.s:7"]);
    assert!(
        resolved.frames[2].is_empty(),
        "no symbol reaches out of its section"
    );
    folder.run("strip -g prog");
    let resolved = resolve(&folder.path("prog"), &offsets);
    assert_eq!(shown(&resolved.frames[1]), ["second"]);
}

/// Of several names for the same code, people know the one without underscores.
#[test]
fn the_usual_name_is_chosen() {
    let folder = Folder::new();
    let source = "int __impl(void) { return 1; }\n\
        int known(void) __attribute__((weak, alias(\"__impl\")));\n\
        int _other(void) __attribute__((alias(\"__impl\")));\n\
        int main(void) { return known(); }\n";
    fs::write(folder.path("prog.c"), source).expect("a source file");
    folder.run("gcc -O2 -o prog prog.c");
    let resolved = resolve(&folder.path("prog"), &[folder.label("prog", "__impl")]);
    assert_eq!(shown(&resolved.frames[0]), ["known"]);

    // A function that is chosen as the program starts goes by its own name, not by that of the choice.
    let source = "static int one(void) { return 1; }\n\
        static void *choose_one(void) { return one; }\n\
        int chosen(void) __attribute__((ifunc(\"choose_one\")));\n\
        int main(void) { return chosen(); }\n";
    fs::write(folder.path("prog.c"), source).expect("a source file");
    folder.run("gcc -O2 -o prog prog.c");
    let resolved = resolve(&folder.path("prog"), &[folder.label("prog", "chosen")]);
    assert_eq!(shown(&resolved.frames[0]), ["chosen"]);
}

/// A library exports some functions, and between them lie others: one that does not say how long it is names only where it
/// begins. (The system calls of musl were called `memset`.)
#[test]
fn an_export_without_a_size_names_no_others() {
    let folder = Folder::new();
    let source = ".globl exported\n.type exported, @function\nexported: nop\nret\n\
                  .type hidden, @function\nhidden: nop\nret\n";
    fs::write(folder.path("lib.s"), source).expect("a source file");
    folder.run("gcc -shared -nostdlib -o lib.so lib.s");
    let (exported, hidden) = (
        folder.label("lib.so", "exported"),
        folder.label("lib.so", "hidden"),
    );
    let offsets = [exported, exported + 1, hidden];
    let names = |resolved: Resolved| -> Vec<Vec<String>> {
        resolved.frames.iter().map(|frames| shown(frames)).collect()
    };
    let whole = names(resolve(&folder.path("lib.so"), &offsets));
    assert_eq!(whole, [["exported"], ["exported"], ["hidden"]]);
    folder.run("strip lib.so");
    let stripped = names(resolve(&folder.path("lib.so"), &offsets));
    assert_eq!(stripped, [vec!["exported".to_owned()], vec![], vec![]]);
}

/// A stripped Go program names its functions by the table that it has for its own unwinder; what is not Go's is nameless.
#[test]
fn a_table_of_go() {
    let folder = Folder::new();
    let source = ".text\nf: .fill 64, 1, 0x90\ng: .fill 64, 1, 0x90\nend:\n\
        .section .gopclntab, \"a\"\ntable: .long 0xfffffff1\n.byte 0, 0, 1, 8\n\
        .quad 2, 0, 0, names - table, 0, 0, programs - table, about - table\n\
        names: .asciz \"main.f\"\nsecond: .asciz \"main.(*T).g\"\nprograms: .byte 2, 64, 0\n.balign 4\n\
        about: .long 0, of_f - about, g - f, of_g - about, end - f\n\
        of_f: .fill 11, 4, 0\nof_g: .long g - f, second - names\n.fill 9, 4, 0\n";
    fs::write(folder.path("go.s"), source).expect("a source file");
    folder.run("gcc -shared -nostdlib -o go.so go.s");
    let (f, g) = (folder.label("go.so", "f"), folder.label("go.so", "g"));
    folder.run("strip go.so");
    let resolved = resolve(&folder.path("go.so"), &[f, g - 1, g, g + 63, g + 64, f - 1]);
    let names: Vec<_> = resolved.frames.iter().map(|f| shown(f).join(";")).collect();
    assert_eq!(
        names,
        ["main.f", "main.f", "main.(*T).g", "main.(*T).g", "", ""]
    );
    assert_eq!(resolved.source, SymbolSource::Table);
}
