//! Copies of a store, step by step.

use crate::steps::{End, Steps};
use std::sync::Arc;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::volume::{Volume, VolumeOptions};
use terrane::storage::{File, Storage, StoreId, read_exact_at};
use terrane::{Db, Error, Result};

/// Creates an empty file in memory.
///
/// # Errors
/// None in practice: memory takes any name.
pub fn memory_file() -> Result<Arc<dyn File>> {
    MemoryVfs::new().create("memory")
}

/// Opens the volume on backing files. A new volume gets the id `new_id`. Errors name the volume `name`.
///
/// # Errors
/// Damage, a store of a later release, an I/O error.
pub fn volume_over(name: String, backings: Vec<Arc<dyn File>>, new_id: StoreId) -> Result<Volume> {
    Volume::open(backings, VolumeOptions { name, new_id, ..Default::default() })
}

/// Starts to copy a store into a volume with a single file in memory; the last step returns its bytes.
///
/// # Errors
/// A closed store; not enough memory, damage and I/O errors are returned by a step.
pub fn copy_to_bytes(db: &Db, new_id: StoreId) -> Result<Steps> {
    let file = memory_file()?;
    let target = volume_over("the copy".to_owned(), vec![file.clone()], new_id)?;
    start(db, Box::new(target), Some(file))
}

/// Starts to copy the store, as it is now, to a storage without one.
///
/// # Errors
/// A store at the target, a closed store; an I/O error is returned by a step.
pub fn copy(db: &Db, target: impl Storage + 'static) -> Result<Steps> {
    start(db, Box::new(target), None)
}

/// Starts a copy; the last step returns the bytes of `file`, if that is the target's file.
fn start(db: &Db, target: Box<dyn Storage>, file: Option<Arc<dyn File>>) -> Result<Steps> {
    let mut copy = db.begin_checkpoint(&*target)?;
    Ok(Steps::new(move || {
        if copy.step(&*target)? {
            return Ok(None);
        }
        file.as_deref().map_or(Ok(End::Nothing), contents).map(Some)
    }))
}

/// Reads a whole file.
fn contents(file: &dyn File) -> Result<End> {
    let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let full = |_| Error::no_space(file.name(), len as u64);
    bytes.try_reserve_exact(len).map_err(full)?;
    bytes.resize(len, 0);
    read_exact_at(file, &mut bytes, 0)?;
    Ok(End::Bytes(bytes))
}
