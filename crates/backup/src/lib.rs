//! Continuous backup of a Terrane store to object storage (S3, Google Cloud Storage, Azure, a directory), and restore.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let (path, restored) = (dir.path().join("notes"), dir.path().join("restored"));
//! # let url = format!("file://{}/backup", dir.path().display());
//! use terrane::{Db, Durability, Options};
//! use terrane_backup::{At, Backup, open, restore};
//!
//! let db = Db::open(&path, Options::default().feed_bytes(256 << 20))?;
//! let (objects, prefix) = open(&url)?; // such as s3://bucket/notes
//! let backup = Backup::start(&db, objects.clone(), prefix.clone(), Default::default()).await?;
//!
//! let seq = db.default_keyspace().put("key", "value", Durability::Sync)?;
//! backup.wait(seq).await?;
//! backup.stop().await;
//!
//! restore(objects, prefix, &restored, At::Newest).await?;
//! let restored = Db::open(&restored, Options::default())?;
//! assert_eq!(restored.default_keyspace().get("key")?, Some(b"value".to_vec()));
//! # Ok(())
//! # }
//! ```
//!
//! * `writer` - uploads tables and logs, and names them in manifests.
//! * `claim` - one writer at a time; `record` - the claims of a store.
//! * `base` - upload of the tables of a moment.
//! * `retention` - removal of old objects.
//! * `restore` - a store from a backup, in a directory (`target`); `points` finds the moments that can be restored,
//!   `listing` lists them.
//! * `format`, `names` - the objects; FORMAT.md describes them.
//! * `place` - requests to the object store; `address` opens one by a URL.
//!
//! A store that is backed up should retain logs for the change feed
//! ([`Options::feed_bytes`](field@terrane::Options::feed_bytes)): they bound how long uploads may fail before a fresh
//! base must be made.

mod address;
mod base;
mod claim;
mod error;
#[doc(hidden)]
pub mod format;
mod listing;
#[cfg(test)]
mod model;
mod names;
mod options;
mod place;
mod points;
mod progress;
mod record;
mod restore;
mod retention;
mod rules;
mod target;
mod time;
mod writer;

pub use address::{directory, open};
pub use error::{Error, Result};
pub use listing::{Backups, LastWriter, Range, list};
pub use options::Options;
pub use points::{At, Moment};
pub use progress::{State, Status};
pub use restore::{Restored, Salvage, restore, salvage};
pub use time::utc;

use object_store::ObjectStore;
use object_store::path::Path;
use place::Place;
use progress::Progress;
use std::sync::Arc;
use std::time::Duration;
use terrane::Db;
use terrane::entry::Seq;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use writer::Writer;

/// The first pause after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A running backup of a store. Dropping it ends the backup without a last upload.
pub struct Backup {
    db: Db,
    place: Place,
    progress: Arc<Progress>,
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Backup {
    /// Starts to back up a store into a folder of an object store. From then on this writer alone continues the backups
    /// in the folder: a former one is fenced.
    ///
    /// # Errors
    /// Unless [`Options::take_over`] is set, [`Error::NotOwner`] for a folder whose backups another store has written
    /// last, except one that this store was restored from, for a store that lacks batches of its own backup, or whose
    /// newest manifest there is damaged, and for a folder that no longer has the store's own backup;
    /// [`Error::Fenced`] if another writer starts meanwhile; an interval that [`Options::check`] refuses; a folder that
    /// cannot be listed, read or written; an object store that creates an object twice; objects of a later release; a
    /// closed store.
    pub async fn start(
        db: &Db,
        objects: Arc<dyn ObjectStore>,
        prefix: Path,
        options: Options,
    ) -> Result<Backup> {
        options.check()?;
        let (place, progress) = (Place::new(objects, prefix), Arc::new(Progress::new()));
        let writer = Writer::start(db.clone(), place.clone(), options, progress.clone()).await?;
        let (stopping, stop) = watch::channel(false);
        let task = tokio::spawn(run(writer, stop));
        Ok(Backup { db: db.clone(), place, progress, stopping, task })
    }

    /// Waits until batches through `sequence` are uploaded. Starts an upload at once, which all waiters share.
    ///
    /// # Errors
    /// [`Error::Fenced`], [`Error::Stopped`]: the batches are not, and will not be, uploaded.
    pub async fn wait(&self, sequence: Seq) -> Result<()> {
        self.progress.wait(sequence).await
    }

    /// Returns the state of the backup.
    #[must_use]
    pub fn status(&self) -> Status {
        self.progress.status(self.db.latest_sequence(), self.place.counts())
    }

    /// Returns the state, and its changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.progress.state.subscribe()
    }

    /// Returns whether another writer continues the backup. Cheaper than [`Backup::status`].
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.progress.is_fenced()
    }

    /// Uploads the batches that are not uploaded yet, unless that fails, and ends the backup.
    pub async fn stop(&self) {
        self.stopping.send_replace(true);
        self.progress.wait_for_end().await;
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Uploads until the backup is stopped or fenced, or the store closed.
async fn run(mut writer: Writer, mut stop: watch::Receiver<bool>) {
    let mut pause = PAUSE;
    let ended = loop {
        let is_stopping = *stop.borrow();
        match upload(&mut writer).await {
            Ok(()) if is_stopping && writer.has_base() => break Error::Stopped,
            Ok(()) => pause = PAUSE,
            Err(e) => {
                if is_final(&e) {
                    break e;
                }
                writer.progress.failed(&e);
                if is_stopping {
                    break e;
                }
                let _ = timeout(pause, stop.wait_for(|stop| *stop)).await;
                pause = (pause * 2).min(PAUSE_MAX);
                continue;
            }
        }
        tokio::select! {
            () = sleep(writer.pause()) => {}
            () = writer.progress.wanted.notified(), if !is_stopping => {}
            _ = stop.wait_for(|stop| *stop), if !is_stopping => {}
        }
    };
    writer.progress.ended(ended);
}

/// Uploads until nothing more is due.
async fn upload(writer: &mut Writer) -> Result<()> {
    while writer.step().await? {}
    Ok(())
}

/// Whether a failure ends the backup.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Fenced { .. } => true,
        Error::Store(error) => matches!(error.kind(), terrane::ErrorKind::Closed(_)),
        _ => false,
    }
}
