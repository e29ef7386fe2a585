//! Whose work threads did, on small recordings drawn as text.

use timesink_analysis::facts::Facts;
use timesink_analysis::path::Path;
use timesink_analysis::stacks::goroutines::OfGoroutines;
use timesink_analysis::stacks::{Filter, Stacks};
use timesink_analysis::tasks::{BegunBy, GroupKind, Parking, Stuck, TaskGroup, Tasks};
use timesink_analysis::timeline::Timeline;
use timesink_recording::notation::draft;
use timesink_recording::words::Detail;

/// The tasks, and the names of what each group begins with.
fn tasks(text: &str) -> Option<(Tasks, Vec<String>)> {
    let recording = draft(text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let mut timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let told = OfGoroutines::new(&stacks);
    timeline.read_carried(&recording, &told).expect("its tasks");
    let main = || Some(Path::of_thread(&timeline, 0));
    let tasks = Tasks::of(&recording, &timeline, &stacks, main).expect("its tasks")?;
    let name = |group: &TaskGroup| {
        let function = group.entry.map(|function| stacks.code.function(function));
        function.map_or(String::new(), |function| function.name.clone())
    };
    let names = tasks.groups.iter().map(name).collect();
    Some((tasks, names))
}

/// Two threads carry three goroutines: a wait in a call belongs to the one that made it, time on a processor to those whose
/// samples hit it, and what lies between the turns of one is time parked.
const CARRIED: &str = "
    process 1 p
    thread 1.1 main
    thread 1.2 worker parent 1.1
    task 1 1 stack \"runtime.main\"
    task 2 1 parent 1 stack \"main.main;main.serve\"
    task 3 1 parent 1 stack \"main.main;main.serve\"
    1.1: cpu 0..10ms | wait ..14ms flush log call fsync | cpu ..20ms
    1.2: wait 0..5ms condition c | ready ..6ms | cpu ..16ms | wait ..20ms condition c
    turn 1.1 1ms..4ms task 1
    turn 1.1 6ms..20ms task 2
    turn 1.2 0..6ms
    turn 1.2 8ms..12ms task 3
    turn 1.2 14ms..16ms task 1
    turn 1.2 16ms..20ms
    sample 1.1 2ms weight 5ms stack \"runtime.main;main.main\"
    sample 1.1 9ms weight 5ms stack \"main.serve;crc32\"
    sample 1.1 18ms weight 6ms stack \"main.serve;crc32\"
    sample 1.2 10ms weight 6ms stack \"main.serve;crc32\"
    sample 1.2 15ms weight 4ms stack \"runtime.main;main.main\"";

#[test]
fn time_is_that_of_who_was_carried() {
    let (tasks, names) = tasks(CARRIED).expect("there are tasks");
    assert_eq!(names, ["main.serve", "runtime.main"]);
    let [serve, main] = tasks.groups.as_slice() else {
        panic!("{tasks:?}");
    };
    assert_eq!((serve.count, main.count), (2, 1));
    assert_eq!(serve.carried.cpu_ns, 17_000_000);
    assert_eq!(serve.carried.waits[&Detail::Flush].ns, 4_000_000);
    assert_eq!(main.carried.cpu_ns, 9_000_000);
    // From 5 ms, half way to the next one there, to 13 ms, half way from the one before there.
    assert_eq!(main.parked_ns, 8_000_000);
    assert_eq!(serve.parked_ns, 0);
    // The path is the first thread's: 4 ms of its wait, and 16 ms on a processor as its samples divide them.
    assert_eq!(serve.on_path_ns, 15_000_000);
    assert_eq!(main.on_path_ns, 5_000_000);
}

/// What threads do is carried by somebody, by the runtime, or was not seen: nothing is left out.
#[test]
fn nothing_is_left_out() {
    let (tasks, _) = tasks(CARRIED).expect("there are tasks");
    let groups = tasks.groups.iter().map(|group| &group.carried);
    let all: Vec<_> = groups.chain([&tasks.runtime, &tasks.unseen]).collect();
    let cpu: u64 = all.iter().map(|time| time.cpu_ns).sum();
    let ready: u64 = all.iter().map(|time| time.ready_ns).sum();
    let waits: u64 = all.iter().map(|time| time.wait_ns()).sum();
    assert_eq!((cpu, ready, waits), (26_000_000, 1_000_000, 13_000_000));
    assert_eq!(tasks.runtime.wait_ns(), 9_000_000);
}

/// What the compiler made to pass arguments on is not what was started.
#[test]
fn a_wrapper_is_not_told() {
    let text = "
        process 1 p
        thread 1.1 main
        task 1 1 stack \"main.main;main.main.gowrap1\"
        1.1: cpu 0..10ms
        turn 1.1 0..10ms task 1
        sample 1.1 5ms weight 10ms stack \"runtime.goexit;main.main.gowrap1;main.serve;crc32\"";
    let (_, names) = tasks(text).expect("there are tasks");
    assert_eq!(names, ["main.serve"]);
}

/// Goroutines 2 and 3 are never seen at work before they have the lock: 2 is looked at every 10 ms, and 3 waits to the end. What changed
/// since it was looked at before changed half way, or when a thread was last at work for it.
const LOOKED_AT: &str = "
    process 1 p
    thread 1.1 main
    task 1 1 stack \"runtime.main\"
    task 2 1 parent 1 stack \"main.main;main.serve\"
    task 3 1 parent 1 stack \"main.main;main.serve\"
    task 4 1 parent 1 stack \"runtime.gcenable;runtime.bgsweep\"
    frame park function runtime.gopark file /usr/lib/go/src/runtime/proc.go line 462
    frame lock function internal/sync.runtime_SemacquireMutex file /usr/lib/go/src/runtime/sema.go line 95
    frame locks function sync.(*Mutex).Lock file /usr/lib/go/src/sync/mutex.go line 46
    frame sleeps function time.Sleep file /usr/lib/go/src/runtime/time.go line 363
    1.1: cpu 0..100ms
    turn 1.1 1ms..40ms task 1
    turn 1.1 44ms..46ms task 2
    turn 1.1 60ms..100ms task 1
    sight 2 10ms waiting at \"main.serve;locks;lock;park\"
    sight 3 10ms waiting at \"main.serve;locks;lock;park\"
    sight 4 10ms waiting at \"runtime.bgsweep;park\"
    sight 2 30ms waiting before 20ms at \"main.serve;sleeps;park\"
    sight 2 40ms running before 30ms
    sight 2 50ms waiting before 40ms at \"main.serve;sleeps;park\"
    sight 2 60ms ready before 50ms at \"main.serve;sleeps;park\"
    sight 2 80ms ended before 70ms
    task 5 1 parent 1 stack \"main.main;main.serve\"
    turn 1.1 40ms..42ms task 5
    sight 5 30ms waiting at \"main.serve;locks;lock;park\"
    sight 5 50ms ended before 40ms
    sample 1.1 45ms weight 10ms stack \"main.serve;crc32\"";

#[test]
fn what_waits_is_known_by_looks() {
    let (tasks, names) = tasks(LOOKED_AT).expect("there are tasks");
    // The runtime's own that has done nothing is not told.
    assert_eq!(names, ["main.serve", ""], "{tasks:?}");
    let serve = &tasks.groups[0];
    assert_eq!(serve.count, 3);
    let ms = |parking| serve.parked[&parking] / 100_000;
    // 2: to 25 ms; 3: from 10 ms to the end, at 100 ms; 5: from 30 ms to its turn.
    assert_eq!(ms(Parking::Lock), 150 + 900 + 100);
    // From 25 ms to 35 ms, and from when it was last seen at work, at 46 ms, to 55 ms.
    assert_eq!(ms(Parking::Timer), 100 + 90, "{serve:?}");
    // From 55 ms to 75 ms, where it has ended.
    assert_eq!(serve.queued_ns / 100_000, 200);
}

/// Goroutines that were found waiting for a channel every 200 ms, in a recording of 2.4 s. Of each it is said when it went on, if it did.
fn stuck(found: impl Fn(u32) -> u64, went_on: impl Fn(u32) -> Option<u64>) -> Vec<(u64, Parking)> {
    let mut text = "
        process 1 p
        thread 1.1 main
        frame park function runtime.gopark file /usr/lib/go/src/runtime/proc.go line 462
        frame sends function runtime.chansend file /usr/lib/go/src/runtime/chan.go line 283
        frame ask function main.ask file /srv/p/main.go line 9
        1.1: cpu 0..2400ms
        task 1 1 stack \"runtime.main\"
        turn 1.1 0..2400ms task 1
        sight 1 50ms running\n"
        .to_owned();
    for n in 2..22 {
        text += &format!("task {n} 1 stack \"main.ask\"\n");
        text += &format!("sight {n} {}ms waiting at \"ask;sends;park\"\n", found(n));
        if let Some(at) = went_on(n) {
            text += &format!("sight {n} {at}ms ended\n");
        }
    }
    let recording = draft(&text).recording();
    let facts = Facts::of(&recording).expect("a drawn recording reads");
    let mut timeline = Timeline::of(&recording).expect("its spans");
    let stacks = Stacks::of(&recording, &facts, &Filter::default()).expect("its stacks");
    let told = OfGoroutines::new(&stacks);
    timeline.read_carried(&recording, &told).expect("its tasks");
    let all = Stuck::all(&timeline, &stacks).into_iter();
    all.map(|stuck| (stuck.count, stuck.parking)).collect()
}

/// Goroutines that never go on are told if there are ever more of them: not those that were there from the beginning, as workers without
/// work are, nor those that have not waited longer than others that went on.
#[test]
fn goroutines_that_never_go_on() {
    let later = |n: u32| 100 + 80 * u64::from(n);
    assert_eq!(stuck(later, |_| None), [(20, Parking::Send)]);
    assert_eq!(stuck(|_| 50, |_| None), []);
    assert_eq!(stuck(later, |n| Some(later(n) + 60)), []);
    let one_of_two = |n: u32| n.is_multiple_of(2).then(|| later(n) + 2000);
    assert_eq!(stuck(|n| 60 + u64::from(n), one_of_two), []);
    let some_at_once = |n: u32| 100 + u64::from(n / 20);
    assert_eq!(stuck(some_at_once, |_| None), []);
}

#[test]
fn threads_without_tasks_have_none() {
    assert!(tasks("process 1 p\nthread 1.1 main\n1.1: cpu 0..10ms").is_none());
}

/// Tasks of tokio are those of one function where stacks show that below what polls them; which task a stack is of is told by the time.
#[test]
fn futures_go_by_their_first_function() {
    let poll = "tokio::runtime::task::raw::poll";
    let text = format!(
        "
        process 1 p
        thread 1.1 main
        thread 1.2 worker parent 1.1
        task 1 1 future
        task 2 1 future
        task 3 1 future
        1.1: cpu 0..20ms
        1.2: cpu 0..20ms
        turn 1.1 0..9ms task 1
        turn 1.1 10ms..20ms task 2
        turn 1.2 0..8ms task 2
        turn 1.2 9ms..20ms task 3
        sample 1.1 5ms weight 10ms stack \"main;{poll};<core::pin::Pin<P> as Future>::poll;p::serve;p::parse\"
        sample 1.1 9500us weight 5ms stack \"main;{poll};p::other\"
        sample 1.2 5ms weight 10ms stack \"start;{poll};p::serve\""
    );
    let (tasks, names) = tasks(&text).expect("there are tasks");
    assert_eq!(names, ["p::serve", ""], "{tasks:?}");
    let counts: Vec<u64> = tasks.groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [2, 1]);
    // From 8.5 ms on the other thread to 9.5 ms on this one.
    assert_eq!(tasks.groups[0].parked_ns, 1_000_000);
}

/// A stack in which a thread of tokio's own is between two tasks does not make the one that it polled one of tokio's own; one in which
/// nothing else is ever seen is.
#[test]
fn a_future_is_not_of_the_scheduler_for_one_stack() {
    let poll = "tokio::runtime::task::raw::poll";
    let run = "tokio::runtime::scheduler::multi_thread::worker::run";
    let text = format!(
        "
        process 1 p
        thread 1.1 main
        task 1 1 future
        task 2 1 future
        1.1: cpu 0..20ms
        turn 1.1 0..12ms task 1
        turn 1.1 13ms..20ms task 2
        sample 1.1 2ms weight 4ms stack \"start;{poll};{run};{poll};p::serve\"
        sample 1.1 5ms weight 4ms stack \"start;{poll};{run}\"
        sample 1.1 10ms weight 4ms stack \"start;{poll};{run};{poll};p::serve\"
        sample 1.1 15ms weight 8ms stack \"start;{poll};{run}\""
    );
    let (tasks, names) = tasks(&text).expect("there are tasks");
    assert_eq!(names, ["p::serve"], "{tasks:?}");
}

/// The event loop of Node.js calls functions of the program's back; what they are called by tells what began them.
#[test]
fn callbacks_are_told_by_their_stacks() {
    let text = "
        process 1 node
        thread 1.1 node
        object events epoll \"[eventpoll]\"
        object log file /srv/log
        frame timers function processTimers language javascript file node:internal/timers
        frame tasks function processTicksAndRejections language javascript file node:internal/process/task_queues
        frame express function handle language javascript file /srv/node_modules/express/lib/router.js
        frame handler language javascript file /srv/app.js line 7
        frame worker language javascript file /srv/app.js line 2
        frame spin language javascript file /srv/app.js line 1
        1.1: cpu 0..6ms | wait ..10ms poll events call epoll_wait | cpu ..20ms | wait ..24ms flush log call fsync stack \"uv_run;uv__run_timers;timers;tasks;worker\" | cpu ..30ms
        sample 1.1 2ms weight 6ms stack \"main;uv_run\"
        sample 1.1 14ms weight 6ms stack \"main;uv_run;uv__io_poll;express;handler;spin\"
        sample 1.1 19ms weight 4ms stack \"main;uv_run;uv__run_timers;timers;tasks;worker;spin\"
        sample 1.1 29ms weight 6ms stack \"main;uv_run;uv__run_timers;timers;tasks;worker;spin\"";
    let (tasks, names) = tasks(text).expect("there are callbacks");
    assert_eq!(names, ["worker", "handler"], "{tasks:?}");
    let [worker, handler] = tasks.groups.as_slice() else {
        panic!("{tasks:?}");
    };
    assert_eq!((worker.kind, worker.count), (GroupKind::Callback, 0));
    assert_eq!(worker.carried.cpu_ns, 10_000_000);
    assert_eq!(worker.carried.waits[&Detail::Flush].ns, 4_000_000);
    assert_eq!(
        worker.begun.keys().collect::<Vec<_>>(),
        [&BegunBy::Microtask]
    );
    assert_eq!(handler.carried.cpu_ns, 6_000_000);
    assert_eq!(handler.begun.keys().collect::<Vec<_>>(), [&BegunBy::Io]);
    assert_eq!(tasks.runtime.waits[&Detail::Poll].ns, 4_000_000);
    assert_eq!(tasks.runtime.cpu_ns, 6_000_000);
}

/// Virtual threads of Java are told by the function that they begin with. What was left of the outer part of a stack in the heap, when one
/// goes on after a wait, is known from other stacks; a thread that looks for another one to run is at work for none.
#[test]
fn virtual_threads_are_told_by_their_stacks() {
    let text = "
        process 1 java
        thread 1.1 tid 1 java
        thread 1.2 tid 2 ForkJoinPool-1-worker-1 parent 1.1
        object log file /srv/log
        frame work function java.util.concurrent.ForkJoinPool.runWorker language java file java/util/concurrent/ForkJoinPool.java
        frame run function jdk.internal.vm.Continuation.run language java file jdk/internal/vm/Continuation.java
        frame begin function java.lang.VirtualThread.run language java file java/lang/VirtualThread.java
        frame lambda function Server$$Lambda/0x1.run language java
        frame serve function Server.serve language java file Server.java
        frame flush function Server.flush language java file Server.java
        frame parse function Server.parse language java file Server.java
        frame save function Log.save language java file Log.java
        frame force function sun.nio.ch.FileChannelImpl.force language java file sun/nio/ch/FileChannelImpl.java
        1.1: cpu 0..1ms | wait ..40ms condition by 1.2
        1.2: cpu 1ms..20ms | wait ..30ms flush log call fsync stack \"work;run;begin;lambda;save;flush;force\" | cpu ..40ms 
        sample 1.2 2ms weight 4ms stack \"work;run;begin;lambda;serve;parse\"
        sample 1.2 6ms weight 4ms stack \"work;run;parse\"
        sample 1.2 10ms weight 4ms stack \"work;run;serve\"
        sample 1.2 14ms weight 4ms stack \"work;run;flush\"
        sample 1.2 18ms weight 3ms stack \"work\"
        sample 1.2 34ms weight 5ms stack \"work;run;begin;lambda;save;flush;force\"
        sample 1.2 38ms weight 5ms stack \"work;run;force\"";
    let (tasks, names) = tasks(text).expect("there are virtual threads");
    assert_eq!(names, ["Log.save", "Server.serve"], "{tasks:?}");
    let [save, serve] = tasks.groups.as_slice() else {
        panic!("{tasks:?}");
    };
    assert_eq!((save.kind, save.count), (GroupKind::VirtualThread, 0));
    assert_eq!(save.carried.cpu_ns, 9_000_000);
    assert_eq!(save.carried.waits[&Detail::Flush].ns, 10_000_000);
    assert_eq!(serve.carried.cpu_ns, 12_000_000);
    assert_eq!((serve.parked_ns, save.parked_ns), (0, 0));
    assert_eq!(tasks.runtime.cpu_ns, 8_000_000);
}

/// A function that virtual threads of two kinds call tells of neither, where the outer part of the stack is not there.
#[test]
fn a_virtual_thread_is_not_guessed_at() {
    let text = "
        process 1 java
        thread 1.1 tid 1 worker
        frame run function jdk.internal.vm.Continuation.run language java file jdk/internal/vm/Continuation.java
        frame begin function java.lang.VirtualThread.run language java file java/lang/VirtualThread.java
        frame one function Server.one language java file Server.java
        frame other function Server.other language java file Server.java
        frame parse function Server.parse language java file Server.java
        1.1: cpu 0..30ms
        sample 1.1 2ms weight 10ms stack \"run;begin;one;parse\"
        sample 1.1 12ms weight 9ms stack \"run;begin;other;parse\"
        sample 1.1 22ms weight 11ms stack \"run;parse\"";
    let (tasks, mut names) = tasks(text).expect("there are virtual threads");
    names.sort_unstable();
    assert_eq!(
        names,
        ["Server.one", "Server.other", "Server.parse"],
        "{tasks:?}"
    );
}

/// A task of asyncio that goes on without any call, and awaits something else then, is found so while the thread is in its loop, and told
/// as a moment's work: each of its waits counts as what it was, not all of them as the first one.
#[test]
fn waits_of_asyncio_are_not_exchanged() {
    let text = "
        process 1 p
        thread 1.1 main
        frame call function call language python file /srv/p.py
        frame read function StreamReader._wait_for_data language python file /usr/lib/python3/asyncio/streams.py
        frame lock function Lock.acquire language python file /usr/lib/python3/asyncio/locks.py
        object events epoll \"[eventpoll]\"
        task 1 1 coroutine stack \"call\"
        1.1: cpu 0..4ms | wait ..10ms poll events call epoll_wait | cpu ..12ms | wait ..50ms poll events call epoll_wait | cpu ..52ms
        turn 1.1 0..1ms
        turn 1.1 2ms..4ms task 1 left waiting at \"call;read\"
        turn 1.1 4ms..12ms
        turn 1.1 12ms..12ms task 1 left waiting at \"call;lock\"
        turn 1.1 12ms..51ms
        turn 1.1 51ms..52ms task 1 left waiting at \"call;read\"";
    let (tasks, _) = tasks(text).expect("there is a task");
    let [calls] = tasks.groups.as_slice() else {
        panic!("{tasks:?}");
    };
    let parked = |parking| calls.parked.get(&parking).copied();
    assert_eq!(parked(Parking::Network), Some(8_000_000));
    // Until half way from the loop's last sight to the task's first one.
    assert_eq!(parked(Parking::Lock), Some(39_000_000));
    assert_eq!(calls.carried.wait_ns(), 0);
    assert_eq!(tasks.runtime.waits[&Detail::Poll].ns, 44_000_000);
}

/// A function and the file that it is from.
type Place = (&'static str, &'static str);

/// What a task is told to wait for that was left so, in a function of a library that called one of the runtime.
fn parked_in(kind: &str, (outer, outer_file): Place, inner: Option<Place>) -> Parking {
    let language = if kind.is_empty() {
        ""
    } else {
        "language python"
    };
    let frame = |name: &str, function: &str, file: &str| {
        format!("frame {name} function {function} {language} file {file}\n")
    };
    let mut text = String::from("process 1 p\nthread 1.1 main\n");
    text += &frame("serve", "serve", "/srv/p");
    text += &frame("outer", outer, outer_file);
    let mut stack = "serve;outer".to_owned();
    if let Some((function, file)) = inner {
        text += &frame("inner", function, file);
        stack += ";inner";
    }
    text += &format!(
        "task 1 1 {kind}stack \"serve\"
         1.1: cpu 0..30ms
         turn 1.1 0..10ms task 1 left waiting at \"{stack}\"
         turn 1.1 10ms..20ms
         turn 1.1 20ms..30ms task 1"
    );
    let (tasks, _) = tasks(&text).expect("there is a task");
    let parked: Vec<Parking> = tasks.groups[0].parked.keys().copied().collect();
    assert_eq!(parked.len(), 1, "{outer}");
    parked[0]
}

/// Who waits in a library's pool for somebody to give a connection back waits for that. Who makes one there waits for the network.
#[test]
fn pools_of_connections_of_go_are_told() {
    let selects = ("runtime.selectgo", "/usr/lib/go/src/runtime/select.go");
    let polls = ("runtime.netpollblock", "/usr/lib/go/src/runtime/netpoll.go");
    let sql = (
        "database/sql.(*DB).conn",
        "/usr/lib/go/src/database/sql/sql.go",
    );
    let redis = (
        "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn",
        "/go/pkg/mod/github.com/redis/go-redis/v9@v9.7.0/internal/pool/pool.go",
    );
    let weighted = (
        "golang.org/x/sync/semaphore.(*Weighted).Acquire",
        "/go/pkg/mod/golang.org/x/sync@v0.10.0/semaphore/semaphore.go",
    );
    let parked = |outer, inner| parked_in("", outer, Some(inner));
    assert_eq!(parked(sql, selects), Parking::Connection);
    assert_eq!(parked(sql, polls), Parking::Network);
    let opener = ("database/sql.(*DB).connectionOpener", sql.1);
    assert_eq!(parked(opener, selects), Parking::Select);
    assert_eq!(parked(redis, selects), Parking::Connection);
    assert_eq!(parked(weighted, selects), Parking::Semaphore);
}

/// The same of Python's libraries.
#[test]
fn pools_of_connections_of_python_are_told() {
    let event = ("Event.wait", "/usr/lib/python3/asyncio/locks.py");
    let queue = ("Queue.get", "/usr/lib/python3/asyncio/queues.py");
    let connect = (
        "BaseSelectorEventLoop.sock_connect",
        "/usr/lib/python3/asyncio/selector_events.py",
    );
    let aiohttp = (
        "BaseConnector._wait_for_available_connection",
        "/srv/site-packages/aiohttp/connector.py",
    );
    let asyncpg = (
        "Pool._acquire.<locals>._acquire_impl",
        "/srv/site-packages/asyncpg/pool.py",
    );
    let httpcore = (
        "AsyncPoolRequest.wait_for_connection",
        "/srv/site-packages/httpcore/_async/connection_pool.py",
    );
    let parked = |outer, inner| parked_in("coroutine ", outer, inner);
    assert_eq!(parked(aiohttp, None), Parking::Connection);
    assert_eq!(parked(asyncpg, Some(queue)), Parking::Connection);
    assert_eq!(parked(asyncpg, Some(connect)), Parking::Network);
    assert_eq!(parked(httpcore, Some(event)), Parking::Connection);
}
