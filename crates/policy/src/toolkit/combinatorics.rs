//! Binomial coefficients, which count what horizontal and stack policies do.

use terrane_types::mul_div;

/// `C(n, k)`; `u64::MAX` if it is greater.
pub(crate) fn choose(n: u64, k: u64) -> u64 {
    let Some(rest) = n.checked_sub(k) else { return 0 };
    let k = k.min(rest);
    let mut chosen = 1;
    for i in 1..=k {
        // Whole after each step.
        chosen = mul_div(chosen, n - k + i, i);
        if chosen == u64::MAX {
            break;
        }
    }
    chosen
}

/// The least number from which on `holds` is true; it must be true of `u64::MAX`.
pub(crate) fn least(holds: impl Fn(u64) -> bool) -> u64 {
    let mut most = 1u64;
    while !holds(most) && most < u64::MAX {
        most = most.saturating_mul(2);
    }
    let mut from = 0;
    while from < most {
        let middle = from + (most - from) / 2;
        if holds(middle) {
            most = middle;
        } else {
            from = middle + 1;
        }
    }
    most
}

/// The least k for which `C(k + l - 1, l)` is at least `n`: a horizontal part of l levels counts to k
/// while n buffers are admitted.
pub(crate) fn least_count(n: u64, levels: u64) -> u64 {
    least(|k| choose(k.saturating_add(levels - 1), levels) >= n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_coefficient_is_the_saturated_sum_of_the_two_above_it() {
        let mut row = vec![1u64];
        for n in 0..90 {
            let found: Vec<_> = (0..=n + 1).map(|k| choose(n, k)).collect();
            row.push(0);
            assert_eq!(found, row, "n = {n}");
            let above = std::iter::once(0).chain(row.iter().copied());
            row = above.zip(&row).map(|(a, b)| a.saturating_add(*b)).collect();
        }
        assert_eq!(choose(u64::MAX, u64::MAX - 1), u64::MAX);
        assert_eq!(choose(u64::MAX, 1 << 40), u64::MAX);
    }

    #[test]
    fn the_least_number_from_which_on_something_holds_is_found() {
        let near = |power: u32| (0..3).map(move |n| (1u64 << power) - 1 + n);
        for from in (0..70).chain([31, 32, 62, 63].into_iter().flat_map(near)).chain([u64::MAX]) {
            assert_eq!(least(|n| n >= from), from);
        }
    }
}
