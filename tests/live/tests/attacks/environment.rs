//! Files of which facts are kept: what the caller may not read is not looked into, whatever a program has open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use timesink_live::{output, Folder, Running};
use timesink_recording::tables::Fact;
use timesink_recording::words::FactKind;
use timesink_recording::Recording;

use crate::files::{root, sudo};

/// A program of the caller's has a file of root's open by its path alone, which needs no right to read it, and puts a pipe where
/// another file was.
#[test]
fn a_program_has_a_file_open_that_its_user_may_not_read() {
    let folder = Folder::of_plain_user("secret-file");
    let secret = folder.join("secret.conf");
    fs::write(&secret, "the key is S3cret\n").expect("a file");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("chmod");
    let script = "import os\n\
        os.open('secret.conf', os.O_PATH)\n\
        open('own.conf', 'w').write('plain\\n'); open('own.conf').read()\n\
        open('gone.conf', 'w').write('x'); open('gone.conf').read()\n\
        os.unlink('gone.conf'); os.mkfifo('gone.conf')\n";
    let mut run = sudo(folder.path());
    run.args(["run", "-q", "--keep-files", "-o", "r.timesink", "--"]);
    output(run.args(["/usr/bin/python3", "-c", script])).exits(0);
    let recording = Recording::open(folder.join("r.timesink")).expect("the recording");
    let facts: Vec<Fact> = recording.rows().expect("facts");
    let told = |name: &str| -> Vec<&str> {
        let of = facts
            .iter()
            .filter(|fact| fact.kind == FactKind::File && fact.key.contains(name));
        of.map(|fact| fact.value.as_str()).collect()
    };
    assert_eq!(told("secret.conf"), ["size=18"]);
    assert!(told("own.conf").contains(&"plain\n"), "{facts:?}");
    assert!(
        told("gone.conf")
            .iter()
            .all(|value| !value.contains("crc32")),
        "{facts:?}"
    );
}

/// A server's command line names a file that not everybody may read: that it names it does not mean that it may read it.
#[test]
fn a_server_names_a_file_of_root() {
    let folder = Folder::of_plain_user("named-file");
    let (secret, open) = (folder.join("secret.conf"), folder.join("open.conf"));
    for (file, mode) in [(&secret, 0o600), (&open, 0o644)] {
        fs::write(file, "the key is S3cret\n").expect("a file");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("chmod");
    }
    let mut server = Command::new("sh");
    server.args(["-c", "sleep 30; true"]);
    let mut server = Running::start(server.arg(&secret).arg(&open));
    let mut run = root(folder.path());
    let pid = server.pid().to_string();
    run.args(["run", "-q", "--keep-files", "--with", &pid]);
    output(run.args(["-o", "r.timesink", "--", "true"])).exits(0);
    server.signal(libc::SIGKILL);
    server.status();
    let recording = Recording::open(folder.join("r.timesink")).expect("the recording");
    let facts: Vec<Fact> = recording.rows().expect("facts");
    let files = facts.iter().filter(|fact| fact.kind == FactKind::File);
    let told = |name: &str| files.clone().any(|fact| fact.key.contains(name));
    assert!(told("open.conf"), "{facts:?}");
    assert!(!told("secret.conf"), "{facts:?}");
}
