//! Clients of both doors, which run operations on the keys of a history.

use crate::client::Client;
use crate::map::{Op, Ret};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A client, which uses keys of this history alone.
pub trait Peer {
    fn run(&mut self, history: usize, op: &Op) -> Ret;
}

/// A client of HTTP.
pub struct Http(pub Client);

impl Http {
    fn request(&mut self, method: &str, key: &str, body: &str) -> (u16, Option<i64>) {
        let line = format!("{method} /v1/default/keys/{key}");
        let reply = self.0.request(&line, "", body.as_bytes());
        (reply.status, reply.text().parse().ok())
    }

    /// Writes values under conditions. Returns whether the conditions held.
    fn batch(&mut self, conditions: &Value, writes: &[(String, i64)]) -> bool {
        let put = |(key, value): &(String, i64)| json!({"op": "put", "key": key, "value": value.to_string()});
        let operations: Vec<_> = writes.iter().map(put).collect();
        let body = json!({"if": conditions, "do": operations}).to_string();
        let status = self.0.request("POST /v1/batch", "", body.as_bytes()).status;
        assert!([200, 409].contains(&status));
        status == 200
    }

    /// Reads keys at one moment: values, and versions.
    fn many(&mut self, keys: &[String]) -> Vec<(Option<i64>, Value)> {
        let body = json!({"keys": keys}).to_string();
        let reply = self.0.request("POST /v1/default/get", "", body.as_bytes());
        let rows = reply.text().lines().take(keys.len());
        let row = |line: &str| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["value"].as_str().map(|text| text.parse().unwrap()), row["version"].clone())
        };
        rows.map(row).collect()
    }

    /// Adds one to each of some keys, by a batch that is tried again until nobody interferes.
    fn increment(&mut self, keys: &[String]) -> Vec<Option<i64>> {
        loop {
            let found = self.many(keys);
            let unchanged = keys.iter().zip(&found).map(|(key, (_, version))| match version {
                Value::Null => json!({"key": key, "absent": true}),
                version => json!({"key": key, "version": version}),
            });
            let conditions: Value = unchanged.collect();
            let after = found.iter().map(|(value, _)| value.unwrap_or(0) + 1);
            let writes: Vec<_> = keys.iter().cloned().zip(after).collect();
            if self.batch(&conditions, &writes) {
                return writes.into_iter().map(|(_, value)| Some(value)).collect();
            }
        }
    }
}

impl Peer for Http {
    fn run(&mut self, history: usize, op: &Op) -> Ret {
        let key = |key: u8| format!("{history}-{key}");
        match *op {
            Op::Get(k) => Ret::Value(self.request("GET", &key(k), "").1),
            Op::Set(k, value) => {
                assert_eq!(self.request("PUT", &key(k), &value.to_string()).0, 204);
                Ret::Done
            }
            Op::Delete(k) => {
                assert_eq!(self.request("DELETE", &key(k), "").0, 204);
                Ret::Done
            }
            Op::Increment(k) => Ret::Value(self.increment(&[key(k)])[0]),
            Op::Replace { key: k, before, after } => {
                let condition = json!([{"key": key(k), "value": before.to_string()}]);
                Ret::Applies(self.batch(&condition, &[(key(k), after)]))
            }
            Op::IncrementBoth(first, second) => {
                let mut values = self.increment(&[key(first), key(second)]);
                values.push(values[0]);
                Ret::Values(values)
            }
            Op::ReplaceBoth { keys, before, after } => {
                let condition = json!([{"key": key(keys[0]), "value": before.to_string()}]);
                Ret::Applies(self.batch(&condition, &keys.map(|k| (key(k), after))))
            }
            Op::GetBoth(first, second) => {
                let rows = self.many(&[key(first), key(second)]);
                Ret::Values(rows.into_iter().map(|(value, _)| value).collect())
            }
        }
    }
}

/// A client of Redis's protocol.
pub struct Resp(BufReader<TcpStream>);

impl Resp {
    pub fn connect(address: SocketAddr) -> Self {
        Resp(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    /// Runs a command whose reply is a value: an integer, a text of an integer, or nil.
    pub fn value(&mut self, command: &str) -> Option<i64> {
        self.send(&[command]);
        self.reply()
    }

    /// Runs commands as a transaction. Returns `None` if a watched key has changed.
    fn exec(&mut self, commands: &[&str]) -> Option<Vec<Option<i64>>> {
        let all = [&["MULTI"], commands, &["EXEC"]].concat();
        self.send(&all);
        for _ in 0..=commands.len() {
            self.reply();
        }
        let head = self.line();
        let count: i64 = head.strip_prefix('*').expect(&head).parse().unwrap();
        (count >= 0).then(|| (0..count).map(|_| self.reply()).collect())
    }

    fn send(&mut self, commands: &[&str]) {
        let text: String = commands.iter().map(|command| format!("{command}\r\n")).collect();
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn reply(&mut self) -> Option<i64> {
        let head = self.line();
        let (kind, rest) = head.split_at(1);
        match kind {
            "+" => None,
            ":" => Some(rest.parse().unwrap()),
            "$" if rest == "-1" => None,
            "$" => {
                let mut text = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.0.read_exact(&mut text).unwrap();
                Some(std::str::from_utf8(&text).unwrap().trim_end().parse().unwrap())
            }
            _ => panic!("expected a value, found {head}"),
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "closed");
        line.truncate(line.trim_end().len());
        line
    }
}

impl Peer for Resp {
    fn run(&mut self, history: usize, op: &Op) -> Ret {
        let key = |key: u8| format!("{history}-{key}");
        match *op {
            Op::Get(k) => Ret::Value(self.value(&format!("GET {}", key(k)))),
            Op::Set(k, value) => {
                self.value(&format!("SET {} {value}", key(k)));
                Ret::Done
            }
            Op::Delete(k) => {
                self.value(&format!("DEL {}", key(k)));
                Ret::Done
            }
            Op::Increment(k) => Ret::Value(self.value(&format!("INCR {}", key(k)))),
            Op::Replace { key: k, before, after } => {
                self.send(&[&format!("SET {} {after} IFEQ {before}", key(k))]);
                Ret::Applies(self.line() == "+OK")
            }
            Op::IncrementBoth(first, second) => {
                let [first, second] = [key(first), key(second)];
                let commands =
                    [format!("INCR {first}"), format!("INCR {second}"), format!("GET {first}")];
                let commands: Vec<_> = commands.iter().map(String::as_str).collect();
                Ret::Values(self.exec(&commands).unwrap())
            }
            Op::ReplaceBoth { keys, before, after } => {
                let [first, second] = keys.map(key);
                loop {
                    self.send(&[&format!("WATCH {first}")]);
                    self.reply();
                    if self.value(&format!("GET {first}")) != Some(before) {
                        self.send(&["UNWATCH"]);
                        self.reply();
                        return Ret::Applies(false);
                    }
                    let set = |key: &str| format!("SET {key} {after}");
                    if self.exec(&[&set(&first), &set(&second)]).is_some() {
                        return Ret::Applies(true);
                    }
                }
            }
            Op::GetBoth(first, second) => {
                self.send(&[&format!("MGET {} {}", key(first), key(second))]);
                assert_eq!(self.line(), "*2");
                Ret::Values(vec![self.reply(), self.reply()])
            }
        }
    }
}
