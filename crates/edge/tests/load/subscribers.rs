//! Subscribers of the changes beside writers without a pause: over their reconnections and the server's restarts each
//! has every batch once, in order, and one that is asleep delays nobody.

use crate::served::Served;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use terrane::{Db, Durability, Options, Seq};
use terrane_workload::Random;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Times that the server is started.
const STARTS: u64 = 3;
const WRITERS: u64 = 2;
/// Pause before another connection is tried.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes of replies that the server may hold for clients that read nothing.
const HELD_MAX: usize = 8 << 20;

/// Whether the long runs were asked for.
fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

/// Returns the request for the changes after a cursor.
fn request(cursor: &str) -> String {
    format!("GET /v1/changes?since={cursor}&progress=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A subscriber, with its place in the feed.
struct Subscriber {
    address: SocketAddr,
    lineage: String,
    last: Seq,
    random: Random,
    /// The last batch, once it is written.
    end: Arc<AtomicU64>,
}

impl Subscriber {
    /// Connects again and again, until it has the last batch.
    async fn run(mut self, batches: u64) {
        while self.last != self.end.load(Ordering::Relaxed) {
            let leaves_after = self.random.below(batches);
            // Where the server does not listen, or the connection ends, it tries again.
            if self.follow(leaves_after).await.is_err() {
                sleep(PAUSE).await;
            }
        }
    }

    /// Reads some batches over a connection.
    async fn follow(&mut self, batches: u64) -> std::io::Result<()> {
        let mut stream = tokio::net::TcpStream::connect(self.address).await?;
        let cursor = format!("{}-{}", self.lineage, self.last);
        stream.write_all(request(&cursor).as_bytes()).await?;
        let (mut stream, mut line) = (BufReader::with_capacity(16 << 10, stream), Vec::new());
        let until = self.last + batches;
        while self.last < until && self.last != self.end.load(Ordering::Relaxed) {
            line.clear();
            if stream.read_until(b'\n', &mut line).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.line(std::str::from_utf8(&line).unwrap());
        }
        Ok(())
    }

    /// Notes a line; others are those of the head and the sizes of chunks.
    fn line(&mut self, line: &str) {
        assert!(!line.starts_with("{\"error\""), "{line}");
        let Some(rest) = line.strip_prefix("{\"cursor\":\"") else { return };
        let (cursor, rest) = rest.split_once('"').unwrap();
        let sequence: Seq = cursor.split_once('-').unwrap().1.parse().unwrap();
        match rest.starts_with(",\"ops\"") {
            true => assert_eq!(sequence, self.last + 1, "the next batch"),
            // Progress.
            false => assert_eq!(sequence, self.last, "no batch is skipped"),
        }
        self.last = sequence;
    }
}

/// Writes batches of one row from several threads.
fn write(db: &Db, batches: u64) {
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let rows = db.default_keyspace();
                for n in 0..batches / WRITERS {
                    let key = [writer.to_be_bytes(), n.to_be_bytes()].concat();
                    rows.put(key, [b'v'; 100], Durability::Buffered).unwrap();
                }
            });
        }
    });
}

#[test]
fn each_subscriber_has_every_batch_once_over_restarts() {
    let (subscribers, batches) = if full() { (1000, 6000) } else { (40, 1000) };
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let open = || {
        let options = Options::default().wal_file_bytes(1 << 20).feed_bytes(1 << 30);
        Db::open(dir.path().join("db"), options).unwrap()
    };
    let mut served = Served::of(dir.clone(), open(), |_| {});
    let address = served.http;
    let start = served.shared.db.inner().feed_cursor();
    let end = Arc::new(AtomicU64::new(u64::MAX));
    let clients = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut running = JoinSet::new();
    for seed in 0..subscribers {
        let subscriber = Subscriber {
            address,
            lineage: start.lineage.to_string(),
            last: start.sequence,
            random: Random(seed),
            end: end.clone(),
        };
        running.spawn_on(subscriber.run(STARTS * batches), clients.handle());
    }
    let mut asleep = Vec::new();
    for restart in 0..STARTS {
        if restart > 0 {
            served.stop();
            served = Served::of(dir.clone(), open(), |config| config.http = Some(address));
        }
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request(&start.to_string()).as_bytes()).unwrap();
        asleep.push(client);
        write(served.shared.db.inner(), batches);
        served.shared.db.inner().flush().unwrap();
    }
    let last = served.shared.db.inner().latest_sequence();
    assert_eq!(last, start.sequence + STARTS * batches);
    end.store(last, Ordering::Relaxed);
    clients.block_on(async { while running.join_next().await.transpose().unwrap().is_some() {} });
    // The one that is asleep has its place in the log, and hardly more. The newest lines are kept while it is there.
    while served.shared.limits.held_bytes() > HELD_MAX {
        thread::yield_now();
    }
    drop(asleep);
}
