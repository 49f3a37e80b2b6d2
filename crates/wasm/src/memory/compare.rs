//! Comparisons, of words at any address. The last word ends with the bytes, and overlaps the one before it.

use super::load;

/// Compares bytes as words. The result is negative, zero or positive, as the first that differs is less, none does, or
/// it is greater.
///
/// # Safety
/// `count` bytes can be read at both.
#[inline(always)]
unsafe fn compare(a: *const u8, b: *const u8, count: usize) -> i32 {
    const WORD: usize = size_of::<u64>();
    // SAFETY: every word and byte lies within `count` bytes.
    unsafe {
        let mut at = 0;
        if let Some(last) = count.checked_sub(WORD) {
            loop {
                let (a, b): (u64, u64) = (load(a.add(at)), load(b.add(at)));
                if a != b {
                    let differs = (a ^ b).trailing_zeros() & !7;
                    return (a >> differs & 0xff) as i32 - (b >> differs & 0xff) as i32;
                }
                if at == last {
                    return 0;
                }
                at = last.min(at + WORD);
            }
        }
        while at < count {
            let order = i32::from(load::<u8>(a.add(at))) - i32::from(load::<u8>(b.add(at)));
            if order != 0 {
                return order;
            }
            at += 1;
        }
        0
    }
}

/// Compares bytes.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { compare(a, b, count) }
}

/// Returns zero if bytes are equal.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { compare(a, b, count) }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use std::cmp::Ordering;

    #[test]
    fn the_first_byte_that_differs_decides() {
        let compare = |a: &[u8], b: &[u8]| {
            assert_eq!(a.len(), b.len());
            // SAFETY: there are as many bytes.
            unsafe { compare(a.as_ptr(), b.as_ptr(), a.len()) }.cmp(&0)
        };
        for count in 0..40 {
            let a = vec![0x80; count];
            assert_eq!(compare(&a, &a), Ordering::Equal);
            for at in 0..count {
                for differs in [0, 0x7f, 0x81, 0xff] {
                    let mut b = a.clone();
                    // What follows does not count.
                    b[at..].fill(!differs);
                    b[at] = differs;
                    assert_eq!(compare(&a, &b), a.cmp(&b), "byte {at} of {count}");
                }
            }
        }
    }
}
