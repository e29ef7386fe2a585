//! Takes the page, which `make web` makes from `web/`, into the binary, and the small program that starts what `bench` measures.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::write::GzEncoder;
use flate2::Compression;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = Path::new("../../web/dist/index.html");
    println!("cargo::rerun-if-changed={}", page.display());
    let html = std::fs::read(page)
        .map_err(|fault| format!("web/dist/index.html: {fault}. `make web` makes it"))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&html)?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    std::fs::write(Path::new(&out).join("page.html.gz"), packed.finish()?)?;
    starter(Path::new(&out))
}

/// Compiled by who links us, too: no C library, one page.
fn starter(out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    const SOURCE: &str = "src/commands/bench/starter.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CC");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let made = Command::new(compiler)
        .args(["-Os", "-Wall", "-Wextra", "-Werror", "-static", "-nostdlib"])
        .args([
            "-ffreestanding",
            "-fno-stack-protector",
            "-fno-pie",
            "-no-pie",
        ])
        .args(["-fno-asynchronous-unwind-tables", "-s"])
        .args(["-Wl,--build-id=none", "-Wl,-z,noseparate-code"])
        .args(["-Wl,-z,noexecstack", "-o"])
        .args([&out.join("starter"), Path::new(SOURCE)])
        .status()
        .map_err(|fault| format!("cc: {fault}. gcc and libc6-dev are needed"))?;
    match made.success() {
        true => Ok(()),
        false => Err(format!("{SOURCE} cannot be compiled").into()),
    }
}
