//! Files of which facts are kept: what the caller may not read is not looked into, whatever a program has open.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use timesink_live::{output, Folder};
use timesink_recording::tables::Fact;
use timesink_recording::words::FactKind;
use timesink_recording::Recording;

use crate::files::sudo;

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
