//! Combination of the operations of a key in a batch, if a merge with the store's operator follows another of them.
//!
//! The entries of a batch share one sequence number, so a memtable has room for one entry of each key. The operator may
//! panic or make its result too long, when a record of the log could no longer be revoked. So the operations of a key
//! become one before the log has them.

use super::{Operation, WriteBatch, decode, effective::removed};
use crate::error::Result;
use crate::features::MERGE_OPERATOR;
use crate::keyspace::KeyspaceId;
use crate::operand::{AVAILABLE, Function, MergeOperator, Operand};
use terrane_platform::BROWSER;
use terrane_types::sort::sort_by;

/// The result of operations of one key, in order.
enum Combined {
    /// The key has this value, or none.
    Value(Option<Vec<u8>>),
    /// The key's value is the result of these operands.
    Operands(Function),
}

/// Returns the batch with one operation for each key that has a merge with the operator after another operation; `None`
/// if there is no such key.
///
/// # Errors
/// A result over its limit; a missing operator.
pub(crate) fn combined(
    batch: &WriteBatch,
    operator: Option<&MergeOperator>,
) -> Result<Option<WriteBatch>> {
    // A page has no operator.
    if !AVAILABLE || BROWSER || batch.len() < 2 || batch.features() & MERGE_OPERATOR == 0 {
        return Ok(None);
    }
    let entries: Vec<_> = decode(batch.bytes()).map_while(Result::ok).collect();
    let removed = removed(batch.bytes());
    let key = |at: usize| {
        let (keyspace, operation) = entries.get(at)?;
        let is_range = matches!(operation, Operation::DeleteRange(..));
        let stays = !is_range && !removed.get(at).is_some_and(|removed| *removed);
        stays.then(|| (*keyspace, operation.parts().1))
    };
    let mut order: Vec<usize> = (0..entries.len()).filter(|at| key(*at).is_some()).collect();
    sort_by(&mut order, |a, b| key(*a).cmp(&key(*b)));
    // The replacement of each entry: `None` keeps it, `Some(None)` leaves it out.
    let mut replaced: Vec<Option<Option<Combined>>> = entries.iter().map(|_| None).collect();
    let mut is_changed = false;
    for of_key in order.chunk_by(|a, b| key(*a) == key(*b)) {
        let operations = || of_key.iter().filter_map(|at| Some(entries.get(*at)?.1));
        if !operations().skip(1).any(|operation| custom(operation).is_some()) {
            continue;
        }
        is_changed = true;
        let mut result = None;
        for operation in operations() {
            result = Some(applied(result, operation, operator)?);
        }
        // In the place of the last one: it follows every range delete that another of them follows.
        for at in of_key.iter().rev() {
            if let Some(entry) = replaced.get_mut(*at) {
                *entry = Some(result.take());
            }
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let mut combined = WriteBatch::new();
    for ((keyspace, operation), replaced) in entries.into_iter().zip(replaced) {
        match replaced {
            None => combined.push(keyspace, operation)?,
            Some(None) => {}
            Some(Some(result)) => push(&mut combined, keyspace, operation.parts().1, result)?,
        }
    }
    Ok(Some(combined))
}

fn push(batch: &mut WriteBatch, id: KeyspaceId, key: &[u8], result: Combined) -> Result<()> {
    match result {
        Combined::Value(Some(value)) => batch.put(id, key, value),
        Combined::Value(None) => batch.delete(id, key),
        Combined::Operands(Function::Custom(operand)) => {
            batch.merge(id, key, Operand::Custom(&operand))
        }
        // A keyspace with the operator has no counters.
        Combined::Operands(Function::Counter(_)) => Ok(()),
    }
}

/// Returns the operand of a merge with the operator.
fn custom(operation: Operation<'_>) -> Option<Operand<'_>> {
    let Operation::Merge(_, operand) = operation else { return None };
    Operand::decode(operand).filter(|operand| matches!(operand, Operand::Custom(_)))
}

/// Applies an operation after others of its key.
fn applied(
    before: Option<Combined>,
    operation: Operation<'_>,
    operator: Option<&MergeOperator>,
) -> Result<Combined> {
    let Some(operand) = custom(operation) else {
        let Operation::Put(_, value) = operation else { return Ok(Combined::Value(None)) };
        return Ok(Combined::Value(Some(value.to_vec())));
    };
    let function = Function::from(operand);
    Ok(match before {
        None => Combined::Operands(function),
        Some(Combined::Operands(older)) => Combined::Operands(older.then(function, operator)?),
        Some(Combined::Value(value)) => {
            Combined::Value(Some(function.apply(value.as_deref(), operator)?))
        }
    })
}
