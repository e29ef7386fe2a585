//! Rules about what a database does for who asks it, on PostgreSQL.

use std::process::Command;

use timesink_live::{output, pair_of, root, Folder};

/// The program's two forms, each with a database that is made before.
#[track_caller]
fn pair_with_database(rule: &str, what: &str) {
    let script = root().join("tests/live/programs/rules/database.py");
    let python = "/usr/bin/python3";
    // The server runs as nobody, who must reach it.
    let folder = Folder::of_plain_user("database");
    let (script, folder) = (script.to_str().unwrap(), folder.path().to_str().unwrap());
    output(Command::new(python).args([script, "prepare", folder])).exits(0);
    let run = |form| [python, script, what, folder, form];
    pair_of(rule, &[], &run("fires"), &run("silent"));
}

/// A row that is locked while another server is asked, and one that is locked when that has answered.
#[test]
fn database_lock() {
    pair_with_database("database-lock", "lock");
}

/// Rows found without an index, and with one.
#[test]
fn table_scan() {
    pair_with_database("table-scan", "scan");
}
