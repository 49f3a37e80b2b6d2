//! The door for Redis's protocol.
//!
//! * `request` - requests, parsed as they arrive.
//! * `reply` - replies in both versions of the protocol.
//! * `failure` - failures in Redis's words.
//! * `connection` - a connection: reads requests, runs them, writes replies.
//! * `admit` - checks of a command before it runs.
//! * `executor` - runs the commands of a connection, in their order.
//! * `read` - commands that read: in place, or deferred until several run together.
//! * `write`, `pending` - commands that write, and writes whose outcome is awaited.
//! * `exec` - WATCH and EXEC.
//! * `session` - the state of a connection between its commands.
//! * `transaction` - the commands between MULTI and EXEC.
//! * `access` - the store, as commands read and change it.
//! * `databases` - keyspaces by number.
//! * `scan` - commands that walk through keys, and their cursors.
//! * `glob`, `decimal` - patterns of keys, and numbers of INCRBYFLOAT.
//! * `commands` - the commands by family.

mod access;
mod admit;
mod commands;
mod connection;
mod databases;
mod decimal;
mod exec;
mod executor;
mod failure;
mod glob;
mod pending;
mod read;
mod reply;
mod request;
mod scan;
mod session;
mod transaction;
mod write;

use crate::shared::Shared;
use commands::seconds;
use databases::Databases;
use scan::Cursors;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use write::LONG_UPDATES_MAX;

#[doc(hidden)]
pub use request::fuzz as fuzz_requests;

/// State that all connections of this door have in common.
pub(crate) struct State {
    databases: Databases,
    cursors: Cursors,
    next_id: AtomicI64,
    /// Held by the connection that writes in place. A write in place takes a few microseconds, so waiting is cheaper
    /// than handing the write to another thread; without a turn, connections of two threads would hinder each other.
    turn: Mutex<()>,
    /// Places for updates of long values.
    long_updates: Semaphore,
    /// Time of the latest sync by command, in seconds since the epoch.
    saved: AtomicU64,
}

impl Default for State {
    fn default() -> Self {
        State {
            databases: Databases::default(),
            cursors: Cursors::default(),
            next_id: AtomicI64::new(1),
            turn: Mutex::default(),
            long_updates: Semaphore::new(LONG_UPDATES_MAX),
            saved: AtomicU64::new(seconds()),
        }
    }
}

impl State {
    /// Waits for the turn to write in place.
    fn take_turn(&self) -> MutexGuard<'_, ()> {
        // A panic leaves nothing half done: the lock guards no data.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that all writes are synced.
    fn note_sync(&self) {
        self.saved.store(seconds(), Ordering::Relaxed);
    }
}

/// Serves a connection until it ends.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: SocketAddr,
    shared: Arc<Shared>,
) {
    // Every connection starts with database 0. If it cannot be opened, the store is closed, and each command fails.
    let _ = shared.resp.databases.open(&shared.db, 0).await;
    // The stream fails if the peer is gone: nobody is left to hear of it.
    let _ = connection::Connection::new(stream, peer, shared).run().await;
}
