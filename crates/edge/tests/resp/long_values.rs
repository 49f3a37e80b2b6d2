//! Updates of long values, which are built before others wait for them.

use crate::client::pipeline;
use crate::served::Served;
use std::thread;
use terrane::Durability;

const LONG: usize = 300 << 10;

#[test]
fn long_values_are_updated_like_short_ones() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let served = Served::with(|config| config.durability = durability);
        let mut client = served.connect();
        let long = vec![b'x'; LONG];
        assert_eq!(client.run_bytes(&[b"SET", b"a", &long, b"NX"]), "OK");
        assert_eq!(client.run_bytes(&[b"SET", b"a", &long, b"NX"]), "nil");
        assert_eq!(client.run_bytes(&[b"SET", b"a", b"z", b"GET", b"IFEQ", b"y"]).len(), LONG + 2);
        client.check(&[
            ("APPEND a yz", &format!(":{}", LONG + 2)),
            ("RENAME a b", "OK"),
            ("COPY b c", ":1"),
            ("COPY b c", ":0"),
            ("SETRANGE c 400000 end", ":400003"),
            ("GETRANGE c 307200 307202", "\"yz\\0\""),
            ("INCR c", "-ERR value is not an integer or out of range"),
            ("GETRANGE b -3 -1", "\"xyz\""),
            ("SETRANGE new 200000 z", ":200001"),
            ("EXISTS a b c", ":2"),
        ]);
        assert_eq!(client.run_bytes(&[b"GETSET", b"b", &long]).len(), LONG + 4);
        client.check(&[("MULTI", "OK"), ("APPEND b yz", "QUEUED"), ("STRLEN b", "QUEUED")]);
        client.check(&[("EXEC", &format!("[:{0} :{0}]", LONG + 2)), ("INCR n", ":1")]);
    }
}

#[test]
fn long_and_short_updates_of_a_pipeline_keep_their_order() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let served = Served::with(|config| config.durability = durability);
        let mut client = served.connect();
        client.run_bytes(&[b"SET", b"a", &[b'x'; LONG]]);
        let commands = [
            "INCR n",
            "APPEND a y",
            "RENAME a b",
            "INCR n",
            "APPEND b z",
            "STRLEN b",
            "RENAME b a",
        ];
        for round in 0..20 {
            client.send(&pipeline(&commands));
            let length = LONG + 2 * round;
            let [one, two] = [length + 1, length + 2].map(|length| format!(":{length}"));
            let counts = [2 * round + 1, 2 * round + 2].map(|count| format!(":{count}"));
            let expected = [&counts[0], &one, "OK", &counts[1], &two, &two, "OK"];
            assert_eq!(expected.map(|_| client.read()), expected);
        }
    }
}

#[test]
fn long_updates_of_many_clients_lose_nothing() {
    let served = Served::start();
    served.connect().run_bytes(&[b"SET", b"a", &[b'x'; LONG]]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = served.connect();
                for _ in 0..25 {
                    client.run("APPEND a y");
                    client.run("INCR n");
                }
            });
        }
    });
    served.connect().check(&[("STRLEN a", &format!(":{}", LONG + 100)), ("GET n", "\"100\"")]);
}
