//! Compiles the BPF object with clang, measures how much stack it uses, lists the fields of the kernel that it reads, and
//! generates the Rust side of `events.h`.

mod fields;
mod stack_use;

use bindgen::callbacks::{DeriveInfo, ParseCallbacks};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let probes = Path::new("src/probes");
    println!("cargo:rerun-if-changed={}", probes.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=build");
    compile(probes, &out);
    let object = std::fs::read(out.join("timesink.bpf.o")).expect("clang wrote it");
    measure_stack(&object, &out);
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).expect("OUT_DIR can be written");
    };
    write("fields.rs", fields::table(&object));
    write("types.rs", fields::types(&object));
    generate(&probes.join("events.h"), &out.join("events.rs"));
}

fn compile(probes: &Path, out: &Path) {
    // libbpf-sys says where it keeps the headers of the libbpf that it links.
    let include = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
    let system = format!(
        "/usr/include/{}-linux-gnu",
        env::var("CARGO_CFG_TARGET_ARCH").unwrap()
    );
    let mut clang = Command::new(env::var("CLANG").unwrap_or_else(|_| "clang".into()));
    clang
        .args([
            "-g",
            "-O2",
            "-mcpu=v3",
            "-target",
            "bpf",
            "-D__TARGET_ARCH_x86",
        ])
        .args([
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Wno-sign-compare",
            "-Werror",
        ])
        .arg("-I")
        .arg(probes)
        .arg("-I")
        .arg(include)
        .arg("-I")
        .arg(system)
        .arg("-c")
        .arg(probes.join("timesink.bpf.c"))
        .arg("-o")
        .arg(out.join("timesink.bpf.o"));
    let status = clang.status().unwrap_or_else(|e| {
        panic!("clang is needed to build the probes and cannot be run ({e}): apt-get install clang")
    });
    assert!(status.success(), "clang could not compile the probes");
}

/// What each program takes of the stack stands in `stack.txt` beside the object.
fn measure_stack(object: &[u8], out: &Path) {
    let chains = stack_use::deepest_chains(object);
    let lines: String = chains.iter().map(|chain| format!("{chain}\n")).collect();
    std::fs::write(out.join("stack.txt"), lines).expect("OUT_DIR can be written");
    let deepest = chains.first().expect("there are programs");
    assert!(
        deepest.bytes < stack_use::MOST,
        "the probes use too much stack (the limit is {} bytes; kernels refuse 512): {deepest}",
        stack_use::MOST
    );
}

fn generate(header: &Path, to: &Path) {
    bindgen::Builder::default()
        .header(header.to_str().expect("the path is plain"))
        .allowlist_item("ts_.*|TS_.*")
        .prepend_enum_name(false)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .derive_default(true)
        .layout_tests(false)
        .parse_callbacks(Box::new(PlainBytes))
        .generate()
        .expect("events.h is plain C")
        .write_to_file(to)
        .expect("OUT_DIR can be written");
}

/// All structures are plain: made of any bytes, and read as bytes. What is not, such as one with padding, does not compile.
#[derive(Debug)]
struct PlainBytes;

impl ParseCallbacks for PlainBytes {
    fn add_derives(&self, _: &DeriveInfo<'_>) -> Vec<String> {
        ["FromBytes", "IntoBytes", "Immutable"]
            .map(|name| format!("zerocopy::{name}"))
            .to_vec()
    }
}
