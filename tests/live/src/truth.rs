//! What must be true of a recording of `programs/truth.c`: each phase of it, in its thread, with its kind, its object and whoever
//! ended it, as the program itself says. Who makes the recording, and where, is the caller's.

use serde_json::Value;
use timesink_recording::tables::objects::Object;
use timesink_recording::tables::spans::Span;
use timesink_recording::tables::threads::Thread;
use timesink_recording::tables::waits::Wait;
use timesink_recording::words::{Detail, State, WakeSource};

use crate::{json_lines, none_of, ns, number, text, Recorded};

/// One recording of the program, and what the program itself says.
pub struct Truth {
    recorded: Recorded,
    phases: Vec<Value>,
    threads: Vec<Thread>,
    spans: Vec<Span>,
    waits: Vec<Wait>,
    objects: Vec<Object>,
    slack: Slack,
    problems: Vec<String>,
}

/// By how much a figure may be off.
#[derive(Clone, Copy)]
pub struct Slack {
    pub share: f64,
    pub ns: f64,
}

impl Slack {
    /// Where the truth is known only to lie between two figures, slack is from the lower one down and from the upper one up.
    fn allows(self, ours: f64, truth: (f64, f64)) -> bool {
        let slack = (truth.1 * self.share).max(self.ns);
        ours >= truth.0.min(truth.1) - slack && ours <= truth.0.max(truth.1) + slack
    }
}

impl Truth {
    /// A recording of the program, and the truth that it wrote.
    pub fn of(recorded: Recorded, truth: &str, slack: Slack) -> Truth {
        Truth {
            threads: recorded.rows(),
            spans: recorded.rows(),
            waits: recorded.rows(),
            objects: recorded.rows(),
            recorded,
            phases: json_lines(truth),
            slack,
            problems: Vec::new(),
        }
    }

    fn phase(&self, name: &str) -> Value {
        let found = self.phases.iter().find(|p| p["phase"] == name);
        found
            .unwrap_or_else(|| panic!("the program told nothing of {name}"))
            .clone()
    }

    /// Notes what does not hold.
    fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(what());
        }
    }

    fn number_of(&self, tid: i64) -> Option<&Thread> {
        self.threads.iter().find(|t| i64::from(t.tid) == tid)
    }

    /// The phase's thread waited in this way as often and as long as it says.
    fn waited(&mut self, name: &str, detail: &str, count: i64) {
        let phase = self.phase(name);
        let thread = self.recorded.thread(number(&phase, "tid")).clone();
        let (seen, sum) = self.recorded.cause(&thread, "wait", detail);
        // How much of the time ready was inside the calls the program cannot tell; alone on its
        // machine it has none to speak of. Nor does it know what the machine's host took.
        let most = ns(&phase, "ns") - ns(&phase, "cpu_ns");
        let least = most - ns(&phase, "ready_ns") - ns(&thread, "taken_ns");
        let truth = (least, most);
        self.must(self.slack.allows(sum, truth), || {
            format!("{name}: {sum} ns in '{detail}', in truth {truth:?}: {phase}")
        });
        // On a busy machine what is waited for may be there now and then before the thread looks.
        self.must(seen * 10 >= count * 9, || {
            format!("{name}: {seen} times in '{detail}', in truth {count}")
        });
        self.must(
            text(&thread, "name") == if name == "join" { "truth" } else { name },
            || format!("{name} is called {}", thread["name"]),
        );
    }

    /// The spans of the phase's thread that wait in this way for a millisecond or more.
    fn long_spans(&self, name: &str, detail: Detail) -> Vec<Span> {
        let tid = number(&self.phase(name), "tid");
        let Some(thread) = self.number_of(tid).map(|t| t.thread) else {
            return Vec::new();
        };
        let long =
            |s: &&Span| s.thread == thread && s.detail == detail && s.t1.0 - s.t0.0 >= 1_000_000;
        self.spans.iter().filter(long).cloned().collect()
    }

    fn long_waits(&self, name: &str, detail: Detail) -> Vec<Wait> {
        let spans = self.long_spans(name, detail);
        let of = |s: &Span| {
            self.waits
                .iter()
                .find(|w| w.thread == s.thread && w.t0 == s.t0)
                .cloned()
        };
        spans.iter().filter_map(of).collect()
    }

    /// All long waits of the phase were ended by this source, and by this thread if there is one.
    fn woken_by(&mut self, name: &str, detail: Detail, source: WakeSource, waker: Option<&str>) {
        let wrong = self.long_spans(name, detail).into_iter().find(|s| {
            let called = s.waker.map(|w| self.threads[w.index()].name.as_str());
            s.wake_source != Some(source) || waker.is_some() && called != waker
        });
        self.must(wrong.is_none(), || {
            format!("{name}: ended by {source:?} {waker:?}, but {wrong:?}")
        });
    }

    /// All long waits of the phase are about an object that this holds of.
    fn about(&mut self, name: &str, detail: Detail, holds: impl Fn(&Object) -> bool) {
        let spans = self.long_spans(name, detail);
        let object = |s: &Span| {
            s.object
                .and_then(|o| self.objects.iter().find(|x| x.object == o))
        };
        let wrong = spans.iter().find(|s| !object(s).is_some_and(&holds));
        let what = wrong.map(|s| format!("{name}: the object is {:?} in {s:?}", object(s)));
        self.must(what.is_none(), || what.unwrap_or_default());
    }

    /// What does not hold. With every call timed (`exact`), no particular of a wait is missing either.
    pub fn check(mut self, exact: bool) -> Result<(), String> {
        self.plain_waits();
        self.lock();
        self.polls(exact);
        self.day_clock();
        self.sockets();
        self.disk();
        self.processor();
        none_of(&self.problems)
    }

    fn plain_waits(&mut self) {
        self.waited("sleep", "sleep", 20);
        self.woken_by("sleep", Detail::Sleep, WakeSource::Timer, None);
        let asked = self.long_waits("sleep", Detail::Sleep);
        let right = asked.len() == 20
            && asked
                .iter()
                .all(|w| w.asked_ns == Some(10_000_000) && w.expired == Some(true));
        self.must(right, || {
            format!("sleep: asked for 10 ms and got it 20 times: {asked:?}")
        });

        self.waited("pipe", "pipe read", 20);
        self.woken_by(
            "pipe",
            Detail::PipeRead,
            WakeSource::Thread,
            Some("partner"),
        );
        self.about("pipe", Detail::PipeRead, |o| o.label.starts_with("pipe "));

        let child = number(&self.phase("child"), "child");
        self.waited("child", "child", 1);
        self.woken_by("child", Detail::Child, WakeSource::Thread, Some("child"));
        self.about("child", Detail::Child, |o| o.inode == Some(child as u64));

        self.waited("condition", "condition", 5);
        self.woken_by(
            "condition",
            Detail::Condition,
            WakeSource::Thread,
            Some("signaller"),
        );
        self.waited("join", "join", 13);
    }

    fn lock(&mut self) {
        self.waited("lock", "lock", 5);
        self.woken_by("lock", Detail::Lock, WakeSource::Thread, Some("holder"));
        let holder = self
            .number_of(number(&self.phase("lock"), "holder"))
            .map(|t| t.thread);
        let waits = self.long_waits("lock", Detail::Lock);
        let right =
            waits.len() == 5 && waits.iter().all(|w| w.owner.is_some() && w.owner == holder);
        self.must(right, || {
            format!("lock: 5 waits for {holder:?}, who holds it: {waits:?}")
        });
    }

    fn polls(&mut self, exact: bool) {
        // Of one thing alone, a pipe: then it is waited for as a read of it would.
        self.waited("poll-expired", "pipe read", 5);
        self.woken_by("poll-expired", Detail::PipeRead, WakeSource::Timer, None);
        self.about("poll-expired", Detail::PipeRead, |o| {
            o.label.starts_with("pipe ")
        });
        let waits = self.long_waits("poll-expired", Detail::PipeRead);
        let right = |w: &Wait| {
            w.asked_ns == Some(30_000_000)
                && w.expired == Some(true)
                && w.woken_fd.is_none()
                && w.call == "poll"
                && w.flags == Some(1)
        };
        self.must(waits.len() == 5 && waits.iter().all(right), || {
            format!("poll-expired: {waits:?}")
        });

        let fd = number(&self.phase("poll-woken"), "fd") as u32;
        self.waited("poll-woken", "poll", 5);
        self.woken_by(
            "poll-woken",
            Detail::Poll,
            WakeSource::Thread,
            Some("poker"),
        );
        let waits = self.long_waits("poll-woken", Detail::Poll);
        let is_pipe = |w: &Wait| {
            let object = w
                .woken_object
                .and_then(|o| self.objects.iter().find(|x| x.object == o));
            object.is_some_and(|o| o.label.starts_with("pipe "))
        };
        // Which one it was is told by timed calls, and they may just have been too many for the budget.
        let timed = |w: &Wait| {
            w.woken_fd == Some(fd) && is_pipe(w) && w.expired.is_none() && w.result == Some(1)
        };
        let right = |w: &Wait| w.asked_ns.is_none() && (timed(w) || !exact && w.result.is_none());
        let all = waits.len() == 5 && waits.iter().all(right);
        self.must(all, || {
            format!("poll-woken: by descriptor {fd}, a pipe: {waits:?}")
        });
    }

    /// A wait until a moment of another clock than that of the recording: how long was asked for was not known.
    fn day_clock(&mut self) {
        self.waited("day-clock", "condition", 5);
        let waits = self.long_waits("day-clock", Detail::Condition);
        let about = 29_000_000..=30_000_000;
        let right = |w: &Wait| {
            w.asked_ns.is_some_and(|asked| about.contains(&asked)) && w.expired == Some(true)
        };
        self.must(waits.len() == 5 && waits.iter().all(right), || {
            format!("day-clock: {waits:?}")
        });
    }

    fn sockets(&mut self) {
        self.waited("unix", "unix socket receive", 20);
        self.woken_by(
            "unix",
            Detail::UnixReceive,
            WakeSource::Thread,
            Some("server"),
        );
        self.about("unix", Detail::UnixReceive, |o| {
            o.protocol.as_deref() == Some("unix")
        });

        let port = number(&self.phase("tcp"), "port");
        let server = format!("127.0.0.1:{port}");
        self.waited("tcp", "network receive", 20);
        self.woken_by(
            "tcp",
            Detail::NetworkReceive,
            WakeSource::Network,
            Some("server"),
        );
        self.about("tcp", Detail::NetworkReceive, |o| {
            let local = o.local.as_deref().unwrap_or_default();
            o.protocol.as_deref() == Some("tcp")
                && o.remote.as_deref() == Some(server.as_str())
                && local.starts_with("127.0.0.1:")
                && local != server
                && !local.ends_with(":0")
        });
    }

    fn disk(&mut self) {
        self.waited("flush", "flush", 50);
        let flushed = |c: &&Value| {
            c["call"] == "fsync"
                && c["object"]
                    .as_str()
                    .is_some_and(|o| o.ends_with("/rows.data"))
        };
        let count = self
            .recorded
            .list("calls")
            .iter()
            .find(flushed)
            .map(|c| number(c, "count"));
        self.must(count == Some(50), || {
            format!("flush: {count:?} fsyncs of rows.data, in truth 50")
        });

        let phase = self.phase("fault");
        assert!(
            phase["skipped"].is_null(),
            "the test's folder is not on a disk: {phase}"
        );
        let thread = self.recorded.thread(number(&phase, "tid")).clone();
        let faults = number(&thread, "faults_major");
        self.must(faults == number(&phase, "count"), || {
            format!("fault: {faults} major faults, in truth {phase}")
        });
        // The disk has a page ready before the thread sleeps now and then: no wait at all.
        self.waited("fault", "page fault", number(&phase, "slept"));
        let faults = thread["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|c| c["detail"] == "page fault");
        let cold = |c: &&Value| {
            c["object"]
                .as_str()
                .is_some_and(|o| o.ends_with("/rows.data.cold"))
        };
        // A few pages of the program itself may have to be read as well.
        let others: Vec<&Value> = faults.filter(|c| !cold(c)).collect();
        let count: i64 = others.iter().map(|c| number(c, "count")).sum();
        self.must(count < 20, || {
            format!("fault: some are not of rows.data.cold: {others:?}")
        });
    }

    fn processor(&mut self) {
        let phase = self.phase("neighbour");
        let thread = self.recorded.thread(number(&phase, "tid")).clone();
        // Inside the stretch as the program saw it, and for the whole phase by the kernel.
        let truth = (
            ns(&phase, "ns") - ns(&phase, "cpu_ns") - ns(&thread, "taken_ns"),
            ns(&phase, "ready_ns"),
        );
        let ready = ns(&thread, "ready_ns");
        self.must(self.slack.allows(ready, truth), || {
            format!("neighbour: ready for {ready} ns, in truth {truth:?}")
        });
        // Others may want that processor for a moment, too.
        let behind = thread["behind"].as_array().expect("whom it was behind");
        let sum = behind.iter().map(|one| ns(one, "ns")).sum();
        let named = behind[0]["tid"] == phase["neighbour"]
            && behind[0]["name"] == "neighbour"
            && self.slack.allows(sum, truth);
        self.must(named, || {
            format!("neighbour: it was behind {phase}, not {behind:?}")
        });

        let phase = self.phase("spin");
        let thread = self.recorded.thread(number(&phase, "tid")).clone();
        let tid = number(&phase, "tid");
        let spinner = self.number_of(tid).map(|t| t.thread);
        let spans = |state, but| {
            let spans = self.spans.iter().filter(|s| Some(s.thread) == spinner);
            let spans = spans.filter(|s| s.state == state && s.detail != but);
            spans.map(|s| s.t1.0 - s.t0.0).sum::<i64>() as f64
        };
        // The kernel's work for its end comes after the phase, and takes a hundred times as long in an emulator.
        let cpu = spans(State::Cpu, Detail::Exit);
        // Until it is queued, a thread that is made is its parent's work.
        let blocked = spans(State::Wait, Detail::Creation);
        let truth = ns(&phase, "cpu_ns");
        let most = truth + ns(&thread, "taken_ns");
        self.must(self.slack.allows(cpu, (truth, most)), || {
            format!("spin: {cpu} ns on a processor, in truth {truth} to {most}")
        });
        self.must(blocked < 1e6, || {
            format!("spin: it never waits, but did for {blocked} ns")
        });
    }
}
