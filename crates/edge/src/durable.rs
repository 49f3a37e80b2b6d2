//! Replies that wait for a sync, in a server whose writes are durable.
//!
//! 1. Connections write as if writes were buffered, at once.
//! 2. Before a reply leaves, all that was visible when it was made is synced: the connection's own writes, and those of
//!    others that the reply may show. So no client sees what a power cut takes back.
//! 3. A sync serves all that wait when it starts. Those that come meanwhile share the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::entry::Seq;
use terrane::{Closed, Result};
use terrane_tokio::Db;
use tokio::sync::watch;

/// The syncs of a server.
pub(crate) struct Durable {
    latest: watch::Sender<Synced>,
    is_running: AtomicBool,
}

/// The latest sync.
#[derive(Clone)]
struct Synced {
    /// The last sequence number that was visible when it started.
    through: Seq,
    result: Result<()>,
}

impl Default for Durable {
    fn default() -> Self {
        let latest = watch::Sender::new(Synced { through: 0, result: Ok(()) });
        Durable { latest, is_running: AtomicBool::new(false) }
    }
}

impl Durable {
    /// Waits until all that is visible now is durable. Once a sync has failed nothing more becomes durable: then only
    /// a connection that `has_written` fails.
    ///
    /// # Errors
    /// A sync that failed; what was written may be lost.
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

    /// Starts a sync, unless one is running. It runs to its end also if the connection closes.
    fn start(self: &Arc<Self>, db: &Db) {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let (durable, db) = (self.clone(), db.clone());
        tokio::spawn(async move {
            // Connections whose requests have arrived write first, and share it.
            tokio::task::yield_now().await;
            let through = db.inner().latest_sequence();
            let result = db.sync().await;
            // First, so that whoever needs another one after this can start it.
            durable.is_running.store(false, Ordering::Release);
            durable.latest.send_replace(Synced { through, result });
        });
    }
}
