//! Calls of a store in Node's pool of threads. A read sees the state at its call; writes that overlap have no order.

use crate::guard::guard;
use crate::store::{OpenOptions, Store};
use crate::work::{self, Answer, Promise};
use napi::Env;
use napi_derive::napi;
use std::time::Duration;
use terrane::Result;
use terrane_session::{End, Reads, Session};

/// Longest pause of a step that waits for jobs, which run on threads of the engine.
const REST: Duration = Duration::from_millis(1);

#[napi]
impl Store {
    /// Opens the store at a path, or shares it with this process's other openings, whose options then apply. Errors of
    /// promises and of other methods are `{ code, message }`.
    #[napi(js_name = "open")]
    pub fn open(env: &Env, options: OpenOptions) -> napi::Result<Promise<'_>> {
        work::start(env, move || {
            Store::open_at(options).map(|store| Answer::Store(Box::new(store)))
        })
    }

    /// Commits an encoded batch, and makes it durable if `sync`. Resolves to its sequence number.
    ///
    /// # Errors
    /// A malformed batch, a closed store; an I/O error rejects the promise.
    #[napi(js_name = "write_apart")]
    pub fn write_apart<'env>(
        &self,
        env: &'env Env,
        encoded: &[u8],
        sync: bool,
    ) -> napi::Result<Promise<'env>> {
        let write = guard(env, || self.session()?.write_apart(encoded.to_vec()))?;
        work::start(env, move || write.commit(sync).map(Answer::Number))
    }

    /// Looks up encoded keys. Resolves to the list of their values.
    ///
    /// # Errors
    /// A closed store, a released snapshot; damage or an I/O error rejects the promise.
    #[napi(js_name = "get_many_apart")]
    pub fn get_many_apart<'env>(
        &self,
        env: &'env Env,
        snapshot: u32,
        keys: &[u8],
    ) -> napi::Result<Promise<'env>> {
        self.read_apart(env, snapshot, keys, Reads::get_many)
    }

    /// Looks up encoded keys. Resolves to a byte for each, 1 if it has a value.
    ///
    /// # Errors
    /// As for `get_many_apart`.
    #[napi(js_name = "has_many_apart")]
    pub fn has_many_apart<'env>(
        &self,
        env: &'env Env,
        snapshot: u32,
        keys: &[u8],
    ) -> napi::Result<Promise<'env>> {
        self.read_apart(env, snapshot, keys, Reads::has_many)
    }

    /// Deletes the first `limit` keys of an encoded range, or the last if `reverse`, durably if `sync`. Resolves to
    /// their number.
    ///
    /// # Errors
    /// A closed store; an I/O error rejects the promise.
    #[napi(js_name = "clear_apart")]
    pub fn clear_apart<'env>(
        &self,
        env: &'env Env,
        within: &[u8],
        reverse: bool,
        limit: f64,
        sync: bool,
    ) -> napi::Result<Promise<'env>> {
        self.steps_apart(env, |session| session.clear(0, within, reverse, limit, sync, None))
    }

    /// Compacts an encoded range into one run.
    ///
    /// # Errors
    /// A closed store; an I/O error rejects the promise.
    #[napi(js_name = "compact_range_apart")]
    pub fn compact_range_apart<'env>(
        &self,
        env: &'env Env,
        within: &[u8],
    ) -> napi::Result<Promise<'env>> {
        self.steps_apart(env, |session| session.compact_range(0, within))
    }

    /// Closes this opening as `close` does.
    #[napi(js_name = "close_apart")]
    pub fn close_apart<'env>(&mut self, env: &'env Env) -> napi::Result<Promise<'env>> {
        let mut opened = self.end();
        work::start(env, move || opened.close().map(|()| Answer::Nothing))
    }
}

impl Store {
    fn read_apart<'env>(
        &self,
        env: &'env Env,
        snapshot: u32,
        keys: &[u8],
        read: fn(&Reads, &[u8]) -> Result<Vec<u8>>,
    ) -> napi::Result<Promise<'env>> {
        let reads = guard(env, || self.session()?.reads_apart(0, snapshot))?;
        let keys = keys.to_vec();
        work::start(env, move || read(&reads, &keys).map(Answer::Bytes))
    }

    /// Runs a long call to its end.
    fn steps_apart<'env>(
        &self,
        env: &'env Env,
        start: impl FnOnce(&Session) -> Result<terrane_session::Steps>,
    ) -> napi::Result<Promise<'env>> {
        let mut steps = guard(env, || start(self.session()?))?;
        work::start(env, move || {
            loop {
                match steps.step()? {
                    Some(End::Json(report)) => return Ok(Answer::Text(report)),
                    Some(End::Bytes(bytes)) => return Ok(Answer::Bytes(bytes)),
                    Some(End::Nothing) => return Ok(Answer::Nothing),
                    None if steps.only_wait() => std::thread::sleep(REST),
                    None => {}
                }
            }
        })
    }
}
