//! Operands of merges: what changes the value of a key without reading it.
//!
//! Bytes of an operand, in a batch:
//!
//! ```text
//! 0, 1 or 2, number i64    add, min, max
//! 255, bytes               an operand of the store's merge operator
//! ```
//!
//! Operands of a key that meet become one ([`Function`]), which a memtable or a table stores after the difference of
//! its sequence number and that of the oldest operand in it: a varint. It applies to the newest version below that.
//!
//! ```text
//! 3, i128, i64, i64, i64   what adding, then bounding twice makes of a value, and of none
//! ```

mod counter;

pub use counter::Counter;

use crate::coding::{Decoder, put_varint};
use crate::entry::{MAX_VALUE_BYTES, Seq, Tag};
use crate::error::{Corruption, Error, Result};
use std::sync::Arc;

/// Whether this build has merges. The browser's lean build has none.
pub const AVAILABLE: bool = cfg!(feature = "all");
/// The longest operand of a merge operator, in bytes: the varint and the operator take the rest.
pub const MAX_OPERAND_BYTES: usize = MAX_VALUE_BYTES - 16;

const ADD: u8 = 0;
const MIN: u8 = 1;
const MAX: u8 = 2;
const BOUNDED: u8 = 3;
const CUSTOM: u8 = 255;

/// Application-defined merge operator: combines an older value or operand with a newer operand. It must be associative.
/// Where a key has no value, the operand becomes the value.
pub type MergeOperator = Arc<dyn Fn(&[u8], &[u8]) -> Vec<u8> + Send + Sync>;

/// The operand of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operand<'a> {
    /// Addend. The value is a decimal integer of 64 bits, such as `-3`; any other value counts as 0 and is replaced. A
    /// sum beyond the least or the greatest integer becomes that integer.
    Add(i64),
    /// Upper bound: the lesser of the value and this number is kept. A value that is not a decimal integer is replaced
    /// by the number.
    Min(i64),
    /// Lower bound: the greater of the value and this number is kept. A value that is not a decimal integer is replaced
    /// by the number.
    Max(i64),
    /// Operand of the store's [`MergeOperator`].
    Custom(&'a [u8]),
}

impl<'a> Operand<'a> {
    /// Returns the operand as a batch encodes it.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let (operator, bytes) = match self {
            Operand::Add(n) => (ADD, &n.to_le_bytes()[..]),
            Operand::Min(n) => (MIN, &n.to_le_bytes()[..]),
            Operand::Max(n) => (MAX, &n.to_le_bytes()[..]),
            Operand::Custom(operand) => (CUSTOM, operand),
        };
        [&[operator], bytes].concat()
    }

    /// Takes an operand of a batch; `None` for an unknown operator, or a number of another length.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (operator, operand) = bytes.split_first()?;
        let number = || operand.try_into().ok().map(i64::from_le_bytes);
        match *operator {
            ADD => number().map(Operand::Add),
            MIN => number().map(Operand::Min),
            MAX => number().map(Operand::Max),
            CUSTOM => Some(Operand::Custom(operand)),
            _ => None,
        }
    }
}

/// Refuses an encoded operand over its limit.
///
/// # Errors
/// [`crate::error::ErrorKind::InvalidArgument`] if it is.
pub fn check_operand(encoded: &[u8]) -> Result<()> {
    let bytes = encoded.len().saturating_sub(1);
    if bytes <= MAX_OPERAND_BYTES {
        return Ok(());
    }
    let expected = format_args!("at most {MAX_OPERAND_BYTES} bytes");
    Err(Error::invalid("operand", expected, format_args!("{bytes} bytes")))
}

/// A function of a value, made of operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// A function of an integer.
    Counter(Counter),
    /// The result of the store's merge operator for a value and this operand.
    Custom(Vec<u8>),
}

impl From<Operand<'_>> for Function {
    fn from(operand: Operand<'_>) -> Self {
        match operand {
            Operand::Add(n) => Function::Counter(Counter::add(n)),
            Operand::Min(n) => Function::Counter(Counter::min(n)),
            Operand::Max(n) => Function::Counter(Counter::max(n)),
            Operand::Custom(operand) => Function::Custom(operand.to_vec()),
        }
    }
}

impl Function {
    /// Returns the function that applies this one, then `next`.
    ///
    /// # Errors
    /// Operands of a merge operator that the store does not have.
    pub fn then(self, next: Function, operator: Option<&MergeOperator>) -> Result<Self> {
        match (self, next) {
            (Function::Counter(first), Function::Counter(next)) => {
                Ok(Function::Counter(first.then(next)))
            }
            (Function::Custom(older), Function::Custom(newer)) => {
                Ok(Function::Custom(combined(&older, &newer, operator)?))
            }
            // A keyspace has operands of one kind, so this is damage that no checksum noticed.
            _ => Err(Corruption::new("a table", 0, "operands of one kind", "two").into()),
        }
    }

    /// Returns the function's result for a value, or for none.
    ///
    /// # Errors
    /// The errors of [`Function::then`].
    pub fn apply(self, value: Option<&[u8]>, operator: Option<&MergeOperator>) -> Result<Vec<u8>> {
        match (self, value) {
            (Function::Counter(counter), value) => Ok(counter.apply(value)),
            (Function::Custom(operand), None) => Ok(operand),
            (Function::Custom(operand), Some(value)) => combined(value, &operand, operator),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Function::Counter(counter) => match counter.operand() {
                Some(operand) => out.extend_from_slice(&operand.encode()),
                None => {
                    out.push(BOUNDED);
                    counter.encode(out);
                }
            },
            Function::Custom(operand) => out.extend_from_slice(&Operand::Custom(operand).encode()),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let Some(rest) = bytes.strip_prefix(&[BOUNDED]) else {
            return Operand::decode(bytes).map(Function::from);
        };
        let mut rest = Decoder::new(rest);
        Counter::decode(&mut rest).filter(|_| rest.is_empty()).map(Function::Counter)
    }
}

/// The operands of a key that met, as one entry: a [`Function`] of the newest version before the oldest of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The function.
    pub function: Function,
    /// The sequence number of the oldest operand.
    pub since: Seq,
}

impl Merged {
    /// Returns it as the entry with the sequence number `seq` stores it.
    #[must_use]
    pub fn encode(&self, seq: Seq) -> Vec<u8> {
        let mut stored = Vec::new();
        put_varint(&mut stored, seq.saturating_sub(self.since));
        self.function.encode(&mut stored);
        stored
    }

    /// Takes what an entry stores.
    ///
    /// # Errors
    /// [`Corrupt`](crate::error::ErrorKind::Corrupt) for bytes that are no such entry.
    pub fn decode(tag: Tag, stored: &[u8]) -> Result<Self> {
        let mut from = Decoder::new(stored);
        let since = from.varint().and_then(|difference| tag.seq().checked_sub(difference));
        since
            .zip(Function::decode(from.rest()))
            .map(|(since, function)| Merged { function, since })
            .ok_or_else(|| malformed(stored))
    }
}

#[cold]
fn malformed(stored: &[u8]) -> Error {
    let found = format_args!("{} bytes", stored.len());
    Corruption::new("a table", 0, "an operand after the age of the oldest one in it", found).into()
}

fn combined(older: &[u8], newer: &[u8], operator: Option<&MergeOperator>) -> Result<Vec<u8>> {
    let operator = operator.ok_or_else(missing_operator)?;
    let result = operator(older, newer);
    if result.len() <= MAX_OPERAND_BYTES {
        return Ok(result);
    }
    let expected = format_args!("at most {MAX_OPERAND_BYTES} bytes");
    let found = format_args!("{} bytes", result.len());
    Err(Error::invalid("result of Options::merge_operator", expected, found))
}

/// Returns the error for operands of a merge operator, in a store without one.
#[cold]
pub fn missing_operator() -> Error {
    let expected = "the operator that the store's merges are for";
    Error::invalid("Options::merge_operator", expected, "none")
}
