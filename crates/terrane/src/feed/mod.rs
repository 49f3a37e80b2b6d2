//! The change feed: what was written, batch by batch, read from the log.
//!
//! * `cursor` - a place in the feed: a lineage and a sequence number.
//! * `lineage` - which history the sequence numbers count; the places from which the feed can continue.
//! * `changes` - the batches after a cursor, for whoever reads them at their own pace.
//! * `change` - the operations of a batch.
//! * `wait` - waits until a batch is durable, and makes it so if nobody else does.
//!
//! 1. A subscriber has no queue: it reads the logs, those that are live and those that are retained
//!    (`engine/retained_logs.rs`), and remembers its place in them.
//! 2. The feed ends with the last batch that is known to be durable, so a power cut takes nothing that it showed. While
//!    a subscriber waits, what is written is synced soon.
//! 3. A batch that is no longer in any log, or a cursor of another history, is refused: the subscriber reads the store
//!    as it is, and continues from there.

mod change;
mod changes;
mod cursor;
mod lineage;
#[cfg(test)]
mod tests;
mod wait;

pub use change::{Change, ChangeBatch};
pub use changes::Changes;
pub use cursor::{FeedCursor, Lineage};
pub use wait::FeedWatch;
