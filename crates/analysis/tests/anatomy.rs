//! What is done again and again, on small recordings drawn as text.

use timesink_analysis::anatomy::{anatomies, Anatomy, Does};
use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::operations::Recorded;
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::notation::draft;

/// What is found, each with the name of its function.
fn found(text: &str) -> Vec<(Anatomy, Option<String>)> {
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let waited = Waited::of(&recording, &timeline).expect("its waits");
    let patience = Patience::FINDINGS;
    let outlook = Outlook::of(
        &recording,
        &timeline,
        &facts,
        &stacks,
        &waited.calls_of,
        patience,
    );
    let outlook = outlook.expect("its path").expect("a main thread");
    let recorded = Recorded {
        timeline: &timeline,
        facts: &facts,
        waited: &waited,
        programs: &Programs::of(&facts),
    };
    let name = |one: &Anatomy| {
        one.place
            .map(|spot| stacks.code.function(spot.function).name.clone())
    };
    let all = anatomies(&recorded, &stacks, &outlook).into_iter();
    all.map(|one| (name(&one), one))
        .map(|(name, one)| (one, name))
        .collect()
}

/// 400 files' names are looked up, read and taken apart in `load`, which `main` calls once for each.
const LOADS: &str = "
    process 1 p
    thread 1.1 p
    object zone file /usr/share/zone
    1.1: cpu 0..1000ms
    for n in 1..180
    sample 1.1 {5n}ms weight 5ms stack \"main;run;load;parse\"
    end
    sample 1.1 990ms weight 60ms stack \"main;report\"
    call 1.1 openat zone count 400 ns 20ms
    call 1.1 read zone count 800 ns 12ms bytes 800000
    call 1.1 close zone count 400 ns 8ms
    call 1.1 write zone count 3 ns 1ms
    site 1.1 openat zone at 1ms occurrence 1 stack \"main;run;load;open\"
    site 1.1 openat zone at 400ms occurrence 256 stack \"main;run;load;open\"
    site 1.1 read zone at 2ms occurrence 1 stack \"main;run;load\"
    site 1.1 read zone at 401ms occurrence 512 stack \"main;run;load\"
    site 1.1 close zone at 3ms occurrence 1 stack \"main;run;load\"
    site 1.1 close zone at 402ms occurrence 256 stack \"main;run;load\"
    ";

/// Calls that are as many belong together, and the function around them says what one of it consists of.
#[test]
fn an_item_has_its_calls_and_its_functions() {
    let all = found(LOADS);
    assert_eq!(all.len(), 1, "{all:?}");
    let (one, function) = &all[0];
    assert_eq!(function.as_deref(), Some("load"));
    assert_eq!((one.count, one.ns), (400, 940_000_000));
    assert_eq!(one.components.len(), 2, "{one:?}");
    assert_eq!(one.components[0].ns, 900_000_000);
    assert!(matches!(one.components[0].does, Does::Function(_)));
    let Does::Calls {
        names,
        object,
        objects,
        ..
    } = &one.components[1].does
    else {
        panic!("{one:?}");
    };
    assert_eq!(names[..], ["close", "openat", "read"]);
    assert_eq!((object.is_some(), *objects), (true, 1));
    assert_eq!(one.components[1].ns, 40_000_000);
}

/// A program that does 700,000 things was told to do 38: as often as its runtime asked for memory. A buffer that is full is no item either,
/// unless most of the time goes into it.
#[test]
fn memory_and_full_buffers_are_no_items() {
    let memory = LOADS
        .replace(" openat ", " mmap ")
        .replace(" close ", " munmap ");
    let memory = memory.replace(" read ", " futex ");
    assert_eq!(found(&memory).len(), 0);
    let reads = LOADS
        .replace(" openat ", " lseek ")
        .replace(" close ", " pread64 ");
    assert_eq!(found(&reads).len(), 0);
    assert_eq!(found(&reads.replace("ns 20ms", "ns 150ms")).len(), 1);
}

/// What is done in no function of its own is told of the thread, from when it is done first.
#[test]
fn items_of_an_outermost_function() {
    let text = LOADS.replace("run;load;", "").replace(";run;load", "");
    assert_eq!(found(&text).len(), 0, "its calls are 4 % of what it does");
    let text = text
        .replace("ns 20ms", "ns 580ms")
        .replace("weight 5ms", "weight 3ms");
    let all = found(&text);
    assert_eq!(all.len(), 1, "{all:?}");
    let (one, function) = &all[0];
    assert_eq!((one.count, function), (400, &None));
    assert_eq!(one.ns, 600_000_000 + 540_000_000 + 60_000_000);
}

/// Few calls are no items, and where the path is elsewhere nobody asks.
#[test]
fn no_items() {
    let few = LOADS
        .replace("count 400", "count 19")
        .replace("count 800", "count 19");
    assert_eq!(found(&few).len(), 0);
    let other = LOADS.replace(
        "1.1: cpu 0..1000ms",
        "1.1: cpu 0..10ms | wait ..1000ms sleep",
    );
    let other = other
        .replace("weight 5ms", "weight 50us")
        .replace("weight 60ms", "weight 1ms");
    assert_eq!(found(&other).len(), 0);
}

/// Each program's components add up, and a recording without stacks tells the calls of its first thread.
#[test]
fn items_without_stacks() {
    let lines = LOADS.lines();
    let text: Vec<&str> = lines.filter(|line| !line.contains("site ")).collect();
    let text = text.join("\n").replace("ns 20ms", "ns 980ms");
    let all = found(&text);
    assert_eq!(all.len(), 1, "{all:?}");
    let (one, function) = &all[0];
    assert_eq!((one.count, function), (400, &None));
    let sum: u64 = one.components.iter().map(|component| component.ns).sum();
    assert_eq!(one.ns, sum);
}

/// A program that reads 25 settings in the function that then loads 400 zones does not do 25 things.
#[test]
fn what_comes_more_often_and_takes_longer_is_the_item() {
    let text = LOADS.replace("call 1.1 write zone count 3", "call 1.1 mmap count 25");
    let text = text.replace(
        "weight 60ms stack \"main;report\"",
        "weight 300ms stack \"main;run;index\"",
    );
    let text = text + "site 1.1 mmap at 1ms occurrence 16 stack \"main;run\"";
    let all = found(&text);
    let counts: Vec<u64> = all.iter().map(|(one, _)| one.count).collect();
    assert_eq!(counts, [400]);
}

/// What two threads do at the same time was added up to more than the wall time, as if one did it after the other; and what a
/// helper waits for meanwhile was added to that.
#[test]
fn items_of_threads_at_once() {
    let mut text = String::from(
        "run wall 1s processors 2
         process 1 p
         thread 1.1 p
         thread 1.2 p parent 1.1
         thread 1.3 p parent 1.1
         object log file /srv/log
         1.1: cpu 0..450ms | wait ..455ms join t by 1.2 | cpu ..900ms | cpu +1ms exit
         1.2: cpu 1ms..455ms | cpu +1us | cpu ..890ms exit
         1.3: wait 1ms..900ms condition c\n",
    );
    for (thread, at) in [(1, 2), (2, 3)] {
        text += &format!(
            "call 1.{thread} write log count 400 ns 700ms
             site 1.{thread} write log at {at}ms occurrence 1 stack \"work;store\"
             site 1.{thread} write log at {at}ms occurrence 256 stack \"work;store\"\n"
        );
    }
    let text = text + "call 1.3 write log count 20 ns 890ms\n";
    let all = found(&text);
    assert_eq!(all.len(), 1, "{all:?}");
    let (one, _) = &all[0];
    assert_eq!((one.count, one.ns), (800, 1_400_000_000), "{one:?}");
    assert_eq!((one.at_once.many, one.at_once.processes), (2, false));
}

/// A program that sleeps 18 times after it has opened 34 files as it started was told to do both 34 times.
#[test]
fn what_takes_the_time_comes_as_often_as_the_item() {
    let text = "
        process 1 p
        thread 1.1 p
        object loop epoll [eventpoll]
        1.1: cpu 0..50ms
        for n in 1..18
          | wait +50ms poll loop by timer call epoll_wait | cpu +1ms
        end
        call 1.1 openat count 34 ns 3ms
        call 1.1 close count 34 ns 1ms
        call 1.1 epoll_wait loop count 18 ns 900ms
        site 1.1 openat at 1ms occurrence 32 stack \"main\"
        site 1.1 close at 2ms occurrence 32 stack \"main\"
        site 1.1 epoll_wait loop at 3ms occurrence 16 stack \"main\"";
    let all = found(text);
    assert!(all.is_empty(), "{all:?}");
}
