//! One sort for all types: the standard one is several KiB of code for each, which a browser would
//! load.
//!
//! 1. Places are sorted, by what is compared at them.
//! 2. Items are swapped into that order, one cycle of the permutation after another.

use std::cmp::Ordering;

/// Sorts, and leaves equal items in their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let at = |a: usize, b: usize| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    };
    let mut order = order(items.len(), &at);
    for start in 0..items.len() {
        let mut to = start;
        while let Some(from) = order.get_mut(to).map(|from| std::mem::replace(from, to)) {
            if from == start || from == to {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

/// Which item comes first, second and so on.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use super::sort_by;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_sorted_like_by_the_standard_library(keys in prop::collection::vec(0u8..9, 0..30)) {
            let mut sorted: Vec<_> = keys.into_iter().enumerate().collect();
            let mut expected = sorted.clone();
            sort_by(&mut sorted, |(_, a), (_, b)| a.cmp(b));
            expected.sort_by_key(|(_, key)| *key);
            prop_assert_eq!(sorted, expected);
        }
    }
}
