//! What the page is told adds up to what the ledger and the path say.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::path::Unknown;
use timesink_analysis::stacks::Missing;
use timesink_recording::ids::ObjectId;
use timesink_recording::notation;
use timesink_story::Loaded;

use crate::model::{Pieces, Sums, TileTime};
use crate::{LanesBy, Page, Request, Tile, Wording};

struct Plain;

impl Wording for Plain {
    fn state(&self, account: Account, kind: Kind) -> String {
        format!("{}: {}", account.word(), kind.word())
    }
    fn unknown(&self, why: Unknown) -> String {
        why.word().to_owned()
    }
    fn missing(&self, missing: Missing) -> String {
        missing.word().to_owned()
    }
    fn thing(&self, object: ObjectId) -> String {
        object.to_string()
    }
    fn name(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// Two threads on two processors that wait for each other and for a disk, with many short pieces.
const DRAWN: &str = "
    run wall 1s exit 0 command ./store
    process 1 pid 800 store executable /srv/store
    thread 1.1 tid 800 store
    thread 1.2 tid 801 writer parent 1.1
    frame main module /srv/store file store.c line 70
    frame put module /srv/store file store.c line 41
    frame work module /srv/store file store.c line 50
    1.1: cpu 0..100ms
    for n in 1..200
    | wait +2ms condition C by 1.2 call futex stack \"main;put\"
    | ready +3us | cpu +47us
    end
    | cpu ..1s
    1.2: cpu 0..101ms on 1
    for n in 1..200
    | cpu +50us on 1 | wait +1950us flush rows.db by block device call fsync stack \"work;put\" | ready +3us on 1 | cpu +47us on 1
    end
    | wait ..990ms sleep S by timer
    call 1.2 fsync rows.db count 200 ns 390ms bytes 10
    histogram 1.2 fsync duration rows.db bucket 20 count 200
    sample 1.1 50ms weight 100ms stack \"main\"
    sample 1.1 900ms weight 490ms stack \"main\"
    sample 1.2 90ms weight 101ms stack \"work\"";

fn asked<T>(text: &str, ask: impl FnOnce(&Page<'_>) -> T) -> T {
    let recording = notation::recording(text);
    let loaded = Loaded::of(&recording).expect("a drawn recording reads");
    ask(&Page::of(&loaded, &Plain).expect("it has a page"))
}

/// The time of a strip within its tile.
fn ns(time: &TileTime, pieces: &Pieces, sums: &Sums) -> u64 {
    let mut at = time.from_ns;
    let mut whole: u64 = sums.ns.iter().sum();
    for (gap, ns) in pieces.gap.iter().zip(&pieces.ns) {
        let from = at + gap;
        at = from + *ns as i64;
        whole += time.clip(from, at).map_or(0, |(t0, t1)| t1.abs_diff(t0));
    }
    whole
}

/// Tiles of every level hold each thread's whole life, and no moment twice.
#[test]
fn lanes_add_up_to_the_ledger_at_every_level() {
    asked(DRAWN, |page| {
        let threads = &page.loaded.facts.ledger.threads;
        for level in [0, 1, 4, 9, 13] {
            let mut lanes = [0u64; 2];
            let mut process = 0u64;
            for tile in 0..1u64 << level {
                let tile = Tile::new(level, tile).expect("it is there");
                let chunk = page.lanes(LanesBy::Thread, 0, tile).expect("two lanes");
                for (sum, lane) in lanes.iter_mut().zip(&chunk.lanes) {
                    *sum += ns(&chunk.time, &lane.pieces, &lane.sums);
                }
                let chunk = page.lanes(LanesBy::Process, 0, tile).expect("a lane");
                process += chunk.lanes[0].sums.ns.iter().sum::<u64>();
            }
            let lives = [0, 1].map(|at| threads[at].sums.accounted_ns());
            assert_eq!(lanes, lives, "level {level}");
            assert_eq!(process, lives[0] + lives[1], "level {level}");
        }
    });
}

/// A piece that is told by itself is told whole, whatever tile it is seen in; where all are, the tile says so.
#[test]
fn deep_tiles_are_complete() {
    asked(DRAWN, |page| {
        let whole = page
            .lanes(LanesBy::Thread, 0, Tile::WHOLE)
            .expect("it is there");
        assert!(!whole.is_complete);
        let deep = Tile::new(9, 100).expect("it is there");
        let deep = page.lanes(LanesBy::Thread, 0, deep).expect("it is there");
        assert!(deep.is_complete);
        assert!(deep.lanes.iter().all(|lane| lane.sums.ns.is_empty()));
        let chunk = page.lanes(LanesBy::Thread, 1, Tile::WHOLE);
        assert!(chunk.is_none());
    });
}

/// The path's pieces tile the wall time, at every level.
#[test]
fn the_path_is_as_long_as_the_run() {
    asked(DRAWN, |page| {
        for level in [0, 3, 11] {
            let tiles = (0..1u64 << level).filter_map(|tile| Tile::new(level, tile));
            let tiles = tiles.map(|tile| page.path(tile));
            let sum: u64 = tiles
                .map(|path| ns(&path.time, &path.pieces, &path.sums))
                .sum();
            assert_eq!(sum, 1_000_000_000, "level {level}");
        }
    });
}

/// What stacks weigh, with what has none, is the ledger's time of each thread.
#[test]
fn weights_add_up_to_the_ledger() {
    asked(DRAWN, |page| {
        let flame = page.flame(Tile::WHOLE);
        let mut sums = vec![0u64; page.places.threads.len()];
        let long = flame.long.thread.iter().zip(&flame.long.ns);
        let short = flame.short.thread.iter().zip(&flame.short.ns);
        let rests = flame.rests.thread.iter().zip(&flame.rests.ns);
        for (thread, ns) in long.chain(short).chain(rests) {
            sums[*thread as usize] += ns;
        }
        for (place, &at) in page.places.threads.iter().enumerate() {
            let ledger = &page.loaded.facts.ledger.threads[at];
            assert_eq!(
                sums[place],
                ledger.sums.accounted_ns(),
                "{}",
                ledger.row.name
            );
        }
        let code = page.code();
        let nodes = code.nodes.parent.len() as u32;
        assert!(flame.short.node.iter().all(|node| *node < nodes));
    });
}

/// A thing's own page has the calls and waits that were about it.
#[test]
fn a_thing_has_its_calls_and_waits() {
    asked(DRAWN, |page| {
        let things = page.things();
        let file = things.things.iter().find(|thing| thing.calls == 200);
        let file = file.expect("rows.db was flushed");
        assert_eq!((file.waits, file.wait_ns), (200, 390_000_000));
        let thing = page.thing(file.id).expect("it is there");
        assert_eq!(thing.calls[0].durations.count, [200]);
        assert_eq!(
            (thing.waits[0].count, thing.waits[0].longest_ns),
            (200, 1_950_000)
        );
        assert!(page.thing(4_000_000_000).is_none());
    });
}

/// A request is written one way; what is written otherwise, or out of range, is none.
#[test]
fn requests_are_written_one_way() {
    for text in [
        "overview",
        "b/answer",
        "path?level=3&tile=7",
        "lanes?by=thread&chunk=2&level=0&tile=0",
        "predict?changes=1:0,4:50",
        "thing?id=9",
        "compare",
    ] {
        let request = Request::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(request.to_string(), text);
    }
    for text in [
        "",
        "Overview",
        "b/b/overview",
        "b/compare",
        "path?tile=7&level=3",
        "path?level=3&tile=8",
        "path?level=41&tile=0",
        "path?level=03&tile=7",
        "lanes?by=cpu&chunk=2&level=0&tile=0",
        "predict?changes=4:50,1:0",
        "predict?changes=1:0,1:0",
        "predict?changes=1:9999",
        "thing?id=-1",
        "overview?x=1",
        "../etc/passwd",
    ] {
        assert_eq!(Request::parse(text), None, "{text}");
    }
}
