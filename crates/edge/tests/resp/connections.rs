//! Commands of the connection and the server.

use crate::served::Served;

#[test]
fn hello_chooses_the_protocol() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[("PING hi", "\"hi\""), ("ECHO hi", "\"hi\""), ("CLIENT GETNAME", "nil")]);
    client.send(b"HELLO 3 SETNAME me\r\n");
    let greeting = client.read();
    assert!(greeting.starts_with("[\"server\" \"redis\" \"version\""), "{greeting}");
    assert!(greeting.contains("\"proto\" :3"), "{greeting}");
    client.check(&[
        ("GET a", "nil"),
        ("CLIENT GETNAME", "\"me\""),
        ("HELLO 4", "-NOPROTO unsupported protocol version"),
        ("HELLO x", "-ERR Protocol version is not an integer or out of range"),
        ("RESET", "RESET"),
        ("CLIENT GETNAME", "nil"),
        ("QUIT", "OK"),
    ]);
}

#[test]
fn the_table_of_commands_is_shown() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("COMMAND INFO nosuch", "[nil]"),
        ("COMMAND INFO get", "[[\"get\" :2 [readonly] :1 :1 :1 [] [] [] []]]"),
        ("COMMAND LIST FILTERBY PATTERN mset*", "[\"mset\" \"msetnx\"]"),
        ("COMMAND GETKEYS MSET a 1 b 2", "[\"a\" \"b\"]"),
        ("COMMAND GETKEYS COPY a b DB 3", "[\"a\" \"b\"]"),
        ("COMMAND GETKEYS PING", "-ERR The command has no key arguments"),
    ]);
    let count: usize = client.run("COMMAND COUNT")[1..].parse().unwrap();
    assert_eq!(client.run("COMMAND").matches(" [] [] [] []]").count(), count);
    assert_eq!(client.run("COMMAND DOCS").matches("\"summary\"").count(), count);
}

#[test]
fn the_server_describes_itself() {
    let served = Served::start();
    let mut client = served.connect();
    client.run("SET a 1");
    let info = client.run("INFO");
    for part in ["redis_version:7.0.15", "connected_clients:1", "role:master", "db0:keys=1"] {
        assert!(info.contains(part), "{info}");
    }
    assert!(!client.run("INFO clients").contains("role"));
    client.check(&[
        ("CONFIG GET appendfsync", "[\"appendfsync\" \"everysec\"]"),
        ("CONFIG GET d*s", "[\"databases\" \"16\"]"),
        ("CONFIG SET databases 16", "OK"),
        ("WAIT 0 0", ":0"),
        ("FUNCTION FLUSH", "OK"),
    ]);
    assert!(client.run("CLIENT INFO").contains("db=0"));
    assert!(client.run("TIME").starts_with("[\"1"));
}

#[test]
fn shutdown_drains_the_server() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(b"SET a 1\r\nSHUTDOWN\r\n");
    assert_eq!([client.read(), client.read()], ["OK", "closed"]);
    assert!(served.shared.shutdown.is_cancelled());
}

#[test]
fn what_was_read_is_answered_when_the_server_stops() {
    let served = Served::start();
    let mut idle = served.connect();
    idle.check(&[("SET a 1", "OK")]);
    let dir = served.stop();
    assert_eq!(idle.read(), "closed");
    Served::on(dir, |_| {}).connect().check(&[("GET a", "\"1\"")]);
}
