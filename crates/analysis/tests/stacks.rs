//! Stacks with times, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::Account;
use timesink_analysis::path::walked;
use timesink_analysis::stacks::{
    Amount, Direction, Filter, FunctionIx, Missing, Node, Stacks, Step, View, What,
};
use timesink_recording::notation::draft;
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

fn stacks_with(text: &str, filter: &Filter) -> Stacks {
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    Stacks::of(&recording, &facts, filter).expect("a drawn recording reads")
}

fn stacks(text: &str) -> Stacks {
    stacks_with(text, &Filter::default())
}

fn name(view: &View, function: FunctionIx) -> String {
    view.code.function(function).name.clone()
}

/// Name, own time, accumulated time, count, running sum, in milliseconds.
fn top(view: &View) -> Vec<(String, u64, u64, u64, u64)> {
    let ms = |ns: u64| ns / 1_000_000;
    let rows = view.top().into_iter().map(|row| {
        let what = match row.what {
            What::Function(function) => name(view, function),
            What::Missing(missing) => missing.word().to_owned(),
        };
        let (own, accumulated) = (row.own.ns(), row.accumulated.ns());
        (
            what,
            ms(own),
            ms(accumulated),
            row.own.count,
            ms(row.running_ns),
        )
    });
    rows.collect()
}

/// The tree as lines: indent, functions, milliseconds.
fn drawn(view: &View, nodes: &[Node], depth: usize, out: &mut Vec<String>) {
    for node in nodes {
        let text = match &node.step {
            Step::Functions(functions) => {
                let names: Vec<String> = functions.iter().map(|f| name(view, *f)).collect();
                names.join(" > ")
            }
            Step::Missing(missing) => missing.word().to_owned(),
            Step::Folded(count) => format!("{count} folded"),
        };
        let ms = node.amount.ns() / 1_000_000;
        out.push(format!("{}{text} {ms}", "  ".repeat(depth)));
        drawn(view, &node.children, depth + 1, out);
    }
}

fn tree(view: &View, direction: Direction, least: f64) -> Vec<String> {
    let mut out = Vec::new();
    drawn(view, &view.tree(direction, least).roots, 0, &mut out);
    out
}

const IMPORT: &str = r#"
    run wall 100ms
    process 1 pid 100 import
    process 2 pid 200 helper parent 1
    thread 1.1 tid 100 import
    thread 1.2 tid 101 writer
    thread 2.1 tid 200 helper
    frame crc32@12 function crc32 module /usr/lib/libz.so.1 file crc32.c line 12
    frame crc32@14 function crc32 module /usr/lib/libz.so.1 file crc32.c line 14
    frame fsync module /usr/lib/x86_64-linux-gnu/libc.so.6
    frame vfs_fsync language kernel module kernel
    1.1: cpu 0..40ms on 1 | wait ..80ms flush rows.db stack "main;import;store;fsync;vfs_fsync"
       | wait +10us sleep | ready ..81ms | wait ..90ms sleep call nanosleep | cpu ..100ms on 0
    1.2: wait 0..60ms lock m stack "...;work;lock" | cpu ..100ms
    2.1: cpu 0..10ms
    sample 1.1 10ms weight 10ms on 1 stack "main;import;parse;crc32@12"
    sample 1.1 20ms weight 10ms on 1 stack "main;import;parse;crc32@14"
    sample 1.1 30ms weight 10ms on 1 stack "main;import;parse;crc32@12"
    sample 1.1 40ms weight 10ms on 1 stack "main;import;store"
    sample 1.1 95ms weight 10ms
    sample 1.2 90ms weight 40ms stack "start;work;work;step;work"
"#;

/// Every view's total is the ledger's, and what has no stack stands as a remainder by its cause.
#[test]
fn the_total_is_the_ledgers() {
    let recording = draft(IMPORT).recording();
    let facts = Facts::of(&recording).expect("it reads");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("it reads");
    let whole = &facts.ledger.whole;
    let view = stacks.view();
    assert_eq!(view.total.ns(), whole.accounted_ns());
    assert_eq!(
        (view.total.cpu_ns, view.total.wait_ns),
        (whole.cpu_ns, whole.wait_ns)
    );
    let rest = |missing| view.rests.get(&missing).map_or(0, Amount::ns);
    assert_eq!(
        rest(Missing::Cpu),
        20_000_000,
        "10 ms without a stack, 10 ms of 2.1"
    );
    assert_eq!(rest(Missing::Wait), 9_000_000);
    assert_eq!(rest(Missing::ShortWait), 10_000);
    assert_eq!(rest(Missing::Ready), 990_000);
}

/// A function's own time is where it was innermost, its accumulated time counts recursion once.
#[test]
fn top_has_own_and_accumulated_time() {
    let stacks = stacks(IMPORT);
    let main = stacks.events[0].thread;
    let view = stacks.view_of_thread(main);
    let wanted = [
        ("vfs_fsync", 40, 40, 1, 40),
        ("crc32", 30, 30, 3, 70),
        ("store", 10, 50, 1, 80),
        ("cpu without a stack", 10, 10, 0, 90),
        ("waits without a stack", 9, 9, 0, 99),
    ];
    let rows = top(&view);
    for (row, wanted) in rows.iter().zip(wanted) {
        let (name, own, accumulated, count, running) = row;
        assert_eq!(
            (name.as_str(), *own, *accumulated, *count, *running),
            wanted
        );
    }
    let main = rows.iter().find(|row| row.0 == "main").expect("main");
    assert_eq!((main.1, main.2), (0, 80));
    let work = top(&stacks.view()).into_iter().find(|row| row.0 == "work");
    assert_eq!(work, Some(("work".to_owned(), 40, 100, 1, 100)));
}

/// cpu and wait are told apart in each row.
#[test]
fn top_tells_cpu_and_wait_apart() {
    let stacks = stacks(IMPORT);
    let view = stacks.view();
    let rows = view.top();
    let of = |wanted: &str| {
        let is = |what| matches!(what, What::Function(f) if name(&view, f) == wanted);
        rows.iter()
            .find(|row| is(row.what))
            .copied()
            .expect("it is there")
    };
    let store = of("store");
    assert_eq!((store.own.cpu_ns, store.own.wait_ns), (10_000_000, 0));
    let (cpu, wait) = (store.accumulated.cpu_ns, store.accumulated.wait_ns);
    assert_eq!((cpu, wait), (10_000_000, 40_000_000));
}

/// A tree shows where ways part: what only passes time on shares a line.
#[test]
fn trees_show_where_ways_part() {
    let stacks = stacks(IMPORT);
    let view = stacks.view_of_thread(stacks.events[0].thread);
    let wanted = [
        "main > import 80",
        "  store 50",
        "    fsync > vfs_fsync 40",
        "  parse > crc32 30",
        "cpu without a stack 10",
        "waits without a stack 9",
        "ready 0",
        "short waits 0",
    ];
    assert_eq!(tree(&view, Direction::Callees, 0.0), wanted);
    let wanted = [
        "vfs_fsync > fsync > store > import > main 40",
        "crc32 > parse > import > main 30",
        "store > import > main 10",
    ];
    assert_eq!(tree(&view, Direction::Callers, 0.0)[..3], wanted);
}

/// What is below the share is folded where it would stand, and nothing is lost by it.
#[test]
fn small_branches_are_folded() {
    let stacks = stacks(IMPORT);
    let view = stacks.view_of_thread(stacks.events[0].thread);
    let folded = tree(&view, Direction::Callees, 0.45);
    assert_eq!(
        folded[..4],
        [
            "main > import 80",
            "  store 50",
            "    1 folded 40",
            "  1 folded 30"
        ]
    );
}

/// The lines of a function have its time by file and line.
#[test]
fn lines_of_a_function() {
    let stacks = stacks(IMPORT);
    let view = stacks.view();
    let lines = view.lines("crc32");
    let places: Vec<_> = lines
        .places
        .iter()
        .map(|p| (p.file.as_str(), p.line, p.own.ns(), p.accumulated.ns()))
        .collect();
    let wanted = [
        ("crc32.c", Some(12), 20_000_000, 20_000_000),
        ("crc32.c", Some(14), 10_000_000, 10_000_000),
    ];
    assert_eq!(places, wanted);
    assert_eq!((lines.functions.len(), lines.total.ns()), (1, 30_000_000));
    assert_eq!(
        view.lines("rc3").functions,
        lines.functions,
        "a part of a name will do"
    );
    assert!(view.lines("nothing").places.is_empty());
    let work = view.lines("work");
    assert_eq!((work.places.len(), work.total.ns()), (1, 100_000_000));
}

/// The dominant frame is the deepest of the program's own that four fifths pass through.
#[test]
fn the_dominant_frame_is_the_deepest_of_the_program() {
    let stacks = stacks(IMPORT);
    let main = stacks.events[0].thread;
    let dominant = |view: View| {
        let found = view.dominant(0.8);
        found.map(|found| (name(&view, found.function), found.amount.ns() / 1_000_000))
    };
    assert_eq!(
        dominant(stacks.view_of_thread(main)),
        Some(("import".to_owned(), 80))
    );
    let waits = stacks.view_of(|thread, account| thread == main && account == Account::Wait);
    let found = dominant(waits);
    assert_eq!(
        found,
        Some(("store".to_owned(), 40)),
        "not fsync, which is the system's"
    );
    let ready = stacks.view_of(|_, account| account == Account::Ready);
    assert_eq!(dominant(ready), None);
}

/// A stack that is called from two places is still found to be dominant.
#[test]
fn a_dominant_frame_may_have_several_callers() {
    let stacks = stacks(
        r#"process 1 p
           thread 1.1 p
           1.1: cpu 0..10ms
           sample 1.1 5ms weight 5ms stack "main;a;work;x"
           sample 1.1 9ms weight 5ms stack "main;b;c;work;y""#,
    );
    let view = stacks.view();
    let found = view.dominant(0.8).expect("it is there");
    assert_eq!(name(&view, found.function), "work");
    assert_eq!(
        (found.amount.ns(), found.whole_ns),
        (10_000_000, 10_000_000)
    );
}

/// It is counted how many stacks were taken, by cause, whatever the filter.
#[test]
fn stacks_are_counted() {
    let filter = Filter {
        thread: Some("nobody".to_owned()),
        ..Filter::default()
    };
    for stacks in [stacks(IMPORT), stacks_with(IMPORT, &filter)] {
        let counts = &stacks.counts;
        assert_eq!((counts.taken, counts.complete), (7, 6));
        assert_eq!((counts.samples.count, counts.samples.with_stack), (6, 5));
        assert_eq!(counts.nameless_frames, 0);
        let sleep = counts.waits[&Detail::Sleep];
        assert_eq!((sleep.count, sleep.with_stack), (1, 0));
        assert_eq!(counts.waits[&Detail::Flush].with_stack, 1);
    }
}

/// Long times ready are where the thread was then; the others, and those without a stack, are a remainder, and nothing
/// is told twice.
#[test]
fn time_ready_has_its_stacks() {
    let text = r#"
        run wall 50ms
        process 1 pid 100 import
        thread 1.1 tid 100 import
        1.1: cpu 0..10ms | ready ..14ms preempted stack "main;import;parse" | cpu ..20ms
           | wait ..30ms sleep stack "main;import;pause" | ready ..33ms woken stack "main;import;pause"
           | cpu ..40ms | ready ..41ms preempted | cpu +5ms | ready +20us preempted | cpu ..50ms
        sample 1.1 10ms weight 10ms stack "main;import;parse"
    "#;
    let all = stacks(text);
    let view = all.view();
    assert_eq!(
        (view.total.ready_ns, view.total.cpu_ns),
        (8_020_000, 31_980_000)
    );
    assert_eq!(view.rests[&Missing::Ready].ready_ns, 1_020_000);
    // Their stacks are those of a sample or a wait as well, which were counted.
    assert_eq!(all.counts.taken, 2);
    let ready = Filter {
        state: Some(Account::Ready),
        ..Filter::default()
    };
    let ready = stacks_with(text, &ready);
    let wanted = ["main > import 7", "  parse 4", "  pause 3", "ready 1"];
    assert_eq!(tree(&ready.view(), Direction::Callees, 0.0), wanted);
    let part = Filter {
        from: Some(Nanos(12_000_000)),
        to: Some(Nanos(31_000_000)),
        ..Filter::default()
    };
    let part = stacks_with(text, &part).view().total;
    assert_eq!((part.ready_ns, part.wait_ns), (3_000_000, 10_000_000));
}

/// Each filter lets its part pass, and the totals are those of the part.
#[test]
fn filters_let_their_part_pass() {
    let total = |filter: Filter| {
        let total = stacks_with(IMPORT, &filter).view().total;
        let ms = |ns: u64| ns.div_ceil(1_000_000);
        (ms(total.cpu_ns), ms(total.wait_ns), ms(total.ready_ns))
    };
    let text = |text: &str| Some(text.to_owned());
    let all = Filter::default;
    assert_eq!(total(all()), (100, 110, 1));
    assert_eq!(
        total(Filter {
            thread: text("writer"),
            ..all()
        }),
        (40, 60, 0)
    );
    assert_eq!(
        total(Filter {
            thread: text("101"),
            ..all()
        }),
        (40, 60, 0)
    );
    assert_eq!(
        total(Filter {
            process: text("helper"),
            ..all()
        }),
        (10, 0, 0)
    );
    assert_eq!(
        total(Filter {
            process: text("100"),
            ..all()
        }),
        (90, 110, 1)
    );
    assert_eq!(
        total(Filter {
            state: Some(Account::Wait),
            ..all()
        }),
        (0, 110, 0)
    );
    assert_eq!(
        total(Filter {
            object: text("rows"),
            ..all()
        }),
        (0, 40, 0)
    );
    assert_eq!(
        total(Filter {
            processor: Some(1),
            ..all()
        }),
        (40, 0, 0)
    );
    let (from, to) = (Some(Nanos(30_000_000)), Some(Nanos(60_000_000)));
    assert_eq!(total(Filter { from, to, ..all() }), (10, 50, 0));
}

/// Waits are cut where a part begins and ends; a sample counts where it was taken.
#[test]
fn a_part_of_the_time_has_its_part_of_the_stacks() {
    let filter = Filter {
        thread: Some("import".to_owned()),
        from: Some(Nanos(30_000_000)),
        to: Some(Nanos(60_000_000)),
        ..Filter::default()
    };
    let stacks = stacks_with(IMPORT, &filter);
    let rows = top(&stacks.view());
    // One sample of 10 ms was taken in the 10 ms on a processor; it is the one at 30 ms, and the one
    // at 40 ms stands for the same time, so that both are made to fit.
    let own = |wanted: &str| rows.iter().find(|row| row.0 == wanted).map(|row| row.1);
    assert_eq!(
        (own("vfs_fsync"), own("crc32"), own("store")),
        (Some(20), Some(5), Some(5))
    );
    assert_eq!(rows.last().map(|row| row.4), Some(30));
}

/// A wait in poll passes for the object that ended it, and its time with it.
#[test]
fn an_object_may_be_what_ended_a_wait() {
    let filter = Filter {
        object: Some("5432".to_owned()),
        ..Filter::default()
    };
    let stacks = stacks_with(
        r#"process 1 p
           thread 1.1 p
           1.1: cpu 0..1ms | wait ..5ms poll epoll woken_object 10.0.0.1:5432 stack "main;serve"
              | wait ..7ms poll epoll stack "main;serve" | wait ..8ms network receive 10.0.0.1:5432"#,
        &filter,
    );
    let total = stacks.view().total;
    assert_eq!((total.cpu_ns, total.wait_ns), (0, 5_000_000));
    assert_eq!(
        stacks.events.iter().map(|event| event.ns).sum::<u64>(),
        4_000_000
    );
}

/// Stacks that name themselves as their callers, or rows that are not there, end where they break.
#[test]
fn broken_stacks_end_where_they_break() {
    let mut drawn = draft(
        r#"process 1 p
           thread 1.1 p
           1.1: cpu 0..10ms
           sample 1.1 5ms weight 10ms stack "main;a;b""#,
    );
    let last = drawn.stacks[2].stack;
    drawn.stacks[0].parent = Some(last);
    drawn.frames.remove(1);
    let recording = drawn.recording();
    let facts = Facts::of(&recording).expect("it reads");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("it reads");
    assert_eq!(stacks.view().total.ns(), 10_000_000);
    assert_eq!(stacks.counts.complete, 0);
    let functions = stacks.code.functions_of(stacks.events[0].stack);
    let names: Vec<_> = functions
        .iter()
        .map(|f| stacks.code.function(*f).name.as_str())
        .collect();
    assert_eq!(names, ["b", "", "main"]);
}

/// A recording without stacks has remainders only.
#[test]
fn no_stacks_leave_remainders() {
    let stacks = stacks("process 1 p\nthread 1.1 p\n1.1: cpu 0..5ms | wait ..9ms sleep");
    assert!(!stacks.any());
    assert_eq!(stacks.view().total.ns(), 9_000_000);
    assert_eq!(stacks.view().dominant(0.8), None);
    assert_eq!(tree(&stacks.view(), Direction::Callees, 0.01).len(), 2);
}

/// Of a script's stack the functions that somebody can change are the script's own: neither the interpreter's between
/// them nor those of its libraries. Of a program without scripts they are all but those of the kernel and of libraries that the system installed.
#[test]
fn own_functions_of_scripts() {
    let text = r#"
        run wall 3ms
        process 1 reader
        thread 1.1 tid 1 reader
        frame poll module /lib/x86_64-linux-gnu/libc.so.6
        frame PyObject_Vectorcall module /usr/bin/python3.11
        frame SocketIO.readinto language python file /usr/lib/python3.11/socket.py
        frame Feed.fetch language python file /srv/reader.py
        frame main language python file /srv/reader.py
        frame NET_Read module /usr/lib/jvm/lib/libnet.so
        frame java.net.Socket.read language java file java/net/Socket.java
        frame Client.readAnswer language java file Client.java
        frame org.postgresql.core.PGStream.receive language java file PGStream.java
        frame Client.loadRate language java file Client.java
        1.1: cpu 0..1ms
        sample 1.1 3ms weight 1ms stack "Client.loadRate;org.postgresql.core.PGStream.receive;java.net.Socket.read;NET_Read"
        sample 1.1 0ms weight 1ms stack "main;Feed.fetch;PyObject_Vectorcall;SocketIO.readinto;poll"
        sample 1.1 1ms weight 1ms stack "Client.readAnswer;java.net.Socket.read;NET_Read"
        sample 1.1 2ms weight 1ms stack "start;NET_Read;poll""#;
    let stacks = stacks(text);
    let view = stacks.view();
    let own = |(stack, _): &(timesink_analysis::stacks::StackIx, Amount)| {
        let own = view.code.own_of(&view.code.spots_of(*stack)).into_iter();
        own.map(|spot| name(&view, spot.function))
            .collect::<Vec<_>>()
    };
    let own: Vec<Vec<String>> = view.stacks.iter().map(own).collect();
    let script = vec!["Feed.fetch".to_owned(), "main".to_owned()];
    assert!(own.contains(&script), "{own:?}");
    assert!(
        own.contains(&vec!["Client.readAnswer".to_owned()]),
        "{own:?}"
    );
    assert!(own.contains(&vec!["Client.loadRate".to_owned()]), "{own:?}");
    assert!(own.contains(&vec!["start".to_owned()]), "{own:?}");
}

/// The program's own functions of the stack of an event, innermost first.
fn own_names(stacks: &Stacks, event: usize) -> Vec<String> {
    let spots = stacks.code.spots_of(stacks.events[event].stack);
    let own = stacks.code.own_of(&spots).into_iter();
    own.map(|spot| name(&stacks.view(), spot.function))
        .collect()
}

/// Where JavaScript waits, its runtime's own code is no place, unless there is no other.
#[test]
fn own_functions_beside_a_runtime() {
    let text = r#"
        run wall 2ms
        process 1 node
        thread 1.1 tid 1 node
        frame uv__io_poll module /usr/bin/node
        frame uv_run module /usr/bin/node
        frame loadUser language javascript file /srv/app.js line 3
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "uv_run;loadUser;uv__io_poll"
        sample 1.1 2ms weight 1ms stack "uv_run;uv__io_poll""#;
    let stacks = stacks(text);
    assert_eq!(own_names(&stacks, 0), ["loadUser"]);
    assert_eq!(own_names(&stacks, 1), ["uv__io_poll", "uv_run"]);
}

/// What calls `main` is nobody's to change, also where the C library is part of the program; but a program may have a
/// function that is called like one of the library's.
#[test]
fn own_functions_begin_with_main() {
    let text = r#"
        run wall 1ms
        process 1 import
        thread 1.1 tid 1 import
        frame _start module /srv/import
        frame __libc_start_main_impl module /srv/import
        frame __libc_start_call_main module /srv/import
        frame main module /srv/import
        frame start_thread module /srv/import
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "_start;__libc_start_main_impl;__libc_start_call_main;main;start_thread""#;
    assert_eq!(own_names(&stacks(text), 0), ["start_thread", "main"]);
}

/// What a program of C++ has of a library in its headers is the library's: a client was placed in boost's `recv1`.
#[test]
fn own_functions_beside_headers() {
    let text = r#"
        run wall 1ms
        process 1 gateway
        thread 1.1 tid 1 gateway
        frame main module /srv/gateway file /srv/gateway.cpp line 60
        frame send_reading module /srv/gateway file /srv/gateway.cpp line 40
        frame boost::asio::detail::socket_ops::recv1 module /srv/gateway file /usr/include/boost/asio/detail/impl/socket_ops.ipp line 803
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "main;send_reading;boost::asio::detail::socket_ops::recv1""#;
    assert_eq!(own_names(&stacks(text), 0), ["send_reading", "main"]);
}

/// A goroutine that is started by a library and in which nothing of the program runs is told by the library's functions: the name
/// resolver's look-ups were in `Syscall6`, called from `RawSyscall6`.
#[test]
fn own_functions_of_a_goroutine_without_any() {
    let text = r#"
        run wall 1ms
        process 1 resolve
        thread 1.1 tid 1 resolve
        frame runtime.goexit module /srv/resolve
        frame net.(*Resolver).exchange module /srv/resolve
        frame internal/poll.(*FD).Write module /srv/resolve
        frame syscall.RawSyscall6 module /srv/resolve
        frame internal/runtime/syscall/linux.Syscall6 module /srv/resolve
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "runtime.goexit;net.(*Resolver).exchange;internal/poll.(*FD).Write;syscall.RawSyscall6;internal/runtime/syscall/linux.Syscall6""#;
    let stacks = stacks(text);
    assert_eq!(own_names(&stacks, 0), ["net.(*Resolver).exchange"]);
    // What its time is told to go to is that function, too, and not what all goroutines begin with.
    let walked = walked(&stacks.code, stacks.events[0].stack).into_iter();
    let walked: Vec<_> = walked
        .map(|function| name(&stacks.view(), function))
        .collect();
    assert_eq!(walked, ["net.(*Resolver).exchange"]);
}

/// What a compiler has put into another function may have the same name in each file: these are as many functions, and those of the
/// compiler's own files are of its library.
#[test]
fn functions_of_one_name_in_two_files_are_two() {
    let text = r#"
        run wall 2ms
        process 1 shop
        thread 1.1 tid 1 shop
        frame pool function {closure#0} module /srv/shop file /lib/pool.rs line 9
        frame look function {closure#0} module /srv/shop file /srv/look.rs line 7
        frame own function next module /srv/shop file /srv/look.rs line 9
        frame theirs function next module /srv/shop file /rustc/0123/library/core/src/iter/range.rs line 1
        1.1: cpu 0..2ms
        sample 1.1 1ms weight 1ms stack "pool;look;own;theirs""#;
    let stacks = stacks(text);
    let functions = stacks.code.functions_of(stacks.events[0].stack);
    let files = functions
        .iter()
        .map(|at| stacks.code.function(*at).file.as_str());
    let theirs = "/rustc/0123/library/core/src/iter/range.rs";
    let wanted = [theirs, "/srv/look.rs", "/srv/look.rs", "/lib/pool.rs"];
    assert_eq!(files.collect::<Vec<_>>(), wanted);
    let of_language = functions.iter().map(|at| stacks.code.is_of_language(*at));
    assert_eq!(of_language.collect::<Vec<_>>(), [true, false, false, false]);
}

/// Functions of JavaScript without a name are told from each other by where they begin, which is what their frames have as a line. A
/// function that is interpreted first and compiled later is one.
#[test]
fn functions_without_a_name_are_as_many_as_begin() {
    let text = r#"
        run wall 2ms
        process 1 node
        thread 1.1 tid 1 node
        frame one function (anonymous) language javascript file /srv/app.js line 3
        frame again function (anonymous) module /tmp/perf-1.map language javascript file /srv/app.js line 3
        frame two function (anonymous) language javascript file /srv/app.js line 9
        1.1: cpu 0..2ms
        sample 1.1 1ms weight 1ms stack "one;two;again""#;
    let stacks = stacks(text);
    let functions = stacks.code.functions_of(stacks.events[0].stack);
    assert_eq!(functions[0], functions[2]);
    assert_ne!(functions[0], functions[1]);
    let lines = functions.iter().map(|at| stacks.code.function(*at).line);
    assert_eq!(lines.collect::<Vec<_>>(), [Some(3), Some(9), Some(3)]);
}

/// A stack says at which line it passes through each of its functions; of many stacks it is the line with the most time,
/// wherever in the line they were.
#[test]
fn lines_of_spots() {
    let text = r#"
        run wall 9ms
        process 1 import
        thread 1.1 tid 1 import
        frame main module /srv/import file import.c line 88
        frame row@41 function row module /srv/import file import.c line 41 offset 16
        frame row@41b function row module /srv/import file import.c line 41 offset 24
        frame row@43 function row module /srv/import file import.c line 43
        frame nowhere module /srv/import
        1.1: cpu 0..9ms
        sample 1.1 2ms weight 2ms stack "main;row@41"
        sample 1.1 5ms weight 3ms stack "main;row@43"
        sample 1.1 7ms weight 2ms stack "main;row@41b;nowhere"
        sample 1.1 9ms weight 2ms stack "main;row@41b;nowhere""#;
    let stacks = stacks(text);
    let code = &stacks.code;
    let line = |spot| code.frame(spot).and_then(|frame| frame.line);
    let events = stacks.events.iter();
    let lines: Vec<Vec<_>> = events
        .map(|event| code.spots_of(event.stack).into_iter().map(line).collect())
        .collect();
    let last = vec![None, Some(41), Some(88)];
    let wanted = [
        vec![Some(41), Some(88)],
        vec![Some(43), Some(88)],
        last.clone(),
        last,
    ];
    assert_eq!(lines, wanted);
    let times = || stacks.events.iter().map(|event| (event.stack, event.ns));
    let at = |depth: usize| code.functions_of(stacks.events[3].stack)[depth];
    assert_eq!(line(code.busiest_spot(at(1), times())), Some(41));
    assert_eq!(line(code.busiest_spot(at(0), times())), None);
    assert_eq!(code.busiest_spot(at(1), []).frame, None);
}

/// What Java's virtual machine makes for itself came with it, whatever is around it.
#[test]
fn pieces_of_a_virtual_machine() {
    let text = r#"
        run wall 2ms
        process 1 java
        thread 1.1 tid 1 java
        frame stub function "StubRoutines (1)" module made kind jit
        frame Main.main language java file Main.java
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "stub;Main.main""#;
    let stacks = stacks(text);
    let functions = (0..stacks.code.functions.len()).map(|at| FunctionIx(at as u32));
    let installed = functions.filter(|&function| stacks.code.is_installed(function));
    let names = installed.map(|function| stacks.code.function(function).name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["StubRoutines (1)"]);
}
