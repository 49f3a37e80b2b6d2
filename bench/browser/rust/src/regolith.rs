//! regolith on its pool of access handles: every call but `open` is synchronous.

use crate::{ENTRY, KEY, MEMTABLE_BYTES, concatenated};
use regolith::env::opfs::{OpfsEnv, OpfsMode, OpfsOptions};
use regolith::{Db, Options, WriteBatch};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// An open store.
#[wasm_bindgen]
pub struct Store(Db);

#[wasm_bindgen]
impl Store {
    /// Opens the store in a folder, with regolith's own profile for browsers and more memory.
    pub async fn open(folder: String, cache_bytes: usize) -> Result<Store, JsError> {
        let pool = OpfsOptions { force_mode: Some(OpfsMode::Sah), ..OpfsOptions::default() };
        let files = OpfsEnv::mount(&folder, pool).await?;
        let options = Options::wasm()
            .env(files.as_env())
            .write_buffer_size(MEMTABLE_BYTES)
            .block_cache_size(cache_bytes);
        Ok(Self(Db::open(files.db_path(), options)?))
    }

    /// Writes all entries as one batch.
    pub fn batch(&self, entries: &[u8]) -> Result<(), JsError> {
        let mut batch = WriteBatch::new();
        for entry in entries.chunks_exact(ENTRY) {
            batch.put(&entry[..KEY], &entry[KEY..]);
        }
        Ok(self.0.write(batch)?)
    }

    /// Writes one entry.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), JsError> {
        Ok(self.0.put(key, value)?)
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, JsError> {
        Ok(self.0.get(key)?)
    }

    /// The values of keys, all of which exist.
    #[wasm_bindgen(js_name = getMany)]
    pub fn get_many(&self, keys: &[u8]) -> Result<Vec<u8>, JsError> {
        let keys: Vec<&[u8]> = keys.chunks_exact(KEY).collect();
        concatenated(self.0.multi_get(&keys)?)
    }

    /// The first entries from a key on.
    pub fn scan(&self, from: &[u8], count: usize) -> Result<Vec<u8>, JsError> {
        let mut entries = Vec::with_capacity(count * ENTRY);
        let mut iterator = self.0.iter();
        iterator.seek(from);
        while let (Some(key), Some(value)) = (iterator.key(), iterator.value()) {
            entries.extend_from_slice(key);
            entries.extend_from_slice(value);
            if entries.len() == count * ENTRY {
                break;
            }
            iterator.next();
        }
        iterator.status()?;
        Ok(entries)
    }

    /// Closes the store and its files.
    pub fn close(self) -> Result<(), JsError> {
        Ok(self.0.close()?)
    }
}
