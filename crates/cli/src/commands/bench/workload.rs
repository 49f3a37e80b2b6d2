//! Keys and values, as db_bench makes them.

use super::args::Keys;
use fastrand::Rng;

/// The bytes that values are cut from.
const POOL: usize = 1 << 20;
/// The pool is made of pieces of this length, each one's first half twice: it compresses to about
/// half.
const PIECE: usize = 100;

/// Draws keys and values.
pub struct Rows {
    rng: Rng,
    num: u64,
    key: Vec<u8>,
    key_bytes: usize,
    /// The keys by their numbers, if they are given.
    given: Option<Keys>,
    pool: Vec<u8>,
    value_at: usize,
    value_bytes: usize,
}

impl Rows {
    /// Keys below `num`; all that is drawn follows from `seed`.
    pub fn new(seed: u64, num: u64, key_bytes: usize, value_bytes: usize) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut pool = Vec::with_capacity(POOL + PIECE);
        while pool.len() < POOL.max(value_bytes) {
            let half: Vec<u8> = (0..PIECE / 2).map(|_| rng.u8(b' '..=b'~')).collect();
            pool.extend(half.repeat(2));
        }
        Rows { rng, num, key: Vec::new(), key_bytes, given: None, pool, value_at: 0, value_bytes }
    }

    /// The same with these keys.
    pub fn of(self, given: Option<Keys>) -> Self {
        Rows { given, ..self }
    }

    /// A random key's number.
    pub fn draw(&mut self) -> u64 {
        self.rng.u64(0..self.num)
    }

    /// The key of a number: the number's bytes, then zeros; or that line.
    pub fn key(&mut self, number: u64) -> &[u8] {
        self.fill_key(number);
        &self.key
    }

    /// A key that is in no store, right behind that of a number; no line has such an end.
    pub fn missing(&mut self, number: u64) -> &[u8] {
        self.fill_key(number);
        self.key.push(if self.given.is_some() { b'\n' } else { b'0' });
        &self.key
    }

    fn fill_key(&mut self, number: u64) {
        self.key.clear();
        if let Some(Keys(keys)) = &self.given {
            let line = usize::try_from(number).ok().and_then(|number| keys.get(number));
            self.key.extend_from_slice(line.map_or(&[], |line| line));
            return;
        }
        self.key.extend_from_slice(&number.to_be_bytes());
        self.key.resize(self.key_bytes, b'0');
    }

    /// The key of a number, and the next value.
    pub fn row(&mut self, number: u64) -> (&[u8], &[u8]) {
        if self.value_at + self.value_bytes > self.pool.len() {
            self.value_at = 0;
        }
        let at = self.value_at;
        self.value_at += self.value_bytes;
        self.fill_key(number);
        (&self.key, self.pool.get(at..at + self.value_bytes).unwrap_or_default())
    }
}

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
    use std::collections::BTreeSet;

    #[test]
    fn missing_keys_sort_between_the_others() {
        let mut workload = Rows::new(1, 1000, 16, 100);
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for number in [0, 1, 255, 256, 999] {
            keys.push(workload.key(number).into());
            keys.push(workload.missing(number).into());
        }
        assert!(keys.is_sorted());
        assert_eq!(keys.iter().map(Vec::len).collect::<BTreeSet<_>>(), [16, 17].into());
    }

    #[test]
    fn a_seed_determines_the_rows() {
        let rows = |seed| {
            let mut workload = Rows::new(seed, 1 << 30, 16, 100);
            let mut row = || {
                let number = workload.draw();
                let (key, value) = workload.row(number);
                (key.to_vec(), value.to_vec())
            };
            (0..20).map(|_| row()).collect::<Vec<_>>()
        };
        assert_eq!(rows(7), rows(7));
        assert_ne!(rows(7), rows(8));
        assert!(rows(7).iter().all(|(_, value)| value.len() == 100));
        let mut long = Rows::new(7, 10, 8, 3 << 20);
        assert_eq!((long.row(1).1.len(), long.row(2).1.len()), (3 << 20, 3 << 20));
    }

    #[test]
    fn keys_that_are_there_are_counted_once() {
        let mut present = Present::none(100);
        for (number, there) in [(0, true), (99, true), (0, true), (0, false), (64, false)] {
            present.set(number, there);
        }
        assert_eq!(present.count(), 1);
    }
}
