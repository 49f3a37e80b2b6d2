//! Clients that write, and remember which writes were acknowledged.
//!
//! 1. Client `c` writes the keys `c-0`, `c-1` and so on in this order, each with its own text as the value.
//! 2. A client of HTTP waits for each reply. A client of Redis's protocol sends [`COMMANDS`] at once.
//! 3. A reply is whole, or the connection ends before its first byte: half a reply fails the test.

use crate::served::Served;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use terrane::Keyspace;

/// Clients of each door.
pub const CLIENTS: usize = 2;
/// Commands that a client of Redis's protocol sends at once.
const COMMANDS: usize = 8;

/// Clients under way.
pub struct Load {
    state: Arc<State>,
    clients: Vec<JoinHandle<()>>,
}

/// Writes of all clients: first those of HTTP, then those of Redis's protocol.
pub struct State {
    is_stopped: AtomicBool,
    /// Whether each write asks for a sync, or is followed by a request for one.
    asks_for_sync: bool,
    /// Numbers of the acknowledged writes of each client.
    acknowledged: [Mutex<Vec<usize>>; 2 * CLIENTS],
    /// Number of writes that each client has sent.
    pub sent: [AtomicUsize; 2 * CLIENTS],
    /// Words of all refusals.
    refusals: Mutex<BTreeSet<String>>,
}

impl Load {
    pub fn start(served: &Served) -> Self {
        Load::with(served, false, None)
    }

    /// Starts clients with a token that ask for syncs if `asks_for_sync`.
    pub fn with(served: &Served, asks_for_sync: bool, token: Option<&'static str>) -> Self {
        let state = Arc::new(State {
            is_stopped: AtomicBool::new(false),
            asks_for_sync,
            acknowledged: Default::default(),
            sent: Default::default(),
            refusals: Mutex::default(),
        });
        let client = |number: usize| {
            let (state, http, resp) = (state.clone(), served.http, served.resp);
            thread::spawn(move || match number < CLIENTS {
                true => write_by_http(&state, number, http, token),
                false => write_by_resp(&state, number, resp, token),
            })
        };
        let clients = (0..2 * CLIENTS).map(client).collect();
        Load { state, clients }
    }

    /// Returns the number of acknowledged writes of a client.
    pub fn acknowledged_by(&self, client: usize) -> usize {
        self.state.acknowledged[client].lock().unwrap().len()
    }

    /// Waits until `more` further writes of each client are acknowledged.
    pub fn wait_for(&self, more: usize) {
        let before: Vec<_> = (0..2 * CLIENTS).map(|client| self.acknowledged_by(client)).collect();
        for (client, before) in before.into_iter().enumerate() {
            while self.acknowledged_by(client) < before + more {
                assert!(!self.clients[client].is_finished(), "client {client} ended");
                thread::yield_now();
            }
        }
    }

    /// Waits until both doors have refused a write in these words.
    pub fn wait_for_refusals(&self, words: [&str; 2]) {
        for words in words {
            while !self.refusals().iter().any(|refusal| refusal.contains(words)) {
                thread::yield_now();
            }
        }
    }

    pub fn refusals(&self) -> BTreeSet<String> {
        self.state.refusals.lock().unwrap().clone()
    }

    /// Stops the clients once the replies that they wait for have arrived. Returns their writes.
    pub fn stop(self) -> Arc<State> {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        self.join()
    }

    /// Waits until all clients have ended. Returns their writes.
    pub fn join(self) -> Arc<State> {
        for client in self.clients {
            client.join().unwrap();
        }
        self.state
    }
}

impl State {
    /// Checks that a keyspace has every acknowledged write, and no write that was not sent.
    #[track_caller]
    pub fn check(&self, keyspace: &Keyspace) {
        let found = numbers(keyspace);
        for (client, found) in found.iter().enumerate() {
            for number in self.acknowledged[client].lock().unwrap().iter() {
                assert!(found.contains(number), "{client}-{number} is lost");
            }
            let sent = self.sent[client].load(Ordering::Relaxed);
            assert!(found.last().is_none_or(|last| *last < sent), "more than was sent: {found:?}");
        }
    }

    fn acknowledge(&self, client: usize, number: usize) {
        self.acknowledged[client].lock().unwrap().push(number);
    }

    fn refuse(&self, words: &str) {
        self.refusals.lock().unwrap().insert(words.to_owned());
    }
}

/// Returns the numbers of each client's writes that a keyspace has.
#[track_caller]
pub fn numbers(keyspace: &Keyspace) -> [BTreeSet<usize>; 2 * CLIENTS] {
    let mut found: [BTreeSet<usize>; 2 * CLIENTS] = Default::default();
    for row in keyspace.scan(..).unwrap() {
        let (key, value) = row.unwrap();
        assert_eq!(key, value);
        let key = String::from_utf8(key).unwrap();
        let (client, number) = key.split_once('-').unwrap();
        found[client.parse::<usize>().unwrap()].insert(number.parse().unwrap());
    }
    found
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}

fn write_by_http(state: &State, client: usize, address: SocketAddr, token: Option<&str>) {
    let mut stream = connect(address);
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let sync = if state.asks_for_sync { "?durability=sync" } else { "" };
    for number in 0.. {
        if state.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        let key = format!("{client}-{number}");
        let head = format!("PUT /v1/default/keys/{key}{sync} HTTP/1.1\r\nHost: localhost\r\n");
        let request = format!("{head}{token}Content-Length: {}\r\n\r\n{key}", key.len());
        state.sent[client].fetch_add(1, Ordering::Relaxed);
        if stream.get_mut().write_all(request.as_bytes()).is_err() {
            return;
        }
        let Some(reply) = http_reply(&mut stream) else { return };
        match reply.starts_with("HTTP/1.1 204 ") {
            true => state.acknowledge(client, number),
            false => state.refuse(&reply),
        }
    }
}

/// Reads a reply; `None` if the connection ends before it.
fn http_reply(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut reply = String::new();
    while !reply.ends_with("\r\n\r\n") {
        match stream.read_line(&mut reply) {
            Ok(1..) => {}
            // A reset is an end as well.
            _ if reply.is_empty() => return None,
            ended => panic!("half a reply, {ended:?}: {reply:?}"),
        }
    }
    let length = reply.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).expect("the body of a reply");
    Some(reply + &String::from_utf8(body).unwrap())
}

fn write_by_resp(state: &State, client: usize, address: SocketAddr, token: Option<&str>) {
    let mut stream = connect(address);
    if let Some(token) = token {
        stream.get_mut().write_all(format!("AUTH {token}\r\n").as_bytes()).unwrap();
        assert_eq!(line(&mut stream).as_deref(), Some("+OK\r\n"));
    }
    for first in (0..).step_by(COMMANDS) {
        if state.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        let numbers = first..first + COMMANDS;
        let set = |number| format!("SET {client}-{number} {client}-{number}\r\n");
        let mut commands: String = numbers.clone().map(set).collect();
        if state.asks_for_sync {
            commands += "WAITAOF 1 0 0\r\n";
        }
        state.sent[client].fetch_add(COMMANDS, Ordering::Relaxed);
        if stream.get_mut().write_all(commands.as_bytes()).is_err() {
            return;
        }
        let mut written = Vec::new();
        for number in numbers {
            let Some(reply) = line(&mut stream) else { return };
            match reply.as_str() {
                "+OK\r\n" if state.asks_for_sync => written.push(number),
                "+OK\r\n" => state.acknowledge(client, number),
                refusal => state.refuse(refusal),
            }
        }
        if state.asks_for_sync {
            match line(&mut stream).as_deref() {
                None => return,
                Some("*2\r\n") => {
                    if line(&mut stream).and(line(&mut stream)).is_none() {
                        return;
                    }
                    written.into_iter().for_each(|number| state.acknowledge(client, number));
                }
                Some(refusal) => state.refuse(refusal),
            }
        }
    }
}

/// Reads a line; `None` if the connection ends before it.
pub fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line);
    match line.as_str() {
        "" => None,
        line if line.ends_with("\r\n") => Some(line.to_owned()),
        half => panic!("half a reply, {read:?}: {half:?}"),
    }
}
