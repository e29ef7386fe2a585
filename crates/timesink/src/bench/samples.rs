//! Drawn runs for tests of what presents them.

use timesink_recording::floors::Load;
use timesink_trials::{Round, Schedule};

use super::{Figure, Job, MemoryOf, Outcome, Question, Sample};
use crate::present::bench::Bench;

fn job(text: &str, reference: Option<usize>) -> Job {
    Job {
        text: text.to_owned(),
        words: text.split(' ').map(str::to_owned).collect(),
        parameters: Vec::new(),
        directory: None,
        reference,
    }
}

fn question() -> Question {
    Question {
        figure: Figure::Wall,
        metric: None,
        margin: 0.02,
        gate: None,
        alpha: 0.05,
    }
}

/// Rounds of commands that take 100 ms times a factor that depends on command and round, and up to a tenth more.
fn rounds(
    count: usize,
    commands: usize,
    factor: impl Fn(usize, usize) -> f64,
) -> Vec<Round<Sample>> {
    let mut schedule = Schedule::new(commands, 5);
    let rounds = (0..count).map(|round| {
        let order = schedule.next_round();
        let samples = (0..commands).map(|command| {
            let noise = 1.0 + schedule.draw(1000) as f64 / 10_000.0;
            let wall = 1e8 * noise * factor(command, round);
            Sample {
                wall_ns: wall as u64,
                user_ns: (wall * 0.7) as u64,
                system_ns: (wall * 0.2) as u64,
                memory_bytes: Some(20_000_000 + 4096 * schedule.draw(20) as u64),
                memory_of: MemoryOf::Process,
                voluntary_switches: 12,
                involuntary_switches: schedule.draw(4) as u64,
                minor_faults: 900 + 100 * command as u64 + schedule.draw(50) as u64,
                major_faults: 0,
                exit_code: 0,
                metric: None,
            }
        });
        let results = samples.collect();
        Round { order, results }
    });
    rounds.collect()
}

fn show(
    jobs: &[Job],
    rounds: &[Round<Sample>],
    question: &Question,
    tell: impl FnOnce(&Bench<'_>),
) {
    let outcome = Outcome::of(jobs, rounds, question);
    tell(&Bench {
        jobs,
        rounds,
        question,
        outcome: &outcome,
        load: Load {
            others_pct: 1.2,
            stolen_pct: 0.0,
            short_pct: None,
        },
        is_alone: true,
        was_interrupted: false,
        looked_at: false,
        seed: 5,
    });
}

fn two() -> [Job; 2] {
    [
        job("./import data.txt", None),
        job("./import --flush data.txt", Some(0)),
    ]
}

/// B takes a quarter more, and there is a gate.
pub fn changed(tell: impl FnOnce(&Bench<'_>)) {
    let rounds = rounds(30, 2, |command, _| 1.0 + 0.25 * command as f64);
    let question = Question {
        gate: Some(0.05),
        ..question()
    };
    show(&two(), &rounds, &question, tell);
}

/// Twelve rounds do not tell.
pub fn undecided(tell: impl FnOnce(&Bench<'_>)) {
    let rounds = rounds(12, 2, |command, _| 1.0 + 0.005 * command as f64);
    show(&two(), &rounds, &question(), tell);
}

/// A slow start, a machine that changes half way, another bench, a command that fails now and then, Ctrl-C.
pub fn bad_weather(tell: impl FnOnce(&Bench<'_>)) {
    let mut rounds = rounds(40, 3, |command, round| match (command, round) {
        (1, 0) => 3.0,
        (_, 20..) => 1.7,
        _ => 1.0,
    });
    rounds[7].results[2].exit_code = 1;
    let jobs = [job("a", None), job("b", Some(0)), job("c", Some(0))];
    let question = Question {
        alpha: 0.025,
        ..question()
    };
    show(&jobs, &rounds, &question, |bench| {
        tell(&Bench {
            load: Load {
                others_pct: 31.0,
                stolen_pct: 12.0,
                short_pct: None,
            },
            is_alone: false,
            was_interrupted: true,
            ..*bench
        });
    });
}

/// A grid of one command, whose second half of rounds is another story than the first.
pub fn drifting(tell: impl FnOnce(&Bench<'_>)) {
    let rounds = rounds(40, 2, |command, round| match (command, round) {
        (1, 20..) => 1.5,
        _ => 1.0,
    });
    let mut jobs = [job("dd bs=64", None), job("dd bs=4k", Some(0))];
    for (job, size) in jobs.iter_mut().zip(["64", "4k"]) {
        job.parameters = vec![("size".to_owned(), size.to_owned())];
    }
    show(&jobs, &rounds, &question(), tell);
}

/// One command alone.
pub fn alone(tell: impl FnOnce(&Bench<'_>)) {
    let rounds = rounds(10, 1, |_, _| 1.0);
    show(
        &[job("./import data.txt", None)],
        &rounds,
        &question(),
        tell,
    );
}

/// Commands that would break a table, a line of values or a terminal.
pub fn hostile(tell: impl FnOnce(&Bench<'_>)) {
    let jobs = [
        job("echo `x` | \"<b>\"", None),
        job("a\u{1b}[2J\n|b", Some(0)),
    ];
    show(&jobs, &rounds(10, 2, |_, _| 1.0), &question(), tell);
}
