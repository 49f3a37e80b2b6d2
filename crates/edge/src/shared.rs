//! State that all connections have in common.

use crate::follow::Replica;
use crate::health::Health;
use crate::http::Tails;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::origin::Allowed;
use crate::shared_syncs::SharedSyncs;
use crate::tls::Tls;
use crate::tokens::Tokens;
use crate::watchers::Watchers;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use terrane::{Durability, Error, Result};
use terrane_backup::Backup;
use terrane_tokio::{Db, Keyspace};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

/// A store and the state of its server, for all connections of both doors.
pub struct Shared {
    /// The store.
    pub db: Db,
    /// Durability of writes that ask for none.
    pub durability: Durability,
    /// Whether writes that ask for no durability are answered once they are backed up.
    pub replicated: bool,
    /// The backup, if the store is backed up.
    pub(crate) backup: Option<Backup>,
    /// The tokens that are accepted.
    pub tokens: Tokens,
    /// The certificate, if connections are encrypted.
    pub(crate) tls: Option<Tls>,
    /// The hosts and pages that are allowed.
    pub allowed: Arc<Allowed>,
    /// Bounds of requests, connections and memory.
    pub limits: Limits,
    /// Counters.
    pub metrics: Metrics,
    /// Syncs that replies wait for.
    pub(crate) syncs: Arc<SharedSyncs>,
    /// Databases and cursors of the door for Redis's protocol.
    pub(crate) resp: crate::resp::State,
    /// Expectation that writes succeed; errors of the store change it.
    pub health: Health,
    /// State of the replica, if the server is one.
    pub replica: Option<Arc<Replica>>,
    /// Watchers of the store's events.
    pub(crate) watchers: Arc<Watchers>,
    /// The newest changes, as lines.
    pub(crate) tails: Tails,
    /// Held to create a keyspace; shared by batches that rely on the absence of one.
    pub(crate) creations: RwLock<()>,
    /// Directory of checkpoints.
    pub(crate) checkpoints: Option<PathBuf>,
    /// Cancelled when the drain starts: a connection answers what it has read, and closes.
    pub stopping: CancellationToken,
    /// Cancelled to ask for a drain, as SIGTERM does.
    pub shutdown: CancellationToken,
    /// Cancelled when the drain has taken too long: connections are dropped.
    pub(crate) cut: CancellationToken,
    /// Time of the start.
    pub started: Instant,
}

impl Shared {
    /// Returns the keyspace of a name, and creates it if there is none.
    ///
    /// # Errors
    /// A malformed name, a closed store, or an I/O error.
    pub(crate) async fn create_keyspace(&self, name: &str) -> Result<Keyspace> {
        let _alone = self.creations.write().await;
        self.db.create_keyspace(name).await
    }

    /// Waits until a reply that has been made may leave. Returns at once unless writes are durable.
    ///
    /// # Errors
    /// The errors of [`SharedSyncs::wait`].
    pub(crate) async fn wait_durable(&self, has_written: bool) -> Result<()> {
        if self.durability != Durability::Sync {
            return Ok(());
        }
        self.syncs.wait(&self.db, has_written).await?;
        match self.replicated && has_written {
            true => self.wait_replicated().await,
            false => Ok(()),
        }
    }

    /// Waits until everything that is visible now is uploaded.
    ///
    /// # Errors
    /// A backup that has ended: what is visible is on this machine alone.
    pub(crate) async fn wait_replicated(&self) -> Result<()> {
        let Some(backup) = &self.backup else { return Ok(()) };
        let uploaded = backup.wait(self.db.inner().latest_sequence()).await;
        uploaded.map_err(|e| Error::io("upload", "the backup", 0, io::Error::other(e)))
    }

    /// Returns the reason why writes are refused, if another server continues the backup.
    pub(crate) fn fenced(&self) -> Option<String> {
        let backup = self.backup.as_ref().filter(|backup| backup.is_fenced())?;
        backup.status().fenced
    }
}
