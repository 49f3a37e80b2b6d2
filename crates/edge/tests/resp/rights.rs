//! Tokens and what they allow.

use crate::client::Client;
use crate::served::Served;
use std::sync::Arc;

const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
const WRITER: &str = "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5";
const ADMIN: &str = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918";

/// Starts a server with the tokens `reader`, `writer` and `admin`.
fn served() -> Served {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let tokens = dir.path().join("tokens");
    let lines = [
        format!("r {READER} read default\n"),
        format!("w {WRITER} write default own:\n"),
        format!("a {ADMIN} admin *\n"),
    ];
    std::fs::write(&tokens, lines.concat()).unwrap();
    Served::on(dir, |config| config.tokens = Some(tokens))
}

fn authenticated(served: &Served, token: &str) -> Client {
    let mut client = served.connect();
    client.check(&[(&format!("AUTH {token}"), "OK")]);
    client
}

#[test]
fn without_a_token_little_is_allowed() {
    let served = served();
    let mut client = served.connect();
    client.check(&[
        ("PING", "PONG"),
        ("GET a", "-NOAUTH Authentication required."),
        ("MULTI", "-NOAUTH Authentication required."),
        ("AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled."),
        ("AUTH w reader", "-WRONGPASS invalid username-password pair or user is disabled."),
        ("AUTH r reader", "OK"),
        ("GET a", "nil"),
    ]);
    let mut client = served.connect();
    assert!(client.run("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    assert!(client.run("HELLO 3 AUTH default reader").contains("\"proto\" :3"));
    client.check(&[("GET a", "nil")]);
    let mut client = served.connect();
    client.send(b"*11\r\n");
    assert_eq!(client.read(), "-ERR Protocol error: unauthenticated multibulk length");
    let mut client = served.connect();
    client.send(b"*2\r\n$4\r\nAUTH\r\n$20000\r\n");
    assert_eq!(client.read(), "-ERR Protocol error: unauthenticated bulk length");
}

#[test]
fn a_token_keeps_to_its_role_and_its_keys() {
    let served = served();
    let no_key = "-NOPERM this user has no permissions to access one of the keys used as arguments";
    authenticated(&served, "reader").check(&[
        ("GET a", "nil"),
        ("KEYS *", "[]"),
        ("SET a 1", "-NOPERM this user has no permissions to run the 'set' command"),
        ("SHUTDOWN", "-NOPERM this user has no permissions to run the 'shutdown' command"),
        ("SELECT 1", "OK"),
        (
            "DBSIZE",
            "-NOPERM this user has no permissions to access one of the keys used as arguments",
        ),
    ]);
    authenticated(&served, "writer").check(&[
        ("SET own:a 1", "OK"),
        ("SET a 1", no_key),
        ("GET a", no_key),
        ("MGET own:a a", no_key),
        ("COPY own:a own:b", ":1"),
        ("COPY own:a own:b DB 1", no_key),
        ("MOVE own:a 1", no_key),
        ("KEYS own:*", "[\"own:a\" \"own:b\"]"),
        ("KEYS *", no_key),
        ("SCAN 0", no_key),
        ("DBSIZE", no_key),
        ("FLUSHDB", no_key),
        ("FLUSHALL", no_key),
        ("TERRANE.RANGE - +", no_key),
        ("TERRANE.RANGE [own:a [own:z", "[\"own:a\" \"own:b\"]"),
        ("TERRANE.DELRANGE - +", no_key),
        ("MULTI", "OK"),
        ("SET a 1", no_key),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
    ]);
    authenticated(&served, "admin").check(&[
        ("SELECT 1", "OK"),
        ("SET a 1", "OK"),
        ("FLUSHALL", "OK"),
    ]);
}

#[test]
fn rights_are_those_of_the_database_at_exec() {
    let served = served();
    let mut client = authenticated(&served, "writer");
    let no_key = "-NOPERM this user has no permissions to access one of the keys used as arguments";
    client.check(&[
        ("MULTI", "OK"),
        ("SET own:a 1", "QUEUED"),
        ("SELECT 1", "QUEUED"),
        ("SET own:a 1", no_key),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
    ]);
}

#[test]
fn info_lists_databases_that_the_token_may_read() {
    let served = served();
    let mut admin = authenticated(&served, "admin");
    admin.check(&[("SET a 1", "OK"), ("SELECT 1", "OK"), ("SET a 1", "OK")]);
    let listed = |client: &mut Client| {
        let text = client.run("INFO keyspace");
        ["db0:keys=1", "db1:keys=1"].map(|line| text.contains(line))
    };
    assert_eq!(listed(&mut admin), [true, true]);
    assert_eq!(listed(&mut authenticated(&served, "reader")), [true, false]);
    // It may read some keys of database 0, and not how many there are.
    assert_eq!(listed(&mut authenticated(&served, "writer")), [false, false]);
}

#[test]
fn a_token_that_only_reads_syncs_nothing() {
    let served = served();
    authenticated(&served, "reader").check(&[
        ("SAVE", "-NOPERM this user has no permissions to run the 'save' command"),
        ("BGSAVE", "-NOPERM this user has no permissions to run the 'bgsave' command"),
    ]);
    authenticated(&served, "writer")
        .check(&[("SAVE", "OK"), ("BGSAVE", "Background saving started")]);
}
