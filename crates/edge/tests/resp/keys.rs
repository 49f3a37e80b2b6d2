//! Keys, databases, and walks through keys.

use crate::served::Served;
use std::collections::BTreeSet;

#[test]
fn only_a_value_creates_the_keyspace_of_a_database() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("SELECT 3", "OK"),
        ("GET a", "nil"),
        ("MGET a b", "[nil nil]"),
        ("TTL a", ":-2"),
        ("EXISTS a", ":0"),
        ("KEYS *", "[]"),
        ("SCAN 0", "[\"0\" []]"),
        ("DBSIZE", ":0"),
        ("RANDOMKEY", "nil"),
        ("TERRANE.RANGE - +", "[]"),
        ("DEL a", ":0"),
        ("GETDEL a", "nil"),
        ("EXPIRE a 10", ":0"),
        ("SET a 1 XX", "nil"),
        ("RENAME a b", "-ERR no such key"),
        ("COPY a b DB 4", ":0"),
        ("MOVE a 0", ":0"),
        ("TERRANE.DELRANGE - +", "OK"),
        ("FLUSHDB", "OK"),
        ("WATCH a", "OK"),
        ("MULTI", "OK"),
        ("GET a", "QUEUED"),
        ("SELECT 5", "QUEUED"),
        ("DEL a", "QUEUED"),
        ("EXEC", "[nil OK :0]"),
        ("SELECT 0", "OK"),
        ("COPY none a DB 6", ":0"),
        ("MOVE none 6", ":0"),
        ("SET a 1", "OK"),
        ("SELECT 3", "OK"),
        ("FLUSHALL", "OK"),
        ("SELECT 0", "OK"),
        ("GET a", "nil"),
    ]);
    assert_eq!(served.shared.db.inner().keyspaces(), ["default"]);
    client.check(&[
        ("SET a 1", "OK"),
        ("COPY a b DB 6", ":1"),
        ("MOVE a 7", ":1"),
        ("SELECT 8", "OK"),
        ("SET a 1", "OK"),
        ("SELECT 9", "OK"),
        ("INCR a", ":1"),
        ("MULTI", "OK"),
        ("SELECT 10", "QUEUED"),
        ("GET a", "QUEUED"),
        ("INCR a", "QUEUED"),
        ("COPY a b DB 11", "QUEUED"),
        ("EXEC", "[OK nil :1 :1]"),
        ("GET a", "\"1\""),
        ("SELECT 11", "OK"),
        ("GET b", "\"1\""),
        ("SELECT 6", "OK"),
        ("GET b", "\"1\""),
        ("SELECT 7", "OK"),
        ("GET a", "\"1\""),
    ]);
    let created = ["db-10", "db-11", "db-6", "db-7", "db-8", "db-9", "default"];
    let mut found = served.shared.db.inner().keyspaces();
    found.sort();
    assert_eq!(found, created);
}

#[test]
fn the_first_value_of_a_database_ends_a_watch() {
    let served = Served::start();
    let (mut client, mut other) = (served.connect(), served.connect());
    client.check(&[("SELECT 3", "OK"), ("WATCH a", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED")]);
    other.check(&[("SELECT 3", "OK"), ("SET a 1", "OK")]);
    client.check(&[("EXEC", "nil"), ("GET a", "\"1\"")]);
    client.check(&[("SELECT 4", "OK"), ("WATCH a", "OK")]);
    let keyspace = served.shared.db.inner().create_keyspace("db-4").unwrap();
    keyspace.put("a", "1", terrane::Durability::Buffered).unwrap();
    client.check(&[("MULTI", "OK"), ("SET a 2", "QUEUED"), ("EXEC", "nil"), ("GET a", "\"1\"")]);
}

#[test]
fn keys_are_removed_renamed_and_copied() {
    let served = Served::start();
    served.connect().check(&[
        ("MSET a 1 b 2 c 3", "OK"),
        ("EXISTS a b x a", ":3"),
        ("TOUCH a x", ":1"),
        ("TYPE a", "string"),
        ("TYPE x", "none"),
        ("DEL a x", ":1"),
        ("UNLINK b", ":1"),
        ("RENAME x y", "-ERR no such key"),
        ("RENAME c d", "OK"),
        ("RENAMENX d d", ":0"),
        ("GET d", "\"3\""),
        ("COPY d e", ":1"),
        ("COPY d e", ":0"),
        ("COPY d e REPLACE", ":1"),
        ("COPY d d", "-ERR source and destination objects are the same"),
        ("COPY d e DB 16", "-ERR DB index is out of range"),
        ("KEYS *", "[\"d\" \"e\"]"),
    ]);
}

#[test]
fn databases_are_apart() {
    let served = Served::start();
    served.connect().check(&[
        ("SET a 0", "OK"),
        ("SELECT 3", "OK"),
        ("GET a", "nil"),
        ("SET a 3", "OK"),
        ("MOVE a 0", ":0"),
        ("MOVE a 5", ":1"),
        ("EXISTS a", ":0"),
        ("SELECT 5", "OK"),
        ("GET a", "\"3\""),
        ("COPY a b DB 0", ":1"),
        ("FLUSHDB", "OK"),
        ("DBSIZE", ":0"),
        ("SELECT 0", "OK"),
        ("KEYS *", "[\"a\" \"b\"]"),
        ("SELECT 16", "-ERR DB index is out of range"),
        ("SELECT x", "-ERR invalid DB index"),
        ("FLUSHALL ASYNC", "OK"),
        ("DBSIZE", ":0"),
        ("RANDOMKEY", "nil"),
    ]);
}

#[test]
fn flushall_reaches_databases_of_earlier_runs() {
    let served = Served::start();
    served.connect().check(&[("SELECT 7", "OK"), ("SET a 1", "OK")]);
    let served = Served::on(served.stop(), |_| {});
    served.connect().check(&[("FLUSHALL", "OK"), ("SELECT 7", "OK"), ("DBSIZE", ":0")]);
}

#[test]
fn scan_returns_every_key_once() {
    let served = Served::start();
    let mut client = served.connect();
    let keys: BTreeSet<String> = (0..100).map(|n| format!("\"key:{n}\"")).collect();
    for n in 0..100 {
        client.run(&format!("SET key:{n} x"));
    }
    client.run("SET other x");
    let (mut cursor, mut found, mut pages) = ("0".to_owned(), Vec::new(), 0);
    loop {
        let page = client.run(&format!("SCAN {cursor} MATCH key:* COUNT 7"));
        let page = page.trim_matches(['[', ']']).replace(" [", " ");
        let mut words = page.split(' ').filter(|word| !word.is_empty());
        cursor = words.next().unwrap().trim_matches('"').to_owned();
        found.extend(words.map(str::to_owned));
        pages += 1;
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found.len(), 100);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), keys);
    assert_eq!(pages, 15);
    client.check(&[
        ("SCAN 0 TYPE list COUNT 1000", "[\"0\" []]"),
        ("SCAN 0 COUNT 0", "-ERR syntax error"),
        ("SCAN x", "-ERR invalid cursor"),
        ("SCAN 17", "-ERR invalid cursor: this one was forgotten; start again from 0"),
    ]);
}

#[test]
fn patterns_choose_keys() {
    let served = Served::start();
    served.connect().check(&[
        ("MSET user:1 a user:2 b order:1 c", "OK"),
        ("KEYS user:*", "[\"user:1\" \"user:2\"]"),
        ("KEYS *:1", "[\"order:1\" \"user:1\"]"),
        ("KEYS user:[^1]", "[\"user:2\"]"),
    ]);
}

#[test]
fn every_key_can_be_chosen_by_chance() {
    let served = Served::start();
    let mut client = served.connect();
    client.run("MSET a 1 b 2 c 3");
    let mut seen = BTreeSet::new();
    while seen.len() < 3 {
        seen.insert(client.run("RANDOMKEY"));
    }
}

#[test]
fn ranges_are_read_and_removed_in_order() {
    let served = Served::start();
    served.connect().check(&[
        ("MSET a 1 b 2 c 3 d 4", "OK"),
        ("TERRANE.RANGE - +", "[\"a\" \"b\" \"c\" \"d\"]"),
        ("TERRANE.RANGE (a [c WITHVALUES", "[\"b\" \"2\" \"c\" \"3\"]"),
        ("TERRANE.RANGE - + REV LIMIT 2", "[\"d\" \"c\"]"),
        (
            "TERRANE.RANGE - + LIMIT 1000001",
            "-ERR LIMIT too high: expected at most 1000000, found 1000001",
        ),
        ("TERRANE.RANGE a +", "-ERR min or max not valid string range item"),
        ("TERRANE.RANGE - + LIMIT x", "-ERR value is not an integer or out of range"),
        ("TERRANE.DELRANGE [b (d", "OK"),
        ("KEYS *", "[\"a\" \"d\"]"),
    ]);
}
