//! The configuration of a server.

use std::net::{Ipv4Addr, SocketAddr};
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
        }
    }
}
