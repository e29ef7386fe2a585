//! Rules of threads, where a case needs more than one recording.

use timesink_findings::rule::Limits;
use timesink_recording::notation::{draft, recording};
use timesink_recording::tables::facts::{ALL_TICKS, IDLE_TICKS};
use timesink_recording::tables::Fact;
use timesink_recording::words::{FactKind, Moment};

use crate::cases::case;
use crate::drawn::{findings_of, seen_of, told_of};

/// Two threads that take turns of five milliseconds at Python's own lock, which has two futexes.
fn python(rounds: u32) -> String {
    let turns = |futex: &str| {
        format!(
            "for n in 1..{rounds}\n  | wait +5ms condition {futex} by timer call futex asked 4997us expired stack \"work;take_gil\" | cpu +5ms\nend\n"
        )
    };
    format!(
        "run wall 1s processors 4
process 1 python3
thread 1.1 tid 1 python3
thread 1.2 tid 2 python3 parent 1.1
thread 1.3 tid 3 python3 parent 1.1
1.1: cpu 0..1ms | wait ..{end}ms join t by 1.3 | cpu +1ms
1.2: cpu 1ms..6ms
{first}1.3: cpu 1ms..1ms
{second}",
        end = 1 + rounds * 10,
        first = turns("a"),
        second = turns("b"),
    )
}

/// Threads of Python that compute run one at a time, and it is their interpreter's lock that is told, not its time-outs.
#[test]
fn python_runs_one_thread_at_a_time() {
    let told = told_of(&recording(&python(40)));
    assert_eq!(
        told.first().map(|(rule, _)| *rule),
        Some("false-pool"),
        "{told:?}"
    );
    assert!(
        !told.iter().any(|(rule, _)| *rule == "expired-timeouts"),
        "{told:?}"
    );
    let few = told_of(&recording(&python(9)));
    assert!(
        !few.iter().any(|(rule, _)| *rule == "false-pool"),
        "{few:?}"
    );
}

/// More of the same never weakens what is said.
#[test]
fn the_worse_the_more() {
    let gain = |rounds| {
        let findings = findings_of(&recording(&python(rounds)), &Limits::default());
        let told = findings
            .told
            .iter()
            .find(|finding| finding.rule.name == "false-pool");
        told.map_or(0, |finding| finding.gain.ns)
    };
    let gains = [10, 20, 40].map(gain);
    assert!(gains.is_sorted(), "{gains:?}");
}

/// The place of Python threads that take turns was where the main thread happened to wait longest for the lock: where it started
/// them. It is what they compute.
#[test]
fn python_is_seen_where_its_threads_work() {
    let mut text = python(40).replace(
        "1.1: cpu 0..1ms | wait ",
        "1.1: cpu 0..1ms | wait +300ms condition a by timer call futex asked 4997us expired stack \"<module>;start;take_gil\" | wait ",
    );
    text = format!(
        "frame <module> file /srv/x.py line 20 language python
         frame start file /usr/lib/python3.11/threading.py language python
         frame fib file /srv/x.py line 3 language python\n{text}"
    );
    for n in 0..70 {
        text += &format!(
            "sample 1.{} {}ms weight 5ms stack \"run;fib\"\n",
            2 + n % 2,
            5 * n + 8
        );
    }
    let findings = seen_of(&recording(&text));
    assert_eq!(findings[0].lines[0], ("fib".to_owned(), Some(3)));
}

/// Of those who have the CPU meanwhile the one with most of it is named, all of its processes together: with `machine` it was timesink,
/// which alone was not recorded, and had 4 %.
#[test]
fn the_program_with_most_of_the_cpu_is_named() {
    let text = case("no-processor.fires-recorded-programs");
    let findings = findings_of(&recording(&text), &Limits::default());
    let suspect = &findings.told.first().expect("something is told").suspect;
    let title = format!("{:?}", suspect.title);
    assert!(title.contains("Name(\"rustc\")"), "{title}");
    let told = format!("{:?}", suspect.told);
    let most = "Name(\"rustc\"), Text(\" had the CPU for \"), Percent(84.0)";
    assert!(told.contains(most), "{told}");
}

/// Where all CPUs of the machine are at work, what threads wait for may be that: a pool of two connections to a server that computes with
/// both CPUs was told to save 0.9 to 2.5 of 2.9 s, and saves nothing.
#[test]
fn a_larger_pool_may_save_nothing_on_a_full_machine() {
    let at_least = |idle_ticks: u64| {
        let mut pool = draft(&case("pool-contention.fires"));
        let moments = [(Moment::Begin, 0, 0), (Moment::End, idle_ticks, 200)];
        for (moment, idle, all) in moments {
            for (key, ticks) in [(IDLE_TICKS, idle), (ALL_TICKS, all)] {
                pool.facts.push(Fact {
                    kind: FactKind::Load,
                    key: key.to_owned(),
                    value: ticks.to_string(),
                    moment,
                });
            }
        }
        let findings = findings_of(&pool.recording(), &Limits::default());
        let told = findings.told.iter();
        let mut told = told.filter(|finding| finding.rule.name == "pool-contention");
        told.next().expect("it is told").gain.lo_ns
    };
    assert!(at_least(150) > 100_000_000);
    assert_eq!(at_least(10), 0);
}
