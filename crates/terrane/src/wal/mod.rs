//! The write-ahead log: every batch lies here before it is in a memtable.
//!
//! 1. A log has a *number*, never reused, and lies in a file, which may have been another log's
//!    before: older records may follow the last one.
//! 2. Batches committed together are one record ([`record`]), written in one piece ([`LogWriter`]).
//!    It is whole after a crash, or it is not there.
//! 3. Every record says how far the log was known to be on the medium when it was written.
//! 4. [`replay`] reads what a crash left, and tells a lost suffix from damage by that ([`recovery`]).

pub mod record;
pub mod recovery;
#[cfg(test)]
mod tests;
mod window;
mod writer;

pub use record::{record_bytes, scan};
pub use recovery::{Replay, Replayed, replay};
pub use writer::{LogWriter, erase};

use crate::rules::Rule;

/// The checksum seed of a log's records: its number, so that records which an earlier log left in
/// the same file do not pass (rule 5).
fn seed(number: u64) -> u64 {
    if Rule::NumberedChecksums.holds() { number } else { 0 }
}
