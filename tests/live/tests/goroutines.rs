//! What is told of programs of goroutines whose times are known by their own clocks: how long they were on processors, and what
//! a fix saves.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use timesink_live::{
    attempts, build_go, go_tools, none_of, ns, output, taken_away_ns, timesink, Folder, Recorded,
};

/// Who computes all the time is on a processor for so much of that, and so is who waits for others that do: 91 to 100 % here, and the
/// least where the collector stops the program every 2 ms. What the kernel counts as ready is left out: a machine whose processors are
/// taken away has more of that than of all else.
const BUSY: f64 = 0.85;

/// Where processors are taken away the collector waits for goroutines on them, and who is woken on one is late, which the kernel does not
/// count as ready but the path does: together with that 80 to 90 % in six runs of `make live-disturbed`'s disturbance (2026-11-27).
const BUSY_DISTURBED: f64 = 0.7;

/// What a fix is predicted to save may miss what it saves, beyond its interval, by so much of the time that it took: each was run at
/// another moment, one of them recorded.
const APART: f64 = 0.1;

/// The program, built by one Go, and where it may write.
struct Built {
    program: std::path::PathBuf,
    folder: Folder,
}

/// The builds by every Go that is here.
fn builds() -> Vec<Built> {
    let build = |go: &std::path::PathBuf| {
        let folder = Folder::new("goroutines");
        Built {
            program: build_go(go, "goroutines.go", &folder, &[]),
            folder,
        }
    };
    go_tools().iter().map(build).collect()
}

/// What the program says of itself, in nanoseconds.
struct Own {
    took: f64,
    /// How long its threads were ready for a processor, all together.
    ready: f64,
}

impl Own {
    fn of(printed: &str) -> Own {
        let line = printed.lines().find(|line| line.starts_with('{'));
        let told: Value = serde_json::from_str(line.expect("its line")).expect("JSON");
        Own {
            took: ns(&told, "took_ns"),
            ready: ns(&told, "ready_ns"),
        }
    }
}

impl Built {
    fn command<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let program = Path::to_str(&self.program).expect("its path");
        let place = self.folder.path().to_str().expect("its path");
        let mut command = vec![program];
        command.extend(words);
        command.push(place);
        command
    }

    fn bare(&self, words: &[&str]) -> f64 {
        let command = self.command(words);
        let ran = output(Command::new(command[0]).args(&command[1..])).exits(0);
        Own::of(&ran.text()).took
    }

    fn recorded(&self, words: &[&str]) -> (Recorded, Own) {
        let place = Folder::new("goroutines-recorded");
        let recorded = Recorded::run(&place.join("r.timesink"), &["-q"], &self.command(words), 0);
        let own = Own::of(&recorded.ran.text());
        (recorded, own)
    }
}

/// How long the path is in a state.
fn on_path(recorded: &Recorded, state: &str) -> f64 {
    let segments = recorded.json["path"]["segments"].as_array();
    let segments = segments.expect("segments").iter();
    let of_state = segments.filter(|segment| segment["state"] == state);
    of_state.map(|segment| ns(segment, "ns")).sum()
}

/// A program that does nothing but compute, on one goroutine or many, or by turns, is told to do that: being taken from thread to thread, by
/// the scheduler or the collector, is no wait.
#[test]
fn who_computes_does_not_wait() {
    for built in builds() {
        for what in ["alone", "garbage", "computing", "ping-pong"] {
            attempts(|| {
                let (recorded, Own { took, ready }) = built.recorded(&[what]);
                let cpu = on_path(&recorded, "cpu");
                let (share, least) = match taken_away_ns() > 0.0 {
                    true => ((cpu + on_path(&recorded, "ready")) / took, BUSY_DISTURBED),
                    false => (cpu / (took - ready).max(1.0), BUSY),
                };
                let told = format!("{what}: {cpu} ns of {took} on a processor, {ready} ready");
                println!("{share:.3}: {told}");
                none_of(&Vec::from_iter((share < least).then_some(told)))
            });
        }
    }
}

/// What the recording predicts that a fix saves holds what it does save.
fn saves(built: &Built, words: &[&str], cut: &str) -> Vec<String> {
    let mut fixed = vec![words[0], "fixed"];
    fixed.extend(&words[1..]);
    let mut saved: Vec<f64> = (0..5)
        .map(|_| built.bare(words) - built.bare(&fixed))
        .collect();
    saved.sort_by(f64::total_cmp);
    let place = Folder::new("goroutines-saves");
    let path = place.join("r.timesink");
    let recorded = Recorded::run(&path, &["-q"], &built.command(words), 0);
    let took = Own::of(&recorded.ran.text()).took;
    let mut whatif = Command::new(timesink());
    whatif.args(["whatif", "--json", "--cut", cut]).arg(&path);
    let told: Value = serde_json::from_str(&output(&mut whatif).exits(0).text()).expect("JSON");
    let (lo, hi) = (ns(&told, "gain_lo_ns"), ns(&told, "gain_hi_ns"));
    let summary = format!("{words:?}: saves {saved:?}, predicted {lo}..{hi} of {took} ns");
    println!("{summary}");
    let slack = APART * took;
    let is_held = saved[4] >= lo - slack && saved[0] <= hi + slack;
    Vec::from_iter((!is_held).then_some(summary))
}

/// A flush for each record, by one goroutine or by one that another sends them to.
#[test]
fn without_a_flush_for_each_record() {
    for built in builds() {
        for what in ["flushes", "flushes-alone"] {
            attempts(|| none_of(&saves(&built, &[what], "flush")));
        }
    }
}

/// Calls that block in workers, while a lock is held, and while others have all of Go's processors: who comes back from one waits
/// for these, and would not have to.
#[test]
fn without_calls_that_block() {
    for built in builds() {
        for what in ["pool", "locked", "behind"] {
            attempts(|| none_of(&saves(&built, &[what], "func=main.block")));
        }
    }
}
