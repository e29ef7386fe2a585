//! timesink: where did the time go, why, and what would it buy to fix it?

#![deny(unsafe_code)]

mod assistant;
mod bench;
mod commands;
mod export;
mod history;
#[allow(unsafe_code)]
mod large_blocks;
mod out;
mod page;
mod present;
mod project;
mod proof;
mod rounds;
mod settings;

use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use timesink_capture::launch::Signals;

use commands::recording::{FAILED, NOT_STARTED};

const EXAMPLES: &str = "\
Examples:
  sudo timesink run -- ./import data.txt         record a program and print where its time went
  timesink why 1                                 show the first finding with its evidence
  timesink whatif import.timesink --cut flush    predict the wall time without flushes
  sudo timesink attach --for 10s $(pidof nginx)  record a running server for ten seconds
  timesink doctor                                check whether this machine can record

Reports, predictions and exports need no root: only the recording.";

/// Records where a program's wall time goes, explains why, and predicts what a fix would save
///
/// timesink follows every thread and child process of a program: on CPU, runnable (waiting for a CPU) or blocked, and on
/// what. It names the causes on the critical path and predicts the gain of removing each. Its totals are checked against
/// the kernel's own accounting.
#[derive(Parser)]
#[command(name = "timesink", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Record a program from start to exit and print where its time went
    ///
    /// The program keeps its exit code, signals, terminal and streams. Under sudo it runs as the user who called sudo.
    /// Exit status: that of the program (128 + N if signal N killed it); 125 if the recording is incomplete;
    /// 126 if the program cannot be executed; 127 if it is not found; 2 if nothing was started.
    #[command(
        after_help = "Examples:\n  sudo timesink run -- ./nightly-import data.txt\n  \
                      sudo timesink run --follow -- curl http://localhost/slow\n  \
                      sudo timesink run --with postgres -- ./nightly-report"
    )]
    Run(commands::run::Arguments),
    /// Record running processes
    ///
    /// Records all threads of the processes and the children they start from now on. Stops when the processes exit, when
    /// the time is up, or at Ctrl-C; the processes keep running.
    #[command(after_help = "Example: sudo timesink attach --for 10s $(pidof nginx)")]
    Attach(commands::attach::Arguments),
    /// Record all programs of this machine for a while
    ///
    /// Records every process, the kernel's threads and all that is started meanwhile, and shows who keeps the CPUs busy, who waits
    /// for them and behind whom, and who waits for disk, locks and memory. `timesink report --of PID` then answers for one
    /// process.
    #[command(after_help = "Example: sudo timesink machine --for 10s")]
    Machine(commands::machine::Arguments),
    /// Print the report of a recording
    Report(commands::report::Arguments),
    /// Show a recording in the browser, or two beside each other
    ///
    /// Serves the page on 127.0.0.1 until Ctrl-C, to who has the token in the address that is printed. report --html writes the
    /// same page into one file.
    #[command(
        after_help = "Examples:\n  timesink open\n  timesink open slow.timesink fixed.timesink"
    )]
    Open(commands::open::Arguments),
    /// Predict the wall time if a wait, a function or a file took less time
    ///
    /// Without options, prints the predicted gain of each cause on the critical path.
    ///
    /// WHAT is a state (cpu, ready), a kind of wait (flush, 'network receive'), a name (rows.db), both ('flush rows.db'),
    /// func=NAME, tag=PATH or process=NAME. Options can be combined.
    #[command(
        after_help = "Examples:\n  timesink whatif x.timesink --cut 'flush rows.db'\n  \
                      timesink whatif x.timesink --scale func=crc32_block 0.3 --cpus 4"
    )]
    Whatif(commands::whatif::Arguments),
    /// Show what differs between two recordings, and how much each difference explains
    ///
    /// The difference of the wall times is divided among what both did on their critical paths: by how often, and by how
    /// long each time. With several recordings of each side, what lies within the spread of a side is not told.
    #[command(
        after_help = "Examples:\n  timesink diff slow.timesink fixed.timesink\n  \
                      timesink diff a1.timesink a2.timesink -- b1.timesink b2.timesink"
    )]
    Diff(commands::diff::Arguments),
    /// Run commands in turn and say which is faster, by how much, and how sure that is
    ///
    /// Each round runs every command once, in random order; what counts are ratios within rounds. The first command is what the
    /// others are held against. Ends with one of three verdicts: changed, the same within --margin, or not decided, and how
    /// many more rounds would tell. Needs no root. Exit status: 0; 2 if a command fails or nothing was measured; 130 after
    /// Ctrl-C, with what was measured until then; with --gate see there.
    #[command(
        after_help = "Examples:\n  timesink bench './import old.txt' './import new.txt'\n  \
                      timesink bench --until-decided --gate 5% ./main ./branch\n  \
                      timesink bench -p size=64,4k,1M 'dd if=/dev/zero of=x bs={size} count=100'\n  \
                      sudo timesink bench --record ./slow ./fixed"
    )]
    Bench(Box<commands::bench::Arguments>),
    /// Measure and record a command as one round of an optimisation, and keep both
    ///
    /// Keeps in .timesink/rounds of the project: what was tried, each run, the recording (as root), the first finding, what was
    /// predicted for findings that are gone, the commit with what was not committed, and how many facts about where it
    /// ran differ. Without a command, runs that of the round before. Ctrl-C keeps the runs that were measured. Exit status: 0; 2 if a
    /// command fails or the round cannot be kept; 130 after Ctrl-C.
    #[command(
        after_help = "Examples:\n  timesink round baseline -- ./import rows.txt\n  \
                      timesink round --build make 'one transaction'"
    )]
    Round(commands::round::Arguments),
    /// Show the rounds of an optimisation so far, or measure one of them again
    #[command(after_help = "Examples:\n  timesink rounds\n  timesink rounds --again 2")]
    Rounds(commands::rounds::Arguments),
    /// Show results of benchmarks over commits and days, and confirm where they changed
    ///
    /// timesink bench --history keeps results in .timesink/history. Where their level changed there is a candidate, with the facts about
    /// where it was measured that changed, too. --confirm measures both sides again in pairs, in work trees of their own; what is
    /// slower or faster then, is told as that.
    #[command(
        after_help = "Examples:\n  timesink bench --history --setup make './import rows.txt'\n  \
                      timesink history\n  timesink history --confirm\n  timesink history --atom > confirmed.xml"
    )]
    History(commands::history::Arguments),
    /// Show where a recording was made; with two, what of that differs
    ///
    /// Machine, kernel, limits, environment variables, file systems, and the files that the program used.
    #[command(after_help = "Example: timesink env fast.timesink slow.timesink")]
    Env(commands::env::Arguments),
    /// Try facts that differ, one at a time: which makes the difference?
    ///
    /// Runs the command of A in rounds, as it was and with one fact of B's at a time. Facts that can be set for one process are tried: environment variables, limits, processors, nice, huge pages, random
    /// addresses, the allocator, limits of control groups, and what stands in files (record with --keep-files).
    #[command(
        after_help = "Examples:\n  timesink prove fast.timesink slow.timesink\n  timesink prove --fact server.conf a.timesink b.timesink -- ./measure"
    )]
    Prove(commands::prove::Arguments),
    /// Run a command with facts set for it alone
    #[command(hide = true)]
    Under(commands::under::Arguments),
    /// Show a finding in full: evidence, system calls, waits and stacks
    ///
    /// Without a number, shows all findings. Without a file, uses the latest recording in the current directory.
    #[command(
        after_help = "Examples:\n  timesink why 1\n  timesink why x.timesink 2\n  timesink why x.timesink --muted"
    )]
    Why(commands::why::Arguments),
    /// List the rules behind findings, or explain one
    Rules(commands::rules::Arguments),
    /// Run example programs with known performance faults and check that each is found
    Casebook(commands::casebook::Arguments),
    /// Export stacks for flame graphs, pprof, speedscope, Firefox Profiler or Perfetto
    Export(commands::export::Arguments),
    /// Answer a coding assistant, by the Model Context Protocol
    ///
    /// Questions come on standard input, answers go to standard output. It can ask for everything that commands say of recordings in this folder. It can run programs only if your own settings say so.
    Mcp(commands::mcp::Arguments),
    /// Look up the function names of a recording again, with additional debug files
    ///
    /// Only files with the recorded build ID are used. The recording is replaced atomically, and left as it is if no name
    /// was found.
    #[command(after_help = "Example: timesink symbolize slow.timesink --debug-dir ~/debug-files")]
    Symbolize(commands::symbolize::Arguments),
    /// Pack a recording into one file
    Pack(commands::pack::Arguments),
    /// Measure the best this machine can do: flushes, round trips, process starts, memory
    ///
    /// Takes about 25 seconds and needs no root. The machine should be idle. The results are saved, and included in later
    /// recordings on this machine, so that findings can be compared with them.
    #[command(after_help = "Example: timesink floors --dir /var/lib/db --peer db.example:5432")]
    Floors(commands::floors::Arguments),
    /// Check whether this machine can record, probe by probe
    Doctor(commands::doctor::Arguments),
    /// Print a completion script for a shell
    Completions(commands::completions::Arguments),
    /// Write the manual pages to a directory
    #[command(hide = true)]
    Man(commands::man::Arguments),
}

/// All that can be said to timesink.
fn command_line() -> clap::Command {
    Arguments::command().mut_subcommand("bench", commands::bench::command_line)
}

fn main() -> ExitCode {
    let started = Instant::now();
    assistant::end_with_server();
    let matches = command_line().try_get_matches();
    let arguments = match matches.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(out::usage(&error)),
    };
    match run(arguments, started) {
        Ok(code) => ExitCode::from(code),
        Err((code, error)) => {
            out::tell(format_args!("{error:#}"));
            ExitCode::from(code)
        }
    }
}

/// The exit code, or the error with the exit code that goes with it.
fn run(arguments: Arguments, started: Instant) -> Result<u8, (u8, anyhow::Error)> {
    let failed = |error| (FAILED, error);
    let refused = |error: anyhow::Error| (NOT_STARTED, error);
    // Before any thread exists: see launch.
    let signals = || Signals::block().map_err(|e| refused(e.into()));
    match arguments.command {
        Command::Run(a) => commands::run::run(&a, signals()?, started).map_err(failed),
        Command::Attach(a) => commands::attach::run(&a, signals()?, started).map_err(failed),
        Command::Machine(a) => commands::machine::run(&a, signals()?, started).map_err(failed),
        Command::Report(a) => commands::report::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Open(a) => commands::open::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Whatif(a) => commands::whatif::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Diff(a) => {
            a.check().map_err(refused)?;
            commands::diff::run(&a).map(|()| 0).map_err(|e| (1, e))
        }
        Command::Bench(a) => {
            commands::bench::run(&a).map_err(|e| (commands::bench::NOT_MEASURED, e))
        }
        Command::Round(a) => {
            commands::round::run(&a).map_err(|e| (commands::bench::NOT_MEASURED, e))
        }
        Command::Rounds(a) => commands::rounds::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::History(a) => commands::history::run(&a).map_err(|e| (1, e)),
        Command::Env(a) => commands::env::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Prove(a) => commands::prove::run(&a).map_err(|e| (1, e)),
        Command::Under(a) => commands::under::run(&a).map(|()| 0).map_err(refused),
        Command::Why(a) => commands::why::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Rules(a) => commands::rules::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Casebook(a) => commands::casebook::run(&a).map_err(|e| (1, e)),
        Command::Export(a) => commands::export::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Mcp(a) => commands::mcp::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Symbolize(a) => commands::symbolize::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Pack(a) => commands::pack::run(&a).map(|()| 0).map_err(|e| (1, e)),
        Command::Floors(a) => commands::floors::run(&a, signals()?).map_err(|e| (1, e)),
        Command::Doctor(a) => match commands::doctor::run(&a) {
            Ok(true) => Ok(0),
            Ok(false) => Ok(NOT_STARTED),
            Err(error) => Err((1, error)),
        },
        Command::Completions(a) => {
            commands::completions::run::<Arguments>(&a);
            Ok(0)
        }
        Command::Man(a) => commands::man::run::<Arguments>(&a)
            .map(|()| 0)
            .map_err(|e| (1, e)),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    /// Of all that bench has only the gate applies to results of others: what is refused follows from what is declared.
    #[test]
    fn results_of_others_are_only_judged() {
        let fault = |words: &[&str]| {
            let given = ["timesink", "bench", "--import", "a.json"];
            let matches = command_line().try_get_matches_from([&given, words].concat());
            matches.err().map(|error| error.kind())
        };
        assert_eq!(fault(&[]), None);
        assert_eq!(fault(&["b.json", "--gate", "5%"]), None);
        let bench = command_line();
        let bench = bench.find_subcommand("bench").expect("it is there");
        for option in bench.get_arguments().filter_map(|one| one.get_long()) {
            if ["import", "gate", "help"].contains(&option) {
                continue;
            }
            let alone = format!("--{option}");
            let values = ["=1", "=a=1", "=wall", "=1s", "=1%", "=a: ([0-9]+)", ""];
            let faults = values.map(|value| fault(&[&format!("{alone}{value}")]));
            // Another fault would be one of the value, or of what else is missing.
            let is_refused = faults.contains(&Some(ErrorKind::ArgumentConflict));
            let needs_more = faults.contains(&Some(ErrorKind::MissingRequiredArgument));
            assert!(is_refused || needs_more, "{alone}: {faults:?}");
            assert!(!faults.contains(&None), "{alone}");
        }
    }

    /// The command line is sound, and options whose values may be left out leave the recording alone.
    #[test]
    fn the_command_line_reads_as_it_is_documented() {
        Arguments::command().debug_assert();
        for line in [
            "run --follow --with postgres --with 123 -- sh -c true",
            "run --no-runtime-flags -- node x.js",
            "attach --follow 123",
            "run --redact -- x --password y",
            "attach --redact 123",
            "report x.timesink",
            "report --top x.timesink",
            "report --tree x.timesink",
            "report x.timesink --top=5 --tree=callers --line main --thread 12 --process sh",
            "report x --tree=callees --state wait --object rows.db --cpu 1 --between 1s..2s",
            "open",
            "open a b --port 8123 --no-browser --idle 5m",
            "open --idle 30s",
            "report a --html page.html",
            "report a --html page.html --beside b --with-source",
            "open a1 a2 a3 -- b1 b2",
            "diff a1 a2 -- b1 --html page.html",
            "whatif x",
            "whatif x --cut cpu --cut ready --scale func=f 0.5 --batch flush 100 --cpus 4",
            "whatif x --keep-first func=load --overlap sleep",
            "diff a b",
            "diff a b --calls",
            "diff a b --folded=cpu",
            "diff a1 a2 -- b1 b2 --json",
            "bench true false",
            "bench",
            "bench --file bench.toml --rounds 20",
            "bench --import a.json b.json",
            "bench --gate 5% --import a.json b.json",
            "bench --resume before.json --json=after.json a b",
            "round baseline --runs 5 --build make -- ./import rows.txt",
            "round batched",
            "round batched --ignore-failure",
            "rounds --again 1",
            "bench --history --setup make ./import",
            "bench --in base --in new ./import",
            "history",
            "history import --by cpu --confirm --rounds 40",
            "history --json",
            "bench -p size=64,4k --rounds 20 --warmup 2 dd --json",
            "bench --runs 20 --until-decided --gate 5% --margin 1% a b --json=x --csv=y --hyperfine",
            "bench --metric q:([0-9.]+) --higher-is-better --same-output --timeout 2s a",
            "bench --by cpu --seed 7 --shell --ignore-failure --same-environment a b",
            "mcp",
            "report x --json --top=3 --tree=callers --line f --process a",
            "rules busy --json",
            "why x 1 --json",
            "floors",
            "floors --json --dir /tmp --dir . --peer db:5432 --peer [::1]:80",
            "why",
            "why 1",
            "why x.timesink 1",
            "why x --muted",
            "symbolize x",
            "symbolize x --debug-dir a --debug-dir b",
            "export x --to folded",
            "export x --to pprof -o y --weights wait --state cpu --between ..2s",
            "export x --to perfetto --weights both --thread main",
            "man pages",
        ] {
            let words = std::iter::once("timesink").chain(line.split(' '));
            assert!(command_line().try_get_matches_from(words).is_ok(), "{line}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "run --with -- true",
            "attach --with postgres 123",
            "report x --top=many",
            "report x --json --full",
            "why x 1 --json --muted",
            "report x --tree=sideways --state asleep",
            "report x --top --between 2s..1s",
            "diff",
            "diff a b --json --full",
            "bench --file x a",
            "bench --import x.json --file x",
            "bench --import x.json --json",
            "bench --import x.json --markdown=y",
            "bench --import x.json --prepare y",
            "bench --import x.json --by cpu",
            "round",
            "round a --runs 3 -- b",
            "rounds --again x",
            "history --json --atom",
            "history --confirm --markdown",
            "bench -p size a",
            "bench --metric ( a",
            "bench --higher-is-better a",
            "bench --by faults a",
            "bench --rounds 0 a",
            "bench --gate 0 a b",
            "whatif",
            "whatif x --scale func=f",
            "whatif x --cpus 0",
            "floors --peer db",
            "floors --peer db:port",
            "why x 1 2",
            "export x",
            "export x --to svg",
        ] {
            let words = std::iter::once("timesink").chain(line.split(' '));
            assert!(
                command_line().try_get_matches_from(words).is_err(),
                "{line}"
            );
        }
    }

    /// Each command that the help lists has a manual page with its options, and what the help hides has none.
    #[test]
    fn each_command_has_a_manual_page() {
        let pages = commands::man::pages(Arguments::command()).expect("rendered into memory");
        let page = |name: &str| pages.iter().find(|(file, _)| file == name);
        let command = Arguments::command();
        for listed in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let file = format!("timesink-{}.1", listed.get_name());
            let (_, text) = page(&file).unwrap_or_else(|| panic!("no {file}"));
            for option in listed.get_opts().filter_map(|o| o.get_long()) {
                let escaped = option.replace('-', "\\-");
                assert!(text.contains(&escaped), "{file} lacks --{option}");
            }
        }
        let (_, main) = page("timesink.1").expect("the main page");
        assert!(main.contains("timesink\\-run(1)") && main.contains("pidof nginx"));
        assert!(page("timesink-casebook-verify.1").is_some());
        assert!(page("timesink-man.1").is_none() && !main.contains("timesink\\-man"));
    }
}
