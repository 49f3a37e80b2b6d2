//! trine-kv on OPFS: every call returns a promise.
//!
//! In a browser it leaves flushes and compactions to the application, and refuses a write when one is due.
//! The caller makes writes one after the other, since one that meets the flush of another is refused.

use crate::{ENTRY, KEY, MEMTABLE_BYTES, concatenated};
use std::ops::Bound;
use trine_kv::{
    Db, DbOptions, DurabilityMode, Error, KeyRange, MaintenanceBudget, WriteBatch, WriteOptions,
};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// An open store.
#[wasm_bindgen]
pub struct Store(Db);

#[wasm_bindgen]
impl Store {
    /// Opens the store in a folder.
    pub async fn open(folder: String, cache_bytes: usize) -> Result<Store, JsError> {
        let options = DbOptions {
            durability: DurabilityMode::Buffered,
            write_buffer_bytes: MEMTABLE_BYTES,
            // A full memtable is flushed, and not kept until there are four.
            max_immutable_memtables: 1,
            block_cache_bytes: cache_bytes,
            ..DbOptions::browser_persistent_at(&folder)
        };
        Ok(Self(Db::open(options).await?))
    }

    /// Writes all entries as one batch.
    pub async fn batch(&self, entries: Vec<u8>) -> Result<(), JsError> {
        Ok(self.write(&entries).await?)
    }

    /// Writes one entry.
    pub async fn put(&self, key: Vec<u8>, value: Vec<u8>) -> Result<(), JsError> {
        Ok(self.write(&[key, value].concat()).await?)
    }

    /// The value of a key.
    pub async fn get(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, JsError> {
        Ok(self.0.get(&key).await?)
    }

    /// The values of keys, all of which exist.
    #[wasm_bindgen(js_name = getMany)]
    pub async fn get_many(&self, keys: Vec<u8>) -> Result<Vec<u8>, JsError> {
        let keys: Vec<&[u8]> = keys.chunks_exact(KEY).collect();
        concatenated(self.0.get_many(&keys).await?)
    }

    /// The first entries from a key on.
    pub async fn scan(&self, from: Vec<u8>, count: usize) -> Result<Vec<u8>, JsError> {
        let range = KeyRange { start: Bound::Included(from), end: Bound::Unbounded };
        let mut entries = Vec::with_capacity(count * ENTRY);
        let mut found = self.0.range(&range).await?;
        while entries.len() < count * ENTRY {
            let Some(entry) = found.next().await? else { break };
            entries.extend_from_slice(&entry.key);
            entries.extend_from_slice(&entry.value);
        }
        Ok(entries)
    }

    /// Closes the store.
    pub async fn close(self) -> Result<(), JsError> {
        Ok(self.0.close().await?)
    }
}

impl Store {
    /// Writes entries as one batch. While the store refuses it because maintenance is due, runs a unit of that and
    /// tries again.
    async fn write(&self, entries: &[u8]) -> Result<(), Error> {
        loop {
            let mut batch = WriteBatch::new();
            for entry in entries.chunks_exact(ENTRY) {
                batch.put(&entry[..KEY], &entry[KEY..]);
            }
            let refused = match self.0.write(batch, WriteOptions::default()).await {
                Err(refused @ Error::RuntimeBusy { .. }) => refused,
                written => return written.map(drop),
            };
            let unit = MaintenanceBudget::single_unit();
            if !self.0.run_maintenance_with_budget(unit).await?.made_progress() {
                return Err(refused);
            }
        }
    }
}
