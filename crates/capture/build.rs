//! Compiles the BPF object with clang and generates the Rust side of `events.h`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let probes = Path::new("src/probes");
    println!("cargo:rerun-if-changed={}", probes.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    compile(probes, &out);
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

fn generate(header: &Path, to: &Path) {
    bindgen::Builder::default()
        .header(header.to_str().expect("the path is plain"))
        .allowlist_item("ts_.*|TS_.*")
        .prepend_enum_name(false)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .derive_default(true)
        .layout_tests(false)
        .generate()
        .expect("events.h is plain C")
        .write_to_file(to)
        .expect("OUT_DIR can be written");
}
