//! A client that reads replies as they are written, and compares them as text.

use crate::served::Served;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Served {
    pub fn connect(&self) -> Client {
        Client::connect(self.resp)
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Client { stream: BufReader::new(TcpStream::connect(address).unwrap()) }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Returns a reply in short: `OK`, `-ERR ...`, `:1`, `"text"`, `nil`, `[...]`.
    pub fn read(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        let Some(line) = line.strip_suffix("\r\n") else {
            assert_eq!(line, "", "a reply that is cut");
            return "closed".to_owned();
        };
        let (sign, rest) = line.split_at(1);
        match sign {
            "+" => rest.to_owned(),
            "$" | "=" if rest == "-1" => "nil".to_owned(),
            "$" | "=" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.stream.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                format!("{:?}", String::from_utf8_lossy(&bytes))
            }
            "*" | "~" if rest == "-1" => "nil".to_owned(),
            "*" | "~" => self.items(rest.parse().unwrap()),
            "%" => self.items(2 * rest.parse::<usize>().unwrap()),
            "_" => "nil".to_owned(),
            _ => line.to_owned(),
        }
    }

    fn items(&mut self, count: usize) -> String {
        let items: Vec<String> = (0..count).map(|_| self.read()).collect();
        format!("[{}]", items.join(" "))
    }

    /// Sends a command of words, and returns its reply.
    pub fn run(&mut self, command: &str) -> String {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        self.run_bytes(&words)
    }

    pub fn run_bytes(&mut self, arguments: &[&[u8]]) -> String {
        self.send(&encode(arguments));
        self.read()
    }

    /// Runs commands, and compares each reply with the one beside it.
    pub fn check(&mut self, rows: &[(&str, &str)]) {
        for (command, reply) in rows {
            assert_eq!(self.run(command), *reply, "{command}");
        }
    }
}

pub fn encode(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
        bytes.extend(*argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Encodes commands of words, one after another.
pub fn pipeline(commands: &[&str]) -> Vec<u8> {
    let encoded =
        |command: &&str| encode(&command.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    commands.iter().flat_map(encoded).collect()
}
