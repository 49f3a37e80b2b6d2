//! The configuration of a server.

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
    /// Connections that both doors have at once, at most.
    pub connections: usize,
    /// Time that a drain takes at most.
    pub drain: Duration,
    /// Time for the head of a request, and between requests of HTTP.
    pub head_time: Duration,
    /// Time in which a long request must go on: by a KiB for each second.
    pub body_grace: Duration,
    /// Time after which a connection is closed whose peer reads nothing of what it should.
    pub reader_patience: Duration,
    /// Bytes of requests and replies that both doors hold at once, at most.
    pub buffer_bytes: usize,
    /// File of tokens; without one, both addresses must be loopback ones.
    pub tokens: Option<PathBuf>,
    /// Certificate of both doors; without one, connections are not encrypted.
    pub tls: Option<tls::Files>,
    /// Directory in which clients may have checkpoints written.
    pub checkpoints: Option<PathBuf>,
    /// Names of the server and origins of pages that are allowed.
    pub allowed: Allowed,
}

impl Default for Config {
    fn default() -> Self {
        let local = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        Config {
            http: local(4540),
            resp: local(4541),
            durability: Durability::Buffered,
            connections: 10_000,
            drain: Duration::from_secs(10),
            head_time: Duration::from_secs(10),
            body_grace: Duration::from_secs(10),
            reader_patience: Duration::from_secs(60),
            buffer_bytes: 256 << 20,
            tokens: None,
            tls: None,
            checkpoints: None,
            allowed: Allowed::default(),
        }
    }
}
