//! Takes the page, which `make web` makes from `web/`, into the binary.

use std::io::Write;
use std::path::Path;

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
    Ok(())
}
