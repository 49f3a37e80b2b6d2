//! One sort for all types: each monomorphization of the standard one costs several KiB of code, which a
//! browser would download.
//!
//! 1. A merge sort of the indices, which compares the items at them.
//! 2. Items are swapped into that order, one cycle of the permutation after another.

use std::cmp::Ordering;

/// A stable sort.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Step 1: the indices of the items in sorted order.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    let mut length = 1;
    while length < count {
        for stretches in order.chunks(2 * length) {
            let (left, right) = stretches.split_at(length.min(stretches.len()));
            merge(left, right, compare, &mut merged);
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        length *= 2;
    }
    order
}

/// Appends the indices of both lists in order, of equal items those of `left` first. Lists that are
/// in order already cost one comparison.
fn merge(
    mut left: &[usize],
    mut right: &[usize],
    compare: &dyn Fn(usize, usize) -> Ordering,
    merged: &mut Vec<usize>,
) {
    if left.last().zip(right.first()).is_some_and(|(a, b)| compare(*a, *b).is_gt()) {
        while let (Some((a, behind_a)), Some((b, behind_b))) =
            (left.split_first(), right.split_first())
        {
            if compare(*a, *b).is_le() {
                merged.push(*a);
                left = behind_a;
            } else {
                merged.push(*b);
                right = behind_b;
            }
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
}

/// Step 2.
fn arrange(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut to = start;
        while let Some(from) = order.get_mut(to).map(|from| std::mem::replace(from, to)) {
            if from == start || from == to {
                break;
            }
            swap(to, from);
            to = from;
        }
    }
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
