//! The spool becomes a recording. Three passes over the spool, in bounded memory: the notes; then
//! what is summed or few (lives, objects, calls, requests), with the many set aside by thread; then
//! these, thread by thread. The same serves to mend what a killed timesink left behind.

mod calls;
mod classify;
mod lives;
mod objects;
mod scale;
mod sites;
mod sort;
mod spans;
mod stacks;
mod tags;
mod tasks;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use timesink_recording::files::Folder;
use timesink_recording::tables::call_windows::CallWindow;
use timesink_recording::tables::facts::Fact;
use timesink_recording::tables::losses::Loss;
use timesink_recording::tables::outsiders::Outsider;
use timesink_recording::tables::probes::Probe;
use timesink_recording::tables::requests::Request;
use timesink_recording::words::{FactKind, Language, LossKind, Moment, RequestKind};
use timesink_recording::{About, Costs, ErrorKind, Mode, Nanos, Recording, RecordingWriter};

use crate::error::Error;
use crate::launch::Identity;
use crate::patience::Patience;
use crate::probes::{self, events as e, Event};
use crate::spool::{self, BeginNote, EndNote, Entry, LoadedModule, Note, SpoolEnding, SpoolReader};
use crate::user_folder::user_folder;

use calls::Calls;
use lives::Lives;
pub use objects::path_bytes_of;
use objects::Objects;
use scale::CallTiming;
use sites::Sites;
use sort::Sorter;
use spans::{Context, Timing};
use stacks::{Naming, StackRows, ToldFunction, ToldModule};
use tags::Tags;
use tasks::Tasks;

/// What the notes of a spool say.
#[derive(Default)]
struct Notes {
    begin: Option<BeginNote>,
    end: Option<EndNote>,
    probes: Vec<Probe>,
    outsiders: HashMap<u32, (String, Option<u32>)>,
    /// What processes run that were there before, by their numbers: executable and arguments.
    programs: HashMap<u32, (String, String)>,
    /// The control groups of processes, by their numbers.
    groups: HashMap<u32, String>,
    symbols: HashMap<u64, String>,
    modules: HashMap<u32, ToldModule>,
    loaded: Vec<LoadedModule>,
    /// Names of code that runtimes made, by module and address.
    made: HashMap<u32, HashMap<u64, String>>,
    codes: HashMap<u32, ToldFunction>,
    windows: Vec<(u64, u64)>,
    facts: Vec<Fact>,
    /// What was given up while it was recorded, and how often.
    gave_up: Vec<(String, u64)>,
    /// The last moment that any event tells of.
    last: u64,
    broken: Option<String>,
}

/// Turn the spool in a folder into the recording's tables, and remove it. With whose rights: the
/// identity's, if there is one. Names are looked for as long as there is patience.
pub fn convert(
    folder: &Folder,
    identity: Option<&Identity>,
    cache: Option<PathBuf>,
    patience: &Patience,
) -> Result<About, Error> {
    Identity::acting(identity, || convert_here(folder, cache, patience))?
}

/// The same for what a timesink that was killed left behind, with the rights of its owner. One that is still at work is left alone.
pub fn mend(folder: &Folder) -> Result<About, Error> {
    let lock = folder.lock();
    if lock
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::Exists)
    {
        return Err(Error::Refused {
            path: folder.path().to_owned(),
            what: "it is still being recorded, or being finished by another timesink".into(),
        });
    }
    // It may have been finished in the meantime.
    if let Ok(whole) = Recording::of(folder) {
        return Ok(whole.about().clone());
    }
    let owner = Identity::of_owner(folder.about()?.user)?;
    let owner = owner.as_ref();
    convert(folder, owner, cache_folder(owner), &Patience::default())
}

/// Where names of code are kept from one recording to the next: the user's folder for such things.
pub fn cache_folder(identity: Option<&Identity>) -> Option<PathBuf> {
    user_folder(identity, "XDG_CACHE_HOME", ".cache")
}

fn convert_here(
    folder: &Folder,
    cache: Option<PathBuf>,
    patience: &Patience,
) -> Result<About, Error> {
    let started = Instant::now();
    let notes = read_notes(folder)?;
    let begin = begin_of(&notes, folder)?;
    let wall = notes.wall(&begin);
    let mut out = RecordingWriter::within(folder.another()?)?;
    let FirstPass {
        mut lives,
        mut objects,
        calls,
        sites,
        mut tasks,
        tags,
        sorter,
        samples,
        nodes,
        ..
    } = first_pass(folder, &begin, &notes, &mut out)?;
    lives.close(wall);
    let windows = windows_of(&notes, &begin, wall);
    let (modules, made, codes) = (&notes.modules, &notes.made, &notes.codes);
    let naming = Naming { cache, patience };
    let (mut stacks, nameless) = StackRows::new(&nodes, modules, made, codes, &naming);
    let mut context = Context::new(
        &mut lives,
        &mut objects,
        &mut stacks,
        &notes.symbols,
        Timing {
            threshold_ns: begin.threshold_ns,
            windows: &windows,
        },
        &mut tasks,
        &mut out,
    );
    sorter.for_each(|thread, bytes| context.take(thread, bytes))?;
    context.finish()?;
    let gaps = context.gaps;
    let timing = CallTiming {
        cpu: std::mem::take(&mut context.timed_cpu),
        call_ns: begin.cost.call_ns,
        transfers: &lives.transfers,
    };
    let (paths_left_out, seen) = (calls.lookups_left_out, calls.seen);
    calls.write(&lives, &windows, &timing, &mut out)?;
    let missing = MissingRows {
        gaps,
        paths_left_out,
        nameless,
        why_nameless: patience
            .ended()
            .unwrap_or("files could not be read in time"),
    };
    write_notes(&notes, &windows, &missing, &mut out)?;
    let mut about = about(&begin, &notes, wall, &windows);
    about.cost = Costs {
        recorder_cpu_ns: notes.end.as_ref().and_then(|end| end.recorder_cpu_ns),
        ..cost(&begin, &lives, seen, samples, wall, started)
    };
    variables::name_locks(&mut objects, &lives, &notes.loaded, modules, &naming);
    objects.write(&mut out)?;
    sites.write(&lives, &stacks, &mut out)?;
    tasks.write(&lives, &stacks, &mut out)?;
    tags.write(&lives, &mut out)?;
    stacks.write(&mut out)?;
    write_lives(lives, &mut out)?;
    let about = out.finish(about)?;
    folder.remove(spool::NAME)?;
    Ok(about)
}

fn begin_of(notes: &Notes, folder: &Folder) -> Result<BeginNote, Error> {
    notes.begin.clone().ok_or_else(|| Error::Damaged {
        path: folder.path_of(spool::NAME),
        what: "the spool ends before it says what it is of: nothing can be mended".into(),
    })
}

fn read_notes(folder: &Folder) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let mut reader = SpoolReader::open(folder)?;
    let ending = reader.for_each(|entry| {
        match entry {
            Entry::Event(bytes) => {
                if let Some(head) = probes::head(bytes) {
                    notes.last = notes.last.max(head.t);
                }
            }
            Entry::Note(note) => notes.take(note),
        }
        Ok(())
    })?;
    if let SpoolEnding::Broken(what) = ending {
        notes.broken = Some(what);
    }
    Ok(notes)
}

fn first_pass(
    folder: &Folder,
    begin: &BeginNote,
    notes: &Notes,
    out: &mut RecordingWriter,
) -> Result<FirstPass, Error> {
    let mut first = FirstPass::new(folder.another()?, begin, notes.early_until());
    first.lives.ran_before(notes.programs.clone());
    first.lives.groups = notes.groups.clone();
    SpoolReader::open(folder)?.for_each(|entry| match entry {
        Entry::Event(bytes) => first.take(bytes, out),
        Entry::Note(_) => Ok(()),
    })?;
    Ok(first)
}

impl Notes {
    /// How long it was recorded.
    fn wall(&self, begin: &BeginNote) -> Nanos {
        let end = self.end.as_ref();
        let end_at = end.map_or(self.last.max(begin.zero), |end| end.at);
        Nanos(end_at.saturating_sub(begin.zero) as i64)
    }

    /// Until when every call was timed, by the probes' clock, if calls were timed again later: what they did
    /// then tells what they did while nobody looked.
    fn early_until(&self) -> u64 {
        match self.windows.as_slice() {
            [(_, until), _, ..] => *until,
            _ => 0,
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Begin(begin) => self.begin = Some(*begin),
            Note::End(end) => self.end = Some(*end),
            Note::Probe {
                probe,
                attached,
                reason,
                without,
            } => {
                let without = if attached { String::new() } else { without };
                self.probes.push(Probe {
                    probe,
                    attached,
                    reason,
                    without,
                });
            }
            Note::Symbol { address, name } => drop(self.symbols.insert(address, name)),
            Note::Outsider { tid, name, pid } => drop(self.outsiders.insert(tid, (name, pid))),
            Note::Program {
                pid,
                executable,
                arguments,
            } => {
                self.programs.insert(pid, (executable, arguments));
            }
            Note::Group { pid, group } => drop(self.groups.insert(pid, group)),
            Note::Made { module, names } => {
                self.made.entry(module).or_default().extend(names);
            }
            Note::Module {
                module,
                kind,
                path,
                build_id,
                stamp,
            } => {
                let told = ToldModule {
                    kind,
                    path,
                    build_id,
                    stamp,
                };
                self.modules.insert(module, told);
            }
            Note::Loaded(loaded) => self.loaded.push(loaded),
            Note::Code {
                code,
                function,
                file,
                line,
                language,
            } => {
                let told = ToldFunction {
                    function,
                    file,
                    line,
                    language: Language::from_str(&language).unwrap_or(Language::Native),
                };
                self.codes.insert(code, told);
            }
            Note::Fact {
                kind,
                key,
                value,
                moment,
            } => self.facts.extend(fact(&kind, key, value, &moment)),
            Note::Window { t0, t1 } => self.windows.push((t0, t1)),
            Note::GaveUp { why, count } => self.gave_up.push((why, count)),
        }
    }
}

/// A row of a fact; none if its words are of no version that we know.
fn fact(kind: &str, key: String, value: String, moment: &str) -> Option<Fact> {
    Some(Fact {
        kind: FactKind::from_str(kind)?,
        key,
        value,
        moment: Moment::from_str(moment)?,
    })
}

// The kernel's words for what a request does, in its flags.
const REQ_OP_MASK: u32 = 0xff;
const REQ_OP_READ: u32 = 0;
const REQ_OP_WRITE: u32 = 1;
const REQ_OP_FLUSH: u32 = 2;
const REQ_OP_DISCARD: u32 = 3;
const REQ_OP_SECURE_ERASE: u32 = 5;

/// What is summed at once, and what is set aside.
struct FirstPass {
    lives: Lives,
    objects: Objects,
    calls: Calls,
    sites: Sites,
    tasks: Tasks,
    tags: Tags,
    sorter: Sorter,
    samples: u64,
    nodes: Vec<e::ts_node>,
}

impl FirstPass {
    fn new(folder: Folder, begin: &BeginNote, early_until: u64) -> FirstPass {
        FirstPass {
            lives: Lives::new(begin.zero, begin.cost),
            objects: Objects::default(),
            calls: Calls::new(early_until),
            sites: Sites::default(),
            tasks: Tasks::default(),
            tags: Tags::default(),
            sorter: Sorter::new(folder),
            samples: 0,
            nodes: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8], out: &mut RecordingWriter) -> Result<(), Error> {
        let Some(head) = probes::head(bytes) else {
            return Ok(());
        };
        // The many are not decoded here.
        match u32::from(head.kind) {
            e::TS_TURN | e::TS_WAIT | e::TS_RESULT | e::TS_QUEUE | e::TS_TASK | e::TS_SIGHT => {
                return self.sorter.push(head.thread, head.t, bytes);
            }
            e::TS_SEEN => {
                let Some(Event::Seen(seen)) = probes::decode(bytes) else {
                    return Ok(());
                };
                if u32::from(seen.what) == e::TS_OF_CALL {
                    self.sites.stack(&seen);
                    return Ok(());
                }
                self.samples += u64::from(u32::from(seen.what) == e::TS_OF_SAMPLE);
                return self.sorter.push(head.thread, head.t, bytes);
            }
            // Nothing of a thread comes after its end.
            e::TS_END => self.sorter.push(head.thread, u64::MAX, bytes)?,
            _ => {}
        }
        match probes::decode(bytes) {
            Some(Event::Start(start)) => self.lives.start(&start),
            Some(Event::Exec(exec)) => {
                self.tasks.executed(&exec);
                self.tags.executed(&exec, &self.lives, out)?;
                self.lives.exec(&exec);
            }
            Some(Event::Exit(exit)) => self.lives.exit(&exit),
            Some(Event::End(end)) => self.lives.end(&end),
            Some(Event::Object(object)) => self.objects.announce(&object),
            Some(Event::Calls(batch)) => self.calls.batch(&batch, &self.lives, &mut self.objects),
            Some(Event::Lookup(lookup)) => {
                self.sites.lookup(&lookup);
                self.calls.lookup(&lookup, &self.lives);
            }
            Some(Event::Site(site)) => self.sites.site(&site, &mut self.objects),
            // In order, or its children would have no place to hang from.
            Some(Event::Node(node)) if node.node as usize == self.nodes.len() + 1 => {
                self.nodes.push(node);
            }
            Some(Event::Tag(tag)) => self.tags.take(&tag, &self.lives, out)?,
            Some(Event::TagText(text)) => self.tags.told(&text, &self.lives),
            Some(Event::Request(request)) => out.push(self.request(&request))?,
            _ => {}
        }
        Ok(())
    }

    fn request(&self, r: &e::ts_request) -> Request {
        let kind = match r.flags & REQ_OP_MASK {
            REQ_OP_READ => RequestKind::Read,
            REQ_OP_WRITE => RequestKind::Write,
            REQ_OP_FLUSH => RequestKind::Flush,
            REQ_OP_DISCARD | REQ_OP_SECURE_ERASE => RequestKind::Discard,
            _ => RequestKind::Other,
        };
        Request {
            issued: self.lives.at(r.issued),
            completed: self.lives.at(r.head.t),
            device: u64::from(r.device),
            sector: r.sector,
            bytes: u64::from(r.bytes),
            kind,
            thread: self.lives.thread(r.head.thread),
            tid: r.tid,
        }
    }
}

/// When calls were timed, in the recording's time. A spool that was cut short does not tell of the
/// window that was open: without any other it is all of it.
fn windows_of(notes: &Notes, begin: &BeginNote, wall: Nanos) -> Vec<(i64, i64)> {
    let timed = notes
        .probes
        .iter()
        .any(|p| p.probe == "calls" && p.attached);
    if notes.windows.is_empty() && timed && notes.end.is_none() {
        return vec![(0, wall.0)];
    }
    let at = |t: u64| t.saturating_sub(begin.zero).min(wall.0 as u64) as i64;
    notes
        .windows
        .iter()
        .map(|(a, b)| (at(*a), at(*b)))
        .collect()
}

fn write_notes(
    notes: &Notes,
    windows: &[(i64, i64)],
    missing: &MissingRows,
    out: &mut RecordingWriter,
) -> Result<(), Error> {
    for row in &notes.probes {
        out.push(row.clone())?;
    }
    let mut outsiders: Vec<_> = notes.outsiders.iter().collect();
    outsiders.sort_unstable();
    for (&tid, (name, pid)) in outsiders {
        out.push(Outsider {
            tid,
            name: name.clone(),
            pid: *pid,
        })?;
    }
    for &(t0, t1) in windows {
        out.push(CallWindow {
            t0: Nanos(t0),
            t1: Nanos(t1),
        })?;
    }
    for row in &notes.facts {
        out.push(row.clone())?;
    }
    for row in losses(notes, missing) {
        out.push(row)?;
    }
    Ok(())
}

/// What it means that events of a kind were lost.
fn what_is_lost(kind: u32) -> Option<(LossKind, &'static str)> {
    Some(match kind {
        e::TS_TURN | e::TS_QUEUE => (
            LossKind::Turns,
            "spans are missing and marked as lost; the sums of threads are whole",
        ),
        e::TS_WAIT | e::TS_RESULT => (LossKind::Waits, "the particulars of long waits are missing"),
        e::TS_CALLS => (LossKind::Calls, "calls are missing from the counts"),
        e::TS_OBJECT => (
            LossKind::Objects,
            "files or sockets have a number for a name",
        ),
        e::TS_SITE => (LossKind::Samples, "some stacks of calls are missing"),
        e::TS_LOOKUP => (LossKind::Lookups, "look-ups of paths are missing"),
        e::TS_START | e::TS_EXEC | e::TS_EXIT | e::TS_END => {
            (LossKind::Lives, "threads have no start, no end or no name")
        }
        e::TS_REQUEST => (LossKind::Requests, "requests to disks are missing"),
        e::TS_STACK => (
            LossKind::Samples,
            "samples or stacks are missing; the counts of samples are whole",
        ),
        e::TS_TAG | e::TS_TAG_TEXT => (LossKind::Samples, "some changes of tags are missing"),
        e::TS_TASK => (LossKind::Samples, "some switches between tasks are missing"),
        e::TS_LEFT => (
            LossKind::Samples,
            "the callers are missing from some stacks of blocked goroutines",
        ),
        e::TS_CODE => (
            LossKind::Samples,
            "functions of Python are missing from some stacks",
        ),
        e::TS_FUNCTION => (
            LossKind::Samples,
            "functions of PHP, Ruby or Perl are missing from some stacks",
        ),
        e::TS_NO_STORAGE => (
            LossKind::Threads,
            "threads could not be followed for want of memory",
        ),
        e::TS_NOT_FOLLOWED => (
            LossKind::Threads,
            "so many processes did not come in, because as many had as may (--follow)",
        ),
        _ => return None,
    })
}

/// What turned out to be missing while tables were made.
struct MissingRows {
    gaps: u64,
    paths_left_out: u64,
    /// Modules that were not looked into.
    nameless: u64,
    why_nameless: &'static str,
}

fn losses(notes: &Notes, missing: &MissingRows) -> Vec<Loss> {
    let mut all: Vec<Loss> = Vec::new();
    let mut add = |kind: LossKind, count: u64, note: &str| {
        if count > 0 {
            match all.iter_mut().find(|l| l.kind == kind) {
                Some(row) => {
                    row.count += count;
                    if !row.note.contains(note) {
                        row.note = format!("{}; {note}", row.note);
                    }
                }
                None => all.push(Loss {
                    kind,
                    count,
                    note: note.into(),
                }),
            }
        }
    };
    let lost = notes
        .end
        .as_ref()
        .map(|end| end.lost.as_slice())
        .unwrap_or_default();
    for (kind, count) in lost.iter().enumerate() {
        if let Some((word, note)) = what_is_lost(kind as u32) {
            add(word, *count, note);
        }
    }
    // Gaps without a lost event to explain them would be a fault of ours, and are told too.
    if lost.iter().sum::<u64>() == 0 {
        add(
            LossKind::Turns,
            missing.gaps,
            "spans are missing and marked as lost",
        );
    }
    add(
        LossKind::Lookups,
        missing.paths_left_out,
        "there were too many different paths to keep all",
    );
    for (why, count) in &notes.gave_up {
        add(LossKind::Samples, *count, why);
    }
    let why = format!(
        "functions of some files have no names: {}; `timesink symbolize` looks for them again",
        missing.why_nameless
    );
    add(LossKind::Samples, missing.nameless, &why);
    if let Some(why) = notes
        .end
        .as_ref()
        .and_then(|end| end.writing_failed.as_ref())
    {
        add(LossKind::Writing, 1, why);
    }
    if notes.end.is_none() {
        add(
            LossKind::CutShort,
            1,
            "timesink was killed: what came in its last moments is missing",
        );
    }
    all
}

fn about(begin: &BeginNote, notes: &Notes, wall: Nanos, windows: &[(i64, i64)]) -> About {
    let timed: i64 = windows.iter().map(|(a, b)| b - a).sum();
    let share = if wall.0 > 0 {
        (timed as f64 / wall.0 as f64).min(1.0)
    } else {
        0.0
    };
    About {
        tool_version: begin.tool_version.clone(),
        mode: match begin.mode.as_str() {
            "attach" => Mode::Attach,
            "machine" => Mode::Machine,
            _ => Mode::Run,
        },
        command: begin.command.clone(),
        directory: begin.directory.clone(),
        started_unix_ns: begin.started_unix_ns,
        wall_ns: wall.0 as u64,
        exit_code: notes.end.as_ref().and_then(|end| end.exit_code),
        exit_signal: notes.end.as_ref().and_then(|end| end.exit_signal),
        threshold_ns: begin.threshold_ns,
        budget_pct: begin.budget_pct,
        exact: begin.exact,
        kernel: begin.kernel.clone(),
        architecture: begin.architecture.clone(),
        processors: begin.processors,
        hostname: begin.hostname.clone(),
        host: begin.facts.clone(),
        floors: begin.floors.clone(),
        call_timing_share: share,
        mended: mended(notes),
        ..About::default()
    }
}

/// What was wrong with the spool, in a sentence.
fn mended(notes: &Notes) -> Option<String> {
    match (&notes.end, &notes.broken) {
        (None, None) => Some("the recording was cut short (timesink was killed) and was mended from what it had written".into()),
        (None, Some(what)) => Some(format!("the recording was cut short and was mended from what it had written: {what}")),
        (Some(_), Some(what)) => Some(format!("the end of what was recorded could not be read: {what}")),
        (Some(_), None) => None,
    }
}

fn cost(
    begin: &BeginNote,
    lives: &Lives,
    calls: u64,
    samples: u64,
    wall: Nanos,
    started: Instant,
) -> Costs {
    let tracer: u64 = lives
        .threads
        .iter()
        .map(|t| t.tracer_ns + t.tracer_estimated_ns)
        .sum();
    // Threads that run side by side share the wall time: what one processor's worth costs.
    let busy: u64 = lives.threads.iter().map(|t| t.cpu_ns + t.tracer_ns).sum();
    let base = (wall.0 as f64).max(busy as f64).max(1.0);
    Costs {
        call_ns: begin.cost.call_ns,
        switch_ns: begin.cost.switch_ns,
        calls,
        wakes: lives.wakes,
        switches: lives.switches,
        samples,
        start_ns: begin.cost.start_ns,
        finish_ns: started.elapsed().as_nanos() as u64,
        pct_of_wall: tracer as f64 * 100.0 / base,
        recorder_cpu_ns: None,
    }
}

fn write_lives(lives: Lives, out: &mut RecordingWriter) -> Result<(), Error> {
    for row in lives.threads {
        out.push(row)?;
    }
    for row in lives.processes {
        out.push(row)?;
    }
    for row in lives.images {
        out.push(row)?;
    }
    Ok(())
}
