//! Which versions of Python are on the machine.

use std::path::PathBuf;
use std::process::Command;

/// The versions that are looked for. The machine's own, 3.11 on Debian 12, must be there.
pub const PYTHONS: [&str; 7] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];
pub const PYTHON: &str = "3.11";

/// Where a Python of this version is: in one of the usual places, or where pyenv puts it.
pub fn python(version: &str) -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let pyenv = std::fs::read_dir(home.join(".pyenv/versions"));
    let own = pyenv.into_iter().flatten().flatten();
    let own = own.map(|folder| folder.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [PathBuf::from("/usr/bin")].into_iter();
    let folders = folders.chain(std::env::split_paths(&path)).chain(own);
    let mut found = folders.map(|folder| folder.join(format!("python{version}")));
    // What stands in the path may be a script that says there is no such version.
    found.find(|python| {
        let asked = Command::new(python).arg("--version").output();
        let says = asked.map(|asked| String::from_utf8_lossy(&asked.stdout).into_owned());
        says.is_ok_and(|says| says.starts_with(&format!("Python {version}.")))
    })
}
