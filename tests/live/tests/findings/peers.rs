//! Rules about whom a program asks, and how.

use std::process::Command;

use timesink_live::{output, pair, pair_with_peer, root, Folder, Peer};

/// Rows asked for one by one, and all at once.
#[test]
fn round_trips() {
    pair_with_peer("round-trips", 10);
}

/// Many sockets polled for each message, and a few.
#[test]
fn large_poll() {
    pair("large-poll");
}

/// A connection for each question, and one for all.
#[test]
fn connection_per_request() {
    pair_with_peer("connection-per-request", 5);
}

/// Questions in two pieces that are held back, and a peer that takes 42 ms itself.
#[test]
fn delayed_acknowledgement() {
    pair_with_peer("delayed-acknowledgement", 1);
}

/// A peer that closes half a second after its answer, and one that works for half a second.
#[test]
fn keep_alive_wait() {
    pair_with_peer("keep-alive-wait", 1);
}

/// One name looked up for each figure, and a name for each of many peers.
#[test]
fn name_per_request() {
    pair_with_peer("name-per-request", 5);
}

/// A name server that never answers, and time-outs beside one that does.
#[test]
fn dead_name_server() {
    pair_with_peer("dead-name-server", 1);
}

/// Ten slow peers asked one after the other, and one that is asked ten times.
#[test]
fn waits_one_after_another() {
    pair_with_peer("waits-one-after-another", 5);
}

/// Two connections for twelve threads, and a connection for each of twelve that wait for something to do.
#[test]
fn pool_contention() {
    pair_with_peer("pool-contention", 20);
}

/// Two worker threads for the jobs of eight threads, and eight.
#[test]
fn pool_contention_of_workers() {
    let script = root().join("tests/live/programs/rules/pool-contention.py");
    let script = script.to_str().expect("its path");
    Peer::at(20).pair_of("pool-contention", &["/usr/bin/python3", script]);
}

/// Answers that are large, and a peer that works as long.
#[test]
fn large_payload() {
    pair_with_peer("large-payload", 5);
}

/// Questions sent by two bytes, and at once.
#[test]
fn many_small_sends() {
    pair_with_peer("many-small-sends", 1);
}

/// A peer that takes slowly what it is sent, and one that answers late.
#[test]
fn back_pressure() {
    pair_with_peer("back-pressure", 1);
}

/// Connections with handshakes to one peer, and to as many peers.
#[test]
fn tls_per_request() {
    let folder = Folder::new("tls");
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let (key, certificate) = (key.to_str().unwrap(), certificate.to_str().unwrap());
    let mut made = Command::new("openssl");
    made.args([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=peer",
    ]);
    made.args(["-keyout", key, "-out", certificate]);
    output(&mut made).exits(0);
    let mut peer = Peer::at(5);
    peer.beside(&[
        "openssl",
        "s_server",
        "-accept",
        "7443",
        "-rev",
        "-quiet",
        "-key",
        key,
        "-cert",
        certificate,
    ]);
    let program = root().join("tests/live/programs/rules/tls-per-request.py");
    peer.pair_of(
        "tls-per-request",
        &["/usr/bin/python3", program.to_str().unwrap()],
    );
}

/// Responses that a coroutine awaits one after the other, and eight at a time.
#[test]
fn responses_one_by_one() {
    let program = root().join("tests/live/programs/rules/responses-one-by-one.py");
    let command = ["/usr/bin/python3", program.to_str().unwrap()];
    let mut peer = Peer::at(1);
    peer.beside(&[command[0], command[1], "serve"]);
    peer.pair_of("responses-one-by-one", &command);
}

/// Responses that tasks await while they keep a lock, and after they have let go of it.
#[test]
fn task_contention() {
    let program = root().join("tests/live/programs/rules/task-contention.py");
    let command = ["/usr/bin/python3", program.to_str().unwrap()];
    let mut peer = Peer::at(1);
    peer.beside(&[command[0], command[1], "serve"]);
    peer.pair_of("task-contention", &command);
}
