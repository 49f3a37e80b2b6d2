//! A plain client of HTTP/1.1: a request as it is written, a reply as it arrives.

use crate::served::Served;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection, encrypted or not.
pub struct Client {
    pub stream: BufReader<Box<dyn Stream>>,
}

/// A stream of bytes in both directions.
pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// A reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Lines of the head, names in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Served {
    pub fn connect(&self) -> Client {
        Client::connect(self.http)
    }

    /// Sends a request on a connection of its own.
    pub fn request(&self, line: &str, headers: &str, body: impl AsRef<[u8]>) -> Reply {
        self.connect().request(line, headers, body.as_ref())
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request(&format!("GET {path}"), "", "")
    }

    /// Sets a value, and returns its entity tag.
    pub fn put(&self, path: &str, value: impl AsRef<[u8]>) -> String {
        let reply = self.request(&format!("PUT {path}"), "", value);
        assert_eq!(reply.status, 204, "{}", reply.text());
        reply.header("etag").unwrap().to_owned()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Client::on(TcpStream::connect(address).unwrap())
    }

    /// Returns a client on a stream.
    pub fn on(stream: impl Stream + 'static) -> Self {
        Client { stream: BufReader::new(Box::new(stream)) }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a request with a body. `headers` are whole lines.
    pub fn request(&mut self, line: &str, headers: &str, body: &[u8]) -> Reply {
        let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
        let length = format!("Content-Length: {}\r\n", body.len());
        // In one piece: a second one would wait for the first to be acknowledged.
        let head = format!("{line} HTTP/1.1\r\n{host}{headers}{length}\r\n");
        self.send([head.as_bytes(), body].concat());
        self.reply(line.starts_with("HEAD"))
    }

    /// Reads a reply, which has no body if it answers `HEAD`.
    pub fn reply(&mut self, is_head: bool) -> Reply {
        let (status, head) = self.head();
        let body = match header_in(&head, "content-length").map(|length| length.parse().unwrap()) {
            _ if is_head || status == 204 || status == 304 => Vec::new(),
            Some(length) => {
                let mut body = vec![0; length];
                self.stream.read_exact(&mut body).unwrap();
                body
            }
            None => self.chunks(),
        };
        Reply { status, head, body }
    }

    /// Reads the head of a reply.
    pub fn head(&mut self) -> (u16, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.stream.read_line(&mut head).unwrap(), 0, "closed after {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head)
    }

    /// Reads the chunks of a body up to the last one.
    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk() {
            body.extend(chunk);
        }
        body
    }

    /// Reads a chunk of a body; `None` at its end.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        assert_ne!(self.stream.read_line(&mut size).unwrap(), 0, "cut");
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(chunk.len() - 2);
        (!chunk.is_empty()).then_some(chunk)
    }

    /// Reads until the server closes the connection, and returns the bytes.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }
}

impl Reply {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header_in(&self.head, name)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Checks that the reply is a problem of this status and kind, with all of `words`.
    #[track_caller]
    pub fn is_problem(&self, status: u16, kind: &str, words: &[&str]) {
        assert_eq!(self.status, status, "{} {}", self.head, self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let document = self.json();
        assert_eq!(document["type"], format!("urn:terrane:problem:{kind}"), "{document}");
        assert_eq!(document["status"], status);
        for word in words {
            assert!(self.text().contains(word), "expected {word:?} in {document}");
        }
    }
}

fn header_in<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    })
}
