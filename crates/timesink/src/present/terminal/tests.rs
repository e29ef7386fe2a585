//! The page on drawn recordings, against pages kept beside this file. `UPDATE=1 cargo test`
//! writes them anew; look at the difference before you keep it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use timesink_analysis::ledger::Account;
use timesink_analysis::machine::MachineTime;
use timesink_analysis::stacks::{Direction, Filter};
use timesink_comparison::Weights;
use timesink_recording::notation::{compare_with_kept, draft, Draft};
use timesink_recording::{Mode, Recording};

use super::{
    answer, compared_calls, compared_operations, compared_threads, compared_tree, comparison,
    gains, operations, prediction, render, sections, tables, Amount, Section, Style, Table,
};
use super::{environment, environments, machine, proof, MachineState};
use crate::present::names::is_hostile;
use crate::present::{samples, Prediction};
use crate::proof::{FactVerdict, Proof, Tried};

pub(super) const PLAIN: Style = Style::PLAIN;
const COLOUR: Style = Style {
    colour: true,
    terminal: true,
    width: 120,
};
pub(super) const NARROW: Style = Style {
    colour: false,
    terminal: true,
    width: 80,
};

fn page(drawn: &Draft, style: &Style) -> String {
    samples::present(drawn, "nightly-import.timesink", |report| {
        render(report, style)
    })
}

pub(super) fn check(name: &str, page: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/present/terminal/snapshots");
    compare_with_kept(&folder.join(format!("{name}.txt")), page);
}

/// All tables about code.
fn views(drawn: &Draft, filter: &Filter, style: &Style) -> String {
    let wanted = [
        Table::Top(20),
        Table::Tree(Direction::Callees),
        Table::Tree(Direction::Callers),
        Table::Lines("price_of".to_owned()),
    ];
    samples::present_stacks(drawn, filter, |_, _, stacks| tables(stacks, &wanted, style))
}

/// A recording with stacks says where in the code the time went.
#[test]
fn coded_plain() {
    check("coded_plain", &page(&samples::coded(), &PLAIN));
}

/// What goroutines did, by where they were started, as wide as it likes and in 80 columns.
#[test]
fn tasks() {
    let both = [("tasks", PLAIN), ("tasks_narrow", NARROW)];
    for (name, style) in both {
        let page = samples::present(&samples::goroutines(), "server.timesink", |report| {
            sections(report, &[Section::Tasks], &style)
        });
        check(name, &page);
    }
}

/// What tasks of asyncio did, by coroutine.
#[test]
fn tasks_of_asyncio() {
    let page = samples::present(&samples::coroutines(), "service.timesink", |report| {
        sections(report, &[Section::Tasks], &PLAIN)
    });
    check("tasks_of_asyncio", &page);
}

/// What the event loop of Node.js called back, and what began it.
#[test]
fn callbacks() {
    let page = samples::present(&samples::callbacks(), "service.timesink", |report| {
        sections(report, &[Section::Tasks], &PLAIN)
    });
    check("callbacks", &page);
}

/// Where two programs have tasks, each line says of which; a place that nobody knows and that took next to nothing has none; and where
/// calls were timed for a part of the time only, the numbers of tasks are said to be of those that were seen.
#[test]
fn tasks_of_two_programs() {
    let mut drawn = draft(
        "run wall 1s exit 0 command ./load
         process 1 pid 700 load
         process 2 pid 800 server
         thread 1.1 tid 700 load
         thread 2.1 tid 800 server
         frame nameless function \"\" module /srv/server
         task 1 1 stack \"main;send\"
         task 2 2 stack \"main;serve\"
         task 3 2 stack \"nameless\"
         1.1: cpu 0..1s
         2.1: cpu 0..1s
         turn 1.1 0..1s task 1
         turn 2.1 0..999ms task 2
         turn 2.1 999900us..1s task 3
         sample 1.1 100ms weight 1s stack \"send\"
         sample 2.1 100ms weight 1s stack \"serve\"",
    );
    drawn.about.call_timing_share = 0.88;
    let page = samples::present(&drawn, "r", |report| {
        sections(report, &[Section::Tasks], &PLAIN)
    });
    assert!(page.contains("in load(700)"), "{page}");
    assert!(page.contains("in server(800)"), "{page}");
    assert!(page.contains("and 1 more place"), "{page}");
    assert!(page.contains("were timed for 88 %"), "{page}");
}

/// The tables about code, in a pipe.
#[test]
fn views_plain() {
    let views = views(&samples::coded(), &Filter::default(), &PLAIN);
    check("views_plain", &views);
}

/// Connections that were there before the recording are as many as there are sockets: nobody was seen to make them.
#[test]
fn connections_from_before_are_counted() {
    let drawn = draft(
        "run wall 1s exit 0 command ./server
         process 1 pid 700 server
         thread 1.1 tid 700 server born_before alive_at_end
         object a tcp socket remote 10.0.0.7:80
         object b tcp socket remote 10.0.0.7:80
         1.1: cpu 0..100ms | wait ..500ms network receive a | cpu ..600ms | wait ..1s network receive b
         call 1.1 sendto a count 30 bytes 300
         call 1.1 recvfrom a count 30 bytes 300
         call 1.1 sendto b count 30 bytes 300
         call 1.1 recvfrom b count 30 bytes 300",
    );
    let page = samples::present(&drawn, "r", |report| answer(report, &PLAIN));
    assert!(page.contains("on 2 connections"), "{page}");
}

/// Of a server that was attached to it is told what its requests consist of: the path of a thread is one wait after another for a client.
/// Of one that was started its end is asked about.
#[test]
fn requests_of_a_server_that_was_attached_to() {
    let mut drawn = samples::served();
    let page =
        |drawn: &Draft, style: &Style| samples::present(drawn, "r", |report| answer(report, style));
    assert!(page(&drawn, &PLAIN).contains("WHERE THE TIME WENT  critical path"));
    drawn.about.mode = Mode::Attach;
    let told = page(&drawn, &PLAIN);
    let has = |line: &str| assert!(told.contains(line), "{line}\n{told}");
    has("WHERE THE TIME WENT  an average request\n");
    has("  1.41 ms on average, p50 500 us, p99 9.60 ms · 60 requests handled by server(600) on 127.0.0.1:8080\n");
    has("  sleeping (requested)    0.90 ms   64 %");
    has("  on CPU                  0.51 ms   36 %");
    for line in page(&drawn, &NARROW).lines() {
        assert!(super::style::width(line) <= NARROW.width, "{line}");
    }
}

/// One round of Go's scheduler is no loop of the program's: nobody wrote it.
#[test]
fn a_loop_of_the_runtime_is_no_main_loop() {
    let text = |function: &str| {
        format!(
            "run wall 1s exit 0 command ./server
             process 1 pid 700 server
             thread 1.1 tid 700 server
             frame {function} module /srv/server
             1.1: cpu 0..1ms
             for n in 1..90
               | wait +10ms network receive s stack \"{function}\" | cpu +1ms
             end"
        )
    };
    let page = |function: &str| {
        samples::present(&draft(&text(function)), "r", |report| {
            answer(report, &PLAIN)
        })
    };
    assert!(
        page("serve").contains("One round of its main loop"),
        "{}",
        page("serve")
    );
    let of_runtime = page("runtime.usleep");
    assert!(!of_runtime.contains("One round"), "{of_runtime}");
}

/// The tables about code on a narrow terminal, where columns are left out.
#[test]
fn views_narrow() {
    let views = views(&samples::coded(), &Filter::default(), &NARROW);
    check("views_narrow", &views);
}

/// The tables about the waits of one thread.
#[test]
fn views_of_a_part() {
    let filter = Filter {
        thread: Some("800".to_owned()),
        state: Some(Account::Wait),
        ..Filter::default()
    };
    check(
        "views_of_a_part",
        &views(&samples::coded(), &filter, &PLAIN),
    );
}

/// A recording without stacks has tables of remainders, and says so.
#[test]
fn views_without_stacks() {
    let views = views(&samples::import(), &Filter::default(), &PLAIN);
    assert!(views.contains("has no stacks"), "{views}");
    assert!(views.contains("No time was found in a function called price_of."));
}

/// A slow import, as it goes into a pipe.
#[test]
fn import_plain() {
    check("import_plain", &page(&samples::import(), &PLAIN));
}

/// A slow import on a wide terminal with colours.
#[test]
fn import_colour() {
    check("import_colour", &page(&samples::import(), &COLOUR));
}

/// A slow import on a narrow terminal under NO_COLOR: bars, no escapes.
#[test]
fn import_narrow() {
    let page = page(&samples::import(), &NARROW);
    assert!(!page.contains('\x1b'));
    check("import_narrow", &page);
}

/// A script that forks per line: many processes share a line.
#[test]
fn forks_plain() {
    check("forks_plain", &page(&samples::forks(), &PLAIN));
}

/// The same on a terminal.
#[test]
fn forks_colour() {
    check("forks_colour", &page(&samples::forks(), &COLOUR));
}

/// Losses, refused probes, a mended end, spans that do not tile: all of it is said.
#[test]
fn weather_plain() {
    check("weather_plain", &page(&samples::weather(), &PLAIN));
}

/// Whatever a name holds, the page holds nothing but line feeds and our own colours.
#[test]
fn hostile_names_do_nothing() {
    let views = views(&samples::hostile(), &Filter::default(), &PLAIN);
    assert!(views.matches("gpj.exe").count() > 5, "{views}");
    assert!(!views.chars().any(|c| c != '\n' && is_hostile(c)));
    let plain = page(&samples::hostile(), &PLAIN);
    assert!(
        !plain.chars().any(|c| c != '\n' && is_hostile(c)),
        "{plain:?}"
    );
    assert!(
        plain.matches("gpj.exe").count() > 10,
        "the names are shown: {plain}"
    );
    let coloured = page(&samples::hostile(), &COLOUR);
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find(|c| c != '\n' && is_hostile(c)) {
        let (code, after) = rest[at..].split_once('m').expect("a colour ends in m");
        let digits = code.strip_prefix("\x1b[").expect("only colours");
        assert!(digits.chars().all(|c| c.is_ascii_digit()), "{code:?}");
        rest = after;
    }
    check("hostile_plain", &plain);
}

/// A real-time thread, and a program that may use some CPUs alone.
fn priorities() -> Draft {
    draft(
        "run wall 1s
         process 1 pid 10 mixer executable /usr/bin/mixer
         process 2 pid 11 web executable /usr/bin/web
         process 3 pid 12 bound executable /usr/bin/bound
         thread 1.1 tid 10 mixer policy FIFO priority 50 allowed 0-1
         thread 2.1 tid 11 web policy other allowed 0-1
         thread 3.1 tid 12 bound policy other allowed 0,2-3
         1.1: cpu 0..400ms on 0 | wait ..1s sleep
         2.1: ready 0..400ms woken on 0 occupant 1.1 400ms | cpu ..500ms on 0 | wait ..1s other
         3.1: wait 0..400ms other | ready ..500ms woken on 0 occupant 2.1 100ms | cpu ..1s on 0
         request 3.1 510ms..610ms read 8 device 266338304 bytes 4096
         request 2.1 580ms..630ms write 80 device 266338304 bytes 131072
         request 1.1 100ms..100.5ms read 8 device 265289728 bytes 512",
    )
}

/// The machine's screen: on a terminal, and whatever names hold.
#[test]
fn the_whole_machine() {
    let page = |drawn: &Draft, style: &Style| {
        samples::present(drawn, "machine.timesink", |report| {
            let (wall_ns, timeline) = (report.about.wall_ns, &report.loaded.timeline);
            let requests = drawn.requests.clone();
            let time = MachineTime::of(timeline, report.facts, requests, wall_ns, 4);
            let lacked = [("cpu", "45.10"), ("memory", "0.00"), ("io", "3.20")];
            let lacked = lacked.map(|(what, share)| (what.to_owned(), share.to_owned()));
            let state = MachineState {
                lacked: lacked.to_vec(),
                mounts: BTreeMap::from([(254 << 20, "/var".to_owned())]),
            };
            machine(report, &time, &state, style)
        })
    };
    check("machine_plain", &page(&samples::forks(), &PLAIN));
    let mut grouped = samples::forks();
    for row in &mut grouped.processes {
        let unit = ["web", "backup", "build"][row.pid as usize % 3];
        row.group = Some(format!("/system.slice/{unit}.service"));
    }
    grouped
        .threads
        .iter_mut()
        .for_each(|row| row.nice = Some(5));
    check("machine_narrow", &page(&grouped, &NARROW));
    check("machine_priorities", &page(&priorities(), &PLAIN));
    let mut hostile = samples::hostile();
    for (row, number) in hostile.processes.iter_mut().zip(1..) {
        row.group = Some(format!("/{number}{}", row.name));
    }
    let hostile = page(&hostile, &PLAIN);
    assert!(hostile.contains("BY CONTROL GROUP"), "{hostile}");
    assert!(hostile.contains("gpj.exe"), "{hostile}");
    assert!(!hostile.chars().any(|c| c != '\n' && is_hostile(c)));
}

/// What each cause would buy, and one prediction in full.
#[test]
fn predictions() {
    let pages = samples::present(&samples::coded(), "nightly-import.timesink", |report| {
        let outlook = report.outlook.expect("a path");
        let causes: Vec<_> = outlook.causes.iter().map(|on_path| on_path.cause).collect();
        let told = Prediction {
            asked: &["without flush rows.db".to_owned()],
            recorded_ns: outlook.wall_ns,
            replay_error_pct: outlook.replay_error_pct,
            gain: outlook.causes[0].gain.expect("a gain"),
            path: &causes[1..],
        };
        gains(report, &PLAIN) + "\n" + &prediction(report, &told, &PLAIN)
    });
    check("whatif_plain", &pages);
}

/// A server's page has its operations in short, and loops of its other threads.
#[test]
fn served_plain() {
    check("served_plain", &page(&samples::served(), &PLAIN));
}

/// Operations in full: the one in the middle, the slowest, and what slow ones have.
#[test]
fn operations_in_full() {
    let full = |style: &Style| {
        samples::present(&samples::served(), "server.timesink", |report| {
            operations(report, style)
        })
    };
    check("operations_plain", &full(&PLAIN));
    for line in full(&NARROW).lines() {
        assert!(super::style::width(line) <= NARROW.width, "{line}");
    }
}

/// On a terminal no line but the foot's sentences is wider than the terminal.
#[test]
fn tables_fit_the_terminal() {
    for drawn in samples::all() {
        for width in [72, 79, 80, 99, 100, 120, 200] {
            let style = Style { width, ..NARROW };
            let page = page(&drawn, &style) + &views(&drawn, &Filter::default(), &style);
            let rows = page.lines().filter(|line| line.starts_with("  "));
            for row in rows {
                assert!(super::style::width(row) <= width, "{width}: {row}");
            }
        }
    }
}

/// Rows below a thousandth are folded into one that says how many they were.
#[test]
fn small_causes_are_folded() {
    let drawn = draft(
        "run wall 10s
         process 1 p
         thread 1.1 p
         1.1: cpu 0..9.99s | wait ..9.995s sleep | wait ..9.9975s lock m | wait ..10s flush f",
    );
    let page = page(&drawn, &PLAIN);
    assert!(page.contains("and 3 smaller causes"), "{page}");
    assert!(!page.contains("sleeping"), "{page}");
}

/// A recording of the first version of the format still makes a page, without a word on code.
#[test]
fn an_old_recording_makes_a_page() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../recording/tests/fixtures/version-1.tar"
    );
    let recording = Recording::open(file).expect("it opens");
    let page =
        samples::present_opened(&recording, "version-1.tar", |report| render(report, &PLAIN));
    for wanted in [
        "3 processes",
        "critical path to the end of sh(",
        "sleeping (requested)",
        "nothing lost",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(!page.contains("WHERE IN THE CODE"), "{page}");
}

/// A recording of nothing still makes a page.
#[test]
fn nothing_makes_a_page() {
    let page = page(&Draft::default(), &PLAIN);
    assert!(page.contains("No thread was recorded."), "{page}");
    assert!(page.contains("nothing lost"), "{page}");
}

/// The answer, as a terminal of 100 columns shows it, as one of 40 does, and as it goes into a file.
#[test]
fn answers() {
    const SMALL: Style = Style {
        width: 40,
        ..SCREEN
    };
    let drawn = [
        ("import", samples::import()),
        ("coded", samples::coded()),
        ("served", samples::served()),
    ];
    for (name, drawn) in drawn {
        for (kind, style) in [("screen", SCREEN), ("small", SMALL), ("plain", PLAIN)] {
            let page = samples::present(&drawn, "nightly-import.timesink", |report| {
                answer(report, &style)
            });
            check(&format!("answer_{name}_{kind}"), &page);
        }
    }
}

/// Where nothing came to a loop of events until its own timer, it was told as a wait for `[eventpoll]`, which is nobody's word for
/// a sleep; and without the line that began it.
#[test]
fn a_loop_that_waits_for_its_timer_sleeps() {
    let drawn = draft(
        "run wall 1s
         process 1 serve
         thread 1.1 tid 1 serve
         frame <module> module /srv/app.py file /srv/app.py line 20 language python
         object loop epoll [eventpoll]
         object answers tcp socket remote 10.0.0.1:80
         1.1: cpu 0..10ms
         for n in 1..9
           | wait +{10n+50}ms poll loop by timer call epoll_wait asked {10n+50}ms expired stack \"<module>;select\" | cpu +10ms
         end
         call 1.1 connect answers count 1
         call 1.1 sendto answers count 1 bytes 10",
    );
    let page = samples::present(&drawn, "r", |report| answer(report, &PLAIN));
    assert!(page.contains("  sleeping (timer)"), "{page}");
    assert!(
        page.contains("the largest part is sleeping (timer) (90 %), in <module> app.py:20"),
        "{page}"
    );
    assert!(!page.contains("eventpoll"), "{page}");
}

/// At 40 columns the advice was cut off, which is what the screen is read for.
#[test]
fn a_narrow_answer_has_its_advice() {
    let narrow = Style {
        colour: false,
        terminal: true,
        width: 40,
    };
    let page = samples::present(&samples::import(), "r", |report| answer(report, &narrow));
    let words: Vec<&str> = page.split_whitespace().collect();
    let page = words.join(" ");
    assert!(
        page.contains("→ commit many rows at once, or buffer the writes and flush at the end"),
        "{page}"
    );
}

/// The answer fits one screen and stays within its columns, whatever rule speaks, however narrow the terminal.
#[test]
fn an_answer_fits_its_screen() {
    for rule in timesink_findings::registry::RULES {
        let drawn = samples::rule_case(&format!("{}.fires", rule.name));
        for width in [40, 72, 100, 200] {
            let style = Style {
                colour: false,
                terminal: true,
                width,
            };
            let page = samples::present(&drawn, "case.timesink", |report| answer(report, &style));
            let widest = page.lines().map(super::style::width).max().unwrap_or(0);
            assert!(
                widest <= width,
                "{}: {widest} columns of {width}\n{page}",
                rule.name
            );
            let lines = page.lines().count();
            assert!(
                lines <= 40 || width < 100,
                "{}: {lines} lines\n{page}",
                rule.name
            );
        }
    }
}

const SCREEN: Style = Style {
    colour: false,
    terminal: true,
    width: 100,
};

fn compared(a: &[Draft], b: &[Draft], amount: Amount, style: &Style) -> String {
    samples::compare(a, b, |compared| comparison(compared, amount, style))
}

/// A slow and a fixed form on one screen: what differs with counts first, findings, and whether the prediction came true.
#[test]
fn differences_of_a_slow_and_a_fixed_form() {
    let (slow, fixed) = (
        [samples::flushes(200, 5_000, 900)],
        [samples::flushes(2, 5_500, 900)],
    );
    let screen = compared(&slow, &fixed, Amount::Screen, &SCREEN);
    check("diff_fixed_screen", &screen);
    check(
        "diff_fixed_plain",
        &compared(&slow, &fixed, Amount::All, &PLAIN),
    );
    let back = compared(&fixed, &slow, Amount::Screen, &SCREEN);
    assert!(back.starts_with("B takes "), "{back}");
    let calls = samples::compare(&slow, &fixed, |compared| compared_calls(compared, &PLAIN));
    check("diff_fixed_calls", &calls);
}

/// What is done for each commit is one row, with how many times what is done; threads stand beside each other by what they are
/// for, and functions by who called them.
#[test]
fn differences_of_commits() {
    let (many, few) = (samples::commits(40), samples::commits(2));
    let both = (std::slice::from_ref(&many), std::slice::from_ref(&few));
    check(
        "diff_items_plain",
        &compared(both.0, both.1, Amount::All, &PLAIN),
    );
    let threads = samples::compare(both.0, both.1, |both| compared_threads(both, &NARROW));
    check("diff_threads_narrow", &threads);
    for (name, weights) in [
        ("diff_tree_both", Weights::Both),
        ("diff_tree_waits", Weights::Waits),
    ] {
        let tree = samples::beside(&many, &few, weights, |both| {
            compared_tree(both, weights, &PLAIN)
        });
        check(name, &tree);
    }
    let same = samples::beside(&few, &few, Weights::Cpu, |both| {
        compared_tree(both, Weights::Cpu, &PLAIN)
    });
    assert!(same.contains("Nothing differs."), "{same}");
}

/// Where two runs were made: what can explain the difference first, with the line of a file; what cannot, below. One alone.
#[test]
fn differences_of_two_places() {
    let [here, there] = samples::in_two_places();
    let page = samples::compare(&[here], &[there], |compared| {
        let facts = environments(compared.environment, Amount::Screen, &SCREEN);
        let own = environment(&compared.comparison.b.environment, &SCREEN);
        format!("{facts}\n{own}")
    });
    check("environment_screen", &page);
}

/// What was tried of two environments, with each of the verdicts.
#[test]
fn facts_that_were_tried() {
    let tried = |name: &str, verdict| Tried {
        name: name.to_owned(),
        verdict,
    };
    let mut facts = vec![
        tried(
            "file /srv/a/server.conf",
            FactVerdict::Confirmed {
                ns: 32.5e6,
                lo_ns: 19.9e6,
                hi_ns: 63.3e6,
            },
        ),
        tried(
            "environment variable LANG",
            FactVerdict::Excluded { ns: 6.1e6 },
        ),
        tried("affinity nice", FactVerdict::Undecided { more: Some(349) }),
        tried("affinity CPUs", FactVerdict::Undecided { more: Some(1) }),
        tried(
            "ulimits Max stack size",
            FactVerdict::Undecided { more: None },
        ),
    ];
    facts.extend((0..8).map(|number| {
        let why = "it cannot be set for one process".to_owned();
        tried(&format!("kernel {number}"), FactVerdict::NotTested { why })
    }));
    let mut shown = Proof {
        difference_ns: 49_100_000,
        recorded_ns: 150_000_000,
        is_recorded: true,
        rounds: 20,
        run_ns: 147e6,
        facts,
    };
    let slower = proof(&shown, &SCREEN);
    (shown.difference_ns, shown.recorded_ns) = (-49_100_000, 12_000_000);
    let faster = proof(&shown, &SCREEN);
    shown.rounds = 0;
    shown.facts.retain(|fact| fact.name.starts_with("kernel"));
    let nothing = proof(&shown, &SCREEN);
    check("proof_screen", &format!("{slower}\n{faster}\n{nothing}"));
}

/// Requests that two servers handled, and their loops; a side that has none has a dash.
#[test]
fn differences_of_operations() {
    let (server, imports) = (samples::served(), samples::import());
    let shown = |a: &Draft, b: &Draft, style: &Style| {
        let (a, b) = (std::slice::from_ref(a), std::slice::from_ref(b));
        samples::compare(a, b, |both| compared_operations(both, style))
    };
    let both = shown(&server, &server, &PLAIN);
    let one = shown(&server, &imports, &NARROW);
    check("diff_operations", &format!("{both}\n{one}"));
}

/// As often and slower each time is told apart from more often.
#[test]
fn differences_of_two_disks() {
    let (fast, slow) = (
        [samples::flushes(100, 100, 50)],
        [samples::flushes(100, 3_100, 50)],
    );
    let screen = compared(&fast, &slow, Amount::Screen, &SCREEN);
    assert!(
        screen.contains("slower each time: import flushes rows.db, 100 times in both"),
        "{screen}"
    );
    assert!(
        screen.contains("100 us each in A, 3.10 ms in B"),
        "{screen}"
    );
}

/// Several recordings a side: their spread stands beside the difference, and what lies within it is not told.
#[test]
fn differences_of_several_recordings() {
    let side = |each: [u64; 3], search: [u64; 3]| -> Vec<Draft> {
        let each = each.into_iter().zip(search);
        each.map(|(each, search)| samples::flushes(100, each, search))
            .collect()
    };
    let (a, b) = (
        side([1_000, 1_100, 1_050], [300, 200, 400]),
        side([3_000, 3_100, 3_200], [350, 250, 500]),
    );
    check(
        "diff_several_screen",
        &compared(&a, &b, Amount::Screen, &SCREEN),
    );
    let same = compared(&a, &a, Amount::Screen, &SCREEN);
    assert!(same.starts_with("No difference"), "{same}");
}

/// A side of several recordings beside one of a single one: only of that it is said that it is alone.
#[test]
fn a_single_recording_is_told_of_its_side() {
    let draft = || samples::flushes(100, 1_000, 300);
    let three = [draft(), draft(), draft()];
    let page = compared(&three, &[draft()], Amount::Screen, &PLAIN);
    assert!(page.contains("one recording of B does not say"), "{page}");
    let page = compared(&[draft()], &three, Amount::Screen, &PLAIN);
    assert!(page.contains("one recording of A does not say"), "{page}");
}

/// A recording beside itself: nothing differs. Beside another program's: it is said that little is aligned.
#[test]
fn differences_of_the_same_and_of_others() {
    check(
        "diff_same_plain",
        &compared(
            &[samples::import()],
            &[samples::import()],
            Amount::Screen,
            &PLAIN,
        ),
    );
    let unlike = compared(
        &[samples::coded()],
        &[samples::served()],
        Amount::Screen,
        &SCREEN,
    );
    assert!(unlike.contains("unlike work"), "{unlike}");
}

/// A comparison fits a screen whatever was recorded, and no name in it moves a cursor.
#[test]
fn differences_fit_a_screen() {
    let drawn = samples::all();
    for a in &drawn {
        for b in &drawn {
            let (a, b) = (std::slice::from_ref(a), std::slice::from_ref(b));
            let page = compared(a, b, Amount::Screen, &SCREEN);
            assert!(page.lines().count() <= 40, "{page}");
            let is_wide = |line: &&str| super::style::width(line) > 100;
            assert_eq!(page.lines().find(is_wide), None);
            let all = compared(a, b, Amount::All, &PLAIN);
            for text in [page, all] {
                let hostile = text.chars().find(|c| *c != '\n' && is_hostile(*c));
                assert_eq!(hostile, None, "{text}");
            }
        }
    }
}
