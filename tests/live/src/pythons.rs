//! The Pythons that are installed, and the package for tags (sdk/python) built for one of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{output, root};

/// The versions that are looked for. The machine's own, 3.11 on Debian 12, must be there.
pub const PYTHON_VERSIONS: [&str; 7] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];
pub const PYTHON_OF_MACHINE: &str = "3.11";

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

/// Builds the package for tags below the folder, if this Python has headers.
pub fn build_python_tags(python: &Path, folder: &Path) -> bool {
    let ask = "import sysconfig; print(sysconfig.get_path('include'))";
    let include = output(Command::new(python).args(["-c", ask])).exits(0);
    let include = PathBuf::from(include.text().trim());
    if !include.join("Python.h").exists() {
        return false;
    }
    let source = root().join("sdk/python/timesink_tags");
    let built = folder.join("timesink_tags");
    std::fs::create_dir(&built).expect("the package's folder");
    let copied = std::fs::copy(source.join("__init__.py"), built.join("__init__.py"));
    copied.expect("the package");
    let mut build = Command::new("gcc");
    build.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    build.arg("-I").arg(root().join("sdk/c"));
    // Headers of others have warnings of their own.
    build.arg("-isystem").arg(include);
    build.arg("-o").arg(built.join("_tags.so"));
    output(build.arg(source.join("_tags.c"))).exits(0);
    true
}
