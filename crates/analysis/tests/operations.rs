//! Operations on small recordings drawn as text: what counts as one, and what slow ones have.

use std::collections::BTreeSet;

use timesink_analysis::facts::programs::Programs;
use timesink_analysis::facts::Facts;
use timesink_analysis::operations::{
    Detail as Closely, End, Kind, NoDifference, Recorded, Set, Wanted,
};
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::words::{Detail, State};

/// What a drawn recording has of the operations that are wanted, each looked at closely.
fn found(drawn: &Draft, wanted: &Wanted) -> Vec<(Set, Closely)> {
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let waited = Waited::of(&recording, &timeline).expect("its waits");
    let recorded = Recorded {
        timeline: &timeline,
        facts: &facts,
        waited: &waited,
        programs: &Programs::of(&facts),
    };
    let sets = recorded.operations(wanted).into_iter();
    sets.map(|set| (set.clone(), recorded.detail(&set, &stacks)))
        .collect()
}

/// The lengths of the operations of servers, in microseconds, by kind.
fn served(drawn: &Draft) -> Vec<(Kind, Vec<u64>)> {
    let sets = found(drawn, &Wanted::Served).into_iter();
    sets.map(|(set, _)| (set.kind, lengths(&set))).collect()
}

fn lengths(set: &Set) -> Vec<u64> {
    set.operations.iter().map(|one| one.ns() / 1000).collect()
}

/// Who asks in an event loop waits for the beginning of each answer and for its rest; a request lasts until all is there.
/// What the server did for it was over long before.
#[test]
fn requests_as_the_one_who_asks_sees_them() {
    let text = "process 1 client
         thread 1.1 client
         object e epoll
         object s tcp socket local 10.0.0.1:41000 remote 10.0.0.1:8123
         1.1: cpu 0..1ms
         for n in 1..20
         | cpu +500us | wait +400us poll e by network call epoll_wait result 1 woken_object s
         | cpu +100us | wait +42.9ms poll e by network call epoll_wait result 1 woken_object s
         end
         call 1.1 connect s
         call 1.1 write s count 20 bytes 1280
         call 1.1 read s count 40 bytes 120000";
    let drawn = draft(text);
    assert_eq!(served(&drawn), [(Kind::Asked, vec![43_400; 20])]);
    // Twice as many requests: none is waited for twice.
    let drawn = draft(&text.replace("write s count 20", "write s count 40"));
    let [(Kind::Asked, lengths)] = &served(&drawn)[..] else {
        panic!("one set of requests");
    };
    assert_eq!(lengths.iter().filter(|&&us| us == 42_900).count(), 20);
    // Who was asked itself waits for requests there.
    let drawn = draft(&text.replace("connect s", "accept4 s"));
    assert!(served(&drawn).iter().all(|(kind, _)| *kind != Kind::Asked));
}

/// From the arrival of a request to the next wait for one. To take a connection is no operation, nor is its end.
#[test]
fn requests_on_one_connection() {
    let drawn = draft(
        "process 1 server
         thread 1.1 server
         object l tcp socket
         1.1: wait 0..10ms network accept l by network | cpu ..10.1ms
            | wait ..11ms network receive c by network result 20 | cpu ..12ms
            | wait ..15ms network receive c by network result 20 | ready ..16ms | cpu ..18ms
            | wait ..20ms network receive c by network result 0 | cpu ..20.5ms
            | wait ..30ms network accept l
         call 1.1 listen l
         call 1.1 accept4 c
         call 1.1 recvfrom c count 3 bytes 40
         call 1.1 sendto c count 4 bytes 40",
    );
    assert_eq!(served(&drawn), [(Kind::Request, vec![1000, 3000])]);
    let (set, _) = &found(&drawn, &Wanted::Served)[0];
    assert_eq!((set.sends, set.connections), (Some(4), 1));
    assert_eq!((set.at(0.5).ns(), set.at(1.0).ns()), (1_000_000, 3_000_000));
    assert_eq!(set.rate(), Some(2.0 / 0.007));
}

/// One connection after the other, each with one request that waits for its data or does not.
#[test]
fn one_connection_after_the_other() {
    let drawn = draft(
        "process 1 server
         thread 1.1 server
         object l tcp socket
         1.1: wait 0..1ms poll woken_object l by network | cpu ..2ms
            | wait ..3ms poll woken_object l by network | cpu ..3.1ms
            | wait ..4ms network receive d by network result 20 | cpu ..7ms
            | wait ..9ms poll expired by timer | cpu ..9.1ms | wait ..10ms poll
         call 1.1 listen l
         call 1.1 accept4 c
         call 1.1 accept4 d
         call 1.1 recvfrom c count 1 bytes 20
         call 1.1 recvfrom d count 1 bytes 20
         call 1.1 sendto c count 1 bytes 40
         call 1.1 sendto d count 1 bytes 40",
    );
    assert_eq!(served(&drawn), [(Kind::Request, vec![1000, 3000])]);
}

/// A loop over many connections has rounds; those in which a connection was taken may hold its request as well. After a
/// time-out there is none, nor before the first connection.
#[test]
fn rounds_of_a_loop() {
    let drawn = draft(
        "process 1 server
         thread 1.1 server alive_at_end
         object l tcp socket
         object c tcp socket
         object d tcp socket
         1.1: wait 0..100us poll e | cpu ..800us | wait ..1ms poll e woken_object l by network | cpu ..1.1ms
            | wait ..2ms poll e woken_object c by network | cpu ..2.5ms
            | wait ..2.51ms poll e by network | cpu ..2.8ms
            | wait ..4ms poll e expired by timer | cpu ..4.1ms
            | wait ..5ms poll e woken_object d by network | cpu ..6ms | wait ..9ms poll e
         call 1.1 listen l
         call 1.1 accept4 c
         call 1.1 accept4 d
         call 1.1 read c count 2 bytes 40
         call 1.1 read d count 2 bytes 40
         call 1.1 write c count 2 bytes 40
         call 1.1 write d count 2 bytes 40",
    );
    assert_eq!(served(&drawn), [(Kind::Round, vec![100, 290, 500, 1000])]);
}

/// Who asks another server on the way, and waits for its answer, is still busy with the same request.
#[test]
fn a_server_that_asks_another() {
    let drawn = draft(
        "process 1 server
         thread 1.1 server alive_at_end
         object c tcp socket
         object db tcp socket
         1.1: wait 0..1ms poll e woken_object c by network | cpu ..2ms
            | wait ..5ms poll woken_object db by network | cpu ..5.5ms
            | wait ..6ms network receive db by network result 5 | cpu ..7ms
            | wait ..9ms poll e woken_object c by network | cpu ..10ms | wait ..11ms poll e
         call 1.1 accept4 c
         call 1.1 connect db
         call 1.1 recvfrom c count 2 bytes 20
         call 1.1 sendto c count 2 bytes 20
         call 1.1 recvfrom db count 1 bytes 20
         call 1.1 sendto db count 1 bytes 20",
    );
    assert_eq!(served(&drawn), [(Kind::Request, vec![1000, 6000])]);
}

/// A thread for each connection: its request may be there before it is, and its end is the operation's.
#[test]
fn a_thread_for_each_connection() {
    let drawn = draft(
        "process 1 server
         thread 1.1 server alive_at_end
         thread 1.2 worker parent 1.1
         thread 1.3 worker parent 1.1
         object l tcp socket
         object c tcp socket
         object d tcp socket
         1.1: wait 0..1ms network accept l | cpu ..1.1ms | wait ..5ms network accept l
            | cpu ..5.1ms | wait ..20ms network accept l
         1.2: cpu 1ms..3ms
         1.3: cpu 5ms..5.2ms | wait ..6ms network receive d by network result 9 | cpu ..10ms
         call 1.1 listen l
         call 1.1 accept4 c
         call 1.1 accept4 d
         call 1.2 recvfrom c count 1 bytes 9
         call 1.2 sendto c count 1 bytes 9
         call 1.3 recvfrom d count 1 bytes 9
         call 1.3 sendto d count 1 bytes 9",
    );
    let mut drawn = drawn;
    drawn.threads[1].start = timesink_recording::Nanos(1_000_000);
    drawn.threads[2].start = timesink_recording::Nanos(5_000_000);
    assert_eq!(served(&drawn), [(Kind::Request, vec![2000, 4000])]);
}

/// Such a thread may wait only for the end of its connection, its request having been there before it was. A wait
/// that is known to have brought nothing was that; of one wait of which nothing is known, what took longer is the answer.
#[test]
fn a_thread_that_waits_for_the_end() {
    let threads = [
        "wait ..4ms network receive c result 0 | cpu ..4.1ms",
        "wait ..4ms network receive c | cpu ..4.1ms",
        "wait ..4ms network receive c | cpu ..9ms",
    ];
    let expected = [3000, 3000, 5000];
    for (thread, expected) in threads.iter().zip(expected) {
        let drawn = draft(&format!(
            "process 1 server
             thread 1.1 server alive_at_end
             thread 1.2 worker parent 1.1
             object c tcp socket
             1.2: cpu 0..3ms | {thread}
             call 1.1 accept4 c
             call 1.2 recvfrom c count 2 bytes 9
             call 1.2 sendto c count 1 bytes 9"
        ));
        assert_eq!(
            served(&drawn),
            [(Kind::Request, vec![expected])],
            "{thread}"
        );
    }
}

/// Where connections go from thread to thread, what a thread does between two waits for work is a piece.
#[test]
fn a_pool_of_threads() {
    let drawn = draft(
        "process 1 server
         thread 1.1 worker alive_at_end
         thread 1.2 worker alive_at_end
         object c tcp socket
         1.1: wait 0..1ms condition q by 1.2 | cpu ..2ms | wait ..9ms condition q
         1.2: cpu 0..1.5ms | wait ..3ms condition q by outsider 7 | cpu ..6ms | wait ..9ms condition q
         call 1.1 accept4 c
         call 1.1 read c count 1 bytes 9
         call 1.1 write c count 1 bytes 9
         call 1.2 read c count 1 bytes 9
         call 1.2 write c count 1 bytes 9",
    );
    assert_eq!(served(&drawn), [(Kind::Piece, vec![1000, 3000])]);
}

/// A connection that was there before the recording is told by its ports; who only asks serves nobody, and is
/// found only if any socket is wanted.
#[test]
fn who_asks_serves_nobody() {
    let text = "process 1 p
         thread 1.1 p alive_at_end
         object c tcp socket
         1.1: wait 0..1ms network receive c by network | cpu ..2ms | wait ..3ms network receive c
         call 1.1 recvfrom c count 1 bytes 20
         call 1.1 sendto c count 1 bytes 20";
    let with = |local: &str, remote: &str| {
        let mut drawn = draft(text);
        drawn.objects[0].local = Some(local.to_owned());
        drawn.objects[0].remote = Some(remote.to_owned());
        drawn
    };
    let server = with("10.0.0.1:5432", "10.0.0.9:40000");
    assert_eq!(served(&server), [(Kind::Request, vec![1000])]);
    let client = with("10.0.0.9:40000", "10.0.0.1:5432");
    assert_eq!(served(&client), []);
    let any = found(&client, &Wanted::AnySocket);
    assert_eq!(lengths(&any[0].0), [1000]);
}

/// Who takes what is sent but never answers is no server.
#[test]
fn who_never_answers_is_no_server() {
    let drawn = draft(
        "process 1 p
         thread 1.1 p alive_at_end
         object c tcp socket
         1.1: wait 0..1ms network receive c by network | cpu ..2ms | wait ..3ms network receive c
         call 1.1 accept4 c
         call 1.1 recvfrom c count 1 bytes 20",
    );
    assert_eq!(served(&drawn), []);
}

fn end(details: &[Detail], call: &str) -> End {
    End {
        details: (!details.is_empty()).then(|| BTreeSet::from_iter(details.iter().copied())),
        call: (!call.is_empty()).then(|| call.to_owned()),
        objects: None,
    }
}

/// From one wait to another; what comes first of several before the end is the beginning.
#[test]
fn from_one_wait_to_another() {
    let drawn = draft(
        "process 1 p
         thread 1.1 p
         1.1: cpu 0..1ms | wait ..2ms disk read a call read | cpu ..3ms | wait ..4ms disk read a call read
            | cpu ..5ms | wait ..7ms flush b call fdatasync | cpu ..8ms
            | wait ..9ms flush b call fdatasync | cpu ..10ms | wait ..11ms disk read a call read
            | cpu ..12ms | wait ..13ms flush b call fdatasync | cpu ..14ms",
    );
    let between =
        |first: End, last: End| lengths(&found(&drawn, &Wanted::Between(first, last))[0].0);
    let (read, flush) = (end(&[], "read"), end(&[Detail::Flush], ""));
    assert_eq!(between(read.clone(), flush.clone()), [2000, 5000]);
    assert_eq!(between(flush.clone(), flush), [2000, 4000]);
    assert_eq!(between(read.clone(), read), [2000, 7000]);
    let nothing = Wanted::Between(end(&[Detail::Sleep], ""), end(&[Detail::Sleep], ""));
    assert_eq!(found(&drawn, &nothing).len(), 0);
}

/// A call that waits twice ends once: which waits are one call's is told by how many calls there were.
#[test]
fn waits_of_one_call_are_one() {
    let mut text = String::from("process 1 p\nthread 1.1 p\n1.1: cpu 0..1ms");
    for _ in 0..20 {
        text += "| cpu +800us | wait +100us flush f call fsync | cpu +20us | wait +80us flush f call fsync";
    }
    let flushes = |text: &str| {
        let flush = end(&[Detail::Flush], "");
        let sets = found(&draft(text), &Wanted::Between(flush.clone(), flush));
        lengths(&sets[0].0)
    };
    let all = text.clone() + "\ncall 1.1 fsync f count 20";
    assert_eq!(flushes(&all), [1000; 19]);
    // Where not all calls were seen nobody knows.
    let some = text + "\ncall 1.1 fsync f count 20 seen 5 estimated";
    assert_eq!(flushes(&some).len(), 39);
}

/// A server each tenth of whose requests sleeps.
fn each_tenth_sleeps(requests: usize) -> Draft {
    let mut text =
        String::from("process 1 server\nthread 1.1 server alive_at_end\n1.1: cpu 0..1ms");
    for number in 0..requests {
        text += "| wait +1ms network receive c by network result 9 | cpu +500us";
        if number % 10 == 3 {
            text += "| wait +9ms sleep by timer call clock_nanosleep stack \"main;slow;nanosleep\" | cpu +100us";
        }
    }
    text += "| wait +1ms network receive c
         call 1.1 accept4 c
         call 1.1 recvfrom c count 100 bytes 900
         call 1.1 sendto c count 100 bytes 900";
    draft(&text)
}

/// What slow requests have is told, with where in the code, and that the others do not have it.
#[test]
fn what_slow_ones_have() {
    let sets = found(&each_tenth_sleeps(100), &Wanted::Served);
    let (set, detail) = &sets[0];
    assert_eq!(set.operations.len(), 100);
    assert_eq!(set.at(0.5).ns(), 500_000);
    assert_eq!(detail.median.causes[0].0.key.state, State::Cpu);
    assert_eq!(detail.slowest.operation.ns(), 9_600_000);
    assert_eq!(detail.slowest.causes[0].0.ns, 9_000_000);
    let unlike = detail.unlike.as_ref().expect("a difference");
    assert_eq!((unlike.slow, unlike.others), (10, 90));
    assert_eq!((unlike.slow_ns, unlike.others_ns), (9_600_000, 500_000));
    let first = &unlike.causes[0];
    assert_eq!(first.what.detail, Some(Detail::Sleep));
    assert_eq!((first.slow_ns, first.others_ns), (9_000_000, 0));
    assert_eq!((first.slow_share, first.others_share), (1.0, 0.0));
    assert_eq!(first.frames.len(), 3, "main, slow, nanosleep");
    assert_eq!(unlike.functions.len(), 1);
}

/// Samples stand for more time than short operations have: functions are not told more than there is.
#[test]
fn functions_have_no_more_time_than_there_is() {
    let mut drawn = each_tenth_sleeps(100);
    let text = "process 1 p
         thread 1.1 p
         1.1: cpu 0..1us
         sample 1.1 1us weight 2ms stack main;work";
    let (hit, thread) = (draft(text).samples[0].clone(), drawn.thread("1.1"));
    let running = drawn.spans.iter().filter(|span| span.state == State::Cpu);
    let hits = running.map(|span| timesink_recording::tables::Sample {
        thread,
        t: span.t0,
        stack: drawn.stacks.first().map(|stack| stack.stack),
        ..hit.clone()
    });
    drawn.samples = hits.collect();
    let sets = found(&drawn, &Wanted::Served);
    let unlike = sets[0].1.unlike.as_ref().expect("a difference");
    let told: u64 = unlike
        .functions
        .iter()
        .map(|function| function.slow_ns)
        .sum();
    assert!(told <= unlike.slow_ns, "{told} of {}", unlike.slow_ns);
}

/// Of a few operations, and of those that are all alike, nothing is claimed.
#[test]
fn nothing_is_claimed_of_few_or_alike() {
    let why = |drawn: &Draft| {
        let sets = found(drawn, &Wanted::Served);
        sets[0].1.unlike.as_ref().err().copied()
    };
    assert_eq!(why(&each_tenth_sleeps(20)), Some(NoDifference::Few));
    let mut text =
        String::from("process 1 server\nthread 1.1 server alive_at_end\n1.1: cpu 0..1ms");
    for number in 0..100 {
        text += &format!(
            "| wait +1ms network receive c by network | cpu +{}us",
            500 + number
        );
    }
    text += "| wait +1ms network receive c
         call 1.1 accept4 c
         call 1.1 recvfrom c count 100 bytes 900
         call 1.1 sendto c count 100 bytes 900";
    assert_eq!(why(&draft(&text)), Some(NoDifference::Alike));
}
