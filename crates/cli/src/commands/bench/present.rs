//! Keys that a store has.

/// Set of the keys that are present: a bit for each.
pub struct Present {
    words: Vec<u64>,
    count: u64,
}

impl Present {
    /// None of the keys below `num`.
    pub fn none(num: u64) -> Self {
        let words = usize::try_from(num.div_ceil(64)).unwrap_or(usize::MAX);
        Present { words: vec![0; words], count: 0 }
    }

    /// Says whether a key is there.
    pub fn set(&mut self, number: u64, there: bool) {
        let Some(word) = usize::try_from(number / 64).ok().and_then(|n| self.words.get_mut(n))
        else {
            return;
        };
        let bit = 1 << (number % 64);
        match (there, *word & bit != 0) {
            (true, false) => self.count += 1,
            (false, true) => self.count -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// Returns the number of keys.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_there_are_counted_once() {
        let mut present = Present::none(100);
        for (number, there) in [(0, true), (99, true), (0, true), (0, false), (64, false)] {
            present.set(number, there);
        }
        assert_eq!(present.count(), 1);
    }
}
