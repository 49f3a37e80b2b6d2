//! Syncs that replies wait for, in a server whose writes are durable.
//!
//! 1. Connections write at once, as if writes were buffered.
//! 2. Before a reply leaves, everything that was visible when it was made is synced: the connection's own writes, and
//!    writes of others that the reply may show. So no client sees a write that a power cut takes back.
//! 3. A sync serves all replies that wait when it starts. Replies that arrive while it runs share the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::entry::Seq;
use terrane::{Closed, Result};
use terrane_tokio::Db;
use tokio::sync::watch;

/// Syncs that all connections of a server share.
pub(crate) struct SharedSyncs {
    latest: watch::Sender<Synced>,
    is_running: AtomicBool,
}

/// The latest sync.
#[derive(Clone)]
struct Synced {
    /// Last sequence number that was visible when it started.
    through: Seq,
    result: Result<()>,
}

impl Default for SharedSyncs {
    fn default() -> Self {
        let latest = watch::Sender::new(Synced { through: 0, result: Ok(()) });
        SharedSyncs { latest, is_running: AtomicBool::new(false) }
    }
}

impl SharedSyncs {
    /// Waits until everything that is visible now is durable. After a failed sync nothing more becomes durable: the
    /// call then fails only for a connection that `has_written`.
    ///
    /// # Errors
    /// A failed sync: writes may be lost.
    pub async fn wait(self: &Arc<Self>, db: &Db, has_written: bool) -> Result<()> {
        let visible = db.inner().latest_sequence();
        let mut latest = self.latest.subscribe();
        {
            let synced = latest.borrow_and_update();
            match &synced.result {
                Ok(()) if synced.through >= visible => return Ok(()),
                Err(_) if !has_written => return Ok(()),
                _ => {}
            }
        }
        loop {
            self.start(db);
            latest.changed().await.map_err(|_| Closed::Store)?;
            let synced = latest.borrow_and_update();
            if synced.through >= visible {
                return synced.result.clone();
            }
        }
    }

    /// Starts a sync unless one is running. It outlives the connection.
    fn start(self: &Arc<Self>, db: &Db) {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let (syncs, db) = (self.clone(), db.clone());
        tokio::spawn(async move {
            // Lets connections whose requests have arrived write first, and share this sync.
            tokio::task::yield_now().await;
            let through = db.inner().latest_sequence();
            let result = db.sync().await;
            // Before the result is sent: a reply that needs a later sync wakes up then, and starts it.
            syncs.is_running.store(false, Ordering::Release);
            syncs.latest.send_replace(Synced { through, result });
        });
    }
}
