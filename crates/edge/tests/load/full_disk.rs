//! A disk that is full for a while: writes are refused in each door's words, and reads are served. Writes succeed again
//! once there is space.

use crate::power_cut::open;
use crate::served::Served;
use crate::writers::Load;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use terrane::storage::vfs::fault::Fault;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};

/// Sends bytes, and returns what arrives until the connection ends.
fn exchange(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn get(served: &Served, path: &str) -> String {
    let close = "Host: localhost\r\nConnection: close\r\n";
    exchange(served.http, &format!("GET {path} HTTP/1.1\r\n{close}\r\n"))
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_space() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let served = Served::of(Arc::new(tempfile::tempdir().unwrap()), open(&vfs), |_| {});
    let load = Load::start(&served);
    load.wait_for(50);
    assert!(get(&served, "/health/ready").starts_with("HTTP/1.1 200"));
    vfs.set_capacity(0, Fault::NoSpace);
    load.wait_for_refusals(["HTTP/1.1 507", "-MISCONF"]);
    assert!(get(&served, "/v1/default/keys/0-0").ends_with("\r\n\r\n0-0"));
    assert_eq!(exchange(served.resp, "GET 2-0\r\nQUIT\r\n"), "$3\r\n2-0\r\n+OK\r\n");
    assert!(get(&served, "/health/ready").starts_with("HTTP/1.1 503"));
    vfs.heal();
    load.wait_for(50);
    let is_expected = |refusal: &String| refusal.contains("no space left");
    assert!(load.refusals().iter().all(is_expected), "{:?}", load.refusals());
    let written = load.stop();
    written.check(served.shared.db.default_keyspace().inner());
    drop(served);
    written.check(&open(&vfs).default_keyspace());
}
