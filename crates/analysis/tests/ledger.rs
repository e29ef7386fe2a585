//! The ledger on small recordings drawn as text.

use timesink_analysis::facts::{Facts, Gathering, Listed};
use timesink_analysis::ledger::{
    Account, Basis, Cause, Imbalance, Kind, Ledger, ThreadLedger, Who,
};
use timesink_recording::notation::{draft, Draft};
use timesink_recording::words::Detail;

fn facts(draft: &Draft) -> Facts {
    Facts::of(&draft.recording()).expect("a drawn recording reads")
}

fn ledger(text: &str) -> Ledger {
    facts(&draft(text)).ledger
}

fn wait(detail: Detail) -> (Account, Kind) {
    (Account::Wait, Kind::As(detail))
}

/// The sum of all causes of a state and kind.
fn ns(causes: &[Cause], (account, kind): (Account, Kind)) -> u64 {
    let found = causes
        .iter()
        .filter(|cause| (cause.key.account, cause.key.kind) == (account, kind));
    found.map(|cause| cause.ns).sum()
}

/// What must hold for every thread of every recording: the causes add up to the states.
fn assert_adds_up(thread: &ThreadLedger) {
    let accounts = [
        Account::Cpu,
        Account::Ready,
        Account::Wait,
        Account::Tracer,
        Account::Lost,
    ];
    for account in accounts {
        let causes = thread
            .causes
            .iter()
            .filter(|cause| cause.key.account == account);
        let sum: u64 = causes.map(|cause| cause.ns).sum();
        assert_eq!(
            sum,
            thread.sums.of(account),
            "{account:?} of {}",
            thread.row.name
        );
    }
}

const IMPORT: &str = "
    run wall 20ms
    process 1 pid 100 import
    thread 1.1 tid 100 import samples_user 30 samples_kernel 10
    1.1: cpu 0..4ms | wait 4ms..10ms flush rows.db by block device | ready ..11ms
       | cpu ..15ms tracer 100us | wait ..18ms flush rows.db | wait ..19ms sleep | cpu ..20ms
";

/// What the host of a virtual machine takes is part of a time on a processor, but not of the kernel's sum of it.
#[test]
fn what_the_host_takes_is_in_the_books() {
    let ledger = ledger(
        "run wall 10ms
         process 1 a
         thread 1.1 tid 1 a taken 2ms kernel_cpu 8ms
         1.1: cpu 0..10ms",
    );
    assert_eq!(ledger.whole.taken_ns, 2_000_000);
    assert_eq!(ledger.whole.cpu_ns, 10_000_000);
    assert_eq!(ledger.books.cpu.ours_ns, 8_000_000);
    assert_eq!(ledger.books.cpu.difference_pct(), Some(0.0));
    assert_eq!(ledger.books.unaccounted_ns, 0);
}

/// Books that are off by more than two percent say which; less, or next to nothing, is no reason to distrust.
#[test]
fn books_that_are_far_off_say_so() {
    let off = |thread: &str, spans: &str| {
        let drawn = format!("run wall 1s\nprocess 1 a\nthread 1.1 tid 1 a {thread}\n1.1: {spans}");
        ledger(&drawn).books.out_of_balance()
    };
    let half = "cpu 0..500ms | ready ..1s";
    assert_eq!(off("", half), None);
    assert_eq!(off("kernel_cpu 491ms", half), None, "1.8 %");
    assert_eq!(off("kernel_cpu 480ms", half), Some(Imbalance::Cpu), "4.2 %");
    assert_eq!(
        off("kernel_ready 490ms", half),
        None,
        "of all that it wanted to run, 1 %"
    );
    assert_eq!(off("kernel_ready 400ms", half), Some(Imbalance::Ready));
    assert_eq!(
        off("kernel_cpu 1ms", "cpu 0..2ms | ready ..1s"),
        None,
        "1 ms"
    );
    assert_eq!(off("kernel_life 1100ms", half), Some(Imbalance::Life));
}

/// Books that balance say so, and every nanosecond has its cause.
#[test]
fn a_sound_recording_balances() {
    let ledger = ledger(IMPORT);
    let thread = &ledger.threads[0];
    assert_adds_up(thread);
    assert_eq!(ledger.books.unaccounted_ns, 0);
    assert_eq!(ledger.books.cpu.difference_pct(), Some(0.0));
    assert!(ledger.tiling.is_sound(), "{:?}", ledger.tiling);
    assert_eq!(thread.sums.accounted_ns(), 20_000_000);
    assert_eq!(ns(&thread.causes, wait(Detail::Flush)), 9_000_000);
    assert_eq!(thread.causes[0].key.kind, Kind::As(Detail::Flush));
    assert_eq!(thread.causes[0].count, 2);
    assert_eq!(ledger.main, Some(0));
}

/// Our own time within a span is taken out of the span's state and stands as `tracer`.
#[test]
fn tracer_time_is_a_state_of_its_own() {
    let ledger = ledger(IMPORT);
    let thread = &ledger.threads[0];
    assert_eq!(thread.sums.tracer_ns, 100_000);
    assert_eq!(thread.sums.cpu_ns, 9_000_000 - 100_000);
    assert_eq!(
        ns(&thread.causes, (Account::Tracer, Kind::Recording)),
        100_000
    );
    assert_eq!(
        ledger.books.cpu.ours_ns, 9_000_000,
        "the kernel's cpu has the tracer in it"
    );
}

/// The estimated part of our cost stays within cpu and is only reported.
#[test]
fn estimated_tracer_time_stays_in_cpu() {
    let ledger = ledger(
        "process 1 p
         thread 1.1 p tracer_estimated 2ms
         1.1: cpu 0..10ms",
    );
    assert_eq!(ledger.whole.cpu_ns, 10_000_000);
    assert_eq!(ledger.whole.cost_ns(), 2_000_000);
}

/// A thread with enough samples divides its processor time by them.
#[test]
fn samples_divide_user_and_kernel() {
    let ledger = ledger(IMPORT);
    let thread = &ledger.threads[0];
    assert_eq!(
        (thread.split.basis, thread.split.samples),
        (Basis::Thread, 40)
    );
    assert_eq!(
        ns(&thread.causes, (Account::Cpu, Kind::User)),
        8_900_000 * 3 / 4
    );
    let estimated = thread.causes.iter().filter(|cause| cause.estimated);
    assert!(estimated
        .clone()
        .all(|cause| cause.key.account == Account::Cpu));
    assert_eq!(estimated.count(), 2);
}

/// With too few samples of its own a thread borrows its process's, then the recording's.
#[test]
fn a_thread_with_few_samples_borrows() {
    let ledger = ledger(
        "process 1 a
         process 2 b
         thread 1.1 a samples_user 19
         thread 1.2 a samples_kernel 19
         thread 2.1 b samples_user 2
         1.1: cpu 0..10ms
         1.2: cpu 0..10ms
         2.1: cpu 0..10ms",
    );
    assert_eq!(ledger.threads[0].split.basis, Basis::Process);
    assert_eq!(
        ns(&ledger.threads[0].causes, (Account::Cpu, Kind::User)),
        5_000_000
    );
    assert_eq!(ledger.threads[2].split.basis, Basis::Recording);
    assert_eq!(ledger.threads[2].split.samples, 40);
}

/// Without samples the kernel's ticks divide, and without those the time stays in one piece.
#[test]
fn ticks_are_the_last_resort() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a kernel_user 4ms kernel_system 6ms
         1.1: cpu 0..10ms",
    );
    assert_eq!(ledger.threads[0].split.basis, Basis::KernelTicks);
    assert_eq!(
        ns(&ledger.threads[0].causes, (Account::Cpu, Kind::User)),
        4_000_000
    );
    let ledger = self::ledger("process 1 a\nthread 1.1 a\n1.1: cpu 0..10ms");
    assert_eq!(ledger.threads[0].split.basis, Basis::Nothing);
    assert_eq!(
        ns(
            &ledger.threads[0].causes,
            (Account::Cpu, Kind::As(Detail::Running))
        ),
        10_000_000
    );
}

/// Tear-down is known exactly and runs in the kernel, so it uses up samples of the kernel first.
#[test]
fn tear_down_is_not_divided() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a samples_user 50 samples_kernel 50
         1.1: cpu 0..5ms | cpu ..10ms exit tear-down",
    );
    let causes = &ledger.threads[0].causes;
    assert_eq!(
        ns(causes, (Account::Cpu, Kind::As(Detail::Exit))),
        5_000_000
    );
    assert_eq!(ns(causes, (Account::Cpu, Kind::User)), 5_000_000);
    assert_eq!(ns(causes, (Account::Cpu, Kind::Kernel)), 0);
    assert_adds_up(&ledger.threads[0]);
}

/// Where spans were lost, the sums kept in the kernel say which states the lost time was.
#[test]
fn sums_survive_lost_spans() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a cpu 4ms wait 5ms ready 1ms samples_user 20
         1.1: cpu 0..2ms | lost ..9ms | wait ..10ms sleep",
    );
    let thread = &ledger.threads[0];
    assert_adds_up(thread);
    assert_eq!(thread.sums.accounted_ns(), 10_000_000);
    assert_eq!(thread.sums.lost_ns, 0);
    for (account, missing) in [(Account::Cpu, 2), (Account::Wait, 4), (Account::Ready, 1)] {
        assert_eq!(
            ns(&thread.causes, (account, Kind::Missing)),
            missing * 1_000_000
        );
    }
    assert_eq!(ledger.books.unaccounted_ns, 0);
}

/// Time that neither spans nor sums can tell stays lost, and is unaccounted for in the books.
#[test]
fn time_lost_altogether_is_said() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a cpu 2ms wait 1ms end_lost kernel_life 10ms
         1.1: cpu 0..2ms | lost ..9ms | wait ..10ms sleep",
    );
    let thread = &ledger.threads[0];
    assert_adds_up(thread);
    assert_eq!(thread.sums.lost_ns, 7_000_000);
    assert_eq!(ledger.books.unaccounted_ns, 7_000_000);
    assert_eq!(ledger.books.unaccounted_pct(), 70.0);
    assert_eq!(ledger.ends.end_lost, 1);
}

/// What is too much in one thread does not make up for what is too little in another.
#[test]
fn unaccounted_time_does_not_cancel_out() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a kernel_life 11ms
         thread 1.2 a kernel_life 9ms
         1.1: cpu 0..10ms
         1.2: cpu 0..10ms",
    );
    assert_eq!(ledger.books.life.difference_pct(), Some(0.0));
    assert_eq!(ledger.books.unaccounted_pct(), 10.0);
}

/// A thread without the kernel's figures is in no balance, and is counted.
#[test]
fn a_thread_that_cannot_be_checked_is_counted() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a kernel_life 0 kernel_cpu 0
         1.1: cpu 0..10ms",
    );
    assert_eq!(ledger.books.unchecked, 1);
    assert_eq!(ledger.books.cpu.ours_ns, 0);
}

/// Gaps, overlaps and lives that are not filled are found; spans of unknown threads too.
#[test]
fn spans_that_do_not_tile_are_found() {
    let mut drawn = draft(
        "process 1 a
         thread 1.1 a start 0 end 12ms cpu 9ms
         1.1: cpu 1ms..4ms | cpu 3ms..6ms | wait 7ms..10ms sleep",
    );
    drawn.threads[0].wait_ns = 1_000_000;
    let mut stray = drawn.spans[0].clone();
    stray.thread = timesink_recording::ThreadId(4_000_000_000);
    drawn.spans.push(stray);
    let tiling = facts(&drawn).ledger.tiling;
    assert_eq!((tiling.gaps, tiling.gap_ns), (3, 4_000_000));
    assert_eq!((tiling.overlaps, tiling.overlap_ns), (1, 1_000_000));
    assert_eq!((tiling.strays, tiling.spans), (1, 4));
    assert_eq!((tiling.beyond_sums, tiling.beyond_sums_ns), (1, 2_000_000));
}

/// Waits that nothing better is known about are told apart by their kernel function.
#[test]
fn other_waits_are_told_apart_by_function() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a
         1.1: wait 0..1ms other function do_a | wait ..3ms other function do_b
            | wait ..6ms other function do_a | wait +10us other",
    );
    let by_function: Vec<(&str, u64, u64)> = ledger.threads[0]
        .causes
        .iter()
        .map(|cause| {
            (
                cause.key.function.map_or("", |id| ledger.function(id)),
                cause.count,
                cause.ns,
            )
        })
        .collect();
    let expected = [
        ("do_a", 2, 4_000_000),
        ("do_b", 1, 2_000_000),
        ("", 1, 10_000),
    ];
    assert_eq!(by_function, expected);
}

/// Whoever had the processor is named; what remains was an idle processor on its way.
#[test]
fn a_ready_thread_stands_behind_somebody() {
    let drawn = draft(
        "process 1 a
         thread 1.1 a
         thread 1.2 b
         1.1: ready 0..10ms preempted occupant 1.2 6ms occupant outsider 812 3ms
            | ready ..12ms | ready ..20ms throttled | cpu ..21ms
         1.2: cpu 0..21ms
         outsider 812 backup",
    );
    let facts = facts(&drawn);
    let behind: Vec<(Who, u64, u64)> = facts.ledger.threads[0]
        .behind
        .iter()
        .map(|b| (b.who, b.count, b.ns))
        .collect();
    let expected = [
        (Who::Thread(drawn.thread("1.2")), 1, 6_000_000),
        (Who::Outsider(812), 1, 3_000_000),
        (Who::Idle, 0, 3_000_000),
    ];
    assert_eq!(
        behind, expected,
        "a quota that holds a thread back is not a queue"
    );
    assert_eq!(facts.outsiders.name(812), "backup");
}

/// A server of four threads that is not recorded was told four times, by the numbers of its threads.
#[test]
fn threads_outside_count_for_their_process() {
    let drawn = draft(
        "process 1 a
         thread 1.1 a
         1.1: ready 0..10ms preempted occupant outsider 813 6ms occupant outsider 814 3ms occupant outsider 700 1ms
            | cpu ..21ms
         outsider 812 backup pid 812
         outsider 813 worker pid 812
         outsider 814 worker pid 812
         outsider 700 gone pid 699",
    );
    let facts = facts(&drawn);
    let behind = facts.ledger.threads[0].behind.iter();
    let behind: Vec<_> = behind
        .map(|behind| match behind.who {
            Who::Outsider(pid) => (pid, facts.outsiders.name(pid), behind.ns),
            _ => panic!("{behind:?}"),
        })
        .collect();
    let expected = [
        (812, "backup", 9_000_000),
        // Of its process there is no name.
        (700, "gone", 1_000_000),
    ];
    assert_eq!(behind, expected);
}

/// With eight occupants in one span there may have been more, so the rest is not called idle.
#[test]
fn a_full_list_of_occupants_does_not_claim_idleness() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a
         1.1: ready 0..14ms occupant outsider 1 1ms occupant outsider 2 1ms \
                            occupant outsider 3 1ms occupant outsider 4 1ms \
                            occupant outsider 5 1ms occupant outsider 6 1ms \
                            occupant outsider 7 1ms occupant outsider 8 1ms",
    );
    let most = ledger.threads[0].behind.first().map(|b| (b.who, b.ns));
    assert_eq!(most, Some((Who::Unlisted, 6_000_000)));
}

/// The main thread is the first of the process that nobody recorded started.
#[test]
fn the_main_thread_is_found() {
    let ledger = ledger(
        "process 1 pid 50 late start 5ms
         process 2 pid 60 root start 0
         process 3 pid 70 child parent 2 start 0
         thread 3.1 child tid 70
         thread 2.1 worker tid 61
         thread 2.2 root tid 60
         thread 1.1 late tid 50
         3.1: cpu 0..10ms
         2.1: cpu 0..10ms
         2.2: cpu 0..10ms
         1.1: cpu 5ms..10ms",
    );
    let main = ledger.main.expect("there is one");
    assert_eq!(ledger.threads[main].row.name, "root");
}

/// Lives that the recording does not hold from end to end are counted.
#[test]
fn open_ends_are_counted() {
    let ledger = ledger(
        "process 1 a
         thread 1.1 a born_before alive_at_end
         thread 1.2 a alive_at_end
         1.1: cpu 0..10ms
         1.2: cpu 5ms..10ms",
    );
    let ends = ledger.ends;
    assert_eq!(
        (ends.born_before, ends.alive_at_end, ends.end_lost),
        (1, 2, 0)
    );
}

/// An empty recording has an empty ledger, and nothing divides by zero.
#[test]
fn an_empty_recording_is_no_fault() {
    let ledger = Gathering::new(Listed::default()).finish().ledger;
    assert_eq!(ledger.main, None);
    assert_eq!(ledger.books.unaccounted_pct(), 0.0);
}

/// Moments at the ends of what a number can hold do not overflow.
#[test]
fn absurd_moments_do_not_overflow() {
    let mut drawn = draft(
        "process 1 a
         thread 1.1 a
         1.1: cpu 0..1ms | wait ..2ms sleep | ready ..3ms",
    );
    for span in &mut drawn.spans {
        span.t0 = timesink_recording::Nanos(i64::MIN);
        span.t1 = timesink_recording::Nanos(i64::MAX);
        span.tracer_ns = u64::MAX;
    }
    let row = &mut drawn.threads[0];
    (row.cpu_ns, row.kernel_life_ns, row.samples_user) = (u64::MAX, u64::MAX, u64::MAX);
    (row.wait_ns, row.ready_ns, row.samples_kernel) = (u64::MAX, u64::MAX, u64::MAX);
    let mut gathering = Gathering::new(Listed {
        threads: drawn.threads.clone(),
        processes: drawn.processes.clone(),
        ..Listed::default()
    });
    gathering.spans(&drawn.spans);
    assert!(gathering.finish().ledger.tiling.overlaps > 0);
}
