//! What threads were at work for by their tags, on small recordings drawn as text.

use std::collections::BTreeMap;

use timesink_analysis::facts::Facts;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::replay::{Change, Gains, How, Recorded, Replay, What};
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::tags::{TagTree, Tagged, Tags};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::notation::draft;
use timesink_recording::{Nanos, ThreadId};

fn tags(text: &str) -> Option<Tags> {
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    Tags::of(&recording, &timeline, &stacks).expect("its tags")
}

/// `path own/all` in microseconds, and what has no tag.
fn lines(tree: &TagTree) -> Vec<String> {
    let nodes = tree.nodes.iter().map(|node| {
        let (own, all) = (node.own.total_ns(), node.all.total_ns());
        format!("{} {}/{}", node.path, own / 1000, all / 1000)
    });
    let untagged = format!("none {}", tree.untagged.total_ns() / 1000);
    nodes.chain([untagged]).collect()
}

const TAGGED: &str = "
    process 1 p
    thread 1.1 main
    thread 1.2 worker parent 1.1
    tag 0 1 \"storage/scrub/crc\"
    tag 1 1 \"storage/log\"
    1.1: cpu 0..10ms | wait ..14ms flush log call fsync | cpu ..20ms
    1.2: wait 0..5ms condition c | ready ..6ms | cpu ..16ms | wait ..20ms condition c
    tagged 1.1 1ms..6ms tag 0
    tagged 1.1 9ms..14ms tag 1
    tagged 1.1 15ms..20ms
    tagged 1.2 5ms..20ms tag 0
    sample 1.1 500us weight 4ms stack \"main\"
    sample 1.1 3ms weight 4ms stack \"main\"
    sample 1.1 9ms weight 4ms stack \"main\"
    sample 1.1 18ms weight 4ms stack \"main\"
    sample 1.2 10ms weight 10ms stack \"main\"";

/// A wait belongs to the tag that it began with, time on a processor to those that its samples hit; all time is somewhere, once.
#[test]
fn all_time_is_in_one_tag_or_in_none() {
    let tags = tags(TAGGED).expect("there are tags");
    assert_eq!(
        lines(&tags.whole),
        [
            "storage 0/27000",
            "storage/scrub 0/19000",
            "storage/scrub/crc 19000/19000",
            "storage/log 8000/8000",
            "none 13000"
        ]
    );
    assert_eq!(tags.whole.total_ns(), 40_000_000);
    let of_threads = tags.threads.iter().map(|one| one.tree.total_ns());
    assert_eq!(of_threads.collect::<Vec<_>>(), [20_000_000, 20_000_000]);
    let on_processors = tags.processors.iter().map(|one| one.tree.total_ns());
    assert_eq!(on_processors.sum::<u64>(), 27_000_000, "run and runnable");
}

#[test]
fn what_no_sample_hit_goes_by_how_it_began() {
    let text = "
        process 1 p
        thread 1.1 main
        tag 0 1 \"a\"
        1.1: cpu 0..1ms | wait ..3ms condition c | cpu ..7ms
        tagged 1.1 2ms..7ms tag 0";
    let tags = tags(text).expect("there are tags");
    assert_eq!(lines(&tags.whole), ["a 4000/4000", "none 3000"]);
}

#[test]
fn programs_without_tags_have_none() {
    assert!(tags("process 1 p\nthread 1.1 main\n1.1: cpu 0..10ms").is_none());
}

/// A module is what has its path or one that goes on from it, and no other that begins with the same letters.
#[test]
fn when_threads_had_a_tag() {
    let text = TAGGED.replace("storage/log", "storage/scrubber");
    let recording = draft(&text).recording();
    let tagged = Tagged::of(&recording).expect("it reads");
    let tagged = tagged.expect("there are tags");
    let us = |us: i64| Nanos(us * 1000);
    let scrub = [
        (ThreadId(1), vec![(us(1000), us(9000))]),
        (ThreadId(2), vec![(us(5000), Nanos::MAX)]),
    ];
    assert_eq!(tagged.stretches("storage/scrub"), BTreeMap::from(scrub));
    let storage = &tagged.stretches("storage")[&ThreadId(1)];
    let turns = vec![(us(1000), us(9000)), (us(9000), us(15_000))];
    assert_eq!(storage, &turns);
    assert!(tagged.stretches("stor").is_empty());
}

/// The path by tag, and what it would be without one: the wait that began with it, and of the runs as much as samples hit.
#[test]
fn the_path_by_tag() {
    let recording = draft(TAGGED).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let waited = Waited::of(&recording, &timeline).expect("its waits");
    let calls = &waited.calls_of;
    let outlook = Outlook::of(
        &recording,
        &timeline,
        &facts,
        &stacks,
        calls,
        Patience::SHORT,
    );
    let outlook = outlook.expect("it reads").expect("a main thread");
    let tags = outlook.tags.expect("there are tags");
    let told: Vec<_> = tags
        .all()
        .into_iter()
        .map(|(tag, ns)| (tag, ns / 1000))
        .collect();
    assert_eq!(told, [("storage/log", 7333), ("storage/scrub/crc", 3333)]);

    let tagged = Tagged::of(&recording).expect("it reads");
    let stretches = tagged.expect("there are tags").stretches("storage/log");
    let replay = Replay::new(&timeline, &[], 0, 64);
    let recorded = Recorded {
        timeline: &timeline,
        facts: &facts,
        stacks: &stacks,
        calls,
    };
    let without = Change {
        what: What::During(stretches),
        processes: None,
        how: How::Scale(0.0),
    };
    let gains = Gains::new(&replay, recorded, &replay.recorded_path());
    assert_eq!(gains.of(&[without], None).ns / 1000, 7333);
}
