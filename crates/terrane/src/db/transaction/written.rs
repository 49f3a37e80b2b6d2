//! The writes of a transaction.

use crate::entry::Millis;
use crate::error::Result;
use crate::operand::{Function, MergeOperator, Operand};

/// A write of a transaction.
#[derive(Clone)]
pub(super) enum Written {
    Delete,
    Put(Vec<u8>),
    /// A value, and the time at which it expires.
    PutExpiring(Vec<u8>, Millis),
    /// Encoded operands, in order.
    Merge(Vec<Vec<u8>>),
}

/// Returns the value that a transaction at the time `now` sees of its write, which is no merge.
pub(super) fn seen(written: &Written, now: Millis) -> Option<Vec<u8>> {
    match written {
        Written::Put(value) => Some(value.clone()),
        Written::PutExpiring(value, at) => (*at > now).then(|| value.clone()),
        Written::Delete | Written::Merge(_) => None,
    }
}

/// Returns what operands make of a value.
pub(super) fn merged(
    operands: &[Vec<u8>],
    value: Option<Vec<u8>>,
    operator: Option<&MergeOperator>,
) -> Result<Vec<u8>> {
    let mut value = value;
    for operand in operands.iter().filter_map(|bytes| Operand::decode(bytes)) {
        value = Some(Function::from(operand).apply(value.as_deref(), operator)?);
    }
    Ok(value.unwrap_or_default())
}
