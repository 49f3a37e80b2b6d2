//! The store, as the worker calls it.

use crate::fault::to_js;
use crate::packed::{Strings, batch, put_missing, put_string};
use crate::scan::Scan;
use std::ops::Bound;
use std::sync::Arc;
use terrane::driver::SliceDriver;
use terrane::storage::File;
use terrane::storage::volume::{Volume, VolumeOptions};
use terrane::{Db, Durability, Error, Keyspace, Options, Range, Result};
use terrane_opfs::OpfsFile;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::FileSystemSyncAccessHandle;

/// What a page may choose, as JSON; what is left out has the browser's default.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Choices {
    memtable_bytes: Option<u64>,
    cache_bytes: Option<u64>,
}

/// An open store on OPFS.
#[wasm_bindgen]
pub struct Store {
    db: Db,
    keyspace: Keyspace,
}

#[wasm_bindgen]
impl Store {
    /// Opens the store that lies on these handles, in the order of the volume's backing files, or
    /// creates it if they are empty.
    ///
    /// # Errors
    /// Every call answers `{ code, message }`.
    pub fn open(handles: Vec<FileSystemSyncAccessHandle>, options: &str) -> Result<Store, JsValue> {
        open(handles, options).map_err(|e| to_js(&e))
    }

    /// Commits a packed batch. It is on the medium after the next [`Store::sync`].
    ///
    /// # Errors
    /// A malformed batch, a full or failing medium.
    pub fn write(&self, packed: &[u8]) -> Result<(), JsValue> {
        let written = batch(packed, self.keyspace.id())
            .and_then(|batch| self.db.write(batch, Durability::Buffered));
        written.map_err(|e| to_js(&e))
    }

    /// The values of packed keys, packed.
    ///
    /// # Errors
    /// Damage or a failing medium.
    pub fn get_many(&self, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        self.values(keys).map_err(|e| to_js(&e))
    }

    /// Begins a scan of at most `limit` entries; a bound left out is open.
    ///
    /// # Errors
    /// A closed store.
    pub fn scan(
        &self,
        from: Option<Vec<u8>>,
        from_inclusive: bool,
        to: Option<Vec<u8>>,
        to_inclusive: bool,
        reverse: bool,
        limit: f64,
    ) -> Result<Scan, JsValue> {
        let range = Range { from: bound(from, from_inclusive), to: bound(to, to_inclusive) };
        let inner = self.keyspace.scan(range).map_err(|e| to_js(&e))?;
        Ok(Scan::new(inner, reverse, limit))
    }

    /// Puts every earlier write on the medium.
    ///
    /// # Errors
    /// A failing medium; the log is closed then.
    pub fn sync(&self) -> Result<(), JsValue> {
        self.db.sync().map_err(|e| to_js(&e))
    }

    /// Writes memory to tables.
    ///
    /// # Errors
    /// A full or failing medium.
    pub fn flush(&self) -> Result<(), JsValue> {
        self.db.flush().map_err(|e| to_js(&e))
    }

    /// Does about `bytes` bytes of jobs; answers whether more is left.
    ///
    /// # Errors
    /// What the job met; it is tried again later.
    pub fn run_jobs(&self, bytes: u32) -> Result<bool, JsValue> {
        self.db.run_jobs(u64::from(bytes)).map_err(|e| to_js(&e))
    }

    /// Shape, room and counters, as JSON.
    ///
    /// # Errors
    /// A closed store.
    pub fn stats(&self) -> Result<String, JsValue> {
        json(self.db.stats())
    }

    /// Verifies everything stored; the report, as JSON.
    ///
    /// # Errors
    /// A closed store. Damage is no error here: the report names it.
    pub fn check(&self) -> Result<String, JsValue> {
        json(self.db.check())
    }

    /// Syncs and closes the store, and the handles with it.
    ///
    /// # Errors
    /// A failing medium.
    pub fn close(self) -> Result<(), JsValue> {
        self.db.close().map_err(|e| to_js(&e))
    }
}

impl Store {
    fn values(&self, keys: &[u8]) -> Result<Vec<u8>> {
        let mut values = Vec::new();
        for key in Strings::new(keys) {
            match self.keyspace.get(key?)? {
                Some(value) => put_string(&mut values, &value),
                None => put_missing(&mut values),
            }
        }
        Ok(values)
    }
}

/// The names of the backing files, for messages.
const BACKINGS: [&str; 3] = ["journal", "log", "data"];

fn open(handles: Vec<FileSystemSyncAccessHandle>, options: &str) -> Result<Store> {
    let choices: Choices = serde_json::from_str(options).map_err(|e| Error::InvalidArgument {
        what: "options",
        expected: "the engine's options".to_owned(),
        found: e.to_string(),
    })?;
    let defaults = Options::small();
    let options = Options {
        memtable_bytes: choices.memtable_bytes.unwrap_or(defaults.memtable_bytes),
        cache_bytes: choices.cache_bytes.unwrap_or(defaults.cache_bytes),
        ..defaults
    };
    let names = BACKINGS.into_iter().chain(std::iter::repeat("data"));
    let backings = handles.into_iter().zip(names).map(|(handle, name)| {
        let file: Arc<dyn File> = Arc::new(OpfsFile::new(name.to_owned(), handle));
        file
    });
    let name = "the store".to_owned();
    let volume = Volume::open(backings.collect(), VolumeOptions { name, ..Default::default() })?;
    let db = Db::open_storage(Arc::new(volume), options, Arc::new(SliceDriver::default()))?;
    Ok(Store { keyspace: db.default_keyspace(), db })
}

fn bound(key: Option<Vec<u8>>, inclusive: bool) -> Bound<Vec<u8>> {
    match key {
        None => Bound::Unbounded,
        Some(key) if inclusive => Bound::Included(key),
        Some(key) => Bound::Excluded(key),
    }
}

/// An answer of the engine as JSON.
fn json(answer: Result<impl serde::Serialize>) -> Result<String, JsValue> {
    let text = answer.and_then(|answer| {
        serde_json::to_string(&answer).map_err(|e| Error::InvalidArgument {
            what: "answer",
            expected: "what JSON can say".to_owned(),
            found: e.to_string(),
        })
    });
    text.map_err(|e| to_js(&e))
}
