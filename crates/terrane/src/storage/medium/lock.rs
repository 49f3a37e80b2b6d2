//! One process at a time: a lock file that the operating system lets go when its holder ends.

use crate::error::{Error, Result};
use crate::storage::medium::LOCK;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// A store held for this process; dropped, it is free.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Locks `dir`'s lock file, creating it if needed, and writes into it who holds it.
    pub(super) fn acquire(dir: &Path, who: &str) -> Result<Self> {
        let path = dir.join(LOCK);
        let name = path.display().to_string();
        let io = |action| {
            let name = name.clone();
            move |e| Error::io(action, &name, 0, e)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(e)) => return Err(io("lock")(e)),
            Err(TryLockError::WouldBlock) => {
                let place = dir.display().to_string();
                return Err(Error::busy(place, holder(&file)));
            }
        }
        file.set_len(0).map_err(io("write"))?;
        write!(file, "process {} ({who})", std::process::id()).map_err(io("write"))?;
        Ok(StoreLock { _file: file })
    }
}

/// What the holder wrote; where the system does not let others read a locked file, no more than
/// that there is one.
fn holder(file: &File) -> String {
    let mut words = Vec::new();
    match file.take(256).read_to_end(&mut words) {
        Ok(n) if n > 0 => String::from_utf8_lossy(&words).into_owned(),
        _ => "another process".to_owned(),
    }
}
