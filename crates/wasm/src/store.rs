//! The store, as the worker calls it. Keyspaces and snapshots go by numbers that the caller gives
//! them, so that it can name them before an answer has come; 0 is the default keyspace, and no
//! snapshot.

use crate::fault::{NOT_FOUND, fault};
use crate::listen::{listen, listener};
use crate::packed::{List, Strings, batch, range};
use crate::scan::Scan;
use crate::steps::Steps;
use crate::tree::{choose, policy};
use crate::{answer, json, place, refused};
use js_sys::Function;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use terrane::db::Pending;
use terrane::driver::SliceDriver;
use terrane::sorted::SortedMap;
use terrane::{Closed, Db, Durability, Error, Keyspace, Lookup, Options, Result, Snapshot};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::FileSystemSyncAccessHandle;

/// Numbers the stores of this module.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// An open store.
#[wasm_bindgen]
pub struct Store {
    number: u32,
    db: Db,
    keyspaces: SortedMap<u32, Keyspace>,
    snapshots: SortedMap<u32, Snapshot>,
    /// The key of a get, and its value behind the length: JavaScript writes the one and reads the
    /// other where they lie.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// A value's memory serves again if it is no more than this.
const SPARE_BYTES: usize = 1 << 20;

#[wasm_bindgen]
impl Store {
    /// Opens the store that lies on these handles, in the order of the volume's backing files, or
    /// creates it if they are empty; without handles, one in memory. What is left out has the
    /// browser's default. The policy is that of keyspaces created later and, unless `keep_policy`,
    /// of the default one from now on.
    ///
    /// # Errors
    /// Every call answers `{ code, message }`.
    pub fn open(
        handles: Vec<FileSystemSyncAccessHandle>,
        create: bool,
        error_if_exists: bool,
        keep_policy: bool,
        memtable_bytes: Option<u32>,
        cache_bytes: Option<u32>,
        policy: Option<String>,
    ) -> Result<Store, JsValue> {
        let defaults = Options::small();
        let memtable_bytes = memtable_bytes.map_or(defaults.memtable_bytes, u64::from);
        let cache_bytes = cache_bytes.map_or(defaults.cache_bytes, u64::from);
        // Half of the memory is for memtables, and at least two of them.
        let memory_bytes = defaults.memory_bytes.max(2 * cache_bytes.max(2 * memtable_bytes));
        let options = Options {
            create,
            error_if_exists,
            memtable_bytes,
            memory_bytes,
            cache_bytes,
            ..defaults
        };
        answer(open(handles, options, policy, keep_policy))
    }

    /// Commits a packed batch. It is durable after the next [`Store::sync`]. Returns its sequence,
    /// which a number holds as long as the store has taken fewer than 2^53 batches.
    ///
    /// # Errors
    /// A malformed batch, a full or failing medium.
    pub fn write(&self, packed: Vec<u8>) -> Result<f64, JsValue> {
        let batch = batch(packed, &self.keyspaces);
        let written = batch.and_then(|batch| self.db.write(batch, Durability::Buffered));
        answer(written.map(|sequence| sequence as f64))
    }

    /// Where the key of a get goes: so many bytes, until more are asked for.
    pub fn key_room(&mut self, bytes: u32) -> *mut u8 {
        self.key.resize(bytes as usize, 0);
        self.key.as_mut_ptr()
    }

    /// Where the value of the key of `length` bytes that was written lies until the next call, behind
    /// its length (`u32`); 0 if there is none.
    ///
    /// # Errors
    /// Damage or a failing medium.
    pub fn get(&mut self, keyspace: u32, snapshot: u32, length: u32) -> Result<*const u8, JsValue> {
        let mut value = std::mem::take(&mut self.value);
        let found = self.value(keyspace, snapshot, length, &mut value);
        self.value = value;
        answer(found.map(|found| if found { self.value.as_ptr() } else { std::ptr::null() }))
    }

    /// How the value of a key is found, step by step, as JSON.
    ///
    /// # Errors
    /// Damage or a failing medium.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn trace(&self, keyspace: u32, snapshot: u32, key: &[u8]) -> Result<JsValue, JsValue> {
        let traced = self.of(keyspace).and_then(|keyspace| match self.held(snapshot)? {
            None => keyspace.trace_get(key),
            Some(snapshot) => snapshot.trace_get(keyspace, key),
        });
        json(traced.map(|(_, trace)| trace))
    }

    /// How a scan of a packed range comes to its first entry, step by step, as JSON.
    ///
    /// # Errors
    /// Damage or a failing medium.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn trace_scan(
        &self,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
    ) -> Result<JsValue, JsValue> {
        json(self.of(keyspace).and_then(|keyspace| match self.held(snapshot)? {
            None => keyspace.trace_seek(range(within)?, reverse),
            Some(snapshot) => snapshot.trace_seek(keyspace, range(within)?, reverse),
        }))
    }

    /// The values of packed keys, packed.
    ///
    /// # Errors
    /// Damage or a failing medium.
    pub fn get_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        answer(self.values(keyspace, snapshot, keys))
    }

    /// Begins a scan of at most `limit` entries of a packed range.
    ///
    /// # Errors
    /// A closed store.
    pub fn scan(
        &self,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
    ) -> Result<Scan, JsValue> {
        let inner = self.of(keyspace).and_then(|keyspace| match self.held(snapshot)? {
            None => keyspace.cursor(range(within)?),
            Some(snapshot) => snapshot.cursor(keyspace, range(within)?),
        });
        answer(inner.map(|inner| Scan::new(inner, reverse, limit)))
    }

    /// Holds a picture of the store as it is now.
    pub fn snapshot(&mut self, number: u32) {
        self.snapshots.insert(number, self.db.snapshot());
    }

    /// Lets a snapshot go.
    pub fn release(&mut self, snapshot: u32) {
        self.snapshots.remove(&snapshot);
    }

    /// Numbers the keyspace of this name, and gives it the policy of these options, if there are
    /// any. Returns the engine's id of it, by which [`Store::keyspace_again`] finds it.
    ///
    /// # Errors
    /// None of that name while `create` is off, a bad policy, a failing medium.
    pub fn keyspace(
        &mut self,
        number: u32,
        name: &str,
        create: bool,
        options: Option<String>,
    ) -> Result<u32, JsValue> {
        if !create && !self.db.keyspaces().iter().any(|other| other == name) {
            let message = format!("the store has no keyspace \"{name}\"");
            return Err(fault(NOT_FOUND, &message));
        }
        let opened = (|| {
            let chosen = options.as_deref().map(policy).transpose()?;
            let keyspace = self.db.keyspace(name)?;
            if let Some(chosen) = chosen {
                choose(&keyspace, &chosen)?;
            }
            let id = keyspace.id().0;
            self.keyspaces.insert(number, keyspace);
            Ok(id)
        })();
        answer(opened)
    }

    /// Numbers the keyspace of this id, if the store still has it: another of the same name is not
    /// it.
    ///
    /// # Errors
    /// A closed store.
    pub fn keyspace_again(&mut self, number: u32, id: u32) -> Result<(), JsValue> {
        for name in self.db.keyspaces() {
            let keyspace = answer(self.db.keyspace(&name))?;
            if keyspace.id().0 == id {
                self.keyspaces.insert(number, keyspace);
            }
        }
        Ok(())
    }

    /// The keyspaces' names by the engine's numbers of them, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn keyspaces(&self) -> Result<JsValue, JsValue> {
        let names = self.db.keyspaces();
        let named = |name: String| Ok((self.db.keyspace(&name)?.id(), name));
        json(names.into_iter().map(named).collect::<Result<Vec<_>>>())
    }

    /// Removes a keyspace with all it holds; answers whether there was one.
    ///
    /// # Errors
    /// The default keyspace, or a failing medium.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool, JsValue> {
        answer(self.db.drop_keyspace(name))
    }

    /// Removes what recovery has set aside; returns how many bytes that were.
    ///
    /// # Errors
    /// A failing medium.
    pub fn drop_set_aside(&self) -> Result<f64, JsValue> {
        answer(self.db.drop_set_aside().map(|bytes| bytes as f64))
    }

    /// Has `tell` called with each event, as JSON, or nobody.
    pub fn listen(&self, tell: Option<Function>) {
        listen(self.number, tell);
    }

    /// Puts every earlier write on the medium.
    ///
    /// # Errors
    /// A failing medium; the log is closed then.
    pub fn sync(&self) -> Result<(), JsValue> {
        answer(self.db.sync())
    }

    /// Writes memory to tables.
    ///
    /// # Errors
    /// A closed store; a full or failing medium is met at a step.
    pub fn flush(&self) -> Result<Steps, JsValue> {
        answer(self.db.begin_flush().map(|flush| self.pending(flush)))
    }

    /// Does about `bytes` bytes of jobs; answers whether more is left.
    ///
    /// # Errors
    /// What the job met; it is tried again later.
    pub fn run_jobs(&self, bytes: u32) -> Result<bool, JsValue> {
        answer(self.db.run_jobs(u64::from(bytes)))
    }

    /// Shape, room and counters, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        json(self.db.stats())
    }

    /// Verifies everything stored; the report, as JSON.
    ///
    /// # Errors
    /// A closed store. Damage is no error here: the report names it.
    pub fn check(&self) -> Result<Steps, JsValue> {
        answer(self.db.begin_check().map(Steps::check))
    }

    /// Begins to put the store, as it is now, onto the handles of a place that holds none: one
    /// handle makes a volume in a single file.
    ///
    /// # Errors
    /// A place that is taken, a full or failing medium.
    pub fn checkpoint(&self, handles: Vec<FileSystemSyncAccessHandle>) -> Result<Steps, JsValue> {
        answer(place::volume(handles).and_then(|target| Steps::copy(&self.db, target, None)))
    }

    /// The store, as it is now, as the bytes of a volume in a single file.
    ///
    /// # Errors
    /// Not enough memory, damage, a failing medium.
    pub fn bytes(&self) -> Result<Steps, JsValue> {
        answer(place::bytes(&self.db))
    }

    /// Syncs and closes the store, and the handles with it.
    ///
    /// # Errors
    /// A failing medium.
    pub fn close(self) -> Result<(), JsValue> {
        listen(self.number, None);
        answer(self.db.close())
    }
}

impl Store {
    /// The keyspace of that number.
    pub(crate) fn of(&self, number: u32) -> Result<&Keyspace> {
        self.keyspaces.get(&number).ok_or(Error::Closed(Closed::Keyspace))
    }

    /// Waiting for a flush or a compaction, step by step.
    pub(crate) fn pending(&self, pending: Pending) -> Steps {
        Steps::pending(&self.db, pending)
    }

    /// The snapshot of that number; none for 0.
    fn held(&self, number: u32) -> Result<Option<&Snapshot>> {
        match number {
            0 => Ok(None),
            _ => self.snapshots.get(&number).map(Some).ok_or(Error::Closed(Closed::Snapshot)),
        }
    }

    fn lookup(&self, keyspace: u32, snapshot: u32, keys: usize) -> Result<Lookup<'_>> {
        let keyspace = self.of(keyspace)?;
        match self.held(snapshot)? {
            None => keyspace.lookup(keys),
            Some(snapshot) => snapshot.lookup(keyspace, keys),
        }
    }

    fn value(&self, keyspace: u32, snapshot: u32, key: u32, out: &mut Vec<u8>) -> Result<bool> {
        let key = self.key.get(..key as usize).ok_or_else(|| {
            refused("key", "at most the room that was asked for", format!("{key} bytes"))
        })?;
        out.clear();
        out.shrink_to(SPARE_BYTES);
        out.extend_from_slice(&[0; 4]);
        let found = self.lookup(keyspace, snapshot, 1)?.get_into(key, out)?;
        if let Some((length, value)) = out.split_first_chunk_mut() {
            // Values are far shorter than 4 GiB.
            *length = (value.len() as u32).to_le_bytes();
        }
        Ok(found)
    }

    fn values(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>> {
        let count = Strings::new(keys).take_while(Result::is_ok).count();
        let mut lookup = self.lookup(keyspace, snapshot, count)?;
        let mut values = List::default();
        for key in Strings::new(keys) {
            let key = key?;
            values.find(|bytes| lookup.get_into(key, bytes))?;
        }
        let mut packed = Vec::new();
        values.put(&mut packed);
        Ok(packed)
    }
}

fn open(
    handles: Vec<FileSystemSyncAccessHandle>,
    mut options: Options,
    chosen: Option<String>,
    keep_policy: bool,
) -> Result<Store> {
    let chosen = chosen.as_deref().map(policy).transpose()?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    options.listener = Some(listener(number));
    if let Some(chosen) = &chosen {
        options.policy = chosen.clone();
    }
    let volume = Arc::new(place::volume(handles)?);
    let db = Db::open_storage(volume, options, Arc::new(SliceDriver::default()))?;
    let keyspace = db.default_keyspace();
    if let Some(chosen) = chosen.filter(|_| !keep_policy) {
        choose(&keyspace, &chosen)?;
    }
    Ok(Store {
        number,
        db,
        keyspaces: SortedMap::from_iter([(0, keyspace)]),
        snapshots: SortedMap::default(),
        key: Vec::new(),
        value: Vec::new(),
    })
}
