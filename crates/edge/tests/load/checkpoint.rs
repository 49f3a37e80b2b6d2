//! Checkpoints under load: each is the store at one moment.

use crate::served::Served;
use crate::writers::{CLIENTS, Load, numbers};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terrane::{Db, Options};

fn checkpoint(served: &Served, name: &str) {
    let mut stream = TcpStream::connect(served.http).unwrap();
    let head = "Host: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    write!(stream, "POST /v1/checkpoint?name={name} HTTP/1.1\r\n{head}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
}

#[test]
fn a_checkpoint_under_load_is_a_prefix_of_each_client() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let copies = dir.path().to_owned();
    let served = Served::on(dir.clone(), |config| config.checkpoints = Some(copies));
    let load = Load::start(&served);
    let mut least = Vec::new();
    for copy in 0..3 {
        load.wait_for(50);
        least.push([0; 2 * CLIENTS].map(|_: usize| 0));
        for (client, least) in least[copy].iter_mut().enumerate() {
            *least = load.acknowledged_by(client);
        }
        checkpoint(&served, &format!("copy-{copy}"));
    }
    let written = load.stop();
    for (copy, least) in least.iter().enumerate() {
        let db = Db::open(dir.path().join(format!("copy-{copy}")), Options::default()).unwrap();
        for (client, found) in numbers(&db.default_keyspace()).iter().enumerate() {
            let count = found.len();
            assert!(found.iter().copied().eq(0..count), "client {client} has gaps: {found:?}");
            let sent = written.sent[client].load(Ordering::Relaxed);
            assert!((least[client]..=sent).contains(&count), "{count} of {sent}, {least:?}");
        }
    }
    written.check(served.shared.db.default_keyspace().inner());
}
