//! One store behind two doors: HTTP for pages, curl and functions, and Redis's protocol for every Redis client.
//!
//! * `server` - starts both doors on a store, and drains them.
//! * `config` - addresses, bounds and files of a server.
//! * `shared` - what every connection has in common: the store, tokens, bounds, counters.
//! * `listen` - accepts connections, counts them, and hands them to their door.
//! * `limits` - bounds of requests, connections and memory.
//! * `tokens` - who may do what, from a file.
//! * `origin` - the host and the pages from which requests may arrive.
//! * `metrics` - counters of the doors, and the text that Prometheus reads.
//! * `http` - the routes of HTTP.
//! * `resp` - the commands of Redis's protocol.

mod config;
mod error;
mod http;
pub mod limits;
mod listen;
pub mod metrics;
mod resp;
mod server;
pub mod shared;
pub mod tokens;

pub use config::Config;
pub use error::Error;
pub use server::Server;
