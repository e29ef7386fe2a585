//! Somebody to ask, outside of the recording: `programs/peer.c`, in a network of its own that a test's program enters.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::{pair_of, program};

/// A peer, and who else serves in its network. All of them end with it.
pub struct Peer {
    child: Child,
    others: Vec<Child>,
}

impl Peer {
    /// One to which the way there and back takes so many milliseconds.
    pub fn at(round_trip_ms: u32) -> Peer {
        let mut child = Command::new(program("peer"))
            .arg(round_trip_ms.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer cannot be started");
        let mut said = String::new();
        if let Some(out) = child.stdout.take() {
            let _ = BufReader::new(out).read_line(&mut said);
        }
        assert_eq!(said, "ready\n", "the peer did not come up");
        Peer {
            child,
            others: Vec::new(),
        }
    }

    /// What a command begins with that runs in the peer's network.
    pub fn entering(&self) -> [String; 2] {
        let network = format!("--net=/proc/{}/ns/net", self.child.id());
        ["nsenter".to_owned(), network]
    }

    /// Another server in the same network.
    pub fn beside(&mut self, command: &[&str]) {
        let [enter, network] = self.entering();
        let other = Command::new(enter)
            .arg(network)
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.others.push(other.expect("it cannot be started"));
    }

    /// Two commands that ask this peer, of which the first has the cause and the second only looks like it.
    #[track_caller]
    pub fn pair_of(&self, rule: &str, command: &[&str]) {
        let [enter, network] = self.entering();
        let whole = |form: &'static str| {
            let mut whole = vec![enter.as_str(), network.as_str()];
            whole.extend(command);
            whole.push(form);
            whole
        };
        pair_of(rule, &[], &whole("fires"), &whole("silent"));
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in self.others.iter_mut().chain([&mut self.child]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program of a rule, with a peer that it takes so many milliseconds to ask something and to be answered.
#[track_caller]
pub fn pair_with_peer(rule: &str, round_trip_ms: u32) {
    let path = program(&format!("rules/{rule}"));
    let path = path.to_str().expect("its path");
    Peer::at(round_trip_ms).pair_of(rule, &[path]);
}
