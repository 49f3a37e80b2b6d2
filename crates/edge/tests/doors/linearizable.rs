//! Checked histories of clients of both doors: one order of all operations explains every reply, and no operation
//! follows another in it that started after its end.

use crate::client::Client;
use crate::history::{Call, is_linearizable};
use crate::map::{Op, Ret};
use crate::peers::{Http, Peer, Resp};
use crate::served::Served;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

/// Clients of each door.
const CLIENTS: usize = 4;
/// Operations of each client in a history.
const OPERATIONS: usize = 5;
/// Keys of a history.
const KEYS: u8 = 2;
/// Values that clients set: few, so that comparing finds them.
const VALUES: i64 = 3;

fn served() -> (Served, SocketAddr) {
    let served = Served::start();
    let resp = served.resp;
    (served, resp)
}

#[test]
fn histories_of_both_doors_are_linearizable() {
    let (served, resp) = served();
    let histories = if std::env::var_os("TERRANE_FULL").is_some() { 5000 } else { 100 };
    let mut peers: Vec<Box<dyn Peer + Send>> = Vec::new();
    for _ in 0..CLIENTS {
        peers.push(Box::new(Http(Client::connect(served.http))));
        peers.push(Box::new(Resp::connect(resp)));
    }
    for history in 0..histories {
        let calls = play(&mut peers, history);
        let lines: Vec<_> = calls.iter().map(ToString::to_string).collect();
        assert!(is_linearizable(&calls), "history {history}:\n{}", lines.join("\n"));
    }
}

/// Runs operations of all clients at once. Returns their calls.
fn play(peers: &mut [Box<dyn Peer + Send>], history: usize) -> Vec<Call> {
    let (calls, clock) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let begin = Barrier::new(peers.len());
    std::thread::scope(|scope| {
        for (client, peer) in peers.iter_mut().enumerate() {
            let (calls, clock, begin) = (&calls, &clock, &begin);
            scope.spawn(move || {
                begin.wait();
                for number in 0..OPERATIONS {
                    let op = operation(history, client, number);
                    let start = clock.fetch_add(1, Ordering::SeqCst);
                    let ret = peer.run(history, &op);
                    let end = clock.fetch_add(1, Ordering::SeqCst);
                    calls.lock().unwrap().push(Call { client, op, ret, start, end });
                }
            });
        }
    });
    calls.into_inner().unwrap()
}

/// Draws the operation of a history, a client and a number.
fn operation(history: usize, client: usize, number: usize) -> Op {
    let mut state = (history * 1000 + client * 50 + number) as u64;
    let mut draw = |below: u64| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    };
    let kind = draw(8);
    let key = u8::try_from(draw(u64::from(KEYS))).unwrap();
    let other = (key + 1) % KEYS;
    let mut value = || i64::try_from(draw(VALUES as u64)).unwrap();
    let (before, after) = (value(), value());
    match kind {
        0 => Op::Get(key),
        1 => Op::Set(key, after),
        2 => Op::Delete(key),
        3 => Op::Increment(key),
        4 => Op::Replace { key, before, after },
        5 => Op::IncrementBoth(key, other),
        6 => Op::ReplaceBoth { keys: [key, other], before, after },
        _ => Op::GetBoth(key, other),
    }
}

#[test]
fn a_transaction_in_two_batches_is_caught() {
    let (served, resp) = served();
    let (mut half, mut reader) = (Resp::connect(resp), Http(Client::connect(served.http)));
    // It claims to increment both keys at once, while a reader sees one of them.
    let first = half.value("INCR 0-0");
    let op = Op::GetBoth(0, 1);
    let ret = reader.run(0, &op);
    let second = half.value("INCR 0-1");
    let both = Ret::Values(vec![first, second, first]);
    let calls = [
        Call { client: 0, op: Op::IncrementBoth(0, 1), ret: both, start: 0, end: 3 },
        Call { client: 1, op, ret, start: 1, end: 2 },
    ];
    assert!(!is_linearizable(&calls));
}
