//! MULTI, EXEC and WATCH.

use crate::client::pipeline;
use crate::served::Served;

#[test]
fn commands_of_a_transaction_reply_together() {
    let served = Served::start();
    served.connect().check(&[
        ("MULTI", "OK"),
        ("SET a 1", "QUEUED"),
        ("INCR a", "QUEUED"),
        ("PING", "QUEUED"),
        ("SELECT 2", "QUEUED"),
        ("SET a two", "QUEUED"),
        ("INCR a", "QUEUED"),
        ("GET a", "QUEUED"),
        ("KEYS *", "QUEUED"),
        ("EXEC", "[OK :2 PONG OK OK -ERR value is not an integer or out of range \"two\" [\"a\"]]"),
        ("GET a", "\"two\""),
        ("SELECT 0", "OK"),
        ("GET a", "\"2\""),
    ]);
}

#[test]
fn a_transaction_with_a_refused_command_writes_nothing() {
    let served = Served::start();
    served.connect().check(&[
        ("MULTI", "OK"),
        ("SET a 1", "QUEUED"),
        ("NOSUCH x", "-ERR unknown command 'NOSUCH', with args beginning with: 'x' "),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("GET a", "nil"),
        ("MULTI", "OK"),
        ("GET", "-ERR wrong number of arguments for 'get' command"),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("MULTI", "OK"),
        ("SAVE", "-ERR Command not allowed inside a transaction"),
        ("DISCARD", "OK"),
        ("EXEC", "-ERR EXEC without MULTI"),
        ("DISCARD", "-ERR DISCARD without MULTI"),
        ("MULTI", "OK"),
        ("MULTI", "-ERR MULTI calls can not be nested"),
        ("WATCH a", "-ERR WATCH inside MULTI is not allowed"),
        ("EXEC", "[]"),
    ]);
}

#[test]
fn a_watched_key_that_was_set_and_removed_has_changed() {
    let served = Served::start();
    let (mut client, mut other) = (served.connect(), served.connect());
    for (changes, executed) in [(&["SET a 1", "DEL a"][..], "nil"), (&[], "[OK]")] {
        client.run("WATCH a");
        changes.iter().for_each(|change| drop(other.run(change)));
        client.check(&[("MULTI", "OK"), ("SET b mine", "QUEUED"), ("EXEC", executed)]);
    }
}

#[test]
fn a_change_of_a_watched_key_fails_the_transaction() {
    let served = Served::start();
    let (mut client, mut other) = (served.connect(), served.connect());
    let changes = ["SET a 9", "SET a 1", "DEL a", "EXPIRE a 100", "FLUSHALL", "MSET x 1 a 2"];
    for change in changes {
        client.check(&[("SET a 1", "OK"), ("WATCH a b", "OK"), ("GET a", "\"1\"")]);
        other.run(change);
        client.check(&[("MULTI", "OK"), ("SET a mine", "QUEUED"), ("EXEC", "nil")]);
        assert_ne!(client.run("GET a"), "\"mine\"", "{change}");
    }
    for change in ["SET c 1", "GET a", "DEL b", "PING"] {
        client.check(&[("SET a 1", "OK"), ("WATCH a b", "OK")]);
        other.run(change);
        client.check(&[("MULTI", "OK"), ("SET a mine", "QUEUED"), ("EXEC", "[OK]")]);
    }
    client.check(&[("WATCH a", "OK"), ("UNWATCH", "OK")]);
    other.run("SET a 3");
    client.check(&[("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "[\"3\"]")]);
}

#[test]
fn watched_transfers_of_many_connections_keep_the_sum() {
    let served = Served::start();
    served.connect().run("MSET a 100 b 100");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = served.connect();
                for _ in 0..50 {
                    loop {
                        client.run("WATCH a b");
                        client.send(&pipeline(&["MULTI", "DECR a", "INCR b", "EXEC"]));
                        let replies: Vec<String> = (0..4).map(|_| client.read()).collect();
                        if replies[3] != "nil" {
                            break;
                        }
                    }
                    let both = client.run("MGET a b");
                    let numbers = both.trim_matches(['[', ']']).split(' ');
                    let numbers =
                        numbers.map(|text| text.trim_matches('"').parse::<i64>().unwrap());
                    assert_eq!(numbers.sum::<i64>(), 200);
                }
            });
        }
    });
    served.connect().check(&[("MGET a b", "[\"-100\" \"300\"]")]);
}
