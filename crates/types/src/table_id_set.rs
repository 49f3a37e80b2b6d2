//! A set of table ids that is checked against every table of a tree.
//!
//! 1. A one-word bitmap of the ids' low bits rejects nearly every id that is not in a small set.
//! 2. The rest are looked up in a sorted list.
//!
//! So finding a plan's tables costs each other table of the tree next to nothing.

use crate::ids::TableId;
use crate::vec_map::VecSet;

/// A set of table ids.
#[derive(Clone, Debug)]
pub struct TableIdSet {
    members: VecSet<TableId>,
    bits: u64,
}

impl TableIdSet {
    /// Whether the id is in the set.
    #[must_use]
    pub fn contains(&self, id: TableId) -> bool {
        self.bits & bit(id) != 0 && self.members.contains(&id)
    }
}

impl From<Vec<TableId>> for TableIdSet {
    fn from(ids: Vec<TableId>) -> Self {
        let members: VecSet<TableId> = ids.into_iter().collect();
        let bits = members.iter().fold(0, |bits, id| bits | bit(*id));
        TableIdSet { members, bits }
    }
}

fn bit(id: TableId) -> u64 {
    1 << (id.0 % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_holds_exactly_the_ids_it_was_made_from(
            ids in prop::collection::vec(0u64..200, 0..6),
            asked in 0u64..200,
        ) {
            let set = TableIdSet::from(ids.iter().copied().map(TableId).collect::<Vec<_>>());
            let expected: BTreeSet<_> = ids.into_iter().collect();
            prop_assert_eq!(set.contains(TableId(asked)), expected.contains(&asked));
        }
    }
}
