//! A replica as a process: killed while it follows, served again, and promoted.

use crate::place::Place;
use crate::serve::Served;

/// Rounds of writes, each with the replica killed in it.
const ROUNDS: usize = 5;
/// Writes of a round.
const WRITES: usize = 40;

fn follow(url: &str, place: &Place) -> Served {
    let url = format!("http://{url}");
    let mut command = place.terrane(&["serve", "replica", "--follow", &url]);
    command.args(["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--max-lag", "1h"]);
    Served::run(command)
}

fn rows(served: &Served) -> String {
    let reply = served.request("GET /v1/default/range", "", "");
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Reads the rows of a replica once it has as much as its source.
fn caught_up(source: &Served, replica: &Served) -> String {
    let head = source.request("GET /v1/stats", "", "");
    let sequence = head.lines().find_map(|line| line.strip_prefix("terrane-sequence: ")).unwrap();
    let least = format!("Terrane-Min-Sequence: {sequence}\r\n");
    loop {
        let reply = replica.request("GET /v1/default/range", &least, "");
        if reply.starts_with("HTTP/1.1 200") {
            return reply.split_once("\r\n\r\n").unwrap().1.to_owned();
        }
    }
}

#[test]
fn a_killed_replica_continues_and_can_be_promoted() {
    let place = Place::new();
    let mut source = Served::start(&place, &[]);
    for round in 0..ROUNDS {
        let mut replica = follow(&source.http, &place);
        for write in 0..WRITES {
            let put = format!("PUT /v1/default/keys/{round}-{write}");
            assert!(source.request(&put, "", "value").starts_with("HTTP/1.1 204"));
            if write == round * 8 {
                replica.kill();
            }
        }
        let mut replica = follow(&source.http, &place);
        assert_eq!(caught_up(&source, &replica), rows(&source));
        let refused = replica.request("PUT /v1/default/keys/a", "", "1");
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
        replica.kill();
    }
    let expected = rows(&source);
    source.kill();
    let own = ["serve", "replica", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"];
    place.run(&own).fails(3, &["expected one of its own, found a replica", "--promote"]);
    let promoted = Served::run(place.terrane(&[&own[..], &["--promote"]].concat()));
    assert_eq!(rows(&promoted), expected);
    assert!(promoted.request("PUT /v1/default/keys/a", "", "1").starts_with("HTTP/1.1 204"));
}

#[test]
fn malformed_sources_are_refused() {
    let place = Place::new();
    for url in ["ftp://db:4540", "db", "http://db"] {
        let run = place.run(&["serve", "db", "--follow", url]);
        run.fails(3, &[url, "for example http://10.0.0.7:4540"]);
    }
    let both = place.run(&["serve", "db", "--follow", "http://db:1", "--promote"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
    assert_eq!(place.run(&["serve", "db", "--feed-bytes", "1GB"]).code, Some(2));
}
