//! Memory of requests and replies: a command that finds too little is refused, and has no effect.

use crate::client::{encode, pipeline};
use crate::served::Served;
use std::thread;
use std::time::Duration;

const NO_MEMORY: &str = "-OOM command not allowed: the memory for requests and replies is in use";

#[test]
fn a_reply_without_memory_is_refused_and_its_command_undone() {
    let served = Served::with(|config| config.buffer_bytes = 4 << 20);
    let mut client = served.connect();
    client.run_bytes(&[b"SET", b"long", &vec![b'x'; 3 << 20]]);
    client.check(&[("SET short 1", "OK")]);
    let held = served.shared.limits.hold(2 << 20);
    for command in ["GET long", "GETDEL long", "GETEX long PX 1", "GETSET long 1", "MGET long"] {
        assert_eq!(client.run(command), NO_MEMORY, "{command}");
    }
    client.check(&[("MULTI", "OK"), ("DEL short", "QUEUED"), ("GET long", "QUEUED")]);
    client.check(&[("EXEC", NO_MEMORY), ("GET short", "\"1\""), ("TTL long", ":-1")]);
    drop(held);
    assert_eq!(client.run("GETDEL long").len(), (3 << 20) + 2);
    client.check(&[("GET long", "nil")]);
    assert_eq!(served.shared.limits.held_bytes(), 0);
}

#[test]
fn replies_that_nobody_reads_take_memory_once() {
    let served = Served::with(|config| config.buffer_bytes = 32 << 20);
    served.connect().run_bytes(&[b"SET", b"long", &vec![b'x'; 16 << 20]]);
    let mut silent = served.connect();
    silent.send(&pipeline(&["GET long"; 10]));
    while served.shared.limits.held_bytes() < 15 << 20 {
        thread::sleep(Duration::from_millis(1));
    }
    // One reply is being sent; the other requests wait.
    assert!(served.shared.limits.held_bytes() <= 16 << 20);
    drop(silent);
    while served.shared.limits.held_bytes() > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn queued_commands_and_watched_keys_take_memory() {
    let served = Served::with(|config| config.buffer_bytes = 1 << 20);
    let mut client = served.connect();
    client.check(&[("MULTI", "OK")]);
    let queued = (0..).take_while(|_| client.run("PING") == "QUEUED").count();
    assert!((1000..20_000).contains(&queued), "{queued}");
    client.check(&[("EXEC", "-EXECABORT Transaction discarded because of previous errors.")]);
    let watched = (0..).take_while(|n| client.run(&format!("WATCH {n}")) == "OK").count();
    assert!((1000..20_000).contains(&watched), "{watched}");
    client.check(&[("UNWATCH", "OK"), ("WATCH a", "OK")]);
    assert_eq!(served.shared.limits.held_bytes(), 0);
}

#[test]
fn many_keys_are_watched_at_once() {
    let served = Served::start();
    let mut client = served.connect();
    let names: Vec<String> = (0..30_000).map(|n| format!("key:{n}")).collect();
    let mut watch: Vec<&[u8]> = vec![b"WATCH"];
    watch.extend(names.iter().map(String::as_bytes));
    assert_eq!(client.run_bytes(&watch), "OK");
    served.connect().check(&[("SET key:29999 1", "OK")]);
    client.check(&[("MULTI", "OK"), ("SET a 1", "QUEUED"), ("EXEC", "nil")]);
}

#[test]
fn short_arguments_take_the_memory_of_their_spans() {
    let served = Served::with(|config| config.buffer_bytes = 4 << 20);
    let mut client = served.connect();
    client.send(b"*1000000\r\n$3\r\nDEL\r\n");
    client.send(&b"$0\r\n\r\n".repeat(100_000));
    while served.shared.limits.held_bytes() < 2_000_000 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_long_request_that_stops_is_refused() {
    let served = Served::with(|config| config.pace_span = Duration::from_millis(50));
    let mut client = served.connect();
    let whole = encode(&[b"SET", b"a", &[7; 100_000]]);
    client.send(&whole[..90_000]);
    let refused = "-ERR the request arrives too slowly: expected 1024 bytes a second";
    assert_eq!([client.read(), client.read()], [refused, "closed"]);
    // A short request may be slow, since it holds no memory.
    let mut client = served.connect();
    let (first, rest) = whole.split_at(1000);
    client.send(first);
    thread::sleep(Duration::from_millis(100));
    client.send(rest);
    assert_eq!(client.read(), "OK");
    assert_eq!(served.shared.limits.held_bytes(), 0);
}
