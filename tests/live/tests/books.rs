//! The books: the spans tile every life, and their sums are those that the kernel keeps itself.

use timesink_live::{attempts, none_of, ns, number, program, Folder, Recorded};

/// Record a command and hold its books against the kernel's. On a machine that does much else the
/// two clocks may be read at different moments, so a bad result is tried again.
fn balances(name: &str, command: &[&str], processes: usize) {
    attempts(|| {
        let folder = Folder::new(name);
        let command: Vec<String> = command
            .iter()
            .map(|a| a.replace("{}", folder.path().to_str().unwrap_or_default()))
            .collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let recorded = Recorded::run(&folder.join("books.timesink"), &["-q"], &command, 0);
        let mut problems = recorded.unsound();
        let seen = recorded.list("processes").len();
        if seen < processes {
            problems.push(format!("{seen} processes, in truth {processes} or more"));
        }
        if number(&recorded.json, "exit_code") != 0 {
            problems.push("the exit code".into());
        }
        none_of(&problems)
    });
}

/// A program of many threads and all kinds of waits.
#[test]
fn of_many_kinds_of_waits() {
    balances(
        "books-truth",
        &[
            program("truth").to_str().unwrap(),
            "{}/truth.json",
            "{}/data",
        ],
        3,
    );
}

/// A program that reads, computes in several threads, and writes.
#[test]
fn of_a_sort() {
    balances(
        "books-sort",
        &["sh", "-c", "seq 300000 | sort --parallel=2 -rn > {}/sorted"],
        3,
    );
}

/// An interpreter that computes.
#[test]
fn of_a_loop_in_python() {
    balances(
        "books-python",
        &["python3", "-c", "print(sum(i * i for i in range(2000000)))"],
        1,
    );
}

/// A shell that starts many children, some of them at the same time.
#[test]
fn of_a_shell_with_many_children() {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; /bin/echo $i | cat > /dev/null & done; wait";
    balances("books-shell", &["sh", "-c", script], 30);
}

/// A compiler with its passes.
#[test]
fn of_a_compilation() {
    let script = "printf '#include <stdio.h>\\nint main(void) { return puts(\"x\") < 0; }\\n' > {}/a.c && gcc -O2 -o {}/a {}/a.c";
    balances("books-gcc", &["sh", "-c", script], 4);
}

/// Pairs of threads that hand a token to and fro many thousand times a second. (At the most there can
/// be, 300,000 a second, the tens of nanoseconds in which the kernel's clock and ours disagree at each
/// switch come to more than a percent.)
#[test]
fn of_many_switches() {
    balances(
        "books-switches",
        &[
            program("switches").to_str().unwrap(),
            "1",
            "0",
            "pipe",
            "10000",
        ],
        1,
    );
    balances(
        "books-switches",
        &[
            program("switches").to_str().unwrap(),
            "1",
            "0-1",
            "pipe",
            "2000",
        ],
        1,
    );
}

/// A thread that loses the processor as it is about to block: where the kernel can be preempted, its own sum leaves out what follows.
#[test]
fn of_a_thread_that_is_about_to_block() {
    balances(
        "books-about-to-block",
        &[program("about-to-block").to_str().unwrap()],
        1,
    );
}

/// A program of which a thread is woken just before it ends, and does not run any more.
fn woken_at_the_end() -> Recorded {
    let folder = Folder::new("books-woken");
    let path = program("woken");
    let command = [path.to_str().expect("plain")];
    Recorded::run(&folder.join("books.timesink"), &["-q"], &command, 0)
}

/// Such a thread waited until it was woken.
#[test]
fn of_a_thread_that_is_woken_at_the_end() {
    attempts(|| {
        let recorded = woken_at_the_end();
        // Two wait so long: the one that sleeps, and the one that is woken.
        let waited = recorded.list("threads").iter();
        let waited = waited.filter(|t| ns(t, "wait_ns") > 0.25e9).count();
        match waited {
            2 => Ok(()),
            _ => Err(format!("{:?}", recorded.list("threads"))),
        }
    });
}

/// And since then it has been ready, whatever its turn before had been: one that finds an idle processor is on it at once, and its
/// spans said that of the last one, too.
#[test]
fn of_a_thread_that_is_queued_at_the_end() {
    attempts(|| {
        let recorded = woken_at_the_end();
        match number(&recorded.json["tiling"], "beyond_sums") {
            0 => Ok(()),
            _ => Err(format!("{}", recorded.json["tiling"])),
        }
    });
}
