//! Segments of the key space, each with the watches that cover it.

use terrane::KeyspaceId;

/// Segments, in the order of keyspaces and keys.
#[derive(Default)]
pub(crate) struct Segments {
    pub(crate) all: Vec<Segment>,
    /// The keyspace of each, and the head of its first key.
    heads: Vec<(KeyspaceId, u64)>,
}

/// The keys from one on, up to the next segment.
pub(crate) struct Segment {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) from: Vec<u8>,
    /// The places of the watches that cover it.
    pub(crate) watches: Vec<usize>,
}

impl Segments {
    /// Returns segments that are in their order.
    pub(crate) fn new(all: Vec<Segment>) -> Self {
        let heads = all.iter().map(|segment| (segment.keyspace, head(&segment.from)));
        Segments { heads: heads.collect(), all }
    }

    /// Returns the place of the last segment that starts at or before a key: `at`, where it is that of the key before,
    /// or by a search.
    pub(crate) fn place(&self, at: usize, keyspace: KeyspaceId, key: &[u8]) -> usize {
        let target = (keyspace, head(key));
        let starts = |n: usize| {
            let head = self.heads.get(n);
            head.is_some_and(|&head| head < target || head == target && self.starts(n, key))
        };
        if starts(at) && !starts(at + 1) {
            return at;
        }
        let first = self.heads.partition_point(|&head| head < target);
        let alike = self.heads.get(first..).unwrap_or_default();
        let alike = first..first + alike.partition_point(|&head| head == target);
        let before = self.all.get(alike).unwrap_or_default();
        let before = before.partition_point(|segment| segment.from.as_slice() <= key);
        (first + before).saturating_sub(1)
    }

    /// Whether a segment starts at or before a key of its keyspace.
    fn starts(&self, n: usize, key: &[u8]) -> bool {
        self.all.get(n).is_some_and(|segment| segment.from.as_slice() <= key)
    }
}

/// Returns the first eight bytes of a key as a number. Keys with different heads are ordered by them.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (byte, of_key) in bytes.iter_mut().zip(key) {
        *byte = *of_key;
    }
    u64::from_be_bytes(bytes)
}
