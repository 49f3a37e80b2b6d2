//! Input that is refused.

use crate::client::{Client, encode};
use crate::served::Served;
use std::thread;
use std::time::Duration;

#[test]
fn a_broken_request_is_named_and_closes_the_connection() {
    let served = Served::start();
    let rows: [(&[u8], &str); 7] = [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*2000000\r\n", "invalid multibulk length"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"*1\r\n$-5\r\n", "invalid bulk length"),
        (b"*1\r\n$9999999999\r\n", "invalid bulk length"),
        (b"SET 'a\r\n", "unbalanced quotes in request"),
        (&[b'$'; 70_000], "too big inline request"),
    ];
    for (input, words) in rows {
        let mut client = served.connect();
        client.check(&[("PING", "PONG")]);
        client.send(input);
        assert_eq!(client.read(), format!("-ERR Protocol error: {words}"));
        assert_eq!(client.read(), "closed");
    }
}

#[test]
fn a_request_of_http_is_not_answered() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET a 1\r\n");
    assert_eq!(client.read(), "closed");
    served.connect().check(&[("GET a", "nil")]);
}

#[test]
fn a_key_or_value_over_its_limit_is_refused() {
    let served = Served::start();
    let mut client = served.connect();
    let key = vec![b'k'; 65_536];
    let refused = "-ERR key too long: expected at most 65535 bytes, found 65536";
    assert_eq!(client.run_bytes(&[b"SET", &key, b"v"]), refused);
    assert_eq!(client.run_bytes(&[b"GET", &key]), refused);
    let value = vec![b'v'; (64 << 20) + 1];
    let refused = "-ERR argument too long: expected at most 67108864 bytes, found 67108865";
    assert_eq!(client.run_bytes(&[b"SET", b"a", &value]), refused);
    assert_eq!(client.run_bytes(&[b"SET", b"a", b"kept"]), "OK");
    let rest = &value[5..];
    let refused = "-ERR value too long: expected at most 67108864 bytes, found 67108865";
    assert_eq!(client.run_bytes(&[b"SET", b"b", rest]), "OK");
    assert_eq!(client.run_bytes(&[b"APPEND", b"b", b"12345"]), refused);
    client.check(&[("GET a", "\"kept\""), ("STRLEN b", ":67108860")]);
}

#[test]
fn a_transaction_over_its_limit_writes_nothing() {
    let served = Served::with(|config| config.buffer_bytes = 1 << 30);
    let mut client = served.connect();
    client.run("MULTI");
    let value = vec![b'v'; 60 << 20];
    for _ in 0..4 {
        assert_eq!(client.run_bytes(&[b"SET", b"a", &value]), "QUEUED");
    }
    let refused = client.run_bytes(&[b"SET", b"a", &value]);
    assert!(refused.starts_with("-ERR transaction too long"), "{refused}");
    client.check(&[
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("EXISTS a", ":0"),
    ]);
}

#[test]
fn bytes_that_end_early_are_forgotten() {
    let served = Served::start();
    let mut client = served.connect();
    let whole = encode(&[b"SET", b"a", b"1"]);
    client.send(&whole[..whole.len() - 3]);
    drop(client);
    served.connect().check(&[("GET a", "nil")]);
}

#[test]
fn unknown_commands_and_subcommands_are_named() {
    let served = Served::start();
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - ";
    let refused = format!("{refused}can't set immutable config");
    served.connect().check(&[
        ("CONFIG SET maxmemory 5", refused.as_str()),
        ("LPUSH a 1", "-ERR unknown command 'LPUSH', with args beginning with: 'a' '1' "),
        ("CLIENT NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP."),
        ("PING a b", "-ERR wrong number of arguments for 'ping' command"),
    ]);
}

#[test]
fn requests_take_no_more_memory_than_there_is() {
    const MOST: usize = 4 << 20;
    let served = Served::with(|config| config.buffer_bytes = MOST);
    let begin = |client: &mut Client, bytes: usize| {
        client.send(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3000000\r\n");
        client.send(&vec![b'x'; bytes]);
    };
    let held = || served.shared.limits.held_bytes();
    let (mut first, mut second) = (served.connect(), served.connect());
    begin(&mut first, 2_500_000);
    while held() < 2_400_000 {
        thread::sleep(Duration::from_millis(1));
    }
    // Only the last bytes are too many.
    begin(&mut second, MOST - held() + 20_000);
    assert_eq!(second.read(), "-OOM too many bytes of requests are held");
    first.send(&vec![b'x'; 500_000]);
    first.send(b"\r\n");
    assert_eq!(first.read(), "OK");
    first.check(&[("STRLEN a", ":3000000")]);
}
