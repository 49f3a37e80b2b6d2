//! An opening of a store, as the package's engine calls it. The caller assigns the numbers of keyspaces and snapshots,
//! so that it can use them before a reply has arrived; 0 is the default keyspace, and no snapshot.

use crate::engines::Opened;
use crate::guard::{Failure, guard, guard_failure};
use crate::place::{self, Place};
use crate::scan::Scan;
use crate::steps::Steps;
use napi::Env;
use napi::bindgen_prelude::{Function, Uint8ArraySlice};
use napi_derive::napi;
use std::time::Duration;
use terrane::{Closed, Error, Options, Result};
use terrane_session::{Opening, Session};
use terrane_types::json;

/// An open store.
#[napi]
pub struct Store {
    /// `None` once it is closed.
    session: Option<Session>,
    opened: Opened,
    /// Value of the last get, if its caller's memory was too small for it.
    pub(crate) value: Vec<u8>,
}

/// The options of an opening.
#[napi(object)]
pub struct OpenOptions {
    /// Path of the store; none for a store in memory.
    pub path: Option<String>,
    /// Whether the store is one file.
    pub one_file: bool,
    /// Whether the store is only read.
    pub read_only: bool,
    /// Whether a store is created if there is none.
    pub create: bool,
    /// Whether a store that exists is an error.
    pub error_if_exists: bool,
    /// Longest wait of a buffered write for a sync, in milliseconds.
    pub sync_interval: f64,
    /// The size of a memtable in bytes.
    pub memtable_bytes: Option<u32>,
    /// The size of the block cache in bytes.
    pub cache_bytes: Option<u32>,
    /// Thousandths of bits per key of filters.
    pub filter_thousandths: Option<u32>,
    /// Bytes of logs that are kept for the change feed.
    pub feed_bytes: Option<u32>,
    /// The policy's options, as JSON.
    pub policy: Option<String>,
}

#[napi]
impl Store {
    /// Returns the random number of the store.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn id(&self, env: &Env) -> napi::Result<f64> {
        guard(env, || Ok(self.session()?.id()))
    }

    /// Commits an encoded batch, which is durable after the next sync. Returns its sequence number, which JavaScript
    /// represents exactly up to 2^53.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    #[napi]
    pub fn write(&self, env: &Env, encoded: &[u8]) -> napi::Result<f64> {
        guard(env, || self.session()?.write(encoded.to_vec()))
    }

    /// Commits an encoded batch as `write` does, if that waits for nothing. Returns its sequence number if it is
    /// committed.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    #[napi(js_name = "try_write")]
    pub fn try_write(&self, env: &Env, encoded: &[u8]) -> napi::Result<Option<f64>> {
        guard(env, || self.session()?.try_write(encoded.to_vec()))
    }

    /// Commits an encoded batch if encoded conditions hold, and makes it durable if `sync`. Returns the encoded
    /// outcome.
    ///
    /// # Errors
    /// Malformed conditions or a malformed batch, a dropped keyspace, a released snapshot, an I/O error.
    #[napi(js_name = "write_if")]
    pub fn write_if<'env>(
        &self,
        env: &'env Env,
        conditions: &[u8],
        encoded: &[u8],
        sync: bool,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || self.session()?.write_if(conditions, encoded.to_vec(), sync))
    }

    /// Traces a get; returns its steps as JSON.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi]
    pub fn trace(
        &self,
        env: &Env,
        keyspace: u32,
        snapshot: u32,
        key: &[u8],
    ) -> napi::Result<String> {
        self.json(env, |session| session.trace(keyspace, snapshot, key))
    }

    /// Traces a scan's seek to the first entry of an encoded range; returns its steps as JSON.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi(js_name = "trace_scan")]
    pub fn trace_scan(
        &self,
        env: &Env,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
    ) -> napi::Result<String> {
        self.json(env, |session| session.trace_scan(keyspace, snapshot, within, reverse))
    }

    /// Starts a scan of at most `limit` entries of an encoded range.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn scan(
        &self,
        env: &Env,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
    ) -> napi::Result<Scan> {
        guard(env, || {
            self.session()?.scan(keyspace, snapshot, within, reverse, limit).map(Scan::new)
        })
    }

    /// Returns the durable batches after a cursor of the change feed, encoded.
    ///
    /// # Errors
    /// A malformed cursor, or one from which the feed cannot continue; damage, an I/O error.
    #[napi]
    pub fn feed<'env>(
        &mut self,
        env: &'env Env,
        since: String,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || self.session_mut()?.feed(&since))
    }

    /// Returns the place in the change feed after what a snapshot shows, or after everything that is written.
    ///
    /// # Errors
    /// A released snapshot, an I/O error.
    #[napi(js_name = "feed_cursor")]
    pub fn feed_cursor(&self, env: &Env, snapshot: u32) -> napi::Result<String> {
        guard(env, || self.session()?.feed_cursor(snapshot))
    }

    /// Takes a snapshot under a number.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn snapshot(&mut self, env: &Env, number: u32) -> napi::Result<()> {
        guard(env, || {
            self.session_mut()?.snapshot(number);
            Ok(())
        })
    }

    /// Releases a snapshot.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn release(&mut self, env: &Env, snapshot: u32) -> napi::Result<()> {
        guard(env, || {
            self.session_mut()?.release(snapshot);
            Ok(())
        })
    }

    /// Opens a keyspace under a number, and sets its policy if one is given. Returns the engine's id,
    /// for [`Store::restore_keyspace`].
    ///
    /// # Errors
    /// No such keyspace and `create` is false, an invalid policy, an I/O error.
    #[napi]
    pub fn keyspace(
        &mut self,
        env: &Env,
        number: u32,
        name: String,
        create: bool,
        options: Option<String>,
    ) -> napi::Result<u32> {
        guard_failure(env, || {
            let opened = self.session_mut()?.keyspace(number, &name, create, options.as_deref())?;
            opened.ok_or_else(|| Failure::no_keyspace(&name))
        })
    }

    /// Opens the keyspace of this id under a number, if it still exists: its name may belong to
    /// another.
    ///
    /// # Errors
    /// A closed store.
    #[napi(js_name = "restore_keyspace")]
    pub fn restore_keyspace(&mut self, env: &Env, number: u32, id: u32) -> napi::Result<()> {
        guard(env, || self.session_mut()?.restore_keyspace(number, id))
    }

    /// Returns the engine's ids and the names of all keyspaces, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn keyspaces(&self, env: &Env) -> napi::Result<String> {
        self.json(env, Session::keyspaces)
    }

    /// Drops a keyspace and all its entries; returns whether it existed.
    ///
    /// # Errors
    /// The default keyspace, or an I/O error.
    #[napi(js_name = "drop_keyspace")]
    pub fn drop_keyspace(&self, env: &Env, name: String) -> napi::Result<bool> {
        guard(env, || self.session()?.drop_keyspace(&name))
    }

    /// Starts to delete the first `limit` keys of an encoded range, or the last if `reverse`; the last step returns
    /// their number.
    ///
    /// # Errors
    /// A closed store, an I/O error.
    #[napi]
    pub fn clear(
        &self,
        env: &Env,
        keyspace: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
        sync: bool,
    ) -> napi::Result<Steps> {
        let clear = |session: &Session| session.clear(keyspace, within, reverse, limit, sync, None);
        guard(env, || clear(self.session()?).map(Steps::new))
    }

    /// Deletes what recovery has quarantined; returns its size in bytes.
    ///
    /// # Errors
    /// An I/O error.
    #[napi(js_name = "drop_quarantine")]
    pub fn drop_quarantine(&self, env: &Env) -> napi::Result<f64> {
        guard(env, || self.session()?.db().drop_quarantine().map(|bytes| bytes as f64))
    }

    /// Sets the function that is called with each event, as JSON.
    ///
    /// # Errors
    /// A closed store; Node refuses the function.
    #[napi]
    pub fn listen(&self, env: &Env, emit: Option<Function<'_, String, ()>>) -> napi::Result<()> {
        let build = |emit: Function<'_, String, ()>| {
            emit.build_threadsafe_function().weak::<true>().build()
        };
        let emit = emit.map(build).transpose()?;
        guard(env, || {
            self.opened.listen(emit);
            self.session()?;
            Ok(())
        })
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error; the store accepts no more writes then.
    #[napi]
    pub fn sync(&self, env: &Env) -> napi::Result<()> {
        guard(env, || self.session()?.db().sync())
    }

    /// Starts to flush the memtables.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    #[napi]
    pub fn flush(&self, env: &Env) -> napi::Result<Steps> {
        guard(env, || self.session()?.flush().map(Steps::new))
    }

    /// Returns false: background jobs run on the engine's own threads.
    #[napi(js_name = "run_jobs")]
    #[must_use]
    pub fn run_jobs(&self, _bytes: u32) -> bool {
        false
    }

    /// Returns statistics, as JSON.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn stats(&self, env: &Env) -> napi::Result<String> {
        self.json(env, |session| session.db().stats())
    }

    /// Starts to verify everything stored; returns the report as JSON.
    ///
    /// # Errors
    /// A closed store. Damage is not an error here: the report lists it.
    #[napi]
    pub fn check(&self, env: &Env) -> napi::Result<Steps> {
        guard(env, || self.session()?.check().map(Steps::new))
    }

    /// Starts to copy the store, as it is now, to a path, where there must be none.
    ///
    /// # Errors
    /// A store at the target, an I/O error.
    #[napi]
    pub fn checkpoint(&self, env: &Env, path: String, one_file: bool) -> napi::Result<Steps> {
        guard(env, || Place::new(path, one_file).copy_of(self.session()?.db()).map(Steps::new))
    }

    /// Closes this opening; the last one of a store syncs and closes it.
    ///
    /// # Errors
    /// An I/O error.
    #[napi]
    pub fn close(&mut self, env: &Env) -> napi::Result<()> {
        guard(env, || {
            let mut opened = self.end();
            opened.close()
        })
    }
}

impl Store {
    /// The opening's tables, unless it is closed.
    pub(crate) fn session(&self) -> Result<&Session> {
        self.session.as_ref().ok_or_else(|| Closed::Store.into())
    }

    fn session_mut(&mut self) -> Result<&mut Session> {
        self.session.as_mut().ok_or_else(|| Closed::Store.into())
    }

    /// Opens the store at the place that the options have.
    pub(crate) fn open_at(given: OpenOptions) -> Result<Store> {
        let opening = Opening {
            create: given.create,
            error_if_exists: given.error_if_exists,
            keep_policy: false,
            memtable_bytes: given.memtable_bytes,
            cache_bytes: given.cache_bytes,
            filter_thousandths: given.filter_thousandths,
            feed_bytes: given.feed_bytes,
            policy: given.policy,
        };
        let mut options = opening.options(Options::default())?;
        options.read_only = given.read_only;
        options.sync_interval = Duration::from_millis(given.sync_interval as u64);
        let place = given.path.map(|path| Place::new(path, given.one_file));
        let opened = Opened::new(place.as_ref(), given.read_only, || match &place {
            Some(place) => place.open(options),
            None => place::open_in_memory(options),
        })?;
        if let Some(place) = place.filter(|_| opened.shared && opening.error_if_exists) {
            let found = format_args!("one in {}", place.path.display());
            return Err(Error::invalid("place of a new store", "no store there yet", found));
        }
        let session = opening.session(opened.session()?)?;
        Ok(Store { session: Some(session), opened, value: Vec::new() })
    }

    /// Ends this opening; returns what is left to close.
    pub(crate) fn end(&mut self) -> Opened {
        self.session = None;
        self.opened.take()
    }

    /// Returns a result as JSON.
    pub(crate) fn json<T: serde::Serialize>(
        &self,
        env: &Env,
        body: impl FnOnce(&Session) -> Result<T>,
    ) -> napi::Result<String> {
        guard(env, || Ok(json::to_string(&body(self.session()?)?)))
    }
}

/// Returns bytes in memory of JavaScript: not every program that has Node's interface takes memory of others.
pub(crate) fn bytes<'env>(
    env: &'env Env,
    body: impl FnOnce() -> Result<Vec<u8>>,
) -> napi::Result<Uint8ArraySlice<'env>> {
    Uint8ArraySlice::copy_from(env, guard(env, body)?)
}
