//! The states that a thread, or the path, may be in, each with a number: its place in a list that is always the same.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::path::Unknown;
use timesink_recording::words::{Detail, State};

use crate::model::{StateGroup, StateKind};
use crate::Wording;

const UNKNOWN: [Unknown; 5] = [
    Unknown::Lost,
    Unknown::NoWaker,
    Unknown::Impossible,
    Unknown::Circle,
    Unknown::Unborn,
];
const STATES: [State; 4] = [State::Cpu, State::Ready, State::Wait, State::Lost];

/// The list of states.
pub struct States {
    pub kinds: Vec<StateKind>,
    /// By state and detail.
    numbers: Vec<u32>,
    first_unknown: u32,
    overhead: u32,
}

impl States {
    pub fn new(words: &dyn Wording) -> States {
        let mut states = States {
            kinds: Vec::new(),
            numbers: vec![0; STATES.len() * Detail::ALL.len()],
            first_unknown: 0,
            overhead: 0,
        };
        for state in STATES {
            // What a damaged recording says of a state that it cannot be in is told as the state alone.
            let (account, key) = (account(state), account(state).word());
            let alone = states.push(
                key.to_owned(),
                words.state(account, Kind::Missing),
                state,
                None,
            );
            for &detail in Detail::ALL {
                let number = match (is_of(state, detail), plain(state) == Some(detail)) {
                    (false, _) => alone,
                    (true, true) => {
                        let word = words.state(account, Kind::As(detail));
                        states.kinds[alone as usize].word = word;
                        alone
                    }
                    (true, false) => {
                        let key = format!("{key}.{}", dashed(detail.as_str()));
                        let word = words.state(account, Kind::As(detail));
                        states.push(key, word, state, Some(detail))
                    }
                };
                states.numbers[place(state, detail)] = number;
            }
        }
        states.first_unknown = states.kinds.len() as u32;
        for why in UNKNOWN {
            let key = format!("unknown.{}", dashed(why.word()));
            states.push(key, words.unknown(why), State::Lost, None);
        }
        let word = words.state(Account::Tracer, Kind::Recording);
        states.overhead = states.push("overhead".to_owned(), word, State::Lost, None);
        states.kinds[states.overhead as usize].group = StateGroup::Overhead;
        states
    }

    fn push(&mut self, key: String, word: String, state: State, detail: Option<Detail>) -> u32 {
        let group = group(state, detail);
        self.kinds.push(StateKind { key, word, group });
        self.kinds.len() as u32 - 1
    }

    /// The number of what a thread did.
    pub fn of(&self, state: State, detail: Detail) -> u32 {
        self.numbers[place(state, detail)]
    }

    /// The number of a part of the path that is not known.
    pub fn of_unknown(&self, why: Unknown) -> u32 {
        let at = UNKNOWN.iter().position(|one| *one == why).unwrap_or(0);
        self.first_unknown + at as u32
    }

    /// The number of an account of the ledger.
    pub fn of_account(&self, account: Account) -> u32 {
        match account {
            Account::Cpu => self.of(State::Cpu, Detail::Running),
            // What has no detail.
            Account::Ready => self.of(State::Ready, Detail::Running),
            Account::Wait => self.of(State::Wait, Detail::Running),
            Account::Lost => self.of(State::Lost, Detail::Running),
            Account::Tracer => self.overhead,
        }
    }
}

fn place(state: State, detail: Detail) -> usize {
    state as usize * Detail::ALL.len() + detail as usize
}

fn dashed(word: &str) -> String {
    word.replace([' ', '_'], "-")
}

fn account(state: State) -> Account {
    match state {
        State::Cpu => Account::Cpu,
        State::Ready => Account::Ready,
        State::Wait => Account::Wait,
        State::Lost => Account::Lost,
    }
}

/// The detail that says no more than its state.
fn plain(state: State) -> Option<Detail> {
    match state {
        State::Cpu => Some(Detail::Running),
        State::Lost => Some(Detail::Unknown),
        State::Ready | State::Wait => None,
    }
}

fn is_of(state: State, detail: Detail) -> bool {
    match state {
        State::Cpu => matches!(detail, Detail::Running | Detail::SwitchingIn | Detail::Exit),
        State::Ready => matches!(
            detail,
            Detail::Started | Detail::Woken | Detail::Preempted | Detail::Throttled | Detail::Exit
        ),
        State::Wait => !matches!(
            detail,
            Detail::Running
                | Detail::SwitchingIn
                | Detail::Started
                | Detail::Woken
                | Detail::Preempted
                | Detail::Throttled
                | Detail::Unknown
        ),
        State::Lost => detail == Detail::Unknown,
    }
}

fn group(state: State, detail: Option<Detail>) -> StateGroup {
    match (state, detail) {
        (State::Cpu, _) => StateGroup::Cpu,
        (State::Ready, _) => StateGroup::Runnable,
        (State::Lost, _) => StateGroup::Unknown,
        (State::Wait, Some(detail)) => group_of_wait(detail),
        (State::Wait, None) => StateGroup::Blocked,
    }
}

/// The colour of a wait.
fn group_of_wait(detail: Detail) -> StateGroup {
    match detail {
        Detail::Sleep => StateGroup::Sleeping,
        Detail::DiskRead
        | Detail::DiskWrite
        | Detail::Flush
        | Detail::PageFault
        | Detail::IoUring
        | Detail::Aio => StateGroup::Disk,
        Detail::NetworkReceive
        | Detail::NetworkSend
        | Detail::NetworkConnect
        | Detail::NetworkAccept
        | Detail::UnixReceive
        | Detail::UnixSend
        | Detail::UnixConnect => StateGroup::Network,
        Detail::PipeRead
        | Detail::PipeWrite
        | Detail::Lock
        | Detail::Condition
        | Detail::Join
        | Detail::FileLock
        | Detail::Child
        | Detail::Vfork
        | Detail::Event
        | Detail::Ipc => StateGroup::Threads,
        _ => StateGroup::Blocked,
    }
}
