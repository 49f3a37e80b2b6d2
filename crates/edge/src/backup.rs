//! The backup of the store: where it is written, and what waits for it.
//!
//! 1. A server whose backup another one continues takes no more writes, and is not ready. Whoever writes to it would
//!    lose what is written with its machine.
//! 2. Replies to replicated writes wait until the writes are uploaded. Those that wait together share an upload.

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
    pub(crate) async fn start(self, db: &terrane::Db) -> Result<Backup, Error> {
        Backup::start(db, self.objects, self.prefix, self.options).await
    }
}
