//! `serve`: the process, its addresses, its signals and its exit codes.

use crate::place::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

const SERVE: [&str; 6] = ["serve", "db", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"];

/// A running server.
pub struct Served {
    child: Child,
    messages: BufReader<std::process::ChildStderr>,
    pub http: String,
    pub resp: String,
}

impl Served {
    pub fn start(place: &Place, args: &[&str]) -> Self {
        Served::run(place.terrane(&[&SERVE, args].concat()))
    }

    /// Starts a server by a command that runs it.
    pub fn run(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let http = address(&mut messages, "terrane: serving http://");
        let resp = address(&mut messages, "terrane: serving redis://");
        Served { child, messages, http, resp }
    }

    /// Sends a request, and returns the reply.
    pub fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Waits for a message that has `words`.
    pub fn says(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.messages.read_line(&mut line).unwrap(), 0, "ended without {words:?}");
        }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads messages up to one that starts so, and returns the rest of it.
fn address(messages: &mut impl BufRead, start: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(messages.read_line(&mut line).unwrap(), 0, "no line starts with {start:?}");
        if let Some(address) = line.trim_end().strip_prefix(start) {
            return address.to_owned();
        }
    }
}

#[test]
#[cfg(unix)]
fn a_terminated_server_keeps_its_data() {
    let place = Place::new();
    let mut served = Served::start(&place, &[]);
    assert!(served.request("PUT /v1/users/keys/a", "", "1").starts_with("HTTP/1.1 204"));
    served.signal(rustix::process::Signal::TERM);
    assert_eq!(served.code(), Some(0));
    assert_eq!(place.run(&["get", "db", "--keyspace", "users", "a"]).text(), "1");
    let served = Served::start(&place, &["--memory", "64MiB", "--durability", "sync"]);
    assert!(served.request("GET /v1/users/keys/a", "", "").ends_with("\r\n\r\n1"));
}

#[test]
#[cfg(unix)]
fn connections_leave_the_store_its_files() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_terrane")]);
    command.args(SERVE).current_dir(place.path("."));
    let served = Served::run(command);
    let mut streams: Vec<_> = (0..150).map(|_| TcpStream::connect(&served.resp).unwrap()).collect();
    let mut refused = 0;
    for stream in &mut streams {
        // Those beyond are closed without a word.
        let _ = stream.write_all(b"PING\r\n");
        let mut reply = [0; 7];
        refused += usize::from(stream.read_exact(&mut reply).is_err() || reply != *b"+PONG\r\n");
    }
    assert!((50..150).contains(&refused), "{refused}");
    let value = "v".repeat(100_000);
    let [stream, ..] = streams.as_mut_slice() else { unreachable!() };
    for _ in 0..50 {
        let set = format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n{value}\r\n", value.len());
        stream.write_all(set.as_bytes()).unwrap();
        let mut reply = [0; 5];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+OK\r\n");
    }
}

#[test]
#[cfg(unix)]
fn a_second_signal_cuts_the_drain() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--drain", "1h"]);
    let mut stream = TcpStream::connect(&served.http).unwrap();
    let head = "PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n";
    write!(stream, "{head}Expect: 100-continue\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
    served.signal(rustix::process::Signal::TERM);
    served.says("draining");
    served.signal(rustix::process::Signal::TERM);
    assert_eq!(served.code(), Some(130));
}

#[test]
#[cfg(unix)]
fn a_hangup_reads_the_tokens_again() {
    let place = Place::new();
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    place.file("tokens", "");
    let mut served = Served::start(&place, &["--tokens", "tokens"]);
    let status = |served: &Served| {
        let bearer = "Authorization: Bearer secret\r\n";
        served.request("GET /v1/stats", bearer, "").get(9..12).unwrap().to_owned()
    };
    assert_eq!(status(&served), "401");
    place.file("tokens", format!("ann {digest} read *\n"));
    served.signal(rustix::process::Signal::HUP);
    served.says("read the files again");
    assert_eq!(status(&served), "200");
    place.file("tokens", "ann");
    served.signal(rustix::process::Signal::HUP);
    served.says("tokens, line 1: expected NAME SHA256");
    assert_eq!(status(&served), "200");
}

#[test]
fn a_second_process_is_refused_and_the_holder_named() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let holder = format!("process {}", served.child.id());
    place.run(&["serve", "db", "--http", "127.0.0.1:0"]).fails(5, &["in use", &holder]);
    let taken = ["serve", "other", "--http", &served.http, "--resp", "off"];
    let refused = place.run(&taken);
    refused.fails(7, &["could not listen on", &served.http, "choose another address with --http"]);
    assert!(refused.err.contains("terrane: created a store in other\n"), "{}", refused.err);
    let taken = ["serve", "other", "--http", "off", "--resp", &served.resp];
    place.run(&taken).fails(7, &["could not listen on", &served.resp]);
}

#[test]
fn malformed_options_of_a_server_are_refused() {
    let place = Place::new();
    place.run(&["serve", "db", "--http", "off", "--resp", "off"]).fails(2, &["one door"]);
    place.run(&["serve", "db", "--http", "0.0.0.0:0"]).fails(2, &["0.0.0.0:0", "tokens"]);
    place.run(&["serve", "db", "--tokens", "none"]).fails(7, &["could not read none"]);
    place.file("file", "");
    let refused = place.run(&["serve", "db", "--checkpoints", "file/checkpoints"]);
    refused.fails(7, &["could not create file/checkpoints"]);
    place.file("tokens", "ann\n");
    place.run(&["serve", "db", "--tokens", "tokens"]).fails(3, &["tokens, line 1"]);
    for (option, value, example) in [
        ("--http", "localhost:1", "for example: 127.0.0.1:4540"),
        ("--memory", "1MiB", "512MiB"),
        ("--durability", "none", "buffered, sync"),
        ("--tls-cert", "cert.pem", "--tls-key"),
        ("--allow-origin", "*", "http://localhost:8080"),
        ("--allow-host", "example.org:80", "db.example.org"),
        ("--allow-host", "http://example.org", "db.example.org"),
        ("--allow-host", "", "db.example.org"),
        ("--connections", "0", "1.."),
    ] {
        let run = place.run(&["serve", "db", option, value]);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains(example), "expected {example:?} in {}", run.err);
    }
}
