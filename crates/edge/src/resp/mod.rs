//! The door for Redis's protocol.
//!
//! * `request` - requests, parsed as they arrive.
//! * `reply` - replies in both versions of the protocol.
//! * `failure` - failures in Redis's words.
//! * `connection` - reads, runs, and writes.
//! * `admit` - checks each command.
//! * `execute` - runs it in place if it waits for nothing, or elsewhere.
//! * `read` - reads, and those that run together.
//! * `write`, `pending` - writes, and those whose outcome is awaited.
//! * `exec` - WATCH and EXEC.
//! * `session` - the state between commands.
//! * `transaction` - the commands of a transaction.
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
mod execute;
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
    /// Held by the connection that writes in place. It takes a few microseconds, so that waiting for it is cheaper than
    /// another thread; without it, connections of two threads would hinder each other.
    turn: Mutex<()>,
    /// Places for updates of long values.
    long_updates: Semaphore,
    /// Time of the latest sync that was asked for, in seconds since the epoch.
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
        // It guards no state that a panic could leave behind.
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
    // The database that every connection starts with. A closed store fails each command.
    let _ = shared.resp.databases.open(&shared.db, 0, false).await;
    // A peer that is gone is its own affair.
    let _ = connection::Connection::new(stream, peer, shared).run().await;
}
