//! The write-ahead log: every batch is written here before it goes into a memtable.
//!
//! 1. A log has a *number*, which is never reused, and a file, which may have been another log's
//!    before: older records may follow the last one.
//! 2. Batches committed together are one record ([`record`]), written in one write ([`LogWriter`]).
//!    After a crash it is whole or absent.
//! 3. Every record says how far the log was known to be durable when it was written. After the last
//!    one, a *claim* says so: a header without a payload.
//! 4. The change feed reads logs while they are written (`reader`).
//! 5. A [`Replay`] reads what a crash left, and by those distinguishes a lost suffix from damage
//!    ([`recovery`]).

mod chunks;
mod log_sync;
mod reader;
pub mod record;
pub mod recovery;
mod sync_watch;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use log_sync::{Appended, LogSync};
pub(crate) use reader::{Place, Records, read_records};
pub use record::{batches, log_file_bytes, payload_bytes, record_bytes, scan};
pub use recovery::{Apply, Replay, Replayed, ReplayedLog, write_again};
pub use writer::{LogWriter, erase};

use crate::rules::Rule;

/// Identifies a log among those of all stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId {
    /// Its number.
    pub number: u64,
    /// The salt of the store that writes it.
    pub salt: u64,
}

impl LogId {
    /// The checksum seed of the log's records, so that records left in the same file by an earlier log
    /// (durability rule 5) or by another store fail their checksums.
    #[must_use]
    pub fn seed(self) -> u64 {
        let number = if Rule::NumberedChecksums.holds() { self.number } else { 0 };
        self.salt ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
