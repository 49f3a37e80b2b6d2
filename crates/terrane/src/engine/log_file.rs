//! Logs that are not appended to: full, spare, or held to be read as they were.

use crate::entry::Seq;
use crate::error::{Closed, Result};
use crate::storage::File;
use crate::wal::LogId;
use std::sync::Arc;

/// A live log that no writer appends to.
pub(crate) struct SealedLog {
    pub id: LogId,
    pub file_number: u64,
    pub file: Arc<dyn File>,
    /// Last sequence number in it or in a log before it.
    pub last: Seq,
    /// Offset of the end of its records.
    pub bytes: u64,
    /// Bytes that its file takes.
    pub capacity: u64,
    /// Whether its file has the usual size, so that it can be recycled.
    pub reusable: bool,
}

impl SealedLog {
    /// Returns the log as one to be read.
    pub fn held(&self) -> HeldLog {
        let (file, through) = (self.file.clone(), Some(self.last));
        HeldLog { id: self.id, file, bytes: self.bytes, through }
    }
}

/// A log file with the number of a log that no writer has started yet.
#[derive(Clone)]
pub(crate) struct SpareLog {
    pub number: u64,
    pub file_number: u64,
    pub file: Arc<dyn File>,
    pub capacity: u64,
}

/// A log as it was when it was held. Later records are not in it.
#[derive(Clone)]
pub(crate) struct HeldLog {
    pub id: LogId,
    pub file: Arc<dyn File>,
    /// Length when it was held; `u64::MAX` for all of the file.
    pub bytes: u64,
    /// Last sequence number, unless it is appended to.
    pub through: Option<Seq>,
}

impl File for HeldLog {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = buf.len().min(left);
        self.file.read_at(buf.get_mut(..bytes).unwrap_or_default(), offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        Err(Closed::File.into())
    }

    fn sync(&self) -> Result<()> {
        Err(Closed::File.into())
    }

    fn set_len(&self, _: u64) -> Result<()> {
        Err(Closed::File.into())
    }

    fn len(&self) -> Result<u64> {
        match self.bytes {
            u64::MAX => self.file.len(),
            bytes => Ok(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::storage::write_all_at;

    #[test]
    fn a_held_log_ends_where_it_did_and_takes_no_change() {
        let file = MemoryVfs::new().create("log").unwrap();
        write_all_at(&*file, b"0123456789", 0).unwrap();
        let id = LogId { number: 1, salt: 0 };
        let held = HeldLog { id, file, bytes: 4, through: None };
        assert_eq!((held.name(), held.len().unwrap()), ("log", 4));
        let mut bytes = [0; 8];
        assert_eq!(held.read_at(&mut bytes, 1).unwrap(), 3);
        assert_eq!(&bytes[..3], b"123");
        assert_eq!(held.read_at(&mut bytes, 5).unwrap(), 0);
        assert!(held.write_at(b"x", 0).is_err() && held.set_len(9).is_err());
        assert!(held.sync().is_err());
    }
}
