//! Programs that see another part of the machine than timesink does, or whose files may not be read: stacks are as whole
//! as ever, and names are right or none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use timesink_live::{
    attempts, none_of, number, output, program, timesink, Folder, Recorded, Running,
};
use timesink_recording::tables::{Frame, Module, Process};
use timesink_recording::words::SymbolSource;

/// What is wrong with a recording of the program of known functions, named or not.
fn problems(recorded: &Recorded) -> Vec<String> {
    /// There are as many in the part of it that an attach sees.
    const LEAST: i64 = 30;

    let stacks = &recorded.json["stacks"];
    let (taken, complete) = (number(stacks, "taken"), number(stacks, "complete"));
    let mut problems = Vec::new();
    if taken < LEAST || complete * 100 < taken * 97 {
        problems.push(format!("{complete} of {taken} stacks are whole"));
    }
    problems
}

/// The functions of the program's own frames.
fn functions(recorded: &Recorded) -> Vec<String> {
    let module = module(recorded).module;
    let frames = recorded.rows::<Frame>().into_iter();
    let own = frames.filter(|f| f.module == Some(module));
    own.map(|f| f.function).collect()
}

fn module(recorded: &Recorded) -> Module {
    let modules = recorded.rows::<Module>();
    let copy = modules.into_iter().find(|m| m.path.ends_with("/copy"));
    copy.expect("the copy is a module")
}

fn has_names(recorded: &Recorded) -> bool {
    let chains = recorded.chains();
    ["in_cpu", "in_sleep", "in_pipe"].iter().all(|name| {
        let known = [name, "middle", "outer", "main"];
        chains.values().any(|c| c.complete && c.has(&known))
    })
}

fn record(folder: &Folder, script: &str) -> Recorded {
    let script = script.replace("{}", folder.path().to_str().unwrap());
    let command = ["sh", "-ec", &script];
    Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0)
}

/// In a mount namespace of its own, where the program's file is one that nobody outside ever sees, and outside lies
/// another at its place: unwound, not named by the other, and named later by a file with its build id.
#[test]
fn in_another_mount_namespace() {
    attempts(|| {
        let folder = Folder::new("mounts");
        let (inside, debug) = (folder.join("inside"), folder.join("debug"));
        fs::create_dir(&inside).expect("a folder");
        fs::create_dir(&debug).expect("a folder");
        fs::copy("/bin/true", inside.join("copy")).expect("another program");
        fs::copy(program("stacks"), debug.join("any name")).expect("a copy");
        let recorded = record(
            &folder,
            "unshare -m sh -ec 'mount -t tmpfs none {}/inside; cp \"{}/debug/any name\" {}/inside/copy; {}/inside/copy {}'",
        );
        let mut problems = problems(&recorded);
        if functions(&recorded).iter().any(|f| !f.is_empty()) && !has_names(&recorded) {
            problems.push(format!("wrong names: {:?}", functions(&recorded)));
        }
        let mut symbolize = Command::new(timesink());
        symbolize.arg("symbolize").arg(&recorded.path);
        let ran = output(symbolize.arg("--debug-dir").arg(&debug)).exits(0);
        if !has_names(&Recorded::open(&recorded.path, ran)) {
            problems.push("symbolize found no names".into());
        }
        none_of(&problems)
    });
}

/// In a process namespace of its own, where it is process 1: the kernel's numbers are told, names are found.
#[test]
fn in_another_process_namespace() {
    attempts(|| {
        let folder = Folder::new("processes");
        fs::copy(program("stacks"), folder.join("copy")).expect("a copy");
        let recorded = record(&folder, "unshare -p -f {}/copy {}");
        let mut problems = problems(&recorded);
        if !has_names(&recorded) {
            problems.push(format!("names are missing: {:?}", functions(&recorded)));
        }
        if recorded.rows::<Process>().iter().any(|p| p.pid == 1) {
            problems.push("a process has its number of inside".into());
        }
        none_of(&problems)
    });
}

/// The same, for a process that runs already.
#[test]
fn attached_in_another_process_namespace() {
    attempts(|| {
        let folder = Folder::new("attached");
        fs::copy(program("stacks"), folder.join("copy")).expect("a copy");
        let mut unshare = Command::new("unshare");
        unshare.args(["-p", "-f"]).arg(folder.join("copy"));
        let program = Running::start(unshare.arg(folder.path()));
        std::thread::sleep(std::time::Duration::from_millis(100));
        let children = format!("/proc/{0}/task/{0}/children", program.pid());
        let child = fs::read_to_string(children).expect("its children");
        let path = folder.join("r.timesink");
        let mut attach = Command::new(timesink());
        attach.args(["attach", "-q", "-o"]).arg(&path);
        let ran = output(attach.arg(child.trim())).exits(0);
        program.end().exits(0);
        let recorded = Recorded::open(&path, ran);
        let chains = recorded.chains();
        // The first thread may be done with its part by now.
        let known = ["in_sleep", "middle", "outer", "thread_main"];
        let mut problems = problems(&recorded);
        if !chains.values().any(|c| c.complete && c.has(&known)) {
            problems.push(format!("names are missing: {:?}", functions(&recorded)));
        }
        none_of(&problems)
    });
}

/// A program that its user may execute but not read: recorded under sudo, it runs, and is unwound with root's rights. Its
/// names are read with the user's, who may not have them, and who finds nothing of them in the recording.
#[test]
fn of_a_program_that_may_not_be_read() {
    attempts(|| {
        let folder = Folder::of_plain_user("unreadable");
        let copy = folder.join("copy");
        fs::copy(program("stacks"), &copy).expect("a copy");
        // Without a build id nobody can have its names from before.
        let mut change = Command::new("objcopy");
        change.args(["--remove-section", ".note.gnu.build-id"]);
        output(change.arg(&copy)).exits(0);
        fs::set_permissions(&copy, Permissions::from_mode(0o111)).expect("its rights");
        let path = folder.join("r.timesink");
        let mut run = Command::new(timesink());
        run.args(["run", "-q", "-o"])
            .arg(&path)
            .arg("--")
            .arg(&copy);
        run.arg(folder.path()).current_dir(folder.path());
        run.env("SUDO_UID", "65534").env("SUDO_GID", "65534");
        let ran = output(run.env("SUDO_USER", "nobody")).exits(0);
        let recorded = Recorded::open(&path, ran);
        let mut problems = problems(&recorded);
        let symbols = module(&recorded).symbols;
        if symbols != SymbolSource::None || functions(&recorded).iter().any(|f| !f.is_empty()) {
            problems.push(format!("names from {symbols}"));
        }
        none_of(&problems)
    });
}
