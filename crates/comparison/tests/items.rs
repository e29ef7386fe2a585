//! What is done for the same items is one difference, and what is not is none: recordings drawn in the notation.

mod drawn;

use drawn::{compared, first};
use timesink_comparison::{Act, Comparison, Difference, Does, Row, Thing};

/// A database that commits so many times: for each it makes a journal, writes to that four times, flushes it twice and the
/// database once, and removes the journal. How long these take is said in microseconds.
struct Commits {
    count: u64,
    open_us: u64,
    flush_us: u64,
    remove_us: u64,
}

impl Commits {
    fn text(&self) -> String {
        let Commits {
            count,
            open_us,
            flush_us,
            remove_us,
        } = self;
        let twice = count * 2;
        format!(
            "process 1 base executable /usr/bin/base
             thread 1.1 base
             frame main module /usr/bin/base
             frame commit module /usr/bin/base
             frame make_journal module /usr/bin/base
             object t.db file t.db
             object t.db-journal file t.db-journal
             object data directory data
             call 1.1 openat t.db-journal count {count} ns {}us
             call 1.1 fdatasync t.db-journal count {twice} ns {}us
             call 1.1 fdatasync t.db count {count} ns {}us
             call 1.1 pwrite64 t.db-journal count {} ns {}us bytes {}
             call 1.1 pwrite64 t.db count {count} ns {count}us bytes {}
             call 1.1 unlink data count {count} ns {}us
             1.1: cpu 0..2ms
             for n in 1..{count}
             | wait +{open_us}us disk read t.db-journal by block device call openat stack \"main;make_journal\"
             | cpu +5us | wait +60us disk write t.db-journal by block device call pwrite64
             | cpu +5us | wait +{flush_us}us flush t.db-journal by block device call fdatasync stack \"main;commit\"
             | cpu +5us | wait +{flush_us}us flush t.db-journal by block device call fdatasync stack \"main;commit\"
             | cpu +5us | wait +{flush_us}us flush t.db by block device call fdatasync stack \"main;commit\"
             | cpu +5us | wait +{remove_us}us disk read data by block device call unlink
             | cpu +5us
             end",
            count * open_us,
            twice * flush_us,
            count * flush_us,
            count * 4,
            count * 60,
            count * 400,
            count * 100,
            count * remove_us,
        )
    }
}

fn on(act: Act, thing: &str) -> Difference {
    Difference::Work(Does::Calls {
        act,
        thing: Thing::Path(thing.to_owned()),
    })
}

/// What is told with a row, and how many times for each time of what names it.
fn times(row: &Row, about: &Difference) -> Option<f64> {
    let with = row.with.iter().find(|with| with.about == *about);
    with.map(|with| with.times)
}

fn rows(found: &Comparison) -> Vec<&Difference> {
    found.rows.iter().map(|row| &row.about).collect()
}

/// All that is done for each commit is one row, some of it two or four times, whichever of it takes longest on a disk: the flush
/// that a finding accuses names it, where flushes are dear as where it is dearer to make a file.
#[test]
fn what_is_done_for_each_item_is_one_row_by_the_accused_act() {
    for (open_us, flush_us, remove_us) in [(60, 240, 120), (900, 150, 400), (150, 150, 150)] {
        let commits = |count| {
            let commits = Commits {
                count,
                open_us,
                flush_us,
                remove_us,
            };
            commits.text()
        };
        let found = compared(&commits(401), &commits(2));
        let row = first(&found);
        // It is flushed most often: that is what the finding is about.
        assert_eq!(row.about, on(Act::Flush, "t.db-journal"));
        assert_eq!((row.a.count, row.b.count), (Some(802), Some(4)));
        assert_eq!(times(row, &on(Act::Flush, "t.db")), Some(0.5));
        assert_eq!(times(row, &on(Act::Write, "t.db-journal")), Some(2.0));
        assert_eq!(times(row, &on(Act::Open, "t.db-journal")), Some(0.5));
        assert_eq!(times(row, &on(Act::Remove, "data")), Some(0.5));
        let each = i64::try_from(open_us + 60 + 3 * flush_us + remove_us).expect("it is short");
        assert_eq!(row.difference_ns(), -399 * each * 1000);
        // The other way around it is the same row.
        let back = compared(&commits(2), &commits(401));
        assert_eq!(first(&back).about, row.about);
        assert_eq!(first(&back).with, row.with);
    }
}

/// Two files that a program reads, so often on both sides, each in a function of its own; the second after the first, or in turn.
struct Reads {
    first: [u64; 2],
    second: [u64; 2],
    in_turn: bool,
    /// Counted for part of the time only.
    estimated: bool,
}

impl Reads {
    fn text(&self, side: usize) -> String {
        let (first, second) = (self.first[side], self.second[side]);
        let estimated = if self.estimated { "estimated" } else { "" };
        let mut text = format!(
            "process 1 job executable /opt/job
             thread 1.1 job
             object one.txt file one.txt
             object two.txt file two.txt
             call 1.1 read one.txt count {first} ns {}us {estimated}
             call 1.1 fdatasync two.txt count {second} ns {}us
             1.1: cpu 0..1ms
             for n in 1..{first}
             | wait +100us disk read one.txt by block device call read | cpu +1us
             end
             for n in 1..{second}
             | wait +80us flush two.txt by block device call fdatasync | cpu +1us
             end",
            first * 100,
            second * 80,
        );
        // Seen at the first, the second, the fourth and so on: the spans above say nothing of that.
        let whole = 1100 + first * 101 + second * 81;
        let (read, flush) = match self.in_turn {
            true => ((1000, whole), (1100, whole)),
            false => ((1000, first * 101), (1000 + first * 101, whole)),
        };
        for (call, file, count, (from, until)) in [
            ("read", "one.txt", first, read),
            ("fdatasync", "two.txt", second, flush),
        ] {
            let mut occurrence = 1;
            while occurrence <= count {
                let at = from + (until - from) * (occurrence - 1) / count.max(1);
                text.push_str(&format!(
                    "\nsite 1.1 {call} {file} at {at}us occurrence {occurrence} stack \"main\""
                ));
                occurrence *= 2;
            }
        }
        text
    }

    fn is_one_row(&self) -> bool {
        let found = compared(&self.text(0), &self.text(1));
        let both = [on(Act::Read, "one.txt"), on(Act::Flush, "two.txt")];
        let rows = rows(&found);
        assert!(both.iter().any(|one| rows.contains(&one)), "{rows:?}");
        !both.iter().all(|one| rows.contains(&one))
    }
}

const IN_TURN: Reads = Reads {
    first: [0; 2],
    second: [0; 2],
    in_turn: true,
    estimated: false,
};

/// As many times on both sides, or a small whole multiple with as many beside: one row.
#[test]
fn whole_multiples_join() {
    for (first, second) in [
        // Twice, three times, ten times for each; and the other way around.
        ([400, 2], [800, 4]),
        ([400, 2], [1200, 6]),
        ([2, 60], [20, 600]),
        ([800, 4], [400, 2]),
        // Half of the items, and some that are done once.
        ([400, 200], [813, 413]),
        // All of them.
        ([400, 0], [800, 0]),
    ] {
        let reads = Reads {
            first,
            second,
            ..IN_TURN
        };
        assert!(reads.is_one_row(), "{first:?} {second:?}");
    }
}

/// Near-misses stay rows of their own.
#[test]
fn what_only_looks_alike_does_not_join() {
    for (first, second) in [
        // No whole multiple: 2.5 times, and 2.02.
        ([400, 2], [1000, 5]),
        ([400, 2], [808, 4]),
        // A whole multiple in A alone, or of what one side has beyond the other alone.
        ([400, 200], [800, 10]),
        ([400, 200], [1200, 800]),
        // One grows, the other shrinks.
        ([400, 2], [4, 800]),
        // More times than one item has.
        ([400, 2], [4400, 22]),
        // Too few to tell.
        ([15, 1], [30, 2]),
        // Only one of them changes.
        ([400, 2], [800, 800]),
    ] {
        let reads = Reads {
            first,
            second,
            ..IN_TURN
        };
        assert!(!reads.is_one_row(), "{first:?} {second:?}");
    }
    let reads = Reads {
        first: [400, 2],
        second: [800, 4],
        ..IN_TURN
    };
    // The one is over before the other begins.
    let apart = Reads {
        in_turn: false,
        ..reads
    };
    assert!(!apart.is_one_row());
    // A count that was scaled up is a multiple by chance.
    let estimated = Reads {
        estimated: true,
        in_turn: true,
        ..apart
    };
    assert!(!estimated.is_one_row());
}

/// Programs are apart: what one does twice for each time of another is a row of its own.
#[test]
fn programs_are_apart() {
    let both = |first: u64, second: u64| {
        format!(
            "process 1 job executable /opt/job
             thread 1.1 job
             process 2 helper executable /opt/helper parent 1
             thread 2.1 helper parent 1.1
             object one.txt file one.txt
             object two.txt file two.txt
             call 1.1 read one.txt count {first} ns {}us
             call 2.1 fdatasync two.txt count {second} ns {}us
             2.1: cpu 0..10us
             for n in 1..{second}
             | wait +80us flush two.txt by block device call fdatasync | cpu +1us
             end
             1.1: cpu 0..10us | wait ..{}us child by 2.1 call wait4
             for n in 1..{first}
             | wait +100us disk read one.txt by block device call read | cpu +1us
             end",
            first * 100,
            second * 80,
            second * 81 + 10,
        )
    };
    let found = compared(&both(400, 800), &both(2, 4));
    let rows = rows(&found);
    assert!(rows.contains(&&on(Act::Read, "one.txt")), "{rows:?}");
    assert!(rows.contains(&&on(Act::Flush, "two.txt")), "{rows:?}");
}

/// A finding about a hundredth of what is done for each item does not name it: what has the most time does.
#[test]
fn a_small_part_does_not_name_a_row() {
    let asks = |count: u64| {
        format!(
            "process 1 job executable /opt/job
             thread 1.1 job
             object log.txt file log.txt
             call 1.1 clock_nanosleep count {count} ns {}us
             call 1.1 fdatasync log.txt count {count} ns {}us
             call 1.1 write log.txt count {count} ns {count}us bytes {}
             1.1: cpu 0..1ms
             for n in 1..{count}
             | wait +4ms sleep by timer call clock_nanosleep asked 4ms expired
             | cpu +1us | wait +60us flush log.txt by block device call fdatasync | cpu +1us
             end",
            count * 4000,
            count * 60,
            count * 10,
        )
    };
    let found = compared(&asks(400), &asks(2));
    let sleep = Difference::Work(Does::Calls {
        act: Act::Sleep,
        thing: Thing::Nothing,
    });
    assert_eq!(first(&found).about, sleep);
    assert_eq!(times(first(&found), &on(Act::Flush, "log.txt")), Some(1.0));
}

/// Of several things that are done to the peer that a finding is about, what takes most of the time names the row.
#[test]
fn the_longest_of_what_is_accused_names_a_row() {
    let asks = |count: u64| {
        format!(
            "process 1 client executable /opt/client
             thread 1.1 client
             object s \"tcp socket\" remote 10.0.0.7:6379
             call 1.1 sendto s count {count} ns {}us bytes {count}
             call 1.1 recvfrom s count {count} ns {}us bytes {count}
             1.1: cpu 0..1ms
             for n in 1..{count}
             | wait +90us network send s by network call sendto | cpu +1us
             | wait +900us network receive s by network call recvfrom | cpu +1us
             end",
            count * 90,
            count * 900,
        )
    };
    let found = compared(&asks(400), &asks(2));
    let act = |act| {
        let thing = Thing::Address("10.0.0.7:6379".to_owned());
        Difference::Work(Does::Calls { act, thing })
    };
    assert_eq!(first(&found).about, act(Act::Receive));
    assert_eq!(times(first(&found), &act(Act::Send)), Some(1.0));
}
