//! Conditions of a batch, which own the values and snapshots that they are compared with.

use crate::{Keyspace, Snapshot};
use terrane::{KeyRange, Seq};

/// A condition of a batch; see [`Db::write_if`](crate::Db::write_if).
#[derive(Clone)]
pub struct Condition(Kind);

#[derive(Clone)]
enum Kind {
    Key(terrane::Condition<'static>),
    Range(Snapshot, terrane::Keyspace, KeyRange),
}

impl Condition {
    /// Expects that the key has no value.
    pub fn absent(keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Self {
        Condition(Kind::Key(terrane::Condition::absent(keyspace.inner(), key)))
    }

    /// Expects that the key has a value.
    pub fn present(keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Self {
        Condition(Kind::Key(terrane::Condition::present(keyspace.inner(), key)))
    }

    /// Expects the value that the batch with this sequence number wrote.
    pub fn version(keyspace: &Keyspace, key: impl AsRef<[u8]>, seq: Seq) -> Self {
        Condition(Kind::Key(terrane::Condition::version(keyspace.inner(), key, seq)))
    }

    /// Expects this value.
    pub fn value(keyspace: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        Condition(Kind::Key(terrane::Condition::value(keyspace.inner(), key, value)))
    }

    /// Expects that no batch has written into the range since the snapshot was taken.
    pub fn unchanged(snapshot: &Snapshot, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Self {
        Condition(Kind::Range(snapshot.clone(), keyspace.inner().clone(), range.into()))
    }

    /// Returns the engine's condition.
    pub(crate) fn borrowed(&self) -> terrane::Condition<'_> {
        match &self.0 {
            Kind::Key(condition) => condition.clone(),
            Kind::Range(snapshot, keyspace, range) => snapshot.inner().unchanged(keyspace, range),
        }
    }
}

impl From<terrane::Condition<'static>> for Condition {
    fn from(condition: terrane::Condition<'static>) -> Self {
        Condition(Kind::Key(condition))
    }
}
