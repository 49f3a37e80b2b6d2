//! A server that is killed or terminated while clients of both doors write: every acknowledged write is there, and none
//! by half.

use crate::place::Place;
use crate::serve::Served;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Clients of each door.
const CLIENTS: usize = 2;
/// Writes that are acknowledged before the server is killed.
const WRITES: usize = 200;

#[test]
fn a_killed_server_keeps_whole_what_it_acknowledged() {
    let rounds = if std::env::var_os("TERRANE_FULL").is_some() { 50 } else { 3 };
    let place = Place::new();
    for round in 0..rounds {
        let durability = ["buffered", "sync"][round % 2];
        let mut served = Served::start(&place, &["--durability", durability]);
        let acknowledged = write_until(&mut served, round, Served::kill);
        check(&place, &acknowledged);
    }
}

#[test]
#[cfg(unix)]
fn a_terminated_server_keeps_whole_what_it_acknowledged() {
    let rounds = if std::env::var_os("TERRANE_FULL").is_some() { 50 } else { 3 };
    let place = Place::new();
    for round in 0..rounds {
        let durability = ["buffered", "sync"][round % 2];
        let mut served = Served::start(&place, &["--durability", durability]);
        let acknowledged = write_until(&mut served, round, |served| {
            served.signal(rustix::process::Signal::TERM);
            assert_eq!(served.code(), Some(0));
        });
        check(&place, &acknowledged);
    }
}

/// Checks that a store has all pairs that were acknowledged, and no half of one.
fn check(place: &Place, acknowledged: &[String]) {
    let served = Served::start(place, &[]);
    let found = keys(&served);
    for pair in acknowledged {
        for half in ["a", "b"] {
            assert!(found.contains(&format!("{pair}-{half}")), "{pair}-{half} is lost");
        }
    }
    let halves = |half| {
        let of = |key: &String| key.strip_suffix(half).map(str::to_owned);
        found.iter().filter_map(of).collect::<BTreeSet<_>>()
    };
    assert_eq!(halves("-a"), halves("-b"));
}

/// Writes pairs of keys through both doors until `end` ends the server. Returns those that were acknowledged.
fn write_until(served: &mut Served, round: usize, end: impl FnOnce(&mut Served)) -> Vec<String> {
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS * 2)
            .map(|client| {
                let address = if client < CLIENTS { &served.http } else { &served.resp };
                let write = if client < CLIENTS { batch } else { exec };
                let (address, count) = (address.clone(), &count);
                scope.spawn(move || {
                    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                    let mut acknowledged = Vec::new();
                    loop {
                        let pair = format!("{round}-{client}-{}", acknowledged.len());
                        if write(&mut stream, &pair).is_none() {
                            return acknowledged;
                        }
                        acknowledged.push(pair);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        while count.load(Ordering::Relaxed) < WRITES {
            std::thread::yield_now();
        }
        end(served);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// Writes a pair by one batch of HTTP; `None` if the connection ends before the answer.
fn batch(stream: &mut BufReader<TcpStream>, pair: &str) -> Option<()> {
    let put = |half: &str| format!(r#"{{"op":"put","key":"{pair}-{half}","value":"1"}}"#);
    let body = format!(r#"{{"do":[{},{}]}}"#, put("a"), put("b"));
    let head =
        format!("POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}", body.len());
    stream.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).ok()?;
    let mut reply = String::new();
    // The body is a line.
    while !reply.ends_with("}\n") {
        if !stream.read_line(&mut reply).is_ok_and(|read| read > 0) {
            assert_eq!(reply, "", "half a reply");
            return None;
        }
    }
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    Some(())
}

/// Writes a pair by one transaction of Redis's protocol; `None` if the connection ends before the reply.
fn exec(stream: &mut BufReader<TcpStream>, pair: &str) -> Option<()> {
    let commands = format!("MULTI\r\nSET {pair}-a 1\r\nSET {pair}-b 1\r\nEXEC\r\n");
    stream.get_mut().write_all(commands.as_bytes()).ok()?;
    let expected = "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n+OK\r\n";
    let mut reply = Vec::new();
    let read = stream.take(expected.len() as u64).read_to_end(&mut reply);
    let reply = String::from_utf8(reply).unwrap();
    if reply.len() < expected.len() {
        // The replies of a transaction may be in two pieces, each of whole ones.
        assert!(reply.is_empty() || reply.ends_with("\r\n"), "half a reply, {read:?}: {reply}");
        return None;
    }
    assert_eq!(reply, expected);
    Some(())
}

/// The keys of the default keyspace.
fn keys(served: &Served) -> BTreeSet<String> {
    let rows = served.request("GET /v1/default/range?keys-only", "", "");
    assert!(rows.contains("{\"end\":true}\n"), "{rows}");
    let key = |line: &str| Some(line.strip_prefix("{\"key\":\"")?.strip_suffix("\"}")?.to_owned());
    rows.lines().filter_map(key).collect()
}
