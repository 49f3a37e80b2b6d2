//! A log that recovery replayed.

use crate::engine::SealedLog;
use crate::storage::File;
use crate::version::LogRecord;
use crate::wal::ReplayedLog;
use std::sync::Arc;

/// A live log that was replayed.
#[derive(Clone)]
pub(crate) struct LiveLog {
    pub record: LogRecord,
    pub file: Arc<dyn File>,
    /// The file's length, in bytes.
    pub len: u64,
    pub found: ReplayedLog,
}

impl LiveLog {
    /// Whether records may follow those that were found.
    pub fn is_open(&self) -> bool {
        self.record.through.is_none() && self.found.discarded_bytes == 0
    }

    /// Whether it was started.
    pub fn is_used(&self) -> bool {
        self.found.end > 0 || !self.is_open()
    }

    /// The same as a log that is not appended to.
    pub fn sealed(self, reusable: bool) -> SealedLog {
        SealedLog {
            id: self.record.id(),
            file_number: self.record.file,
            file: self.file,
            last: self.found.last,
            bytes: self.found.end,
            capacity: self.len,
            reusable,
        }
    }
}
