//! The keys of a change of a watch. Beyond [`KEYS`] or [`KEY_BYTES`] they are forgotten, and the change has none.

use crate::codec::ByteList;

/// The most keys of a change, and the most bytes of these keys.
const KEYS: usize = 1000;
const KEY_BYTES: usize = 64 << 10;

/// The keys of a change, with repetitions.
pub(crate) struct Changed {
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Whether they are not collected, or too many.
    is_sum: bool,
}

impl Changed {
    /// Starts without keys, and collects none unless `with_keys`.
    pub(crate) fn new(with_keys: bool) -> Self {
        Changed { keys: Vec::new(), ends: Vec::new(), is_sum: !with_keys }
    }

    /// Adds a key.
    pub(crate) fn push(&mut self, key: &[u8]) {
        if self.is_sum {
            return;
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        // As often again as there may be, so that repetitions are rarely removed.
        if self.ends.len() > 2 * KEYS || self.keys.len() > 2 * KEY_BYTES {
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
        if keys.len() > KEYS || keys.iter().map(|key| key.len()).sum::<usize>() > KEY_BYTES {
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
        if !self.is_sum {
            self.merge();
        }
        out.push((!self.is_sum).into());
        let mut list = ByteList::default();
        let mut start = 0;
        for end in self.ends {
            list.push(self.keys.get(start..end).unwrap_or_default());
            start = end;
        }
        list.encode(out);
    }
}
