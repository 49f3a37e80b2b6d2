//! Batches of the change feed, and their operations.

use super::cursor::FeedCursor;
use super::names::{NamedKeyspace, Names};
use crate::batch::{self, Operation};
use crate::entry::{Millis, split_expiring};
use crate::keyspace::{KeyspaceId, is_reserved};
use crate::operand::Operand;

/// A batch of the change feed: operations that took effect together.
#[derive(Clone)]
pub struct ChangeBatch {
    pub(super) cursor: FeedCursor,
    pub(super) bytes: Vec<u8>,
    pub(super) names: Names,
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
    /// The keyspace is dropped, with all its keys. A keyspace of the same name that later batches name is another one.
    DropKeyspace,
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

    /// Returns the batch as it lies in the log. It names keyspaces by their ids, and has operations in reserved
    /// keyspaces as well.
    #[doc(hidden)]
    #[must_use]
    pub fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the name of a keyspace of the batch, unless it is reserved.
    #[doc(hidden)]
    #[must_use]
    pub fn name(&self, id: KeyspaceId) -> Option<&str> {
        self.names.name(id).filter(|name| !is_reserved(name))
    }

    /// Returns the keyspaces of the operations, in their order, those that are reserved included.
    #[doc(hidden)]
    pub fn keyspaces(&self) -> impl Iterator<Item = NamedKeyspace> {
        let ids = batch::decode(&self.bytes).map_while(Result::ok).map(|(id, _)| id);
        ids.filter_map(|id| self.names.keyspace(id))
    }

    /// Returns the operations in their order, each with the name of its keyspace. Of several operations of a key the
    /// last counts, and a range delete removes what comes before it. Operations of a keyspace that was dropped since
    /// have the name that it had.
    pub fn changes(&self) -> impl Iterator<Item = (&str, Change<'_>)> {
        batch::decode(&self.bytes)
            .map_while(Result::ok)
            .filter_map(|(id, operation)| Some((self.name(id)?, Change::of(operation)?)))
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
            Operation::DropKeyspace(_) => Change::DropKeyspace,
        })
    }
}
