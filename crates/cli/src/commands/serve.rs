//! `serve`: serves a store over HTTP and Redis's protocol.

use crate::background::Background;
use crate::commands::backups;
use crate::exit::{Exit, Failure};
use crate::message;
use crate::store;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use std::io;
use std::net::SocketAddr;
use std::path::{self, Path, PathBuf};
use std::process;
use std::time::Duration;
use terrane::{Durability, Options};
use terrane_edge::backup::Target;
use terrane_edge::follow::Source;
use terrane_edge::origin::{Allowed, parse_host, parse_origin};
use terrane_edge::tls::Files;
use terrane_edge::{Config, Ending, Error};

pub const EXAMPLES: &str = "\
Examples:
  terrane serve db
  curl -X PUT http://127.0.0.1:4540/v1/default/keys/a -d 1
  redis-cli -p 4541 GET a
  terrane serve db --http 0.0.0.0:4540 --resp off --tokens tokens
  terrane serve db --backup s3://bucket/db

The store is created if it does not exist. The addresses are printed once both are open; other
machines reach them only with tokens. A line of their file is: name, SHA-256 of the token, `read`,
`write` or `admin`, keyspace (`*` ends one with any rest), and the start of keys, percent-encoded.

SIGTERM or Ctrl-C answers what was read, syncs and ends; a second one ends at once. SIGHUP reads the
tokens and the certificate again.";

/// The least memory of a server, in bytes.
const MEMORY_MIN: u64 = 64 << 20;

/// Descriptors of a server beside those of its connections and of its store's tables: of logs, listeners, and refused
/// connections.
#[cfg(unix)]
const OTHER_FILES: usize = 128;

/// Serve a store over HTTP and Redis's protocol
#[derive(Args)]
pub struct ServeArgs {
    /// Serve the store in this directory or single file
    dir: PathBuf,
    /// Serve HTTP at this address, or `off`; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4540",
          value_parser = door)]
    http: Door,
    /// Serve Redis's protocol at this address, or `off`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4541",
          value_parser = door)]
    resp: Door,
    /// Set the durability of writes that ask for none: a power cut takes at most the last second, or
    /// nothing; `replicated` writes are answered once they are backed up
    #[arg(long, value_enum, default_value = "buffered")]
    durability: DurabilityArg,
    /// Limit the memory of the store and, a quarter, of requests and replies, such as 512MiB or 2GiB
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = memory)]
    memory: u64,
    /// Map tables into memory, on Linux: fewer system calls, but a device that fails ends the process
    #[arg(long)]
    mmap: bool,
    /// Write records of the log by system calls, not through memory
    #[arg(long)]
    no_mmap_writes: bool,
    /// Accept at most this many connections at both doors together
    #[arg(long, value_name = "COUNT", default_value = "10000",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    connections: usize,
    /// Answer what was read before the end for at most this long
    #[arg(long, value_name = "DURATION", default_value = "10s",
          value_parser = humantime::parse_duration)]
    drain: Duration,
    /// Read tokens from this file, needed for addresses that other machines reach
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Keep this many bytes of logs for clients that follow the changes, such as 1GiB; 0 keeps none
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    feed_bytes: u64,
    /// Follow the changes of the server at this address, as a read replica; TERRANE_FOLLOW_TOKEN has its token
    #[arg(long, value_name = "URL", conflicts_with = "promote")]
    follow: Option<String>,
    /// Trust the certificates in this file, in PEM, rather than those of the system, for an address with https
    #[arg(long, value_name = "FILE", requires = "follow")]
    follow_ca: Option<PathBuf>,
    /// Be ready as a replica only while it lags less than this
    #[arg(long, value_name = "DURATION", default_value = "10s", requires = "follow",
          value_parser = humantime::parse_duration)]
    max_lag: Duration,
    /// Make a replica a store of its own, which no longer follows
    #[arg(long)]
    promote: bool,
    /// Back up the store continuously to this place: s3://BUCKET/FOLDER, gs://BUCKET/FOLDER,
    /// az://CONTAINER/FOLDER or file:///FOLDER; credentials are read from the environment
    #[arg(long, value_name = "URL", conflicts_with = "follow")]
    backup: Option<String>,
    /// Upload what is written at least this often
    #[arg(long, value_name = "DURATION", default_value = "1s", requires = "backup",
          value_parser = humantime::parse_duration)]
    backup_interval: Duration,
    /// Keep moments that can be restored for this long
    #[arg(long, value_name = "DURATION", default_value = "7d", requires = "backup",
          value_parser = humantime::parse_duration)]
    backup_retention: Duration,
    /// For one start, continue the backup of another store, which then refuses writes, or start anew where the store's
    /// own backups are gone
    #[arg(long, requires = "backup")]
    backup_take_over: bool,
    /// Let clients write checkpoints into this directory
    #[arg(long, value_name = "DIR")]
    checkpoints: Option<PathBuf>,
    /// Speak TLS at both doors with this certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Read the certificate's private key from this file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let this page send requests, such as http://localhost:8080; `localhost` is any port of it
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    allow_origin: Vec<String>,
    /// Accept this name of the server in requests, beside localhost and addresses
    #[arg(long, value_name = "NAME", value_parser = parse_host)]
    allow_host: Vec<String>,
    #[command(flatten)]
    background: Background,
}

/// An address, if the door is open.
#[derive(Clone, Copy)]
struct Door(Option<SocketAddr>);

/// Durability as an option.
#[derive(Clone, Copy, ValueEnum)]
enum DurabilityArg {
    Buffered,
    Sync,
    Replicated,
}

fn door(text: &str) -> Result<Door, String> {
    if text == "off" {
        return Ok(Door(None));
    }
    let expected = "expected an IP address and a port, or off; for example: 127.0.0.1:4540";
    text.parse().map(|address| Door(Some(address))).map_err(|_| expected.to_owned())
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).filter(|bytes| *bytes >= MEMORY_MIN);
    bytes.ok_or_else(|| "expected a size from 64MiB on; for example: 512MiB or 2GiB".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = if text == "0" { Some(0) } else { parse_size(text) };
    bytes.ok_or_else(|| "expected a size or 0; for example: 256MiB or 2GiB".to_owned())
}

/// Parses a whole number with a unit.
fn parse_size(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    units.iter().find_map(|(unit, shift)| {
        let count: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        count.checked_mul(1 << shift)
    })
}

/// Serves the store until a signal.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    if args.http.0.is_none() && args.resp.0.is_none() {
        let sentence = "expected an address for one door, found --http off and --resp off";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let mut options = args.background.of(Options::default());
    let mut config = Config::default();
    let buffers = args.memory / 4;
    config.buffer_bytes = usize::try_from(buffers).unwrap_or(usize::MAX);
    // An eighth is left to threads and to merges. Memtables take at most half of the engine's memory: the rest
    // is cache.
    let engine = args.memory - buffers - args.memory / 8;
    options = options.memory_bytes(engine).cache_bytes(engine / 2);
    options.feed_bytes = args.feed_bytes;
    options.allow_mmap_reads = args.mmap;
    options.allow_mmap_writes = !args.no_mmap_writes;
    config.http = args.http.0;
    config.resp = args.resp.0;
    config.durability = match args.durability {
        DurabilityArg::Buffered => Durability::Buffered,
        DurabilityArg::Sync | DurabilityArg::Replicated => Durability::Sync,
    };
    config.replicated = matches!(args.durability, DurabilityArg::Replicated);
    if config.replicated && args.backup.is_none() {
        let sentence = "expected --backup with --durability replicated, found none";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    config.backup = args.backup.as_deref().map(|url| backup(args, url)).transpose()?;
    config.connections = allow_files(args.connections, options.max_open_files);
    config.drain = args.drain;
    config.tokens.clone_from(&args.tokens);
    config.checkpoints.clone_from(&args.checkpoints);
    let files = args.tls_cert.clone().zip(args.tls_key.clone());
    config.tls = files.map(|(certificate, key)| Files { certificate, key });
    config.allowed = Allowed { hosts: args.allow_host.clone(), origins: args.allow_origin.clone() };
    let token = std::env::var("TERRANE_FOLLOW_TOKEN").ok();
    let ca = args.follow_ca.as_deref();
    let source = args.follow.as_ref().map(|url| Source::parse(url, token, ca)).transpose();
    config.follow = source.map_err(failure)?;
    config.max_lag = args.max_lag;
    let is_new = store::present(&args.dir).is_err();
    let db = store::open(&args.dir, options)?;
    if is_new {
        message::note(&format!("created a store in {}", args.dir.display()));
    }
    if args.promote && terrane_edge::follow::promote(&db).map_err(failure)? {
        message::note("the replica is a store of its own from now on");
    }
    match terrane_edge::run(db, config, message::note).map_err(failure)? {
        Ending::Drained => Ok(()),
        Ending::Cut => {
            message::error("interrupted");
            // Safe at any moment: the store recovers as it does from a power cut.
            process::exit(Exit::Interrupted as i32)
        }
    }
}

/// Returns the place of the backup.
fn backup(args: &ServeArgs, url: &str) -> Result<Target, Failure> {
    let (objects, prefix) = terrane_backup::open(url).map_err(backups::failure)?;
    let inside = terrane_backup::directory(url)
        .is_some_and(|to| resolved(&to).starts_with(resolved(&args.dir)));
    if inside {
        let sentence = "expected a backup outside of the store's directory, found --backup in it";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let options = terrane_backup::Options::default();
    let options = options.interval(args.backup_interval).retention(args.backup_retention);
    let options = options.take_over(args.backup_take_over);
    options.check().map_err(|e| Failure::new(Exit::Usage, e.to_string()))?;
    Ok(Target { objects, prefix, options })
}

/// Returns the path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let exists = |prefix: &&Path| prefix.exists();
    let Some(there) = absolute.ancestors().find(exists) else { return absolute };
    let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    there.canonicalize().map_or_else(|_| absolute.clone(), |there| there.join(rest))
}

/// Raises the limit of open files as far as the system allows. Returns the number of connections for both doors that it
/// leaves beside the `files` of the store, and reports a number below `connections`.
fn allow_files(connections: usize, files: usize) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let allowed = getrlimit(Resource::Nofile).maximum;
        // Where the system refuses, the former limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: allowed, maximum: allowed });
        let Some(limit) = getrlimit(Resource::Nofile).current else { return connections };
        let room = room(usize::try_from(limit).unwrap_or(usize::MAX), files);
        if room < connections {
            message::note(&format!(
                "--connections is {room} rather than {connections}: this process may open {limit} files \
                 (`ulimit -n`)"
            ));
        }
        connections.min(room)
    }
    #[cfg(not(unix))]
    {
        let _ = files;
        connections
    }
}

/// Returns the number of connections that a limit of open files leaves beside the `files` of the store, whose writes
/// would fail without a descriptor.
#[cfg(unix)]
fn room(limit: usize, files: usize) -> usize {
    // The store opens no more than half.
    (limit - files.min(limit / 2)).saturating_sub(OTHER_FILES.min(limit / 4)).max(1)
}

fn failure(error: Error) -> Failure {
    let exit = match error {
        Error::Store(error) => return error.into(),
        Error::Backup(error @ terrane_backup::Error::NotOwner { .. }) => {
            let help = "--backup-take-over lets this store write there all the same";
            return backups::failure(error).and(help);
        }
        Error::Backup(error) => return backups::failure(error).at("the backup"),
        Error::Listen { ref source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            let help = "choose another address with --http or --resp";
            return Failure::new(Exit::Io, format!("{error}; {help}"));
        }
        Error::Exposed { .. } => Exit::Usage,
        Error::Malformed { .. } => Exit::Input,
        _ => Exit::Io,
    };
    Failure::new(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn connections_leave_the_store_its_files() {
        assert_eq!(room(1 << 20, 1000), (1 << 20) - 1128);
        assert_eq!(room(1024, 1000), 1024 - 512 - 128);
        assert_eq!(room(64, 1000), 16);
        assert_eq!(room(0, 1000), 1);
    }

    #[test]
    fn a_size_has_a_unit_and_a_least_value() {
        assert_eq!(memory("64MiB"), Ok(64 << 20));
        assert_eq!(memory("2 GiB"), Ok(2 << 30));
        for malformed in ["63MiB", "512", "1GB", "-1GiB", "99999999999GiB", ""] {
            assert!(size(malformed).is_err() || malformed == "63MiB", "{malformed}");
            assert!(memory(malformed).unwrap_err().contains("512MiB"), "{malformed}");
        }
    }
}
