//! The store, as the worker calls it. The caller assigns the numbers of keyspaces and snapshots, so that
//! it can use them before a reply has arrived; 0 is the default keyspace, and no snapshot.

use crate::error::coded;
use crate::events::listen;
use crate::scan::Scan;
use crate::steps::Steps;
use crate::{executor, json, to_js, volume};
use js_sys::{Date, Function};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use terrane::{Db, Error, Millis, Options, Result};
use terrane_session::{NOT_FOUND, Opening, Session, no_keyspace};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::FileSystemSyncAccessHandle;

/// The number of the module's next store.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// An open store.
#[wasm_bindgen]
pub struct Store {
    pub(crate) number: u32,
    pub(crate) session: Session,
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
    /// Opens the store of that name on these handles, in the order of the volume's backing files, or creates it if
    /// they are empty; without handles, opens a store in memory. Options that are left out have the
    /// browser's defaults. The policy is that of keyspaces created later and, unless `keep_policy`,
    /// of the default keyspace from now on.
    ///
    /// # Errors
    /// The errors of all methods are `{ code, message }`.
    #[allow(clippy::too_many_arguments)] // an object of them would cost a lookup by name for each
    pub fn open(
        name: String,
        handles: Vec<FileSystemSyncAccessHandle>,
        create: bool,
        error_if_exists: bool,
        keep_policy: bool,
        memtable_bytes: Option<u32>,
        cache_bytes: Option<u32>,
        filter_thousandths: Option<u32>,
        feed_bytes: Option<u32>,
        policy: Option<String>,
    ) -> Result<Store, JsValue> {
        to_js(open(
            name,
            handles,
            &Opening {
                create,
                error_if_exists,
                keep_policy,
                memtable_bytes,
                cache_bytes,
                filter_thousandths,
                feed_bytes,
                policy,
            },
        ))
    }

    /// Returns the random number of the store.
    #[must_use]
    pub fn id(&self) -> f64 {
        self.session.id()
    }

    /// Commits an encoded batch, which is durable after the next [`Store::sync`]. Returns its sequence
    /// number, which JavaScript represents exactly up to 2^53.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    pub fn write(&self, encoded: Vec<u8>) -> Result<f64, JsValue> {
        to_js(self.session.write(encoded))
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
        to_js(self.session.write_if(conditions, encoded, sync))
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
        to_js(self.session.get_versioned(keyspace, snapshot, key))
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
        json(self.session.trace(keyspace, snapshot, key))
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
        json(self.session.trace_scan(keyspace, snapshot, within, reverse))
    }

    /// Returns the values of encoded keys, as a list.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        to_js(self.session.get_many(keyspace, snapshot, keys))
    }

    /// Returns the address of the values of encoded keys, as a list, valid until the next get.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_many_in_place(
        &mut self,
        keyspace: u32,
        snapshot: u32,
        keys: &[u8],
    ) -> Result<*const u8, JsValue> {
        self.value = self.get_many(keyspace, snapshot, keys)?;
        Ok(self.value.as_ptr())
    }

    /// Returns for each of the encoded keys a byte, 1 if it has a value.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn has_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>, JsValue> {
        to_js(self.session.has_many(keyspace, snapshot, keys))
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
        to_js(self.session.scan(keyspace, snapshot, within, reverse, limit).map(Scan::over))
    }

    /// Starts to delete the first `limit` keys of an encoded range, or the last if `reverse`; the last step returns
    /// their number. Each batch records the number deleted by then with the operations of `record`.
    ///
    /// # Errors
    /// A closed store, an I/O error.
    pub fn clear(
        &self,
        keyspace: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
        sync: bool,
        record: Option<Vec<u8>>,
    ) -> Result<Steps, JsValue> {
        to_js(self.session.clear(keyspace, within, reverse, limit, sync, record).map(Steps))
    }

    /// Starts a watch of encoded ranges, or asks for its next change.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn watch(
        &self,
        number: u32,
        ranges: &[u8],
        with_keys: bool,
        asks: bool,
    ) -> Result<(), JsValue> {
        to_js(self.session.watch(number, ranges, with_keys, asks))
    }

    /// Ends a watch.
    pub fn unwatch(&self, number: u32) {
        self.session.unwatch(number);
    }

    /// Takes the changes that were asked for, encoded.
    pub fn changes(&self) -> Vec<u8> {
        self.session.changes()
    }

    /// Returns the durable batches after a cursor of the change feed, encoded.
    ///
    /// # Errors
    /// A malformed cursor, or one from which the feed cannot continue; damage, an I/O error.
    pub fn feed(&mut self, since: &str) -> Result<Vec<u8>, JsValue> {
        to_js(self.session.feed(since))
    }

    /// Returns the place in the change feed after what a snapshot shows, or after everything that is written.
    ///
    /// # Errors
    /// A released snapshot, an I/O error.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn feed_cursor(&self, snapshot: u32) -> Result<JsValue, JsValue> {
        to_js(self.session.feed_cursor(snapshot).map(|cursor| JsValue::from_str(&cursor)))
    }

    /// Takes a snapshot under a number.
    pub fn snapshot(&mut self, number: u32) {
        self.session.snapshot(number);
    }

    /// Releases a snapshot.
    pub fn release(&mut self, snapshot: u32) {
        self.session.release(snapshot);
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
        let opened = self.session.keyspace(number, name, create, options.as_deref());
        to_js(opened)?.ok_or_else(|| coded(NOT_FOUND, &no_keyspace(name)))
    }

    /// Opens the keyspace of this id under a number, if it still exists: its name may belong to
    /// another.
    ///
    /// # Errors
    /// A closed store.
    pub fn restore_keyspace(&mut self, number: u32, id: u32) -> Result<(), JsValue> {
        to_js(self.session.restore_keyspace(number, id))
    }

    /// Returns the engine's ids and the names of all keyspaces, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn keyspaces(&self) -> Result<JsValue, JsValue> {
        json(self.session.keyspaces())
    }

    /// Drops a keyspace and all its entries; returns whether it existed.
    ///
    /// # Errors
    /// The default keyspace, or an I/O error.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool, JsValue> {
        to_js(self.session.drop_keyspace(name))
    }

    /// Deletes what recovery has quarantined; returns its size in bytes.
    ///
    /// # Errors
    /// An I/O error.
    pub fn drop_quarantine(&self) -> Result<f64, JsValue> {
        to_js(self.session.db().drop_quarantine().map(|bytes| bytes as f64))
    }

    /// Sets the function that is called with each event, as JSON.
    pub fn listen(&self, emit: Option<Function>) {
        listen(self.session.db(), self.number, emit);
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error; the store accepts no more writes then.
    pub fn sync(&self) -> Result<(), JsValue> {
        to_js(self.session.db().sync())
    }

    /// Starts to flush the memtables.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    pub fn flush(&self) -> Result<Steps, JsValue> {
        to_js(self.session.flush().map(Steps))
    }

    /// Runs about `bytes` bytes of background jobs; returns whether there is more to do.
    ///
    /// # Errors
    /// The error of a job, which will be retried.
    pub fn run_jobs(&self, bytes: u32) -> Result<bool, JsValue> {
        to_js(self.session.db().run_jobs(u64::from(bytes)))
    }

    /// Returns statistics, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        json(self.session.db().stats())
    }

    /// Starts to verify everything stored; returns the report as JSON.
    ///
    /// # Errors
    /// A closed store. Damage is not an error here: the report lists it.
    pub fn check(&self) -> Result<Steps, JsValue> {
        to_js(self.session.check().map(Steps))
    }

    /// Starts to copy the store, as it is now, to these handles of a store of that name, which there must not be. One
    /// handle makes a volume with a single file.
    ///
    /// # Errors
    /// A store at the target, an I/O error.
    pub fn checkpoint(
        &self,
        name: String,
        handles: Vec<FileSystemSyncAccessHandle>,
    ) -> Result<Steps, JsValue> {
        to_js(volume::copy(self.session.db(), name, handles))
    }

    /// Starts to export the store, as it is now; returns the bytes of a volume with a single file.
    ///
    /// # Errors
    /// Not enough memory, damage, an I/O error.
    pub fn bytes(&self) -> Result<Steps, JsValue> {
        to_js(volume::bytes(self.session.db()))
    }

    /// Syncs and closes the store and its handles.
    ///
    /// # Errors
    /// An I/O error.
    pub fn close(self) -> Result<(), JsValue> {
        listen(self.session.db(), self.number, None);
        to_js(self.session.close())
    }
}

impl Store {
    /// The store for a client that has opened no keyspace.
    pub(crate) fn over(number: u32, session: Session) -> Store {
        Store { number, session, key: Vec::new(), value: Vec::new() }
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
        let found = self.session.get_into(keyspace, snapshot, key, out)?;
        if let Some((length, value)) = out.split_first_chunk_mut() {
            // Values are far shorter than 4 GiB.
            *length = (value.len() as u32).to_le_bytes();
        }
        Ok(found)
    }
}

fn open(
    name: String,
    handles: Vec<FileSystemSyncAccessHandle>,
    opening: &Opening,
) -> Result<Store> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut options = opening.options(Options::small())?;
    options.wall_clock = Some(Arc::new(|| Date::now() as Millis));
    let volume = Arc::new(volume::volume(name, handles)?);
    let session = opening.session(Session::new(Db::open_storage(volume, options, executor())?))?;
    Ok(Store::over(number, session))
}
