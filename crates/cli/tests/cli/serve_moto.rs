//! Continuous backup to an S3 server of another make, `moto_server`, which must be installed.

use crate::place::{Place, Run};
use crate::s3::reached_at;
use crate::serve::Served;
use crate::serve_s3::{DOORS, URL, fill, put_replicated, rows};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A running server with a bucket.
struct Moto {
    child: Child,
    address: String,
}

impl Moto {
    fn start() -> Self {
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", "0"]).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("moto_server, of the Python package moto[server]");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("http://")?.1.trim().to_owned()));
        thread::spawn(move || lines.for_each(drop));
        let moto = Moto { child, address: address.expect("an address") };
        let mut stream = TcpStream::connect(&moto.address).unwrap();
        let head = "PUT /bucket HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        write!(stream, "{head}Content-Length: 0\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        moto
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs moto_server"]
fn a_backup_on_moto_is_restored_and_has_one_writer() {
    let (place, moto) = (Place::new(), Moto::start());
    let reached = |args: &[&str]| reached_at(&moto.address, place.terrane(args));
    let serve = |dir| {
        let backup = ["serve", dir, "--backup", URL, "--backup-interval", "10ms"];
        Served::run(reached(&[&backup[..], &DOORS].concat()))
    };
    fill(&place.path("first"));
    let mut first = serve("first");
    for n in 0..20 {
        put_replicated(&first, &format!("key-{n}"), "1");
    }
    Run::of(reached(&["restore", URL, "second"])).ok();
    let mut second = serve("second");
    let lost = first.request("PUT /v1/default/keys/a?durability=replicated", "", "2");
    assert!(lost.starts_with("HTTP/1.1 503") && lost.contains("not-replicated"), "{lost}");
    put_replicated(&second, "a", "3");
    first.kill();
    second.kill();
    Run::of(reached(&["backups", URL])).ok();
    Run::of(reached(&["restore", URL, "third"])).ok();
    assert_eq!(rows(&place.path("third")), rows(&place.path("second")));
}
