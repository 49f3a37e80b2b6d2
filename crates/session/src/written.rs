//! The keys and ranges that a batch changes, without values. They outlive the batch, which a commit consumes, since
//! watches are notified after the commit.

use terrane::batch::Operation;
use terrane::{KeyspaceId, WriteBatch};

/// The keys and ranges of a batch.
#[derive(Default)]
pub(crate) struct Written {
    keys: Vec<u8>,
    /// The keyspace of each key, and its end.
    ends: Vec<(KeyspaceId, usize)>,
    /// The deleted ranges, each without the key at its end.
    pub(crate) ranges: Vec<(KeyspaceId, Vec<u8>, Option<Vec<u8>>)>,
}

impl Written {
    /// Returns the keys and ranges of a batch.
    pub(crate) fn by(batch: &WriteBatch) -> Self {
        let mut written = Written::default();
        for (keyspace, operation) in batch.iter().map_while(Result::ok) {
            written.push(keyspace, operation);
        }
        written
    }

    /// Adds the key or the range of an operation.
    pub(crate) fn push(&mut self, keyspace: KeyspaceId, operation: Operation<'_>) {
        match operation {
            Operation::Put(key, _)
            | Operation::PutExpiring(key, _)
            | Operation::Merge(key, _)
            | Operation::Delete(key) => {
                self.keys.extend_from_slice(key);
                self.ends.push((keyspace, self.keys.len()));
            }
            Operation::DeleteRange(from, to) => {
                self.ranges.push((keyspace, from.to_vec(), to.map(<[u8]>::to_vec)));
            }
        }
    }

    /// Returns the keys, with their keyspaces.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (KeyspaceId, &[u8])> {
        let mut start = 0;
        self.ends.iter().map_while(move |&(keyspace, end)| {
            self.keys.get(std::mem::replace(&mut start, end)..end).map(|key| (keyspace, key))
        })
    }
}
