//! Gets. One of a single key reads the key from its caller's memory and writes the value there, so that no object is
//! made for either.

use crate::guard::guard;
use crate::store::{Store, bytes};
use napi::Env;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;
use terrane::{Error, Result, TryGet};

/// A value's buffer is reused up to this size.
const REUSED_BYTES: usize = 1 << 20;

/// In place of a value's length: the key does not exist, or a file has to be read.
const ABSENT: f64 = -1.0;
const WOULD_READ: f64 = -2.0;

#[napi]
impl Store {
    /// Returns the encoded value of a key with its version; no bytes if the key does not exist.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi(js_name = "get_versioned")]
    pub fn get_versioned<'env>(
        &self,
        env: &'env Env,
        keyspace: u32,
        snapshot: u32,
        key: &[u8],
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || self.session()?.get_versioned(keyspace, snapshot, key))
    }

    /// Looks up a key, the first `length` bytes of `memory`. Writes the value into `memory` if there is room, and keeps
    /// it otherwise, for [`Store::take`]. Returns the value's length, or -1 if the key does not exist.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi]
    pub fn get(
        &mut self,
        env: &Env,
        keyspace: u32,
        snapshot: u32,
        mut memory: Uint8ArraySlice<'_>,
        length: u32,
    ) -> napi::Result<f64> {
        // SAFETY: only this thread's JavaScript has the memory, and it waits for this call.
        let memory = unsafe { memory.as_mut() };
        guard(env, || {
            let key = key_in(memory, length)?;
            let mut value = std::mem::take(&mut self.value);
            value.clear();
            value.shrink_to(REUSED_BYTES);
            let found = self.session()?.get_into(keyspace, snapshot, key, &mut value)?;
            Ok(if found { self.hand_over(memory, value) } else { ABSENT })
        })
    }

    /// Looks up a key as `get` does, if no file has to be read for it. Otherwise returns -2.
    ///
    /// # Errors
    /// Damage.
    #[napi(js_name = "try_get")]
    pub fn try_get(
        &mut self,
        env: &Env,
        keyspace: u32,
        snapshot: u32,
        mut memory: Uint8ArraySlice<'_>,
        length: u32,
    ) -> napi::Result<f64> {
        // SAFETY: only this thread's JavaScript has the memory, and it waits for this call.
        let memory = unsafe { memory.as_mut() };
        guard(env, || {
            let key = key_in(memory, length)?;
            Ok(match self.session()?.try_get(keyspace, snapshot, key)? {
                TryGet::Value(value) => self.hand_over(memory, value),
                TryGet::Absent => ABSENT,
                TryGet::WouldRead => WOULD_READ,
            })
        })
    }

    /// Writes the value of the last get to the front of `memory`, as far as there is room, and forgets it.
    #[napi]
    pub fn take(&mut self, mut memory: Uint8ArraySlice<'_>) {
        // SAFETY: only this thread's JavaScript has the memory, and it waits for this call.
        let memory = unsafe { memory.as_mut() };
        for (to, from) in memory.iter_mut().zip(std::mem::take(&mut self.value)) {
            *to = from;
        }
    }

    /// Returns the values of encoded keys, as a list.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi(js_name = "get_many")]
    pub fn get_many<'env>(
        &self,
        env: &'env Env,
        keyspace: u32,
        snapshot: u32,
        keys: &[u8],
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || self.session()?.get_many(keyspace, snapshot, keys))
    }

    /// Returns for each of the encoded keys a byte, 1 if it has a value.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi(js_name = "has_many")]
    pub fn has_many<'env>(
        &self,
        env: &'env Env,
        keyspace: u32,
        snapshot: u32,
        keys: &[u8],
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || self.session()?.has_many(keyspace, snapshot, keys))
    }
}

impl Store {
    /// Writes a value into the memory of its caller if there is room, and keeps it for [`Store::take`]. Returns its
    /// length.
    fn hand_over(&mut self, memory: &mut [u8], value: Vec<u8>) -> f64 {
        if let Some(room) = memory.get_mut(..value.len()) {
            room.copy_from_slice(&value);
        }
        self.value = value;
        self.value.len() as f64
    }
}

/// Returns the key that is the first `length` bytes of `memory`.
fn key_in(memory: &[u8], length: u32) -> Result<&[u8]> {
    memory.get(..length as usize).ok_or_else(|| {
        Error::invalid("key", "at most the size of its memory", format!("{length} bytes"))
    })
}
