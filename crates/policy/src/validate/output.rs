//! The outputs of a group, as far as its inputs determine them.

use std::sync::Arc;
use terrane_types::{Action, TableId, TableInfo, key_range};

/// A key range that a group will write, which holds its input `of`.
pub(crate) struct Output<'a> {
    pub(crate) of: TableId,
    pub(crate) smallest: &'a [u8],
    pub(crate) largest: &'a [u8],
}

/// The outputs of a group with these inputs: one key range for a merge, one per table for a move.
pub(crate) fn outputs<'a>(action: &Action, inputs: &[&'a Arc<TableInfo>]) -> Vec<Output<'a>> {
    match (action, inputs.first()) {
        (Action::Merge { .. }, Some(first)) => {
            let (smallest, largest) = key_range(inputs);
            vec![Output { of: first.id, smallest, largest }]
        }
        _ => {
            let each = inputs.iter();
            each.map(|t| Output { of: t.id, smallest: &t.smallest, largest: &t.largest }).collect()
        }
    }
}
