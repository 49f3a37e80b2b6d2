//! The store in a caller's hands: [`Db`] and [`Keyspace`] join an engine with the executor that runs
//! its jobs; a [`Snapshot`] shows the store as it was. `rows` asks about single rows, and
//! `transaction` reads at a snapshot and writes under the condition that nothing it read has changed. `views` are for
//! this repository's tests.

mod handle;
mod keyspace;
mod reserved;
mod retries;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;
mod transaction;
mod views;

pub use handle::{Db, TryWrite};
pub use keyspace::Keyspace;
pub use snapshot::Snapshot;
pub use transaction::{Transaction, TransactionScan, TransactionValue};

pub(crate) use handle::Inner;
