//! The probes: one folder each, with the program that runs in the kernel beside what user space
//! must know of it. This file is the registry, and the one place where bytes from the ring become
//! Rust values.

use zerocopy::{FromBytes, IntoBytes};

pub use leftovers::clear_leftovers;

pub mod block;
pub mod calls;
pub mod faults;
pub mod follow;
pub mod interrupts;
pub mod kernel_names;
mod leftovers;
pub mod lives;
pub mod opens;
pub mod sampler;
pub mod scheduling;
pub mod terminals;

/// The Rust side of `events.h`, generated. Any bytes are a value of such a structure, and none has padding: zerocopy has the
/// compiler check both.
// What is unsafe there is bindgen's `Default` of large arrays.
#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    missing_docs,
    unsafe_code
)]
pub mod events {
    include!(concat!(env!("OUT_DIR"), "/events.rs"));
}

/// The compiled programs.
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/timesink.bpf.o"));

/// What user space knows of a probe.
pub struct ProbeInfo {
    pub name: &'static str,
    /// Its programs, each with the tracepoint or function that the kernel must have (empty: none).
    pub programs: &'static [(&'static str, &'static str)],
    /// What a recording has by it.
    pub gives: &'static str,
    /// What a recording lacks without it.
    pub without: &'static str,
    /// Nothing can be recorded without it.
    pub essential: bool,
}

/// All probes, in the order in which they attach: state first, the sampler last.
pub static PROBES: &[&ProbeInfo] = &[
    &interrupts::INFO,
    &scheduling::INFO,
    &lives::INFO,
    &follow::INFO,
    &faults::INFO,
    &terminals::INFO,
    &block::INFO,
    &calls::INFO,
    &opens::INFO,
    &kernel_names::INFO,
    &sampler::INFO,
];

/// A structure of `events.h` from the first bytes; `None` if they are fewer than it has.
fn plain<T: FromBytes>(bytes: &[u8]) -> Option<T> {
    T::read_from_prefix(bytes).ok().map(|(event, _)| event)
}

/// The same of which only the head has to be there. The spool leaves out the zeros at the end of an event.
fn restored<T: FromBytes + IntoBytes>(bytes: &[u8]) -> Option<T> {
    head(bytes)?;
    let mut event = T::new_zeroed();
    let length = bytes.len().min(size_of::<T>());
    event.as_mut_bytes()[..length].copy_from_slice(&bytes[..length]);
    Some(event)
}

/// An event without the zeros at its end, but not without its head.
pub fn without_zeros(event: &[u8]) -> &[u8] {
    let last = event.iter().rposition(|&byte| byte != 0);
    let length = last.map_or(0, |last| last + 1);
    &event[..length.max(size_of::<events::ts_head>()).min(event.len())]
}

/// An event as the kernel sent it.
pub enum Event {
    Turn(events::ts_turn),
    Wait(Box<events::ts_wait>),
    Result(events::ts_result),
    Queue(events::ts_queue),
    Calls(Box<events::ts_calls>),
    Object(Box<events::ts_object>),
    Lookup(Box<events::ts_lookup>),
    Site(events::ts_site),
    Start(events::ts_start),
    Exec(Box<events::ts_exec>),
    Exit(events::ts_exit),
    End(Box<events::ts_end>),
    Request(events::ts_request),
    Seen(Box<events::ts_seen>),
    Node(events::ts_node),
    Task(events::ts_task),
    Sight(events::ts_task),
    Tag(events::ts_tag),
    TagText(Box<events::ts_tag_text>),
}

/// The head of an event; `None` for bytes that are none.
pub fn head(bytes: &[u8]) -> Option<events::ts_head> {
    plain(bytes)
}

/// Bytes from the ring, or from a spool that may be damaged, as an event.
pub fn decode(bytes: &[u8]) -> Option<Event> {
    Some(match u32::from(head(bytes)?.kind) {
        events::TS_TURN => Event::Turn(restored(bytes)?),
        events::TS_WAIT => Event::Wait(Box::new(restored(bytes)?)),
        events::TS_RESULT => Event::Result(restored(bytes)?),
        events::TS_QUEUE => Event::Queue(restored(bytes)?),
        events::TS_CALLS => Event::Calls(Box::new(restored(bytes)?)),
        events::TS_OBJECT => Event::Object(Box::new(restored(bytes)?)),
        events::TS_LOOKUP => Event::Lookup(Box::new(restored(bytes)?)),
        events::TS_SITE => Event::Site(restored(bytes)?),
        events::TS_START => Event::Start(restored(bytes)?),
        events::TS_EXEC => Event::Exec(Box::new(restored(bytes)?)),
        events::TS_EXIT => Event::Exit(restored(bytes)?),
        events::TS_END => Event::End(Box::new(restored(bytes)?)),
        events::TS_REQUEST => Event::Request(restored(bytes)?),
        events::TS_SEEN => Event::Seen(Box::new(restored(bytes)?)),
        events::TS_NODE => Event::Node(restored(bytes)?),
        events::TS_TASK => Event::Task(restored(bytes)?),
        events::TS_SIGHT => Event::Sight(restored(bytes)?),
        events::TS_TAG => Event::Tag(restored(bytes)?),
        events::TS_TAG_TEXT => Event::TagText(Box::new(restored(bytes)?)),
        _ => return None,
    })
}

/// The arguments of a program in the event of its start, as the kernel has them: each ends with a zero.
pub fn arguments(exec: &events::ts_exec) -> Vec<u8> {
    let length = (exec.arguments_length as usize).min(exec.arguments.len());
    exec.arguments[..length].iter().map(|&c| c as u8).collect()
}

/// Puts other arguments into such an event; what there is no room for is cut.
pub fn set_arguments(event: &mut [u8], arguments: &[u8]) {
    let at = std::mem::offset_of!(events::ts_exec, arguments);
    let length = arguments.len().min(events::TS_ARGUMENTS as usize);
    let told = std::mem::offset_of!(events::ts_exec, arguments_length);
    if let Some(place) = event.get_mut(at..at + events::TS_ARGUMENTS as usize) {
        place.fill(0);
        place[..length].copy_from_slice(&arguments[..length]);
        event[told..told + 4].copy_from_slice(&(length as u32).to_ne_bytes());
    }
}

/// What stands before the copy in a `ts_stack`, which is sent no longer than the copy is.
const STACK_HEAD: usize = std::mem::offset_of!(events::ts_stack, copy);
/// What is sent of one with neither a copy nor frames in the kernel.
const SHORT_STACK: usize = std::mem::offset_of!(events::ts_stack, frame);

/// A stack as the kernel's side found it.
pub struct CopiedStack<'a> {
    pub head: events::ts_head,
    pub ip: u64,
    pub sp: u64,
    pub bp: u64,
    pub di: u64,
    pub bx: u64,
    /// Of the goroutine whose thread is at work on its own stack; 0: there is none.
    pub left_ip: u64,
    pub left_sp: u64,
    /// Where the second copy is of.
    pub beyond: u64,
    /// A mark of its Python frames; 0 without any.
    pub python: u64,
    /// A mark of the methods in it; 0 if it is none of Java.
    pub java: u64,
    pub about: u32,
    pub pid: u32,
    pub what: u8,
    pub repeated: bool,
    pub user: u8,
    pub frames: u8,
    pub frame: [u64; events::TS_FRAMES as usize],
    /// What lies at `sp`.
    pub copy: &'a [u8],
    /// What lies at `beyond`.
    pub second: &'a [u8],
}

/// Reads a stack; `None` for bytes that are none.
pub fn stack(bytes: &[u8]) -> Option<CopiedStack<'_>> {
    let fixed_length = if bytes.len() == SHORT_STACK {
        SHORT_STACK
    } else {
        STACK_HEAD
    };
    let (fixed, copy) = bytes.split_at_checked(fixed_length)?;
    let word = |at: usize| {
        fixed
            .get(at..at + 8)?
            .try_into()
            .ok()
            .map(u64::from_ne_bytes)
    };
    let half = |at: usize| {
        fixed
            .get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_ne_bytes)
    };
    macro_rules! at {
        ($field:ident) => {
            std::mem::offset_of!(events::ts_stack, $field)
        };
    }
    let frames = (*fixed.get(at!(frames))?).min(events::TS_FRAMES as u8);
    let mut frame = [0; events::TS_FRAMES as usize];
    for (i, slot) in frame.iter_mut().enumerate().take(usize::from(frames)) {
        *slot = word(at!(frame) + 8 * i)?;
    }
    let length = half(at!(length))? as usize;
    let second_length = half(at!(beyond_length))? as usize;
    let (copy, second) = copy.split_at_checked(length)?;
    Some(CopiedStack {
        head: head(bytes)?,
        ip: word(at!(ip))?,
        sp: word(at!(sp))?,
        bp: word(at!(bp))?,
        di: word(at!(di))?,
        bx: word(at!(bx))?,
        left_ip: word(at!(left_ip))?,
        left_sp: word(at!(left_sp))?,
        beyond: word(at!(beyond))?,
        python: word(at!(python))?,
        java: word(at!(java))?,
        about: half(at!(about))?,
        pid: half(at!(pid))?,
        what: *fixed.get(at!(what))?,
        repeated: *fixed.get(at!(repeated))? != 0,
        user: *fixed.get(at!(user))?,
        frames,
        frame,
        copy,
        second: second.get(..second_length)?,
    })
}

/// A place where a goroutine was left.
pub struct LeftPlace {
    pub mark: u64,
    pub pid: u32,
    /// Up to where the goroutine begins.
    pub whole: bool,
    /// Addresses, innermost first. All of these are behind calls.
    pub places: Vec<u64>,
}

/// Reads one; `None` for bytes that are none.
pub fn left_place(bytes: &[u8]) -> Option<LeftPlace> {
    let left: Box<events::ts_left> = Box::new(plain(bytes)?);
    let count = usize::from(left.count);
    Some(LeftPlace {
        mark: left.mark,
        pid: left.pid,
        whole: left.whole != 0,
        places: left.place.iter().copied().take(count).collect(),
    })
}

/// What an interpreter lists itself of the stack that comes after it.
pub struct InterpreterFrames {
    pub head: events::ts_head,
    pub what: u8,
    /// There are more.
    pub cut: bool,
    /// Innermost first.
    pub frames: Vec<events::ts_interpreter_frame>,
}

/// Reads an interpreter's frames; `None` for bytes that are none.
pub fn interpreter_frames(bytes: &[u8]) -> Option<InterpreterFrames> {
    type Frames = events::ts_frames;
    let count = bytes.get(std::mem::offset_of!(Frames, count)..)?;
    let count = u16::from_ne_bytes(*count.first_chunk()?);
    let frames = bytes.get(std::mem::offset_of!(Frames, frame)..)?;
    let frames = frames.chunks_exact(std::mem::size_of::<events::ts_interpreter_frame>());
    Some(InterpreterFrames {
        head: head(bytes)?,
        what: *bytes.get(std::mem::offset_of!(Frames, what))?,
        cut: *bytes.get(std::mem::offset_of!(Frames, cut))? != 0,
        frames: frames.take(usize::from(count)).filter_map(plain).collect(),
    })
}

/// A function of PHP, Ruby or Perl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToldName {
    pub id: u64,
    /// Whose interpreter it is, as the probes number them.
    pub language: u32,
    /// Perl's and Ruby's, for what has no name.
    pub kind: u32,
    /// The class or package that it belongs to; empty: to none.
    pub owner: String,
    pub name: String,
    pub file: String,
}

/// Reads what a function is called; `None` for bytes that are none.
pub fn name(bytes: &[u8]) -> Option<ToldName> {
    let told = plain::<events::ts_function>(bytes)?;
    Some(ToldName {
        id: told.id,
        language: told.language,
        kind: told.kind,
        owner: whole(&told.owner),
        name: whole(&told.name),
        file: whole(&told.file),
    })
}

/// Where a bash is in its scripts, at the stack that comes after it.
#[derive(Default)]
pub struct ToldScript {
    pub thread: u32,
    pub t: u64,
    pub what: u8,
    /// There are more frames.
    pub cut: bool,
    /// Of what is being expanded, or read.
    pub line: u32,
    /// Of the last simple command.
    pub simple_line: u32,
    /// Which trap is being executed, 0: none.
    pub trap: u32,
    /// How the text of the last command begins.
    pub command: String,
    /// Innermost first.
    pub frames: Vec<ScriptFrame>,
}

/// A function that a bash is in, or its script itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptFrame {
    pub function: String,
    pub file: String,
    /// Where it was called, in the file of the next; 0: not known.
    pub called_at: u32,
}

/// Reads what is told of a script; `None` for bytes that are none.
pub fn script(bytes: &[u8]) -> Option<ToldScript> {
    type Told = events::ts_script;
    let number = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let count = bytes.get(std::mem::offset_of!(Told, count)..)?;
    let count = u16::from_ne_bytes(*count.first_chunk()?);
    let command = bytes.get(std::mem::offset_of!(Told, command)..)?;
    let frames = bytes.get(std::mem::offset_of!(Told, frame)..)?;
    let frames = frames.chunks_exact(std::mem::size_of::<events::ts_bash_frame>());
    let head = head(bytes)?;
    Some(ToldScript {
        thread: head.thread,
        t: head.t,
        what: *bytes.get(std::mem::offset_of!(Told, what))?,
        cut: *bytes.get(std::mem::offset_of!(Told, cut))? != 0,
        line: number(std::mem::offset_of!(Told, line))?,
        simple_line: number(std::mem::offset_of!(Told, simple_line))?,
        trap: number(std::mem::offset_of!(Told, trap))?,
        command: String::from_utf8_lossy(command.first_chunk::<8>()?).into_owned(),
        frames: frames
            .take(usize::from(count))
            .filter_map(plain::<events::ts_bash_frame>)
            .map(|frame| ScriptFrame {
                function: whole(&frame.function),
                file: whole(&frame.file),
                called_at: whole(&frame.line).parse().unwrap_or(0),
            })
            .collect(),
    })
}

/// A text that may have been cut where its room ends, which is said then.
fn whole(bytes: &[std::os::raw::c_char]) -> String {
    let text = text(bytes);
    match text.len() + 1 < bytes.len() {
        true => text,
        false => text + "...",
    }
}

/// A code object of Python.
pub struct ToldCode<'a> {
    pub id: u64,
    pub version: u32,
    pub first_line: u32,
    pub name: String,
    pub file: String,
    pub table: &'a [u8],
}

/// Reads a code object; `None` for bytes that are none.
pub fn code(bytes: &[u8]) -> Option<ToldCode<'_>> {
    type Told = events::ts_code;
    let half = |at: usize| {
        bytes
            .get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_ne_bytes)
    };
    let id = bytes.get(std::mem::offset_of!(Told, id)..)?.first_chunk()?;
    let table = bytes.get(std::mem::offset_of!(Told, table)..)?;
    let text = |at: usize| plain::<events::ts_text>(bytes.get(at..)?).map(|t| letters(&t));
    Some(ToldCode {
        id: u64::from_ne_bytes(*id),
        version: half(std::mem::offset_of!(Told, version))?,
        first_line: half(std::mem::offset_of!(Told, first_line))?,
        name: text(std::mem::offset_of!(Told, name))?,
        file: text(std::mem::offset_of!(Told, file))?,
        table: table.get(..half(std::mem::offset_of!(Told, length))? as usize)?,
    })
}

/// A text of Python: each letter is its number in Unicode, in one, two or four bytes.
fn letters(text: &events::ts_text) -> String {
    let bytes = &text.bytes[..text.bytes.len().min(text.length as usize)];
    let number = |letter: &[u8]| {
        letter
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u32::from(*byte))
    };
    let letter = |letter: &[u8]| char::from_u32(number(letter)).unwrap_or('\u{fffd}');
    match text.wide {
        1 | 2 | 4 => bytes.chunks_exact(text.wide as usize).map(letter).collect(),
        _ => String::new(),
    }
}

/// The turns in a batch of them, each as the event that it would be alone. (What a processor has
/// gathered begins like the batch that it will become.)
pub fn turns(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = plain::<events::ts_turns>(bytes).map_or(0, |batch| batch.count as usize);
    bytes
        .get(std::mem::offset_of!(events::ts_turns, turn)..)
        .unwrap_or_default()
        .chunks_exact(std::mem::size_of::<events::ts_turn>())
        .take(count)
}

/// How many switches a processor has noted, from its `ts_gathered`.
pub fn switches(bytes: &[u8]) -> u64 {
    plain::<events::ts_gathered>(bytes).map_or(0, |g| g.switches)
}

/// A text of fixed room that ends at the first NUL.
pub fn text(bytes: &[std::os::raw::c_char]) -> String {
    let bytes: Vec<u8> = bytes
        .iter()
        .map(|&c| c as u8)
        .take_while(|&c| c != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spool leaves out the zeros at the end of an event, but never its head; read again they are there.
    #[test]
    fn an_event_comes_back_with_its_zeros() {
        let mut seen = events::ts_seen {
            head: events::ts_head {
                kind: events::TS_SEEN as u8,
                thread: 7,
                ..Default::default()
            },
            node: 3,
            frames: 2,
            ..Default::default()
        };
        seen.frame[0] = 0xff00;
        seen.frame[1] = 0x1234;
        let short = without_zeros(seen.as_bytes());
        assert!(short.len() < 48, "{} bytes", short.len());
        match decode(short) {
            Some(Event::Seen(read)) => assert_eq!(read.as_bytes(), seen.as_bytes()),
            _ => panic!("it is none"),
        }
        let empty = events::ts_seen {
            head: seen.head,
            ..Default::default()
        };
        let head = without_zeros(empty.as_bytes());
        assert_eq!(head.len(), size_of::<events::ts_head>());
        assert!(decode(head).is_some() && decode(&head[..8]).is_none());
        assert_eq!(without_zeros(&[5, 0, 0]), [5, 0, 0]);
    }

    /// A stack with neither a copy nor frames in the kernel is sent without room for them.
    #[test]
    fn a_stack_that_is_known_is_short() {
        let mut sent = vec![0; STACK_HEAD];
        sent[0] = events::TS_STACK as u8;
        let at = std::mem::offset_of!(events::ts_stack, pid);
        sent[at] = 9;
        assert_eq!(stack(&sent[..SHORT_STACK]).map(|stack| stack.pid), Some(9));
        sent[std::mem::offset_of!(events::ts_stack, frames)] = 1;
        assert!(stack(&sent[..SHORT_STACK]).is_none());
        assert!(stack(&sent).is_some());
        assert!(stack(&sent[..STACK_HEAD - 1]).is_none());
    }

    /// A place where a goroutine was left has as many callers as it says, and no more than there is room for.
    #[test]
    fn places_have_no_more_callers_than_they_say() {
        let mut left = events::ts_left {
            count: 2,
            whole: 1,
            ..Default::default()
        };
        left.place.fill(9);
        let told = left_place(left.as_bytes()).expect("it is whole");
        assert_eq!((told.places, told.whole), (vec![9, 9], true));
        left.count = u16::MAX;
        let told = left_place(left.as_bytes()).expect("it is whole");
        assert_eq!(told.places.len(), events::TS_LEFT_PLACES as usize);
        assert!(left_place(&left.as_bytes()[..40]).is_none());
    }

    /// Arguments are replaced as a whole; what there is no room for is cut.
    #[test]
    fn arguments_are_replaced() {
        let mut exec = events::ts_exec::default();
        exec.head.kind = events::TS_EXEC as _;
        exec.arguments = [b'x' as _; events::TS_ARGUMENTS as usize];
        exec.arguments_length = events::TS_ARGUMENTS;
        let mut bytes = exec.as_bytes().to_vec();
        for (wanted, kept) in [
            (b"a\0b".to_vec(), 3),
            (vec![b'y'; 1000], events::TS_ARGUMENTS),
        ] {
            set_arguments(&mut bytes, &wanted);
            let exec = plain::<events::ts_exec>(&bytes).expect("an event");
            assert_eq!(arguments(&exec), wanted[..kept as usize]);
        }
        set_arguments(&mut [], b"a");
    }

    /// A batch that was never handed over has no head yet; its turns are there all the same.
    #[test]
    fn what_was_gathered_needs_no_head() {
        let mut gathered = events::ts_gathered::default();
        gathered.event.count = 2;
        gathered.event.turn[1].t_run = 7;
        let runs: Vec<u64> = turns(gathered.as_bytes())
            .filter_map(plain::<events::ts_turn>)
            .map(|turn| turn.t_run)
            .collect();
        assert_eq!(runs, [0, 7]);
    }

    fn text(wide: u32, length: u32, bytes: &[u8]) -> String {
        let mut text = events::ts_text {
            length,
            wide,
            bytes: [b'x'; events::TS_TEXT as usize],
        };
        text.bytes[..bytes.len()].copy_from_slice(bytes);
        letters(&text)
    }

    /// Texts of Python are read whatever the width of their letters, and nonsense is no text.
    #[test]
    fn texts_of_python() {
        assert_eq!(text(1, 3, b"a\xe9c"), "a\u{e9}c");
        assert_eq!(text(2, 4, &[0x42, 0x04, b'b', 0]), "\u{442}b");
        assert_eq!(
            text(4, 8, &[0, 0xf6, 1, 0, 0, 0, 0x11, 0]),
            "\u{1f600}\u{fffd}"
        );
        assert_eq!(text(3, 9, b"abc"), "");
        assert_eq!(text(1, u32::MAX, b"").len(), events::TS_TEXT as usize);
    }

    /// Python frames and code objects that are cut short are none, or fewer.
    #[test]
    fn python_events_that_are_cut() {
        let mut bytes = vec![0; std::mem::size_of::<events::ts_frames>()];
        let count = std::mem::offset_of!(events::ts_frames, count);
        bytes[count..count + 2].copy_from_slice(&u16::MAX.to_ne_bytes());
        let all = events::TS_INTERPRETER_FRAMES as usize;
        assert_eq!(
            interpreter_frames(&bytes).map(|p| p.frames.len()),
            Some(all)
        );
        assert_eq!(
            interpreter_frames(&bytes[..32 + 17]).map(|p| p.frames.len()),
            Some(1)
        );
        assert!((0..32).all(|cut| interpreter_frames(&bytes[..cut]).is_none()));
        let mut bytes = vec![0; std::mem::size_of::<events::ts_code>()];
        assert!(code(&bytes).is_some());
        let length = std::mem::offset_of!(events::ts_code, length);
        bytes[length..length + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(code(&bytes).is_none());
    }

    /// A name of a function that is cut short is none; one that fills its room was longer, and what comes after its end is not part of it.
    #[test]
    fn names_that_are_cut() {
        let mut bytes = vec![0; std::mem::size_of::<events::ts_function>()];
        let owner = std::mem::offset_of!(events::ts_function, owner);
        let name = std::mem::offset_of!(events::ts_function, name);
        bytes[owner..owner + 4].copy_from_slice(b"A\0zz");
        bytes[name..name + 127].fill(b'x');
        let told = super::name(&bytes).expect("a name");
        assert_eq!((told.owner.as_str(), told.file.as_str()), ("A", ""));
        assert_eq!(told.name, "x".repeat(127) + "...");
        assert!((0..bytes.len()).all(|cut| super::name(&bytes[..cut]).is_none()));
    }

    /// What is told of a script may be cut short, too, and a text that fills its room was longer.
    #[test]
    fn scripts_that_are_cut() {
        let mut bytes = vec![0; std::mem::size_of::<events::ts_script>()];
        let count = std::mem::offset_of!(events::ts_script, count);
        bytes[count..count + 2].copy_from_slice(&u16::MAX.to_ne_bytes());
        let first = std::mem::offset_of!(events::ts_script, frame);
        let size = std::mem::size_of::<events::ts_bash_frame>();
        let file = first + std::mem::offset_of!(events::ts_bash_frame, file);
        bytes[first..first + 2].copy_from_slice(b"12");
        bytes[file..first + size - 1].fill(b'x');
        let all = script(&bytes).expect("a script").frames;
        assert_eq!(all.len(), events::TS_BASH_FRAMES as usize);
        assert_eq!(all[0].called_at, 12);
        assert!(all[0].file.ends_with("x..."));
        let two = script(&bytes[..first + 2 * size + 1]).expect("a script");
        assert_eq!(two.frames.len(), 2);
        assert!((0..first).all(|cut| script(&bytes[..cut]).is_none()));
    }

    /// A count beyond what there is, or bytes cut short, give no more turns than there are.
    #[test]
    fn a_false_count_is_not_believed() {
        let batch = events::ts_turns {
            count: u32::MAX,
            ..Default::default()
        };
        let bytes = batch.as_bytes();
        assert_eq!(turns(bytes).count(), events::TS_GATHER as usize);
        assert_eq!(turns(&bytes[..24 + 80]).count(), 0);
    }
}
