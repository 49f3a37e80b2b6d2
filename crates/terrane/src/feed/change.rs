//! Batches of the change feed, and their operations.

use super::cursor::FeedCursor;
use crate::batch::{self, Operation};
use crate::engine::KeyspaceMap;
use crate::entry::{Millis, split_expiring};
use crate::keyspace::is_reserved;
use crate::operand::Operand;
use std::sync::Arc;

/// A batch of the change feed: operations that took effect together.
#[derive(Clone)]
pub struct ChangeBatch {
    pub(super) cursor: FeedCursor,
    pub(super) bytes: Vec<u8>,
    pub(super) keyspaces: Arc<KeyspaceMap>,
}

/// An operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<'a> {
    /// The key has the value.
    Put {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
        /// The time at which the value expires, in milliseconds since the epoch, if it does.
        expires: Option<Millis>,
    },
    /// An operand is applied to the key's value.
    Merge {
        /// The key.
        key: &'a [u8],
        /// The operand.
        operand: Operand<'a>,
    },
    /// The key has no value.
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// The keys of a range have no values.
    DeleteRange {
        /// The first key of the range.
        from: &'a [u8],
        /// The key before which the range ends, if it has an end.
        to: Option<&'a [u8]>,
    },
}

impl ChangeBatch {
    /// Returns the place after the batch, from which a subscriber that has dealt with it continues.
    #[must_use]
    pub fn cursor(&self) -> FeedCursor {
        self.cursor
    }

    /// Returns the length of the batch as it lies in the log.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the batch as it lies in the log. It names keyspaces by their ids, and has operations in reserved and in
    /// removed keyspaces as well.
    #[doc(hidden)]
    #[must_use]
    pub fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the operations in their order, each with the name of its keyspace. Of several operations of a key the
    /// last counts, and a range delete removes what comes before it. Operations in keyspaces that were removed since
    /// are left out.
    pub fn changes(&self) -> impl Iterator<Item = (&str, Change<'_>)> {
        batch::decode(&self.bytes).map_while(Result::ok).filter_map(|(id, operation)| {
            let name = self.keyspaces.get(&id)?.name.as_str();
            (!is_reserved(name)).then_some(())?;
            Some((name, Change::of(operation)?))
        })
    }
}

impl<'a> Change<'a> {
    fn of(operation: Operation<'a>) -> Option<Self> {
        Some(match operation {
            Operation::Put(key, value) => Change::Put { key, value, expires: None },
            Operation::PutExpiring(key, stored) => {
                let (expires, value) = split_expiring(stored)?;
                Change::Put { key, value, expires: Some(expires) }
            }
            Operation::Merge(key, operand) => {
                Change::Merge { key, operand: Operand::decode(operand)? }
            }
            Operation::Delete(key) => Change::Delete { key },
            Operation::DeleteRange(from, to) => Change::DeleteRange { from, to },
        })
    }
}
