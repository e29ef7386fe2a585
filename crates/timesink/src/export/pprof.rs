//! pprof's `profile.proto`, compressed with gzip. A sample for each thread, stack and kind of wait,
//! with labels for the thread; values are all time, time on a processor, time blocked, and how many
//! samples and waits it is from.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::Compression;
use timesink_analysis::ledger::{Account, ThreadLedger};
use timesink_analysis::stacks::StackIx;

use super::protobuf::Message;
use super::{missing, Export};
use crate::present::file_name;

// The numbers of fields, as profile.proto has them.
const SAMPLE_TYPE: u32 = 1;
const SAMPLE: u32 = 2;
const MAPPING: u32 = 3;
const LOCATION: u32 = 4;
const FUNCTION: u32 = 5;
const STRING: u32 = 6;
const TIME_NANOS: u32 = 9;
const DURATION_NANOS: u32 = 10;
const DEFAULT_TYPE: u32 = 14;

pub(super) fn write(export: &Export, out: &mut impl Write) -> io::Result<()> {
    let mut zip = GzEncoder::new(out, Compression::default());
    zip.write_all(profile(export).as_bytes())?;
    zip.finish()?;
    Ok(())
}

/// The table of strings; the first is the empty one.
struct Strings {
    ids: BTreeMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn new() -> Strings {
        let mut strings = Strings {
            ids: BTreeMap::new(),
            all: Vec::new(),
        };
        strings.id("");
        strings
    }

    fn id(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.ids.get(text) {
            return known;
        }
        let id = self.all.len() as u64;
        self.ids.insert(text.to_owned(), id);
        self.all.push(text.to_owned());
        id
    }
}

/// A profile under way.
struct Profile<'a> {
    export: &'a Export<'a>,
    message: Message,
    strings: Strings,
    /// Locations of frames, by their index.
    frames: BTreeMap<usize, u64>,
    /// Locations of what is no frame: remainders, missing rows.
    others: BTreeMap<String, u64>,
    functions: BTreeMap<(String, String), u64>,
    locations: u64,
}

fn profile(export: &Export) -> Message {
    let mut profile = Profile {
        export,
        message: Message::default(),
        strings: Strings::new(),
        frames: BTreeMap::new(),
        others: BTreeMap::new(),
        functions: BTreeMap::new(),
        locations: 0,
    };
    for (name, unit) in [
        ("time", "nanoseconds"),
        ("cpu", "nanoseconds"),
        ("wait", "nanoseconds"),
        ("count", "count"),
    ] {
        let mut kind = Message::default();
        kind.number(1, profile.strings.id(name));
        kind.number(2, profile.strings.id(unit));
        profile.message.message(SAMPLE_TYPE, &kind);
    }
    profile.mappings();
    for thread in export.threads() {
        profile.thread(thread);
    }
    let Profile {
        mut message,
        mut strings,
        ..
    } = profile;
    message.number(TIME_NANOS, export.about.started_unix_ns);
    message.number(DURATION_NANOS, export.about.wall_ns);
    message.number(DEFAULT_TYPE, strings.id("time"));
    for text in &strings.all {
        message.text(STRING, text);
    }
    message
}

impl Profile<'_> {
    /// Modules as mappings, numbered by their index from 1. Where they lay in memory is not told: offsets
    /// are the modules' own, and the names are there already. Readers take the first for the program.
    fn mappings(&mut self) {
        let ledger = &self.export.facts.ledger;
        let main = ledger.main.and_then(|at| ledger.threads.get(at));
        let main = main.and_then(|thread| ledger.processes.get(thread.process?));
        let program = main.map_or("", |process| &process.row.executable);
        let mut modules: Vec<_> = (1u64..).zip(&self.export.stacks.code.modules).collect();
        // It may have been started by another path than the one that it was mapped by.
        modules.sort_by_key(|(_, module)| file_name(&module.path) != file_name(program));
        for (id, module) in modules {
            let mut mapping = Message::default();
            mapping.number(1, id);
            mapping.number(5, self.strings.id(&module.path));
            mapping.number(6, self.strings.id(&module.build_id));
            // It has functions, file names, line numbers and inlined frames: nothing to look up.
            (7..=10).for_each(|field| {
                mapping.number(field, 1);
            });
            self.message.message(MAPPING, &mapping);
        }
    }

    fn thread(&mut self, thread: &ThreadLedger) {
        let mut sums: BTreeMap<(StackIx, Account, &str), (u64, u64)> = BTreeMap::new();
        for event in self.export.events(thread.row.thread) {
            let key = (event.stack, event.account, event.detail.as_str());
            let (ns, count) = sums.entry(key).or_default();
            *ns = ns.saturating_add(event.ns);
            *count += 1;
        }
        for ((stack, account, detail), (ns, count)) in sums {
            let locations = self.stack(stack);
            self.sample(thread, &locations, (account, detail), ns, count);
        }
        let rests: Vec<_> = self.export.rests(thread.row.thread).copied().collect();
        for rest in rests {
            let account = rest.missing.account();
            let location = self.other(&missing(rest.missing));
            self.sample(thread, &[location], (account, ""), rest.ns, 0);
        }
    }

    fn sample(
        &mut self,
        thread: &ThreadLedger,
        locations: &[u64],
        (account, detail): (Account, &str),
        ns: u64,
        count: u64,
    ) {
        let of = |state| if state == account { ns } else { 0 };
        let values = [ns, of(Account::Cpu), of(Account::Wait), count];
        let mut sample = Message::default();
        sample.packed(1, locations).packed(2, &values);
        let (process, pid) = self.export.process(thread);
        let texts = [
            ("thread", thread.row.name.as_str()),
            ("process", process),
            ("state", account.word()),
            ("detail", detail),
        ];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            let mut label = Message::default();
            label.number(1, self.strings.id(key));
            label.number(2, self.strings.id(text));
            sample.message(3, &label);
        }
        for (key, number) in [("tid", thread.row.tid), ("pid", pid)] {
            let mut label = Message::default();
            label.number(1, self.strings.id(key));
            label.number(3, u64::from(number));
            sample.message(3, &label);
        }
        self.message.message(SAMPLE, &sample);
    }

    /// The locations of a stack, the innermost first.
    fn stack(&mut self, stack: StackIx) -> Vec<u64> {
        let code = &self.export.stacks.code;
        let mut locations = Vec::new();
        for (frame, function) in code.frames_of(stack) {
            let name = self.export.function(function);
            let Some((at, frame)) = frame else {
                locations.push(self.other(&name));
                continue;
            };
            let location = match self.frames.get(&at) {
                Some(&known) => known,
                None => {
                    let module = code.function(function).module;
                    let mapping = module.map_or(0, |at| at as u64 + 1);
                    let line = frame.line.unwrap_or(0);
                    let new = self.location(mapping, frame.offset, (&name, &frame.file), line);
                    self.frames.insert(at, new);
                    new
                }
            };
            locations.push(location);
        }
        locations
    }

    fn other(&mut self, name: &str) -> u64 {
        if let Some(&known) = self.others.get(name) {
            return known;
        }
        let location = self.location(0, 0, (name, ""), 0);
        self.others.insert(name.to_owned(), location);
        location
    }

    fn location(&mut self, mapping: u64, address: u64, named: (&str, &str), line: u32) -> u64 {
        self.locations += 1;
        let mut place = Message::default();
        place
            .number(1, self.function(named))
            .number(2, u64::from(line));
        let mut location = Message::default();
        location.number(1, self.locations);
        if mapping > 0 {
            location.number(2, mapping);
        }
        location.number(3, address).message(4, &place);
        self.message.message(LOCATION, &location);
        self.locations
    }

    fn function(&mut self, (name, file): (&str, &str)) -> u64 {
        let key = (name.to_owned(), file.to_owned());
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, self.strings.id(name));
        function.number(3, self.strings.id(name));
        function.number(4, self.strings.id(file));
        self.message.message(FUNCTION, &function);
        id
    }
}
