//! The map that stands for the store: the effect and the reply of each operation.

use std::collections::BTreeMap;

/// An operation on keys, which are numbers.
#[derive(Clone, Debug)]
pub enum Op {
    Get(u8),
    Set(u8, i64),
    Delete(u8),
    Increment(u8),
    /// Sets a value if it is the one before.
    Replace {
        key: u8,
        before: i64,
        after: i64,
    },
    /// Increments two keys, and reads the first again.
    IncrementBoth(u8, u8),
    /// Sets two keys to a value if the first has the one before.
    ReplaceBoth {
        keys: [u8; 2],
        before: i64,
        after: i64,
    },
    /// Reads two keys at one moment.
    GetBoth(u8, u8),
}

/// The reply to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ret {
    Done,
    Applies(bool),
    Value(Option<i64>),
    Values(Vec<Option<i64>>),
}

/// Values by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map(BTreeMap<u8, i64>);

impl Map {
    fn get(&self, key: u8) -> Option<i64> {
        self.0.get(&key).copied()
    }

    fn increment(&mut self, key: u8) -> Option<i64> {
        let value = self.0.entry(key).or_default();
        *value += 1;
        Some(*value)
    }
}

impl Map {
    /// Applies an operation.
    pub fn apply(&mut self, op: &Op) -> Ret {
        match *op {
            Op::Get(key) => Ret::Value(self.get(key)),
            Op::Set(key, value) => {
                self.0.insert(key, value);
                Ret::Done
            }
            Op::Delete(key) => {
                self.0.remove(&key);
                Ret::Done
            }
            Op::Increment(key) => Ret::Value(self.increment(key)),
            Op::Replace { key, before, after } => {
                let applies = self.get(key) == Some(before);
                if applies {
                    self.0.insert(key, after);
                }
                Ret::Applies(applies)
            }
            Op::IncrementBoth(first, second) => {
                let (one, two) = (self.increment(first), self.increment(second));
                Ret::Values(vec![one, two, self.get(first)])
            }
            Op::ReplaceBoth { keys, before, after } => {
                let applies = self.get(keys[0]) == Some(before);
                if applies {
                    self.0.extend(keys.map(|key| (key, after)));
                }
                Ret::Applies(applies)
            }
            Op::GetBoth(first, second) => Ret::Values(vec![self.get(first), self.get(second)]),
        }
    }
}
