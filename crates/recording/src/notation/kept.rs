//! Text that is generated and kept beside the code (snapshots, pages of docs), so that a change of it is seen.

use std::path::Path;

/// Whether what is kept is to be written anew: `UPDATE=1 cargo test`.
fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Compares a text with the one that is kept, and panics where they differ; `UPDATE=1` keeps the new one.
#[track_caller]
pub fn compare_with_kept(file: &Path, text: &str) {
    if is_update() {
        let folder = file.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        return std::fs::write(file, text).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    let lines = kept.lines().zip(text.lines());
    let line = 1 + lines.take_while(|(kept, new)| kept == new).count();
    let file = file.display();
    assert!(
        kept == text,
        "{file} differs from line {line} on; UPDATE=1 keeps this instead:\n{text}"
    );
}
