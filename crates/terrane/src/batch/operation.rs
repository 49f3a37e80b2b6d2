//! Operations of a batch.

use super::{DROP_KEYSPACE, RANGE_DELETE};
use crate::entry::{Kind, Seq, Tag, check_limits, left_out};
use crate::error::Result;
use crate::features::{COUNTERS, DROPS, EXPIRY, MERGE_OPERATOR, RANGE_DELETES};
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::operand::{AVAILABLE, MergeOperator, Operand, check_operand};

/// An entry of a batch.
pub type Entry<'a> = (KeyspaceId, Operation<'a>);

/// An operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// The key gets the value.
    Put(&'a [u8], &'a [u8]),
    /// The key gets a value that expires, stored with its time.
    PutExpiring(&'a [u8], &'a [u8]),
    /// The key gets what an encoded operand makes of its value.
    Merge(&'a [u8], &'a [u8]),
    /// The key is removed.
    Delete(&'a [u8]),
    /// The keys from one on are removed, to before another or, without one, to the end.
    DeleteRange(&'a [u8], Option<&'a [u8]>),
    /// The keyspace of this name is dropped. No later batch names it.
    DropKeyspace(&'a [u8]),
}

impl<'a> Operation<'a> {
    /// Returns the kind, the key and the rest: a value, or the end of a range.
    pub(super) fn parts(self) -> (u8, &'a [u8], &'a [u8]) {
        match self {
            Operation::Put(key, value) => (Kind::Put as u8, key, value),
            Operation::PutExpiring(key, stored) => (Kind::PutExpiring as u8, key, stored),
            Operation::Merge(key, operand) => (Kind::Merge as u8, key, operand),
            Operation::Delete(key) => (Kind::Delete as u8, key, &[]),
            Operation::DeleteRange(from, to) => (RANGE_DELETE, from, to.unwrap_or_default()),
            Operation::DropKeyspace(name) => (DROP_KEYSPACE, name, &[]),
        }
    }

    /// Returns the features that a store with the operation needs.
    pub(super) fn features(self) -> u32 {
        match self {
            Operation::Put(..) | Operation::Delete(_) => 0,
            Operation::DeleteRange(..) => RANGE_DELETES,
            Operation::DropKeyspace(_) => DROPS,
            Operation::PutExpiring(..) => EXPIRY,
            Operation::Merge(..) if !AVAILABLE => COUNTERS,
            Operation::Merge(_, operand) => match Operand::decode(operand) {
                Some(Operand::Custom(_)) => MERGE_OPERATOR,
                _ => COUNTERS,
            },
        }
    }

    /// Inserts the operation of a batch with the number `seq`, into a store with this merge operator.
    #[inline]
    pub(crate) fn insert_into(
        self,
        memtable: &Memtable,
        seq: Seq,
        operator: Option<&MergeOperator>,
    ) -> Result<()> {
        match self {
            Operation::Put(key, value) => memtable.insert(key, Tag::new(seq, Kind::Put), value),
            Operation::PutExpiring(key, stored) => {
                memtable.insert(key, Tag::new(seq, Kind::PutExpiring), stored)
            }
            Operation::Delete(key) => memtable.insert(key, Tag::new(seq, Kind::Delete), &[]),
            Operation::Merge(key, operand) if AVAILABLE => {
                memtable.merge(key, seq, operand, operator)
            }
            Operation::Merge(..) => Err(left_out()),
            // Range deletes were inserted before, with the others of their batch. An edit drops the keyspace.
            Operation::DeleteRange(..) | Operation::DropKeyspace(_) => Ok(()),
        }
    }

    pub(super) fn check(self) -> Result<()> {
        match self {
            Operation::Put(key, value) | Operation::PutExpiring(key, value) => {
                check_limits(key, value)
            }
            Operation::Merge(key, operand) => {
                check_limits(key, &[])?;
                check_operand(operand)
            }
            Operation::Delete(key) => check_limits(key, &[]),
            // Bounds and names were checked where they were made or decoded.
            Operation::DeleteRange(..) | Operation::DropKeyspace(_) => Ok(()),
        }
    }
}
