//! The rows, computed from numbers, so that any value that was read can be checked.
//!
//! A store is filled with the numbers below `entries`. Those from there on are inserted later; their
//! keys lie between the others, and so do the keys that are missing.

use crate::random::{Permutation, mix};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Bytes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// Any bytes, spread evenly
    Uniform,
    /// `user` and a decimal number: what many keys have in common is at their start
    Text,
}

/// The rows of a store.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    pub entries: u64,
    pub keys: Keys,
    pub key_bytes: usize,
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

impl Data {
    /// Bytes of a key with its value.
    pub fn row_bytes(&self) -> u64 {
        (self.key_bytes + self.value_bytes) as u64
    }

    /// The key of a number, in `key`.
    pub fn key(&self, number: u64, key: &mut Vec<u8>) {
        self.key_at(self.position(number), key);
    }

    /// A key beside that of `number`, which is in no store.
    pub fn missing_key(&self, number: u64, key: &mut Vec<u8>) {
        self.key_at(SPREAD * number + MISSING, key);
    }

    /// The value that `number` was given by the write with this stamp: half of it is random.
    pub fn value(&self, number: u64, stamp: u64, value: &mut Vec<u8>) {
        value.clear();
        value.resize(self.value_bytes, 0);
        let (head, rest) = value.split_at_mut(HEAD.min(self.value_bytes));
        for (to, from) in head.chunks_mut(8).zip([number, stamp]) {
            to.copy_from_slice(&from.to_le_bytes()[..to.len()]);
        }
        let random = (self.value_bytes / 2).saturating_sub(HEAD).min(rest.len());
        let mut state = mix(number) ^ stamp;
        for word in rest[..random].chunks_mut(8) {
            state = mix(state);
            word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
        }
    }

    /// Returns the position in key order of a number's key.
    pub fn position(&self, number: u64) -> u64 {
        match number.checked_sub(self.entries) {
            None => SPREAD * number,
            Some(inserted) => {
                let order = Permutation::new(self.entries, INSERTION_ORDER);
                SPREAD * order.at(inserted % self.entries) + INSERTED
            }
        }
    }

    fn key_at(&self, position: u64, key: &mut Vec<u8>) {
        key.clear();
        match self.keys {
            Keys::Uniform => {
                let spread = position * (u64::MAX / (SPREAD * self.entries));
                key.extend_from_slice(&spread.to_be_bytes());
                let mut state = position;
                while key.len() < self.key_bytes {
                    state = mix(state);
                    key.extend_from_slice(&state.to_be_bytes());
                }
            }
            Keys::Text => {
                let mut digits = [b'0'; 20];
                let mut rest = position;
                for digit in digits.iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                key.extend_from_slice(b"user");
                let width = self.key_bytes.saturating_sub(key.len());
                key.resize(4 + width.saturating_sub(digits.len()), b'0');
                key.extend_from_slice(&digits[digits.len() - width.min(digits.len())..]);
            }
        }
        key.truncate(self.key_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Data, Keys};

    #[test]
    fn keys_have_their_length_and_distinct_ordered_positions() {
        for (keys, key_bytes) in [(Keys::Uniform, 16), (Keys::Text, 16), (Keys::Text, 40)] {
            let data = Data { entries: 100, keys, key_bytes, value_bytes: 100 };
            let mut rows: Vec<(u64, Vec<u8>)> = Vec::new();
            for number in 0..200 {
                let mut key = Vec::new();
                data.key(number, &mut key);
                rows.push((data.position(number), key));
            }
            rows.sort();
            assert!(rows.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            let mut missing = Vec::new();
            data.missing_key(7, &mut missing);
            assert!(rows.iter().all(|(_, key)| *key != missing && key.len() == key_bytes));
        }
    }

    #[test]
    fn a_value_is_of_its_number_and_its_write() {
        for value_bytes in [5, 100, 16_000] {
            let data = Data { entries: 10, keys: Keys::Uniform, key_bytes: 16, value_bytes };
            let value = |number, stamp| {
                let mut value = Vec::new();
                data.value(number, stamp, &mut value);
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
