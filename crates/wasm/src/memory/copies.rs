//! Copies and fills, of chunks at any address. The last chunk ends with the bytes, and overlaps the one before it.

use super::load;

/// Bytes that are loaded and stored at once.
#[cfg(target_arch = "wasm32")]
type Chunk = core::arch::wasm32::v128;

/// Bytes that are loaded and stored at once.
#[cfg(not(target_arch = "wasm32"))]
type Chunk = u128;

const CHUNK: usize = size_of::<Chunk>();

/// Stores a value at any address.
///
/// # Safety
/// As many bytes can be written.
#[inline(always)]
unsafe fn store<T>(to: *mut u8, value: T) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<T>().write_unaligned(value) }
}

/// Copies fewer bytes than a chunk has, all of which are loaded before any is stored.
///
/// # Safety
/// As for [`ptr::copy`](std::ptr::copy).
#[inline(always)]
unsafe fn copy_few(to: *mut u8, from: *const u8, count: usize) {
    /// Copies between one and two `T`.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn ends<T>(to: *mut u8, from: *const u8, count: usize) {
        let last = count - size_of::<T>();
        // SAFETY: both lie within `count` bytes.
        unsafe {
            let (first, end): (T, T) = (load(from), load(from.add(last)));
            store(to, first);
            store(to.add(last), end);
        }
    }
    // SAFETY: there are as many bytes as each needs.
    unsafe {
        match count {
            0 => {}
            1 => store(to, load::<u8>(from)),
            2..4 => ends::<u16>(to, from, count),
            4..8 => ends::<u32>(to, from, count),
            _ => ends::<u64>(to, from, count),
        }
    }
}

/// Copies bytes upward. Each chunk is loaded before one above it is stored, and the last before any is, so that bytes
/// may move down over themselves.
///
/// # Safety
/// As for [`ptr::copy`](std::ptr::copy); `to` does not lie within the bytes at `from`, but may be `from`.
#[inline(always)]
unsafe fn copy_up(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: every chunk lies within `count` bytes.
    unsafe {
        let Some(last) = count.checked_sub(CHUNK) else { return copy_few(to, from, count) };
        let end: Chunk = load(from.add(last));
        let mut at = 0;
        while at < last {
            store::<Chunk>(to.add(at), load(from.add(at)));
            at += CHUNK;
        }
        store(to.add(last), end);
    }
}

/// Copies bytes downward, so that they may move up over themselves.
///
/// # Safety
/// As for [`ptr::copy`](std::ptr::copy).
#[inline(always)]
unsafe fn copy_down(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: every chunk lies within `count` bytes.
    unsafe {
        let Some(mut at) = count.checked_sub(CHUNK) else { return copy_few(to, from, count) };
        let first: Chunk = load(from);
        while at > 0 {
            store::<Chunk>(to.add(at), load(from.add(at)));
            at = at.saturating_sub(CHUNK);
        }
        store(to, first);
    }
}

/// Copies bytes that do not overlap.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { copy_up(to, from, count) };
    to
}

/// Copies bytes that may overlap.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        if to.addr().wrapping_sub(from.addr()) < count {
            copy_down(to, from, count);
        } else {
            copy_up(to, from, count);
        }
    }
    to
}

/// Sets bytes.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, count: usize) -> *mut u8 {
    let chunk = core::arch::wasm32::u8x16_splat(byte as u8);
    // SAFETY: every chunk and byte lies within `count` bytes.
    unsafe {
        let mut at = 0;
        if let Some(last) = count.checked_sub(CHUNK) {
            while at < last {
                store(to.add(at), chunk);
                at += CHUNK;
            }
            store(to.add(last), chunk);
            at = count;
        }
        while at < count {
            store(to.add(at), byte as u8);
            at += 1;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::{copy_down, copy_up};

    #[test]
    fn bytes_of_any_length_move_over_themselves() {
        let bytes: Vec<u8> = (0..200).collect();
        for count in 0..70 {
            for by in 0..40 {
                let (mut down, mut up) = (bytes.clone(), bytes.clone());
                let (lower, upper) = (50, 50 + by);
                // SAFETY: all lie within the 200 bytes.
                unsafe {
                    let at = down.as_mut_ptr();
                    copy_up(at.add(lower), at.add(upper), count);
                    let at = up.as_mut_ptr();
                    copy_down(at.add(upper), at.add(lower), count);
                }
                let (mut moved_down, mut moved_up) = (bytes.clone(), bytes.clone());
                moved_down.copy_within(upper..upper + count, lower);
                moved_up.copy_within(lower..lower + count, upper);
                assert_eq!((down, up), (moved_down, moved_up), "{count} bytes by {by}");
            }
        }
    }
}
