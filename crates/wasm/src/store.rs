//! The store, as the worker calls it. The caller assigns the numbers of keyspaces and snapshots, so that
//! it can use them before a reply has arrived; 0 is the default keyspace, and no snapshot.

use crate::codec::{self, ByteList, ByteStrings, batch, range};
use crate::error::{NOT_FOUND, coded};
use crate::events::listen;
use crate::scan::Scan;
use crate::steps::Steps;
use crate::tree::{policy, set_policy};
use crate::{executor, json, to_js, volume};
use js_sys::{Date, Function};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use terrane::Waiter;
use terrane::policy::FilterBits;
use terrane::vec_map::VecMap;
use terrane::{Closed, Db, Durability, Error, Keyspace, Lookup, Millis, Options, Result, Snapshot};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::FileSystemSyncAccessHandle;

/// The number of the module's next store.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// An open store.
#[wasm_bindgen]
pub struct Store {
    pub(crate) number: u32,
    pub(crate) db: Db,
    pub(crate) keyspaces: VecMap<u32, Keyspace>,
    snapshots: VecMap<u32, Snapshot>,
    /// The key of a get, and its value after its length: JavaScript writes the one and reads the
    /// other in place.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Traces take code that a lean build does without.
fn no_traces() -> JsValue {
    let message =
        "only the build with all policies traces reads: open the store with policies: \"all\"";
    coded("invalid-argument", message)
}

/// A value's buffer is reused up to this size.
const REUSED_BYTES: usize = 1 << 20;

#[wasm_bindgen]
impl Store {
    /// Opens the store on these handles, in the order of the volume's backing files, or creates it if
    /// they are empty; without handles, opens a store in memory. Options that are left out have the
    /// browser's defaults. The policy is that of keyspaces created later and, unless `keep_policy`,
    /// of the default keyspace from now on.
    ///
    /// # Errors
    /// The errors of all methods are `{ code, message }`.
    #[allow(clippy::too_many_arguments)] // an object of them would cost a lookup by name for each
    pub fn open(
        handles: Vec<FileSystemSyncAccessHandle>,
        create: bool,
        error_if_exists: bool,
        keep_policy: bool,
        memtable_bytes: Option<u32>,
        cache_bytes: Option<u32>,
        filter_thousandths: Option<u32>,
        policy: Option<String>,
    ) -> Result<Store, JsValue> {
        let defaults = Options::small();
        let memtable_bytes = memtable_bytes.map_or(defaults.memtable_bytes, u64::from);
        let cache_bytes = cache_bytes.map_or(defaults.cache_bytes, u64::from);
        // Half of the memory is for memtables, and at least two of them.
        let memory_bytes = 2 * cache_bytes.max(2 * memtable_bytes);
        let memory_bytes =
            defaults.memory_bytes.map_or(memory_bytes, |bytes| bytes.max(memory_bytes));
        let mut table = defaults.table;
        if let Some(thousandths) = filter_thousandths {
            table.filter_bits_per_key = FilterBits::from_thousandths(thousandths);
        }
        let options = defaults
            .create(create)
            .error_if_exists(error_if_exists)
            .memtable_bytes(memtable_bytes)
            .memory_bytes(memory_bytes)
            .cache_bytes(cache_bytes)
            .table(table);
        to_js(open(handles, options, policy, keep_policy))
    }

    /// Commits an encoded batch, which is durable after the next [`Store::sync`]. Returns its sequence
    /// number, which JavaScript represents exactly up to 2^53.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    pub fn write(&self, encoded: Vec<u8>) -> Result<f64, JsValue> {
        let batch = batch(encoded, &self.keyspaces);
        let written = batch.and_then(|batch| self.db.write(batch, Durability::Buffered));
        to_js(written.map(|sequence| sequence as f64))
    }

    /// Commits an encoded batch if encoded conditions hold, and makes it durable if `sync`. Returns the encoded
    /// outcome.
    ///
    /// # Errors
    /// Malformed conditions or a malformed batch, a dropped keyspace, a released snapshot, an I/O error.
    pub fn write_if(
        &self,
        conditions: &[u8],
        encoded: Vec<u8>,
        sync: bool,
    ) -> Result<Vec<u8>, JsValue> {
        let durability = if sync { Durability::Sync } else { Durability::Buffered };
        let written = batch(encoded, &self.keyspaces).and_then(|batch| {
            let conditions = codec::conditions(conditions, &self.keyspaces, &self.snapshots)?;
            self.db.write_if(conditions, batch, durability)
        });
        to_js(written.map(codec::outcome))
    }

    /// Returns the encoded value of a key with its version; no bytes if the key does not exist.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_versioned(
        &self,
        keyspace: u32,
        snapshot: u32,
        key: &[u8],
    ) -> Result<Vec<u8>, JsValue> {
        let found =
            self.lookup(keyspace, snapshot, 1).and_then(|mut lookup| lookup.get_versioned(key));
        to_js(found.map(codec::versioned))
    }

    /// Returns the address of a buffer of that size for the key of a get, valid until the next call of
    /// this method.
    pub fn key_buffer(&mut self, bytes: u32) -> *mut u8 {
        self.key.resize(bytes as usize, 0);
        self.key.as_mut_ptr()
    }

    /// Looks up the key of `length` bytes in the key buffer. Returns the address of the value after its
    /// length (`u32`), valid until the next call, or 0 if the key does not exist.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get(&mut self, keyspace: u32, snapshot: u32, length: u32) -> Result<*const u8, JsValue> {
        let mut value = std::mem::take(&mut self.value);
        let found = self.value(keyspace, snapshot, length, &mut value);
        self.value = value;
        to_js(found.map(|found| if found { self.value.as_ptr() } else { std::ptr::null() }))
    }

    /// Traces a get; returns its steps as JSON.
    ///
    /// # Errors
    /// A lean build; damage or an I/O error.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn trace(&self, keyspace: u32, snapshot: u32, key: &[u8]) -> Result<JsValue, JsValue> {
        if !cfg!(feature = "all") {
            return Err(no_traces());
        }
        let traced =
            self.keyspace_of(keyspace).and_then(|keyspace| match self.snapshot_of(snapshot)? {
                None => keyspace.trace_get(key),
                Some(snapshot) => snapshot.trace_get(keyspace, key),
            });
        json(traced.map(|(_, trace)| trace))
    }

    /// Traces a scan's seek to the first entry of an encoded range; returns its steps as JSON.
    ///
    /// # Errors
    /// A lean build; damage or an I/O error.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn trace_scan(
        &self,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
    ) -> Result<JsValue, JsValue> {
        if !cfg!(feature = "all") {
            return Err(no_traces());
        }
        json(self.keyspace_of(keyspace).and_then(|keyspace| match self.snapshot_of(snapshot)? {
            None => keyspace.trace_seek(range(within)?, reverse),
            Some(snapshot) => snapshot.trace_seek(keyspace, range(within)?, reverse),
        }))
    }

    /// Returns the values of encoded keys, as a list.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        to_js(self.values(keyspace, snapshot, keys))
    }

    /// Returns for each of the encoded keys a byte, 1 if it has a value.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn has_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        to_js(self.presence(keyspace, snapshot, keys))
    }

    /// Starts a scan of at most `limit` entries of an encoded range.
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
        let inner =
            self.keyspace_of(keyspace).and_then(|keyspace| match self.snapshot_of(snapshot)? {
                None => keyspace.cursor(range(within)?),
                Some(snapshot) => snapshot.cursor(keyspace, range(within)?),
            });
        to_js(inner.map(|inner| Scan::new(inner, reverse, limit)))
    }

    /// Takes a snapshot under a number.
    pub fn snapshot(&mut self, number: u32) {
        self.snapshots.insert(number, self.db.snapshot());
    }

    /// Releases a snapshot.
    pub fn release(&mut self, snapshot: u32) {
        self.snapshots.remove(&snapshot);
    }

    /// Opens a keyspace under a number, and sets its policy if one is given. Returns the engine's id,
    /// for [`Store::restore_keyspace`].
    ///
    /// # Errors
    /// No such keyspace and `create` is false, an invalid policy, an I/O error.
    pub fn keyspace(
        &mut self,
        number: u32,
        name: &str,
        create: bool,
        options: Option<String>,
    ) -> Result<u32, JsValue> {
        let opened = (|| {
            let policy = options.as_deref().map(policy).transpose()?;
            let found = match create {
                true => Some(self.db.create_keyspace(name)?),
                false => self.db.open_keyspace(name)?,
            };
            let Some(keyspace) = found else { return Ok(None) };
            if let Some(policy) = policy {
                set_policy(&keyspace, &policy)?;
            }
            let id = keyspace.id().0;
            self.keyspaces.insert(number, keyspace);
            Ok(Some(id))
        })();
        let missing = || coded(NOT_FOUND, &format!("the store has no keyspace \"{name}\""));
        to_js(opened)?.ok_or_else(missing)
    }

    /// Opens the keyspace of this id under a number, if it still exists: its name may belong to
    /// another.
    ///
    /// # Errors
    /// A closed store.
    pub fn restore_keyspace(&mut self, number: u32, id: u32) -> Result<(), JsValue> {
        for name in self.db.keyspaces() {
            let found = to_js(self.db.open_keyspace(&name))?;
            if let Some(keyspace) = found.filter(|keyspace| keyspace.id().0 == id) {
                self.keyspaces.insert(number, keyspace);
            }
        }
        Ok(())
    }

    /// Returns the engine's ids and the names of all keyspaces, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn keyspaces(&self) -> Result<JsValue, JsValue> {
        let names = self.db.keyspaces();
        let named = |name: String| match self.db.open_keyspace(&name) {
            Ok(found) => found.map(|keyspace| Ok((keyspace.id(), name))),
            Err(error) => Some(Err(error)),
        };
        json(names.into_iter().filter_map(named).collect::<Result<Vec<_>>>())
    }

    /// Drops a keyspace and all its entries; returns whether it existed.
    ///
    /// # Errors
    /// The default keyspace, or an I/O error.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool, JsValue> {
        to_js(self.db.drop_keyspace(name))
    }

    /// Deletes what recovery has quarantined; returns its size in bytes.
    ///
    /// # Errors
    /// An I/O error.
    pub fn drop_quarantine(&self) -> Result<f64, JsValue> {
        to_js(self.db.drop_quarantine().map(|bytes| bytes as f64))
    }

    /// Sets the function that is called with each event, as JSON.
    pub fn listen(&self, emit: Option<Function>) {
        listen(&self.db, self.number, emit);
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error; the store accepts no more writes then.
    pub fn sync(&self) -> Result<(), JsValue> {
        to_js(self.db.sync())
    }

    /// Starts to flush the memtables.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    pub fn flush(&self) -> Result<Steps, JsValue> {
        to_js(self.db.begin_flush().map(|flush| self.waiter(flush)))
    }

    /// Runs about `bytes` bytes of background jobs; returns whether there is more to do.
    ///
    /// # Errors
    /// The error of a job, which will be retried.
    pub fn run_jobs(&self, bytes: u32) -> Result<bool, JsValue> {
        to_js(self.db.run_jobs(u64::from(bytes)))
    }

    /// Returns statistics, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        json(self.db.stats())
    }

    /// Starts to verify everything stored; returns the report as JSON.
    ///
    /// # Errors
    /// A closed store. Damage is not an error here: the report lists it.
    pub fn check(&self) -> Result<Steps, JsValue> {
        to_js(self.db.begin_check().map(Steps::check))
    }

    /// Starts to copy the store, as it is now, to these handles, where there must be none. One handle
    /// makes a volume with a single file.
    ///
    /// # Errors
    /// A store at the target, an I/O error.
    pub fn checkpoint(&self, handles: Vec<FileSystemSyncAccessHandle>) -> Result<Steps, JsValue> {
        to_js(volume::volume(handles).and_then(|target| volume::copy(&self.db, target, None)))
    }

    /// Starts to export the store, as it is now; returns the bytes of a volume with a single file.
    ///
    /// # Errors
    /// Not enough memory, damage, an I/O error.
    pub fn bytes(&self) -> Result<Steps, JsValue> {
        to_js(volume::bytes(&self.db))
    }

    /// Syncs and closes the store and its handles.
    ///
    /// # Errors
    /// An I/O error.
    pub fn close(self) -> Result<(), JsValue> {
        listen(&self.db, self.number, None);
        to_js(self.db.close())
    }
}

impl Store {
    /// The store for a client that has opened no keyspace.
    pub(crate) fn over(number: u32, db: Db) -> Store {
        Store {
            number,
            keyspaces: VecMap::from_iter([(0, db.default_keyspace())]),
            db,
            snapshots: VecMap::default(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// The keyspace with that number.
    pub(crate) fn keyspace_of(&self, number: u32) -> Result<&Keyspace> {
        self.keyspaces.get(&number).ok_or_else(|| Closed::Keyspace.into())
    }

    /// Waits for a flush or a compaction, step by step.
    pub(crate) fn waiter(&self, waiter: Waiter) -> Steps {
        Steps::waiter(&self.db, waiter)
    }

    /// The snapshot with that number; none for 0.
    fn snapshot_of(&self, number: u32) -> Result<Option<&Snapshot>> {
        match number {
            0 => Ok(None),
            _ => self.snapshots.get(&number).map(Some).ok_or_else(|| Closed::Snapshot.into()),
        }
    }

    fn lookup(&self, keyspace: u32, snapshot: u32, keys: usize) -> Result<Lookup<'_>> {
        let keyspace = self.keyspace_of(keyspace)?;
        match self.snapshot_of(snapshot)? {
            None => keyspace.lookup(keys),
            Some(snapshot) => snapshot.lookup(keyspace, keys),
        }
    }

    fn value(&self, keyspace: u32, snapshot: u32, key: u32, out: &mut Vec<u8>) -> Result<bool> {
        let key = self.key.get(..key as usize).ok_or_else(|| {
            Error::invalid(
                "key",
                "at most the size of the key buffer".to_owned(),
                format!("{key} bytes"),
            )
        })?;
        out.clear();
        out.shrink_to(REUSED_BYTES);
        out.extend_from_slice(&[0; 4]);
        let found = self.lookup(keyspace, snapshot, 1)?.get_into(key, out)?;
        if let Some((length, value)) = out.split_first_chunk_mut() {
            // Values are far shorter than 4 GiB.
            *length = (value.len() as u32).to_le_bytes();
        }
        Ok(found)
    }

    /// Looks encoded keys up at one moment, each by `each`.
    fn look_up(
        &self,
        keyspace: u32,
        snapshot: u32,
        keys: &[u8],
        each: &mut dyn FnMut(&mut Lookup<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let count = ByteStrings::new(keys).take_while(Result::is_ok).count();
        let mut lookup = self.lookup(keyspace, snapshot, count)?;
        ByteStrings::new(keys).try_for_each(|key| each(&mut lookup, key?))
    }

    fn presence(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>> {
        let (mut found, mut value) = (Vec::new(), Vec::new());
        self.look_up(keyspace, snapshot, keys, &mut |lookup, key| {
            value.clear();
            found.push(lookup.get_into(key, &mut value)?.into());
            Ok(())
        })?;
        Ok(found)
    }

    fn values(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>> {
        let mut values = ByteList::default();
        self.look_up(keyspace, snapshot, keys, &mut |lookup, key| {
            values.find(|bytes| lookup.get_into(key, bytes))
        })?;
        let mut list = Vec::new();
        values.encode(&mut list);
        Ok(list)
    }
}

fn open(
    handles: Vec<FileSystemSyncAccessHandle>,
    mut options: Options,
    policy_options: Option<String>,
    keep_policy: bool,
) -> Result<Store> {
    let policy = policy_options.as_deref().map(policy).transpose()?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    if let Some(policy) = &policy {
        options.policy = policy.clone();
    }
    options.wall_clock = Some(Arc::new(|| Date::now() as Millis));
    let volume = Arc::new(volume::volume(handles)?);
    let db = Db::open_storage(volume, options, executor())?;
    if let Some(policy) = policy.filter(|_| !keep_policy) {
        set_policy(&db.default_keyspace(), &policy)?;
    }
    Ok(Store::over(number, db))
}
