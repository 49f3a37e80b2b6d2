//! The configuration of a server.

use crate::backup::Target;
use crate::follow::Source;
use crate::origin::Allowed;
use crate::tls;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use terrane::Durability;

/// Addresses, bounds and files of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Address of the HTTP door; `None` closes it.
    pub http: Option<SocketAddr>,
    /// Address of the door for Redis's protocol; `None` closes it.
    pub resp: Option<SocketAddr>,
    /// Durability of writes that ask for none.
    pub durability: Durability,
    /// Whether writes that ask for no durability are answered once they are backed up; they are durable first.
    pub replicated: bool,
    /// Place of the backup, if the store is backed up.
    pub backup: Option<Target>,
    /// The most connections of both doors at once.
    pub connections: usize,
    /// The longest time of a drain.
    pub drain: Duration,
    /// Time for the head of a request, and between requests of HTTP.
    pub head_time: Duration,
    /// Span of time in which a long request must bring 1 KiB for each of its seconds.
    pub pace_span: Duration,
    /// Time after which a connection is closed if its peer reads nothing of a reply.
    pub reader_patience: Duration,
    /// The most bytes of requests and replies that both doors hold at once.
    pub buffer_bytes: usize,
    /// File of tokens; without one, both addresses must be loopback addresses.
    pub tokens: Option<PathBuf>,
    /// Certificate of both doors; without one, connections are not encrypted.
    pub tls: Option<tls::Files>,
    /// Directory into which clients may write checkpoints.
    pub checkpoints: Option<PathBuf>,
    /// Names of the server and origins of pages that are allowed.
    pub allowed: Allowed,
    /// Server that is followed, if this one is a read replica.
    pub follow: Option<Source>,
    /// Lag beyond which a read replica is not ready.
    pub max_lag: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let local = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        Config {
            http: local(4540),
            resp: local(4541),
            durability: Durability::Buffered,
            replicated: false,
            backup: None,
            connections: 10_000,
            drain: Duration::from_secs(10),
            head_time: Duration::from_secs(10),
            pace_span: Duration::from_secs(10),
            reader_patience: Duration::from_secs(60),
            buffer_bytes: 256 << 20,
            tokens: None,
            tls: None,
            checkpoints: None,
            allowed: Allowed::default(),
            follow: None,
            max_lag: Duration::from_secs(10),
        }
    }
}
