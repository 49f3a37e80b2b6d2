//! The set of live keys, by number.

/// A set of numbers, one bit each.
#[derive(Default)]
pub(crate) struct BitSet {
    words: Vec<u64>,
    count: u64,
}

impl BitSet {
    /// Adds or removes a number.
    pub(crate) fn set(&mut self, number: u64, live: bool) {
        let at = (number / 64) as usize;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let bit = 1u64 << (number % 64);
        let Some(word) = self.words.get_mut(at) else { return };
        match (live, *word & bit != 0) {
            (true, false) => self.count += 1,
            (false, true) => self.count -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// The size of the set.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}
