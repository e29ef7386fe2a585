//! Pauses of small recordings drawn as text, which end on a schedule or do not.

use timesink_analysis::replay::Replay;
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::recording;
use timesink_recording::words::Detail;

/// Requests, each after a pause: answers of 3, 14 and 8 ms in turn.
fn requests(pauses: [u32; 3]) -> String {
    let rounds = [3, 14, 8].into_iter().zip(pauses);
    let rounds = rounds.map(|(answer, pause)| {
        format!(
            "| cpu +1ms | wait +{answer}ms network receive peer by network\n| wait +{pause}ms sleep by timer\n"
        )
    });
    let round: String = rounds.collect();
    format!(
        "process 1 p\nthread 1.1 tid 1 t\nobject peer \"tcp socket\" remote 10.0.0.1:80\n1.1: cpu 0..1ms\nfor n in 1..13\n{round}end\n"
    )
}

/// The schedules that are told, by their periods.
fn periods_ms(text: &str) -> Vec<u64> {
    let recording = recording(text);
    let timeline = Timeline::of(&recording).expect("a drawn recording reads");
    let paces = timeline.paces().all().iter();
    let periods = paces.map(|pace| (pace.period_ns as f64 / 1e6).round() as u64);
    periods.collect()
}

/// A program with a rate limit does not end sooner where answers are quicker: its pauses take what is left of each period. One in Go was
/// told to save 0.68 of 1.99 s so, and saves nothing.
#[test]
fn a_paced_program_is_no_quicker_by_quicker_answers() {
    // Milliseconds saved without these waits.
    let saved = |text: &str, detail: Detail| {
        let recording = recording(text);
        let timeline = Timeline::of(&recording).expect("a drawn recording reads");
        let replay = Replay::new(&timeline, &[], 0, 2);
        let is_it = |at: usize| timeline.span(at).is_some_and(|span| span.detail == detail);
        let without = replay.run(|at| if is_it(at) { 0.0 } else { 1.0 });
        (replay.unchanged_ns - without.wall_ns) / 1_000_000
    };
    let (paced, fixed) = (requests([26, 15, 21]), requests([20, 20, 20]));
    assert!(saved(&paced, Detail::NetworkReceive) <= 30);
    assert!(saved(&fixed, Detail::NetworkReceive) >= 300);
    // Without its pauses it takes what the answers do.
    assert!(saved(&paced, Detail::Sleep) >= 800);
}

/// A pause that ends at moments 25 ms apart keeps a schedule, even if its timer has a resolution of a millisecond and the answers all take
/// about as long; a sleep of a fixed length after each answer does not.
#[test]
fn a_schedule_is_told_from_a_fixed_sleep() {
    let start = "process 1 p\nthread 1.1 tid 1 t\nobject peer \"tcp socket\" remote 10.0.0.1:80\n1.1: cpu 0..1ms\n";
    let (mut schedule, mut fixed) = (start.to_owned(), start.to_owned());
    let (mut at, mut dice) = (1_000u64, 7u64);
    for round in 1..=80u64 {
        let mut die = |below: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (dice >> 33) % below
        };
        let answer = 8_000 + die(600);
        let due = 25_000 * round + die(1_000);
        schedule += &format!(
            "| wait +{answer}us network receive peer by network | cpu +100us | wait +{}us sleep by timer\n",
            due - at - answer - 100
        );
        at = due;
        fixed += &format!(
            "| wait +{answer}us network receive peer by network | cpu +100us | wait +{}us sleep by timer\n",
            16_000 + die(1_000)
        );
    }
    let told = periods_ms(&schedule);
    assert!(matches!(told[..], [24..=25]), "{told:?}");
    assert_eq!(periods_ms(&fixed), [0u64; 0]);
}

/// A loop of events is woken between two timers, so that the rest of one differs from the next. Eight goroutines that slept for 20 ms in turn,
/// each with a lock, were told to run on a schedule.
#[test]
fn a_fixed_sleep_in_a_loop_of_events_is_no_schedule() {
    let start = "process 1 p\nthread 1.1 tid 1 t\nobject loop epoll\n1.1: cpu 0..1ms\n";
    let (mut schedule, mut fixed) = (start.to_owned(), start.to_owned());
    let (mut at, mut dice) = (1_000u64, 7u64);
    for round in 1..=80u64 {
        let mut die = |below: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (dice >> 33) % below
        };
        let pause = |event: u64, rest: u64| {
            format!(
                "| wait +{event}us poll loop by network | cpu +100us | wait +{rest}us poll loop by timer\n"
            )
        };
        let (event, late) = (300 + die(1_500), die(600));
        let due = 25_000 * round + late;
        schedule += &pause(event, due - at - event - 100);
        at = due;
        fixed += &pause(event, 20_100 + late - event);
    }
    assert_eq!(periods_ms(&schedule), [25]);
    assert_eq!(periods_ms(&fixed), [0u64; 0]);
}
