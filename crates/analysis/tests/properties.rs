//! What must hold for any recording, tried on many made at random from fixed seeds.

use fastrand::Rng;
use timesink_analysis::facts::{Facts, Gathering, Listed};
use timesink_analysis::ledger::Account;
use timesink_analysis::path::{Path, Walker};
use timesink_analysis::replay::{Processors, Replay};
use timesink_analysis::stacks::{Amount, Direction, Filter, Node, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::tables::{Delay, Frame, Occupant, Sample, Span, Stack, Thread};
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::{FrameId, Nanos, ObjectId, StackId, ThreadId};

/// Eight threads in three processes whose spans tile, with sums that may exceed them.
fn random(seed: u64) -> Draft {
    let dice = &mut Rng::with_seed(seed);
    let mut text = String::from("process 1 a\nprocess 2 b parent 1\nprocess 3 c parent 1\n");
    for thread in 1..=8 {
        text += &format!("thread {}.{thread} t{}\n", thread % 3 + 1, dice.u64(..3));
    }
    for thread in 1..=8 {
        text += &format!("{}.{thread}: cpu 0..1us\n", thread % 3 + 1);
    }
    let mut drawn = draft(&text);
    let template = drawn.spans[0].clone();
    drawn.spans.clear();
    drawn.occupants.clear();
    let ids: Vec<_> = drawn.threads.iter().map(|row| row.thread).collect();
    for (at, &thread) in ids.iter().enumerate() {
        let mut now = 0;
        for _ in 0..dice.u64(..60) + 1 {
            let span = random_span(dice, &template, now);
            now = span.t1.0;
            let span = Span { thread, ..span };
            if span.state == State::Ready && dice.u64(..2) == 0 {
                drawn.occupants.push(Occupant {
                    thread,
                    t0: span.t0,
                    occupant: None,
                    occupant_outsider: Some(dice.u64(..4) as u32),
                    ns: span.t1.since(span.t0) / 2,
                });
            }
            drawn.spans.push(span);
        }
        let row = &mut drawn.threads[at];
        row.end = Nanos(now);
        row.cpu_ns = dice.u64(..100_000);
        row.wait_ns = dice.u64(..100_000);
        row.tracer_ns = dice.u64(..1_000);
        row.kernel_life_ns = now as u64;
        row.samples_user = dice.u64(..30);
        row.samples_kernel = dice.u64(..30);
    }
    drawn
}

fn random_span(dice: &mut Rng, template: &Span, from: i64) -> Span {
    let choices = [
        (State::Cpu, Detail::Running),
        (State::Cpu, Detail::Exit),
        (State::Ready, Detail::Woken),
        (State::Ready, Detail::Preempted),
        (State::Ready, Detail::Throttled),
        (State::Wait, Detail::Flush),
        (State::Wait, Detail::Other),
        (State::Wait, Detail::Child),
        (State::Lost, Detail::Unknown),
    ];
    let (state, detail) = choices[dice.u64(..choices.len() as u64) as usize];
    let length = dice.u64(..10_000);
    Span {
        t0: Nanos(from),
        t1: Nanos(from + length as i64),
        state,
        detail,
        object: (dice.u64(..2) == 0).then(|| ObjectId(dice.u64(..3) as u32)),
        tracer_ns: dice.u64(..50),
        ..template.clone()
    }
}

/// The facts of rows shown in batches of this size.
fn facts(drawn: &Draft, batch: usize) -> Facts {
    let mut gathering = Gathering::new(Listed {
        threads: drawn.threads.clone(),
        processes: drawn.processes.clone(),
        ..Listed::default()
    });
    drawn
        .occupants
        .chunks(batch)
        .for_each(|rows| gathering.occupants(rows));
    drawn
        .spans
        .chunks(batch)
        .for_each(|rows| gathering.spans(rows));
    gathering.finish()
}

/// The causes of every thread, of every process and of all add up to the states.
#[test]
fn causes_add_up_to_states() {
    for seed in 1..200 {
        let ledger = facts(&random(seed), 7).ledger;
        for (at, thread) in ledger.threads.iter().enumerate() {
            for account in [
                Account::Cpu,
                Account::Ready,
                Account::Wait,
                Account::Tracer,
                Account::Lost,
            ] {
                let of = |cause: &&timesink_analysis::ledger::Cause| cause.key.account == account;
                let sum: u64 = thread.causes.iter().filter(of).map(|cause| cause.ns).sum();
                assert_eq!(sum, thread.sums.of(account), "seed {seed}, {account:?}");
            }
            assert_eq!(ledger.causes_of(&[at]), thread.causes, "seed {seed}");
        }
        let processes: u64 = ledger.processes.iter().map(|p| p.sums.accounted_ns()).sum();
        assert_eq!(processes, ledger.whole.accounted_ns(), "seed {seed}");
    }
}

/// A sum never falls below what spans or the kernel's keeping say.
#[test]
fn sums_never_lose_time() {
    for seed in 1..200 {
        let drawn = random(seed);
        let ledger = facts(&drawn, 1000).ledger;
        for thread in &ledger.threads {
            let life = thread.row.end.since(thread.row.start);
            let sums = &thread.sums;
            assert!(sums.accounted_ns() + sums.lost_ns >= life, "seed {seed}");
            assert!(sums.cpu_ns >= thread.row.cpu_ns && sums.wait_ns >= thread.row.wait_ns);
        }
    }
}

/// Who stood before a thread adds up to the time it stood in a queue.
#[test]
fn occupants_add_up_to_the_queue() {
    for seed in 1..200 {
        let ledger = facts(&random(seed), 1000).ledger;
        for thread in &ledger.threads {
            let queued = thread.causes.iter().filter(|cause| {
                cause.key.account == Account::Ready
                    && cause.key.kind != timesink_analysis::ledger::Kind::As(Detail::Throttled)
            });
            let queued: u64 = queued.map(|cause| cause.ns).sum();
            let behind: u64 = thread.behind.iter().map(|behind| behind.ns).sum();
            // Our own time is taken out of a span, not out of its occupants.
            assert!(behind >= queued, "seed {seed}: {behind} < {queued}");
        }
    }
}

/// Neither the size of batches nor the order of threads, processes and occupants shows, nor how
/// the spans of different threads are mixed.
#[test]
fn order_does_not_matter_where_it_should_not() {
    for seed in 1..100 {
        let mut drawn = random(seed);
        let before = format!("{:?}", facts(&drawn, 1000).ledger);
        let dice = &mut Rng::with_seed(seed + 77);
        dice.shuffle(&mut drawn.threads);
        dice.shuffle(&mut drawn.processes);
        let mut keys: Vec<u64> = (0..drawn.threads.len() + 1)
            .map(|_| dice.u64(..99))
            .collect();
        keys.dedup();
        drawn
            .spans
            .sort_by_key(|span| (keys[span.thread.index() % keys.len()], span.thread));
        drawn
            .occupants
            .sort_by_key(|row| (keys[row.thread.index() % keys.len()], row.thread));
        let shuffled = format!("{:?}", facts(&drawn, 5).ledger);
        assert_eq!(before, shuffled, "seed {seed}, threads in another order");
        drawn.spans.sort_by_key(|span| span.t0);
        let mixed = format!("{:?}", facts(&drawn, 5).ledger);
        assert_eq!(
            before, mixed,
            "seed {seed}, spans of all threads mixed by time"
        );
    }
}

/// The recording with samples, waits, times ready and stacks at random: some without stacks, some with more time
/// than their threads have.
fn with_stacks(seed: u64) -> Draft {
    let mut drawn = random(seed);
    let dice = &mut Rng::with_seed(seed + 5);
    for n in 0..8 {
        drawn.frames.push(Frame {
            frame: FrameId(n),
            module: None,
            offset: u64::from(n),
            function: ["main", "a", "b", "c", "", "a", "work", "work"][n as usize].to_owned(),
            file: "f.c".to_owned(),
            line: Some(n),
            returns: false,
            inlined: false,
            language: Language::Native,
            begins: None,
        });
    }
    for n in 0..40u32 {
        let parent = (n > 4).then(|| StackId(dice.u64(..u64::from(n)) as u32));
        drawn.stacks.push(Stack {
            stack: StackId(n),
            parent,
            frame: FrameId(dice.u64(..9) as u32),
            complete: n % 3 > 0,
        });
    }
    let template = draft("process 1 a\nthread 1.1\n1.1: wait 0..1s sleep").waits[0].clone();
    for span in drawn.spans.clone() {
        let stack = (dice.u64(..4) > 0).then(|| StackId(dice.u64(..42) as u32));
        let ns = span.t1.since(span.t0);
        if span.state == State::Cpu {
            drawn.samples.push(Sample {
                thread: span.thread,
                t: span.t1,
                processor: 0,
                kernel: false,
                address: 0,
                weight_ns: (dice.u64(..5) > 0).then(|| ns * dice.u64(..30) / 10),
                stack,
            });
        } else if span.state == State::Wait && dice.u64(..3) > 0 {
            let mut wait = template.clone();
            (wait.thread, wait.t0, wait.t1) = (span.thread, span.t0, span.t1);
            (wait.detail, wait.object, wait.stack) = (span.detail, span.object, stack);
            drawn.waits.push(wait);
        } else if span.state == State::Ready && dice.u64(..3) > 0 {
            drawn.delays.push(Delay {
                thread: span.thread,
                t0: span.t0,
                t1: span.t1,
                detail: span.detail,
                stack,
            });
        }
    }
    drawn
}

fn some_filter(dice: &mut Rng) -> Filter {
    let mut filter = Filter::default();
    match dice.u64(..5) {
        0 => filter.thread = Some(format!("t{}", dice.u64(..3))),
        1 => filter.process = Some("b".to_owned()),
        2 => filter.from = Some(Nanos(dice.u64(..100_000) as i64)),
        3 => filter.to = Some(Nanos(dice.u64(..100_000) as i64)),
        _ => (),
    }
    filter
}

fn stacks_of(drawn: &Draft, filter: &Filter) -> (Facts, Stacks) {
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let stacks = Stacks::of(&recording, &facts, filter).expect("a drawn recording reads");
    (facts, stacks)
}

/// The time of a tree's nodes is their own and that of the nodes below; returns their sum.
fn add_up(nodes: &[Node], seed: u64) -> u64 {
    for node in nodes {
        let below = add_up(&node.children, seed);
        let own = match node.children.is_empty() {
            true => node.amount.ns(),
            false => node.own.ns(),
        };
        assert_eq!(own + below, node.amount.ns(), "seed {seed}: {node:?}");
    }
    nodes.iter().map(|node| node.amount.ns()).sum()
}

/// Each view adds up to its total; without a filter that is the ledger's.
#[test]
fn views_add_up_to_the_ledger() {
    for seed in 1..80 {
        let filter = some_filter(&mut Rng::with_seed(seed));
        let (facts, stacks) = stacks_of(&with_stacks(seed), &filter);
        let view = stacks.view();
        let whole = &facts.ledger.whole;
        if filter.is_empty() {
            let all = whole.accounted_ns() + whole.lost_ns;
            assert_eq!(view.total.ns(), all, "seed {seed}");
            let (cpu, wait) = (view.total.cpu_ns, view.total.wait_ns);
            assert_eq!((cpu, wait), (whole.cpu_ns, whole.wait_ns), "seed {seed}");
        }
        let total = view.total.ns();
        let top = view.top();
        assert_eq!(
            top.iter().map(|row| row.own.ns()).sum::<u64>(),
            total,
            "seed {seed}"
        );
        assert_eq!(
            top.last().map_or(0, |row| row.running_ns),
            total,
            "seed {seed}"
        );
        let most = |amount: &Amount| amount.ns() <= total;
        assert!(top
            .iter()
            .all(|row| most(&row.own) && most(&row.accumulated)));
        assert!(top.iter().all(|row| row.own.ns() <= row.accumulated.ns()));
        for direction in [Direction::Callees, Direction::Callers] {
            for least in [0.0, 0.01, 0.3] {
                let tree = view.tree(direction, least);
                assert_eq!(add_up(&tree.roots, seed), total, "seed {seed}");
            }
        }
        let by_thread = facts.ledger.threads.iter();
        let by_thread = by_thread.map(|t| stacks.view_of_thread(t.row.thread).total.ns());
        assert_eq!(by_thread.sum::<u64>(), total, "seed {seed}");
    }
}

/// The order of samples, waits, spans, frames and threads does not show.
#[test]
fn order_of_rows_does_not_show_in_stacks() {
    for seed in 1..80 {
        let mut drawn = with_stacks(seed);
        let filter = some_filter(&mut Rng::with_seed(seed));
        let shown = |drawn: &Draft| {
            let (_, stacks) = stacks_of(drawn, &filter);
            let view = stacks.view();
            let name = |what| match what {
                timesink_analysis::stacks::What::Function(f) => view.code.function(f).name.clone(),
                timesink_analysis::stacks::What::Missing(missing) => missing.word().to_owned(),
            };
            let top = view.top().into_iter();
            let mut top: Vec<_> = top
                .map(|row| format!("{} {:?} {:?}", name(row.what), row.own, row.accumulated))
                .collect();
            // Rows with equal times stand in the order of the table of frames.
            top.sort();
            format!(
                "{top:?} {:?} {:?} {:?}",
                stacks.events, stacks.rests, stacks.counts
            )
        };
        let before = shown(&drawn);
        let dice = &mut Rng::with_seed(seed + 99);
        dice.shuffle(&mut drawn.samples);
        dice.shuffle(&mut drawn.waits);
        dice.shuffle(&mut drawn.delays);
        dice.shuffle(&mut drawn.spans);
        dice.shuffle(&mut drawn.threads);
        dice.shuffle(&mut drawn.frames);
        assert_eq!(before, shown(&drawn), "seed {seed}");
    }
}

/// Rows whose waits were ended by just anybody, at moments that may be impossible.
fn with_wakers(seed: u64) -> Draft {
    let mut drawn = random(seed);
    let dice = &mut Rng::with_seed(seed);
    let ids: Vec<_> = drawn.threads.iter().map(|row| row.thread).collect();
    for span in &mut drawn.spans {
        if span.state == State::Wait && dice.u64(..4) > 0 {
            span.waker = Some(ids[dice.u64(..ids.len() as u64) as usize]);
            span.detail = Detail::Condition;
        }
    }
    for row in &mut drawn.threads {
        row.parent = (dice.u64(..2) == 0).then(|| ids[dice.u64(..ids.len() as u64) as usize]);
        row.start = Nanos(dice.u64(..20_000) as i64);
    }
    drawn
}

/// Wherever wakes lead, and whatever moments rows claim, the path tiles the time asked about.
#[test]
fn paths_tile() {
    for seed in 1..400 {
        let drawn = with_wakers(seed);
        let timeline = Timeline::new(drawn.threads.clone(), &drawn.spans);
        for slot in 0..timeline.threads.len() {
            let path = Path::of_thread(&timeline, slot);
            let mut reached = path.from;
            for segment in &path.segments {
                assert_eq!(segment.t0, reached, "seed {seed}");
                assert!(segment.t1 > segment.t0, "seed {seed}");
                reached = segment.t1;
            }
            assert_eq!(reached, path.until, "seed {seed}");
            let causes = path.causes(&timeline, |process| process);
            let sum: u64 = causes.iter().map(|cause| cause.ns).sum();
            assert_eq!(sum, path.wall_ns(), "seed {seed}");
        }
    }
}

/// A walker that has walked other paths before walks each as one that has not; operations tile like that.
#[test]
fn many_paths_by_one_walker_tile() {
    for seed in 1..100 {
        let drawn = with_wakers(seed);
        let timeline = Timeline::new(drawn.threads.clone(), &drawn.spans);
        let dice = &mut Rng::with_seed(seed | 1);
        let mut walker = Walker::new(&timeline);
        for _ in 0..30 {
            let slot = dice.u64(..timeline.threads.len() as u64) as usize;
            let from = Nanos(dice.u64(..200_000) as i64);
            let until = from + dice.u64(..50_000) as i64;
            let path = walker.between(slot, from, until);
            let sum: u64 = path.segments.iter().map(|segment| segment.ns()).sum();
            assert_eq!(sum, until.since(from), "seed {seed}");
            let alone = Path::between(&timeline, slot, from, until);
            assert_eq!(path.segments, alone.segments, "seed {seed}");
        }
    }
}

/// A replay comes to an end whatever the rows claim. Times one change nothing, and with a processor for
/// each thread nothing gets slower by taking less time.
#[test]
fn replays_end_and_less_is_not_slower() {
    for seed in 1..200 {
        let drawn = with_wakers(seed);
        let timeline = Timeline::new(drawn.threads.clone(), &drawn.spans);
        let dice = &mut Rng::with_seed(seed | 1);
        let slot = dice.u64(..timeline.threads.len() as u64) as usize;
        let few = Replay::new(&timeline, &drawn.occupants, slot, 2);
        assert_eq!(few.run(|_| 1.0).wall_ns, few.unchanged_ns, "seed {seed}");
        let replay = few.on(Processors::Any(u32::MAX));
        let mut before = replay.run(|_| 1.0);
        // Where waits had to be ended by force the order of things is anybody's guess.
        let mut factors = vec![1.0; timeline.len()];
        for _ in 0..20 {
            let at = dice.u64(..factors.len() as u64) as usize;
            factors[at] *= 0.5;
            let after = replay.run(|index| factors[index]);
            if before.forced == 0 && after.forced == 0 {
                assert!(after.wall_ns <= before.wall_ns + 1, "seed {seed}");
            }
            before = after;
        }
    }
}

/// A hundred thousand threads that start each other and wait for each other are no trouble.
#[test]
fn many_threads() {
    let mut drawn = draft("process 1 p\nthread 1.1 t\n1.1: cpu 0..1us");
    let (thread, span) = (drawn.threads[0].clone(), drawn.spans[0].clone());
    let many = 100_000u32;
    drawn.threads.clear();
    drawn.spans.clear();
    for number in 0..many {
        let start = i64::from(number) * 1000;
        let id = ThreadId(number);
        drawn.threads.push(Thread {
            thread: id,
            parent: number.checked_sub(1).map(ThreadId),
            start: Nanos(start),
            end: Nanos(i64::from(many) * 1000),
            ..thread.clone()
        });
        let states = [
            (State::Cpu, start, start + 1500),
            (State::Wait, start + 1500, i64::from(many) * 1000),
        ];
        for (state, t0, t1) in states {
            drawn.spans.push(Span {
                thread: id,
                t0: Nanos(t0),
                t1: Nanos(t1),
                state,
                waker: (state == State::Wait).then_some(ThreadId((number + 1) % many)),
                ..span.clone()
            });
        }
    }
    let timeline = Timeline::new(drawn.threads.clone(), &drawn.spans);
    let path = Path::of_thread(&timeline, 0);
    let sum: u64 = path.segments.iter().map(|segment| segment.ns()).sum();
    assert_eq!(sum, path.wall_ns());
    let replay = Replay::new(&timeline, &[], 0, 2);
    assert!(replay.unchanged_ns > 0);
}
