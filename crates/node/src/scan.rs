//! Scans, which return their entries in pages.

use crate::guard::guard;
use crate::work::{self, Answer, Promise};
use napi::Env;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::{Closed, Result};
use terrane_session::{ROWS_BYTES, Wanted};

/// A scan of a range, which shows the store as it was when the scan started. Free it when done.
#[napi]
pub struct Scan(Arc<Mutex<State>>);

enum State {
    Idle(Box<terrane_session::Scan>),
    /// Another thread has it.
    Away,
    Freed,
}

impl State {
    fn idle(&mut self) -> Result<&mut terrane_session::Scan> {
        match self {
            State::Idle(scan) => Ok(scan),
            State::Away | State::Freed => Err(Closed::Store.into()),
        }
    }
}

impl Scan {
    pub(crate) fn new(scan: terrane_session::Scan) -> Self {
        Scan(Arc::new(Mutex::new(State::Idle(Box::new(scan)))))
    }

    /// Runs `body` with the scan, which no other thread may have.
    fn with<T>(&self, body: impl FnOnce(&mut terrane_session::Scan) -> Result<T>) -> Result<T> {
        body(lock(&self.0).idle()?)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl Scan {
    /// Returns the next entries, their keys or values or both: at least one entry, then as many as
    /// come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or an I/O error, after a page with the entries before it; the scan is done then.
    #[napi]
    pub fn page<'env>(
        &self,
        env: &'env Env,
        bytes: u32,
        keys: bool,
        values: bool,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        let page = guard(env, || self.with(|scan| scan.page(bytes, keys, values)))?;
        Uint8ArraySlice::copy_from(env, page)
    }

    /// Moves to `seek` if it is a key, then returns the next `count` rows, or the previous ones if `back`, their keys
    /// or values or both.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi]
    pub fn rows<'env>(
        &self,
        env: &'env Env,
        seek: Option<&[u8]>,
        count: u32,
        back: bool,
        keys: bool,
        values: bool,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        let rows = guard(env, || {
            let seek = seek.map(<[u8]>::to_vec);
            let wanted = Wanted { count, bytes: ROWS_BYTES, back, keys, values };
            self.with(|scan| scan.rows(seek, wanted))
        })?;
        Uint8ArraySlice::copy_from(env, rows)
    }

    /// Returns rows as `rows` does, as far as no file has to be read, and fewer where they take `bytes` bytes or more;
    /// null if a file has to be read for the first.
    ///
    /// # Errors
    /// As for `rows`.
    #[allow(
        clippy::too_many_arguments,
        reason = "JavaScript's arguments, without an object for each call"
    )]
    #[napi(js_name = "try_rows")]
    pub fn try_rows<'env>(
        &self,
        env: &'env Env,
        seek: Option<&[u8]>,
        count: u32,
        bytes: u32,
        back: bool,
        keys: bool,
        values: bool,
    ) -> napi::Result<Option<Uint8ArraySlice<'env>>> {
        let rows = guard(env, || {
            let wanted = Wanted { count, bytes: bytes as usize, back, keys, values };
            let seek = seek.map(<[u8]>::to_vec);
            self.with(|scan| scan.try_rows(seek, wanted))
        })?;
        rows.map(|rows| Uint8ArraySlice::copy_from(env, rows)).transpose()
    }

    /// Reads rows as `rows` does, in Node's pool of threads: fewer where they take `bytes` bytes or more. No other
    /// call of the scan may be made until the promise is settled.
    ///
    /// # Errors
    /// A scan that is freed, or that another thread has; damage or an I/O error rejects the promise.
    #[allow(
        clippy::too_many_arguments,
        reason = "JavaScript's arguments, without an object for each call"
    )]
    #[napi(js_name = "rows_apart")]
    pub fn rows_apart<'env>(
        &self,
        env: &'env Env,
        seek: Option<&[u8]>,
        count: u32,
        bytes: u32,
        back: bool,
        keys: bool,
        values: bool,
    ) -> napi::Result<Promise<'env>> {
        let seek = seek.map(<[u8]>::to_vec);
        let wanted = Wanted { count, bytes: bytes as usize, back, keys, values };
        let state = self.0.clone();
        let mut scan = guard(env, || {
            let mut state = lock(&state);
            match std::mem::replace(&mut *state, State::Away) {
                State::Idle(scan) => Ok(scan),
                taken => {
                    *state = taken;
                    Err(terrane::Error::from(Closed::Store))
                }
            }
        })?;
        work::start(env, move || {
            let rows = scan.rows(seek, wanted);
            let mut state = lock(&state);
            if let State::Away = *state {
                *state = State::Idle(scan);
            }
            rows.map(Answer::Bytes)
        })
    }

    /// Counts the next entries, at most `entries` of them.
    ///
    /// # Errors
    /// As for a page.
    #[napi]
    pub fn count(&self, env: &Env, entries: u32) -> napi::Result<u32> {
        guard(env, || self.with(|scan| scan.count(entries)))
    }

    /// Whether there are no more entries.
    #[napi(getter)]
    #[must_use]
    pub fn done(&self) -> bool {
        match &*lock(&self.0) {
            State::Idle(scan) => scan.done(),
            State::Away => false,
            State::Freed => true,
        }
    }

    /// Releases the files that the scan holds.
    #[napi]
    pub fn free(&self) {
        *lock(&self.0) = State::Freed;
    }
}
