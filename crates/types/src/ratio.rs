//! Products of which a part is taken. The compiler's division of 128-bit numbers is more code than a
//! browser should have to load for the few that are needed.

/// `a * b / c`, rounded down; `u64::MAX` if that is greater, or `c` is 0.
#[must_use]
pub fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 {
        return u64::MAX;
    }
    // `quotient * c + remainder` is `a` times the bits of `b` so far.
    let (whole, rest) = (a / c, a % c);
    let (mut quotient, mut remainder) = (0u64, 0);
    let add = |remainder: u64, rest: u64| match c - remainder {
        to_full if rest >= to_full => (1, rest - to_full),
        _ => (0, remainder + rest),
    };
    for bit in (0..u64::BITS).rev() {
        let (carry, doubled) = add(remainder, remainder);
        quotient = quotient.saturating_mul(2).saturating_add(carry);
        remainder = doubled;
        if b >> bit & 1 == 1 {
            let (carry, sum) = add(remainder, rest);
            quotient = quotient.saturating_add(whole).saturating_add(carry);
            remainder = sum;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_wider_numbers_give() {
        let mut numbers =
            vec![0, 1, 2, 3, 10, 99, 100, 255, 1 << 32, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let mut state = 1u64;
        for shift in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            numbers.push(state >> (shift % 60));
        }
        for &a in &numbers {
            for &b in &numbers {
                for &c in numbers.iter().filter(|c| **c > 0) {
                    let exact = u128::from(a) * u128::from(b) / u128::from(c);
                    let exact = u64::try_from(exact).unwrap_or(u64::MAX);
                    assert_eq!(mul_div(a, b, c), exact, "{a} * {b} / {c}");
                }
            }
        }
        assert_eq!(mul_div(7, 0, 0), u64::MAX);
    }
}
