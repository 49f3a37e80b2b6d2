//! Sets of table names, for one question asked of every table of a tree: is it one of these?
//!
//! 1. A bit of a word, by the name's low bits, refuses nearly every name that is not in a small set.
//! 2. The others are looked up in a sorted list.
//!
//! So looking for what a plan names costs each other table of the tree next to nothing.

use crate::shape::TableId;
use crate::vec_map::VecSet;

/// A set of names.
#[derive(Clone, Debug)]
pub(crate) struct TableIdSet {
    members: VecSet<TableId>,
    bits: u64,
}

impl TableIdSet {
    pub(crate) fn contains(&self, name: TableId) -> bool {
        self.bits & bit(name) != 0 && self.members.contains(&name)
    }
}

impl From<Vec<TableId>> for TableIdSet {
    fn from(names: Vec<TableId>) -> Self {
        let members: VecSet<TableId> = names.into_iter().collect();
        let bits = members.iter().fold(0, |bits, name| bits | bit(*name));
        TableIdSet { members, bits }
    }
}

fn bit(name: TableId) -> u64 {
    1 << (name.0 % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_holds_the_names_it_was_made_of_and_no_other(
            names in prop::collection::vec(0u64..200, 0..6),
            asked in 0u64..200,
        ) {
            let set = TableIdSet::from(names.iter().copied().map(TableId).collect::<Vec<_>>());
            let expected: BTreeSet<_> = names.into_iter().collect();
            prop_assert_eq!(set.contains(TableId(asked)), expected.contains(&asked));
        }
    }
}
