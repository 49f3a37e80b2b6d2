//! A file on a synchronous access handle.
//!
//! 1. Handles are JavaScript objects: they belong to the thread that got them. They lie in a table
//!    of that thread, and an [`OpfsFile`] holds the number of its own.
//! 2. Numbers are never reused, in any thread: on another thread, or after the close, a file finds
//!    no handle and says so, and never reaches into another file.
//! 3. Dropping the file closes its handle, which frees the browser's lock on it.

use crate::answer::{Count, thrown};
use js_sys::Reflect;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::sorted::SortedMap;
use terrane::storage::File;
use terrane::{Closed, Error, Result};
use wasm_bindgen::JsValue;
use web_sys::{FileSystemReadWriteOptions, FileSystemSyncAccessHandle};

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static HANDLES: RefCell<SortedMap<u64, FileSystemSyncAccessHandle>> = RefCell::default();
    // One options object serves every call: calls do not overlap.
    static AT: FileSystemReadWriteOptions = FileSystemReadWriteOptions::new();
}

/// A backing file on OPFS, for the worker that opened its handle.
#[derive(Debug)]
pub struct OpfsFile {
    number: u64,
    name: String,
}

impl OpfsFile {
    /// Takes over an open handle; `name` is for messages.
    #[must_use]
    pub fn new(name: String, handle: FileSystemSyncAccessHandle) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        HANDLES.with_borrow_mut(|handles| handles.insert(number, handle));
        OpfsFile { number, name }
    }

    /// Calls the handle; `wanted` is how many bytes it was to write.
    fn call<T>(
        &self,
        action: &'static str,
        wanted: u64,
        body: impl FnOnce(&FileSystemSyncAccessHandle) -> Result<T, JsValue>,
    ) -> Result<T> {
        HANDLES.with_borrow(|handles| {
            let handle = handles.get(&self.number).ok_or(Error::Closed(Closed::File))?;
            body(handle).map_err(|e| {
                thrown(action, &self.name, wanted, &text(&e, "name"), &text(&e, "message"))
            })
        })
    }

    fn nonsense(&self, action: &'static str, offset: u64, expected: usize, found: i64) -> Error {
        Error::short(action, &self.name, offset, expected as u64, found)
    }
}

/// A text property of an exception.
fn text(exception: &JsValue, property: &str) -> String {
    let value = Reflect::get(exception, &JsValue::from_str(property)).ok();
    value.and_then(|v| v.as_string()).unwrap_or_default()
}

impl File for OpfsFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let asked = buf.len();
        let answer = self.call("read", 0, |handle| {
            AT.with(|at| {
                at.set_at(offset as f64);
                handle.read_with_u8_array_and_options(buf, at)
            })
        })?;
        match Count::of(answer, asked) {
            Count::Moved(count) => Ok(count),
            Count::NoSpace => Err(self.nonsense("read", offset, asked, answer as i64)),
            Count::Nonsense(found) => Err(self.nonsense("read", offset, asked, found)),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let asked = buf.len();
        let answer = self.call("write", asked as u64, |handle| {
            AT.with(|at| {
                at.set_at(offset as f64);
                handle.write_with_u8_array_and_options(buf, at)
            })
        })?;
        match Count::of(answer, asked) {
            Count::Moved(count) if count == asked => Ok(count),
            Count::Moved(count) => Err(self.nonsense("write", offset, asked, count as i64)),
            Count::NoSpace => Err(Error::no_space(&self.name, asked as u64)),
            Count::Nonsense(found) => Err(self.nonsense("write", offset, asked, found)),
        }
    }

    fn sync(&self) -> Result<()> {
        self.call("sync", 0, FileSystemSyncAccessHandle::flush)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let grown = len.saturating_sub(self.len()?);
        self.call("set the length of", grown, |handle| handle.truncate_with_f64(len as f64))
    }

    fn len(&self) -> Result<u64> {
        let answer = self.call("get the length of", 0, FileSystemSyncAccessHandle::get_size)?;
        Ok(answer as u64)
    }
}

impl Drop for OpfsFile {
    fn drop(&mut self) {
        // At the thread's end the table may be gone, and its handles with it.
        let _ = HANDLES.try_with(|handles| {
            if let Some(handle) = handles.borrow_mut().remove(&self.number) {
                handle.close();
            }
        });
    }
}
