//! Requests that arrive together, or in pieces.

use crate::client::{encode, pipeline};
use crate::served::Served;
use terrane::Durability;

const COMMANDS: [&str; 9] =
    ["SET a 1", "GET a", "INCR a", "SET b x", "SET c y", "GET b", "APPEND c z", "GET c", "NOSUCH"];
const REPLIES: [&str; 9] = [
    "OK",
    "\"1\"",
    ":2",
    "OK",
    "OK",
    "\"x\"",
    ":2",
    "\"yz\"",
    "-ERR unknown command 'NOSUCH', with args beginning with: ",
];

#[test]
fn replies_keep_the_order_of_requests() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let served = Served::with(|config| config.durability = durability);
        let mut client = served.connect();
        client.send(&pipeline(&COMMANDS));
        for reply in REPLIES {
            assert_eq!(client.read(), reply);
        }
    }
}

#[test]
fn reads_of_files_keep_the_order_of_requests() {
    let served = Served::start();
    let mut client = served.connect();
    for key in ["a", "b", "c", "d", "e"] {
        client.check(&[(&format!("SET {key} {key}{key}"), "OK")]);
    }
    served.shared.db.inner().flush().unwrap();
    // A store that is opened again has nothing in memory.
    let served = Served::on(served.stop(), |_| {});
    let mut client = served.connect();
    let requests = [
        ("GET a", "\"aa\""),
        ("MGET b nosuch", "[\"bb\" nil]"),
        ("GET", "-ERR wrong number of arguments for 'get' command"),
        ("STRLEN c", ":2"),
        ("SET d new", "OK"),
        ("GET d", "\"new\""),
        ("GET e", "\"ee\""),
        ("GETRANGE e x y", "-ERR value is not an integer or out of range"),
        ("APPEND e z", ":3"),
        ("GET e", "\"eez\""),
        ("CLIENT REPLY SKIP", ""),
        ("GET c", ""),
        ("EXISTS a b c", ":3"),
        ("QUIT", "OK"),
    ];
    client.send(&pipeline(&requests.map(|(request, _)| request)));
    for (request, reply) in requests.iter().filter(|(_, reply)| !reply.is_empty()) {
        assert_eq!(client.read(), *reply, "{request}");
    }
    assert_eq!(client.read(), "closed");
}

#[test]
fn long_values_of_files_are_read_by_a_pipeline() {
    let served = Served::start();
    let mut client = served.connect();
    let value = vec![b'x'; 50_000];
    for key in 0..20 {
        client.run_bytes(&[b"SET", key.to_string().as_bytes(), &value]);
    }
    served.shared.db.inner().flush().unwrap();
    let served = Served::on(served.stop(), |_| {});
    let mut client = served.connect();
    let gets: Vec<_> = (0..20).map(|key| format!("GET {key}")).collect();
    client.send(&pipeline(&gets.iter().map(String::as_str).collect::<Vec<_>>()));
    for _ in gets {
        assert_eq!(client.read().len(), value.len() + 2);
    }
}

#[test]
fn requests_may_arrive_byte_by_byte() {
    let served = Served::start();
    let mut client = served.connect();
    for byte in pipeline(&COMMANDS) {
        client.send(&[byte]);
    }
    for reply in REPLIES {
        assert_eq!(client.read(), reply);
    }
}

#[test]
fn a_long_pipeline_is_answered_while_it_is_sent() {
    let served = Served::start();
    let mut client = served.connect();
    let value = vec![b'x'; 10_000];
    client.run_bytes(&[b"SET", b"long", &value]);
    let gets = pipeline(&["GET long"; 1000]);
    std::thread::scope(|scope| {
        scope.spawn(|| served.connect().check(&[("PING", "PONG")]));
        client.send(&gets);
        for _ in 0..1000 {
            assert_eq!(client.read().len(), value.len() + 2);
        }
    });
}

#[test]
fn a_value_of_megabytes_is_written_and_read() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let served = Served::with(|config| config.durability = durability);
        let mut client = served.connect();
        let value = vec![b'v'; 3 << 20];
        assert_eq!(client.run_bytes(&[b"SET", b"a", &value]), "OK");
        assert_eq!(client.run_bytes(&[b"APPEND", b"a", &value]), format!(":{}", 6 << 20));
        assert_eq!(client.run("GET a").len(), (6 << 20) + 2);
    }
}

#[test]
fn nothing_runs_after_quit() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(&pipeline(&["QUIT", "SET a 1"]));
    assert_eq!([client.read(), client.read()], ["OK", "closed"]);
    served.connect().check(&[("GET a", "nil")]);
}

#[test]
fn replies_can_be_turned_off() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(&pipeline(&["CLIENT REPLY OFF", "SET a 1", "PING", "CLIENT REPLY ON", "GET a"]));
    assert_eq!([client.read(), client.read()], ["OK", "\"1\""]);
    client.send(&pipeline(&["CLIENT REPLY SKIP", "SET a 2", "GET a"]));
    assert_eq!(client.read(), "\"2\"");
}

#[test]
fn inline_commands_are_understood() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(b"SET a \"b\\x63\"\r\nGET a\n");
    client.send(&encode(&[b"PING"]));
    assert_eq!([client.read(), client.read(), client.read()], ["OK", "\"bc\"", "PONG"]);
}
