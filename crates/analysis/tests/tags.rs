//! What threads were at work for by their tags, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::tags::{TagTree, Tags};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::draft;

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
