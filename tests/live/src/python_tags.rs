//! The package for tags (sdk/python), built for one of the Pythons that are here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{output, root};

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
