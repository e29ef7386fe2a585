//! How much goes with an item: the least, the likely and the most of a gain, on recordings of which that is known.

use timesink_findings::rule::Limits;
use timesink_recording::notation::recording;
use timesink_recording::tables::Object;

use crate::cases::case;
use crate::drawn::findings_of;

/// The least, the likely and the most that a rule's first finding saves, in milliseconds.
fn gain(rule: &str, text: &str) -> [i64; 3] {
    let findings = findings_of(&recording(text), &Limits::default());
    let mut told = findings.told.iter();
    let finding = told.find(|finding| finding.rule.name == rule);
    let gain = finding
        .unwrap_or_else(|| {
            panic!(
                "{rule} is not told: {:#?}",
                findings
                    .told
                    .iter()
                    .map(|t| (t.rule.name, t.signature.clone(), t.gain))
                    .collect::<Vec<_>>()
            )
        })
        .gain;
    [gain.lo_ns, gain.ns, gain.hi_ns].map(|ns| ns / 1_000_000)
}

/// Twenty-five commits, each of which makes pages ready (5 ms), writes them, and flushes in a function that all flushes are in;
/// and between them a parser that takes so long.
fn commits(parses_ms: u64) -> String {
    let (works_ms, ready, round) = (parses_ms + 5, parses_ms + 10, parses_ms + 15);
    let rest = 999 - 25 * round;
    let mut text = format!(
        "run wall 1s
process 1 import
thread 1.1 tid 1 import
1.1: cpu 0..1ms
for n in 1..25
  | cpu +{works_ms}ms | wait +10ms flush rows.db by block device call fdatasync stack \"main;load;commit;sync;fdatasync\"
end
  | cpu ..1s
for n in 1..25
sample 1.1 {{{round}n-{ready}}}ms weight 5ms stack \"main;load;commit;make_ready\"
sample 1.1 {{{round}n-10}}ms weight {parses_ms}ms stack \"main;load;parse\"
end
sample 1.1 999ms weight {rest}ms stack \"main;finish\"
call 1.1 fdatasync rows.db count 25 ns 250ms
call 1.1 pwrite64 rows.db count 50 bytes 5000
call 1.1 lseek notes.txt count 50
site 1.1 lseek notes.txt occurrence 32 at 70ms stack \"main;load;lseek\"
",
    );
    for occurrence in [1, 2, 4, 8, 16] {
        let at = occurrence * round;
        text += &format!("site 1.1 fdatasync rows.db occurrence {occurrence} at {at}ms stack \"main;load;commit;sync;fdatasync\"\n");
    }
    text
}

const WRITES: &str = "
site 1.1 pwrite64 rows.db occurrence 16 at 150ms stack \"main;load;commit;pages;pwrite64\"
site 1.1 pwrite64 rows.db occurrence 32 at 305ms stack \"main;load;commit;header;pwrite64\"
";

/// What is written to the file as often as it is flushed is written for the same items, so that the function which does both
/// is around an item. The one around the flushes alone was taken: bbolt and Lucene save several times as much.
#[test]
fn an_item_is_around_all_that_is_done_to_its_file() {
    let text = commits(20);
    let [least, likely, alone] = gain("flush-per-record", &text);
    assert!(least <= 250 && likely >= 245, "{least} {likely}");
    let [_, unchanged, most] = gain("flush-per-record", &(text + WRITES));
    assert_eq!(unchanged, likely);
    // Making ready goes, too; parsing does not, though another file is looked at as often beside it.
    assert!(most >= alone + 95, "{most}, {alone} with the flushes alone");
    let room = 1_000 - 125 - 250;
    assert!(most < 1_000 - room / 3, "{most}");
}

/// Where most of what is done from the first flush to the last is for flushing, the rest may be, too; what comes after the last
/// is not. The rest stayed, in whatever function it was: with one transaction for all rows a program took a hundredth of its
/// time, where a tenth was predicted at least.
#[test]
fn what_is_between_items_may_go_where_most_of_it_is_for_them() {
    let [_, likely, most] = gain("flush-per-record", &(commits(4) + WRITES));
    assert!((245..=260).contains(&likely), "{likely}");
    // Of 475 ms, and what caches gain.
    assert!((465..=650).contains(&most), "{most}");
}

/// The calls of an event loop are made by other threads, in none of the program's functions; what is done for each of them is
/// done by the thread that they are made for. Only the threads that made them were looked at.
#[test]
fn who_has_calls_made_by_others_works_for_them() {
    // Whether the functions of the thread that makes the calls have names or not: they are the runtime's, not the script's.
    for stack in ["start", "start;worker;uv__fs_work;fsync"] {
        calls_made_by_others(stack);
    }
}

fn calls_made_by_others(stack: &str) {
    let told = |works_ms: u64| {
        let round = works_ms + 6;
        let mut text = format!(
            "run wall 1s
process 1 node
thread 1.1 tid 1 node
thread 1.2 tid 2 worker parent 1.1
1.1: cpu 0..1ms
for n in 1..40
  | cpu +{works_ms}ms | wait +6ms condition answer by 1.2
end
1.2: wait 0..1ms condition question by 1.1
for n in 1..40
  | wait +{works_ms}ms condition question by 1.1 | cpu +500us | wait +5ms flush rows.db by block device call fsync | cpu +500us
end
call 1.2 fsync rows.db count 40 ns 200ms
call 1.2 write rows.db count 40 bytes 4000
frame push language javascript file /srv/rows.js line 7
for n in 1..5
sample 1.1 {{{round}000n+1500}}us weight 1ms stack \"main;push\"
end
"
        );
        for occurrence in [1, 2, 4, 8, 16, 32] {
            let at = occurrence * round;
            text += &format!(
                "site 1.2 fsync rows.db occurrence {occurrence} at {at}ms stack \"{stack}\"\n"
            );
        }
        gain("flush-per-record", &text)
    };
    let (little, much) = (told(1), told(15));
    assert!(little[0] >= 185 && little[1] <= 210, "{little:?}");
    assert!(much[1] <= 210, "{much:?}");
    // From the first flush to the last that was seen, the 32nd.
    assert!(much[2] >= little[2] + 31 * 14 - 20, "{little:?}, {much:?}");
}

/// Of a program that computes in two functions the longer one may be spared half, perhaps none of it, and at most all that is
/// computed: what computes less prepares less. The longer one was the most: with a parser its garbage went, too.
#[test]
fn busy_saves_at_most_all_that_is_computed() {
    let text = "run wall 1s\nprocess 1 a\nthread 1.1 tid 1 a\n1.1: cpu 0..900ms | wait ..1s sleep by timer\n\
        sample 1.1 300ms weight 600ms stack \"main;parse\"\nsample 1.1 700ms weight 300ms stack \"main;clear\"\n";
    let [least, likely, most] = gain("busy", text);
    assert_eq!(least, 0);
    assert!((295..=305).contains(&likely), "{likely}");
    assert!((900..=960).contains(&most), "{most}");
}

/// A shell copies itself for each of thirty lines and starts a program for each of them, too: who does the lines' work in the
/// program itself needs neither. Only the copies went, and what was saved was half as much again.
#[test]
fn what_a_shell_starts_beside_its_copies_goes_with_them() {
    let text = |date: &str| {
        format!(
            "run wall 1s
process 1 sh executable /usr/bin/dash
thread 1.1 tid 1 sh
for n in 2..31
process {{n}} sh parent 1 executable /usr/bin/dash
thread {{n}}.{{n}} tid {{n}} sh parent 1.1
process {{n+100}} other parent 1 executable {date}
thread {{n+100}}.{{n+100}} tid {{n+100}} other parent 1.1
end
1.1: cpu 0..1ms
for n in 2..31
  | cpu +1ms | wait +4ms child c{{n}} by {{n}}.{{n}} call wait4
  | cpu +1ms | wait +10ms child d{{n}} by {{n+100}}.{{n+100}} call wait4
end
for n in 2..31
{{n}}.{{n}}: cpu {{16n-30}}ms..{{16n-26}}ms
{{n+100}}.{{n+100}}: cpu {{16n-25}}ms..{{16n-15}}ms
image {{n}} fork {{16n-30}}ms by 1.1 cost 60us
image {{n}} exit {{16n-26}}ms cost 1ms
image {{n+100}} fork {{16n-25}}ms by 1.1 cost 60us
image {{n+100}} exec {{16n-25}}ms cost 300us executable {date}
image {{n+100}} exit {{16n-15}}ms cost 1ms
end
"
        )
    };
    let [_, likely, most] = gain("child-per-item", &text("/usr/bin/date"));
    assert!((100..=150).contains(&likely), "{likely}");
    assert!(most >= 410, "{most}");
}

/// A database's connection takes a handshake of three messages, but what was waited for came once: it is not known whether that
/// was in the handshake or was the answer. It was taken for the answer alone, and Go's pools saved twice as much.
#[test]
fn one_wait_on_a_connection_may_be_its_handshake() {
    let text = case("connection-per-request.fires-handshake");
    let once = "| cpu +200us | wait +6ms network receive s{n} by network call recvfrom result 1
  | cpu +200us | wait +8ms network receive s{n} by network call recvfrom result 300
  | cpu +200us | wait +4ms network receive s{n} by network call recvfrom result 300";
    assert!(text.contains(once));
    let text = text.replace("wait +200us network connect", "wait +1ms network connect");
    let text = text.replace(
        once,
        "| cpu +600us | wait +18ms network receive s{n} by network call recvfrom result 300",
    );
    let [least, _, most] = gain("connection-per-request", &text);
    // The waits of 1 ms in connect, and 18 ms for what came.
    assert!(least <= 40, "{least}");
    assert!(most >= 39 * 18, "{most}");
}

/// Who renames a file over another one without a flush has it written then: the processor's part of a flush may stay.
#[test]
fn what_is_flushed_has_to_be_written_all_the_same() {
    let text = case("flush-per-file.fires")
        .replace("| cpu +1ms | wait +10ms", "| cpu +8ms | wait +10ms")
        + "frame __x64_sys_fsync kind kernel language kernel\nfor n in 1..50\n\
           sample 1.1 {18n-5}ms weight 6ms stack \"main;save_item;fsync;__x64_sys_fsync\"\n\
           sample 1.1 {18n-12}ms weight 2ms stack \"main;make\"\nend\n";
    let [least, likely, _] = gain("flush-per-file", &text);
    // 10 ms each of waits, 6 ms of work.
    assert!((450..=500).contains(&least), "{least}");
    assert!((780..=810).contains(&likely), "{likely}");
}

/// A table is rewritten in a function that takes 80 % of the time, and all that is done for it is done there: nothing more goes.
/// It was taken away twice, and with it 16 % more.
#[test]
fn what_is_around_is_not_taken_away_twice() {
    let [least, _, most] = gain("rewritten-whole", &case("rewritten-whole.fires"));
    assert!(least >= 750 && most <= 850, "{least} {most}");
}

/// Of a file and its folder, which are flushed for each commit, the file is named, though more flushes of the folder were estimated:
/// calls of a program that makes many are timed now and then.
#[test]
fn the_file_and_not_its_folder_is_named() {
    let recording = recording(
        "run wall 1s
process 1 import
thread 1.1 tid 1 import
object folder file /srv/data
object rows.db file /srv/data/rows.db
1.1: cpu 0..1ms
for n in 1..50
  | cpu +1ms | wait +5ms flush folder by block device call fsync stack \"main;commit\"
  | wait +5ms flush rows.db by block device call fdatasync stack \"main;commit\"
end
call 1.1 fsync folder count 52 ns 250ms
call 1.1 fdatasync rows.db count 50 ns 250ms
call 1.1 pwrite64 rows.db count 50 bytes 5000
",
    );
    let findings = findings_of(&recording, &Limits::default());
    let first = findings.told.first().expect("a finding");
    assert_eq!(first.rule.name, "flush-per-record");
    let objects = recording.rows::<Object>().expect("objects");
    let named = objects
        .iter()
        .find(|object| Some(object.object) == first.suspect.object);
    let path = named.and_then(|object| object.path.as_deref());
    assert_eq!(path, Some("/srv/data/rows.db"));
}

/// rsync forks two copies of itself each time that it runs: "a shell forks for each ( )" was said of it. What the copies of a shell start
/// is named.
#[test]
fn only_a_shell_forks_for_parentheses() {
    let title = |program: &str, starts: &str| {
        let mut text = format!(
            "run wall 2s\nprocess 1 first executable {program}\nthread 1.1 tid 1 first\n\
             for n in 2..31\nprocess {{n}} copy parent 1 executable {program}\n\
             thread {{n}}.{{n}} tid {{n}} copy parent 1.1\nend\n1.1: cpu 0..1ms\n\
             for n in 2..31\n  | cpu +2ms | wait +3ms child c{{n}} by {{n}}.{{n}} call wait4\nend\n\
             for n in 2..31\n{{n}}.{{n}}: cpu {{5n-7}}ms..{{5n-4}}ms\n\
             image {{n}} fork {{5n-7}}ms by 1.1 cost 60us\nend\n"
        );
        if !starts.is_empty() {
            text += &format!(
                "for n in 2..31\nprocess {{n+100}} child parent {{n}} executable {starts}\n\
                 thread {{n+100}}.{{n+100}} tid {{n+100}} child parent {{n}}.{{n}}\n\
                 {{n+100}}.{{n+100}}: cpu {{5n-6}}ms..{{5n-5}}ms\n\
                 image {{n+100}} fork {{5n-6}}ms by {{n}}.{{n}} cost 60us\n\
                 image {{n+100}} exec {{5n-6}}ms cost 60us executable {starts}\nend\n"
            );
        }
        let findings = findings_of(&recording(&text), &Limits::default());
        let told = findings.told.first().expect("a finding");
        format!("{:?}", told.suspect.title)
    };
    let of_bash = title("/usr/bin/bash", "/usr/bin/git");
    assert!(of_bash.contains("copies of itself"), "{of_bash}");
    assert!(of_bash.contains("a shell forks"), "{of_bash}");
    assert!(of_bash.contains("\"git\""), "{of_bash}");
    let of_rsync = title("/usr/bin/rsync", "");
    assert!(of_rsync.contains("copies of itself"), "{of_rsync}");
    assert!(!of_rsync.contains("a shell"), "{of_rsync}");
}
