//! Measures the cost of subscribers and of a backup for writes, in pairs:
//! `cargo run --release -p terrane-edge --example subscribers -- 10 8 5` compares ten subscribers with none, in eight
//! rounds of two turns of five seconds each. A fourth argument, `backup`, adds a backup into a directory to the ten.
//!
//! 1. A server runs in this process, on a store of its own for each turn. Clients put values of 100 bytes over HTTP,
//!    one after another on each connection, without a pause.
//! 2. Subscribers run in a process of their own, and read and count lines. They share the machine with the server.
//! 3. The backup runs in the server, as by `terrane serve --backup file:///...`, and syncs its files.
//! 4. Each round has a turn with both and a turn without, in an order that changes. Lines name the writes of a second,
//!    the server's processor time for each, and resident memory at the start and the end of the turn.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use terrane::{Db, Options};
use terrane_edge::backup::Target;
use terrane_edge::{Config, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

/// Connections that write.
const WRITERS: usize = 16;
/// Seconds before a turn is measured.
const WARM_UP: u64 = 1;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Readers of the writes of a turn.
#[derive(Clone, Copy)]
struct Load {
    subscribers: usize,
    has_backup: bool,
}

/// Figures of a turn.
struct Turn {
    writes_per_second: f64,
    cpu_micros_per_write: f64,
    resident_mib: [f64; 2],
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, address, count] = arguments.as_slice()
        && role == "follow"
    {
        return follow(address.parse()?, count.parse()?);
    }
    let number = |at: usize, default| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (subscribers, rounds, seconds) = (number(0, 10)?, number(1, 8)?, number(2, 5)? as u64);
    let has_backup = arguments.get(3).is_some_and(|argument| argument == "backup");
    let (all, none) =
        (Load { subscribers, has_backup }, Load { subscribers: 0, has_backup: false });
    let mut shares = Vec::new();
    for round in 0..rounds {
        let with_first = round % 2 == 1;
        let first = turn(if with_first { all } else { none }, seconds)?;
        let second = turn(if with_first { none } else { all }, seconds)?;
        let [with, without] = if with_first { [first, second] } else { [second, first] };
        for (load, turn) in [(none, &without), (all, &with)] {
            let [start, end] = turn.resident_mib;
            let backup = if load.has_backup { " and a backup" } else { "" };
            println!(
                "{} subscribers{backup}: {:.0} writes/s, {:.1} us of processor time each, {start:.0} to {end:.0} MiB",
                load.subscribers, turn.writes_per_second, turn.cpu_micros_per_write
            );
        }
        let share = with.writes_per_second / without.writes_per_second;
        let cpu = with.cpu_micros_per_write / without.cpu_micros_per_write;
        println!("  writes {share:.3}, processor time {cpu:.3}");
        shares.push((share, cpu));
    }
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = shares.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(1.0)
    };
    println!("median: writes {:.3}, processor time {:.3}", median(|s| s.0), median(|s| s.1));
    Ok(())
}

/// Serves a new store to writers and to those who read what they write.
fn turn(load: Load, seconds: u64) -> Outcome<Turn> {
    let dir = tempfile::tempdir()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let db = Db::open(dir.path().join("db"), Options::default().feed_bytes(256 << 20))?;
    let backup = load.has_backup.then(|| dir.path().join("backup"));
    let (server, address) = serve(&runtime, db, backup.as_deref())?;
    let child = start_subscribers(load.subscribers, address)?;
    let (writes, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let turn = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (writes, is_over) = (&writes, &is_over);
            scope.spawn(move || put(address, writer, writes, is_over));
        }
        thread::sleep(Duration::from_secs(WARM_UP));
        let (start, cpu, count) = (Instant::now(), cpu_time()?, writes.load(Ordering::Relaxed));
        let before = resident_mib()?;
        thread::sleep(Duration::from_secs(seconds));
        let written = (writes.load(Ordering::Relaxed) - count) as f64;
        let cpu = (cpu_time()? - cpu).as_secs_f64() * 1e6;
        let elapsed = start.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        Ok::<_, Box<dyn Error>>(Turn {
            writes_per_second: written / elapsed,
            cpu_micros_per_write: cpu / written,
            resident_mib: [before, resident_mib()?],
        })
    })?;
    if let Some(mut child) = child {
        child.kill()?;
        child.wait()?;
    }
    runtime.block_on(server.shutdown())?;
    Ok(turn)
}

fn serve(runtime: &Runtime, db: Db, backup: Option<&Path>) -> Outcome<(Server, SocketAddr)> {
    let mut config = Config::default();
    if let Some(dir) = backup {
        let (objects, prefix) = terrane_backup::open(&format!("file://{}", dir.display()))?;
        config.backup = Some(Target { objects, prefix, options: Default::default() });
    }
    config.http = Some(([127, 0, 0, 1], 0).into());
    config.resp = None;
    let server = runtime.block_on(Server::start(db, config))?;
    let address = server.http().ok_or("the door is closed")?;
    Ok((server, address))
}

fn start_subscribers(count: usize, address: SocketAddr) -> Outcome<Option<Child>> {
    if count == 0 {
        return Ok(None);
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["follow", &address.to_string(), &count.to_string()]);
    Ok(Some(command.spawn()?))
}

/// Puts values until `is_over`.
fn put(address: SocketAddr, writer: usize, writes: &AtomicU64, is_over: &AtomicBool) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_nodelay(true);
    let value = "v".repeat(100);
    let mut reply = [0; 4096];
    for n in 0_u64.. {
        let head = format!("PUT /v1/default/keys/{writer}-{n} HTTP/1.1\r\nHost: localhost\r\n");
        let request = format!("{head}Content-Length: {}\r\n\r\n{value}", value.len());
        if is_over.load(Ordering::Relaxed) || stream.write_all(request.as_bytes()).is_err() {
            return;
        }
        // A reply without a body arrives whole.
        let Ok(1..) = stream.read(&mut reply) else { return };
        writes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Follows the changes until it is killed.
fn follow(address: SocketAddr, count: usize) -> Outcome {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let all: Vec<_> = (0..count).map(|_| tokio::spawn(subscribe(address))).collect();
        for one in all {
            one.await??;
        }
        Ok(())
    })
}

/// Reads the lines of one subscriber.
async fn subscribe(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
    let mut bytes = vec![0; 64 << 10];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}

/// Returns the processor time of this process.
fn cpu_time() -> Outcome<Duration> {
    // User and system time are the 14th and 15th field, in hundredths of a second; the second is in parentheses.
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(10 * ticks))
}

/// Returns the resident memory of this process.
fn resident_mib() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
