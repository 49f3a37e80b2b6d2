//! Administration: what owners of a store ask of it besides reads and writes.
//!
//! * `keyspaces` - creates and drops them, and changes their policy.
//! * `waiter` - flushes and compactions of a range, awaited or polled.
//! * `checkpoint` - the store in another storage.
//! * `check` and `stats` - what is there, and whether it is sound; `inspect` - the same of a store
//!   that is closed, and perhaps cannot be opened.
//! * `moment` - a keyspace between two events, natively.
//! * `quarantine` - what recovery has discarded and keeps.
//! * `repair` - what a store that cannot be opened still holds, as a new one.

#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
mod background;
mod check;
mod checkpoint;
mod inspect;
mod keyspaces;
#[cfg(not(target_arch = "wasm32"))]
mod moment;
mod quarantine;
#[cfg(not(target_arch = "wasm32"))]
mod repair;
mod stats;
mod waiter;

#[cfg(test)]
mod tests;

#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
pub use background::{BackgroundStats, JobStats};
pub use check::{Check, CheckReport};
pub use checkpoint::Checkpoint;
pub use inspect::inspect;
#[cfg(not(target_arch = "wasm32"))]
pub use moment::Moment;
#[cfg(not(target_arch = "wasm32"))]
pub use repair::{DoubtfulRange, DoubtfulRows, Salvaged, SalvagedFile, repair};
pub use stats::{KeyspaceStats, LevelStats, OldestSnapshot, RangeDeleteStats, Stats};
pub use waiter::Waiter;
