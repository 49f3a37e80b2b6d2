//! The change feed: batches as they were written, read from the log.
//!
//! * `cursor` - a place in the feed: a lineage and a sequence number.
//! * `lineage` - the history that sequence numbers count; the places from which the feed can continue.
//! * `changes` - the batches after a cursor, read at the subscriber's own pace.
//! * `change` - the operations of a batch; `names` - the keyspaces that it names.
//! * `wait` - waits for durable batches, which sync the log if nothing else does.
//!
//! 1. A subscriber has no queue: it reads the live logs and the retained ones (`engine/retained_logs.rs`), and
//!    remembers its place in them.
//! 2. The feed ends with the last batch that is known to be durable, so that a power cut undoes nothing that it showed.
//!    While a subscriber waits, writes are synced soon.
//! 3. The removal of a keyspace is a batch (`write/drop_keyspace.rs`). The names of removed keyspaces are kept while
//!    the feed has batches from before the removal.
//! 4. A cursor before the oldest log, or of another lineage, is refused: the subscriber reads the store as it is, and
//!    continues from there.

mod change;
mod changes;
mod cursor;
mod lineage;
mod names;
#[cfg(test)]
mod tests;
mod wait;

pub use change::{Change, ChangeBatch};
pub use changes::Changes;
pub use cursor::{FeedCursor, Lineage};
pub(crate) use lineage::of as lineage;
pub use names::NamedKeyspace;
pub(crate) use names::Names;
pub use wait::FeedWatch;
