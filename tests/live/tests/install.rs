//! `make install` and `make uninstall`, below a folder of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use timesink_live::{output, root, timesink, Folder};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn installed(below: &Folder) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(below.path(), &mut found);
    found
}

/// What is installed can be read by everybody, has a manual page for each command, and is gone after uninstall. Installing
/// again replaces it, also where somebody calls sudo.
#[test]
fn what_is_installed_can_be_removed() {
    let below = Folder::new("install");
    let make = |goal: &str, sudo: bool| {
        let mut command = Command::new("make");
        command.arg("-s").arg("-C").arg(root()).arg(goal);
        command.arg(format!("DESTDIR={}", below.path().display()));
        command.arg(format!("TIMESINK={}", timesink().display()));
        // Cargo tells its children of a make that it was started by.
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        if sudo {
            command.env("SUDO_UID", "65534").env("SUDO_GID", "65534");
        }
        output(&mut command).exits(0);
    };
    make("install", false);
    make("install", true);
    let found = installed(&below);
    for file in &found {
        let mode = fs::metadata(file).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o444, 0o444, "{}", file.display());
    }
    let page = |name: &str| {
        let path = format!("usr/local/share/man/man1/{name}.1");
        let text = fs::read_to_string(below.join(&path));
        text.unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let help = output(Command::new(timesink()).arg("--help"))
        .exits(0)
        .text();
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help");
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 10, "{help}");
    for command in commands {
        assert!(page(&format!("timesink-{command}")).contains("SYNOPSIS"));
    }
    assert!(page("timesink").contains("pidof nginx"), "the examples");
    make("uninstall", true);
    assert_eq!(installed(&below), Vec::<PathBuf>::new());
}
