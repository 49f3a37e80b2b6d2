//! Rows, computed from the numbers of their keys, so that a value that was read can be checked.
//!
//! The keys `uniform` and `text` are for a store that is filled with the numbers below `entries`. Those from there on
//! are inserted later; their keys lie between the others, and so do the keys that are missing.

use crate::random::{Permutation, mix};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::Arc;

/// Bytes of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// Any bytes, spread evenly.
    Uniform,
    /// `user` and a decimal number: what many keys have in common is at their start.
    Text,
    /// The number's bytes, the most significant first, then the digit 0, as db_bench of RocksDB makes them.
    Numbers,
    /// These, by their numbers. None has a newline.
    #[serde(skip)]
    Lines(Arc<[Box<[u8]>]>),
}

/// The rows of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// Number of rows that the store is filled with.
    pub entries: u64,
    /// Bytes of keys.
    pub keys: Keys,
    /// Length of a key, unless keys are lines.
    pub key_bytes: usize,
    /// Length of a value.
    pub value_bytes: usize,
}

/// Positions in key order for each entry: the entry, a row that is inserted later, and two that never are.
const SPREAD: u64 = 4;
/// Inserted positions among these.
const INSERTED: u64 = 1;
const MISSING: u64 = 2;
/// The bytes with which a value says what it is: its number and its stamp.
const HEAD: usize = 16;
/// The order of rows that are inserted later.
const INSERTION_ORDER: u64 = 0x696e_7365_7274;

impl Rows {
    /// Returns the bytes of a key with its value, on average.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        let key_bytes = match &self.keys {
            Keys::Lines(lines) => {
                lines.iter().map(|line| line.len()).sum::<usize>() / lines.len().max(1)
            }
            _ => self.key_bytes,
        };
        (key_bytes + self.value_bytes) as u64
    }

    /// Writes the key of `number` into `key`.
    pub fn key(&self, number: u64, key: &mut Vec<u8>) {
        key.clear();
        match &self.keys {
            Keys::Uniform | Keys::Text => self.extend_at(self.position(number), key),
            Keys::Numbers => {
                key.extend_from_slice(&number.to_be_bytes());
                key.resize(self.key_bytes, b'0');
            }
            Keys::Lines(lines) => {
                let line = usize::try_from(number).ok().and_then(|number| lines.get(number));
                key.extend_from_slice(line.map_or(&[], |line| line));
            }
        }
    }

    /// Writes a key beside that of `number`, which is in no store, into `key`.
    pub fn missing_key(&self, number: u64, key: &mut Vec<u8>) {
        match &self.keys {
            Keys::Uniform | Keys::Text => {
                key.clear();
                self.extend_at(SPREAD * number + MISSING, key);
            }
            Keys::Numbers => {
                self.key(number, key);
                key.push(b'0');
            }
            Keys::Lines(_) => {
                self.key(number, key);
                key.push(b'\n');
            }
        }
    }

    /// Writes the value of `number` by the write with this stamp into `value`: a half is random, the rest zeros.
    pub fn value(&self, number: u64, stamp: u64, value: &mut Vec<u8>) {
        value.clear();
        for word in [number, stamp] {
            value.extend_from_slice(&word.to_le_bytes());
        }
        let random = (self.value_bytes / 2).max(HEAD);
        let mut state = mix(number) ^ stamp;
        while value.len() < random {
            state = mix(state);
            value.extend_from_slice(&state.to_le_bytes());
        }
        value.truncate(random);
        value.resize(self.value_bytes, 0);
    }

    /// Returns the position of the key of `number` among the keys `uniform` or `text`, in their order.
    #[must_use]
    pub fn position(&self, number: u64) -> u64 {
        match number.checked_sub(self.entries) {
            None => SPREAD * number,
            Some(inserted) => {
                let order = Permutation::new(self.entries, INSERTION_ORDER);
                SPREAD * order.at(inserted % self.entries) + INSERTED
            }
        }
    }

    /// Appends the key at a position.
    fn extend_at(&self, position: u64, key: &mut Vec<u8>) {
        if self.keys == Keys::Text {
            let width = self.key_bytes.saturating_sub("user".len());
            // A vector takes whatever is written.
            let _ = write!(key, "user{position:0width$}");
        } else {
            let spread = position * (u64::MAX / (SPREAD * self.entries));
            key.extend_from_slice(&spread.to_be_bytes());
            let mut state = position;
            while key.len() < self.key_bytes {
                state = mix(state);
                key.extend_from_slice(&state.to_be_bytes());
            }
        }
        key.truncate(self.key_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Rows};
    use std::collections::BTreeSet;

    fn rows(entries: u64, keys: Keys, key_bytes: usize) -> Rows {
        Rows { entries, keys, key_bytes, value_bytes: 100 }
    }

    fn key(rows: &Rows, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        rows.key(number, &mut key);
        key
    }

    fn missing_key(rows: &Rows, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        rows.missing_key(number, &mut key);
        key
    }

    #[test]
    fn keys_have_their_length_and_distinct_ordered_positions() {
        for (keys, key_bytes) in [(Keys::Uniform, 16), (Keys::Text, 16), (Keys::Text, 40)] {
            let rows = rows(100, keys, key_bytes);
            let by_position: BTreeSet<_> =
                (0..200).map(|number| (rows.position(number), key(&rows, number))).collect();
            let keys: Vec<_> = by_position.into_iter().map(|(_, key)| key).collect();
            assert!(keys.windows(2).all(|two| two[0] < two[1]));
            let missing = missing_key(&rows, 7);
            assert!(keys.iter().all(|key| *key != missing && key.len() == key_bytes));
        }
    }

    #[test]
    fn missing_keys_sort_between_the_others() {
        let lines = ["", "a", "ab", "b"].map(|line| Box::from(line.as_bytes()));
        let given = rows(4, Keys::Lines(lines.into()), 0);
        let numbers = rows(1000, Keys::Numbers, 16);
        for (rows, listed) in [(numbers, &[0, 1, 255, 256, 999][..]), (given, &[0, 1, 2, 3])] {
            let keys = listed.iter().flat_map(|n| [key(&rows, *n), missing_key(&rows, *n)]);
            let keys: Vec<_> = keys.collect();
            assert!(keys.is_sorted() && keys.windows(2).all(|two| two[0] != two[1]), "{keys:?}");
        }
    }

    #[test]
    fn a_value_is_of_its_number_and_its_write() {
        for value_bytes in [5, 100, 16_000] {
            let rows = Rows { value_bytes, ..rows(10, Keys::Uniform, 16) };
            let value = |number, stamp| {
                let mut value = Vec::new();
                rows.value(number, stamp, &mut value);
                value
            };
            assert_eq!(value(1, 1).len(), value_bytes);
            assert_eq!(value(1, 1), value(1, 1));
            assert_ne!(value(1, 1), value(2, 1));
            let zeros = value(1, 1).iter().rev().take_while(|byte| **byte == 0).count();
            assert!(value_bytes < 100 || zeros >= value_bytes / 2);
        }
    }
}
