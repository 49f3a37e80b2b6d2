//! A server that is killed while any of its requests to S3 is under way: the backup has every write that it
//! acknowledged, and the restored store equals the server's at its sequence number, entry by entry.

use crate::place::{Place, Run};
use crate::s3::{Fault, S3};
use crate::serve_s3::{Rows, URL, rows};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Keys that are written in turn.
const KEYS: usize = 20;

/// A key and its value.
type Put = (String, String);

/// Writes in their order, among batches of the server's own.
#[derive(Default)]
struct History {
    /// Writes that a store has, with their sequence numbers.
    known: Vec<(u64, Put)>,
    /// The last write, while nobody has said whether a store has it.
    unanswered: Option<Put>,
}

impl History {
    /// Returns the sequence number of the last write that a store has.
    fn last(&self) -> u64 {
        self.known.last().map_or(0, |(sequence, _)| *sequence)
    }

    /// Learns the last sequence number of the unanswered write's key: the write has it if no former one does.
    fn learn(&mut self, sequence: u64) {
        if sequence > self.last() {
            self.known.extend(self.unanswered.take().map(|write| (sequence, write)));
        }
    }

    /// Returns the rows after the batch `sequence`.
    fn rows(&self, sequence: u64) -> Rows {
        let written = self.known.iter().take_while(|(seq, _)| *seq <= sequence);
        let row = |(seq, (key, value)): &(u64, Put)| {
            (key.clone().into_bytes(), (value.clone().into_bytes(), *seq))
        };
        written.map(row).collect()
    }
}

/// A server that may be killed before it is open.
struct Starting(Child);

impl Starting {
    /// Starts a server. Returns it with its messages.
    fn run(place: &Place, s3: &S3) -> (Self, Receiver<String>) {
        let mut args = vec!["serve", "db", "--backup", URL, "--durability", "replicated"];
        args.extend(["--http", "127.0.0.1:0", "--resp", "off", "--backup-interval", "5ms"]);
        let mut command = s3.reached_by(place.terrane(&args));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, messages) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        (Starting(child), messages)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes until the server is gone. Returns the last sequence number that was acknowledged.
fn write_until_killed(messages: &Receiver<String>, round: usize, history: &mut History) -> u64 {
    let is_address = |line: &String| line.starts_with("terrane: serving http://");
    let Some(address) = messages.iter().find(is_address) else { return 0 };
    let address = address.trim_start_matches("terrane: serving http://");
    if let Some((key, _)) = &history.unanswered {
        let get = format!("GET /v1/default/keys/{key}");
        let Some(found) = request(address, &get, "") else { return 0 };
        found.into_iter().for_each(|sequence| history.learn(sequence));
        // Otherwise the write had no effect.
        history.unanswered = None;
    }
    let mut acknowledged = 0;
    for n in history.known.len().. {
        let (key, value) = (format!("key-{}", n % KEYS), format!("value {n} of round {round}"));
        history.unanswered = Some((key.clone(), value.clone()));
        let put = format!("PUT /v1/default/keys/{key}");
        let Some(written) = request(address, &put, &value) else { break };
        acknowledged = written.unwrap();
        assert!(acknowledged > history.last(), "{acknowledged}");
        history.learn(acknowledged);
    }
    acknowledged
}

/// Sends a request for a key. Returns the sequence number in the reply, if the key is there; `None` if the server is
/// gone.
fn request(address: &str, line: &str, body: &str) -> Option<Option<u64>> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ";
    write!(stream, "{line} {head}{}\r\n\r\n{body}", body.len()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let (head, _) = reply.split_once("\r\n\r\n")?;
    if head.starts_with("HTTP/1.1 404") {
        return Some(None);
    }
    assert!(head.starts_with("HTTP/1.1 20"), "{reply}");
    let found = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    Some(Some(found.trim_matches('"').parse().unwrap()))
}

/// Restores the newest moment, if there is one, and compares it with the history.
fn check(place: &Place, s3: &S3, acknowledged: u64, history: &mut History) {
    let restored = Run::of(s3.reached_by(place.terrane(&["restore", URL, "restored"])));
    if acknowledged == 0 && restored.err.contains("found none") {
        return;
    }
    restored.ok();
    let (sequence, found) = rows(&place.path("restored"));
    assert!(sequence >= acknowledged, "{sequence}, but {acknowledged} was acknowledged");
    let unanswered = history.unanswered.as_ref();
    let last = unanswered.and_then(|(key, _)| Some(found.get(key.as_bytes())?.1));
    last.into_iter().for_each(|sequence| history.learn(sequence));
    assert_eq!(found, history.rows(sequence));
    std::fs::remove_dir_all(place.path("restored")).unwrap();
}

#[test]
fn a_server_killed_at_any_request_loses_nothing_backed_up() {
    let place = Place::new();
    let s3 = S3::start(&place.path("s3"));
    let (mut history, mut acknowledged) = (History::default(), 0);
    let is_full = std::env::var_os("TERRANE_FULL").is_some();
    // Each request of a start, and some of those that follow writes.
    let (last, step) = if is_full { (60, 1) } else { (24, 4) };
    let faults = [Fault::Lost, Fault::Unanswered, Fault::Late];
    let mut round = 0;
    for requests in (0..last).step_by(step) {
        for fault in faults {
            s3.hold(requests, fault);
            let (mut server, messages) = Starting::run(&place, &s3);
            let known = &mut history;
            let written = thread::scope(|scope| {
                let writer = scope.spawn(move || write_until_killed(&messages, round, known));
                // A server that ends by itself ends the writer.
                while !s3.is_holding() && !writer.is_finished() {
                    thread::sleep(Duration::from_millis(1));
                }
                server.kill();
                writer.join().unwrap()
            });
            assert!(s3.is_holding(), "the server ended by itself");
            acknowledged = acknowledged.max(written);
            s3.let_go();
            check(&place, &s3, acknowledged, &mut history);
            round += 1;
        }
    }
    Run::of(s3.reached_by(place.terrane(&["backups", URL]))).ok();
}
