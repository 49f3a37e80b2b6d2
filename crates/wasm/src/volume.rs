//! Volumes over file handles or in memory, and stores as single files.

use crate::steps::Steps;
use crate::to_js;
#[cfg(feature = "threads")]
use js_sys::Uint8Array;
use std::sync::Arc;
use terrane::error::Message;
use terrane::executor::SliceExecutor;
use terrane::storage::volume::Volume;
use terrane::storage::{File, StoreId};
use terrane::{Db, Error, Options, Result};
use terrane_opfs::OpfsFile;
use terrane_session::{memory_file, volume_over};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::FileSystemSyncAccessHandle;

/// The names of the backing files, for error messages.
const BACKINGS: [&str; 3] = ["manifest", "log", "data"];

/// Opens the volume of that name on these handles, in the order of its backing files; without handles, in memory.
pub(crate) fn volume(name: String, handles: Vec<FileSystemSyncAccessHandle>) -> Result<Volume> {
    if handles.is_empty() {
        return volume_over(name, vec![memory_file()?], new_id()?);
    }
    let names = BACKINGS.into_iter().chain(std::iter::repeat("data"));
    let backings = handles.into_iter().zip(names).map(|(handle, name)| {
        let file: Arc<dyn File> = Arc::new(OpfsFile::new(name.to_owned(), handle));
        file
    });
    volume_over(name, backings.collect(), new_id()?)
}

/// A random id for a store that may be created.
fn new_id() -> Result<StoreId> {
    let mut bytes = [0; StoreId::BYTES];
    let failed = |e: JsValue| {
        let why = e.as_string().unwrap_or_else(|| "crypto.getRandomValues failed".to_owned());
        Error::io("draw", "random bytes", 0, std::io::Error::other(Message(why)))
    };
    #[cfg(not(feature = "threads"))]
    get_random_values(&mut bytes).map_err(failed)?;
    #[cfg(feature = "threads")]
    {
        // It refuses memory that is shared.
        let drawn = Uint8Array::new_with_length(StoreId::BYTES as u32);
        get_random_values(&drawn).map_err(failed)?;
        drawn.copy_to(&mut bytes);
    }
    Ok(StoreId::new(bytes))
}

#[wasm_bindgen]
extern "C" {
    #[cfg(not(feature = "threads"))]
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
    #[cfg(feature = "threads")]
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(bytes: &Uint8Array) -> Result<JsValue, JsValue>;
}

/// Starts to copy a store into a volume with a single file in memory; the last step returns its bytes.
pub(crate) fn bytes(db: &Db) -> Result<Steps> {
    terrane_session::copy_to_bytes(db, new_id()?).map(Steps)
}

/// Starts to copy the store, as it is now, to handles of a volume of that name without one.
pub(crate) fn copy(
    db: &Db,
    name: String,
    target: Vec<FileSystemSyncAccessHandle>,
) -> Result<Steps> {
    terrane_session::copy(db, volume(name, target)?).map(Steps)
}

/// Starts to copy the store in the file `source` to the handles `target` of a store of that name, which there must not
/// be.
///
/// # Errors
/// A file without a store, damage in it, a store at the target; an I/O error is returned by a step.
#[wasm_bindgen]
pub fn import_file(
    name: String,
    source: FileSystemSyncAccessHandle,
    target: Vec<FileSystemSyncAccessHandle>,
) -> Result<Steps, JsValue> {
    to_js((|| {
        let options = Options::small().create(false);
        let storage = Arc::new(volume("the file".to_owned(), vec![source])?);
        let db = Db::open_storage(storage, options, Arc::new(SliceExecutor::default()))?;
        copy(&db, name, target)
    })())
}
