//! A base: the tables and the version set of a pin, uploaded.
//!
//! 1. Each table is verified and its checksum computed, unless this writer has done so before. Once is enough, since no
//!    number is given to two tables.
//! 2. Tables that the newest manifest names under the same number and checksum need no upload. Other objects do not
//!    count, since a former writer may remove what its manifests do not name.
//! 3. The other tables are uploaded, long ones in parts. The base follows, which names all tables.

use crate::error::{Error, Result};
use crate::format::{Base, BaseInfo, TableRef};
use crate::names::Name;
use crate::place::{Object, Place};
use crate::progress::Progress;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{MultipartUpload, PutPayload};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::entry::Millis;
use terrane::storage::{File, read_exact_at};
use terrane::{Pin, PinnedTable};
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a part of an upload, unless the table would have too many.
const PART_BYTES: u64 = 8 << 20;
/// The most parts of an object: S3 takes 10,000.
const PARTS_MAX: u64 = 9_000;
/// Bytes read at once for a checksum.
const READ_BYTES: u64 = 1 << 20;
/// Tables uploaded at once.
const UPLOADS: usize = 4;

/// Tables that need no upload.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Tables that this writer has found or uploaded, by number.
    own: Arc<Mutex<HashMap<u64, TableRef>>>,
    /// Tables that the manifest of a former writer names, which this writer continues.
    named: Arc<HashSet<TableRef>>,
}

impl Known {
    /// Starts with the tables that a former writer's manifest names.
    pub fn named(tables: HashSet<TableRef>) -> Self {
        Known { named: Arc::new(tables), ..Known::default() }
    }

    /// Forgets all but these tables.
    pub fn keep(&mut self, tables: &HashSet<TableRef>) {
        self.named = Arc::default();
        self.own().retain(|_, table| tables.contains(table));
    }

    fn own(&self) -> MutexGuard<'_, HashMap<u64, TableRef>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An uploaded base.
pub(crate) struct Built {
    pub info: BaseInfo,
    pub tables: HashSet<TableRef>,
}

/// Uploads the base of a pin, which was taken at `time`.
pub(crate) async fn build(
    place: Place,
    pin: Arc<Pin>,
    time: Millis,
    known: Known,
    progress: Arc<Progress>,
) -> Result<Built> {
    let lineage = pin.lineage().0;
    let total: u64 = pin.tables().map(|table| table.bytes()).sum();
    progress.base_done.store(0, Ordering::Relaxed);
    progress.base_total.store(total.max(1), Ordering::Relaxed);
    let upload = async |table: PinnedTable| {
        let own = known.own().get(&table.number()).copied();
        let uploaded = match own {
            Some(own) => own,
            None => upload(&place, lineage, &known.named, table).await?,
        };
        known.own().insert(uploaded.number, uploaded);
        progress.base_done.fetch_add(uploaded.bytes, Ordering::Relaxed);
        Ok::<_, Error>(uploaded)
    };
    let pinned: Vec<_> = pin.tables().collect();
    let uploads = stream::iter(pinned).map(upload).buffer_unordered(UPLOADS);
    let mut tables: Vec<TableRef> = uploads.try_collect().await?;
    tables.sort_unstable_by_key(|table| table.number);
    let named = tables.iter().copied().collect();
    let version_set = pin.version_set().encode();
    let bytes = Bytes::from(Base { tables, version_set }.encode(lineage));
    let info = BaseInfo {
        since: 0,
        start: pin.start(),
        last: pin.last(),
        time,
        bytes: bytes.len() as u64,
        checksum: terrane::coding::checksum(&bytes, 0),
    };
    let name = Name::Base { last: info.last, checksum: info.checksum };
    place.put(Object { lineage, name }, bytes).await?;
    progress.base_total.store(0, Ordering::Relaxed);
    Ok(Built { info, tables: named })
}

/// Uploads a table, unless it is among those that are `named`.
async fn upload(
    place: &Place,
    lineage: u64,
    named: &HashSet<TableRef>,
    table: PinnedTable,
) -> Result<TableRef> {
    let (number, bytes) = (table.number(), table.bytes());
    let (checksum, file) = blocking(move || {
        table.verify()?;
        let file = table.open()?;
        let mut sum = Xxh3::new();
        for at in (0..bytes).step_by(READ_BYTES as usize) {
            sum.update(&read(&*file, at, READ_BYTES.min(bytes - at))?);
        }
        Ok::<_, terrane::Error>((sum.digest(), Kept { file, _table: table }))
    })
    .await?;
    let found = TableRef { number, bytes, checksum };
    if named.contains(&found) {
        return Ok(found);
    }
    let object = Object { lineage, name: Name::Table { number, checksum } };
    let file = Arc::new(file);
    if bytes <= PART_BYTES {
        let content = blocking(move || read(&*file.file, 0, bytes)).await?;
        place.put(object, content.into()).await?;
        return Ok(found);
    }
    let mut parts = place.begin_parts(object).await?;
    let written = write_parts(place, object, &mut *parts, &file, bytes).await;
    if written.is_err() {
        // Parts that are left are paid for. If this fails, only a rule of the bucket removes them.
        let _ = parts.abort().await;
    }
    written.map(|()| found)
}

/// A table's file, and the pinned table that keeps it.
struct Kept {
    file: Arc<dyn File>,
    _table: PinnedTable,
}

async fn write_parts(
    place: &Place,
    object: Object,
    parts: &mut dyn MultipartUpload,
    file: &Arc<Kept>,
    bytes: u64,
) -> Result<()> {
    let part_bytes = PART_BYTES.max(bytes.div_ceil(PARTS_MAX));
    let mut at = 0;
    while at < bytes {
        let len = part_bytes.min(bytes - at);
        let file = file.clone();
        let part = blocking(move || read(&*file.file, at, len)).await?;
        let put = parts.put_part(PutPayload::from(part)).await;
        put.map_err(|e| Error::objects("write a part of", object, &e))?;
        place.count_part(len);
        at += len;
    }
    let completed = parts.complete().await;
    completed.map(|_| ()).map_err(|e| Error::objects("complete", object, &e))
}

fn read(file: &dyn File, at: u64, bytes: u64) -> terrane::Result<Vec<u8>> {
    let mut content = vec![0; bytes as usize];
    read_exact_at(file, &mut content, at)?;
    Ok(content)
}

/// Runs a call that may wait for files: in the model right here, so that a seed plays the same schedule each time.
#[cfg(test)]
pub(crate) async fn blocking<T>(call: impl FnOnce() -> T) -> T {
    call()
}

/// Runs a call that may wait for files.
#[cfg(not(test))]
pub(crate) async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(call).await {
        Ok(done) => done,
        Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
        // The runtime shuts down.
        Err(_) => std::future::pending().await,
    }
}
