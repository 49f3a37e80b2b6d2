//! Writing: how a batch becomes a log record and memtable entries.
//!
//! * `announce` - features of the store that a batch needs; `condition` - what must hold for a batch to be written.
//! * `group` - writers that arrive while another commits go together in the next record; `prepared` - their batches;
//!   `sampled` - those that events report.
//! * `commit` - one log record, then the memtables, then it is visible.
//! * `drop_keyspace` - the removal of a keyspace, as a batch and an edit.
//! * `stall` - when a write waits for background work; `backpressure` - how near that is, and `throttle` - the
//!   background work that a write pays for meanwhile.
//! * `seal` - which memtables close, so that memory and logs stay bounded.

mod announce;
mod backpressure;
mod commit;
mod condition;
mod drop_keyspace;
mod group;
mod prepared;
mod sampled;
mod seal;
mod stall;
mod throttle;

pub(crate) use announce::{announce, combined};
pub(crate) use backpressure::Backpressure;
pub(crate) use backpressure::{backpressure, nearest_stall};
pub(crate) use commit::begin_last_flush;
#[cfg(test)]
pub(crate) use commit::commit;
pub(crate) use condition::Checks;
pub use condition::{Condition, ConditionalBatch, Outcome, Refusal};
pub(crate) use drop_keyspace::drop_keyspace;
pub(crate) use group::GroupCommit;
pub(crate) use seal::{is_full, seal, seal_all, seal_full};
pub(crate) use stall::CatchUp;
pub(crate) use throttle::Throttle;
pub(crate) use throttle::{is_near, work_due};
