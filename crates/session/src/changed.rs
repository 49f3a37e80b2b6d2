//! The keys of a change of a watch. Beyond [`KEYS_MAX`] or [`BYTES_MAX`] they are forgotten, and the change has none.

use crate::codec::ByteList;

/// The most keys of a change, and the most bytes of these keys.
const KEYS_MAX: usize = 1000;
const BYTES_MAX: usize = 64 << 10;

/// The keys of a change, with repetitions.
pub(crate) struct Changed {
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Whether the keys are not collected, or were too many.
    without_keys: bool,
}

impl Changed {
    /// Starts without keys, and collects none unless `with_keys`.
    pub(crate) fn new(with_keys: bool) -> Self {
        Changed { keys: Vec::new(), ends: Vec::new(), without_keys: !with_keys }
    }

    /// Adds a key.
    pub(crate) fn push(&mut self, key: &[u8]) {
        if self.without_keys {
            return;
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        // Twice as many as a change may have, so that repetitions are rarely removed.
        if self.ends.len() > 2 * KEYS_MAX || self.keys.len() > 2 * BYTES_MAX {
            self.merge();
        }
    }

    /// Forgets the keys, and collects no more.
    pub(crate) fn forget(&mut self) {
        *self = Changed::new(false);
    }

    /// Sorts the keys, without repetitions; forgets them if they are too many.
    fn merge(&mut self) {
        let mut start = 0;
        let slice = |&end: &usize| self.keys.get(std::mem::replace(&mut start, end)..end);
        let mut keys: Vec<&[u8]> = self.ends.iter().filter_map(slice).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.len() > KEYS_MAX || keys.iter().map(|key| key.len()).sum::<usize>() > BYTES_MAX {
            return self.forget();
        }
        let merged = keys.concat();
        let ends = keys.iter().scan(0, |end, key| {
            *end += key.len();
            Some(*end)
        });
        self.ends = ends.collect();
        self.keys = merged;
    }

    /// Appends a byte, 1 if there are keys, and their list.
    pub(crate) fn encode(mut self, out: &mut Vec<u8>) {
        if !self.without_keys {
            self.merge();
        }
        out.push((!self.without_keys).into());
        let mut list = ByteList::default();
        let mut start = 0;
        for end in self.ends {
            list.push(self.keys.get(start..end).unwrap_or_default());
            start = end;
        }
        list.encode(out);
    }
}
