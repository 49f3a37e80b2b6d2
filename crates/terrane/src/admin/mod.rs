//! Administration: what owners of a store ask of it besides reads and writes.
//!
//! * `waiter` - flushes and compactions of a range, awaited or polled.
//! * `checkpoint` - the store in another storage.
//! * `pin` - the store at one moment, for copies of it; `version_set_copy` - the keyspaces and tables of a copy;
//!   `restoration` - a store that is made of them and of batches.
//! * `check` and `stats` - what is there, and whether it is sound; `inspect` - the same of a store
//!   that is closed, and perhaps cannot be opened.
//! * `queued_work` - background work in numbers, where threads do it.
//! * `moment` - a keyspace between two events.
//! * `quarantine` - what recovery has discarded and keeps.
//! * `repair` - what a store that cannot be opened still holds, as a new one.

mod check;
mod checkpoint;
mod inspect;
mod moment;
mod pin;
mod quarantine;
mod queued_work;
mod repair;
mod restoration;
mod stats;
mod version_set_copy;
mod waiter;

#[cfg(test)]
mod tests;

pub use check::{Check, CheckReport};
pub use checkpoint::Checkpoint;
pub use inspect::inspect;
pub use moment::Moment;
pub use pin::{Pin, PinnedTable};
pub use repair::{DoubtfulRange, DoubtfulRows, Salvaged, SalvagedFile, repair};
pub use restoration::Restoration;
pub use stats::{KeyspaceStats, LevelStats, OldestSnapshot, RangeDeleteStats, Stats, ValueKind};
pub use version_set_copy::VersionSetCopy;
pub use waiter::Waiter;
