//! Recording the whole machine.

use std::process::{Child, Command, Stdio};

use timesink_live::{attempts, none_of, output, timesink, Folder, Group, Recorded, Running};
use timesink_recording::tables::{Process, Span, Thread};
use timesink_recording::words::{SchedulingPolicy, State};

/// Ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Started by somebody who is not timesink, as all of a machine is.
fn start(command: &[&str]) -> Ends {
    let mut command_line = Command::new(command[0]);
    command_line.args(&command[1..]).stdout(Stdio::null());
    Ends(command_line.spawn().expect("a program"))
}

/// What runs until the end of a recording is on its own CPU, not on that of timesink, which goes over all threads then: a machine of two
/// CPUs had one of them busy for 108 % of the time.
#[test]
fn who_runs_at_the_end_is_on_its_own_cpu() {
    let on = |cpu: &str| start(&["taskset", "-c", cpu, "bash", "-c", "while :; do :; done"]);
    let spinners = [(0, on("0")), (1, on("1"))];
    let folder = Folder::new("machine-cpus");
    let path = folder.join("machine.timesink");
    let mut command = Command::new(timesink());
    command.args(["machine", "--for", "1s", "-o"]).arg(&path);
    let recorded = Recorded::open(&path, output(&mut command).exits(0));
    let threads = recorded.rows::<Thread>();
    let spans = recorded.rows::<Span>();
    for (cpu, spinner) in spinners {
        let its = |thread: &&Thread| thread.tid == spinner.0.id();
        let thread = threads.iter().find(its).expect("its thread").thread;
        let on_cpu = spans
            .iter()
            .filter(|span| span.thread == thread && span.state == State::Cpu);
        let processors: Vec<u32> = on_cpu.map(|span| span.processor).collect();
        assert!(!processors.is_empty());
        assert!(processors.iter().all(|&one| one == cpu), "{processors:?}");
    }
}

/// Who waits for a CPU when the recording ends has waited by the kernel's count, too: it adds that only once it is over, and a machine
/// with starving threads was told not to be trusted.
#[test]
fn who_still_waits_for_a_cpu_at_the_end() {
    let spins = "while :; do :; done";
    let _busy = [(); 2].map(|()| start(&["taskset", "-c", "0", "bash", "-c", spins]));
    // The kernel's idle class gets some milliseconds of each second beside them.
    let starving = start(&["taskset", "-c", "0", "chrt", "-i", "0", "bash", "-c", spins]);
    let folder = Folder::new("machine-starving");
    let path = folder.join("machine.timesink");
    let mut command = Command::new(timesink());
    command.args(["machine", "--for", "1s", "-o"]).arg(&path);
    let recorded = Recorded::open(&path, output(&mut command).exits(0));
    let threads = recorded.rows::<Thread>();
    let its = |thread: &&Thread| thread.tid == starving.0.id();
    let thread = threads.iter().find(its).expect("its thread");
    assert!(thread.ready_ns > 500_000_000, "{thread:?}");
    let apart = thread.ready_ns.abs_diff(thread.kernel_ready_ns);
    assert!(apart < thread.ready_ns / 20, "{thread:?}");
    assert!(
        recorded.json["doubt"].is_null(),
        "{}",
        recorded.json["doubt"]
    );
}

/// How the kernel schedules threads: real-time, idle and bound ones; and the screen says who waits because of them.
#[test]
fn priorities_and_affinities() {
    let spins = "while :; do :; done";
    let bursts = "while :; do for ((i = 0; i < 30000; i++)); do :; done; sleep 0.02; done";
    let real_time = start(&[
        "taskset", "-c", "0", "chrt", "-f", "7", "bash", "-c", bursts,
    ]);
    let idle = start(&["taskset", "-c", "0", "chrt", "-i", "0", "bash", "-c", spins]);
    let free = start(&["sleep", "100"]);
    let folder = Folder::new("machine-priorities");
    let path = folder.join("machine.timesink");
    let mut command = Command::new(timesink());
    command.args(["machine", "--for", "1s", "-o"]).arg(&path);
    let ran = output(&mut command).exits(0);
    let screen = ran.err.clone();
    assert!(screen.contains("PRIORITIES AND AFFINITIES"), "{screen}");
    assert!(screen.contains("bash: real-time (FIFO 7)"), "{screen}");
    let recorded = Recorded::open(&path, ran);
    let threads = recorded.rows::<Thread>();
    let scheduling = |program: &Ends| {
        let its = |thread: &&Thread| thread.tid == program.0.id();
        let thread = threads.iter().find(its).expect("its thread");
        let allowed = thread.allowed_processors.clone().expect("its CPUs");
        let policy = thread.policy.expect("its policy");
        (policy, thread.realtime_priority, allowed)
    };
    let status = std::fs::read_to_string("/proc/self/status").expect("our status");
    let all = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let all = all.expect("our CPUs").trim().to_owned();
    let zero = || "0".to_owned();
    assert_eq!(
        scheduling(&real_time),
        (SchedulingPolicy::Fifo, Some(7), zero())
    );
    assert_eq!(scheduling(&idle), (SchedulingPolicy::Idle, Some(0), zero()));
    assert_eq!(scheduling(&free), (SchedulingPolicy::Other, Some(0), all));
}

/// What is wrong with a recording of the machine. Where one of its own programs has tasks that cannot be known, that is said, and is no fault.
fn unsound(recorded: &Recorded) -> Vec<String> {
    let lost = recorded.json["lost"].as_object().expect("what is lost");
    let is_of_tasks = |(_, lost): (_, &serde_json::Value)| {
        let note = lost["note"].as_str().unwrap_or_default();
        note.starts_with("no tasks of ")
    };
    let only_tasks = lost.iter().all(is_of_tasks);
    let mut unsound = recorded.unsound();
    unsound.retain(|problem| !only_tasks || !problem.starts_with("lost: "));
    unsound
}

/// Two programs on one CPU, of which one starts others meanwhile: all are there with the kernel's threads, timesink is not, and the
/// books balance.
#[test]
fn of_all_programs() {
    let spins = "while :; do :; done";
    let starts = "while :; do /bin/true; /bin/sleep 0.01; done";
    let spinner = start(&["taskset", "-c", "0", "bash", "-c", spins]);
    let _starter = start(&["taskset", "-c", "0", "bash", "-c", starts]);
    attempts(|| {
        let folder = Folder::new("machine");
        let path = folder.join("machine.timesink");
        let mut command = Command::new(timesink());
        command.args(["machine", "--for", "3s", "-o"]).arg(&path);
        let running = Running::start(&mut command);
        let own = running.pid() as u32;
        let ran = running.end().exits(0);
        let screen = ran.err.clone();
        assert!(screen.contains("WHO KEEPS THE CPUS BUSY"), "{screen}");
        assert!(screen.contains("bash"), "{screen}");

        let recorded = Recorded::open(&path, ran);
        let processes = recorded.rows::<Process>();
        let process = |pid: u32| processes.iter().find(|process| process.pid == pid);
        assert!(process(2).is_some(), "the kernel's threads");
        assert!(process(spinner.0.id()).is_some(), "who ran before");
        assert!(process(own).is_none(), "timesink itself");
        assert!(
            process(std::process::id()).is_some(),
            "who started timesink"
        );
        let threads = recorded.rows::<Thread>();
        let born = threads.iter().filter(|thread| !thread.born_before);
        assert!(born.count() > 20, "what was started meanwhile");

        let spinner = spinner.0.id().to_string();
        let of = |whom: &str| {
            let mut command = Command::new(timesink());
            command.arg("report").arg(&path).args(["--of", whom]);
            output(&mut command)
        };
        let answer = of(&spinner).exits(0).text();
        assert!(answer.contains("busy on CPU"), "{answer}");
        let refused = of("bash").exits(1).err;
        assert!(
            refused.contains("processes are called \"bash\""),
            "{refused}"
        );
        let refused = of("no-such-program").exits(1).err;
        assert!(refused.contains("no process"), "{refused}");
        none_of(&unsound(&recorded))
    });
}

/// Who ran in a control group before, who is started in one meanwhile, and who is in none; the one that has the CPU answers for its group.
#[test]
fn control_groups_are_told_apart() {
    let group = Group::with(100_000, 256 << 20);
    let in_group = |script: &str| {
        let mut under = Command::new(timesink());
        under.arg("under").args(group.options());
        under
            .args(["--", "bash", "-c", script])
            .stdout(Stdio::null());
        under
    };
    let spins = "while :; do :; done";
    let outside = start(&["bash", "-c", spins]);
    let before = Ends(in_group(spins).spawn().expect("a program"));
    let folder = Folder::new("machine-groups");
    let path = folder.join("machine.timesink");
    let mut command = Command::new(timesink());
    command.args(["machine", "--for", "2s", "-o"]).arg(&path);
    let running = Running::start(&mut command);
    // While the recording is under way, whenever it began.
    let later = std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let mut pids = Vec::new();
            for _ in 0..15 {
                let mut child = in_group("sleep 0.1").spawn().expect("a program");
                pids.push(child.id());
                child.wait().expect("its end");
            }
            pids
        });
        started.join().expect("programs")
    });
    let ran = running.end().exits(0);
    let screen = ran.err.clone();
    assert!(screen.contains("BY CONTROL GROUP"), "{screen}");
    assert!(screen.contains(group.name()), "{screen}");
    let recorded = Recorded::open(&path, ran);
    let processes = recorded.rows::<Process>();
    let is_in = |row: &&Process| {
        row.group
            .as_deref()
            .is_some_and(|path| path.ends_with(group.name()))
    };
    let inside: Vec<u32> = processes.iter().filter(is_in).map(|row| row.pid).collect();
    assert!(inside.contains(&before.0.id()), "{inside:?}");
    assert!(!inside.contains(&outside.0.id()), "{inside:?}");
    let seen = later.iter().filter(|pid| inside.contains(pid)).count();
    assert!(seen >= 3, "{later:?}: {inside:?}");
    let mut report = Command::new(timesink());
    report.arg("report").arg(&path).args(["--of", group.name()]);
    let answer = output(&mut report).exits(0);
    let told = format!("bash({})", before.0.id());
    assert!(answer.err.contains(&told), "{}", answer.err);
}
