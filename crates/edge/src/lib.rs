//! One store behind two doors: HTTP for pages, curl and functions, and Redis's protocol for every Redis client.
//!
//! * `server` - starts both doors on a store, and drains them.
//! * `process` - a server for a whole process, with its signals.
//! * `config` - addresses, bounds and files of a server.
//! * `shared` - state that all connections have in common: the store, tokens, bounds, counters.
//! * `shared_syncs` - syncs that replies wait for.
//! * `listen` - accepts connections, counts them, and hands them to their door.
//! * `progress` - streams that fail once their peer reads nothing.
//! * `limits` - bounds of requests, connections and memory.
//! * `pace` - the least pace at which long requests must arrive.
//! * `tls` - the certificate.
//! * `tokens` - rights of clients, from a file.
//! * `watchers` - watchers of the store's events.
//! * `events_door` - a door for these alone.
//! * `follow` - a read replica: the changes of another server, in a store of its own.
//! * `backup` - the continuous backup of the store.
//! * `percent` - percent-encoding of keys.
//! * `checkpoint` - copies of the store.
//! * `origin` - hosts and pages from which requests may arrive.
//! * `health` - whether writes can be expected to succeed.
//! * `rules` - the rules of replication, which tests can break.
//! * `metrics` - counters of the doors, and the text that Prometheus reads.
//! * `http` - the routes of HTTP.
//! * `resp` - the commands of Redis's protocol.

pub mod backup;
mod checkpoint;
mod config;
mod error;
mod events_door;
pub mod follow;
pub mod health;
mod http;
pub mod limits;
mod listen;
pub mod metrics;
pub mod origin;
mod pace;
mod percent;
mod process;
mod progress;
mod resp;
mod rules;
mod server;
pub mod shared;
mod shared_syncs;
pub mod tls;
pub mod tokens;
pub mod watchers;

pub use config::Config;
pub use error::Error;
pub use events_door::serve_events;
pub use process::{Ending, run};
pub use server::Server;

#[doc(hidden)]
pub use http::fuzz_heads;
#[doc(hidden)]
pub use resp::fuzz_requests;
