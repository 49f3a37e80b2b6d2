//! The backup of the store: its place, and the replies that wait for it.
//!
//! 1. A server whose backup another one continues refuses writes, and is not ready. No backup would have the writes.
//! 2. Replies to replicated writes wait until the writes are uploaded. Replies that wait together share an upload.

use object_store::ObjectStore;
use object_store::path::Path;
use std::sync::Arc;
use terrane_backup::{Backup, Error, Options};

/// Place of a backup.
#[derive(Clone, Debug)]
pub struct Target {
    /// The object store.
    pub objects: Arc<dyn ObjectStore>,
    /// The folder in it.
    pub prefix: Path,
    /// Interval, retention and sizes.
    pub options: Options,
}

impl Target {
    /// Starts the backup of a store.
    pub(crate) async fn back_up(self, db: &terrane::Db) -> Result<Backup, Error> {
        Backup::start(db, self.objects, self.prefix, self.options).await
    }
}
