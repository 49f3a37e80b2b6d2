//! A file on a synchronous access handle.
//!
//! 1. Handles are JavaScript objects, which belong to the thread that opened them. They are kept in a
//!    thread-local table, and an [`OpfsFile`] has the number of its own.
//! 2. Numbers are never reused, in any thread: after it was closed, a file finds no handle and fails; it
//!    never accesses another file.
//! 3. Other threads have the owner call the handle, where there are any; without, they find no handle.
//! 4. Dropping the file closes its handle, which releases the browser's lock on it.

use crate::io_result::{Count, thrown};
#[cfg(target_feature = "atomics")]
use crate::owner::on_owner;
use js_sys::Reflect;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane_table::error::{Closed, Error, Result};
use terrane_table::file::File;
use terrane_types::vec_map::VecMap;
use wasm_bindgen::JsValue;
use web_sys::{FileSystemReadWriteOptions, FileSystemSyncAccessHandle};

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static HANDLES: RefCell<VecMap<u64, FileSystemSyncAccessHandle>> = RefCell::default();
    // All calls share one options object: they do not overlap.
    static AT: FileSystemReadWriteOptions = FileSystemReadWriteOptions::new();
}

/// A backing file on OPFS. Its handle is that of the worker that opened it.
#[derive(Debug)]
pub struct OpfsFile {
    number: u64,
    name: String,
}

impl OpfsFile {
    /// Wraps an open handle; `name` is for error messages.
    #[must_use]
    pub fn new(name: String, handle: FileSystemSyncAccessHandle) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        HANDLES.with_borrow_mut(|handles| handles.insert(number, handle));
        OpfsFile { number, name }
    }

    /// Calls the handle; `wanted` is the number of bytes to be written.
    fn call<T: Send>(
        &self,
        action: &'static str,
        wanted: u64,
        body: impl FnOnce(&FileSystemSyncAccessHandle) -> Result<T, JsValue> + Send,
    ) -> Result<T> {
        on_owner(|| {
            HANDLES.with_borrow(|handles| {
                let handle = handles.get(&self.number).ok_or(Closed::File)?;
                body(handle).map_err(|e| {
                    thrown(action, &self.name, wanted, &text(&e, "name"), &text(&e, "message"))
                })
            })
        })
    }

    fn short(&self, action: &'static str, offset: u64, expected: usize, found: i64) -> Error {
        Error::short(action, &self.name, offset, expected as u64, found)
    }
}

/// Without threads this is the only one.
#[cfg(not(target_feature = "atomics"))]
fn on_owner<T>(call: impl FnOnce() -> T) -> T {
    call()
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
        let requested = buf.len();
        let returned = self.call("read", 0, |handle| {
            AT.with(|at| {
                at.set_at(offset as f64);
                handle.read_with_u8_array_and_options(buf, at)
            })
        })?;
        match Count::of(returned, requested) {
            Count::Moved(count) => Ok(count),
            Count::NoSpace => Err(self.short("read", offset, requested, returned as i64)),
            Count::Invalid(found) => Err(self.short("read", offset, requested, found)),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let requested = buf.len();
        let returned = self.call("write", requested as u64, |handle| {
            AT.with(|at| {
                at.set_at(offset as f64);
                handle.write_with_u8_array_and_options(buf, at)
            })
        })?;
        match Count::of(returned, requested) {
            Count::Moved(count) if count == requested => Ok(count),
            Count::Moved(count) => Err(self.short("write", offset, requested, count as i64)),
            Count::NoSpace => Err(Error::no_space(&self.name, requested as u64)),
            Count::Invalid(found) => Err(self.short("write", offset, requested, found)),
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
        let returned = self.call("get the length of", 0, FileSystemSyncAccessHandle::get_size)?;
        Ok(returned as u64)
    }
}

impl Drop for OpfsFile {
    fn drop(&mut self) {
        on_owner(|| {
            // When the thread ends, the table and its handles may already be gone.
            let _ = HANDLES.try_with(|handles| {
                if let Some(handle) = handles.borrow_mut().remove(&self.number) {
                    handle.close();
                }
            });
        });
    }
}
