//! Bad weather: timesink killed, a full disk, a ring that overflows, no permission, damaged files.
//! What was recorded is kept, what was lost is said, and the program goes on.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use timesink_live::{
    json_lines, ns, number, output, program, text, timesink, wait_for, Folder, Ran, Recorded,
    Running,
};

fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn report(path: &Path) -> Ran {
    output(
        Command::new(timesink())
            .arg("report")
            .arg(path)
            .arg("--json"),
    )
}

/// The monotonic clock, which is the recorder's.
fn now() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// A program that notes the time on the monotonic clock when it starts, then writes a line every 5 ms,
/// for so long.
fn ticker(folder: &Folder, seconds: f64) -> Vec<String> {
    let script = "import sys, time\n\
                  with open(sys.argv[1], 'w') as f:\n\
                  \x20f.write(str(time.monotonic())); f.flush()\n\
                  end = time.monotonic() + float(sys.argv[2])\n\
                  while time.monotonic() < end: time.sleep(0.005)\n\
                  open(sys.argv[1] + '.done', 'w').close()\n";
    let noted = folder.join("noted").to_str().expect("a path").to_string();
    ["python3", "-c", script, &noted, &seconds.to_string()]
        .map(String::from)
        .into()
}

/// timesink is killed with KILL, at several moments. The program goes on to its natural end, and the
/// report mends what there is, says so, and lacks about the last second at most.
#[test]
fn timesink_is_killed() {
    for after in [0.05, 0.4, 1.3] {
        let folder = Folder::new("killed");
        let recording = folder.join("r.timesink");
        let mut command = Command::new(timesink());
        command
            .args(["run", "-q", "-o"])
            .arg(&recording)
            .arg("--")
            .args(ticker(&folder, 2.0))
            .stdin(Stdio::null());
        let mut running = Running::start(&mut command);
        let noted = folder.join("noted");
        wait_for("the program has started", || {
            fs::read_to_string(&noted).is_ok_and(|t| !t.is_empty())
        });
        sleep_ms((after * 1e3) as u64);
        let killed = now();
        running.signal(libc::SIGKILL);
        running.status();
        wait_for("the program ends by itself", || {
            folder.join("noted.done").exists()
        });
        drop(running);

        let ran = report(&recording).exits(0);
        assert!(ran.err.contains("mending"), "{}", ran.err);
        let recorded = Recorded::open(&recording, ran);
        let mended = text(&recorded.json, "mended");
        assert!(mended.contains("cut short"), "{mended}");
        assert_eq!(
            number(&recorded.json["lost"]["cut short"], "count"),
            1,
            "{}",
            recorded.json["lost"]
        );
        assert!(recorded.json["exit_code"].is_null());
        // Both clocks tick alike: what the program lived until the kill, and what of it is there.
        let started: f64 = fs::read_to_string(&noted)
            .expect("its start")
            .parse()
            .expect("a time");
        let lived = killed - started;
        let there = ns(&recorded.json, "wall_ns") / 1e9;
        assert!(
            there > lived - 1.0,
            "{there} s are there of {lived} s and more"
        );
        if after > 1.0 {
            let slept = recorded
                .list("threads")
                .iter()
                .map(|t| recorded.cause(t, "wait", "sleep").1)
                .sum::<f64>()
                / 1e9;
            assert!(
                slept > lived - 1.1,
                "{slept} s of sleep are there of {lived} s"
            );
        }
    }
}

/// A small file system that is gone when the test is.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> SmallDisk {
        fs::create_dir(&at).expect("a place to mount at");
        let path = CString::new(at.as_os_str().as_bytes()).expect("a path");
        // SAFETY: constant strings, and a path that outlives the call.
        let mounted = unsafe {
            libc::mount(
                c"none".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=1m".as_ptr().cast(),
            )
        };
        assert_eq!(
            mounted,
            0,
            "a tmpfs cannot be mounted: {}",
            std::io::Error::last_os_error()
        );
        SmallDisk(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = CString::new(self.0.as_os_str().as_bytes()).expect("a path");
        // SAFETY: a path that outlives the call.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

/// The disk is full: the program goes on and its output is whole, the exit code and a sentence say
/// what happened, and what was written is a recording once there is room.
#[test]
fn the_disk_is_full() {
    let folder = Folder::new("full");
    let disk = SmallDisk::mount(folder.join("small"));
    let recording = disk.0.join("r.timesink");
    let script = format!(
        "{} 3 0,1 pipe 2>/dev/null; seq 20000",
        program("switches").display()
    );
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", &script]);
    let ran = output(&mut run).exits(125);
    let expected: String = (1..=20000).map(|n| format!("{n}\n")).collect();
    assert!(ran.text() == expected, "the program's output is whole");
    assert!(
        ran.err.contains("No space left on device"),
        "it says why: {}",
        ran.err
    );
    assert!(ran.err.contains("r.timesink"), "and where: {}", ran.err);

    // Elsewhere there is room.
    let kept = folder.join("kept.timesink");
    fs::create_dir(&kept).expect("a folder");
    for entry in fs::read_dir(&recording).expect("what was written is there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), kept.join(entry.file_name())).expect("a copy");
    }
    let ran = report(&kept).exits(0);
    let recorded = Recorded::open(&kept, ran);
    assert!(
        !recorded.json["lost"]
            .as_object()
            .expect("losses")
            .is_empty()
            || recorded.json["mended"].is_string()
    );
    let switches: i64 = recorded
        .list("threads")
        .iter()
        .map(|t| number(t, "switches_voluntary"))
        .sum();
    let spans = number(&recorded.json["tiling"], "spans");
    assert!(
        spans > 10_000,
        "{spans} spans and {switches} switches were kept"
    );
}

/// No room even to begin: nothing is started.
#[test]
fn the_folder_cannot_be_made() {
    let folder = Folder::new("nowhere");
    let mut run = Command::new(timesink());
    run.args(["run", "-o"])
        .arg(folder.join("not/there"))
        .args(["--", "touch"])
        .arg(folder.join("started"));
    let ran = output(&mut run).exits(2);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(!folder.join("started").exists(), "nothing was started");
}

/// timesink is stopped for some seconds while a program switches as fast as it can, so the ring
/// overflows. What was lost is counted by kind, and the sums, which are kept in the kernel, balance
/// all the same.
#[test]
fn the_ring_overflows() {
    overflow("overflow", "5", 3500);
}

/// The same, but the program ends while the ring is full: the ends of its threads, with their sums,
/// have their room in it.
#[test]
fn a_program_ends_while_the_ring_is_full() {
    overflow("overflow-end", "3", 4000);
}

fn overflow(name: &str, seconds: &str, stopped_ms: u64) {
    let folder = Folder::new(name);
    let recording = folder.join("r.timesink");
    let mut run = Command::new(timesink());
    run.args(["run", "-o"]).arg(&recording).arg("--");
    run.arg(program("switches"))
        .args([seconds, "0,1", "pipe"])
        .stdin(Stdio::null());
    let running = Running::start(&mut run);
    wait_for("the recording has begun", || {
        recording.join("spool.bin").exists()
    });
    sleep_ms(700);
    running.signal(libc::SIGSTOP);
    sleep_ms(stopped_ms);
    running.signal(libc::SIGCONT);
    let ran = running.end().exits(0);
    let truth = json_lines(&ran.err)
        .into_iter()
        .find(|l| l["phase"] == "switches")
        .expect("its truth");
    assert!(ran.err.contains("Incomplete: lost "), "{}", ran.err);
    let full = output(
        Command::new(timesink())
            .args(["report", "--full"])
            .arg(&recording),
    )
    .exits(0);
    let full = full.text();
    assert!(
        full.contains("Lost: ") && full.contains("the sums of threads are whole"),
        "{full}"
    );

    let recorded = Recorded::open(&recording, ran);
    let lost = &recorded.json["lost"];
    assert!(number(&lost["turns"], "count") > 10_000, "{truth} {lost}");
    assert!(
        lost["turns"]["note"]
            .as_str()
            .is_some_and(|n| n.contains("sums")),
        "{lost}"
    );
    for thread in recorded.list("threads") {
        let sum: f64 = ["cpu_ns", "ready_ns", "wait_ns", "tracer_ns"]
            .iter()
            .map(|f| ns(thread, f))
            .sum();
        let life = ns(thread, "kernel_life_ns");
        assert!(
            (sum - life).abs() < life * 0.01 + 1e5,
            "{sum} of {life} ns: {} {}",
            thread["name"],
            thread["tid"]
        );
    }
    let unaccounted = recorded.json["unaccounted_pct"].as_f64().expect("a share");
    assert!(unaccounted < 1.0, "{unaccounted} %");
    let switches: i64 = recorded
        .list("threads")
        .iter()
        .map(|t| number(t, "switches_voluntary") + number(t, "switches_involuntary"))
        .sum();
    let real = number(&truth, "switches");
    assert!(
        (switches - real).abs() < real / 50,
        "{switches} switches, in truth {real}"
    );
}

/// Who may not record is told so in a sentence, and what to do; nothing is started or left behind.
#[test]
fn without_permission() {
    let (bin, place) = (Folder::of_plain_user("bin"), Folder::of_plain_user("place"));
    let copy = bin.join("timesink");
    fs::copy(timesink(), &copy).expect("a copy where everybody may look");
    for verb in [&["run", "--", "touch", "started"][..], &["attach", "1"][..]] {
        let mut plain = Command::new("setpriv");
        plain.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ]);
        let ran = output(plain.arg(&copy).args(verb).current_dir(place.path())).exits(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(
            ran.err.contains("sudo") && ran.err.contains("nothing was started"),
            "{}",
            ran.err
        );
        assert_eq!(
            fs::read_dir(place.path()).expect("it").count(),
            0,
            "nothing was left behind"
        );
    }
}

/// A kernel that does not describe its types: one sentence, and nothing is started.
#[test]
fn without_type_information() {
    let folder = Folder::new("btf");
    let mut run = Command::new(timesink());
    run.current_dir(folder.path())
        .env("TIMESINK_BTF", "/nonexistent");
    let ran = output(run.args(["run", "--", "touch", "started"])).exits(2);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(
        ran.err.contains("CONFIG_DEBUG_INFO_BTF") && ran.err.contains("nothing was started"),
        "{}",
        ran.err
    );
    assert_eq!(
        fs::read_dir(folder.path()).expect("it").count(),
        0,
        "nothing was left behind"
    );
}

/// A recording with something of everything, for the tests of damage.
fn small(folder: &Folder) -> PathBuf {
    let recording = folder.join("small.timesink");
    let script =
        "sleep 0.02; echo x | cat > /dev/null; sync /dev/null; ls /nowhere 2>/dev/null; true";
    Recorded::run(&recording, &["-q"], &["sh", "-c", script], 0);
    recording
}

/// One file or a folder: the report is the same.
#[test]
fn a_packed_recording_reports_the_same() {
    let folder = Folder::new("packed");
    let recording = small(&folder);
    let packed = folder.join("packed");
    let mut pack = Command::new(timesink());
    output(pack.arg("pack").arg(&recording).arg("-o").arg(&packed)).exits(0);
    assert!(packed.is_file());
    let both = [&recording, &packed].map(|path| {
        let mut json = Recorded::open(path, report(path).exits(0)).json;
        // By these the two do differ.
        json["recording"].take();
        json["recording_bytes"].take();
        json
    });
    assert_eq!(both[0], both[1]);
}

/// What is damaged is refused with an error that names the file; nothing panics.
#[track_caller]
fn is_refused(path: &Path, named: &str) {
    let ran = report(path).exits(1);
    assert!(
        ran.out.is_empty(),
        "nothing is reported of it: {}",
        ran.text()
    );
    assert!(
        ran.err.contains(named),
        "the error names {named}: {}",
        ran.err
    );
}

/// Files of a recording that were cut, or hold random bytes, or are not there.
#[test]
fn damaged_recordings_are_refused() {
    let folder = Folder::new("damaged");
    let recording = small(&folder);
    let packed = folder.join("packed");
    output(
        Command::new(timesink())
            .arg("pack")
            .arg(&recording)
            .arg("-o")
            .arg(&packed),
    )
    .exits(0);
    for name in ["spans.parquet", "threads.parquet", "recording.json"] {
        let path = recording.join(name);
        let whole = fs::read(&path).expect("a table");
        let mut turned = whole.clone();
        turned[whole.len() / 2] ^= 0x55;
        let random: Vec<u8> = (0..whole.len() as u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for damaged in [
            &whole[..whole.len() / 2],
            &whole[..whole.len() - 3],
            &turned,
            &random,
            &[],
        ] {
            // A field's name or a digit of the manifest is text like any other.
            if name == "recording.json" && damaged == turned {
                continue;
            }
            fs::write(&path, damaged).expect("the damage");
            is_refused(&recording, name);
        }
        fs::write(&path, &whole).expect("the table");
        report(&recording).exits(0);
    }
    let whole = fs::read(&packed).expect("the file");
    for length in [0, 1, 511, 512, 1000, whole.len() / 3, whole.len() / 2] {
        fs::write(&packed, &whole[..length]).expect("the damage");
        is_refused(&packed, "packed");
    }
    is_refused(&folder.join("not-there"), "not-there");
}

/// A spool that ends anywhere is mended as far as it goes, or refused by name. Nothing panics.
#[test]
fn a_spool_that_ends_anywhere() {
    let folder = Folder::new("spool");
    let recording = folder.join("r.timesink");
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", "sleep 0.3; sleep 0.3; sleep 5"])
        .stdin(Stdio::null());
    let mut running = Running::start(&mut run);
    let spool = recording.join("spool.bin");
    wait_for("the recording has begun", || spool.exists());
    sleep_ms(900);
    running.signal(libc::SIGKILL);
    running.status();
    let whole = fs::read(&spool).expect("the spool");
    assert!(whole.len() > 2000, "{} bytes", whole.len());
    let (mut mended, mut refused) = (0, 0);
    for length in (0..whole.len()).step_by(97).chain([whole.len()]) {
        let cut = folder.join("cut.timesink");
        fs::create_dir(&cut).expect("a folder");
        fs::write(cut.join("spool.bin"), &whole[..length]).expect("a spool");
        let ran = report(&cut);
        assert!(!ran.err.contains("panicked"), "{length} bytes: {}", ran.err);
        match ran.code() {
            0 => mended += 1,
            1 => {
                assert!(ran.err.contains("spool.bin"), "{length} bytes: {}", ran.err);
                refused += 1;
            }
            code => panic!("{length} bytes: exit code {code}: {}", ran.err),
        }
        fs::remove_dir_all(&cut).expect("to clean up");
    }
    assert!(
        mended > 0 && refused > 0,
        "{mended} mended, {refused} refused"
    );
}
